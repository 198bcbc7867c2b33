/* SPDX-License-Identifier: Apache-2.0 */
#include <pagesift/error.h>
#include <time.h>

int64_t psg_now_ns(void)
{
	struct timespec now;

	/* CLOCK_MONOTONIC with a valid pointer cannot fail on Linux. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * PSG_SECOND + now.tv_nsec;
}
