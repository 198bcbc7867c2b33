# tests of the ocr room

# images, geometry, text and formats
if HAVE_CHECK
check_PROGRAMS += tests/test_boxes tests/test_crop
TESTS += tests/test_boxes tests/test_crop
tests_test_boxes_SOURCES = tests/test_boxes.c
tests_test_boxes_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_boxes_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_crop_SOURCES = tests/test_crop.c
tests_test_crop_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_crop_LDADD = $(TEST_OCR) $(TEST_LIBS)
if HAVE_LEPT
if HAVE_PNG
if HAVE_JPEG
check_PROGRAMS += tests/test_image
TESTS += tests/test_image
tests_test_image_SOURCES = tests/test_image.c tests/image_samples.c tests/image_samples.h
tests_test_image_CPPFLAGS = $(TEST_CPPFLAGS) $(LEPT_CFLAGS) $(PNG_CFLAGS) $(JPEG_CFLAGS)
tests_test_image_LDADD = $(TEST_OCR) $(TEST_LIBS)
endif
endif
endif
endif

# engine and pages
