/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c, with a way to put its table back to what it is in a new process. */
#include "jobs/shared.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/schedules/scenarios.h"

/* Between runs: no step. */
void t_table_reset(void)
{
	memset(&first_table, 0, sizeof(first_table));
	memset(&current, 0, sizeof(current));
	*(struct table **)(void *)&current = &first_table;
}
