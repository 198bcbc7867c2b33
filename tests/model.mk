# tests of the model room
if HAVE_CHECK
check_PROGRAMS += test_widths
TESTS += test_widths
test_widths_SOURCES = tests/test_widths.c tests/models.h
test_widths_CPPFLAGS = $(TEST_CPPFLAGS)
test_widths_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += test_golden
TESTS += test_golden
test_golden_SOURCES = tests/test_golden.c tests/models.h
test_golden_CPPFLAGS = $(TEST_CPPFLAGS)
test_golden_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += test_onnx
TESTS += test_onnx
test_onnx_SOURCES = tests/test_onnx.c
test_onnx_CPPFLAGS = $(TEST_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
test_onnx_LDADD = $(TEST_MODEL) $(TEST_LIBS)
endif

EXTRA_DIST += tests/make_goldens.cjs tests/golden/cls_48x192.f32 tests/golden/det_64x64.f32 \
	tests/golden/det_96x160.f32 tests/golden/rec_48x101.f32 tests/golden/rec_48x64.f32

# ONNX's own test data, as `make check-onnx`
EXTRA_PROGRAMS += onnx_suite
onnx_suite_SOURCES = tests/onnx_suite.c
onnx_suite_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
onnx_suite_LDADD = $(TEST_MODEL) $(EXTERNAL_LIBS)
CLEANFILES += onnx_suite

check-onnx: onnx_suite
	./onnx_suite --device cpu
	./onnx_suite --device reference
.PHONY: check-onnx
