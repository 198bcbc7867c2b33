# The command: uses the library through its public headers only.
bin_PROGRAMS += pagesift-gpu
pagesift_gpu_SOURCES = src/cli/bench.c src/cli/bench.h src/cli/bench_batch.c src/cli/bench_batch_print.c \
	src/cli/bench_cpu.c \
	src/cli/bench_jobs.c src/cli/bench_jobs.h src/cli/bench_jobs_cond.c \
	src/cli/bench_jobs_measure.c src/cli/bench_jobs_ours.c src/cli/bench_jobs_print.c \
	src/cli/bench_jobs_window.c src/cli/bench_jobs_window.h src/cli/bench_pages.c \
	src/cli/bench_print.c src/cli/bench_share.c src/cli/bench_share.h \
	src/cli/bench_share_crowd.c src/cli/bench_share_print.c src/cli/cli.h src/cli/doctor.c src/cli/doctor.h \
	src/cli/doctor_cache.c src/cli/doctor_json.c src/cli/doctor_judge.c \
	src/cli/doctor_machine.c src/cli/doctor_test.c src/cli/doctor_text.c \
	src/cli/events.c src/cli/events.h src/cli/file.c \
	src/cli/file.h src/cli/json.c src/cli/json.h src/cli/main.c src/cli/message.c \
	src/cli/model.c src/cli/model.h src/cli/model_json.c src/cli/model_text.c src/cli/nearest.c \
	src/cli/ocr.c src/cli/ocr.h src/cli/ocr_emit.c src/cli/ocr_run.c src/cli/options.c \
	src/cli/options.h src/cli/pages.c src/cli/pages.h src/cli/shapes.c src/cli/shapes.h \
	src/cli/serve.c src/cli/workers.c src/cli/workers.h
pagesift_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
pagesift_gpu_LDADD = libpagesift-gpu.la $(JANSSON_LIBS)
if HAVE_MICROHTTPD
pagesift_gpu_LDADD += libpsgserver.la $(MICROHTTPD_LIBS)
endif
# Peers of bench jobs
if HAVE_GLIB
pagesift_gpu_SOURCES += src/cli/bench_jobs_glib.c
pagesift_gpu_CPPFLAGS += $(GLIB_CFLAGS)
pagesift_gpu_LDADD += $(GLIB_LIBS)
endif
if HAVE_UV
pagesift_gpu_SOURCES += src/cli/bench_jobs_uv.c
pagesift_gpu_CPPFLAGS += $(UV_CFLAGS)
pagesift_gpu_LDADD += $(UV_LIBS)
endif
dist_man_MANS += docs/man/pagesift-gpu.1 docs/man/pagesift-gpu-bench.1 \
	docs/man/pagesift-gpu-doctor.1 \
	docs/man/pagesift-gpu-model.1 docs/man/pagesift-gpu-ocr.1 docs/man/pagesift-gpu-serve.1
