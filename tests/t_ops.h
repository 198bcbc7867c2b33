/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator tests share: tensors with known contents, runs, and comparisons. */
#ifndef PSG_TESTS_T_OPS_H
#define PSG_TESTS_T_OPS_H

#include "ops/ops.h"

#include <check.h>

/* A test of one kind of operator; test_ops.c runs them all and finds kinds without one. */
typedef struct t_case {
	psg_op_kind kind;
	void (*run)(psg_op_kind kind);
} t_case;

typedef struct t_cases {
	const char *name;
	const t_case *cases;
	size_t n;
} t_cases;

#define T_CASES(name)                                                                              \
	{                                                                                          \
#name, name##_cases, sizeof(name##_cases) / sizeof(name##_cases[0])                \
	}

extern const t_cases t_window, t_matrix, t_element, t_reduce, t_move;

/* PSG_SHAPE for static tables, where a compound literal is no constant. */
#define T_SHAPE(...)                                                                               \
	{                                                                                          \
		(int32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)),                   \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* Check reports every assertion that holds to its parent process; in loops over elements that
 * costs minutes, so these speak only when they fail. */
#define T_TRUE(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("not true: %s", #condition);                                  \
	} while (0)
#define T_EQUAL(got, want)                                                                         \
	do {                                                                                       \
		double t_got = (got), t_want = (want);                                             \
		if (!(t_got == t_want))                                                            \
			ck_abort_msg("%s is %.9g, %.9g is right", #got, t_got, t_want);            \
	} while (0)

/* Runs of `kind` in this process that went through t_run or t_refused. */
extern size_t t_runs[PSG_OP_KINDS];

/* Pseudo-random numbers in [-1, 1), the same in every run. */
psg_tensor *t_random(psg_shape shape);
/* 0, 1, 2, .. of either type. */
psg_tensor *t_iota(psg_dtype dtype, psg_shape shape);
psg_tensor *t_floats(psg_shape shape, const float *values);
psg_tensor *t_integers(psg_shape shape, const int64_t *values);
float *t_data(psg_tensor *tensor);

/* Element `flat` of either type. */
double t_get(const psg_tensor *tensor, int64_t flat);
/* The index of element `flat`, and back. */
void t_unflatten(const psg_shape *shape, int64_t flat, int64_t *index);
int64_t t_flatten(const psg_shape *shape, const int64_t *index);
/* The element that broadcasting puts at `index` of a result of `rank` dimensions. */
double t_broadcast(const psg_tensor *tensor, int32_t rank, const int64_t *index);

/* Runs the reference path and fails the test where it fails; consumes no references. */
void t_run(const psg_op *op, psg_tensor **out, size_t n_out);
psg_tensor *t_run1(const psg_op *op);
/* The same, and drops the operator's inputs. */
psg_tensor *t_run_free(psg_op *op);
void t_free(psg_op *op);

/* Shape and dtype as said? */
void t_expect_shape(const psg_tensor *tensor, psg_dtype dtype, psg_shape shape);
/* |got - want| <= tolerance * max(1, |want|); NaN equals NaN.  `what` and `at` are for the message.
 */
void t_expect_close(double got, double want, double tolerance, const char *what, int64_t at);
void t_expect_values(const psg_tensor *tensor, const double *want, double tolerance,
		     const char *what);

/* The operator is refused with `code`, and the message contains each of the texts. */
#define t_refused(op, code, ...)                                                                   \
	t_refused_saying(op, code, (const char *const[]){ __VA_ARGS__, NULL })
void t_refused_saying(const psg_op *op, psg_status code, const char *const *texts);

#endif
