/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools against sums written straight from their formulas. */
#include "config.h"

#include "t_ops.h"

#include <math.h>
#include <stdlib.h>

/* Output indices, input indices and taps of all spatial dimensions, flat. */
typedef struct grid {
	int32_t rank; /* spatial */
	int64_t in[3], out[3], kernel[3], stride[3], dilation[3], begin[3], end[3];
} grid;

/* The input index of output o and tap k along all dimensions, or -1 outside; *padded: on padding.
 */
static int64_t forward(const grid *g, int64_t o, int64_t k, bool *padded)
{
	int64_t flat = 0, place = 1;
	bool inside = true;

	*padded = true;
	for (int32_t i = g->rank - 1; i >= 0; i--) {
		int64_t at;

		T_TRUE(g->out[i] > 0 && g->kernel[i] > 0);
		at = o % g->out[i] * g->stride[i] + k % g->kernel[i] * g->dilation[i] - g->begin[i];

		inside = inside && at >= 0 && at < g->in[i];
		*padded = *padded && at < g->in[i] + g->end[i];
		flat += at * place;
		place *= g->in[i];
		o /= g->out[i];
		k /= g->kernel[i];
	}
	return inside ? flat : -1;
}

static int64_t product(const int64_t *values, int32_t n)
{
	int64_t p = 1;

	for (int32_t i = 0; i < n; i++)
		p *= values[i];
	return p;
}

static int64_t or_one(int32_t v)
{
	return v == 0 ? 1 : v;
}

/* Kernel, strides, dilations and explicit pads of a descriptor; sizes from the tensors. */
static grid grid_of(const psg_window *w, const psg_shape *x, const psg_shape *out,
		    const int64_t *kernel)
{
	grid g = { .rank = x->rank - 2 };

	for (int32_t i = 0; i < g.rank; i++) {
		g.in[i] = x->dim[i + 2];
		g.out[i] = out->dim[i + 2];
		g.kernel[i] = kernel != NULL ? kernel[i] : or_one(w->kernel[i]);
		g.stride[i] = or_one(w->stride[i]);
		g.dilation[i] = or_one(w->dilation[i]);
		g.begin[i] = w->pad_begin[i];
		g.end[i] = w->pad_end[i];
	}
	return g;
}

typedef struct conv_row {
	psg_shape x, w, out;
	bool bias;
	psg_conv_params p;
	psg_window same; /* what auto_pad must come to, when it is used */
} conv_row;

static const conv_row conv_rows[] = {
	{ T_SHAPE(1, 1, 1, 1),
	  T_SHAPE(1, 1, 1, 1),
	  T_SHAPE(1, 1, 1, 1),
	  true,
	  { .groups = 0 },
	  { .stride = { 0 } } },
	{ T_SHAPE(2, 3, 7, 65),
	  T_SHAPE(5, 3, 1, 1),
	  T_SHAPE(2, 5, 7, 65),
	  true,
	  { .groups = 0 },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 3, 7, 63),
	  T_SHAPE(9, 3, 3, 3),
	  T_SHAPE(1, 9, 7, 63),
	  false,
	  { .window = { .pad_begin = { 1, 1 }, .pad_end = { 1, 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 130, 3, 5),
	  T_SHAPE(67, 130, 3, 3),
	  T_SHAPE(1, 67, 1, 3),
	  true,
	  { .groups = 0 },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 4, 9, 65),
	  T_SHAPE(4, 1, 5, 5),
	  T_SHAPE(1, 4, 5, 65),
	  true,
	  { .groups = 4,
	    .window = { .stride = { 2, 1 }, .pad_begin = { 2, 2 }, .pad_end = { 2, 2 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(2, 6, 8, 1100),
	  T_SHAPE(6, 1, 1, 3),
	  T_SHAPE(2, 6, 8, 550),
	  false,
	  { .groups = 6, .window = { .stride = { 1, 2 }, .pad_begin = { 0, 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 6, 10, 11),
	  T_SHAPE(4, 3, 3, 2),
	  T_SHAPE(1, 4, 4, 14),
	  true,
	  { .groups = 2,
	    .window = { .stride = { 3, 1 },
			.dilation = { 2, 3 },
			.pad_begin = { 3, 0 },
			.pad_end = { 1, 6 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 12, 4, 7),
	  T_SHAPE(10, 6, 2, 2),
	  T_SHAPE(1, 10, 3, 6),
	  true,
	  { .groups = 2 },
	  { .stride = { 0 } } },
	{ T_SHAPE(3, 2, 63),
	  T_SHAPE(4, 2, 7),
	  T_SHAPE(3, 4, 19),
	  true,
	  { .window = { .stride = { 3 }, .dilation = { 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 2, 3, 4, 5),
	  T_SHAPE(5, 2, 2, 3, 2),
	  T_SHAPE(1, 5, 3, 2, 5),
	  true,
	  { .window = { .pad_begin = { 1, 0, 0 }, .pad_end = { 0, 0, 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 1, 5, 8),
	  T_SHAPE(2, 1, 3, 4),
	  T_SHAPE(1, 2, 3, 4),
	  true,
	  { .window = { .stride = { 2, 2 }, .auto_pad = PSG_PAD_SAME_UPPER } },
	  { .pad_begin = { 1, 1 }, .pad_end = { 1, 1 } } },
	{ T_SHAPE(1, 1, 6, 7),
	  T_SHAPE(2, 1, 3, 4),
	  T_SHAPE(1, 2, 3, 4),
	  true,
	  { .window = { .stride = { 2, 2 }, .auto_pad = PSG_PAD_SAME_LOWER } },
	  { .pad_begin = { 1, 2 }, .pad_end = { 0, 1 } } },
	{ T_SHAPE(1, 1, 6, 7),
	  T_SHAPE(2, 1, 3, 3),
	  T_SHAPE(1, 2, 4, 5),
	  true,
	  { .window = { .auto_pad = PSG_PAD_VALID, .pad_begin = { 5, 5 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(0, 3, 4, 4),
	  T_SHAPE(5, 3, 1, 1),
	  T_SHAPE(0, 5, 4, 4),
	  true,
	  { .groups = 0 },
	  { .stride = { 0 } } },
};

static void check_conv(const conv_row *row, const psg_op *op, const psg_tensor *out)
{
	const psg_window *w =
		row->p.window.auto_pad == PSG_PAD_EXPLICIT ? &row->p.window : &row->same;
	psg_window full = *w;
	grid g;
	int64_t groups = or_one(row->p.groups), m = row->w.dim[0], c = row->w.dim[1];
	int64_t outs, taps, plane;

	for (int i = 0; i < PSG_MAX_SPATIAL; i++) {
		full.stride[i] = row->p.window.stride[i];
		full.dilation[i] = row->p.window.dilation[i];
	}
	g = grid_of(&full, &row->x, &row->out, row->w.dim + 2);
	outs = product(g.out, g.rank);
	taps = product(g.kernel, g.rank);
	plane = product(g.in, g.rank);
	for (int64_t i = 0; i < psg_shape_elements(&row->out); i++) {
		int64_t o = i % outs, k = i / outs % m, n = i / outs / m;
		double sum = row->bias ? t_get(op->in[2], k) : 0;

		for (int64_t j = 0; j < c * taps; j++) {
			int64_t channel = k / (m / groups) * c + j / taps;
			bool padded;
			int64_t at = forward(&g, o, j % taps, &padded);

			if (at >= 0)
				sum += t_get(op->in[1], k * c * taps + j) *
				       t_get(op->in[0], (n * row->x.dim[1] + channel) * plane + at);
		}
		t_expect_close(t_get(out, i), sum, 1e-6, "conv", i);
	}
}

static void conv(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(conv_rows) / sizeof(conv_rows[0]); i++) {
		const conv_row *row = &conv_rows[i];
		psg_op op = { .kind = kind,
			      .params.conv = row->p,
			      .in = { t_random(row->x), t_random(row->w) },
			      .n_in = 3 };
		psg_tensor *out;

		if (row->bias)
			op.in[2] = t_random(PSG_SHAPE(row->w.dim[0]));
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, row->out);
		check_conv(row, &op, out);
		psg_tensor_unref(out);
		t_free(&op);
	}
}

/* A NaN and an infinity reach the outputs whose windows see them, and no others. */
static void conv_nan(psg_op_kind kind)
{
	psg_op op = { .kind = kind,
		      .params.conv.window = { .pad_begin = { 1, 1 }, .pad_end = { 1, 1 } },
		      .in = { t_random(PSG_SHAPE(1, 2, 9, 70)), t_random(PSG_SHAPE(5, 2, 3, 3)) },
		      .n_in = 2 };
	psg_tensor *out;

	t_data(op.in[0])[4 * 70 + 20] = NAN;
	t_data(op.in[0])[4 * 70 + 60] = INFINITY;
	out = t_run_free(&op);
	for (int64_t i = 0; i < 5 * 9 * 70; i++) {
		int64_t y = i / 70 % 9, x = i % 70;
		bool near = y >= 3 && y <= 5;
		double v = t_get(out, i);

		T_TRUE((isnan(v) != 0) == (near && x >= 19 && x <= 21));
		T_TRUE((isinf(v) != 0) == (near && x >= 59 && x <= 61));
	}
	psg_tensor_unref(out);
}

typedef struct transpose_row {
	psg_shape x, w, out;
	bool bias;
	psg_conv_params p;
	int64_t begin[3]; /* the padding that must come of it */
} transpose_row;

static const transpose_row transpose_rows[] = {
	{ T_SHAPE(1, 1, 1, 1),
	  T_SHAPE(1, 1, 1, 1),
	  T_SHAPE(1, 1, 1, 1),
	  true,
	  { .groups = 0 },
	  { 0 } },
	{ T_SHAPE(2, 3, 4, 65),
	  T_SHAPE(3, 2, 2, 2),
	  T_SHAPE(2, 2, 8, 130),
	  true,
	  { .window.stride = { 2, 2 } },
	  { 0 } },
	{ T_SHAPE(1, 4, 5, 6),
	  T_SHAPE(4, 3, 3, 3),
	  T_SHAPE(1, 6, 8, 11),
	  false,
	  { .groups = 2,
	    .window = { .stride = { 2, 2 }, .pad_begin = { 1, 1 }, .pad_end = { 2, 1 } } },
	  { 1, 1 } },
	{ T_SHAPE(1, 2, 3, 3),
	  T_SHAPE(2, 1, 2, 2),
	  T_SHAPE(1, 1, 5, 6),
	  true,
	  { .window = { .stride = { 1, 1 }, .dilation = { 2, 3 } } },
	  { 0 } },
	{ T_SHAPE(1, 1, 3, 3),
	  T_SHAPE(1, 2, 3, 3),
	  T_SHAPE(1, 2, 10, 8),
	  true,
	  { .window = { .stride = { 3, 2 } }, .output_size = { 10, 8 } },
	  { 0 } },
	{ T_SHAPE(1, 1, 3, 3),
	  T_SHAPE(1, 2, 3, 3),
	  T_SHAPE(1, 2, 10, 8),
	  true,
	  { .window = { .stride = { 3, 2 } }, .output_padding = { 1, 1 } },
	  { 0 } },
	{ T_SHAPE(1, 1, 3, 3),
	  T_SHAPE(1, 2, 3, 3),
	  T_SHAPE(1, 2, 6, 6),
	  true,
	  { .window = { .stride = { 2, 2 }, .auto_pad = PSG_PAD_SAME_UPPER } },
	  { 0, 0 } },
	{ T_SHAPE(1, 1, 3, 3),
	  T_SHAPE(1, 2, 3, 3),
	  T_SHAPE(1, 2, 6, 6),
	  true,
	  { .window = { .stride = { 2, 2 }, .auto_pad = PSG_PAD_SAME_LOWER } },
	  { 1, 1 } },
	{ T_SHAPE(1, 1, 3, 3),
	  T_SHAPE(1, 2, 3, 3),
	  T_SHAPE(1, 2, 6, 5),
	  true,
	  { .window = { .stride = { 2, 2 } }, .output_size = { 6, 5 } },
	  { 1, 1 } },
	{ T_SHAPE(2, 2, 7),
	  T_SHAPE(2, 3, 4),
	  T_SHAPE(2, 3, 22),
	  true,
	  { .window.stride = { 3 } },
	  { 0 } },
	{ T_SHAPE(1, 2, 2, 3, 2),
	  T_SHAPE(2, 2, 2, 1, 3),
	  T_SHAPE(1, 2, 4, 3, 3),
	  true,
	  { .window = { .stride = { 2, 1, 1 }, .pad_end = { 0, 0, 1 } } },
	  { 0 } },
};

/* Scatters: what each input element adds to the outputs that it reaches. */
static void scatter(const transpose_row *row, const psg_op *op, double *want)
{
	psg_window w = row->p.window;
	grid g = grid_of(&w, &row->x, &row->out, row->w.dim + 2);
	int64_t plane = product(g.in, g.rank), outs = product(g.out, g.rank);
	int64_t taps = product(g.kernel, g.rank), groups = or_one(row->p.groups);
	int64_t m = row->w.dim[1], c = row->x.dim[1];

	T_TRUE(taps > 0 && m > 0 && plane > 0 && c >= groups);
	for (int64_t i = 0; i < psg_shape_elements(&row->x) * m * taps; i++) {
		int64_t tap = i % taps, k = i / taps % m, x = i / taps / m;
		int64_t at = x % plane, channel = x / plane % c, n = x / plane / c;
		int64_t flat = 0, place = 1, a = at, t = tap;
		bool inside = true;

		for (int32_t d = g.rank - 1; d >= 0; d--) {
			int64_t o;

			T_TRUE(g.in[d] > 0 && g.kernel[d] > 0);
			o = a % g.in[d] * g.stride[d] + t % g.kernel[d] * g.dilation[d] -
			    row->begin[d];

			inside = inside && o >= 0 && o < g.out[d];
			flat += o * place;
			place *= g.out[d];
			a /= g.in[d];
			t /= g.kernel[d];
		}
		if (inside)
			want[((n * groups + channel / (c / groups)) * m + k) * outs + flat] +=
				t_get(op->in[0], x) *
				t_get(op->in[1], (channel * m + k) * taps + tap);
	}
}

static void conv_transpose(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(transpose_rows) / sizeof(transpose_rows[0]); i++) {
		const transpose_row *row = &transpose_rows[i];
		int64_t n = psg_shape_elements(&row->out), m = row->out.dim[1];
		int64_t outs = n / row->out.dim[0] / m;
		double *want = calloc((size_t)n, sizeof(*want));
		psg_op op = { .kind = kind,
			      .params.conv = row->p,
			      .in = { t_random(row->x), t_random(row->w) },
			      .n_in = 3 };
		psg_tensor *out;

		ck_assert_ptr_nonnull(want);
		if (row->bias)
			op.in[2] = t_random(PSG_SHAPE(m));
		for (int64_t k = 0; k < n && row->bias; k++)
			want[k] = t_get(op.in[2], k / outs % m);
		scatter(row, &op, want);
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, row->out);
		t_expect_values(out, want, 1e-6, "conv_transpose");
		psg_tensor_unref(out);
		t_free(&op);
		free(want);
	}
}

static void im2col(psg_op_kind kind)
{
	psg_conv_params p = { .window = { .kernel = { 3, 2 },
					  .stride = { 2, 3 },
					  .dilation = { 1, 2 },
					  .pad_begin = { 1, 2 },
					  .pad_end = { 0, 1 } } };
	psg_shape x = PSG_SHAPE(2, 3, 7, 63), image = PSG_SHAPE(2, 3, 3, 22);
	grid g = grid_of(&p.window, &x, &image, NULL);
	psg_op op = { .kind = kind, .params.conv = p, .in = { t_random(x) }, .n_in = 1 };
	psg_tensor *out = t_run1(&op);

	t_expect_shape(out, PSG_F32, PSG_SHAPE(2, 18, 66));
	for (int64_t i = 0; i < 2 * 18 * 66; i++) {
		int64_t o = i % 66, k = i / 66 % 18, n = i / 66 / 18;
		bool padded;
		int64_t at = forward(&g, o, k % 6, &padded);
		double want = at < 0 ? 0 : t_get(op.in[0], (n * 3 + k / 6) * 441 + at);

		T_EQUAL(t_get(out, i), want);
	}
	psg_tensor_unref(out);
	t_free(&op);
}

typedef struct pool_row {
	psg_shape x, out;
	psg_pool_params p;
	psg_window same;
} pool_row;

static const pool_row pool_rows[] = {
	{ T_SHAPE(1, 1, 1, 1), T_SHAPE(1, 1, 1, 1), { .p = 0 }, { .stride = { 0 } } },
	{ T_SHAPE(2, 3, 3, 65),
	  T_SHAPE(2, 3, 1, 32),
	  { .window = { .kernel = { 3, 2 }, .stride = { 3, 2 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 2, 7, 63),
	  T_SHAPE(1, 2, 4, 32),
	  { .window = { .kernel = { 3, 3 },
			.stride = { 2, 2 },
			.pad_begin = { 1, 1 },
			.pad_end = { 1, 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 2, 6, 8),
	  T_SHAPE(1, 2, 3, 4),
	  { .window = { .kernel = { 3, 3 }, .stride = { 2, 2 } }, .ceil_mode = true },
	  { .stride = { 0 } } },
	/* A third window would start past the input and its first padding: dropped. */
	{ T_SHAPE(1, 1, 3),
	  T_SHAPE(1, 1, 2),
	  { .window = { .kernel = { 1 }, .stride = { 2 }, .pad_end = { 0 } }, .ceil_mode = true },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 1, 4),
	  T_SHAPE(1, 1, 2),
	  { .window = { .kernel = { 2 }, .stride = { 3 }, .pad_begin = { 1 }, .pad_end = { 1 } },
	    .ceil_mode = true },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 2, 9, 9),
	  T_SHAPE(1, 2, 3, 3),
	  { .window = { .kernel = { 3, 3 }, .stride = { 2, 2 }, .dilation = { 2, 2 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 1, 5, 5),
	  T_SHAPE(1, 1, 3, 3),
	  { .window = { .kernel = { 2, 2 }, .stride = { 2, 2 }, .auto_pad = PSG_PAD_SAME_UPPER } },
	  { .pad_end = { 1, 1 } } },
	{ T_SHAPE(1, 1, 5, 5),
	  T_SHAPE(1, 1, 3, 3),
	  { .window = { .kernel = { 2, 2 }, .stride = { 2, 2 }, .auto_pad = PSG_PAD_SAME_LOWER } },
	  { .pad_begin = { 1, 1 } } },
	{ T_SHAPE(1, 2, 65),
	  T_SHAPE(1, 2, 33),
	  { .window = { .kernel = { 3 }, .stride = { 2 }, .pad_begin = { 1 }, .pad_end = { 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(1, 2, 4, 3, 5),
	  T_SHAPE(1, 2, 2, 3, 3),
	  { .window = { .kernel = { 2, 1, 3 },
			.stride = { 2, 1, 2 },
			.pad_begin = { 0, 0, 1 },
			.pad_end = { 0, 0, 1 } } },
	  { .stride = { 0 } } },
	{ T_SHAPE(0, 2, 4),
	  T_SHAPE(0, 2, 3),
	  { .window = { .kernel = { 2 } } },
	  { .stride = { 0 } } },
};

static grid pool_grid(const pool_row *row)
{
	psg_window w = row->p.window;

	if (w.auto_pad != PSG_PAD_EXPLICIT)
		for (int i = 0; i < PSG_MAX_SPATIAL; i++) {
			w.pad_begin[i] = row->same.pad_begin[i];
			w.pad_end[i] = row->same.pad_end[i];
		}
	return grid_of(&w, &row->x, &row->out, NULL);
}

/* The window at output o of plane `plane`: *at is the place of the maximum. */
static double pooled(psg_op_kind kind, const pool_row *row, const grid *g, const psg_tensor *x,
		     int64_t plane, int64_t o, int64_t *at)
{
	int64_t size = product(g->in, g->rank), count = 0;
	int p = row->p.p == 0 ? 2 : row->p.p;
	double best = -INFINITY, sum = 0;

	for (int64_t k = 0; k < product(g->kernel, g->rank); k++) {
		bool padded;
		int64_t i = forward(g, o, k, &padded);
		double v = i < 0 ? 0 : t_get(x, plane * size + i);

		count += row->p.count_include_pad ? padded : i >= 0;
		if (i < 0)
			continue;
		sum += kind == PSG_OP_POOL_LP ? pow(fabs(v), p) : v;
		if (v > best) {
			best = v;
			*at = i;
		}
	}
	return kind == PSG_OP_POOL_MAX   ? best
	       : kind == PSG_OP_POOL_AVG ? sum / (double)count
					 : pow(sum, 1.0 / p);
}

/* The flat index with the first spatial dimension innermost. */
static int64_t column_major(const grid *g, int64_t at)
{
	int64_t index[3], flat = 0;

	for (int32_t i = g->rank - 1; i >= 0; i--) {
		T_TRUE(g->in[i] > 0);
		index[i] = at % g->in[i];
		at /= g->in[i];
	}
	for (int32_t i = g->rank - 1; i >= 0; i--)
		flat = flat * g->in[i] + index[i];
	return flat;
}

static void pool_once(psg_op_kind kind, const pool_row *row)
{
	psg_op op = { .kind = kind, .params.pool = row->p, .in = { t_random(row->x) }, .n_in = 1 };
	size_t n_out = kind == PSG_OP_POOL_MAX ? 2 : 1;
	grid g = pool_grid(row);
	int64_t outs = product(g.out, g.rank), size = product(g.in, g.rank);
	psg_tensor *out[2] = { NULL, NULL };

	t_run(&op, out, n_out);
	t_expect_shape(out[0], PSG_F32, row->out);
	for (int64_t i = 0; i < psg_shape_elements(&row->out); i++) {
		int64_t at = 0, plane = i / outs;

		t_expect_close(t_get(out[0], i),
			       pooled(kind, row, &g, op.in[0], plane, i % outs, &at), 1e-6,
			       psg_op_name(kind), i);
		at = row->p.column_major ? column_major(&g, at) : at;
		if (out[1] != NULL)
			T_EQUAL(t_get(out[1], i), (double)(plane * size + at));
	}
	psg_tensor_unref(out[0]);
	psg_tensor_unref(out[1]);
	t_free(&op);
}

static void pool(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(pool_rows) / sizeof(pool_rows[0]); i++) {
		pool_row row = pool_rows[i];

		pool_once(kind, &row);
		row.p.count_include_pad = true;
		row.p.column_major = true;
		row.p.p = 3;
		pool_once(kind, &row);
		row.p.p = 1;
		pool_once(kind, &row);
	}
}

static void pool_nan(psg_op_kind kind)
{
	psg_op op = { .kind = kind,
		      .params.pool.window = { .kernel = { 2 }, .stride = { 2 } },
		      .in = { t_random(PSG_SHAPE(1, 1, 8)) },
		      .n_in = 1 };
	psg_tensor *out;

	t_data(op.in[0])[2] = NAN;
	t_data(op.in[0])[5] = INFINITY;
	out = t_run_free(&op);
	ck_assert(isfinite(t_get(out, 0)));
	ck_assert(isnan(t_get(out, 1)));
	ck_assert(isinf(t_get(out, 2)));
	ck_assert(isfinite(t_get(out, 3)));
	psg_tensor_unref(out);
}

static void global_pool(psg_op_kind kind)
{
	const psg_shape shapes[] = { PSG_SHAPE(1, 1, 1, 1), PSG_SHAPE(2, 3, 7, 65),
				     PSG_SHAPE(1, 2, 63), PSG_SHAPE(2, 2, 3, 4, 5),
				     PSG_SHAPE(3, 5) };

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		psg_op op = { .kind = kind, .in = { t_random(shapes[s]) }, .n_in = 1 };
		int64_t planes = shapes[s].dim[0] * shapes[s].dim[1];
		int64_t size = psg_shape_elements(&shapes[s]) / planes;
		psg_tensor *out = t_run1(&op);

		ck_assert_int_eq(psg_shape_elements(psg_tensor_shape(out)), planes);
		for (int64_t p = 0; p < planes; p++) {
			double sum = 0, best = -INFINITY;

			for (int64_t i = 0; i < size; i++) {
				sum += t_get(op.in[0], p * size + i);
				best = fmax(best, t_get(op.in[0], p * size + i));
			}
			t_expect_close(t_get(out, p),
				       kind == PSG_OP_GLOBAL_AVG ? sum / (double)size : best, 1e-6,
				       psg_op_name(kind), p);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static const t_case t_window_cases[] = {
	{ PSG_OP_CONV, conv },
	{ PSG_OP_CONV, conv_nan },
	{ PSG_OP_CONV_TRANSPOSE, conv_transpose },
	{ PSG_OP_IM2COL, im2col },
	{ PSG_OP_POOL_MAX, pool },
	{ PSG_OP_POOL_AVG, pool },
	{ PSG_OP_POOL_LP, pool },
	{ PSG_OP_POOL_MAX, pool_nan },
	{ PSG_OP_POOL_AVG, pool_nan },
	{ PSG_OP_GLOBAL_AVG, global_pool },
	{ PSG_OP_GLOBAL_MAX, global_pool },
};

const t_cases t_window = T_CASES(t_window);
