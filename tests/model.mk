# tests of the model room
if HAVE_CHECK
check_PROGRAMS += tests/test_widths
TESTS += tests/test_widths
tests_test_widths_SOURCES = tests/test_widths.c tests/models.h
tests_test_widths_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_widths_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_golden
TESTS += tests/test_golden
tests_test_golden_SOURCES = tests/test_golden.c tests/models.h
tests_test_golden_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_golden_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_plans
TESTS += tests/test_plans
tests_test_plans_SOURCES = tests/test_plans.c tests/random_net.c tests/random_net.h
tests_test_plans_CPPFLAGS = $(TEST_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_plans_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_onnx
TESTS += tests/test_onnx
tests_test_onnx_SOURCES = tests/test_onnx.c
tests_test_onnx_CPPFLAGS = $(TEST_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_onnx_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_onnx_order
TESTS += tests/test_onnx_order
tests_test_onnx_order_SOURCES = tests/test_onnx_order.c tests/onnx_text.c tests/onnx_text.h
tests_test_onnx_order_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_onnx_order_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_onnx_opsets
TESTS += tests/test_onnx_opsets
tests_test_onnx_opsets_SOURCES = tests/test_onnx_opsets.c tests/onnx_text.c tests/onnx_text.h
tests_test_onnx_opsets_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_onnx_opsets_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_onnx_limits
TESTS += tests/test_onnx_limits
tests_test_onnx_limits_SOURCES = tests/test_onnx_limits.c tests/onnx_text.c tests/onnx_text.h
tests_test_onnx_limits_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_onnx_limits_LDADD = $(TEST_MODEL) $(TEST_LIBS)
endif

EXTRA_DIST += tests/make_goldens.cjs tests/golden/cls_48x192.f32 tests/golden/det_64x64.f32 \
	tests/golden/det_96x160.f32 tests/golden/rec_48x101.f32 tests/golden/rec_48x64.f32

# ONNX's own test data, as `make check-onnx`
EXTRA_PROGRAMS += tests/onnx_suite
tests_onnx_suite_SOURCES = tests/onnx_suite.c
tests_onnx_suite_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_onnx_suite_LDADD = $(TEST_MODEL) $(EXTERNAL_LIBS)
CLEANFILES += tests/onnx_suite$(EXEEXT)

check-onnx: tests/onnx_suite$(EXEEXT)
	tests/onnx_suite --device cpu
	tests/onnx_suite --device reference
.PHONY: check-onnx
