noinst_LTLIBRARIES += libpsgdriver.la
ROOM_LIBS += libpsgdriver.la
libpsgdriver_la_SOURCES = src/driver/cuda.h src/driver/cuda.c src/driver/library.h src/driver/library.c \
	src/driver/nvml.h src/driver/nvml.c
