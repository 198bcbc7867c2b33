/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on its own on the host's cores, and what kind of work that is. */
#ifndef PSG_OPS_HOST_RUN_H
#define PSG_OPS_HOST_RUN_H

#include "device/device.h"
#include "ops/ops.h"

/* Ways to do an operator whose speeds differ much; sums go by multiply-adds, others by bytes. */
#define PSGI_WORK_MAP(X)                                                                           \
	X(CONV, conv, true) /* oneDNN's convolutions */                                            \
	X(DEPTHWISE, depthwise, true)                                                              \
	X(PRODUCT, product, true)    /* oneDNN's products with a matrix of weights */              \
	X(ROWS, rows, false)         /* softmax and its like along the last axis: vector loops */  \
	X(SUMS, sums, true)          /* the reference path's products */                           \
	X(FUNCTION, function, false) /* its exponentials, windows and norms */                     \
	X(PLAIN, plain, false)       /* its copies and simple arithmetic */

typedef enum psgi_work {
#define PSGI_WORK_ENUM(KIND, name, sums) PSGI_WORK_##KIND,
	PSGI_WORK_MAP(PSGI_WORK_ENUM)
#undef PSGI_WORK_ENUM
		PSGI_WORKS
} psgi_work;

/* Of a call whose shapes are known. */
psgi_work psgi_host_work(const psgi_call *call);

/*
 * Runs `op` there; `call` is what psgi_call_of_op made of it.  The caller owns the results.  Takes
 * no memory of the device's but a CPU's.
 */
psg_status psgi_host_run(psg_device *device, const psg_op *op, const psgi_call *call,
			 psg_tensor **out, psg_error *error);

#endif
