/* SPDX-License-Identifier: Apache-2.0 */
/* Embeds the PTX: the assembler reads the files, so that a build needs no other tool. */
#include "config.h"

#include "device/ptx.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)64 << 20) /* of a file; chosen: far more than all families together */

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

/* Up to its end, and a 0; NULL: errno says why. */
static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t n = 0, got;

	do {
		char *more = n + BUFSIZ < MOST_BYTES ? realloc(text, n + BUFSIZ + 1) : NULL;

		if (more == NULL) {
			free(text);
			errno = ENOMEM;
			return NULL;
		}
		text = more;
		got = fread(text + n, 1, BUFSIZ, file);
		n += got;
	} while (got > 0);
	if (ferror(file) != 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* The file FAMILY.ptx of a folder. */
static psg_status read_family(const char *folder, psgi_gpu_family family, char **out,
			      psg_error *error)
{
	char path[4096]; /* PATH_MAX of Linux */
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s.ptx", folder, families[family].name);
	file = fopen(path, "re");
	*out = file != NULL ? read_all(file) : NULL;
	if (file != NULL)
		(void)fclose(file);
	if (*out != NULL)
		return PSG_OK;
	return psgi_fail(error, errno == ENOMEM ? PSG_NOMEM : PSG_INVALID,
			 "PAGESIFT_PTX_DIR: %.500s: %s", path, strerror(errno));
}

/* A copy of `text` whose target is `target`; NULL: no memory. */
static char *aimed_at(const char *text, int target)
{
	static const char directive[] = "\n.target sm_";
	const char *at = strstr(text, directive), *rest;
	size_t size = strlen(text) + 16; /* 16: more than a number takes */
	char *copy = malloc(size);

	if (copy == NULL)
		return NULL;
	if (at == NULL) /* the driver's to refuse */
		return memcpy(copy, text, strlen(text) + 1);
	at += sizeof(directive) - 1;
	rest = at + strspn(at, "0123456789");
	(void)snprintf(copy, size, "%.*s%d%s", (int)(at - text), text, target, rest);
	return copy;
}

psg_status psgi_ptx_text(psgi_gpu_family family, int target, char **out, psg_error *error)
{
	const char *folder = getenv("PAGESIFT_PTX_DIR");
	char *text = NULL;

	if (folder != NULL && folder[0] != '\0') {
		psg_status status = read_family(folder, family, &text, error);

		if (status != PSG_OK)
			return status;
	}
	*out = aimed_at(text != NULL ? text : families[family].text, target);
	free(text);
	return *out != NULL ? PSG_OK
			    : psgi_fail(error, PSG_NOMEM, "no memory for the PTX of '%s'",
					families[family].name);
}
