# tests of the model room
if HAVE_CHECK
check_PROGRAMS += tests/test_widths
TESTS += tests/test_widths
tests_test_widths_SOURCES = tests/test_widths.c tests/models.h
tests_test_widths_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_widths_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_golden
TESTS += tests/test_golden
tests_test_golden_SOURCES = tests/test_golden.c tests/models.h tests/fakecuda_util.c \
	tests/fakecuda_util.h
tests_test_golden_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_golden_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_plans
TESTS += tests/test_plans
tests_test_plans_SOURCES = tests/test_plans.c tests/random_net.c tests/random_net.h \
	tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_plans_CPPFLAGS = $(TEST_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_plans_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_gpu_settle
TESTS += tests/test_gpu_settle
tests_test_gpu_settle_SOURCES = tests/test_gpu_settle.c tests/models.h tests/random_net.c \
	tests/random_net.h tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_gpu_settle_CPPFLAGS = $(TEST_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_gpu_settle_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_gpu_peak
TESTS += tests/test_gpu_peak
tests_test_gpu_peak_SOURCES = tests/test_gpu_peak.c tests/models.h tests/random_net.c \
	tests/random_net.h tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_gpu_peak_CPPFLAGS = $(TEST_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_gpu_peak_LDADD = $(TEST_MODEL) $(TEST_LIBS)

check_PROGRAMS += tests/test_onnx
TESTS += tests/test_onnx
tests_test_onnx_SOURCES = tests/test_onnx.c tests/onnx_text.c tests/onnx_text.h
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

# Model files that are nearly right.  As a test: always the same ones.  With clang's fuzzer:
# make fuzz-onnx [FUZZ_SECONDS=600] [FUZZ_SEEDS=DIR]
check_PROGRAMS += tests/fuzz_onnx
TESTS += tests/fuzz_onnx
tests_fuzz_onnx_SOURCES = tests/fuzz_onnx.c tests/onnx_text.c tests/onnx_text.h
tests_fuzz_onnx_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
tests_fuzz_onnx_LDADD = $(TEST_MODEL) $(EXTERNAL_LIBS)

FUZZ_ONNX_FILES = tests/fuzz_onnx.c $(libpsgbase_la_SOURCES) $(libpsgdevice_la_SOURCES) \
	$(libpsgops_la_SOURCES) $(libpsgmodel_la_SOURCES)
fuzz-onnx: tests/fuzz_onnx$(EXEEXT)
	$(MKDIR_P) tests/fuzz-onnx.seeds tests/fuzz-onnx.found
	tests/fuzz_onnx --seeds tests/fuzz-onnx.seeds
	for f in $(FUZZ_ONNX_FILES); do case $$f in *.c) echo $(srcdir)/$$f ;; esac; done \
		>tests/fuzz-onnx.sources
	clang -std=gnu11 -O1 -g -DPSG_LIBFUZZER -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -Wno-unknown-pragmas $(DEFS) -I. $(AM_CPPFLAGS) \
		$(PROTOBUF_C_CFLAGS) -o tests/fuzz-onnx.bin $$(cat tests/fuzz-onnx.sources) \
		src/model/onnx.pb-c.c $(DNNL_LIBS) $(PROTOBUF_C_LIBS) $(PTHREAD_LIBS) -lm
	tests/fuzz-onnx.bin -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
		-malloc_limit_mb=256 -max_len=8192 tests/fuzz-onnx.found tests/fuzz-onnx.seeds \
		$(FUZZ_SEEDS)
.PHONY: fuzz-onnx

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
