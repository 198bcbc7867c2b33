# tests of the driver room
if HAVE_CHECK
check_PROGRAMS += tests/test_driver
TESTS += tests/test_driver
tests_test_driver_SOURCES = tests/test_driver.c tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_driver_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_driver_LDADD = $(TEST_DRIVER) $(TEST_LIBS)
endif
