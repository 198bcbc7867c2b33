/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c, with a way to put its places back to what they are in a new process. */
#include "jobs/wait.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/schedules/scenarios.h"

/* Between runs: no step. */
void t_places_reset(void)
{
	memset(places, 0, sizeof(places));
	memset(&next_place, 0, sizeof(next_place));
}
