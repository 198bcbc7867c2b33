/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded model: what its public handle and the plans made from it share. */
#ifndef PSG_MODEL_MODEL_H
#define PSG_MODEL_MODEL_H

#include "model/graph.h"
#include "ops/pack.h"

#include <stdatomic.h>

struct psg_model {
	atomic_int handles; /* references of callers */
	atomic_int holders; /* 1 for all handles together, and 1 a plan: the memory lives until 0 */
	psgi_graph *graph;
	psgi_pack_cache *packs;
	psg_model_options options;
	uint32_t by_value; /* bit i: plans depend on the values of input i, not only on its shape */
	size_t nodes_after_passes;
};

/* No handle is left: its plans are only waiting to be dropped. */
bool psgi_model_closed(const psg_model *model);

/* Of the file that it was read from, for people; "model" where that is not known. */
const char *psgi_model_name(const psg_model *model);

void psgi_model_hold(psg_model *model);
void psgi_model_drop(psg_model *model);

#endif
