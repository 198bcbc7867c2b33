/* SPDX-License-Identifier: Apache-2.0 */
/* Embeds the PTX: the assembler reads the files, so that a build needs no other tool. */
#include "config.h"

#include "device/ptx.h"

/* The assembler looks in the source's top folder; the driver wants a 0 at the end. */
#define EMBED(target, family)                                                                      \
	__asm__(".pushsection .rodata\n"                                                           \
		".globl psgi_ptx_" #target "_" #family "\n"                                        \
		".hidden psgi_ptx_" #target "_" #family "\n"                                       \
		"psgi_ptx_" #target "_" #family ":\n"                                              \
		".incbin \"ptx/sm_" #target "/" #family ".ptx\"\n"                                 \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char psgi_ptx_##target##_##family[];

#define EMBED_61(family) EMBED(61, family)
#define EMBED_70(family) EMBED(70, family)
PSGI_KERNEL_FAMILIES(EMBED_61)
PSGI_KERNEL_FAMILIES(EMBED_70)

static const char *const names[] = {
#define NAME(family) #family,
	PSGI_KERNEL_FAMILIES(NAME)
#undef NAME
};

static const char *const phases[] = {
#define PHASE(family) "compiling or loading the kernels '" #family "'",
	PSGI_KERNEL_FAMILIES(PHASE)
#undef PHASE
};

static const char *const texts_61[] = {
#define TEXT(family) psgi_ptx_61_##family,
	PSGI_KERNEL_FAMILIES(TEXT)
#undef TEXT
};

static const char *const texts_70[] = {
#define TEXT(family) psgi_ptx_70_##family,
	PSGI_KERNEL_FAMILIES(TEXT)
#undef TEXT
};

static const struct {
	int target;
	const char *const *texts;
} targets[] = {
#define ROW(target) { target, texts_##target },
	PSGI_PTX_TARGETS(ROW)
#undef ROW
};

#define N_TARGETS (sizeof(targets) / sizeof(targets[0]))

const char *psgi_family_name(psgi_gpu_family family)
{
	return names[family];
}

const char *psgi_family_phase(psgi_gpu_family family)
{
	return phases[family];
}

int psgi_ptx_target(int most)
{
	int best = 0;

	for (size_t i = 0; i < N_TARGETS; i++)
		if (targets[i].target <= most)
			best = targets[i].target;
	return best;
}

const char *psgi_ptx_text(psgi_gpu_family family, int target)
{
	for (size_t i = 0; i < N_TARGETS; i++)
		if (targets[i].target == target)
			return targets[i].texts[family];
	return NULL;
}
