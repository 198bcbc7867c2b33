# tests of the ocr room

# images, geometry, text and formats
if HAVE_CHECK
check_PROGRAMS += tests/test_boxes tests/test_crop tests/test_ctc tests/test_direction \
	tests/test_format
TESTS += tests/test_boxes tests/test_crop tests/test_ctc tests/test_direction tests/test_format
tests_test_boxes_SOURCES = tests/test_boxes.c
tests_test_boxes_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_boxes_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_crop_SOURCES = tests/test_crop.c
tests_test_crop_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_crop_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_ctc_SOURCES = tests/test_ctc.c
tests_test_ctc_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_ctc_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_direction_SOURCES = tests/test_direction.c
tests_test_direction_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_direction_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_format_SOURCES = tests/test_format.c
tests_test_format_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_test_format_LDADD = $(TEST_OCR) $(TEST_LIBS)
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

# Image files from a fuzzer, with clang: make fuzz-image [FUZZ_SECONDS=600] [FUZZ_SEEDS=DIR]
FUZZ_SECONDS = 60
FUZZ_SEEDS =
FUZZ_FILES = tests/fuzz_image.c src/base/error.c src/base/log.c src/ocr/bmp.c src/ocr/decode.c \
	src/ocr/headers.c src/ocr/image.c src/ocr/jpeg.c src/ocr/lept.c src/ocr/png.c \
	src/ocr/pnm.c src/ocr/tiff.c
EXTRA_DIST += tests/fuzz_image.c
fuzz-image:
	mkdir -p tests/fuzz-image.found
	for f in $(FUZZ_FILES); do echo $(srcdir)/$$f; done >tests/fuzz-image.sources
	clang -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		$(DEFS) -I. $(AM_CPPFLAGS) $(LEPT_CFLAGS) $(PNG_CFLAGS) $(JPEG_CFLAGS) \
		-o tests/fuzz-image.bin $$(cat tests/fuzz-image.sources) \
		$(LEPT_LIBS) $(PNG_LIBS) $(JPEG_LIBS) $(PTHREAD_LIBS)
	tests/fuzz-image.bin -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
		-max_len=8192 tests/fuzz-image.found $(FUZZ_SEEDS)

.PHONY: fuzz-image

# engine and pages
if HAVE_CHECK
TINY_MODELS = tests/tiny_models.c tests/tiny_models.h tests/onnx_text.c tests/onnx_text.h
ENGINE_TESTS = tests/test_engine tests/test_engine_ends tests/test_engine_stress tests/test_engine_steps \
	tests/test_nomem tests/test_gpu_pages
check_PROGRAMS += $(ENGINE_TESTS)
TESTS += $(ENGINE_TESTS)
tests_test_engine_SOURCES = tests/test_engine.c tests/engine_util.h tests/models.h tests/page_font.c \
	tests/page_font.h
tests_test_engine_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_engine_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_engine_ends_SOURCES = tests/test_engine_ends.c tests/engine_util.h tests/models.h \
	tests/page_font.c tests/page_font.h
tests_test_engine_ends_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_engine_ends_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_engine_stress_SOURCES = tests/test_engine_stress.c tests/engine_util.h tests/models.h \
	tests/page_font.h tests/page_font.c $(TINY_MODELS) tests/random_net.c tests/random_net.h
tests_test_engine_stress_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_engine_stress_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_engine_steps_SOURCES = tests/test_engine_steps.c tests/engine_util.h tests/models.h \
	tests/page_font.h tests/page_font.c $(TINY_MODELS)
tests_test_engine_steps_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_engine_steps_LDFLAGS = -Wl,--wrap=psg_submit_model
tests_test_engine_steps_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_gpu_pages_SOURCES = tests/test_gpu_pages.c tests/engine_util.h tests/models.h \
	tests/page_font.h tests/page_font.c tests/fakecuda_util.c tests/fakecuda_util.h $(TINY_MODELS)
tests_test_gpu_pages_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_pages_LDADD = $(TEST_OCR) $(TEST_LIBS)
tests_test_nomem_SOURCES = tests/test_nomem.c tests/nomem.h tests/engine_util.h tests/models.h \
	tests/page_font.c tests/page_font.h $(TINY_MODELS)
tests_test_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_nomem_LDFLAGS = $(WRAP_MEMORY)
tests_test_nomem_LDADD = $(TEST_OCR) $(TEST_LIBS)
endif
