/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, attention and the CTC digest against their definitions. */
#include "config.h"

#include "t_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct matmul_row {
	psg_shape a, b, out, c;
	bool has_c;
	psg_matmul_params p;
} matmul_row;

static const matmul_row matmul_rows[] = {
	{ T_SHAPE(1, 1), T_SHAPE(1, 1), T_SHAPE(1, 1), { 0 }, false, { 0 } },
	{ T_SHAPE(7, 63), T_SHAPE(63, 65), T_SHAPE(7, 65), { 0 }, false, { 0 } },
	{ T_SHAPE(65, 300), T_SHAPE(300, 129), T_SHAPE(65, 129), { 0 }, false, { 0 } },
	{ T_SHAPE(63, 7), T_SHAPE(63, 5), T_SHAPE(7, 5), { 0 }, false, { .trans_a = true } },
	{ T_SHAPE(7, 63), T_SHAPE(5, 63), T_SHAPE(7, 5), { 0 }, false, { .trans_b = true } },
	{ T_SHAPE(63, 7),
	  T_SHAPE(5, 63),
	  T_SHAPE(7, 5),
	  T_SHAPE(5),
	  true,
	  { .trans_a = true, .trans_b = true, .alpha = 0.5F, .beta = -2 } },
	{ T_SHAPE(3, 4), T_SHAPE(4, 5), T_SHAPE(3, 5), T_SHAPE(3, 1), true, { .beta = 0.25F } },
	{ T_SHAPE(3, 4), T_SHAPE(4, 5), T_SHAPE(3, 5), { 0 }, true, { 0 } },
	{ T_SHAPE(2, 1, 3, 4), T_SHAPE(5, 4, 2), T_SHAPE(2, 5, 3, 2), { 0 }, false, { 0 } },
	{ T_SHAPE(3, 4), T_SHAPE(2, 2, 4, 1), T_SHAPE(2, 2, 3, 1), { 0 }, false, { 0 } },
	{ T_SHAPE(4), T_SHAPE(4), { 0 }, { 0 }, false, { 0 } },
	{ T_SHAPE(4), T_SHAPE(3, 4, 2), T_SHAPE(3, 2), { 0 }, false, { 0 } },
	{ T_SHAPE(3, 2, 4), T_SHAPE(4), T_SHAPE(3, 2), { 0 }, false, { 0 } },
	{ T_SHAPE(2, 0), T_SHAPE(0, 3), T_SHAPE(2, 3), { 0 }, false, { 0 } },
	{ T_SHAPE(0, 2, 3), T_SHAPE(3, 4), T_SHAPE(0, 2, 4), { 0 }, false, { 0 } },
};

/* Element (i, j) of the matrix that `index` (of the batch dimensions) chooses. */
static double entry(const psg_tensor *t, bool trans, int32_t batch_rank, const int64_t *batch,
		    int64_t i, int64_t j)
{
	const psg_shape *shape = psg_tensor_shape(t);
	int64_t at[PSG_MAX_RANK];
	int32_t own = shape->rank - 2;

	for (int32_t d = 0; d < own; d++)
		at[d] = shape->dim[d] == 1 ? 0 : batch[d + batch_rank - own];
	at[own] = trans ? j : i;
	at[own + 1] = trans ? i : j;
	return t_get(t, t_flatten(shape, at));
}

/* A vector becomes a matrix; the reference's own treatment of 1-D is thereby not used. */
static psg_tensor *as_matrix(psg_tensor *t, bool right)
{
	psg_shape shape = *psg_tensor_shape(t);

	if (shape.rank != 1)
		return psg_tensor_ref(t);
	shape = right ? PSG_SHAPE(shape.dim[0], 1) : PSG_SHAPE(1, shape.dim[0]);
	return t_floats(shape, psg_tensor_const_data(t));
}

static void check_matmul(const matmul_row *row, const psg_op *op, const psg_tensor *out)
{
	psg_tensor *a = as_matrix(op->in[0], false), *b = as_matrix(op->in[1], true);
	const psg_shape *sa = psg_tensor_shape(a);
	int64_t k = row->p.trans_a ? sa->dim[sa->rank - 2] : sa->dim[sa->rank - 1];
	double alpha = row->p.alpha == 0 ? 1 : (double)row->p.alpha;
	double beta = row->p.beta == 0 ? 1 : (double)row->p.beta;
	/* The result as matrices, too. */
	psg_shape full = row->out;

	if (row->b.rank == 1)
		full.dim[full.rank++] = 1;
	if (row->a.rank == 1) {
		full.rank++;
		full.dim[full.rank - 1] = full.dim[full.rank - 2];
		full.dim[full.rank - 2] = 1;
	}
	for (int64_t i = 0; i < psg_shape_elements(&full); i++) {
		int64_t at[PSG_MAX_RANK];
		double sum = 0;

		t_unflatten(&full, i, at);
		for (int64_t j = 0; j < k; j++)
			sum += entry(a, row->p.trans_a, full.rank - 2, at, at[full.rank - 2], j) *
			       entry(b, row->p.trans_b, full.rank - 2, at, j, at[full.rank - 1]);
		sum *= alpha;
		if (row->has_c)
			sum += beta * t_broadcast(op->in[2], full.rank, at);
		t_expect_close(t_get(out, i), sum, 1e-6, "matmul", i);
	}
	psg_tensor_unref(a);
	psg_tensor_unref(b);
}

static void matmul(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(matmul_rows) / sizeof(matmul_rows[0]); i++) {
		const matmul_row *row = &matmul_rows[i];
		psg_op op = { .kind = kind,
			      .params.matmul = row->p,
			      .in = { t_random(row->a), t_random(row->b) },
			      .n_in = row->has_c ? 3 : 2 };
		psg_tensor *out;

		if (row->has_c)
			op.in[2] = t_random(row->c);
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, row->out);
		check_matmul(row, &op, out);
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void matmul_nan(psg_op_kind kind)
{
	psg_op op = { .kind = kind,
		      .in = { t_random(PSG_SHAPE(5, 6)), t_random(PSG_SHAPE(6, 7)) },
		      .n_in = 2 };
	psg_tensor *out;

	t_data(op.in[0])[2 * 6] = NAN;
	t_data(op.in[1])[3] = INFINITY;
	out = t_run_free(&op);
	for (int64_t i = 0; i < 35; i++) {
		ck_assert_int_eq(isnan(t_get(out, i)) != 0, i / 7 == 2);
		if (i / 7 != 2)
			ck_assert_int_eq(isinf(t_get(out, i)) != 0, i % 7 == 3);
	}
	psg_tensor_unref(out);
}

typedef struct attention_row {
	int64_t n, t, heads, d;
	float scale;
} attention_row;

static const attention_row attention_rows[] = {
	{ 1, 1, 1, 1, 0 },
	{ 2, 7, 8, 15, 0 },
	{ 1, 65, 2, 4, 0.3F },
	{ 1, 40, 1, 63, 0 },
};

/* q, k or v (part 0, 1, 2) of step t and head h. */
static double qkv(const psg_tensor *x, const attention_row *r, int64_t n, int64_t t, int64_t part,
		  int64_t h, int64_t j)
{
	return t_get(x, ((n * r->t + t) * 3 + part) * r->heads * r->d + h * r->d + j);
}

static double attended(const psg_tensor *x, const attention_row *r, int64_t n, int64_t t, int64_t h,
		       int64_t j)
{
	double scale = r->scale == 0 ? 1 / sqrt((double)r->d) : (double)r->scale;
	double sum = 0, total = 0;

	for (int64_t i = 0; i < r->t; i++) {
		double score = 0;

		for (int64_t k = 0; k < r->d; k++)
			score += qkv(x, r, n, t, 0, h, k) * qkv(x, r, n, i, 1, h, k);
		score = exp(score * scale);
		sum += score * qkv(x, r, n, i, 2, h, j);
		total += score;
	}
	return sum / total;
}

static void attention(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(attention_rows) / sizeof(attention_rows[0]); i++) {
		const attention_row *r = &attention_rows[i];
		psg_op op = { .kind = kind,
			      .params.attention = { (int32_t)r->heads, r->scale },
			      .in = { t_random(PSG_SHAPE(r->n, r->t, 3 * r->heads * r->d)) },
			      .n_in = 1 };
		psg_tensor *out = t_run1(&op);

		t_expect_shape(out, PSG_F32, PSG_SHAPE(r->n, r->t, r->heads * r->d));
		for (int64_t k = 0; k < r->n * r->t * r->heads * r->d; k++)
			t_expect_close(t_get(out, k),
				       attended(op.in[0], r, k / (r->t * r->heads * r->d),
						k / (r->heads * r->d) % r->t, k / r->d % r->heads,
						k % r->d),
				       1e-6, "attention", k);
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void attn_split(psg_op_kind kind)
{
	const attention_row r = { 2, 7, 3, 5, 0.5F };
	psg_op op = { .kind = kind,
		      .params.attention = { 3, 0.5F },
		      .in = { t_random(PSG_SHAPE(2, 7, 45)) },
		      .n_in = 1 };
	psg_tensor *out = t_run1(&op);
	psg_shape shape = PSG_SHAPE(3, 2, 3, 7, 5);

	t_expect_shape(out, PSG_F32, shape);
	for (int64_t i = 0; i < psg_shape_elements(&shape); i++) {
		int64_t at[PSG_MAX_RANK];

		t_unflatten(&shape, i, at);
		t_expect_close(t_get(out, i),
			       qkv(op.in[0], &r, at[1], at[3], at[0], at[2], at[4]) *
				       (at[0] == 0 ? 0.5 : 1),
			       1e-7, "attn_split", i);
	}
	psg_tensor_unref(out);
	t_free(&op);
}

static void attn_softmax(psg_op_kind kind)
{
	psg_op op = { .kind = kind, .in = { t_random(PSG_SHAPE(2, 3, 9, 9)) }, .n_in = 1 };
	psg_tensor *out = t_run1(&op);

	for (int64_t row = 0; row < 2 * 3 * 9; row++) {
		double sum = 0;

		for (int64_t i = 0; i < 9; i++)
			sum += exp(t_get(op.in[0], row * 9 + i));
		for (int64_t i = 0; i < 9; i++)
			t_expect_close(t_get(out, row * 9 + i),
				       exp(t_get(op.in[0], row * 9 + i)) / sum, 1e-6,
				       "attn_softmax", row * 9 + i);
	}
	psg_tensor_unref(out);
	t_free(&op);
}

static void attn_merge(psg_op_kind kind)
{
	psg_op op = { .kind = kind, .in = { t_iota(PSG_F32, PSG_SHAPE(2, 3, 7, 5)) }, .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	t_expect_shape(out, PSG_F32, PSG_SHAPE(2, 7, 15));
	for (int64_t i = 0; i < 2 * 7 * 15; i++) {
		int64_t n = i / 105, t = i / 15 % 7, h = i / 5 % 3, j = i % 5;

		T_EQUAL(t_get(out, i), (double)(((n * 3 + h) * 7 + t) * 5 + j));
	}
	psg_tensor_unref(out);
}

/* The three steps and the matrix products between them are the whole. */
static void attention_in_steps(psg_op_kind kind)
{
	psg_tensor *x = t_random(PSG_SHAPE(1, 7, 3 * 8 * 15));
	psg_op whole = {
		.kind = PSG_OP_ATTENTION, .params.attention.heads = 8, .in = { x }, .n_in = 1
	};
	psg_op split = {
		.kind = kind, .params.attention = { 8, 0.2581989F }, .in = { x }, .n_in = 1
	};
	psg_tensor *parts = t_run1(&split), *part[3], *want = t_run1(&whole), *out;
	psg_op step;

	for (int64_t i = 0; i < 3; i++)
		part[i] = t_floats(PSG_SHAPE(1, 8, 7, 15), t_data(parts) + i * 8 * 7 * 15);
	step = (psg_op){ .kind = PSG_OP_MATMUL,
			 .params.matmul.trans_b = true,
			 .in = { part[0], part[1] },
			 .n_in = 2 };
	out = t_run_free(&step);
	step = (psg_op){ .kind = PSG_OP_ATTN_SOFTMAX, .in = { out }, .n_in = 1 };
	out = t_run_free(&step);
	step = (psg_op){ .kind = PSG_OP_MATMUL, .in = { out, part[2] }, .n_in = 2 };
	out = t_run_free(&step);
	step = (psg_op){ .kind = PSG_OP_ATTN_MERGE, .in = { out }, .n_in = 1 };
	out = t_run_free(&step);
	for (int64_t i = 0; i < 7 * 120; i++)
		t_expect_close(t_get(out, i), t_get(want, i), 1e-5, "attention in steps", i);
	psg_tensor_unref(out);
	psg_tensor_unref(want);
	psg_tensor_unref(parts);
	psg_tensor_unref(x);
}

static void ctc_digest(psg_op_kind kind)
{
	const int64_t classes[] = { 1, 2, 65, 6625 };

	for (size_t i = 0; i < 4; i++) {
		int64_t v = classes[i];
		psg_op op = { .kind = kind, .in = { t_random(PSG_SHAPE(2, 7, v)) }, .n_in = 1 };
		psg_tensor *out;

		t_data(op.in[0])[3 * v + v / 2] = 90; /* e^90 overflows a float */
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, PSG_SHAPE(2, 7, 2));
		for (int64_t t = 0; t < 14; t++) {
			double best = -INFINITY, sum = 0;
			int64_t at = 0;

			for (int64_t k = 0; k < v; k++) {
				double x = t_get(op.in[0], t * v + k);

				sum += exp(x);
				at = x > best ? k : at;
				best = fmax(best, x);
			}
			T_EQUAL(t_get(out, 2 * t), (double)at);
			t_expect_close(t_get(out, 2 * t + 1), exp(best) / sum, 1e-6, "ctc_digest",
				       t);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static const t_case t_matrix_cases[] = {
	{ PSG_OP_MATMUL, matmul },
	{ PSG_OP_MATMUL, matmul_nan },
	{ PSG_OP_ATTENTION, attention },
	{ PSG_OP_ATTN_SPLIT, attn_split },
	{ PSG_OP_ATTN_SOFTMAX, attn_softmax },
	{ PSG_OP_ATTN_MERGE, attn_merge },
	{ PSG_OP_ATTN_SPLIT, attention_in_steps },
	{ PSG_OP_CTC_DIGEST, ctc_digest },
};

const t_cases t_matrix = T_CASES(t_matrix);
