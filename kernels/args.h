/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one parameter of each kernel, as the device and the host see it.
 *
 * Fixed-width types and natural alignment only, so that the layouts agree.
 * Counts and steps are in elements unless they say otherwise.
 */
#ifndef PSG_KERNELS_ARGS_H
#define PSG_KERNELS_ARGS_H

#include <stdint.h>

#ifdef __NVPTX__
#define GLOBAL __attribute__((address_space(1)))
#else
#define GLOBAL /* in the host's code an address that only the device follows */
#endif

/* Functions of one element, as in pagesift/op.h. */
typedef enum gpu_function {
	GPU_IDENTITY,
	GPU_RELU,
	GPU_CLIP,
	GPU_AFFINE,
	GPU_HARDSIGMOID,
	GPU_SE_GATE,
	GPU_HARDSWISH,
	GPU_LEAKY_RELU,
	GPU_ABS,
	GPU_NEG,
	GPU_SIGMOID, /* from here on with an exponential or more */
	GPU_SILU,
	GPU_GELU,
	GPU_ERF,
	GPU_TANH,
	GPU_EXP,
	GPU_LOG,
	GPU_SQRT,
	GPU_RECIPROCAL,
	GPU_ELU,
	GPU_CELU,
	GPU_SELU,
	GPU_THRESHOLDED_RELU,
	GPU_SOFTPLUS,
	GPU_SOFTSIGN,
	GPU_FLOOR,
	GPU_CEIL,
	GPU_ROUND,
	GPU_SIGN,
	GPU_SINH,
	GPU_COSH,
	GPU_ASINH,
	GPU_ACOSH,
	GPU_ATANH,
} gpu_function;

/* What is done with a result before it is stored, in this order. */
#define GPU_MAX_POST 6
typedef enum gpu_post_kind {
	GPU_POST_ADD,      /* v + addend[its place in the result] */
	GPU_POST_CLAMP,    /* clamp(alpha v + beta, low, high), which a NaN passes */
	GPU_POST_GATE,     /* v times that; 0 where that is 0 */
	GPU_POST_FUNCTION, /* function(v, alpha, beta) */
} gpu_post_kind;

typedef struct gpu_post {
	int32_t kind, function; /* gpu_post_kind, gpu_function */
	float alpha, beta, low, high;
	const float GLOBAL *addend; /* laid out as the result */
} gpu_post;

typedef struct gpu_posts {
	int64_t n;
	gpu_post at[GPU_MAX_POST];
} gpu_posts;

/* y[i] = f(x[i]) */
typedef struct unary_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	int64_t n;
	float alpha, beta;
	int32_t function;
} unary_args;

/* y[i] = a[i] + b[i] */
typedef struct add2_args {
	const float GLOBAL *a;
	const float GLOBAL *b;
	float GLOBAL *y;
	int64_t n;
} add2_args;

/* y[p, i] = x[p, i] with one value a plane p: each[p % channels] is added or a factor. */
typedef struct channel_args {
	const float GLOBAL *x;
	const float GLOBAL *each;
	float GLOBAL *y;
	int64_t planes, size, channels;
} channel_args;

/* y = f(a, b) of floats over a walk of `rank` dimensions, y dense; steps of 0 broadcast. */
#define GPU_MAX_DIMS 8
typedef enum gpu_binary {
	GPU_SUM,
	GPU_DIFFERENCE,
	GPU_PRODUCT,
	GPU_QUOTIENT,
	GPU_LEAST, /* a NaN on either side wins */
	GPU_MOST,
	GPU_SLOPE, /* a < 0 ? a * b : a */
} gpu_binary;

typedef struct gpu_pair {
	int64_t n, dim[GPU_MAX_DIMS], a_step[GPU_MAX_DIMS], b_step[GPU_MAX_DIMS];
	int32_t rank, function; /* one of the enum of its kernel */
} gpu_pair;

typedef struct binary_args {
	const float GLOBAL *a;
	const float GLOBAL *b;
	float GLOBAL *y;
	gpu_pair pair; /* gpu_binary */
} binary_args;

/* y = a to the power of b, or of `integers` where these are not NULL. */
typedef struct power_args {
	const float GLOBAL *a;
	const float GLOBAL *b;
	const int64_t GLOBAL *integers; /* walked as b */
	float GLOBAL *y;
	gpu_pair pair;
} power_args;

/* Of whole numbers, with wrap-around; comparisons give 0 or 1. */
typedef enum gpu_integer {
	GPU_INTEGER_SUM,
	GPU_INTEGER_DIFFERENCE,
	GPU_INTEGER_PRODUCT,
	GPU_INTEGER_QUOTIENT, /* truncated */
	GPU_INTEGER_POWER,    /* of a negative exponent the quotient 1 / a^-b, truncated */
	GPU_INTEGER_LEAST,
	GPU_INTEGER_MOST,
	GPU_INTEGER_EQUAL,
	GPU_INTEGER_LESS,
	GPU_INTEGER_LESS_EQUAL,
	GPU_INTEGER_GREATER,
	GPU_INTEGER_GREATER_EQUAL,
	GPU_INTEGER_NOT, /* from here on of a alone */
	GPU_INTEGER_NEG,
	GPU_INTEGER_ABS,
	GPU_INTEGER_SIGN,
} gpu_integer;

/* `bad` (may be NULL) gets the number of an element, of several any, that has no result: it is
 * divided by zero. */
typedef struct integer_args {
	const int64_t GLOBAL *a;
	const int64_t GLOBAL *b;
	int64_t GLOBAL *y;
	int64_t GLOBAL *bad;
	gpu_pair pair; /* gpu_integer */
} integer_args;

typedef struct compare_args {
	const float GLOBAL *a;
	const float GLOBAL *b;
	int64_t GLOBAL *y;
	gpu_pair pair; /* gpu_integer: EQUAL to GREATER_EQUAL */
} compare_args;

/* What x and y point to: floats or whole numbers, as `kind` says. */
typedef enum gpu_cast {
	GPU_CAST_TRUTH,            /* float to a float of 0 or 1 */
	GPU_CAST_FLOAT_TO_INTEGER, /* truncated, the nearest that there is; of NaN 0 */
	GPU_CAST_FLOAT_TO_INT32,   /* the same within 32 bits */
	GPU_CAST_FLOAT_TO_BOOL,
	GPU_CAST_INTEGER_TO_FLOAT,
	GPU_CAST_INTEGER_TO_INT32, /* the low 32 bits */
	GPU_CAST_INTEGER_TO_BOOL,
} gpu_cast;

typedef struct cast_args {
	const void GLOBAL *x;
	void GLOBAL *y;
	int64_t n;
	int32_t kind; /* gpu_cast */
	int32_t unused;
} cast_args;

/* y = (x - mean) * scale / sqrt(variance + epsilon) + bias, by channel */
typedef struct batch_norm_args {
	const float GLOBAL *x;
	const float GLOBAL *scale;
	const float GLOBAL *bias;
	const float GLOBAL *mean;
	const float GLOBAL *variance;
	float GLOBAL *y;
	int64_t n, size, channels; /* size: elements of a plane */
	float epsilon;
	int32_t unused;
} batch_norm_args;

/*
 * One part of a result: channels offset..offset+channels of `all` become
 * a[c][y / up_a][x / up_a] * (base + gate[c]) + b[c][y / up_b][x / up_b];
 * gate and b may be NULL.
 */
typedef struct mix_args {
	const float GLOBAL *a;
	const float GLOBAL *gate; /* [samples, channels] */
	const float GLOBAL *b;
	float GLOBAL *y;
	int64_t samples, channels, all, offset, height, width;
	int32_t up_a, up_b;
	float base;
	int32_t unused;
} mix_args;

/*
 * c[z, m, n] = alpha * sum over k of a[z, m, k] b[z, k, n] + bias, then the posts.
 * Matrix z is sample z / inner and group z % inner, each with a step of its own.
 */
typedef enum gpu_bias { GPU_NO_BIAS, GPU_ROW_BIAS, GPU_COLUMN_BIAS } gpu_bias;

typedef struct gemm_args {
	const float GLOBAL *a;
	const float GLOBAL *b;
	const float GLOBAL *bias;
	float GLOBAL *c;
	int64_t m, n, k;
	int64_t a_row, a_step, b_row, b_step, c_row; /* a_step, b_step: 1 but for gemm_any */
	int64_t batches, inner;
	int64_t a_outer, a_inner, b_outer, b_inner, c_outer, c_inner, bias_inner;
	int64_t tiles_m, tiles_n;
	float alpha;
	int32_t bias_kind;                 /* gpu_bias */
	int32_t fours_a, fours_b, fours_c; /* rows start at multiples of 16 bytes */
	int32_t unused;
	gpu_posts posts;
} gemm_args;

/* One weight's place: where its input lies from the window's first element, in the image. */
typedef struct gpu_tap {
	int64_t offset;
	int32_t row, column;
} gpu_tap;

/* A window over an image [.., in_h, in_w]; columns (or rows) past `valid` of a sample are zero. */
typedef struct gpu_window {
	int32_t in_h, in_w, out_h, out_w;
	int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
	int32_t pad_end_h, pad_end_w; /* for averages that count them */
	const int32_t GLOBAL *valid;  /* by sample; NULL: all */
	int32_t valid_rows;           /* `valid` limits rows, not columns */
	int32_t unused;
} gpu_window;

/* gemm.a: weights [m, k] of a group, gemm.b: the image, gemm.n: out_h * out_w. */
typedef struct conv_args {
	gemm_args gemm;
	gpu_window window;
	const gpu_tap GLOBAL *taps; /* k of them */
} conv_args;

/* One input channel an output channel: output channel c reads channel c / multiplier. */
typedef struct depthwise_args {
	const float GLOBAL *x;
	const float GLOBAL *w;
	const float GLOBAL *bias; /* may be NULL */
	float GLOBAL *y;
	int64_t n, channels, multiplier; /* n: all outputs; channels: of the output */
	gpu_window window;
	gpu_posts posts;
} depthwise_args;

/* x [samples, channels, in_h, in_w], w [channels, outputs / groups, kernel] */
typedef struct conv_transpose_args {
	const float GLOBAL *x;
	const float GLOBAL *w;
	const float GLOBAL *bias; /* may be NULL */
	float GLOBAL *y;
	int64_t n, channels, outputs, groups; /* n: all outputs' elements */
	gpu_window window;
	gpu_posts posts;
} conv_transpose_args;

/* y [samples, channels * kernel, out]: n elements */
typedef struct im2col_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	int64_t n, channels;
	gpu_window window;
} im2col_args;

typedef struct pool_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	int64_t n, channels;
	gpu_window window;
	int32_t count_pads;
	int32_t unused;
} pool_args;

/* Over planes of `outer` rows of `columns` columns of `inner` elements; columns may be limited. */
typedef struct global_pool_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	const int32_t GLOBAL *valid; /* by sample; NULL: all */
	int64_t planes, channels, outer, columns, inner;
} global_pool_args;

/* y[walk] = x[walk] of 4-byte elements; each has its own steps and start. */
typedef struct copy_args {
	const uint32_t GLOBAL *x;
	uint32_t GLOBAL *y;
	int64_t n, dim[GPU_MAX_DIMS], x_step[GPU_MAX_DIMS], y_step[GPU_MAX_DIMS];
	int32_t rank;
	float scale; /* attn_split: of the first `scaled` elements */
	int64_t scaled, x_start, y_start;
} copy_args;

/* pad_all and pad_rb: where nothing of the input lies is `value`. */
typedef enum gpu_pad { GPU_PAD_CONSTANT, GPU_PAD_REFLECT, GPU_PAD_EDGE } gpu_pad;
typedef struct pad_args {
	const uint32_t GLOBAL
		*x; /* as 4-byte elements, the words of larger ones a dimension more */
	uint32_t GLOBAL *y;
	int64_t n, out[GPU_MAX_DIMS], in[GPU_MAX_DIMS], begin[GPU_MAX_DIMS];
	int32_t rank, mode; /* gpu_pad */
	uint32_t value[2];  /* of elements with even and odd numbers */
} pad_args;

/* y [.., dim ..] from where table[axis][index] says; tables one after another. */
typedef struct interp_args {
	const uint32_t GLOBAL *x;
	uint32_t GLOBAL *y;
	const int64_t GLOBAL *table; /* each entry already times the input's step */
	int64_t n, dim[GPU_MAX_DIMS];
	int32_t rank;
	int32_t unused;
} interp_args;

/* x [outer, columns, inner]: zero where the column is not below the sample's width. */
typedef struct zero_cols_args {
	const uint32_t GLOBAL *x;
	uint32_t GLOBAL *y;
	const int32_t GLOBAL *valid;
	int64_t n, columns, inner, sample; /* sample: elements of one */
} zero_cols_args;

/* [batches, rows, columns] to [batches, columns, rows] */
typedef struct swap_args {
	const uint32_t GLOBAL *x;
	uint32_t GLOBAL *y;
	int64_t batches, rows, columns, tiles_rows, tiles_columns;
} swap_args;

/* Groups of `len` elements, `step` apart, counted along outer and then along step. */
typedef struct softmax_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	const int32_t GLOBAL *valid; /* by sample, limits (i / inner) % columns; NULL: all */
	int64_t groups, len, step, inner, columns;
	int64_t sample; /* groups of one sample */
	int32_t logarithm;
	int32_t unused;
} softmax_args;

/* Rows of `columns`; gamma and beta (which may be NULL) have as many, or `each` row its own. */
typedef struct norm_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	const float GLOBAL *gamma;
	const float GLOBAL *beta;
	const int32_t GLOBAL *valid; /* by sample; limits (i / inner) % width of a row; NULL: all */
	int64_t rows, columns, sample, inner, width;
	int64_t channels; /* 0: gamma by column; else by row % channels */
	float epsilon;
	int32_t unused;
} norm_args;

/* qkv [samples, steps, 3 * heads * size] to [samples, steps, heads * size] */
typedef struct attention_args {
	const float GLOBAL *qkv;
	float GLOBAL *y;
	const int32_t GLOBAL *valid; /* by sample; NULL: all */
	int64_t samples, steps, heads, size, tiles;
	float scale;
	int32_t unused;
} attention_args;

/* x [samples, steps, classes] to [samples, steps, 2] */
typedef struct digest_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	const int32_t GLOBAL *valid;
	int64_t samples, steps, classes;
} digest_args;

/* y [outer, count, inner] = x [outer, index[count], inner] of 4-byte elements. Indices count from
 * the end when negative; of those outside, `bad` (may be NULL) gets the number of any. */
typedef struct gather_args {
	const uint32_t GLOBAL *x;
	uint32_t GLOBAL *y;
	const int64_t GLOBAL *index;
	int64_t GLOBAL *bad;
	int64_t n, dim, count, inner;
} gather_args;

/* y = c != 0 ? a : b of 4-byte elements, walked as pairs are. */
typedef struct where_args {
	const int64_t GLOBAL *c;
	const uint32_t GLOBAL *a;
	const uint32_t GLOBAL *b;
	uint32_t GLOBAL *y;
	gpu_pair pair;
	int64_t c_step[GPU_MAX_DIMS];
} where_args;

/* y[outer, inner]: the place of the largest of x [outer, len, inner], or of the least. A NaN is
 * above all, or below. */
typedef struct arg_args {
	const void GLOBAL *x; /* floats, or whole numbers */
	int64_t GLOBAL *y;
	const int32_t GLOBAL *valid;   /* by sample, limits len; NULL: all */
	int64_t len, inner, sample;    /* sample: results of one */
	int32_t integers, least, last; /* last: of equal ones the last, not the first */
	int32_t unused;
} arg_args;

/*
 * One value of `n` for each of `outputs`: y[o] of x[o / step * n * step + o % step + i * step].
 * Where there are valid widths, only those i count of which i / inner % columns is below.
 */
typedef enum gpu_reduction {
	GPU_REDUCE_SUM,
	GPU_REDUCE_MEAN,
	GPU_REDUCE_MAX,
	GPU_REDUCE_MIN,
	GPU_REDUCE_PROD,
	GPU_REDUCE_L1,
	GPU_REDUCE_L2,
	GPU_REDUCE_SUM_SQUARE,
	GPU_REDUCE_LOG_SUM,
} gpu_reduction;
typedef struct reduce_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	const int32_t GLOBAL *valid; /* by sample; NULL: all */
	int64_t outputs, n, step;
	int64_t inner, columns, sample; /* sample: outputs of one */
	int32_t kind;                   /* gpu_reduction */
	int32_t unused;
} reduce_args;

/* The same of whole numbers: SUM, MEAN (truncated), MAX, MIN and PROD. */
typedef struct reduce_integers_args {
	const int64_t GLOBAL *x;
	int64_t GLOBAL *y;
	int64_t n, step;
	int32_t kind; /* gpu_reduction */
	int32_t unused;
} reduce_integers_args;

#endif
