noinst_LTLIBRARIES += libpsgocr.la
ROOM_LIBS += libpsgocr.la
libpsgocr_la_SOURCES =
libpsgocr_la_CPPFLAGS = $(AM_CPPFLAGS) $(LEPT_CFLAGS) $(JANSSON_CFLAGS) $(PNG_CFLAGS) $(JPEG_CFLAGS)
pkginclude_HEADERS += include/pagesift/ocr.h

# images, geometry, text and formats
libpsgocr_la_SOURCES += src/ocr/boxes.h src/ocr/format.h src/ocr/image.h src/ocr/prepare.h \
	src/ocr/text.h

# engine and pages
