noinst_LTLIBRARIES += libpsgbase.la
ROOM_LIBS += libpsgbase.la
libpsgbase_la_SOURCES = src/base/base.h src/base/checked.h src/base/clock.c src/base/error.c src/base/log.c
pkginclude_HEADERS += include/pagesift/error.h include/pagesift/gpu.h
