noinst_LTLIBRARIES += libpsgmodel.la
ROOM_LIBS += libpsgmodel.la
libpsgmodel_la_SOURCES = src/model/graph.h
pkginclude_HEADERS += include/pagesift/model.h
