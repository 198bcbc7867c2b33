/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a GPU is: a product, copies, a launch. */
#include "config.h"

#include "ops/cuda_speed.h"

#include "base/base.h"
#include "base/memory.h"
#include "device/cuda.h"
#include "kernels/args.h"
#include "ops/cuda.h"
#include "ops/measure.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 5 /* chosen: their median forgets two that were disturbed */

/* --- products --- */

struct product {
	psg_device *device;
	psg_op_params params;
	psgi_call call;
	psgi_kernel *kernel;
	psgi_operand in[2], out;
	int repeats;
};

static psg_status multiply(void *user, psg_error *error)
{
	struct product *p = user;
	psg_status status = PSG_OK;

	for (int i = 0; i < p->repeats && status == PSG_OK; i++)
		status = p->kernel->run(p->kernel, p->in, &p->out, NULL, error);
	return status == PSG_OK ? psgi_gpu_sync(p->device, error) : status;
}

/* Numbers near 0.01, so that no sum overflows. */
static psg_status make_matrix(psg_device *device, size_t bytes, void **out, psg_error *error)
{
	psg_status status = psgi_gpu_alloc(device, bytes, out, error);

	return status == PSG_OK ? psgi_gpu_fill(device, *out, 0x3c, bytes, error) : status;
}

static psg_status make_product(struct product *p, int64_t side, psg_error *error)
{
	size_t bytes = (size_t)(side * side) * sizeof(float);
	psg_shape square = PSG_SHAPE(side, side);
	bool done = false;
	psg_status status;

	p->repeats = 1;
	p->call = (psgi_call){ .kind = PSG_OP_MATMUL,
			       .params = &p->params,
			       .n_in = 2,
			       .n_out = 1,
			       .in = { { .shape = square }, { .shape = square } } };
	status = psgi_infer(&p->call, error);
	if (status == PSG_OK)
		status = make_matrix(p->device, bytes, &p->in[0].data, error);
	if (status == PSG_OK)
		status = make_matrix(p->device, bytes, &p->in[1].data, error);
	if (status == PSG_OK)
		status = make_matrix(p->device, bytes, &p->out.data, error);
	if (status == PSG_OK)
		status = psgi_cuda_kernel(p->device, &p->call, NULL, 0, &p->kernel, &done, error);
	if (status == PSG_OK && !done)
		status = psgi_fail(error, PSG_UNSUPPORTED, "there is no kernel for a product");
	return status;
}

static void drop_product(struct product *p)
{
	if (p->kernel != NULL)
		psgi_kernel_destroy(p->kernel);
	psgi_device_free(p->device, p->in[0].data);
	psgi_device_free(p->device, p->in[1].data);
	psgi_device_free(p->device, p->out.data);
}

/* The first run loads the kernel and is not counted. */
static psg_status time_product(psg_device *device, int64_t side, int64_t *ns, psg_error *error)
{
	struct product p = { .device = device };
	psg_status status = make_product(&p, side, error);

	if (status == PSG_OK)
		status = multiply(&p, error);
	if (status == PSG_OK)
		status = psgi_median_ns(multiply, &p, 1, ns, error);
	/* Short ones are queued behind each other, so that the wait for them does not count. */
	if (status == PSG_OK && *ns < PSG_MILLISECOND / 2) {
		p.repeats = 8;
		status = psgi_median_ns(multiply, &p, SAMPLES, ns, error);
		*ns = *ns / p.repeats > 0 ? *ns / p.repeats : 1;
	} else if (status == PSG_OK && *ns < 20 * PSG_MILLISECOND) {
		status = psgi_median_ns(multiply, &p, SAMPLES, ns, error);
	}
	drop_product(&p);
	return status;
}

psg_status psgi_cuda_product_speed(psg_device *device, int64_t most_side, int64_t enough_ns,
				   int64_t *side, double *macs, psg_error *error)
{
	*side = 0;
	for (int64_t next = 64;; next *= 2) {
		int64_t ns = 0;
		psg_status status = time_product(device, next, &ns, error);

		if (status == PSG_OOM && *side > 0)
			return PSG_OK; /* what a nearly full card has room for */
		if (status != PSG_OK)
			return status;
		*side = next;
		*macs = (double)next * (double)next * (double)next * 1e9 / (double)ns;
		/* Twice the side is eight times the work. */
		if (next * 2 > most_side || ns * 8 > enough_ns)
			return PSG_OK;
	}
}

/* --- copies --- */

struct copies {
	psg_device *device;
	void *host, *card;
	size_t bytes;
};

static psg_status copy_in(void *user, psg_error *error)
{
	const struct copies *c = user;
	psg_status status = psgi_gpu_copy_in(c->device, c->card, c->host, c->bytes, error);

	return status == PSG_OK ? psgi_gpu_sync(c->device, error) : status;
}

static psg_status copy_out(void *user, psg_error *error)
{
	const struct copies *c = user;

	return psgi_gpu_copy_out(c->device, c->host, c->card, c->bytes, error);
}

psg_status psgi_cuda_copy_speed(psg_device *device, size_t bytes, double *in, double *out,
				psg_error *error)
{
	struct copies c = { .device = device, .bytes = bytes, .host = psgi_memory_alloc(bytes) };
	int64_t in_ns = 1, out_ns = 1;
	psg_status status;

	if (c.host == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu bytes to copy", bytes);
	memset(c.host, 1, bytes); /* its pages are there from now on */
	status = psgi_gpu_alloc(device, bytes, &c.card, error);
	if (status == PSG_OK)
		status = copy_in(&c, error); /* makes the stages */
	if (status == PSG_OK)
		status = psgi_median_ns(copy_in, &c, SAMPLES, &in_ns, error);
	if (status == PSG_OK)
		status = psgi_median_ns(copy_out, &c, SAMPLES, &out_ns, error);
	*in = (double)bytes * 1e9 / (double)in_ns;
	*out = (double)bytes * 1e9 / (double)out_ns;
	psgi_device_free(device, c.card);
	free(c.host);
	return status;
}

/* --- a launch --- */

static psg_status launch_empty(void *user, psg_error *error)
{
	const unary_args nothing = { .n = 0 };
	const psgi_launch launch = { .kernel = PSGI_GPU_relu,
				     .grid = { 1, 1, 1 },
				     .block = { 32, 1, 1 },
				     .args = &nothing,
				     .args_bytes = sizeof(nothing) };
	psg_status status = psgi_gpu_launch(user, &launch, error);

	return status == PSG_OK ? psgi_gpu_sync(user, error) : status;
}

psg_status psgi_cuda_launch_speed(psg_device *device, int64_t *ns, psg_error *error)
{
	psg_status status = launch_empty(device, error);

	return status == PSG_OK ? psgi_median_ns(launch_empty, device, 61, ns, error) : status;
}

/* --- all --- */

#define MOST_SIDE 4096                    /* chosen: 192 MiB, 4 ms on an H200 */
#define ENOUGH_NS (100 * PSG_MILLISECOND) /* chosen: a sample of a slow card */
#define COPY_BYTES ((size_t)64 << 20)

psg_status psg_gpu_speed_measure(psg_device *device, psg_gpu_speed *out, psg_error *error)
{
	int64_t launch_ns = 0;
	psg_status status;

	memset(out, 0, sizeof(*out));
	if (device->info.kind != PSG_DEVICE_CUDA)
		return psgi_fail(error, PSG_INVALID, "%s is not a GPU", device->info.name);
	status = psgi_cuda_launch_speed(device, &launch_ns, error);
	out->launch_ns = (double)launch_ns;
	if (status == PSG_OK)
		status = psgi_cuda_product_speed(device, MOST_SIDE, ENOUGH_NS, &out->product_side,
						 &out->product_macs, error);
	out->copy_bytes = (int64_t)COPY_BYTES;
	if (status == PSG_OK)
		status = psgi_cuda_copy_speed(device, COPY_BYTES, &out->copy_in, &out->copy_out,
					      error);
	return status;
}
