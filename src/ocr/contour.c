/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connected components in one pass: rows are cut into runs, and a run joins those of the row above
 * that it touches (union-find over runs, not cells, so a page costs its outline and not its area).
 */
#include "config.h"

#include "ocr/contour.h"

#include <stdlib.h>
#include <string.h>

typedef struct labelling {
	psgi_run *runs; /* id: a run of the same set, nearer its root; a root's is itself */
	size_t n, room;
} labelling;

static int32_t root(labelling *l, int32_t i)
{
	while (l->runs[i].id != i) {
		l->runs[i].id = l->runs[l->runs[i].id].id;
		i = l->runs[i].id;
	}
	return i;
}

/* The lower index stays the root, so that components keep the order in which they are met. */
static void join(labelling *l, size_t a, size_t b)
{
	int32_t x = root(l, (int32_t)a), y = root(l, (int32_t)b);

	if (x < y)
		l->runs[y].id = x;
	else
		l->runs[x].id = y;
}

static bool add_run(labelling *l, int32_t y, int32_t first, int32_t last)
{
	if (l->n == l->room) {
		size_t room = l->room == 0 ? 4096 : l->room * 2;
		psgi_run *grown;

		if (room > INT32_MAX)
			return false;
		grown = realloc(l->runs, room * sizeof(*grown));
		if (grown == NULL)
			return false;
		l->runs = grown;
		l->room = room;
	}
	l->runs[l->n] = (psgi_run){ y, first, last, (int32_t)l->n };
	l->n++;
	return true;
}

/* Cuts one row into runs of cells whose being above the threshold is not `holes`. */
static bool cut_row(labelling *l, const float *row, int32_t y, int32_t width, float threshold,
		    bool holes)
{
	int32_t x = 0;

	while (x < width) {
		int32_t first;

		while (x < width && (row[x] > threshold) == holes)
			x++;
		first = x;
		while (x < width && (row[x] > threshold) != holes)
			x++;
		if (x > first && !add_run(l, y, first, x - 1))
			return false;
	}
	return true;
}

/* Joins the runs of two neighbouring rows, above..here-1 and here..n-1, that touch. */
static void join_rows(labelling *l, size_t above, size_t here, int32_t reach)
{
	size_t a = above, b = here;

	while (a < here && b < l->n) {
		if (l->runs[a].last + reach < l->runs[b].first) {
			a++;
		} else if (l->runs[b].last + reach < l->runs[a].first) {
			b++;
		} else {
			join(l, a, b);
			if (l->runs[a].last < l->runs[b].last)
				a++;
			else
				b++;
		}
	}
}

static bool label(labelling *l, const float *map, int32_t height, int32_t width, float threshold,
		  bool holes)
{
	size_t above = 0, here = 0;

	for (int32_t y = 0; y < height; y++) {
		if (!cut_row(l, map + (size_t)y * (size_t)width, y, width, threshold, holes))
			return false;
		join_rows(l, above, here, holes ? 0 : 1);
		above = here;
		here = l->n;
	}
	return true;
}

typedef struct component {
	int32_t root;
	bool dropped;
	size_t runs;
	int64_t cells;
} component;

static int larger_first(const void *a, const void *b)
{
	const component *x = a, *y = b;

	if (x->cells != y->cells)
		return x->cells > y->cells ? -1 : 1;
	return x->root < y->root ? -1 : x->root > y->root;
}

static int met_first(const void *a, const void *b)
{
	const component *x = a, *y = b;

	return x->root < y->root ? -1 : x->root > y->root;
}

/* Replaces each run's id by its component's number and sums the components up. */
static size_t sum_up(labelling *l, component *components, int32_t height, int32_t width, bool holes)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		psgi_run *run = &l->runs[i];
		component *c;

		/* Roots come first, so a run's root has its number already. */
		if (run->id == (int32_t)i) {
			components[n] = (component){ .root = (int32_t)i };
			run->id = (int32_t)n++;
		} else {
			run->id = l->runs[run->id].id;
		}
		c = &components[run->id];
		c->runs++;
		c->cells += run->last - run->first + 1;
		c->dropped |= holes && (run->y == 0 || run->y == height - 1 || run->first == 0 ||
					run->last == width - 1);
	}
	return n;
}

/* Leaves the components to keep, in the order in which they were met; returns how many. */
static size_t choose(component *components, size_t n, size_t limit)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!components[i].dropped)
			components[kept++] = components[i];
	if (kept > limit) {
		qsort(components, kept, sizeof(*components), larger_first);
		kept = limit;
		qsort(components, kept, sizeof(*components), met_first);
	}
	return kept;
}

/* Sorts the runs of the chosen components into `out`, which has its arrays. */
static void gather(const labelling *l, const component *chosen, size_t n, size_t all,
		   int32_t *number, psgi_components *out)
{
	size_t at = 0;

	for (size_t c = 0; c < all; c++)
		number[c] = -1;
	for (size_t c = 0; c < n; c++) {
		number[l->runs[chosen[c].root].id] = (int32_t)c;
		out->start[c] = at;
		at += chosen[c].runs;
	}
	out->start[n] = at;
	for (size_t i = 0; i < l->n; i++) {
		int32_t c = number[l->runs[i].id];

		if (c < 0)
			continue;
		/* start[c] walks to the component's end ... */
		out->runs[out->start[c]] = l->runs[i];
		out->runs[out->start[c]++].id = c;
	}
	/* ... and is put back: each now holds the next one's start. */
	for (size_t c = n; c-- > 0;)
		out->start[c] -= chosen[c].runs;
	out->n = n;
}

psg_status psgi_components_find(const float *map, int32_t height, int32_t width, float threshold,
				bool holes, size_t limit, psgi_components *out, psg_error *error)
{
	labelling l = { 0 };
	component *components = NULL;
	int32_t *number = NULL;
	size_t all, n;
	psg_status status = PSG_NOMEM;

	*out = (psgi_components){ 0 };
	if (!label(&l, map, height, width, threshold, holes))
		goto end;
	/* Paths are made one step long, root before member. */
	for (size_t i = 0; i < l.n; i++)
		l.runs[i].id = root(&l, (int32_t)i);
	components = malloc((l.n + 1) * sizeof(*components));
	number = malloc((l.n + 1) * sizeof(*number));
	if (components == NULL || number == NULL)
		goto end;
	all = sum_up(&l, components, height, width, holes);
	n = choose(components, all, limit);
	out->runs = malloc((l.n + 1) * sizeof(*out->runs));
	out->start = malloc((n + 1) * sizeof(*out->start));
	if (out->runs == NULL || out->start == NULL) {
		psgi_components_free(out);
		goto end;
	}
	gather(&l, components, n, all, number, out);
	status = PSG_OK;
end:
	free(l.runs);
	free(components);
	free(number);
	return status == PSG_OK ? status
				: psgi_fail(error, status, "boxes: no memory for a %dx%d map",
					    width, height);
}

void psgi_components_free(psgi_components *components)
{
	free(components->runs);
	free(components->start);
	*components = (psgi_components){ 0 };
}
