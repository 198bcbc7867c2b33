noinst_LTLIBRARIES += libpsgocr.la
ROOM_LIBS += libpsgocr.la
libpsgocr_la_SOURCES =
libpsgocr_la_CPPFLAGS = $(AM_CPPFLAGS) $(LEPT_CFLAGS) $(JANSSON_CFLAGS) $(PNG_CFLAGS) $(JPEG_CFLAGS)
pkginclude_HEADERS += include/pagesift/ocr.h

# images, geometry, text and formats
libpsgocr_la_SOURCES += src/ocr/bmp.c src/ocr/boxes.c src/ocr/boxes.h src/ocr/contour.c src/ocr/contour.h \
	src/ocr/crop.c src/ocr/ctc.c src/ocr/decode.c src/ocr/decode.h src/ocr/dictionary.c \
	src/ocr/direction.c src/ocr/direction.h src/ocr/draw.c \
	src/ocr/format.c src/ocr/format_hocr.c src/ocr/format_inner.h \
	src/ocr/format_json.c src/ocr/format_plain.c src/ocr/geometry.c src/ocr/headers.c src/ocr/image.c src/ocr/image.h \
	src/ocr/jpeg.c src/ocr/lept.c src/ocr/order.c src/ocr/png.c src/ocr/pnm.c \
	src/ocr/prepare.c src/ocr/prepare.h src/ocr/resize.c src/ocr/resize.h src/ocr/text.h \
	src/ocr/strbuf.c src/ocr/strbuf.h src/ocr/tiff.c

# engine and pages
libpsgocr_la_SOURCES += src/ocr/crew.c src/ocr/crew.h src/ocr/engine.c src/ocr/engine.h src/ocr/models.c src/ocr/page.c src/ocr/page.h src/ocr/page_jobs.c \
	src/ocr/result.c src/ocr/stages.c
