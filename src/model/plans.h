/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PSG_MODEL_PLANS_H
#define PSG_MODEL_PLANS_H

#include "model/plan.h"

/*
 * The plan of `model` for these shapes on `device`, made if it is not there.  `in` gives the values
 * of inputs that decide shapes; NULL when only shapes are known.  Valid until the next call for
 * this device.
 */
psg_status psgi_plan_for(psg_model *model, psg_device *device, const psg_shape *shapes,
			 psg_tensor *const *in, psgi_plan **out, psg_error *error);

#endif
