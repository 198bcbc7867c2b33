/* SPDX-License-Identifier: Apache-2.0 */
/* What `pagesift-gpu model` has found out, and its two ways of saying it. */
#ifndef PSG_CLI_MODEL_H
#define PSG_CLI_MODEL_H

#include "cli/cli.h"

/* Operators by number of uses, the most used first. */
typedef struct cli_operators {
	struct cli_operator {
		const char *name; /* borrowed from the model */
		size_t count;
	} * at; /* owned */
	size_t n, room;
	bool failed; /* no memory for one */
} cli_operators;

typedef struct cli_about {
	const char *file;
	const psg_model *model;
	const psg_device_info *device;
	const psg_shape *shapes; /* one an input */
	const bool *assumed;     /* likewise: not given by --shape */
	bool planned;            /* `cost` and `peak_bytes` of `stats` are known */
	psg_model_stats stats;
	cli_operators before, after;
} cli_about;

cli_exit cli_model_print_text(const cli_about *model);
cli_exit cli_model_print_json(const cli_about *model);

#endif
