/* SPDX-License-Identifier: Apache-2.0 */
/* Attention for heads of at most 32: see attention.h. */
#define SIZE 32
#include "attention.h"

KERNEL_SHARED(attention_32, attention_args, struct attention_shared)
{
	attend(&a, SHARED_OF(attention_32), at);
}
