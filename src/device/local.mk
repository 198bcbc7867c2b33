noinst_LTLIBRARIES += libpsgdevice.la
ROOM_LIBS += libpsgdevice.la
libpsgdevice_la_SOURCES = src/device/device.h src/device/device.c src/device/cpu.c
libpsgdevice_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
pkginclude_HEADERS += include/pagesift/device.h
