/* SPDX-License-Identifier: Apache-2.0 */
/* JSON for --json. */
#include "config.h"

#include "cli/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_JANSSON

bool cli_json_available(void)
{
	return true;
}

json_t *cli_json_text(const char *text)
{
	size_t n = strlen(text), used = 0;
	json_t *string = json_string(text);
	char *escaped;

	if (string != NULL || n > SIZE_MAX / 4 - 1)
		return string;
	escaped = malloc(4 * n + 1);
	if (escaped == NULL)
		return NULL;
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		used += (size_t)snprintf(escaped + used, 5, byte < 0x80 ? "%c" : "\\x%02x", byte);
	}
	string = json_string(escaped);
	free(escaped);
	return string;
}

json_t *cli_json_number(double value, double parts)
{
	return json_real(isfinite(value) ? rint(value * parts) / parts : 0);
}

json_t *cli_json_shape(const psg_shape *shape)
{
	json_t *array = json_array();

	for (int32_t i = 0; i < shape->rank; i++) {
		if (json_array_append_new(array, json_integer((json_int_t)shape->dim[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

cli_exit cli_json_print(json_t *root)
{
	/* Chosen: enough for an hour in microseconds; 17 digits would show 0.1 as
	 * 0.10000000000000001. */
	char *text = root != NULL ? json_dumps(root, JSON_REAL_PRECISION(12)) : NULL;

	json_decref(root);
	if (text == NULL) {
		cli_error("no memory for the JSON");
		return CLI_FAILED;
	}
	(void)puts(text);
	free(text);
	return cli_finish_output(CLI_OK);
}

#else

bool cli_json_available(void)
{
	cli_error("--json: this build cannot write JSON, it was configured --without-jansson");
	return false;
}

#endif
