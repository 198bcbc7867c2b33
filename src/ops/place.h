/* SPDX-License-Identifier: Apache-2.0 */
/* Where an operator that comes alone runs. */
#ifndef PSG_OPS_PLACE_H
#define PSG_OPS_PLACE_H

#include "ops/rates.h"

/* True: on the GPU, if there is a kernel for it.  As PAGESIFT_OPERATORS says, or where it is
 * predicted to be faster; measures both sides when that is first asked. */
bool psgi_place_on_gpu(psg_device *device, const psgi_call *call);

#endif
