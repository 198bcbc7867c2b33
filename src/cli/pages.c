/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pages. */
#include "config.h"

#include "cli/pages.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* A number without a sign at *at, which moves on; false: there is none, or it is too large. */
static bool number(const char **at, long *value)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*value = strtol(*at, &end, 10);
	*at = end;
	return *value <= INT32_MAX;
}

/* The range at *at, which moves behind it and its comma; false: it is none. */
static bool range(const char **at, long *first, long *last)
{
	if (!number(at, first))
		return false;
	*last = *first;
	if (**at == '-') {
		(*at)++;
		*last = LONG_MAX;
		if (**at != '\0' && **at != ',' && !number(at, last))
			return false;
	}
	if (*last < *first)
		return false;
	if (**at == ',')
		return *++*at != '\0';
	return **at == '\0';
}

bool cli_parse_pages(const cli_option *option, const char *text, void *field, char *wanted,
		     size_t size)
{
	const char *at = text;
	long first, last;

	(void)option;
	(void)snprintf(wanted, size, "a list of pages as 0,2-5,7- (the first page is 0)");
	do {
		if (!range(&at, &first, &last))
			return false;
	} while (*at != '\0');
	*(const char **)field = text;
	return true;
}

bool cli_pages_have(const char *list, int32_t page)
{
	long first, last;

	if (list == NULL)
		return true;
	while (*list != '\0' && range(&list, &first, &last))
		if (page >= first && page <= last)
			return true;
	return false;
}

int32_t cli_pages_count(const char *list, int32_t pages)
{
	int32_t count = 0;

	for (int32_t i = 0; i < pages; i++)
		count += cli_pages_have(list, i);
	return count;
}
