# The command: uses the library through its public headers only.
bin_PROGRAMS += pagesift-gpu
pagesift_gpu_SOURCES = src/cli/cli.h src/cli/file.c src/cli/file.h src/cli/main.c src/cli/message.c \
	src/cli/nearest.c src/cli/ocr.c src/cli/options.c src/cli/options.h src/cli/workers.c \
	src/cli/workers.h
pagesift_gpu_LDADD = libpagesift-gpu.la
