noinst_LTLIBRARIES += libpsgbase.la
ROOM_LIBS += libpsgbase.la
libpsgbase_la_SOURCES = src/base/base.h src/base/checked.h src/base/clock.c src/base/error.c src/base/log.c \
	src/base/memory.h src/base/memory.c src/base/fork.h src/base/fork.c src/base/phase.h src/base/phase.c src/base/probe.h \
	src/base/recent.h src/base/recent.c src/base/thread.h src/base/thread.c src/base/utf8.h src/base/utf8.c \
	src/base/histogram.h src/base/histogram.c src/base/trace.h src/base/trace_ring.h src/base/trace.c src/base/trace_file.c \
	src/base/trace_text.c
pkginclude_HEADERS += include/pagesift/error.h include/pagesift/gpu.h include/pagesift/histogram.h
