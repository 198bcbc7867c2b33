# tests of the model room
if HAVE_CHECK
check_PROGRAMS += test_widths
TESTS += test_widths
test_widths_SOURCES = tests/test_widths.c tests/models.h
test_widths_CPPFLAGS = $(TEST_CPPFLAGS)
test_widths_LDADD = $(TEST_MODEL) $(TEST_LIBS)
endif

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
