/* SPDX-License-Identifier: Apache-2.0 */
/* JSON for --json, where the build has jansson. */
#ifndef PSG_CLI_JSON_H
#define PSG_CLI_JSON_H

#include "cli/cli.h"

/* False, and told, when this build cannot write JSON: for a command to ask before it works. */
bool cli_json_available(void);

#if HAVE_JANSSON
#include <jansson.h>

/* All take and give NULL for "out of memory", so that only the end needs a check. */

/* A string; what is not UTF-8 is shown byte by byte as \xNN. */
json_t *cli_json_text(const char *text);

/* A number, rounded to 1 / `parts`. */
json_t *cli_json_number(double value, double parts);

/* An array of the sizes. */
json_t *cli_json_shape(const psg_shape *shape);

/* Writes it on one line, and drops it. */
cli_exit cli_json_print(json_t *root);
#endif

#endif
