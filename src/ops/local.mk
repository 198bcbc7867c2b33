noinst_LTLIBRARIES += libpsgops.la
ROOM_LIBS += libpsgops.la
libpsgops_la_SOURCES = src/ops/ops.h
pkginclude_HEADERS += include/pagesift/tensor.h include/pagesift/op.h
