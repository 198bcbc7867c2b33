# tests of the base room
check_PROGRAMS += tests/test_base
TESTS += tests/test_base
tests_test_base_SOURCES = tests/test_base.c
tests_test_base_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_base_LDADD = $(TEST_BASE) $(TEST_LIBS)
if HAVE_CHECK
BASE_TESTS = tests/test_histogram tests/test_trace
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)
tests_test_histogram_SOURCES = tests/test_histogram.c
tests_test_histogram_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_histogram_LDADD = $(TEST_BASE) $(TEST_LIBS)
tests_test_trace_SOURCES = tests/test_trace.c tests/trace_util.h tests/nomem.h
tests_test_trace_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_test_trace_LDFLAGS = $(WRAP_MEMORY)
tests_test_trace_LDADD = $(TEST_BASE) $(TEST_LIBS)
endif
