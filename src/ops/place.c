/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between a GPU and the host, for each operator that comes alone. */
#include "config.h"

#include "ops/place.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a device knows of its rates. */
struct known {
	psgi_rates rates;
	bool kept; /* they came from the file, or are there now */
};

static psg_status learn(psg_device *device, const struct known **out, psg_error *error)
{
	int64_t begin = psg_now_ns();
	struct known *known = device->rates;
	psg_status status = PSG_OK;

	*out = known;
	if (known != NULL)
		return PSG_OK;
	known = calloc(1, sizeof(*known));
	if (known == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for the rates of operators");
	known->kept = psgi_rates_read(device, &known->rates);
	if (!known->kept) {
		status = psgi_rates_measure(device, &known->rates, error);
		if (status != PSG_OK) {
			free(known);
			return status;
		}
		known->kept = psgi_rates_write(device, &known->rates);
		psgi_log(PSG_LOG_INFO, "%s: measured the rates of operators in %.1f ms",
			 device->info.name, (double)(psg_now_ns() - begin) / 1e6);
	}
	device->rates = known;
	*out = known;
	return PSG_OK;
}

bool psgi_place_on_gpu(psg_device *device, const psgi_call *call)
{
	psg_error error = PSG_ERROR_INIT;
	const struct known *known;
	psgi_times times;

	if (device->operators != PSGI_OPERATORS_AUTO)
		return device->operators == PSGI_OPERATORS_GPU;
	if (learn(device, &known, &error) != PSG_OK) {
		psgi_log(PSG_LOG_WARNING,
			 "%s: operators go to the GPU, whether it is faster or not: %s",
			 device->info.name, error.message);
		device->operators = PSGI_OPERATORS_GPU;
		return true;
	}
	times = psgi_rates_predict(&known->rates, call);
	return times.gpu_ns < times.cpu_ns;
}

/* What does products on the host. */
#ifdef HAVE_DNNL
#define PRODUCTS PSGI_WORK_PRODUCT
#else
#define PRODUCTS PSGI_WORK_SUMS
#endif

psg_status psg_op_rates_get(psg_device *device, psg_op_rates *out, psg_error *error)
{
	const struct known *known;
	const psgi_rates *rates;
	psg_status status;

	memset(out, 0, sizeof(*out));
	if (device->info.kind != PSG_DEVICE_CUDA)
		return psgi_fail(error, PSG_INVALID, "%s is not a GPU", device->info.name);
	status = learn(device, &known, error);
	if (status != PSG_OK)
		return status;
	rates = &known->rates;
	*out = (psg_op_rates){
		.gpu_call_ns = (double)rates->gpu_call_ns,
		.gpu_operand_ns = (double)rates->gpu_operand_ns,
		.copy_in = (double)rates->gpu_in,
		.copy_out = (double)rates->gpu_out,
		.gpu_macs = (double)rates->gpu_macs,
		.cpu_call_ns = (double)rates->host[PRODUCTS].call_ns,
		.cpu_macs = (double)rates->host[PRODUCTS].per_second,
		.product_side = psgi_rates_product_side(rates),
	};
	if (known->kept && !psgi_rates_path(device, out->file, sizeof(out->file)))
		out->file[0] = '\0';
	return PSG_OK;
}
