/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pages: "0,2-5,7-", counted from 0 as everywhere. */
#ifndef PSG_CLI_PAGES_H
#define PSG_CLI_PAGES_H

#include "cli/options.h"

/* For cli_option.parse; the field is a const char *, NULL for all pages. */
bool cli_parse_pages(const cli_option *, const char *, void *, char *, size_t);

/* Is this page in the list? */
bool cli_pages_have(const char *list, int32_t page);

/* How many of the pages 0 to `pages` - 1 are in the list. */
int32_t cli_pages_count(const char *list, int32_t pages);

#endif
