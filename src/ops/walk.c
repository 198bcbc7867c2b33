/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over index spaces, and the copies made with them. */
#include "config.h"

#include "ops/family.h"

#include <stdlib.h>
#include <string.h>

/* Does dimension i go on where dimension i + 1 ends, in every operand? */
static bool continues(const psgi_walk *walk, int32_t i)
{
	for (int32_t o = 0; o < walk->operands; o++)
		if (walk->step[o][i] != walk->step[o][i + 1] * walk->dim[i + 1])
			return false;
	return true;
}

static void remove_dim(psgi_walk *walk, int32_t at)
{
	walk->rank--;
	for (int32_t i = at; i < walk->rank; i++) {
		walk->dim[i] = walk->dim[i + 1];
		for (int32_t o = 0; o < walk->operands; o++)
			walk->step[o][i] = walk->step[o][i + 1];
	}
}

static void merge(psgi_walk *walk)
{
	for (int32_t i = walk->rank - 1; i >= 0; i--)
		if (walk->dim[i] == 1)
			remove_dim(walk, i);
	for (int32_t i = walk->rank - 2; i >= 0; i--) {
		if (continues(walk, i)) {
			walk->dim[i + 1] *= walk->dim[i];
			remove_dim(walk, i);
		}
	}
}

bool psgi_walk_start(psgi_walk *walk)
{
	for (int32_t i = 0; i < walk->rank; i++)
		if (walk->dim[i] == 0)
			return false;
	merge(walk);
	walk->run = 1;
	memset(walk->run_step, 0, sizeof(walk->run_step));
	memset(walk->index, 0, sizeof(walk->index));
	if (walk->rank > 0) {
		walk->rank--;
		walk->run = walk->dim[walk->rank];
		for (int32_t o = 0; o < walk->operands; o++)
			walk->run_step[o] = walk->step[o][walk->rank];
	}
	return true;
}

bool psgi_walk_next(psgi_walk *walk)
{
	for (int32_t i = walk->rank - 1; i >= 0; i--) {
		for (int32_t o = 0; o < walk->operands; o++)
			walk->at[o] += walk->step[o][i];
		if (++walk->index[i] < walk->dim[i])
			return true;
		walk->index[i] = 0;
		for (int32_t o = 0; o < walk->operands; o++)
			walk->at[o] -= walk->step[o][i] * walk->dim[i];
	}
	return false;
}

#define COPY_RUN(type)                                                                             \
	do {                                                                                       \
		type *a = (type *)to + walk->at[0];                                                \
		const type *b = (const type *)from + walk->at[1];                                  \
		for (int64_t i = 0; i < walk->run; i++)                                            \
			a[i * walk->run_step[0]] = b[i * walk->run_step[1]];                       \
	} while (0)

static void copy_run(const psgi_walk *walk, void *to, const void *from, size_t size)
{
	/* A run of one has no steps and is contiguous too. */
	if (walk->run == 1 || (walk->run_step[0] == 1 && walk->run_step[1] == 1))
		memcpy((char *)to + walk->at[0] * (int64_t)size,
		       (const char *)from + walk->at[1] * (int64_t)size, (size_t)walk->run * size);
	else if (size == sizeof(uint32_t))
		COPY_RUN(uint32_t);
	else
		COPY_RUN(uint64_t);
}

void psgi_walk_copy(psgi_walk *walk, void *to, const void *from, size_t size)
{
	if (psgi_walk_start(walk))
		do
			copy_run(walk, to, from, size);
		while (psgi_walk_next(walk));
}

void psgi_permute_walk(int32_t rank, const int64_t *dims, const int32_t *perm, psgi_walk *walk)
{
	int64_t stride[PSGI_WALK_DIMS], n = 1;

	*walk = (psgi_walk){ .rank = rank, .operands = 2 };
	for (int32_t i = rank - 1; i >= 0; i--) {
		stride[i] = n;
		n *= dims[i];
	}
	n = 1;
	for (int32_t i = rank - 1; i >= 0; i--) {
		walk->dim[i] = dims[perm[i]];
		walk->step[0][i] = n;
		walk->step[1][i] = stride[perm[i]];
		n *= walk->dim[i];
	}
}

void psgi_permute(void *to, const void *from, size_t size, int32_t rank, const int64_t *dims,
		  const int32_t *perm)
{
	psgi_walk walk;

	psgi_permute_walk(rank, dims, perm, &walk);
	psgi_walk_copy(&walk, to, from, size);
}

bool psgi_tables(const psg_shape *shape, int64_t **table)
{
	size_t n = 1; /* never an empty allocation */
	int64_t *memory;

	for (int32_t i = 0; i < shape->rank; i++)
		n += (size_t)shape->dim[i];
	memory = malloc(n * sizeof(*memory));
	if (memory == NULL)
		return false;
	table[0] = memory;
	for (int32_t i = 0; i < shape->rank; i++) {
		table[i] = memory;
		memory += shape->dim[i];
	}
	return true;
}

/* One innermost row: `base` is where the outer indices lead, or -1 for a row of `fill`. */
static void table_row(char *to, const char *from, int64_t base, const int64_t *table, int64_t n,
		      size_t size, const void *fill)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t at = base < 0 ? -1 : table[i];

		memcpy(to + (size_t)i * size,
		       at < 0 ? (const char *)fill : from + (size_t)(base + at) * size, size);
	}
}

void psgi_table_copy(void *to, const psg_shape *shape, const void *from,
		     const psg_shape *from_shape, int64_t *const *table, size_t size,
		     const void *fill)
{
	static const int64_t only[1] = { 0 };
	int32_t outer = shape->rank > 0 ? shape->rank - 1 : 0;
	int64_t n = shape->rank > 0 ? shape->dim[outer] : 1, stride[PSG_MAX_RANK];
	int64_t rows = psgi_product(shape, 0, outer), index[PSG_MAX_RANK] = { 0 };
	const int64_t *inner = shape->rank > 0 ? table[outer] : only;
	char *row = to;

	psgi_strides(from_shape, stride);
	for (int64_t r = 0; r < rows; r++, row += (size_t)n * size) {
		int64_t base = 0;

		for (int32_t i = 0; i < outer && base >= 0; i++)
			base = table[i][index[i]] < 0 ? -1 : base + table[i][index[i]] * stride[i];
		table_row(row, from, base, inner, n, size, fill);
		for (int32_t i = outer - 1; i >= 0; i--) {
			if (++index[i] < shape->dim[i])
				break;
			index[i] = 0;
		}
	}
}
