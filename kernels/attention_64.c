/* SPDX-License-Identifier: Apache-2.0 */
/* Attention for heads of at most 64: see attention.h. */
#define SIZE 64
#include "attention.h"

KERNEL_SHARED(attention_64, attention_args, struct attention_shared)
{
	attend(&a, SHARED_OF(attention_64), at);
}
