/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operator becomes launches: a list of them, each a kernel, a grid and
 * its parameter with places that a run's pointers are put into.
 */
#ifndef PSG_OPS_CUDA_INTERNAL_H
#define PSG_OPS_CUDA_INTERNAL_H

#include "device/cuda.h"
#include "kernels/args.h"
#include "ops/cuda.h"
#include "ops/family.h"

#include <stddef.h>

typedef union psgi_cuda_args {
	unary_args unary;
	add2_args add2;
	channel_args channel;
	binary_args binary;
	power_args power;
	integer_args integer;
	compare_args compare;
	cast_args cast;
	batch_norm_args batch_norm;
	mix_args mix;
	gemm_args gemm;
	conv_args conv;
	depthwise_args depthwise;
	conv_transpose_args conv_transpose;
	im2col_args im2col;
	pool_args pool;
	global_pool_args global_pool;
	copy_args copy;
	pad_args pad;
	interp_args interp;
	zero_cols_args zero_cols;
	swap_args swap;
	softmax_args softmax;
	norm_args norm;
	attention_args attention;
	digest_args digest;
	reduce_args reduce;
	reduce_integers_args reduce_integers;
	gather_args gather;
	where_args where;
	arg_args arg;
} psgi_cuda_args;

typedef enum psgi_slot_kind { PSGI_SLOT_IN, PSGI_SLOT_OUT, PSGI_SLOT_VALID } psgi_slot_kind;

/* The pointer at `offset` of a parameter is this operand of the run. */
typedef struct psgi_slot {
	psgi_slot_kind kind;
	size_t index, offset;
} psgi_slot;

#define PSGI_CUDA_SLOTS (5 + GPU_MAX_POST)

typedef struct psgi_cuda_launch {
	psgi_gpu_kernel kernel;
	int64_t blocks;
	uint32_t threads;
	size_t args_bytes, n_slots;
	psgi_slot slot[PSGI_CUDA_SLOTS];
	psgi_cuda_args args;
} psgi_cuda_launch;

typedef struct psgi_cuda psgi_cuda;

/* The error of an element that has no result; `bad` is the number that the kernel reported. */
typedef psg_status psgi_cuda_verdict(const psgi_cuda *cuda, int64_t bad, const psgi_operand *in,
				     psg_error *error);

/* What an operator is made of while it is made. */
struct psgi_cuda {
	psgi_kernel kernel;
	psg_device *device;
	psg_op_kind kind;
	void *table; /* device memory of its own; may be NULL */
	size_t table_bytes;
	psgi_cuda_verdict *verdict; /* not NULL: the table is the one number that kernels report */
	size_t n_launches;
	bool beyond;               /* a grid that no card takes, or too many launches */
	psgi_cuda_launch launch[]; /* PSGI_CUDA_LAUNCHES while it is made */
};

#define PSGI_CUDA_LAUNCHES (PSG_MAX_INPUTS + GPU_MAX_POST)

/* One thread an element. */
#define PSGI_CUDA_THREADS 256

/* Appends a launch, whose args are zero; never NULL.  `blocks` of 0 or less does nothing. */
psgi_cuda_launch *psgi_cuda_add(psgi_cuda *cuda, psgi_gpu_kernel kernel, int64_t blocks,
				uint32_t threads, size_t args_bytes);
/* The same for `n` elements with a thread each. */
psgi_cuda_launch *psgi_cuda_each(psgi_cuda *cuda, psgi_gpu_kernel kernel, int64_t n,
				 size_t args_bytes);
void psgi_cuda_slot(psgi_cuda_launch *launch, psgi_slot_kind kind, size_t index, size_t offset);

/* The operand goes to member `member` of the parameter of type `type`. */
#define PSGI_SLOT(launch, kind, index, type, member)                                               \
	psgi_cuda_slot(launch, kind, index, offsetof(type, member))

/* Threads of a block for a row of `n`: a power of two of 32 to 256. */
uint32_t psgi_cuda_row_threads(int64_t n);

/* The launch of a unary operator for `n` elements, without its slots; NULL: no kernel has it. */
psgi_cuda_launch *psgi_cuda_unary(psgi_cuda *cuda, psg_op_kind kind, psg_unary_params params,
				  int64_t n);

/* What is to be done with an operator's first output. */
typedef struct psgi_cuda_post_list {
	const psgi_epilogue *post;
	size_t n;
	size_t first_in; /* the run's input of the first ADD */
	size_t taken;    /* by the operator's kernel, from the first on; the others get launches */
} psgi_cuda_post_list;

/* Puts as many of `posts` as the kernels know behind those in the gpu_posts at `offset` of the
 * parameter. */
void psgi_cuda_posts(psgi_cuda_launch *launch, size_t offset, psgi_cuda_post_list *posts);
/* The same for one that adds the run's input `index`. */
void psgi_cuda_post_add(psgi_cuda_launch *launch, size_t offset, size_t index);

/* Memory of the operator's own on the device, filled from the host. */
psg_status psgi_cuda_table(psgi_cuda *cuda, const void *from, size_t bytes, psg_error *error);

/* Each run ends with a look at what the kernels reported into the table, so it waits for them. */
psg_status psgi_cuda_judge(psgi_cuda *cuda, psgi_cuda_verdict *verdict, psg_error *error);

/* The walk of a result of shape `out` with both operands broadcast to it; `function` is not set. */
void psgi_cuda_pair(gpu_pair *pair, const psg_shape *out, const psg_shape *a, const psg_shape *b);

/* Kernels that only move elements know those of 4 bytes: larger ones are several. */
static inline int64_t psgi_cuda_words(const psgi_view *view)
{
	return (int64_t)(psg_dtype_size(view->dtype) / sizeof(uint32_t));
}

/* Is a value of from..to among whole numbers?  Also when they are not known. */
bool psgi_cuda_may_have(const psgi_view *view, int64_t from, int64_t to);

/* Input 0 to output 0, as it is. */
bool psgi_cuda_copy_all(psgi_cuda *cuda, const psgi_call *call);

/* The families.  *done is set when the operator was made; some take posts. */
typedef psg_status psgi_cuda_family(psgi_cuda *cuda, const psgi_call *call,
				    psgi_cuda_post_list *posts, bool *done, psg_error *error);
psgi_cuda_family psgi_cuda_conv, psgi_cuda_matmul, psgi_cuda_window, psgi_cuda_element,
	psgi_cuda_integer, psgi_cuda_pick, psgi_cuda_move, psgi_cuda_sequence;

/* The window of a two- or one-dimensional call; false: more dimensions, or more than 31 bits. */
bool psgi_cuda_window_of(const psgi_call *call, gpu_window *window, psg_error *error);
/* The slot for its valid widths, where the call may have some. */
void psgi_cuda_valid(psgi_cuda_launch *launch, const psgi_call *call, size_t offset);

/* Chooses the tile of a product whose args are filled but for tiles, and sets grid and kernel. */
typedef struct psgi_cuda_tiles {
	psgi_gpu_kernel kernel[3]; /* of sides 128, 64 and 32 */
} psgi_cuda_tiles;
void psgi_cuda_tile(const psgi_cuda *cuda, psgi_cuda_launch *launch, gemm_args *args,
		    const psgi_cuda_tiles *tiles);

#endif
