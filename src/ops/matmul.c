/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products with numpy's rules: alpha * op(a) op(b) + beta * c. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

/* The operands as batches of matrices, and the result with and without the ones that 1-D
 * operands stand for. */
typedef struct product {
	int64_t m, n, k;
	int64_t a_row, a_step, b_row, b_step;
	psg_shape batch_a, batch_b, batch, out;
} product;

/* Splits `shape` into its batch dimensions and [rows, columns] as stored; a vector is a row or,
 * on the right side, a column. */
static psg_shape split(const psg_shape *shape, bool right, int64_t *rows, int64_t *columns)
{
	psg_shape batch = { .rank = shape->rank > 2 ? shape->rank - 2 : 0 };

	for (int32_t i = 0; i < batch.rank; i++)
		batch.dim[i] = shape->dim[i];
	*rows = shape->rank > 1 ? shape->dim[shape->rank - 2] : right ? shape->dim[0] : 1;
	*columns = shape->rank > 1 || !right ? shape->dim[shape->rank - 1] : 1;
	return batch;
}

static psg_status resolve(const psgi_call *call, product *p, psg_error *error)
{
	const psg_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
	const psg_matmul_params *params = &call->params->matmul;
	bool ta = params->trans_a && a->rank > 1, tb = params->trans_b && b->rank > 1;
	char text_a[PSGI_SHAPE_TEXT], text_b[PSGI_SHAPE_TEXT];
	int64_t ra, ca, rb, cb, k;
	psg_status status;

	p->batch_a = split(a, false, &ra, &ca);
	p->batch_b = split(b, true, &rb, &cb);
	p->m = ta ? ca : ra;
	p->k = ta ? ra : ca;
	p->n = tb ? rb : cb;
	k = tb ? cb : rb;
	if (k != p->k)
		return psgi_fail(error, PSG_INVALID,
				 "matmul: %s%s has %" PRId64 " columns, %s%s has %" PRId64 " rows",
				 psgi_shape_text(a, text_a), ta ? " transposed" : "", p->k,
				 psgi_shape_text(b, text_b), tb ? " transposed" : "", k);
	p->a_row = ta ? 1 : ca;
	p->a_step = ta ? ca : 1;
	p->b_row = tb ? 1 : cb;
	p->b_step = tb ? cb : 1;
	status = psgi_broadcast(call, &p->batch_a, &p->batch_b, &p->batch, error);
	if (status != PSG_OK)
		return status;
	p->out = p->batch;
	if (a->rank > 1)
		p->out.dim[p->out.rank++] = p->m;
	if (b->rank > 1)
		p->out.dim[p->out.rank++] = p->n;
	return PSG_OK;
}

psg_status psgi_matmul_shape(psgi_call *call, psg_error *error)
{
	char text_c[PSGI_SHAPE_TEXT], text[PSGI_SHAPE_TEXT];
	psg_shape with_c;
	product p;
	psg_status status = PSG_OK;

	for (size_t i = 0; i < call->n_in && status == PSG_OK; i++) {
		if (!psgi_has_input(call, i))
			continue;
		status = psgi_need_dtype(call, i, PSG_F32, error);
		if (status == PSG_OK && i < 2)
			status = psgi_need_rank(call, i, 1, PSG_MAX_RANK, error);
	}
	if (status == PSG_OK)
		status = resolve(call, &p, error);
	if (status == PSG_OK && psgi_has_input(call, 2)) {
		status = psgi_broadcast(call, &p.out, &call->in[2].shape, &with_c, error);
		if (status == PSG_OK && !psg_shape_equal(&with_c, &p.out))
			return psgi_fail(error, PSG_INVALID,
					 "matmul: c %s does not broadcast to the product %s",
					 psgi_shape_text(&call->in[2].shape, text_c),
					 psgi_shape_text(&p.out, text));
	}
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, &p.out, error) : status;
}

void psgi_matmul_cost(const psgi_call *call, psg_cost *cost)
{
	product p;

	psgi_plain_cost(call, cost);
	if (resolve(call, &p, NULL) == PSG_OK)
		cost->macs = psgi_mul_most(psg_shape_elements(&p.out), p.k);
}

/* One matrix of the right side. */
typedef struct side {
	const float *b;
	int64_t row, step;
} side;

static void side_row(const void *user, int64_t k, int64_t n0, int64_t count, double *to)
{
	const side *s = user;
	const float *b = s->b + k * s->row + n0 * s->step;

	for (int64_t i = 0; i < count; i++)
		to[i] = b[i * s->step];
}

static psg_status products(const psgi_call *call, const product *p, double alpha, psg_error *error)
{
	psgi_walk walk = { .rank = p->batch.rank, .operands = 3 };
	psg_status status = PSG_OK;

	for (int32_t i = 0; i < walk.rank; i++)
		walk.dim[i] = p->batch.dim[i];
	psgi_strides(&p->batch, walk.step[0]);
	psgi_broadcast_strides(&p->batch_a, &p->batch, walk.step[1]);
	psgi_broadcast_strides(&p->batch_b, &p->batch, walk.step[2]);
	if (!psgi_walk_start(&walk))
		return PSG_OK;
	do {
		for (int64_t i = 0; i < walk.run && status == PSG_OK; i++) {
			int64_t out = walk.at[0] + i * walk.run_step[0];
			int64_t a = walk.at[1] + i * walk.run_step[1];
			int64_t b = walk.at[2] + i * walk.run_step[2];
			side s = { (const float *)call->in[1].data + b * p->k * p->n, p->b_row,
				   p->b_step };
			psgi_gemm gemm = {
				.m = p->m,
				.n = p->n,
				.k = p->k,
				.a = (const float *)call->in[0].data + a * p->m * p->k,
				.a_row = p->a_row,
				.a_step = p->a_step,
				.row = side_row,
				.user = &s,
				.alpha = alpha,
				.out = (float *)call->out[0].data + out * p->m * p->n,
				.out_row = p->n,
			};

			status = psgi_gemm_run(&gemm, error);
		}
	} while (status == PSG_OK && psgi_walk_next(&walk));
	return status;
}

static void add_c(const psgi_call *call, double beta)
{
	const psg_shape *out = &call->out[0].shape;
	psgi_walk walk = { .rank = out->rank, .operands = 2 };

	for (int32_t i = 0; i < walk.rank; i++)
		walk.dim[i] = out->dim[i];
	psgi_strides(out, walk.step[0]);
	psgi_broadcast_strides(&call->in[2].shape, out, walk.step[1]);
	if (!psgi_walk_start(&walk))
		return;
	do {
		float *y = (float *)call->out[0].data + walk.at[0];
		const float *c = (const float *)call->in[2].data + walk.at[1];

		for (int64_t i = 0; i < walk.run; i++) {
			float *at = y + i * walk.run_step[0];

			*at = (float)((double)*at + beta * (double)c[i * walk.run_step[1]]);
		}
	} while (psgi_walk_next(&walk));
}

psg_status psgi_matmul_ref(const psgi_call *call, psg_error *error)
{
	const psg_matmul_params *params = &call->params->matmul;
	product p;
	psg_status status = resolve(call, &p, error);

	if (status == PSG_OK)
		status = products(call, &p, params->alpha == 0 ? 1 : (double)params->alpha, error);
	if (status == PSG_OK && psgi_has_input(call, 2))
		add_c(call, params->beta == 0 ? 1 : (double)params->beta);
	return status;
}
