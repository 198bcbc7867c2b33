/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a GPU and the host's cores are at operators that come alone: measured once for each
 * card, driver and version of the library, and kept in a file.
 */
#ifndef PSG_OPS_RATES_H
#define PSG_OPS_RATES_H

#include "device/device.h"
#include "ops/host_run.h"

typedef struct psgi_host_rate {
	int64_t call_ns;
	int64_t per_second; /* multiply-adds of sums, bytes of the rest */
} psgi_host_rate;

typedef struct psgi_rates {
	int64_t gpu_call_ns;     /* of the smallest operator: one operand in, one out */
	int64_t gpu_operand_ns;  /* each further operand, but for its bytes */
	int64_t gpu_in, gpu_out; /* bytes a second to the card and back */
	int64_t gpu_macs;        /* multiply-adds a second on the card */
	psgi_host_rate host[PSGI_WORKS];
} psgi_rates;

/* Runs operators on both sides, for about 0.1 s; where the driver has no cached code, it compiles
 * that of products first.  Errors as running operators. */
psg_status psgi_rates_measure(psg_device *device, psgi_rates *out, psg_error *error);

/* What a call is expected to take, from the host's memory to the host's memory. */
typedef struct psgi_times {
	double gpu_ns, cpu_ns;
} psgi_times;
psgi_times psgi_rates_predict(const psgi_rates *rates, const psgi_call *call);

/* From which side on a product of square matrices is faster on the card; 0: from none. */
int64_t psgi_rates_product_side(const psgi_rates *rates);

/* The file of a device, below XDG_CACHE_HOME or ~/.cache; false: no folder is known. */
bool psgi_rates_path(const psg_device *device, char *path, size_t size);

/* False: there is no such file, or it is not exactly what psgi_rates_write would write for this
 * device; then it is as if there were none. */
bool psgi_rates_read(const psg_device *device, psgi_rates *out);

/* Makes the file anew; false, and logged: it cannot be kept. */
bool psgi_rates_write(const psg_device *device, const psgi_rates *rates);

#endif
