noinst_LTLIBRARIES += libpsgocr.la
ROOM_LIBS += libpsgocr.la
libpsgocr_la_SOURCES =
libpsgocr_la_CPPFLAGS = $(AM_CPPFLAGS) $(LEPT_CFLAGS) $(JANSSON_CFLAGS)
pkginclude_HEADERS += include/pagesift/ocr.h
