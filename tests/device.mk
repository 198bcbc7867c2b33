# tests of the device room
check_PROGRAMS += tests/test_device
TESTS += tests/test_device
tests_test_device_SOURCES = tests/test_device.c
tests_test_device_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_device_LDADD = $(TEST_DEVICE) $(TEST_LIBS)
