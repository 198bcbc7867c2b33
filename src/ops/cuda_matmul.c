/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on a CUDA device: which operands lie how, which tile, which bias. */
#include "config.h"

#include "ops/cuda_internal.h"

static int64_t ceiling(int64_t n, int64_t d)
{
	return (n + d - 1) / d;
}

void psgi_cuda_tile(const psgi_cuda *cuda, psgi_cuda_launch *l, gemm_args *g,
		    const psgi_cuda_tiles *tiles)
{
	static const int64_t side[] = { 128, 64, 32 };
	static const uint32_t threads[] = { 256, 128, 64 };
	int64_t enough = psgi_gpu_limits_get(cuda->device)->multiprocessors;
	size_t i = 0;

	/* The largest tile that gives every multiprocessor one, and wastes little: half a tile of
	 * rows or columns that are not there costs as much as half of the multiprocessors. */
	while (i < 2 && (ceiling(g->m, side[i]) * ceiling(g->n, side[i]) * g->batches < enough ||
			 g->m <= side[i] / 2 || g->n <= side[i] / 2))
		i++;
	g->tiles_m = ceiling(g->m, side[i]);
	g->tiles_n = ceiling(g->n, side[i]);
	l->kernel = tiles->kernel[i];
	l->threads = threads[i];
	l->blocks = g->tiles_m * g->tiles_n * g->batches;
	if (l->blocks > (int64_t)PSGI_GPU_MAX_GRID_X)
		l->blocks = -1;
}

/* A matrix operand: rows and columns of op(x), and elements from one to the next. */
typedef struct side {
	int64_t rows, columns, row_step, column_step;
	psg_shape batch;
} side;

static side side_of(const psg_shape *x, bool turned, bool right)
{
	side s = { .rows = 1, .columns = 1, .batch = { .rank = 0 } };
	int32_t r = x->rank;

	if (r == 1) { /* a vector is a row on the left, a column on the right */
		*(right ? &s.rows : &s.columns) = x->dim[0];
		s.row_step = right ? 1 : x->dim[0];
		s.column_step = 1;
		return s;
	}
	s.rows = x->dim[turned ? r - 1 : r - 2];
	s.columns = x->dim[turned ? r - 2 : r - 1];
	s.row_step = turned ? 1 : x->dim[r - 1];
	s.column_step = turned ? x->dim[r - 1] : 1;
	for (int32_t i = 0; i < r - 2; i++)
		s.batch.dim[s.batch.rank++] = x->dim[i];
	return s;
}

/* At most two steps through the batches for each operand; false: more are needed. */
static bool batches_of(const psgi_call *call, const side *a, const side *b, gemm_args *g)
{
	psgi_walk walk = { .operands = 2 };
	psg_shape batch;

	if (psgi_broadcast(call, &a->batch, &b->batch, &batch, NULL) != PSG_OK)
		return false;
	walk.rank = batch.rank;
	for (int32_t i = 0; i < batch.rank; i++)
		walk.dim[i] = batch.dim[i];
	psgi_broadcast_strides(&a->batch, &batch, walk.step[0]);
	psgi_broadcast_strides(&b->batch, &batch, walk.step[1]);
	if (!psgi_walk_start(&walk)) {
		g->batches = 0;
		return true;
	}
	if (walk.rank > 1)
		return false;
	g->inner = walk.run;
	g->batches = walk.run * (walk.rank == 1 ? walk.dim[0] : 1);
	g->a_inner = walk.run_step[0] * g->m * g->k;
	g->b_inner = walk.run_step[1] * g->k * g->n;
	g->c_inner = g->m * g->n;
	g->a_outer = walk.rank == 1 ? walk.step[0][0] * g->m * g->k : 0;
	g->b_outer = walk.rank == 1 ? walk.step[1][0] * g->k * g->n : 0;
	g->c_outer = g->inner * g->c_inner;
	return true;
}

/* Rows of all batches are rows of one product when b is the same for all. */
static void fold_batches(gemm_args *g)
{
	if (g->b_inner != 0 || g->b_outer != 0 || g->a_step != 1 || g->a_row != g->k ||
	    g->a_inner != g->m * g->k || g->batches != g->inner)
		return;
	g->m *= g->batches;
	g->batches = g->inner = 1;
}

static bool is_aligned(int64_t row, int64_t outer, int64_t inner)
{
	return row % 4 == 0 && outer % 4 == 0 && inner % 4 == 0;
}

/* A vector of one value a column or row, or a matrix as large as the result; false: neither. */
static bool take_c(const psgi_call *call, psgi_cuda_launch *l)
{
	gemm_args *g = &l->args.gemm;
	const psg_shape *c = &call->in[2].shape;
	int64_t n = psg_shape_elements(c), beta_is_one;

	beta_is_one = call->params->matmul.beta == 0 || call->params->matmul.beta == 1;
	if (!beta_is_one)
		return false;
	if (psg_shape_equal(c, &call->out[0].shape) && n > 0) {
		psgi_cuda_post_add(l, offsetof(gemm_args, posts), 2);
		return true;
	}
	if (n == g->n && (c->rank > 0 ? c->dim[c->rank - 1] == g->n : g->n == 1))
		g->bias_kind = GPU_COLUMN_BIAS;
	else if (g->batches == 1 && c->rank == 2 && call->out[0].shape.rank == 2 &&
		 c->dim[1] == 1 && c->dim[0] == g->m)
		g->bias_kind = GPU_ROW_BIAS;
	else
		return false;
	PSGI_SLOT(l, PSGI_SLOT_IN, 2, gemm_args, bias);
	return true;
}

/* Few results with long sums, both operands along k. */
#define DOTS_MOST 16384 /* chosen: more fill the card with tiles */

static void choose_kernel(const psgi_cuda *cuda, psgi_cuda_launch *l)
{
	static const psgi_cuda_tiles plain = { { PSGI_GPU_sgemm, PSGI_GPU_sgemm_64,
						 PSGI_GPU_sgemm_32 } };
	static const psgi_cuda_tiles any = { { PSGI_GPU_gemm_any, PSGI_GPU_gemm_any,
					       PSGI_GPU_gemm_any } };
	gemm_args *g = &l->args.gemm;

	g->fours_a = is_aligned(g->a_row, g->a_outer, g->a_inner);
	g->fours_b = is_aligned(g->b_row, g->b_outer, g->b_inner);
	g->fours_c = is_aligned(g->c_row, g->c_outer, g->c_inner);
	if (g->a_step == 1 && g->b_row == 1 && g->batches == 1 && g->m * g->n <= DOTS_MOST) {
		l->kernel = PSGI_GPU_gemm_dots;
		l->threads = 128;
		l->blocks = ceiling(g->m * g->n, 4);
	} else if (g->a_step == 1 && g->b_step == 1) {
		psgi_cuda_tile(cuda, l, g, &plain);
	} else {
		psgi_cuda_tile(cuda, l, g, &any);
		g->tiles_m = ceiling(g->m, 32); /* its only size */
		g->tiles_n = ceiling(g->n, 32);
		l->threads = 64;
		l->blocks = g->tiles_m * g->tiles_n * g->batches;
	}
}

psg_status psgi_cuda_matmul(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			    bool *done, psg_error *error)
{
	const psg_matmul_params *p = &call->params->matmul;
	psgi_cuda_launch *l;
	gemm_args *g;
	side a, b;

	(void)error;
	if (call->kind != PSG_OP_MATMUL)
		return PSG_OK;
	a = side_of(&call->in[0].shape, p->trans_a && call->in[0].shape.rank > 1, false);
	b = side_of(&call->in[1].shape, p->trans_b && call->in[1].shape.rank > 1, true);
	l = psgi_cuda_add(cuda, PSGI_GPU_sgemm, 0, 0, sizeof(gemm_args));
	g = &l->args.gemm;
	*g = (gemm_args){ .m = a.rows,
			  .n = b.columns,
			  .k = a.columns,
			  .a_row = a.row_step,
			  .a_step = a.column_step,
			  .b_row = b.row_step,
			  .b_step = b.column_step,
			  .c_row = b.columns,
			  .alpha = p->alpha == 0 ? 1 : p->alpha };
	if (g->n == 1)
		g->b_row = b.rows == 1 ? 1 : g->b_row;
	if (!batches_of(call, &a, &b, g))
		return PSG_OK;
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, gemm_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, gemm_args, b);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, gemm_args, c);
	fold_batches(g);
	if (psgi_has_input(call, 2) && !take_c(call, l))
		return PSG_OK;
	psgi_cuda_posts(l, offsetof(gemm_args, posts), posts);
	choose_kernel(cuda, l);
	*done = l->blocks >= 0;
	return PSG_OK;
}
