# tests of the device room
check_PROGRAMS += tests/test_device
TESTS += tests/test_device
tests_test_device_SOURCES = tests/test_device.c
tests_test_device_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_device_LDADD = $(TEST_DEVICE) $(TEST_LIBS)
if HAVE_CHECK
check_PROGRAMS += tests/test_gpu tests/test_gpu_pool
TESTS += tests/test_gpu tests/test_gpu_pool
tests_test_gpu_SOURCES = tests/test_gpu.c tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_gpu_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_LDADD = $(TEST_DEVICE) $(TEST_LIBS)
tests_test_gpu_pool_SOURCES = tests/test_gpu_pool.c
tests_test_gpu_pool_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_pool_LDADD = $(TEST_DEVICE) $(TEST_LIBS)
endif
