/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring both sides, and predicting from that; docs/design.md has the formula. */
#include "config.h"

#include "ops/rates.h"

#include "ops/cuda_run.h"
#include "ops/cuda_speed.h"
#include "ops/family.h"
#include "ops/measure.h"

#include <string.h>

#define FEW 3   /* samples of what takes long */
#define MANY 15 /* and of what takes microseconds */

/* --- running one operator --- */

/* An operator on zeros; on the card or on the host. */
struct probe {
	psg_device *device;
	psg_op op;
	psgi_call call;
	bool on_gpu;
};

static psg_status run_probe(void *user, psg_error *error)
{
	struct probe *p = user;
	psg_tensor *out[PSG_MAX_OUTPUTS] = { NULL };
	bool done = true;
	psg_status status =
		p->on_gpu ? psgi_cuda_run(p->device, &p->op, out, p->call.n_out, &done, error)
			  : psgi_host_run(p->device, &p->op, &p->call, out, error);

	for (size_t i = 0; i < p->call.n_out && status == PSG_OK && done; i++)
		psg_tensor_unref(out[i]);
	return status == PSG_OK && !done
		       ? psgi_fail(error, PSG_UNSUPPORTED, "%s: no kernel to measure",
				   psgi_call_name(&p->call))
		       : status;
}

static void drop_probe(struct probe *p)
{
	for (size_t i = 0; i < p->op.n_in; i++)
		psg_tensor_unref(p->op.in[i]);
}

static psg_status make_probe(struct probe *p, const psg_shape *in, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < p->op.n_in && status == PSG_OK; i++)
		status = psg_tensor_create(PSG_F32, &in[i], &p->op.in[i], error);
	return status == PSG_OK ? psgi_call_of_op(&p->op, 0, &p->call, error) : status;
}

/* The first run, which makes code and takes memory, is not counted. */
static psg_status time_probe(struct probe *p, const psg_shape *in, size_t samples, int64_t *ns,
			     psg_error *error)
{
	psg_status status = make_probe(p, in, error);

	if (status == PSG_OK)
		status = run_probe(p, error);
	if (status == PSG_OK)
		status = psgi_median_ns(run_probe, p, samples, ns, error);
	drop_probe(p);
	return status;
}

/* --- the host --- */

struct host_case {
	psg_op_kind kind;
	psg_op_params params;
	size_t n_in;
	psg_shape small[2], large[2]; /* the large ones take about a millisecond */
};

/* What stands for each kind of work. */
static const struct host_case host_cases[PSGI_WORKS] = {
	[PSGI_WORK_CONV] = { .kind = PSG_OP_CONV,
			     .n_in = 2,
			     .small = { { 4, { 1, 8, 4, 4 } }, { 4, { 8, 8, 3, 3 } } },
			     .large = { { 4, { 1, 32, 48, 48 } }, { 4, { 32, 32, 3, 3 } } } },
	[PSGI_WORK_DEPTHWISE] = { .kind = PSG_OP_CONV,
				  .n_in = 2,
				  .params = { .conv = { .groups = 32 } },
				  .small = { { 4, { 1, 32, 4, 4 } }, { 4, { 32, 1, 3, 3 } } },
				  .large = { { 4, { 1, 32, 64, 64 } }, { 4, { 32, 1, 3, 3 } } } },
	[PSGI_WORK_PRODUCT] = { .kind = PSG_OP_MATMUL,
				.n_in = 2,
				.small = { { 2, { 4, 8 } }, { 2, { 8, 8 } } },
				.large = { { 2, { 384, 384 } }, { 2, { 384, 384 } } } },
	[PSGI_WORK_ROWS] = { .kind = PSG_OP_SOFTMAX,
			     .n_in = 1,
			     .params = { .softmax = { .axis = -1 } },
			     .small = { { 2, { 4, 16 } } },
			     .large = { { 2, { 512, 1024 } } } },
	[PSGI_WORK_SUMS] = { .kind = PSG_OP_MATMUL,
			     .n_in = 2,
			     .params = { .matmul = { .trans_a = true } },
			     .small = { { 2, { 4, 8 } }, { 2, { 4, 8 } } },
			     .large = { { 2, { 128, 128 } }, { 2, { 128, 128 } } } },
	[PSGI_WORK_FUNCTION] = { .kind = PSG_OP_GELU,
				 .n_in = 1,
				 .small = { { 1, { 64 } } },
				 .large = { { 1, { 1 << 17 } } } },
	[PSGI_WORK_PLAIN] = { .kind = PSG_OP_ADD,
			      .n_in = 2,
			      .small = { { 1, { 64 } }, { 1, { 64 } } },
			      .large = { { 1, { 1 << 18 } }, { 1, { 1 << 18 } } } },
};

static const bool counts_macs[PSGI_WORKS] = {
#define ROW(KIND, name, sums) [PSGI_WORK_##KIND] = (sums),
	PSGI_WORK_MAP(ROW)
#undef ROW
};

static int64_t amount(const psgi_call *call, psgi_work work)
{
	psg_cost cost;

	psgi_rule_of(call->kind)->cost(call, &cost);
	return counts_macs[work] ? cost.macs : cost.bytes;
}

static int64_t per_second(int64_t amount, int64_t ns)
{
	double rate = (double)amount * 1e9 / (double)(ns > 0 ? ns : 1);

	return rate < 1e3 ? 1000 : rate > 1e15 ? INT64_C(1000000000000000) : (int64_t)rate;
}

static psg_status measure_work(psg_device *device, psgi_work work, psgi_host_rate *out,
			       psg_error *error)
{
	const struct host_case *c = &host_cases[work];
	struct probe p = { .device = device,
			   .op = { .kind = c->kind, .params = c->params, .n_in = c->n_in } };
	int64_t small_ns = 1, large_ns = 1, small;
	psg_status status = time_probe(&p, c->small, MANY, &small_ns, error);

	if (status != PSG_OK)
		return status;
	small = amount(&p.call, work);
	*out = (psgi_host_rate){ .call_ns = small_ns, .per_second = 1000 };
	if (psgi_host_work(&p.call) != work)
		return PSG_OK; /* without oneDNN nothing is done so */
	status = time_probe(&p, c->large, FEW, &large_ns, error);
	if (status == PSG_OK)
		out->per_second = per_second(amount(&p.call, work) - small, large_ns - small_ns);
	return status;
}

/* --- the card --- */

/* Chosen: an operator's tensors are of this order, and an H200 takes about a millisecond. */
#define COPY_BYTES ((size_t)4 << 20)

static psg_status measure_calls(psg_device *device, psgi_rates *out, psg_error *error)
{
	static const psg_shape one[2] = { { 1, { 1 } }, { 1, { 1 } } };
	struct probe relu = { .device = device,
			      .on_gpu = true,
			      .op = { .kind = PSG_OP_RELU, .n_in = 1 } };
	struct probe add = { .device = device,
			     .on_gpu = true,
			     .op = { .kind = PSG_OP_ADD, .n_in = 2 } };
	int64_t add_ns = 1;
	psg_status status = time_probe(&relu, one, MANY, &out->gpu_call_ns, error);

	if (status == PSG_OK)
		status = time_probe(&add, one, MANY, &add_ns, error);
	out->gpu_operand_ns = add_ns > out->gpu_call_ns ? add_ns - out->gpu_call_ns : 0;
	return status;
}

static psg_status measure_card(psg_device *device, psgi_rates *out, psg_error *error)
{
	double macs = 0, in = 0, back = 0;
	int64_t side;
	psg_status status = measure_calls(device, out, error);

	if (status == PSG_OK)
		status = psgi_cuda_copy_speed(device, COPY_BYTES, &in, &back, error);
	if (status == PSG_OK)
		status = psgi_cuda_product_speed(device, 1024, 5 * PSG_MILLISECOND, &side, &macs,
						 error);
	out->gpu_in = per_second((int64_t)in, PSG_SECOND);
	out->gpu_out = per_second((int64_t)back, PSG_SECOND);
	out->gpu_macs = per_second((int64_t)macs, PSG_SECOND);
	return status;
}

psg_status psgi_rates_measure(psg_device *device, psgi_rates *out, psg_error *error)
{
	psg_status status;

	memset(out, 0, sizeof(*out));
	status = measure_card(device, out, error);
	for (int work = 0; work < PSGI_WORKS && status == PSG_OK; work++)
		status = measure_work(device, (psgi_work)work, &out->host[work], error);
	return status;
}

/* --- predicting --- */

static double bytes_of(const psgi_view *views, size_t n, int64_t *operands)
{
	double bytes = 0;

	for (size_t i = 0; i < n; i++) {
		if (views[i].shape.rank < 0)
			continue;
		bytes += (double)psgi_view_bytes(&views[i]);
		*operands += 1;
	}
	return bytes;
}

static double ns_of(double amount, int64_t rate)
{
	return amount * 1e9 / (double)rate;
}

psgi_times psgi_rates_predict(const psgi_rates *rates, const psgi_call *call)
{
	psgi_work work = psgi_host_work(call);
	const psgi_host_rate *host = &rates->host[work];
	int64_t operands = 0;
	double in = bytes_of(call->in, call->n_in, &operands);
	double out = bytes_of(call->out, call->n_out, &operands);
	psg_cost cost;

	psgi_rule_of(call->kind)->cost(call, &cost);
	return (psgi_times){
		.gpu_ns =
			(double)rates->gpu_call_ns +
			(double)(operands > 2 ? operands - 2 : 0) * (double)rates->gpu_operand_ns +
			ns_of(in, rates->gpu_in) + ns_of(out, rates->gpu_out) +
			ns_of((double)cost.macs, rates->gpu_macs),
		.cpu_ns = (double)host->call_ns +
			  ns_of((double)(counts_macs[work] ? cost.macs : cost.bytes),
				host->per_second),
	};
}

int64_t psgi_rates_product_side(const psgi_rates *rates)
{
	const psg_op_params params = { .matmul = { .alpha = 1 } };

	for (int64_t side = 16; side <= 8192; side += 16) {
		psgi_view square = { .shape = PSG_SHAPE(side, side) };
		psgi_call call = { .kind = PSG_OP_MATMUL,
				   .params = &params,
				   .n_in = 2,
				   .n_out = 1,
				   .in = { square, square },
				   .out = { square } };
		psgi_times times = psgi_rates_predict(rates, &call);

		if (times.gpu_ns < times.cpu_ns)
			return side;
	}
	return 0;
}
