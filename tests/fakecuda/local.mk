# The fake driver: two libraries that tests load by PAGESIFT_LIBCUDA and PAGESIFT_LIBNVML.
# A module that is never installed needs -rpath to be a shared library at all.
FAKECUDA_FLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
# The kernels themselves, compiled for the host.
FAKECUDA_RUN = tests/fakecuda/run.h tests/fakecuda/run.c tests/fakecuda/fiber.h \
	tests/fakecuda/fiber.c $(kernel_code)
check_LTLIBRARIES += tests/fakecuda/libfakecuda.la tests/fakecuda/libfakenvml.la
tests_fakecuda_libfakecuda_la_SOURCES = tests/fakecuda/fakecuda.h tests/fakecuda/fake.h \
	tests/fakecuda/faults.c tests/fakecuda/driver.c tests/fakecuda/memory.c tests/fakecuda/stream.c \
	tests/fakecuda/module.c $(FAKECUDA_RUN)
tests_fakecuda_libfakecuda_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/fakecuda
# Square roots and roundings as instructions, not calls that could set errno.
tests_fakecuda_libfakecuda_la_CFLAGS = $(AM_CFLAGS) -fno-math-errno
tests_fakecuda_libfakecuda_la_LDFLAGS = $(FAKECUDA_FLAGS)
tests_fakecuda_libfakecuda_la_LIBADD = $(PTHREAD_LIBS)
tests_fakecuda_libfakenvml_la_SOURCES = tests/fakecuda/nvml.c
tests_fakecuda_libfakenvml_la_CPPFLAGS = $(AM_CPPFLAGS)
tests_fakecuda_libfakenvml_la_LDFLAGS = $(FAKECUDA_FLAGS)

# The tests of the GPU, on the machine's own: all programs that choose the driver by what
# fakecuda_util.c says, and what can be known without one.
GPU_TESTS = $(strip $(foreach test,$(TESTS),$(if \
	$(filter tests/fakecuda_util.c,$($(subst /,_,$(test))_SOURCES)),$(test))) \
	$(filter tests/test_gpu_pool,$(TESTS)))

check-gpu:
	PAGESIFT_TEST_GPU=real $(MAKE) check TESTS='$(GPU_TESTS)'

.PHONY: check-gpu
