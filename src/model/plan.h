/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: a flow lowered to kernels of one device, with its memory laid out.
 *
 * Layout is a property of a plan's value, not of the world: the same flow
 * value may exist in several layouts, converted where two kernels differ.
 */
#ifndef PSG_MODEL_PLAN_H
#define PSG_MODEL_PLAN_H

#include "model/flow.h"
#include "model/start.h"
#include "ops/kernel.h"
#include "ops/pack.h"

typedef enum psgi_home {
	PSGI_HOME_ARENA,    /* in the run's memory, at `offset` */
	PSGI_HOME_CONSTANT, /* at `data`, memory of the device */
	PSGI_HOME_INPUT,    /* the data of input `port` */
	PSGI_HOME_OUTPUT,   /* the data of output `port` */
	PSGI_HOME_ALIAS,    /* where value `root` lies */
} psgi_home;

/*
 * Channels of an image [N, C, ...] are stored plain (block 1), or `block` at a
 * time next to each other (nC..16c), the last block filled up with zeros.
 */
typedef struct psgi_pvalue {
	psgi_home home;
	int32_t flow_value; /* -1: scratch of the plan */
	int32_t block;
	int32_t root; /* ALIAS */
	size_t port;  /* INPUT, OUTPUT */
	void *data;   /* CONSTANT */
	size_t bytes, offset;
	int32_t first, last;       /* steps that make and last use it */
	int32_t width, width_axis; /* as in the flow */
} psgi_pvalue;

typedef struct psgi_step {
	const char *name; /* of the node; borrowed from the graph */
	psg_op_kind kind;
	psgi_kernel *kernel;
	size_t n_in, n_out;
	int32_t in[PSG_MAX_INPUTS]; /* plan values; -1: absent */
	int32_t out[PSG_MAX_OUTPUTS];
} psgi_step;

typedef struct psgi_plan {
	psg_device *device;
	psgi_flow flow;
	psgi_pvalue *values;
	size_t n_values, cap_values;
	psgi_step *steps;
	size_t n_steps, cap_steps;
	int32_t *plain;   /* by flow value: the plan value in row-major layout, or -1 */
	int32_t *blocked; /* by flow value: the plan value in the blocked layout, or -1 */
	size_t n_homes;
	size_t arena_bytes, scratch_bytes;
	int32_t *valid; /* n_widths x N, of the host, filled by each run */
	size_t samples; /* N */
} psgi_plan;

/* Takes over `flow`, also on failure. */
psg_status psgi_plan_create(psgi_flow *flow, psg_device *device, psgi_pack_cache *packs,
			    psgi_plan **out, psg_error *error);
void psgi_plan_destroy(psgi_plan *plan); /* NULL is allowed */

/* As psgi_model_start, for the shapes of this plan; `started` is all zero. */
psg_status psgi_plan_start(psgi_plan *plan, psg_tensor *const *in, const psgi_start_hooks *hooks,
			   psgi_started *started, psg_error *error);

/* Tells of the run in the trace, if there is one, as it ends or fails to start. */
void psgi_started_trace(const psgi_started *started, psg_status status);

/* Bytes of the device's memory that a run takes, and the plan for it, but for the weights: what
 * psg_model_stats.peak_bytes is. */
size_t psgi_plan_peak_bytes(const psgi_plan *plan);

/* --- for lowering --- */

/* A value of the plan in the arena for `flow_value` with channels in blocks; -1 when memory is
 * short. */
int32_t psgi_plan_add(psgi_plan *plan, int32_t flow_value, int32_t block);

/* Appends a step and takes over `kernel`, also on failure. */
psg_status psgi_plan_step(psgi_plan *plan, const psgi_step *step, psg_error *error);

/* The plain or blocked form of a flow value, converting it when it exists in the other only. */
psg_status psgi_plan_plain(psgi_plan *plan, int32_t flow_value, int32_t *out, psg_error *error);
psg_status psgi_plan_blocked(psgi_plan *plan, int32_t flow_value, int32_t block, int32_t *out,
			     psg_error *error);

/* Shapes and places of valid widths of a node's operands, for making a kernel. */
void psgi_plan_call(const psgi_plan *plan, const psgi_fnode *node, psgi_call *call);

/* Appends the step that runs `kernel` for a node on plain operands: its inputs, the sums of its
 * epilogue, its outputs.  Takes over `kernel`, also on failure. */
psg_status psgi_plan_node(psgi_plan *plan, const psgi_fnode *node, psgi_kernel *kernel,
			  psg_error *error);

/* Lowers what a CUDA device has kernels for; *done says whether it did. */
psg_status psgi_lower_cuda(psgi_plan *plan, const psgi_fnode *node, bool *done, psg_error *error);

/* Lowers what oneDNN and our own vector kernels do well; *done says whether it did. */
psg_status psgi_lower_fast(psgi_plan *plan, psgi_pack_cache *packs, const psgi_fnode *node,
			   bool *done, psg_error *error);

/* A product of rows with constant weights, and perhaps a constant bias? */
bool psgi_is_linear(const psgi_flow *flow, const psgi_fnode *node);

/* Transposed convolutions without overlap as products; after the epilogues are fused. */
psg_status psgi_pass_shuffle(psgi_flow *flow, psg_error *error);

/* Fuses epilogues and rewrites for the fast kernels of the CPU and of GPUs. */
psg_status psgi_pass_fuse(psgi_flow *flow, psg_error *error);

#endif
