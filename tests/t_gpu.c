/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on the GPU device and by the reference path, compared. */
#include "config.h"

#include "t_gpu.h"

#include "device/cuda.h"
#include "fakecuda_util.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operand: on the host as the reference has it, and on the device. */
typedef struct operand {
	psg_dtype dtype;
	psg_shape shape;
	size_t bytes;
	void *host;
	void *device;
} operand;

typedef struct bench {
	psgi_call call;
	psg_op_params params;
	operand in[PSG_MAX_INPUTS + PSGI_MAX_EPILOGUE], out[PSG_MAX_OUTPUTS];
	size_t n_in; /* with the addends of the posts */
	int32_t *valid;
	int32_t out_axis;
	int32_t out_valid[T_MOST_SAMPLES];
} bench;

static void good(psg_status status, const psg_error *error, const char *what)
{
	if (status != PSG_OK)
		ck_abort_msg("%s: %s", what, error->message);
}

static psg_device *device;

psg_device *t_gpu(void)
{
	psg_error error = PSG_ERROR_INIT;

	if (device == NULL) {
		t_gpu_begin();
		good(psg_device_open("cuda", &device, &error), &error, "cuda");
	}
	return device;
}

void t_gpu_close(void)
{
	if (device == NULL)
		return;
	psg_device_close(device);
	device = NULL;
	t_gpu_expect_nothing_left();
}

static uint64_t random_bits(void)
{
	static uint64_t state = 1;

	/* Knuth's multiplier for a 64-bit linear congruential generator. */
	return state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/* The high bits are the random ones. */
static float random_value(void)
{
	return (float)((double)(random_bits() >> 40) / (double)(1 << 23) - 1);
}

static int64_t random_integer(int64_t most)
{
	uint64_t bits = random_bits() >> 32;

	if (most == 0)
		return (int64_t)(bits << 32 | random_bits() >> 32);
	return (int64_t)(bits % (2 * (uint64_t)most)) - most;
}

static void *device_copy(const void *from, size_t bytes)
{
	psg_error error = PSG_ERROR_INIT;
	void *memory = NULL;

	good(psgi_gpu_alloc(t_gpu(), bytes + 1, &memory, &error), &error, "alloc");
	good(psgi_gpu_copy_in(t_gpu(), memory, from, bytes, &error), &error, "copy");
	return memory;
}

static void fill_floats(float *to, int64_t n, float scale, bool specials)
{
	static const float special[] = { NAN, INFINITY, -INFINITY, 0.0F, -0.0F };

	for (int64_t i = 0; i < n; i++)
		to[i] = random_value() * (scale == 0 ? 1 : scale);
	for (int64_t i = 3; specials && i < n; i += 11)
		to[i] = special[i / 11 % 5];
}

static void fill_integers(int64_t *to, int64_t n, int64_t most, bool specials, bool no_zeros)
{
	static const int64_t special[] = { INT64_MIN, 0, -1, INT64_MAX, 1, INT32_MIN };

	for (int64_t i = 0; i < n; i++)
		to[i] = random_integer(most);
	for (int64_t i = 0; specials && i < n; i += 3)
		to[i] = special[i / 3 % 6];
	for (int64_t i = 0; no_zeros && i < n; i++)
		to[i] = to[i] == 0 ? -1 : to[i];
}

static operand room(const psg_shape *shape, psg_dtype dtype)
{
	operand o = { .dtype = dtype,
		      .shape = *shape,
		      .bytes = (size_t)psg_shape_elements(shape) * psg_dtype_size(dtype) };

	o.host = malloc(o.bytes + 1);
	ck_assert_ptr_nonnull(o.host);
	return o;
}

static operand make(const psg_shape *shape, float scale, bool specials)
{
	operand o = room(shape, PSG_F32);

	fill_floats(o.host, psg_shape_elements(shape), scale, specials);
	return o;
}

static operand make_input(const t_gpu_case *c, size_t i)
{
	operand o;

	if (c->dtype[i] == PSG_F32)
		return make(&c->in[i], c->scale, c->specials && i == 0);
	o = room(&c->in[i], PSG_I64);
	fill_integers(o.host, psg_shape_elements(&o.shape), c->most[i], c->specials && i == 0,
		      c->no_zeros);
	return o;
}

/* What the kernel gets: NaN past the valid widths, where the reference has numbers. */
static void upload(operand *o, int32_t axis, const int32_t *valid)
{
	char *copy = malloc(o->bytes + 1);
	size_t size = psg_dtype_size(o->dtype);
	int64_t inner = 1, sample = 1;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, o->host, o->bytes);
	if (axis > 0 && valid != NULL) {
		for (int32_t i = 1; i < o->shape.rank; i++)
			sample *= o->shape.dim[i];
		for (int32_t i = axis + 1; i < o->shape.rank; i++)
			inner *= o->shape.dim[i];
		for (int64_t i = 0; i < psg_shape_elements(&o->shape); i++)
			if (i / inner % o->shape.dim[axis] >= valid[i / sample])
				memset(copy + (size_t)i * size, 0xff, size); /* a NaN, or -1 */
	}
	o->device = device_copy(copy, o->bytes);
	free(copy);
}

static void set_up(bench *b, const t_gpu_case *c, const char *what)
{
	psg_error error = PSG_ERROR_INIT;

	memset(b, 0, sizeof(*b));
	b->params = c->params;
	b->call = (psgi_call){ .kind = c->kind,
			       .params = &b->params,
			       .n_in = c->n_in,
			       .n_out = c->n_out == 0 ? 1 : c->n_out };
	for (size_t i = 0; i < c->n_in; i++) {
		b->call.in[i].shape = c->in[i];
		b->call.in[i].dtype = c->dtype[i];
		if (c->in[i].rank < 0)
			continue;
		b->in[i] = make_input(c, i);
		b->call.in[i].data = b->in[i].host;
		upload(&b->in[i], i == 0 ? c->valid_axis : 0, c->valid);
	}
	if (c->valid_axis > 0) {
		b->call.in[0].valid = c->valid;
		b->call.in[0].valid_axis = c->valid_axis;
		b->valid = device_copy(c->valid, sizeof(c->valid));
	}
	good(psgi_infer(&b->call, &error), &error, what);
	b->n_in = c->n_in;
	for (size_t i = 0; i < b->call.n_out; i++)
		b->out[i] = room(&b->call.out[i].shape, b->call.out[i].dtype);
	for (size_t i = 0; i < c->n_post; i++) {
		if (c->post[i].kind != PSG_OP_ADD)
			continue;
		b->in[b->n_in] = make(&b->call.out[0].shape, c->scale, false);
		upload(&b->in[b->n_in++], 0, NULL);
	}
}

/* Which columns of the result there are. */
static void follow_widths(bench *b, const t_gpu_case *c, const char *what)
{
	psgi_width_map map;

	if (c->valid_axis <= 0)
		return;
	if (!psgi_width_rule(&b->call, c->valid_axis, &map))
		ck_abort_msg("%s: widths cannot be followed", what);
	b->out_axis = map.axis;
	for (int64_t n = 0; map.axis > 0 && n < c->in[0].dim[0]; n++)
		b->out_valid[n] =
			psgi_width_apply(&map, c->valid[n], b->call.out[0].shape.dim[map.axis]);
}

static psg_status run_bare(bench *b, psg_error *error)
{
	for (size_t i = 0; i < b->call.n_out; i++)
		b->call.out[i].data = b->out[i].host;
	return psgi_run_reference(&b->call, error);
}

static void run_reference(bench *b, const t_gpu_case *c, const char *what)
{
	psg_error error = PSG_ERROR_INIT;
	size_t next = c->n_in;

	good(run_bare(b, &error), &error, what);
	for (size_t i = 0; i < c->n_post; i++) {
		psg_op_params params = { .unary = { .alpha = c->post[i].alpha,
						    .beta = c->post[i].beta } };
		psgi_call post = { .kind = c->post[i].kind,
				   .params = &params,
				   .n_in = 1,
				   .n_out = 1,
				   .in = { b->call.out[0] },
				   .out = { b->call.out[0] } };

		if (post.kind == PSG_OP_ADD) {
			post.in[post.n_in] = b->call.out[0];
			post.in[post.n_in++].data = b->in[next++].host;
		}
		good(psgi_run_reference(&post, &error), &error, what);
	}
}

/* The kernel, and what it gives where `results` is not NULL. */
static psg_status run_kernel(bench *b, psgi_kernel *kernel, void **results, const char *what,
			     psg_error *failure)
{
	psgi_operand in[PSG_MAX_INPUTS + PSGI_MAX_EPILOGUE], out[PSG_MAX_OUTPUTS];
	psg_error error = PSG_ERROR_INIT;

	for (size_t i = 0; i < b->n_in; i++)
		in[i] = (psgi_operand){ b->in[i].device, i == 0 ? b->valid : NULL };
	for (size_t i = 0; i < b->call.n_out; i++) {
		/* NaN everywhere, so that what was not written shows. */
		psgi_device_free(t_gpu(), b->out[i].device); /* of the last run */
		b->out[i].device = NULL;
		good(psgi_gpu_alloc(t_gpu(), b->out[i].bytes + 1, &b->out[i].device, &error),
		     &error, what);
		good(psgi_gpu_fill(t_gpu(), b->out[i].device, 0xff, b->out[i].bytes, &error),
		     &error, what);
		out[i] = (psgi_operand){ b->out[i].device, NULL };
	}
	if (results == NULL)
		return kernel->run(kernel, in, out, NULL, failure);
	good(kernel->run(kernel, in, out, NULL, &error), &error, what);
	for (size_t i = 0; i < b->call.n_out; i++) {
		results[i] = malloc(b->out[i].bytes + 1);
		ck_assert_ptr_nonnull(results[i]);
		good(psgi_gpu_copy_out(t_gpu(), results[i], b->out[i].device, b->out[i].bytes,
				       &error),
		     &error, what);
	}
	return PSG_OK;
}

static bool counts(const bench *b, const psg_shape *shape, int64_t i)
{
	int64_t inner = 1, sample = 1;

	if (b->out_axis <= 0)
		return true;
	for (int32_t d = 1; d < shape->rank; d++)
		sample *= shape->dim[d];
	for (int32_t d = b->out_axis + 1; d < shape->rank; d++)
		inner *= shape->dim[d];
	return i / inner % shape->dim[b->out_axis] < b->out_valid[i / sample];
}

/* Relative to the element; sums that cancel have errors relative to what they are made of. */
static void compare_floats(const bench *b, const operand *o, const float *got, bool of_sums,
			   const char *what)
{
	const float *right = o->host;
	int64_t n = psg_shape_elements(&o->shape);
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		if (counts(b, &o->shape, i) && isfinite(right[i]))
			most = fmax(most, fabs((double)right[i]));
	for (int64_t i = 0; i < n; i++) {
		double want = right[i], is = got[i];
		double bound = of_sums ? 1e-4 * most : 1e-4 * fabs(want) + 1e-6 * most;

		if (b->call.kind == PSG_OP_POW) /* the largest is that by far */
			bound = 1e-5 * fabs(want) + (double)FLT_MIN;
		if (!counts(b, &o->shape, i) || (isnan(want) && isnan(is)) || want == is ||
		    (isfinite(want) && fabs(want - is) <= bound))
			continue;
		ck_abort_msg("%s: element %" PRId64 " of %" PRId64 " is %.9g, %.9g is right", what,
			     i, n, is, want);
	}
}

static void compare_integers(const bench *b, const operand *o, const int64_t *got, const char *what)
{
	const int64_t *right = o->host;
	int64_t n = psg_shape_elements(&o->shape);

	for (int64_t i = 0; i < n; i++)
		if (counts(b, &o->shape, i) && got[i] != right[i])
			ck_abort_msg("%s: element %" PRId64 " of %" PRId64 " is %" PRId64
				     ", %" PRId64 " is right",
				     what, i, n, got[i], right[i]);
}

static void tear_down(bench *b)
{
	for (size_t i = 0; i < b->n_in; i++) {
		free(b->in[i].host);
		psgi_device_free(t_gpu(), b->in[i].device);
	}
	for (size_t i = 0; i < b->call.n_out; i++) {
		free(b->out[i].host);
		psgi_device_free(t_gpu(), b->out[i].device);
	}
	psgi_device_free(t_gpu(), b->valid);
}

static psgi_kernel *make_kernel(bench *b, const t_gpu_case *c, const char *what)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_kernel *kernel = NULL;
	bool done;

	for (size_t i = 0; i < b->call.n_in && !c->known; i++)
		b->call.in[i].data = NULL;
	good(psgi_cuda_kernel(t_gpu(), &b->call, c->post, c->n_post, &kernel, &done, &error),
	     &error, what);
	if (!done)
		ck_abort_msg("%s: there is no kernel", what);
	return kernel;
}

static void run_and_compare(bench *b, psgi_kernel *kernel, bool of_sums, const char *what)
{
	psg_error error = PSG_ERROR_INIT;
	void *results[PSG_MAX_OUTPUTS];

	(void)run_kernel(b, kernel, results, what, &error);
	for (size_t i = 0; i < b->call.n_out; i++) {
		if (b->out[i].dtype == PSG_F32)
			compare_floats(b, &b->out[i], results[i], of_sums, what);
		else
			compare_integers(b, &b->out[i], results[i], what);
		free(results[i]);
	}
}

void t_gpu_check(const t_gpu_case *c, const char *what)
{
	psgi_kernel *kernel;
	bench b;

	set_up(&b, c, what);
	follow_widths(&b, c, what);
	run_reference(&b, c, what);
	kernel = make_kernel(&b, c, what);
	run_and_compare(&b, kernel, c->of_sums, what);
	psgi_kernel_destroy(kernel);
	tear_down(&b);
}

/* Is what the message ends with (an element's number, or an index) one that has no result? */
static bool is_bad(const bench *b, const t_gpu_case *c, int64_t told)
{
	const int64_t *x = b->in[0].host, *y = b->in[1].host;
	int64_t n = psg_shape_elements(&b->in[1].shape), dim = c->in[0].dim[0];
	bool found = false;

	if (c->kind != PSG_OP_GATHER)
		return told >= 0 && told < n &&
		       (c->kind == PSG_OP_POW ? x[told] == 0 && y[told] < 0 : y[told] == 0);
	for (int64_t i = 0; i < n; i++)
		found = found || y[i] == told;
	return found && (told < -dim || told >= dim);
}

static void fail_once(bench *b, const t_gpu_case *c, psgi_kernel *kernel, const char *message)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_msg(run_kernel(b, kernel, NULL, message, &error) == PSG_INVALID,
		      "%s: no error of the kernel", message);
	ck_assert_msg(strstr(error.message, message) == error.message, "'%s' is not '%s'",
		      error.message, message);
	ck_assert_msg(is_bad(b, c, strtoll(error.message + strlen(message), NULL, 10)),
		      "'%s': that one is good", error.message);
}

/* Operand 1 becomes all ones, by which everything has a result. */
static void do_well(bench *b, const t_gpu_case *c, psgi_kernel *kernel, const char *what)
{
	psg_error error = PSG_ERROR_INIT;
	int64_t n = psg_shape_elements(&b->in[1].shape), *y = b->in[1].host;
	int64_t *bad = malloc(b->in[1].bytes + 1);

	ck_assert_ptr_nonnull(bad);
	memcpy(bad, y, b->in[1].bytes);
	for (int64_t i = 0; i < n; i++)
		y[i] = 1;
	good(psgi_gpu_copy_in(t_gpu(), b->in[1].device, y, b->in[1].bytes, &error), &error, what);
	for (size_t i = 0; i < b->call.n_in; i++)
		b->call.in[i].data = b->in[i].host;
	good(run_bare(b, &error), &error, what);
	run_and_compare(b, kernel, c->of_sums, what);
	memcpy(y, bad, b->in[1].bytes);
	good(psgi_gpu_copy_in(t_gpu(), b->in[1].device, y, b->in[1].bytes, &error), &error, what);
	free(bad);
}

void t_gpu_fails(const t_gpu_case *c, const char *message)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_kernel *kernel;
	bench b;

	set_up(&b, c, message);
	ck_assert_msg(run_bare(&b, &error) == PSG_INVALID, "%s: no error of the reference",
		      message);
	kernel = make_kernel(&b, c, message);
	fail_once(&b, c, kernel, message);
	do_well(&b, c, kernel, message);
	fail_once(&b, c, kernel, message);
	psgi_kernel_destroy(kernel);
	tear_down(&b);
}

void t_gpu_refuses(const t_gpu_case *c, const char *what)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_kernel *kernel = NULL;
	bool done;
	bench b;

	set_up(&b, c, what);
	good(psgi_cuda_kernel(t_gpu(), &b.call, c->post, c->n_post, &kernel, &done, &error), &error,
	     what);
	if (done)
		ck_abort_msg("%s: there is a kernel", what);
	tear_down(&b);
}

static void check_mixed(const psgi_mix_spec *m, const operand *in, const float *got)
{
	const int64_t *dim = m->out.dim;
	const float *a = in[0].host, *gate = in[1].host, *addend = in[2].host;
	int64_t H = dim[2], W = dim[3];

	for (int64_t i = 0; i < dim[0] * m->channels * H * W; i++) {
		int64_t x = i % W, y = i / W % H, plane = i / W / H, c = plane % m->channels;
		int64_t to = ((plane / m->channels * dim[1] + m->offset + c) * H + y) * W + x;
		double v = a[(plane * (H / m->up_a) + y / m->up_a) * (W / m->up_a) + x / m->up_a];

		v *= (double)m->base + (m->has_gate ? (double)gate[plane] : 0);
		if (m->has_b)
			v += (double)addend[(plane * (H / m->up_b) + y / m->up_b) * (W / m->up_b) +
					    x / m->up_b];
		if (!(fabs((double)got[to] - v) <= 1e-6))
			ck_abort_msg("mix: element %" PRId64 " is %.9g, %.9g is right", to,
				     (double)got[to], v);
	}
}

void t_gpu_mix(const psgi_mix_spec *m)
{
	const int64_t *dim = m->out.dim;
	psg_error error = PSG_ERROR_INIT;
	operand in[3] = {
		make(&T_S(dim[0], m->channels, dim[2] / m->up_a, dim[3] / m->up_a), 1, false),
		make(&T_S(dim[0], m->channels, 1, 1), 1, false),
		make(&T_S(dim[0], m->channels, dim[2] / m->up_b, dim[3] / m->up_b), 1, false),
	};
	operand out = make(&m->out, 1, false);
	psgi_operand from[3], to;
	psgi_kernel *kernel = NULL;

	for (size_t i = 0; i < 3; i++) {
		upload(&in[i], 0, NULL);
		from[i] = (psgi_operand){ in[i].device, NULL };
	}
	upload(&out, 0, NULL);
	to = (psgi_operand){ out.device, NULL };
	good(psgi_cuda_mix(t_gpu(), m, &kernel, &error), &error, "mix");
	good(kernel->run(kernel, from, &to, NULL, &error), &error, "mix");
	good(psgi_gpu_copy_out(t_gpu(), out.host, out.device, out.bytes, &error), &error, "mix");
	check_mixed(m, in, out.host);
	psgi_kernel_destroy(kernel);
	for (size_t i = 0; i < 3; i++) {
		free(in[i].host);
		psgi_device_free(t_gpu(), in[i].device);
	}
	free(out.host);
	psgi_device_free(t_gpu(), out.device);
}
