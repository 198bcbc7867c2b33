/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators: one table of kinds, their descriptors, and a call that runs one.
 *
 * Layouts: images are [N, C, spatial...] with one to three spatial dimensions,
 * sequences [N, T, C], everything row-major.  Names and formulas follow the
 * ONNX operator of the same name unless the descriptor says otherwise.  In
 * every descriptor a zero stride, dilation, kernel or group count means 1, so
 * that a designated initialiser names only what differs.
 */
#ifndef PAGESIFT_OP_H
#define PAGESIFT_OP_H

#include <pagesift/device.h>
#include <pagesift/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PSG_MAX_INPUTS 16
#define PSG_MAX_OUTPUTS 16
#define PSG_MAX_SPATIAL 3

/*
 * The operator table, one row an operator:
 * X(KIND, name, family, params, least inputs, most inputs, least outputs, most outputs)
 * `family` names the rules and the code (src/ops/<family>.c), `params` the
 * member of psg_op_params.  GEMM and depthwise convolution are rows of their
 * general form: matmul, and conv with as many groups as channels.
 */
#define PSG_OP_MAP(X)                                                                              \
	/* convolution: x [N,C,..], w [M,C/g,k..], bias [M] */                                     \
	X(CONV, conv, conv, conv, 2, 3, 1, 1)                                                      \
	/* x [N,C,..], w [C,M/g,k..], bias [M] */                                                  \
	X(CONV_TRANSPOSE, conv_transpose, conv_transpose, conv, 2, 3, 1, 1)                        \
	/* x [N,C,H,W] -> [N, C*kh*kw, OH*OW] */                                                   \
	X(IM2COL, im2col, im2col, conv, 1, 1, 1, 1)                                                \
	/* pools; the second output of max_pool is the flat index of each maximum */               \
	X(POOL_MAX, pool_max, pool, pool, 1, 1, 1, 2)                                              \
	X(POOL_AVG, pool_avg, pool, pool, 1, 1, 1, 1)                                              \
	X(POOL_LP, pool_lp, pool, pool, 1, 1, 1, 1)                                                \
	/* x [N,C,..] -> [N,C,1..]; the mean is over valid columns only */                         \
	X(GLOBAL_AVG, global_avg, global_pool, none, 1, 1, 1, 1)                                   \
	X(GLOBAL_MAX, global_max, global_pool, none, 1, 1, 1, 1)                                   \
	/* a [..,M,K] b [..,K,N] c: alpha * op(a) op(b) + beta * c, batches broadcast */           \
	X(MATMUL, matmul, matmul, matmul, 2, 3, 1, 1)                                              \
	/* one element in, one out; alpha and beta as psg_unary_params says */                     \
	X(IDENTITY, identity, unary, unary, 1, 1, 1, 1)                                            \
	X(RELU, relu, unary, unary, 1, 1, 1, 1)                                                    \
	X(LEAKY_RELU, leaky_relu, unary, unary, 1, 1, 1, 1)                                        \
	X(ELU, elu, unary, unary, 1, 1, 1, 1)                                                      \
	X(CELU, celu, unary, unary, 1, 1, 1, 1)                                                    \
	X(SELU, selu, unary, unary, 1, 1, 1, 1)                                                    \
	X(THRESHOLDED_RELU, thresholded_relu, unary, unary, 1, 1, 1, 1)                            \
	X(CLIP, clip, unary, unary, 1, 1, 1, 1)                                                    \
	X(AFFINE, affine, unary, unary, 1, 1, 1, 1)                                                \
	X(SIGMOID, sigmoid, unary, unary, 1, 1, 1, 1)                                              \
	X(HARDSIGMOID, hardsigmoid, unary, unary, 1, 1, 1, 1)                                      \
	X(SE_GATE, se_gate, unary, unary, 1, 1, 1, 1)                                              \
	X(HARDSWISH, hardswish, unary, unary, 1, 1, 1, 1)                                          \
	X(SILU, silu, unary, unary, 1, 1, 1, 1)                                                    \
	X(GELU, gelu, unary, unary, 1, 1, 1, 1)                                                    \
	X(ERF, erf, unary, unary, 1, 1, 1, 1)                                                      \
	X(SOFTPLUS, softplus, unary, unary, 1, 1, 1, 1)                                            \
	X(SOFTSIGN, softsign, unary, unary, 1, 1, 1, 1)                                            \
	X(TANH, tanh, unary, unary, 1, 1, 1, 1)                                                    \
	X(EXP, exp, unary, unary, 1, 1, 1, 1)                                                      \
	X(LOG, log, unary, unary, 1, 1, 1, 1)                                                      \
	X(SQRT, sqrt, unary, unary, 1, 1, 1, 1)                                                    \
	X(ABS, abs, unary, unary, 1, 1, 1, 1)                                                      \
	X(NEG, neg, unary, unary, 1, 1, 1, 1)                                                      \
	X(RECIPROCAL, reciprocal, unary, unary, 1, 1, 1, 1)                                        \
	X(FLOOR, floor, unary, unary, 1, 1, 1, 1)                                                  \
	X(CEIL, ceil, unary, unary, 1, 1, 1, 1)                                                    \
	X(ROUND, round, unary, unary, 1, 1, 1, 1) /* halves to even */                             \
	X(SIGN, sign, unary, unary, 1, 1, 1, 1)                                                    \
	X(SIN, sin, unary, unary, 1, 1, 1, 1)                                                      \
	X(COS, cos, unary, unary, 1, 1, 1, 1)                                                      \
	X(TAN, tan, unary, unary, 1, 1, 1, 1)                                                      \
	X(ASIN, asin, unary, unary, 1, 1, 1, 1)                                                    \
	X(ACOS, acos, unary, unary, 1, 1, 1, 1)                                                    \
	X(ATAN, atan, unary, unary, 1, 1, 1, 1)                                                    \
	X(SINH, sinh, unary, unary, 1, 1, 1, 1)                                                    \
	X(COSH, cosh, unary, unary, 1, 1, 1, 1)                                                    \
	X(ASINH, asinh, unary, unary, 1, 1, 1, 1)                                                  \
	X(ACOSH, acosh, unary, unary, 1, 1, 1, 1)                                                  \
	X(ATANH, atanh, unary, unary, 1, 1, 1, 1)                                                  \
	/* numpy broadcasting; F32 or I64; comparisons and `not` give I64 0 or 1 */                \
	X(ADD, add, binary, none, 1, PSG_MAX_INPUTS, 1, 1)                                         \
	X(SUB, sub, binary, none, 2, 2, 1, 1)                                                      \
	X(MUL, mul, binary, none, 2, 2, 1, 1)                                                      \
	X(DIV, div, binary, none, 2, 2, 1, 1)                                                      \
	X(POW, pow, binary, none, 2, 2, 1, 1)                                                      \
	X(MIN, min, binary, none, 1, PSG_MAX_INPUTS, 1, 1)                                         \
	X(MAX, max, binary, none, 1, PSG_MAX_INPUTS, 1, 1)                                         \
	X(MEAN, mean, binary, none, 1, PSG_MAX_INPUTS, 1, 1)                                       \
	X(PRELU, prelu, binary, none, 2, 2, 1, 1)                                                  \
	X(EQUAL, equal, binary, none, 2, 2, 1, 1)                                                  \
	X(LESS, less, binary, none, 2, 2, 1, 1)                                                    \
	X(LESS_EQUAL, less_equal, binary, none, 2, 2, 1, 1)                                        \
	X(GREATER, greater, binary, none, 2, 2, 1, 1)                                              \
	X(GREATER_EQUAL, greater_equal, binary, none, 2, 2, 1, 1)                                  \
	X(WHERE, where, select, none, 3, 3, 1, 1)                                                  \
	/* per-channel forms: x [N,C,..], bias [C], scale [N,C] or [N,C,1..] */                    \
	X(ADD_BIAS, add_bias, channel, none, 2, 2, 1, 1)                                           \
	X(SCALE_CH, scale_ch, channel, none, 2, 2, 1, 1)                                           \
	/* reductions */                                                                           \
	X(REDUCE_SUM, reduce_sum, reduce, reduce, 1, 1, 1, 1)                                      \
	X(REDUCE_MEAN, reduce_mean, reduce, reduce, 1, 1, 1, 1)                                    \
	X(REDUCE_MAX, reduce_max, reduce, reduce, 1, 1, 1, 1)                                      \
	X(REDUCE_MIN, reduce_min, reduce, reduce, 1, 1, 1, 1)                                      \
	X(REDUCE_PROD, reduce_prod, reduce, reduce, 1, 1, 1, 1)                                    \
	X(REDUCE_L1, reduce_l1, reduce, reduce, 1, 1, 1, 1)                                        \
	X(REDUCE_L2, reduce_l2, reduce, reduce, 1, 1, 1, 1)                                        \
	X(REDUCE_LOG_SUM, reduce_log_sum, reduce, reduce, 1, 1, 1, 1)                              \
	X(REDUCE_LOG_SUM_EXP, reduce_log_sum_exp, reduce, reduce, 1, 1, 1, 1)                      \
	X(REDUCE_SUM_SQUARE, reduce_sum_square, reduce, reduce, 1, 1, 1, 1)                        \
	X(ARG_MAX, arg_max, arg, arg, 1, 1, 1, 1)                                                  \
	X(ARG_MIN, arg_min, arg, arg, 1, 1, 1, 1)                                                  \
	/* normalisation: batch_norm x, scale, bias, mean, variance, each [C] */                   \
	X(BATCH_NORM, batch_norm, norm, norm, 5, 5, 1, 1)                                          \
	X(INSTANCE_NORM, instance_norm, norm, norm, 3, 3, 1, 1)                                    \
	/* x, gamma, beta over the dimensions from params.axis on */                               \
	X(LAYER_NORM, layer_norm, norm, norm, 2, 3, 1, 1)                                          \
	X(SOFTMAX, softmax, softmax, softmax, 1, 1, 1, 1)                                          \
	X(LOG_SOFTMAX, log_softmax, softmax, softmax, 1, 1, 1, 1)                                  \
	/* data movement, any element type */                                                      \
	X(TRANSPOSE, transpose, transpose, transpose, 1, 1, 1, 1)                                  \
	X(RESHAPE, reshape, reshape, reshape, 1, 1, 1, 1)                                          \
	X(FLATTEN, flatten, reshape, axes, 1, 1, 1, 1)                                             \
	X(SQUEEZE, squeeze, reshape, axes, 1, 1, 1, 1)                                             \
	X(UNSQUEEZE, unsqueeze, reshape, axes, 1, 1, 1, 1)                                         \
	X(SLICE, slice, slice, slice, 1, 1, 1, 1)                                                  \
	X(CROP_COLS, crop_cols, slice, slice, 1, 1, 1, 1) /* columns start[0]..end[0] */           \
	X(CONCAT, concat, concat, concat, 1, PSG_MAX_INPUTS, 1, 1)                                 \
	X(SPLIT, split, split, split, 1, 1, 1, PSG_MAX_OUTPUTS)                                    \
	X(COPY_PART, copy_part, concat, concat, 2, 2, 1, 1) /* in[0] with in[1] put at offset */   \
	X(PAD_ALL, pad_all, pad, pad, 1, 1, 1, 1)                                                  \
	X(PAD_RB, pad_rb, pad, pad, 1, 1, 1,                                                       \
	  1) /* zeros right and below, end[0] rows, end[1] columns */                              \
	X(ZERO_COLS, zero_cols, pad, none, 1, 1, 1, 1) /* zeros past each valid width */           \
	X(EXPAND, expand, expand, reshape, 1, 1, 1, 1)                                             \
	X(TILE, tile, expand, reshape, 1, 1, 1, 1)                                                 \
	X(GATHER, gather, gather, concat, 2, 2, 1, 1)                                              \
	X(DEPTH_TO_SPACE, depth_to_space, depth, depth, 1, 1, 1, 1)                                \
	X(SPACE_TO_DEPTH, space_to_depth, depth, depth, 1, 1, 1, 1)                                \
	X(INTERP_NEAREST, interp_nearest, resize, resize, 1, 1, 1, 1)                              \
	/* shape arithmetic; runs on the host when a plan is made */                               \
	X(SHAPE, shape, shape, shape, 1, 1, 1, 1)                                                  \
	X(SIZE, size, shape, shape, 1, 1, 1, 1)                                                    \
	X(CAST, cast, cast, cast, 1, 1, 1, 1)                                                      \
	X(NOT, not, cast, none, 1, 1, 1, 1)                                                        \
	X(CONSTANT_OF_SHAPE, constant_of_shape, fill, fill, 0, 0, 1, 1)                            \
	X(RANGE, range, fill, fill, 0, 0, 1, 1)                                                    \
	/* sequences and text */                                                                   \
	X(CHW_TO_SEQ, chw_to_seq, sequence, sequence, 1, 1, 1, 1) /* [N,C,H,W] -> [N,H*W,C] */     \
	X(SEQ_TO_CHW, seq_to_chw, sequence, sequence, 1, 1, 1,                                     \
	  1) /* [N,T,C] -> [N,C,height,T/height] */                                                \
	/* qkv [N,T,3*h*d] -> [3,N,h,T,d], q times scale */                                        \
	X(ATTN_SPLIT, attn_split, attention, attention, 1, 1, 1, 1)                                \
	X(ATTN_SOFTMAX, attn_softmax, attention, attention, 1, 1, 1,                               \
	  1) /* [N,h,T,T], keys past the valid width excluded */                                   \
	X(ATTN_MERGE, attn_merge, attention, attention, 1, 1, 1, 1) /* [N,h,T,d] -> [N,T,h*d] */   \
	X(ATTENTION, attention, attention, attention, 1, 1, 1, 1)   /* [N,T,3*h*d] -> [N,T,h*d] */ \
	/* logits [N,T,V] -> [N,T,2]: arg-max class and its softmax probability */                 \
	X(CTC_DIGEST, ctc_digest, ctc, none, 1, 1, 1, 1)

typedef enum psg_op_kind {
#define PSG_OP_ENUM(KIND, ...) PSG_OP_##KIND,
	PSG_OP_MAP(PSG_OP_ENUM)
#undef PSG_OP_ENUM
		PSG_OP_KINDS
} psg_op_kind;

/* How padding is found: as given, or computed as ONNX's auto_pad says. */
typedef enum psg_auto_pad {
	PSG_PAD_EXPLICIT,
	PSG_PAD_VALID,
	PSG_PAD_SAME_UPPER,
	PSG_PAD_SAME_LOWER,
} psg_auto_pad;

/* A sliding window, one entry a spatial dimension, outermost first. */
typedef struct psg_window {
	int32_t kernel[PSG_MAX_SPATIAL]; /* pools; convolutions take it from the weights */
	int32_t stride[PSG_MAX_SPATIAL];
	int32_t dilation[PSG_MAX_SPATIAL];
	int32_t pad_begin[PSG_MAX_SPATIAL];
	int32_t pad_end[PSG_MAX_SPATIAL];
	psg_auto_pad auto_pad;
} psg_window;

typedef struct psg_conv_params {
	psg_window window;
	int32_t groups;
	int32_t output_padding[PSG_MAX_SPATIAL]; /* conv_transpose */
	int32_t output_size[PSG_MAX_SPATIAL];    /* conv_transpose: 0 = from the formula */
} psg_conv_params;

typedef struct psg_pool_params {
	psg_window window;
	bool ceil_mode;
	bool count_include_pad; /* pool_avg */
	bool column_major;      /* pool_max: order of the second output's indices */
	int32_t p;              /* pool_lp: the norm, 0 means 2 */
} psg_pool_params;

typedef struct psg_matmul_params {
	bool trans_a, trans_b; /* of the last two dimensions */
	float alpha, beta;     /* 0 means 1: a zero product is not worth a call */
} psg_matmul_params;

/*
 * relu max(x,0); leaky_relu x<0 ? alpha x : x; elu alpha(e^x-1) below 0;
 * celu, selu (gamma in beta), thresholded_relu as in ONNX; clip to
 * [alpha, beta]; affine alpha x + beta; sigmoid 1/(1+e^-x); hardsigmoid
 * clamp(alpha x + beta, 0, 1), where both 0 means 1/6 and 1/2; se_gate
 * clamp(x/5 + 1/2, 0, 1); hardswish x clamp(x/6 + 1/2, 0, 1); silu
 * x sigmoid(x); gelu x/2 (1 + erf(x/sqrt 2)).
 */
typedef struct psg_unary_params {
	float alpha, beta;
} psg_unary_params;

typedef struct psg_reduce_params {
	int32_t axes[PSG_MAX_RANK]; /* negative counts from the end; none means all */
	int32_t n_axes;
	bool drop_dims;  /* remove the reduced dimensions instead of keeping them as 1 */
	bool noop_empty; /* no axes means no reduction */
} psg_reduce_params;

typedef struct psg_arg_params {
	int32_t axis;
	bool drop_dims, select_last;
} psg_arg_params;

typedef struct psg_norm_params {
	float epsilon;
	int32_t axis; /* layer_norm */
} psg_norm_params;

typedef struct psg_softmax_params {
	int32_t axis;
	bool flatten; /* ONNX before opset 13: all dimensions from axis on are one */
} psg_softmax_params;

typedef struct psg_transpose_params {
	int32_t perm[PSG_MAX_RANK];
} psg_transpose_params;

/* reshape: 0 copies a dimension unless allow_zero, -1 takes what is left;
 * expand: the shape to broadcast with; tile: repeats. */
typedef struct psg_reshape_params {
	psg_shape shape;
	bool allow_zero;
} psg_reshape_params;

/* squeeze (none = every 1), unsqueeze; flatten: axes[0] */
typedef struct psg_axes_params {
	int32_t axes[PSG_MAX_RANK];
	int32_t n_axes;
} psg_axes_params;

/* Clamped as ONNX does; negative steps walk backwards; step 0 means 1. */
typedef struct psg_slice_params {
	int32_t axes[PSG_MAX_RANK];
	int64_t start[PSG_MAX_RANK], end[PSG_MAX_RANK], step[PSG_MAX_RANK];
	int32_t n_axes;
} psg_slice_params;

typedef struct psg_concat_params {
	int32_t axis;
	int64_t offset; /* copy_part */
} psg_concat_params;

typedef struct psg_split_params {
	int32_t axis;
	int32_t n;                     /* outputs */
	int64_t size[PSG_MAX_OUTPUTS]; /* all 0: equal parts */
} psg_split_params;

typedef enum psg_pad_mode { PSG_PAD_CONSTANT, PSG_PAD_REFLECT, PSG_PAD_EDGE } psg_pad_mode;

typedef struct psg_pad_params {
	psg_pad_mode mode;
	float value;
	int64_t begin[PSG_MAX_RANK], end[PSG_MAX_RANK]; /* negative crops */
} psg_pad_params;

typedef struct psg_depth_params {
	int32_t block;
	bool column_row_depth; /* ONNX's CRD order */
} psg_depth_params;

typedef enum psg_coordinates {
	PSG_COORD_ASYMMETRIC,
	PSG_COORD_HALF_PIXEL,
	PSG_COORD_PYTORCH_HALF_PIXEL,
	PSG_COORD_ALIGN_CORNERS,
	PSG_COORD_TF_HALF_PIXEL_FOR_NN,
} psg_coordinates;

typedef enum psg_nearest {
	PSG_NEAREST_FLOOR,
	PSG_NEAREST_CEIL,
	PSG_NEAREST_ROUND_PREFER_FLOOR,
	PSG_NEAREST_ROUND_PREFER_CEIL,
} psg_nearest;

/* One of scale (all above 0) or size (all above 0) for each dimension. */
typedef struct psg_resize_params {
	double scale[PSG_MAX_RANK];
	int64_t size[PSG_MAX_RANK];
	psg_coordinates coordinates;
	psg_nearest nearest;
} psg_resize_params;

typedef struct psg_shape_params {
	int32_t start, end; /* dimensions start..end; end 0 means to the last */
} psg_shape_params;

/* to F32, or to I64 by way of an ONNX integer type */
typedef struct psg_cast_params {
	psg_dtype to;
	bool to_bool, to_int32;
} psg_cast_params;

/* constant_of_shape: shape filled with value; range: start, limit, step */
typedef struct psg_fill_params {
	psg_dtype dtype;
	psg_shape shape;
	double value;
	double start, limit, step;
} psg_fill_params;

typedef struct psg_sequence_params {
	int32_t height; /* seq_to_chw */
} psg_sequence_params;

typedef struct psg_attention_params {
	int32_t heads;
	float scale; /* of q; 0 means 1/sqrt(head size) in attention, 1 in attn_split */
} psg_attention_params;

typedef union psg_op_params {
	char none; /* operators without parameters */
	psg_conv_params conv;
	psg_pool_params pool;
	psg_matmul_params matmul;
	psg_unary_params unary;
	psg_reduce_params reduce;
	psg_arg_params arg;
	psg_norm_params norm;
	psg_softmax_params softmax;
	psg_transpose_params transpose;
	psg_reshape_params reshape;
	psg_axes_params axes;
	psg_slice_params slice;
	psg_concat_params concat;
	psg_split_params split;
	psg_pad_params pad;
	psg_depth_params depth;
	psg_resize_params resize;
	psg_shape_params shape;
	psg_cast_params cast;
	psg_fill_params fill;
	psg_sequence_params sequence;
	psg_attention_params attention;
} psg_op_params;

/*
 * An operator and its inputs.  Plain data; the inputs are borrowed by the call
 * that takes the descriptor, which keeps its own references for as long as it
 * needs them.  Optional inputs that are absent are NULL.
 */
typedef struct psg_op {
	psg_op_kind kind;
	psg_op_params params;
	psg_tensor *in[PSG_MAX_INPUTS];
	size_t n_in;
} psg_op;

/* "conv" for PSG_OP_CONV; NULL outside the table. */
PSG_API const char *psg_op_name(psg_op_kind kind);

/* Multiply-accumulates, and bytes read and written, of one operator. */
typedef struct psg_cost {
	int64_t macs;
	int64_t bytes;
} psg_cost;

/*
 * The shape rule: dtype and shape of each output, without running anything.
 * `out_shapes` and `out_dtypes` hold PSG_MAX_OUTPUTS entries.  INVALID with
 * the numbers when the shapes do not fit the operator.  Any thread; no blocking.
 */
PSG_API psg_status psg_op_infer(const psg_op *op, psg_shape *out_shapes, psg_dtype *out_dtypes,
				size_t *n_out, psg_error *error);

/* The cost rule, for inputs that psg_op_infer accepts. */
PSG_API psg_status psg_op_cost(const psg_op *op, psg_cost *cost, psg_error *error);

/*
 * Runs one operator on host tensors and waits for it.  Only on the thread that
 * owns `device` (in a server: the worker's, see job.h).  The caller owns one
 * reference to each of the *n_out tensors put into `out`, which has room for
 * PSG_MAX_OUTPUTS; n_out says on entry how many outputs are wanted (0: the least).
 * INVALID, NOMEM, UNSUPPORTED (a dtype the operator does not take), OOM.
 *
 * On a GPU device an operator runs on one of the host's cores where that is predicted to be faster,
 * the copies counted, unless PAGESIFT_OPERATORS (device.h) says otherwise; the results differ by
 * rounding only.  The first call measures both sides for that (psg_op_rates_get).
 */
PSG_API psg_status psg_op_run(psg_device *device, const psg_op *op, psg_tensor **out, size_t *n_out,
			      psg_error *error);

/* What the library's kernels give on a GPU, beside what is right. */
typedef struct psg_gpu_check {
	int32_t cases, wrong;
	int32_t kernels, launched; /* that the library has; that the cases needed on this card */
	int64_t ns;                /* all of it but loading the kernels */
	char wrong_kernels[256];   /* that took part in wrong cases, a comma between */
	char message[512];         /* of the first wrong case: what it gave, and what is right */
} psg_gpu_check;

/*
 * Runs each kernel on small operands and compares with the reference path: within 1e-4 of the
 * largest result for sums of products, within 1e-4 of the element for the rest.  Loads all kernels,
 * which compiles those that the driver has not cached.  A wrong result is no error.  INVALID: not a
 * GPU; NOMEM, OOM, JIT, LAUNCH, DRIVER, DEVICE_LOST, with the case's name.  Only on the thread that
 * owns `device`.
 */
PSG_API psg_status psg_gpu_check_run(psg_device *device, psg_gpu_check *out, psg_error *error);

/* How fast a GPU is at what operators are made of. */
typedef struct psg_gpu_speed {
	int64_t product_side;     /* of square float matrices, which lie on the card */
	double product_macs;      /* multiply-adds a second of their product */
	int64_t copy_bytes;       /* in one copy, from and to the host's ordinary memory */
	double copy_in, copy_out; /* bytes a second to the card and back */
	double launch_ns;         /* one small kernel, until its end is known here */
} psg_gpu_speed;

/*
 * Measures that, each the median of a few runs, in less than a second also on a slow card: sizes
 * grow while they are quick.  INVALID: not a GPU; errors as psg_gpu_check_run.  Only on the thread
 * that owns `device`.
 */
PSG_API psg_status psg_gpu_speed_measure(psg_device *device, psg_gpu_speed *out, psg_error *error);

/*
 * What a GPU device expects operators to take that come alone: bytes and multiply-adds a second,
 * and a time for each call.  The host's are those of products.
 */
typedef struct psg_op_rates {
	double gpu_call_ns, gpu_operand_ns; /* an operator of two operands; each further one */
	double copy_in, copy_out;           /* to the card and back */
	double gpu_macs;
	double cpu_call_ns, cpu_macs;
	int64_t product_side; /* square products of this side or more go to the card; 0: none */
	char file[512];       /* where the rates are kept; empty: they are not */
} psg_op_rates;

/*
 * They are measured when they are first needed, which takes about 0.1 s, and then kept in
 * pagesift/rates-UUID below XDG_CACHE_HOME (~/.cache) for as long as card, driver and library stay
 * the same; a file that is not exactly of these is replaced.  INVALID: not a GPU; errors as
 * psg_op_run.  Only on the thread that owns `device`.
 */
PSG_API psg_status psg_op_rates_get(psg_device *device, psg_op_rates *out, psg_error *error);

#ifdef __cplusplus
}
#endif
#endif
