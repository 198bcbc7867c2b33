# tests of the base room
check_PROGRAMS += tests/test_base
TESTS += tests/test_base
tests_test_base_SOURCES = tests/test_base.c
tests_test_base_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_base_LDADD = $(TEST_BASE) $(TEST_LIBS)
