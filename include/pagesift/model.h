/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: ONNX files, read once, run on any device.
 *
 * A model is immutable after load and may be shared by any number of threads
 * and devices; each device keeps its plans (one an input shape) within a bound,
 * and drops them some time after the model has gone.  Opsets 1 to 17 of the operators in use are
 * read; a model that needs anything else is refused at load with the node's name, operator and
 * reason.
 *
 * A file may be hostile.  It has at most 100,000 nodes, of which 16,384 are
 * left when constants are folded, and loading takes memory and time within a
 * multiple of its size; what it asks for beyond that is left for its run.
 */
#ifndef PAGESIFT_MODEL_H
#define PAGESIFT_MODEL_H

#include <pagesift/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_model psg_model;

typedef struct psg_model_options {
	/* Replace a final softmax by its digest: [N,T,V] becomes [N,T,2], the arg-max class
	 * and its probability (PSG_OP_CTC_DIGEST), so that V values a step need not be written. */
	bool digest;
	/* Plans kept, per device; 0 means 64 (chosen: the widths of one page and then some). */
	size_t max_plans;
} psg_model_options;

/*
 * Reads a model.  `options` may be NULL.  The caller owns one reference.
 * Blocks for the time of reading and folding.  FORMAT: not ONNX, truncated, a
 * cycle, a weight of the wrong size, shapes that contradict; UNSUPPORTED: an
 * operator, opset or element type; INVALID; NOMEM.  Any thread.
 */
PSG_API psg_status psg_model_load_file(const char *path, const psg_model_options *options,
				       psg_model **out, psg_error *error);

/* As above from memory, which is not needed afterwards.  `name` (may be NULL) is for messages. */
PSG_API psg_status psg_model_load_memory(const void *data, size_t size, const char *name,
					 const psg_model_options *options, psg_model **out,
					 psg_error *error);

PSG_API psg_model *psg_model_ref(psg_model *model);
PSG_API void psg_model_unref(psg_model *model); /* NULL is allowed */

/* One input or output; strings are borrowed from the model. */
typedef struct psg_port {
	const char *name;
	psg_dtype dtype;
	psg_shape shape;                  /* -1 where the dimension is free */
	const char *symbol[PSG_MAX_RANK]; /* the name of a free dimension, or NULL */
} psg_port;

PSG_API size_t psg_model_inputs(const psg_model *model);
PSG_API size_t psg_model_outputs(const psg_model *model);
PSG_API const psg_port *psg_model_input(const psg_model *model,
					size_t index); /* NULL past the end */
PSG_API const psg_port *psg_model_output(const psg_model *model,
					 size_t index); /* NULL past the end */

/*
 * Runs the model on the thread that owns `device` and waits for it.  `in` has
 * one tensor an input, in the model's order; the caller owns one reference to
 * each tensor put into `out`, one an output.  Valid widths of in[0] are kept
 * through every operator and found on the outputs.  INVALID: shapes that do
 * not fit, with the node and the numbers; NOMEM, OOM.  `stop` (may be NULL) is
 * asked between steps; when it returns true the run ends with CANCELLED.
 */
PSG_API psg_status psg_model_run(psg_model *model, psg_device *device, psg_tensor *const *in,
				 size_t n_in, psg_tensor **out, size_t n_out,
				 bool (*stop)(void *user), void *user, psg_error *error);

/* What `pagesift-gpu model` prints. */
typedef struct psg_model_stats {
	size_t nodes_before, nodes_after; /* nodes in the file; operators left to run */
	int64_t parameters;               /* float weights in the file */
	psg_cost cost;                    /* for the given shapes */
	/*
	 * Bytes of the device's memory that one run takes, without the weights: inputs, outputs,
	 * what lies between them and scratch; on a GPU also valid widths and the plan's tables, all
	 * in the pool's blocks.  So much is taken on a device that was just opened, and some
	 * kilobytes less without valid widths; runs of many shapes hold up to 1/7 more than the
	 * largest.  A CPU copies the input of a batch whose samples differ in width, which is not
	 * counted.
	 */
	int64_t peak_bytes;
	/*
	 * Bytes of the weights, in all forms that the model holds for CPUs; where shapes are
	 * planned for a GPU: in its memory, where all plans of the model share them.
	 */
	int64_t weight_bytes;
} psg_model_stats;

/*
 * Plans for `device` and the input shapes (NULL: only what is independent of shapes) without
 * running, on the thread that owns the device.  Weights and tables are copied to a GPU for that,
 * which takes weight_bytes there.  INVALID: shapes that do not fit; NOMEM, OOM.
 */
PSG_API psg_status psg_model_stats_get(psg_model *model, psg_device *device,
				       const psg_shape *shapes, size_t n_shapes,
				       psg_model_stats *stats, psg_error *error);

/*
 * Calls `visit` with each operator's name ("conv", "hardswish") and number of
 * uses, as found in the file (before = true, ONNX names) or as planned for the shapes.
 */
PSG_API psg_status psg_model_operators(psg_model *model, psg_device *device,
				       const psg_shape *shapes, size_t n_shapes, bool before,
				       void (*visit)(void *user, const char *name, size_t count),
				       void *user, psg_error *error);

#ifdef __cplusplus
}
#endif
#endif
