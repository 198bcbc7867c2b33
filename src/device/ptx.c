/* SPDX-License-Identifier: Apache-2.0 */
/* Embeds the PTX: the assembler reads the files, so that a build needs no other tool. */
#include "config.h"

#include "device/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The assembler looks in the source's top folder; a 0 ends the string. */
#define EMBED(family)                                                                              \
	__asm__(".pushsection .rodata\n"                                                           \
		".globl psgi_ptx_" #family "\n"                                                    \
		".hidden psgi_ptx_" #family "\n"                                                   \
		"psgi_ptx_" #family ":\n"                                                          \
		".incbin \"ptx/" #family ".ptx\"\n"                                                \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char psgi_ptx_##family[];

PSGI_KERNEL_FAMILIES(EMBED)

static const struct {
	const char *name, *phase, *text;
} families[] = {
#define ROW(family)                                                                                \
	{ #family, "compiling or loading the kernels '" #family "'", psgi_ptx_##family },
	PSGI_KERNEL_FAMILIES(ROW)
#undef ROW
};

static const int targets[] = {
#define TARGET(target) target,
	PSGI_PTX_TARGETS(TARGET)
#undef TARGET
};

const char *psgi_family_name(psgi_gpu_family family)
{
	return families[family].name;
}

const char *psgi_family_phase(psgi_gpu_family family)
{
	return families[family].phase;
}

int psgi_ptx_target(int most)
{
	int best = 0;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (targets[i] <= most)
			best = targets[i];
	return best;
}

char *psgi_ptx_text(psgi_gpu_family family, int target)
{
	static const char directive[] = "\n.target sm_";
	const char *text = families[family].text, *at = strstr(text, directive), *rest;
	size_t size = strlen(text) + 16; /* 16: more than a number takes */
	char *copy = malloc(size);

	if (copy == NULL)
		return NULL;
	/* What has no target is the driver's to refuse. */
	at = at != NULL ? at + sizeof(directive) - 1 : text;
	rest = at + strspn(at, "0123456789");
	(void)snprintf(copy, size, "%.*s%d%s", (int)(at - text), text, target, rest);
	return copy;
}
