noinst_LTLIBRARIES += libpsgdevice.la
ROOM_LIBS += libpsgdevice.la
libpsgdevice_la_SOURCES = src/device/device.h src/device/device.c src/device/cpu.c \
	src/device/cuda.h src/device/cuda_internal.h src/device/cuda.c src/device/cuda_copy.c \
	src/device/cuda_memory.c src/device/cuda_module.c src/device/cuda_pool.h src/device/cuda_pool.c \
	src/device/cuda_probe.c src/device/cuda_trace.h src/device/cuda_trace.c src/device/ptx.h src/device/ptx.c
libpsgdevice_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -Wa,-I$(top_srcdir)
pkginclude_HEADERS += include/pagesift/device.h
# The assembler reads the PTX into ptx.c's object.
$(libpsgdevice_la_OBJECTS): $(kernel_ptx)
