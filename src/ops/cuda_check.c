/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU's self-test: each case on the card and by the reference path, compared. */
#include "config.h"

#include "ops/cuda_check.h"

#include "base/base.h"
#include "base/memory.h"
#include "device/cuda.h"
#include "ops/cuda.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERANDS (PSGI_CHECK_INPUTS + PSGI_MAX_EPILOGUE)

/* The whole self-test. */
struct check {
	psg_device *device;
	psg_gpu_check *out;
	uint64_t random;
	uint64_t first[PSGI_GPU_KERNELS];  /* launches, when it began */
	uint64_t before[PSGI_GPU_KERNELS]; /* and when the case began */
	bool wrong[PSGI_GPU_KERNELS];
};

/* One case: its operands on the host, where the results are right, and on the card. */
struct subject {
	psg_op_params params;
	psgi_call call;
	psgi_view in[OPERANDS]; /* of the call, and the addends of its posts */
	size_t n_in;
	psgi_operand from[OPERANDS], to[PSG_MAX_OUTPUTS];
	int32_t widths[PSGI_CHECK_SAMPLES], out_widths[PSGI_CHECK_SAMPLES];
	int32_t out_axis; /* of out_widths; 0: every column counts */
	void *valid;
	void *got;
};

/* --- operands --- */

static uint64_t random_bits(struct check *check)
{
	/* Knuth's multiplier for a 64-bit linear congruential generator; its high bits are used. */
	check->random =
		check->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return check->random >> 40;
}

static float random_value(struct check *check, const psgi_check_case *c)
{
	float unit = (float)random_bits(check) / (float)(1 << 23) - 1; /* -1..1 */

	unit = (c->positive ? unit / 2 + 0.5F : unit) * (c->scale == 0 ? 1 : c->scale);
	return c->whole ? roundf(unit) : unit;
}

static int64_t random_integer(struct check *check, const psgi_check_case *c)
{
	bool any = c->least == 0 && c->most == 0;
	int64_t least = any ? -9 : c->least, most = any ? 9 : c->most;

	return least + (int64_t)random_bits(check) % (most - least + 1);
}

static psg_status no_memory(const psgi_view *view, psg_error *error)
{
	return psgi_fail(error, PSG_NOMEM, "no memory for %zu bytes of a self-test",
			 psgi_view_bytes(view));
}

static psg_status fill(struct check *check, const psgi_check_case *c, psgi_view *view,
		       psg_error *error)
{
	int64_t n = psg_shape_elements(&view->shape);
	void *data = psgi_memory_alloc(psgi_view_bytes(view) + 1);

	view->data = data;
	if (data == NULL)
		return no_memory(view, error);
	for (int64_t i = 0; i < n; i++) {
		if (view->dtype == PSG_I64)
			((int64_t *)data)[i] = random_integer(check, c);
		else
			((float *)data)[i] = random_value(check, c);
	}
	return PSG_OK;
}

/* Does element `i` of a tensor lie in a column that counts? */
static bool counts(const psg_shape *shape, int64_t i, int32_t axis, const int32_t *widths)
{
	int64_t inner = 1, sample = 1;

	if (axis <= 0)
		return true;
	for (int32_t d = 1; d < shape->rank; d++) {
		sample *= shape->dim[d];
		inner *= d > axis ? shape->dim[d] : 1;
	}
	return i / inner % shape->dim[axis] < widths[i / sample];
}

/* What does not count is NaN there, so that a kernel that reads it shows. */
static psg_status upload(struct check *check, const psgi_view *view, void **to, psg_error *error)
{
	size_t bytes = psgi_view_bytes(view), size = psg_dtype_size(view->dtype);
	int64_t n = psg_shape_elements(&view->shape);
	char *copy = psgi_memory_alloc(bytes + 1);
	psg_status status;

	if (copy == NULL)
		return no_memory(view, error);
	memcpy(copy, view->data, bytes);
	for (int64_t i = 0; view->valid != NULL && i < n; i++)
		if (!counts(&view->shape, i, view->valid_axis, view->valid))
			memset(copy + (size_t)i * size, 0xff, size); /* a NaN */
	status = psgi_gpu_alloc(check->device, bytes + 1, to, error);
	if (status == PSG_OK)
		status = psgi_gpu_copy_in(check->device, *to, copy, bytes, error);
	free(copy);
	return status;
}

/* The samples get half of the columns, half and one, and so on. */
static psg_status make_widths(struct check *check, struct subject *s, int32_t axis,
			      psg_error *error)
{
	psgi_view *x = &s->call.in[0];
	psg_status status;

	for (int64_t n = 0; n < x->shape.dim[0]; n++) {
		s->widths[n] = (int32_t)((x->shape.dim[axis] + 1) / 2 + n);
		if (s->widths[n] > x->shape.dim[axis])
			s->widths[n] = (int32_t)x->shape.dim[axis];
	}
	x->valid = s->widths;
	x->valid_axis = axis;
	status = psgi_gpu_alloc(check->device, sizeof(s->widths), &s->valid, error);
	return status == PSG_OK ? psgi_gpu_copy_in(check->device, s->valid, s->widths,
						   sizeof(s->widths), error)
				: status;
}

static psg_shape shape_of(const struct check *check, const psg_shape *of_case)
{
	int64_t processors = psgi_gpu_limits_get(check->device)->multiprocessors;
	psg_shape shape = *of_case;

	for (int32_t i = 0; i < shape.rank; i++)
		if (shape.dim[i] < 0)
			shape.dim[i] = -shape.dim[i] * processors + 1;
	return shape;
}

static psg_status add_input(struct check *check, const psgi_check_case *c, struct subject *s,
			    psgi_view *view, psg_error *error)
{
	psg_status status = fill(check, c, view, error);

	s->in[s->n_in] = *view;
	if (status == PSG_OK)
		status = upload(check, view, &s->from[s->n_in].data, error);
	s->n_in++;
	return status;
}

static psg_status make_inputs(struct check *check, const psgi_check_case *c, struct subject *s,
			      psg_error *error)
{
	psg_status status = PSG_OK;

	s->params = c->params;
	s->call = (psgi_call){ .kind = c->kind,
			       .params = &s->params,
			       .n_in = c->n_in,
			       .n_out = c->n_out == 0 ? 1 : c->n_out };
	for (size_t i = 0; i < c->n_in; i++) {
		s->call.in[i].shape = shape_of(check, &c->in[i]);
		s->call.in[i].dtype = c->dtype[i];
	}
	if (c->valid_axis > 0)
		status = make_widths(check, s, c->valid_axis, error);
	for (size_t i = 0; i < c->n_in && status == PSG_OK; i++)
		status = add_input(check, c, s, &s->call.in[i], error);
	s->from[0].valid = s->valid;
	return status == PSG_OK ? psgi_infer(&s->call, error) : status;
}

/* Room for the results; NaN on the card, so that what no kernel writes shows. */
static psg_status make_outputs(struct check *check, const psgi_check_case *c, struct subject *s,
			       psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < s->call.n_out && status == PSG_OK; i++) {
		psgi_view *out = &s->call.out[i];
		size_t bytes = psgi_view_bytes(out);

		out->data = psgi_memory_alloc(bytes + 1);
		if (out->data == NULL)
			return no_memory(out, error);
		status = psgi_gpu_alloc(check->device, bytes + 1, &s->to[i].data, error);
		if (status == PSG_OK)
			status = psgi_gpu_fill(check->device, s->to[i].data, 0xff, bytes, error);
	}
	for (size_t i = 0; i < c->n_post && status == PSG_OK; i++) {
		psgi_view addend = { .dtype = PSG_F32, .shape = s->call.out[0].shape };

		if (c->post[i].kind == PSG_OP_ADD)
			status = add_input(check, c, s, &addend, error);
	}
	return status;
}

static void drop(struct check *check, struct subject *s)
{
	for (size_t i = 0; i < s->n_in; i++) {
		free(s->in[i].data);
		psgi_device_free(check->device, s->from[i].data);
	}
	for (size_t i = 0; i < s->call.n_out; i++) {
		free(s->call.out[i].data);
		psgi_device_free(check->device, s->to[i].data);
	}
	psgi_device_free(check->device, s->valid);
	free(s->got);
}

/* --- what is right --- */

static psg_status apply_post(struct subject *s, const psgi_epilogue *post, size_t *next,
			     psg_error *error)
{
	psg_op_params params = { .unary = { .alpha = post->alpha, .beta = post->beta } };
	psgi_call call = { .kind = post->kind,
			   .params = &params,
			   .n_in = 1,
			   .n_out = 1,
			   .in = { s->call.out[0] },
			   .out = { s->call.out[0] } };

	if (post->kind == PSG_OP_ADD)
		call.in[call.n_in++] = s->in[(*next)++];
	return psgi_run_reference(&call, error);
}

static psg_status find_right(const psgi_check_case *c, struct subject *s, psg_error *error)
{
	const psgi_view *x = &s->call.in[0];
	size_t next = c->n_in;
	psgi_width_map map;
	psg_status status = psgi_run_reference(&s->call, error);

	for (size_t i = 0; i < c->n_post && status == PSG_OK; i++)
		status = apply_post(s, &c->post[i], &next, error);
	if (x->valid == NULL || !psgi_width_rule(&s->call, x->valid_axis, &map))
		return status;
	s->out_axis = map.axis;
	for (int64_t n = 0; map.axis > 0 && n < x->shape.dim[0]; n++)
		s->out_widths[n] =
			psgi_width_apply(&map, s->widths[n], s->call.out[0].shape.dim[map.axis]);
	return status;
}

/* --- comparing --- */

/* Says what is wrong, if it is the first; and remembers which kernels had a part in it. */
static void accuse(struct check *check, const struct subject *s, const char *what)
{
	char shape[PSGI_SHAPE_TEXT];
	psg_gpu_check *out = check->out;

	for (size_t k = 0; k < PSGI_GPU_KERNELS; k++)
		check->wrong[k] =
			check->wrong[k] ||
			psgi_gpu_launches(check->device, (psgi_gpu_kernel)k) > check->before[k];
	if (out->wrong++ == 0)
		(void)snprintf(out->message, sizeof(out->message), "%s of %s: %s",
			       psgi_rule_of(s->call.kind)->name,
			       psgi_shape_text(&s->call.in[0].shape, shape), what);
}

static double largest(const struct subject *s, const psgi_view *right)
{
	const float *data = right->data;
	double most = 0;

	for (int64_t i = 0; i < psg_shape_elements(&right->shape); i++)
		if (counts(&right->shape, i, s->out_axis, s->out_widths) && isfinite(data[i]))
			most = fmax(most, fabs((double)data[i]));
	return most;
}

/*
 * The bounds are those that the kernels' own tests hold, of float sums of a few thousand products;
 * what is near 0 among large results has their absolute error.
 */
static bool are_floats_right(const psgi_check_case *c, const struct subject *s,
			     const psgi_view *right, char *text, size_t size)
{
	const float *data = right->data, *got = s->got;
	double most = largest(s, right);
	int64_t n = psg_shape_elements(&right->shape);

	for (int64_t i = 0; i < n; i++) {
		double want = data[i], is = got[i];
		double bound = c->sums ? 1e-4 * most : 1e-4 * fabs(want) + 1e-6 * most;

		if (c->kind == PSG_OP_POW) /* the largest is that by far */
			bound = 1e-5 * fabs(want) + (double)FLT_MIN;
		if (!counts(&right->shape, i, s->out_axis, s->out_widths) ||
		    (isnan(want) && isnan(is)) || want == is ||
		    (isfinite(want) && fabs(want - is) <= bound))
			continue;
		(void)snprintf(text, size,
			       "element %" PRId64 " of %" PRId64 " is %.9g, %.9g is right", i, n,
			       is, want);
		return false;
	}
	return true;
}

static bool are_integers_right(const struct subject *s, const psgi_view *right, char *text,
			       size_t size)
{
	const int64_t *data = right->data, *got = s->got;
	int64_t n = psg_shape_elements(&right->shape);

	for (int64_t i = 0; i < n; i++) {
		if (!counts(&right->shape, i, s->out_axis, s->out_widths) || data[i] == got[i])
			continue;
		(void)snprintf(text, size,
			       "element %" PRId64 " of %" PRId64 " is %" PRId64 ", %" PRId64
			       " is right",
			       i, n, got[i], data[i]);
		return false;
	}
	return true;
}

static psg_status compare(struct check *check, const psgi_check_case *c, struct subject *s,
			  psg_error *error)
{
	bool right = true;
	char text[160];

	for (size_t i = 0; i < s->call.n_out && right; i++) {
		size_t bytes = psgi_view_bytes(&s->call.out[i]);
		psg_status status;

		free(s->got);
		s->got = psgi_memory_alloc(bytes + 1);
		if (s->got == NULL)
			return no_memory(&s->call.out[i], error);
		status = psgi_gpu_copy_out(check->device, s->got, s->to[i].data, bytes, error);
		if (status != PSG_OK)
			return status;
		right = s->call.out[i].dtype == PSG_I64
				? are_integers_right(s, &s->call.out[i], text, sizeof(text))
				: are_floats_right(c, s, &s->call.out[i], text, sizeof(text));
	}
	if (!right)
		accuse(check, s, text);
	return PSG_OK;
}

/* --- one case --- */

static void count_launches(const psg_device *device, uint64_t *launches)
{
	for (size_t k = 0; k < PSGI_GPU_KERNELS; k++)
		launches[k] = psgi_gpu_launches(device, (psgi_gpu_kernel)k);
}

static void begin(struct check *check)
{
	count_launches(check->device, check->before);
	check->out->cases++;
}

/* A case has no bad operands: a kernel that finds one computes wrongly. */
static psg_status run_and_compare(struct check *check, const psgi_check_case *c, struct subject *s,
				  psgi_kernel *kernel, psg_error *error)
{
	psg_error found = PSG_ERROR_INIT;
	psg_status status = kernel->run(kernel, s->from, s->to, NULL, &found);

	if (status == PSG_OK)
		return compare(check, c, s, error);
	if (status == PSG_INVALID) {
		accuse(check, s, found.message);
		return PSG_OK;
	}
	if (error != NULL)
		*error = found;
	return status;
}

static psg_status run_case(struct check *check, const psgi_check_case *c, struct subject *s,
			   psg_error *error)
{
	psgi_kernel *kernel = NULL;
	bool done = false;
	psgi_call call;
	psg_status status = make_inputs(check, c, s, error);

	if (status == PSG_OK)
		status = make_outputs(check, c, s, error);
	if (status == PSG_OK)
		status = find_right(c, s, error);
	call = s->call; /* of unknown values, so that the kernel looks at them */
	for (size_t i = 0; i < call.n_in; i++)
		call.in[i].data = NULL;
	if (status == PSG_OK)
		status = psgi_cuda_kernel(check->device, &call, c->post, c->n_post, &kernel, &done,
					  error);
	if (status == PSG_OK && !done)
		accuse(check, s, "there is no kernel for it");
	if (status == PSG_OK && done)
		status = run_and_compare(check, c, s, kernel, error);
	psgi_kernel_destroy(kernel);
	return status;
}

static psg_status check_case(struct check *check, const psgi_check_case *c, psg_error *error)
{
	struct subject s;
	psg_status status;

	memset(&s, 0, sizeof(s));
	begin(check);
	status = run_case(check, c, &s, error);
	drop(check, &s);
	if (status != PSG_OK)
		psgi_error_prefix(status == PSG_OOM ? NULL : error, "self-test of '%s'",
				  psgi_rule_of(c->kind)->name);
	return status;
}

/* --- the mix, which is no operator of the table --- */

static psg_status run_mix(struct check *check, struct subject *s, psg_error *error)
{
	const psg_shape *shape = &s->call.out[0].shape;
	const psgi_mix_spec spec = { .out = *shape,
				     .channels = shape->dim[1],
				     .up_a = 1,
				     .up_b = 2,
				     .has_gate = true,
				     .has_b = true,
				     .base = 1 };
	psgi_kernel *kernel = NULL;
	psg_status status = psgi_cuda_mix(check->device, &spec, &kernel, error);

	if (status == PSG_OK)
		status = kernel->run(kernel, s->from, s->to, NULL, error);
	psgi_kernel_destroy(kernel);
	return status;
}

/* y = a * (1 + gate) + b, b enlarged twice. */
static void find_mixed(struct subject *s)
{
	const int64_t *dim = s->call.out[0].shape.dim;
	const float *a = s->in[0].data, *gate = s->in[1].data, *b = s->in[2].data;
	float *y = s->call.out[0].data;

	for (int64_t i = 0; i < psg_shape_elements(&s->call.out[0].shape); i++) {
		int64_t column = i % dim[3], row = i / dim[3] % dim[2], plane = i / dim[3] / dim[2];

		y[i] = a[i] * (1 + gate[plane]) +
		       b[(plane * (dim[2] / 2) + row / 2) * (dim[3] / 2) + column / 2];
	}
}

static psg_status check_mix(struct check *check, psg_error *error)
{
	static const psgi_check_case mix = {
		.kind = PSG_OP_ADD,
		.n_in = 3,
		.in = { { 4, { 2, 5, 6, 14 } }, { 4, { 2, 5, 1, 1 } }, { 4, { 2, 5, 3, 7 } } }
	};
	struct subject s;
	psg_status status = PSG_OK;

	memset(&s, 0, sizeof(s));
	s.call = (psgi_call){ .kind = mix.kind, .n_in = mix.n_in, .n_out = 1 };
	s.call.out[0].shape = mix.in[0];
	begin(check);
	for (size_t i = 0; i < mix.n_in && status == PSG_OK; i++) {
		s.call.in[i].shape = mix.in[i];
		status = add_input(check, &mix, &s, &s.call.in[i], error);
	}
	if (status == PSG_OK)
		status = make_outputs(check, &mix, &s, error);
	if (status == PSG_OK)
		status = run_mix(check, &s, error);
	if (status == PSG_OK) {
		find_mixed(&s);
		status = compare(check, &mix, &s, error);
	}
	drop(check, &s);
	if (status != PSG_OK)
		psgi_error_prefix(status == PSG_OOM ? NULL : error, "self-test of 'mix'");
	return status;
}

/* --- the whole --- */

static void add_name(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	(void)snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

static void name_kernels(struct check *check)
{
	psg_gpu_check *out = check->out;

	out->kernels = PSGI_GPU_KERNELS;
	for (size_t k = 0; k < PSGI_GPU_KERNELS; k++) {
		psgi_gpu_kernel kernel = (psgi_gpu_kernel)k;

		out->launched += psgi_gpu_launches(check->device, kernel) > check->first[k];
		if (check->wrong[k])
			add_name(out->wrong_kernels, sizeof(out->wrong_kernels),
				 psgi_gpu_kernel_name(kernel));
	}
}

static int64_t loading_ns(const psg_device *device)
{
	psgi_gpu_stats stats;

	psgi_gpu_stats_get(device, &stats);
	return stats.load_ns;
}

psg_status psg_gpu_check_run(psg_device *device, psg_gpu_check *out, psg_error *error)
{
	struct check check = { .device = device, .out = out, .random = 1 };
	psg_status status = PSG_OK;
	int64_t begin_ns;

	memset(out, 0, sizeof(*out));
	if (device->info.kind != PSG_DEVICE_CUDA)
		return psgi_fail(error, PSG_INVALID, "%s is not a GPU", device->info.name);
	count_launches(device, check.first);
	begin_ns = psg_now_ns() - loading_ns(device);
	for (size_t i = 0; i < psgi_check_n && status == PSG_OK; i++)
		status = check_case(&check, &psgi_check_cases[i], error);
	if (status == PSG_OK)
		status = check_mix(&check, error);
	name_kernels(&check);
	out->ns = psg_now_ns() - begin_ns - loading_ns(device);
	return status;
}
