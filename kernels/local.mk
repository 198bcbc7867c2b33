# SPDX-License-Identifier: Apache-2.0
# The GPU's code. Its PTX is committed, so that only who changes a kernel needs clang 19.
kernel_sources = \
	kernels/kernel.h kernels/args.h kernels/list.h kernels/functions.h kernels/walk.h \
	kernels/window.h kernels/block.h kernels/gemm.h kernels/gemm_tile.h kernels/gemm.c \
	kernels/conv.c kernels/window.c kernels/element.c kernels/move.c kernels/reduce.c \
	kernels/sequence.c
kernel_ptx = \
	ptx/sm_61/gemm.ptx ptx/sm_61/conv.ptx ptx/sm_61/window.ptx ptx/sm_61/element.ptx \
	ptx/sm_61/move.ptx ptx/sm_61/reduce.ptx ptx/sm_61/sequence.ptx ptx/sm_70/gemm.ptx \
	ptx/sm_70/conv.ptx ptx/sm_70/window.ptx ptx/sm_70/element.ptx ptx/sm_70/move.ptx \
	ptx/sm_70/reduce.ptx ptx/sm_70/sequence.ptx
EXTRA_DIST += $(kernel_sources) $(kernel_ptx) kernels/ptx.sh

CLANG19 = clang-19
PTXAS = ptxas
PTX_SH = CLANG19='$(CLANG19)' PTXAS='$(PTXAS)' $(SHELL) $(top_srcdir)/kernels/ptx.sh

.PHONY: ptx
ptx:
	$(PTX_SH) make $(top_srcdir) $(top_srcdir)/ptx

# The committed text is what the sources give; skipped without clang 19.
dist_check_SCRIPTS += tests/test_ptx.sh
TESTS += tests/test_ptx.sh
