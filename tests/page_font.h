/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of pixel letters, so that a test has a readable page without fonts or encoders. */
#ifndef PSG_TESTS_PAGE_FONT_H
#define PSG_TESTS_PAGE_FONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Black lines of text (capitals, digits, spaces; '\n' between them) on white, as a PNM file to be
 * free()d; `upside_down` turns the page by 180 degrees.  Stops the program without memory.
 */
uint8_t *t_font_page(const char *text, bool upside_down, size_t *size);

#endif
