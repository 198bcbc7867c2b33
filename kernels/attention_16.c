/* SPDX-License-Identifier: Apache-2.0 */
/* Attention for heads of at most 16: see attention.h. */
#define SIZE 16
#include "attention.h"

KERNEL_SHARED(attention_16, attention_args, struct attention_shared)
{
	attend(&a, SHARED_OF(attention_16), at);
}
