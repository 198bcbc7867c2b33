/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken depends on values: by index, by a condition, by which is the largest. */
#include "block.h"
#include "walk.h"

KERNEL(gather, gather_args)
{
	int64_t rest, i, from, k;

	if (INDEX >= a.n)
		return;
	i = walk_index(INDEX, a.inner, &rest);
	k = walk_index(rest, a.count, &rest);
	from = a.index[k];
	from = from < 0 ? from + a.dim : from;
	if (from >= 0 && from < a.dim) {
		a.y[INDEX] = a.x[(rest * a.dim + from) * a.inner + i];
		return;
	}
	a.y[INDEX] = 0;
	if (a.bad != NULL)
		REPORT(a.bad, k);
}

KERNEL(where, where_args)
{
	int64_t rest = INDEX, c = 0, x, y;

	if (INDEX >= a.pair.n)
		return;
	walk_pair(&a.pair, INDEX, &x, &y);
	ROLLED for (int32_t d = a.pair.rank - 1; d >= 0; d--) c +=
		walk_index(rest, a.pair.dim[d], &rest) * a.c_step[d];
	a.y[INDEX] = a.c[c] != 0 ? a.a[x] : a.b[y];
}

struct arg_shared {
	int64_t key[BLOCK_MOST], index[BLOCK_MOST];
};

/* Whole numbers in the order of the floats, both zeros the same. */
INLINE int64_t order_of(float v)
{
	uint32_t bits = to_bits(v);

	return bits >> 31 != 0 ? -(int64_t)(bits & 0x7fffffffu) : (int64_t)bits;
}

/* The larger is the better one. */
INLINE int64_t key_of(const arg_args *a, int64_t from)
{
	const float GLOBAL *floats = a->x;
	const int64_t GLOBAL *integers = a->x;
	int64_t key;

	if (!a->integers && is_nan(floats[from]))
		return INT64_MAX;
	key = a->integers ? integers[from] : order_of(floats[from]);
	return a->least ? ~key : key; /* turns the order around, and has no overflow */
}

/* An index below 0 is none. */
INLINE bool is_better(int32_t last, int64_t key, int64_t index, int64_t than, int64_t its_index)
{
	if (index < 0 || its_index < 0)
		return index >= 0;
	return key != than ? key > than : last ? index > its_index : index < its_index;
}

KERNEL_SHARED(arg, arg_args, struct arg_shared)
{
	struct arg_shared SHARED *s = SHARED_OF(arg);
	int64_t first = block_over(BLOCK, a.inner) * a.len * a.inner + block_rest(BLOCK, a.inner);
	int64_t n = a.valid == NULL ? a.len : a.valid[block_over(BLOCK, a.sample)];
	int64_t best = 0, index = -1;

	for (int64_t i = THREAD; i < n; i += THREADS) {
		int64_t key = key_of(&a, first + i * a.inner);

		if (is_better(a.last, key, i, best, index)) {
			best = key;
			index = i;
		}
	}
	s->key[THREAD] = best;
	s->index[THREAD] = index;
	for (int32_t step = THREADS / 2; step > 0; step /= 2) {
		BARRIER();
		if (THREAD < step &&
		    is_better(a.last, s->key[THREAD + step], s->index[THREAD + step],
			      s->key[THREAD], s->index[THREAD])) {
			s->key[THREAD] = s->key[THREAD + step];
			s->index[THREAD] = s->index[THREAD + step];
		}
	}
	if (THREAD == 0)
		a.y[BLOCK] = s->index[0] < 0 ? 0 : s->index[0];
}
