noinst_LTLIBRARIES += libpsgops.la
ROOM_LIBS += libpsgops.la
libpsgops_la_SOURCES = src/ops/ops.h src/ops/family.h \
	src/ops/tensor.c src/ops/table.c src/ops/rules.c src/ops/walk.c src/ops/width.c \
	src/ops/window.c src/ops/gemm.c src/ops/conv.c src/ops/conv_transpose.c src/ops/pool.c \
	src/ops/matmul.c src/ops/unary.c src/ops/binary.c src/ops/channel.c src/ops/reduce.c \
	src/ops/norm.c src/ops/softmax.c src/ops/transpose.c src/ops/reshape.c src/ops/slice.c \
	src/ops/concat.c src/ops/pad.c src/ops/expand.c src/ops/gather.c src/ops/resize.c \
	src/ops/shape.c src/ops/attention.c src/ops/ctc.c \
	src/ops/kernel.h src/ops/reference_kernel.c src/ops/pack.h src/ops/pack.c \
	src/ops/blocked.h src/ops/blocked.c src/ops/run.c src/ops/host_run.h src/ops/host_run.c \
	src/ops/measure.h src/ops/measure.c src/ops/place.h src/ops/place.c src/ops/rates.h \
	src/ops/rates.c src/ops/rates_file.c \
	src/ops/cuda.h src/ops/cuda_internal.h src/ops/cuda_common.c src/ops/cuda_conv.c \
	src/ops/cuda_matmul.c src/ops/cuda_window.c src/ops/cuda_element.c src/ops/cuda_move.c \
	src/ops/cuda_run.h src/ops/cuda_run.c src/ops/cuda_integer.c src/ops/cuda_pick.c \
	src/ops/cuda_host.c src/ops/cuda_sequence.c src/ops/cuda_transfer.h \
	src/ops/cuda_transfer.c src/ops/cuda_weights.h src/ops/cuda_weights.c \
	src/ops/cuda_check.h src/ops/cuda_check.c src/ops/cuda_check_cases.c \
	src/ops/cuda_speed.h src/ops/cuda_speed.c
libpsgops_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
if HAVE_DNNL
libpsgops_la_SOURCES += src/ops/dnnl.h src/ops/dnnl_internal.h src/ops/dnnl_common.c \
	src/ops/dnnl_conv.c src/ops/dnnl_linear.c src/ops/vector.h src/ops/mix.c \
	src/ops/image_kernels.c src/ops/rows.h src/ops/rows.c
endif
pkginclude_HEADERS += include/pagesift/tensor.h include/pagesift/op.h
