/* SPDX-License-Identifier: Apache-2.0 */
/* The pairing heap: a job's `child` is the first of those behind it, `next` its sibling. */
#include "config.h"

#include "jobs/heap.h"

static psgi_extra *links(const psgi_job *job)
{
	return psgi_extra_of(job);
}

/* Relaxed: the ring that brought the jobs ordered this. */
static bool goes_first(const psgi_job *a, const psgi_job *b)
{
	int64_t da = atomic_load_explicit(&a->future.deadline_ns, memory_order_relaxed);
	int64_t db = atomic_load_explicit(&b->future.deadline_ns, memory_order_relaxed);

	if (da != db)
		return da < db;
	return atomic_load_explicit(&a->future.queued_ns, memory_order_relaxed) <=
	       atomic_load_explicit(&b->future.queued_ns, memory_order_relaxed);
}

/* Of two heaps, neither empty, neither with siblings.  `a` goes first where they are equal. */
static psgi_job *meld(psgi_job *a, psgi_job *b)
{
	psgi_job *first = goes_first(a, b) ? a : b;
	psgi_job *second = first == a ? b : a;

	links(second)->next = links(first)->child;
	links(first)->child = second;
	return first;
}

void psgi_heap_push(psgi_job **heap, psgi_job *job)
{
	links(job)->child = NULL;
	links(job)->next = NULL;
	*heap = *heap != NULL ? meld(*heap, job) : job;
}

/* Melds siblings two by two, which is what keeps later pops cheap; the last pair comes first. */
static psgi_job *pair(psgi_job *siblings)
{
	psgi_job *pairs = NULL;

	while (siblings != NULL) {
		psgi_job *a = siblings, *b = links(a)->next;

		siblings = b != NULL ? links(b)->next : NULL;
		links(a)->next = NULL;
		if (b != NULL) {
			links(b)->next = NULL;
			a = meld(a, b);
		}
		links(a)->next = pairs;
		pairs = a;
	}
	return pairs;
}

psgi_job *psgi_heap_pop(psgi_job **heap)
{
	psgi_job *first = *heap, *pairs = pair(links(first)->child), *rest = NULL;

	while (pairs != NULL) {
		psgi_job *next = links(pairs)->next;

		links(pairs)->next = NULL;
		rest = rest != NULL ? meld(pairs, rest) : pairs;
		pairs = next;
	}
	*heap = rest;
	return first;
}
