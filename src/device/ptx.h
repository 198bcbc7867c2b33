/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX of ptx/, as it lies in the library. */
#ifndef PSG_DEVICE_PTX_H
#define PSG_DEVICE_PTX_H

#include "kernels/list.h"

#include <pagesift/error.h>

/* The targets that every family can be loaded for, rising; the first is what the files say. */
#define PSGI_PTX_TARGETS(X) X(61) X(70)

typedef enum psgi_gpu_family {
#define PSGI_GPU_FAMILY(name) PSGI_FAMILY_##name,
	PSGI_KERNEL_FAMILIES(PSGI_GPU_FAMILY)
#undef PSGI_GPU_FAMILY
		PSGI_FAMILIES
} psgi_gpu_family;

const char *psgi_family_name(psgi_gpu_family family);

/* What a thread is at that loads it, see base/phase.h. */
const char *psgi_family_phase(psgi_gpu_family family);

/* The largest target up to `most`; 0: there is none. */
int psgi_ptx_target(int most);

/*
 * The text of a family for one of the targets, the library's or that of FAMILY.ptx in the folder
 * PAGESIFT_PTX_DIR; `*out` is for the caller to free().  INVALID: the file cannot be read; NOMEM.
 */
psg_status psgi_ptx_text(psgi_gpu_family family, int target, char **out, psg_error *error);

#endif
