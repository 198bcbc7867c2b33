# tests of the ops room
check_PROGRAMS += tests/test_tensor tests/test_pack tests/test_ops
TESTS += tests/test_tensor tests/test_pack tests/test_ops
tests_test_tensor_SOURCES = tests/test_tensor.c
tests_test_tensor_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_tensor_LDADD = $(TEST_OPS) $(TEST_LIBS)
tests_test_pack_SOURCES = tests/test_pack.c
tests_test_pack_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_pack_LDADD = $(TEST_OPS) $(TEST_LIBS)
tests_test_ops_SOURCES = tests/test_ops.c tests/t_ops.c tests/t_ops.h tests/t_suites.h \
	tests/test_ops_window.c tests/test_ops_matrix.c tests/test_ops_element.c \
	tests/test_ops_reduce.c tests/test_ops_move.c tests/test_ops_width.c tests/test_ops_refusal.c
tests_test_ops_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_ops_LDADD = $(TEST_OPS) $(TEST_LIBS)
if HAVE_CHECK
check_PROGRAMS += tests/test_kernels tests/test_gpu_check tests/test_gpu_large tests/test_place
TESTS += tests/test_kernels tests/test_gpu_check tests/test_gpu_large tests/test_place
tests_test_kernels_SOURCES = tests/test_kernels.c tests/t_gpu.c tests/t_gpu.h \
	tests/fakecuda_util.c tests/fakecuda_util.h tests/test_kernels_products.c \
	tests/test_kernels_windows.c tests/test_kernels_elements.c tests/test_kernels_moves.c \
	tests/test_kernels_sequences.c tests/test_kernels_integers.c tests/test_kernels_host.c
tests_test_kernels_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_kernels_LDADD = $(TEST_OPS) $(TEST_LIBS)
tests_test_gpu_check_SOURCES = tests/test_gpu_check.c tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_gpu_check_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_check_LDADD = $(TEST_OPS) $(TEST_LIBS)
tests_test_gpu_large_SOURCES = tests/test_gpu_large.c tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_gpu_large_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_gpu_large_LDADD = $(TEST_OPS) $(TEST_LIBS)
tests_test_place_SOURCES = tests/test_place.c tests/fakecuda_util.c tests/fakecuda_util.h
tests_test_place_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_place_LDADD = $(TEST_OPS) $(TEST_LIBS)
endif
