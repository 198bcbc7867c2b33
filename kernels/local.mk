# SPDX-License-Identifier: Apache-2.0
# The GPU's code. Its PTX is committed, so that only who changes a kernel needs clang 19.
kernel_code = \
	kernels/gemm_128.c kernels/gemm_64.c kernels/gemm_32.c kernels/gemm_any.c \
	kernels/gemm_dots.c kernels/conv_128.c kernels/conv_64.c kernels/conv_32.c \
	kernels/depthwise.c kernels/conv_transpose.c kernels/pool.c kernels/plane.c \
	kernels/element.c kernels/function.c kernels/binary.c kernels/power.c kernels/integer.c \
	kernels/mix.c kernels/copy.c kernels/move.c kernels/reduce.c kernels/pick.c kernels/row.c \
	kernels/batch_norm.c kernels/attention_16.c kernels/attention_32.c kernels/attention_64.c
kernel_headers = \
	kernels/kernel.h kernels/args.h kernels/list.h kernels/attention.h kernels/block.h \
	kernels/functions.h kernels/gemm.h kernels/gemm_tile.h kernels/posts.h \
	kernels/trigonometry.h kernels/walk.h kernels/window.h
kernel_ptx = \
	ptx/gemm_128.ptx ptx/gemm_64.ptx ptx/gemm_32.ptx ptx/gemm_any.ptx ptx/gemm_dots.ptx \
	ptx/conv_128.ptx ptx/conv_64.ptx ptx/conv_32.ptx ptx/depthwise.ptx ptx/conv_transpose.ptx \
	ptx/pool.ptx ptx/plane.ptx ptx/element.ptx ptx/function.ptx ptx/binary.ptx ptx/power.ptx \
	ptx/integer.ptx ptx/mix.ptx ptx/copy.ptx ptx/move.ptx ptx/reduce.ptx ptx/pick.ptx \
	ptx/row.ptx ptx/batch_norm.ptx ptx/attention_16.ptx ptx/attention_32.ptx \
	ptx/attention_64.ptx
EXTRA_DIST += $(kernel_code) $(kernel_headers) $(kernel_ptx) kernels/ptx.sh

CLANG19 = clang-19
PTXAS = ptxas
PTX_SH = CLANG19='$(CLANG19)' PTXAS='$(PTXAS)' $(SHELL) $(top_srcdir)/kernels/ptx.sh

.PHONY: ptx
ptx:
	$(PTX_SH) make $(top_srcdir) $(top_srcdir)/ptx

# The committed text is what the sources give; skipped without clang 19.
dist_check_SCRIPTS += tests/test_ptx.sh
TESTS += tests/test_ptx.sh
