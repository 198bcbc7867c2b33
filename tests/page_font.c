/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "page_font.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLYPH_WIDTH 5
#define GLYPH_HEIGHT 7
#define SCALE 4    /* pixels of the page for one of a letter */
#define ADVANCE 6  /* letter pixels from one letter to the next, ... */
#define LEADING 13 /* ... and from one line to the next */
#define MARGIN 8   /* letter pixels around the text */

struct glyph {
	char letter;
	const char *rows; /* GLYPH_HEIGHT rows of GLYPH_WIDTH, '#' is ink */
};

static const struct glyph glyphs[] = {
	{ 'A', " ### #   ##   #######   ##   ##   #" },
	{ 'C', " ### #   ##    #    #    #   # ### " },
	{ 'D', "#### #   ##   ##   ##   ##   ##### " },
	{ 'E', "######    #    #### #    #    #####" },
	{ 'G', " ### #   ##    # ####   ##   # ### " },
	{ 'H', "#   ##   ##   #######   ##   ##   #" },
	{ 'I', " ###   #    #    #    #    #   ### " },
	{ 'L', "#    #    #    #    #    #    #####" },
	{ 'N', "#   ###  ## # ##  ###   ##   ##   #" },
	{ 'O', " ### #   ##   ##   ##   ##   # ### " },
	{ 'P', "#### #   ##   ##### #    #    #    " },
	{ 'R', "#### #   ##   ##### # #  #  # #   #" },
	{ 'S', " #####    #     ###     #    ##### " },
	{ 'T', "#####  #    #    #    #    #    #  " },
	{ 'U', "#   ##   ##   ##   ##   ##   # ### " },
	{ '0', " ### #   ##  ### # ###  ##   # ### " },
	{ '1', "  #   ##    #    #    #    #   ### " },
	{ '2', " ### #   #    #   #   #   #   #####" },
	{ '3', "#####   #   #     #     ##   # ### " },
	{ '4', "   #   ##  # # #  # #####   #    # " },
	{ '5', "######    ####     #    ##   # ### " },
	{ '6', "  ##  #   #    #### #   ##   # ### " },
	{ '7', "#####    #   #   #   #    #    #   " },
	{ '8', " ### #   ##   # ### #   ##   # ### " },
	{ '9', " ### #   ##   # ####    #   #  ##  " },
};

static const char *rows_of(char letter)
{
	for (size_t i = 0; i < sizeof(glyphs) / sizeof(glyphs[0]); i++)
		if (glyphs[i].letter == letter)
			return glyphs[i].rows;
	return NULL;
}

/* Letters of the longest line, and lines. */
static void measure(const char *text, size_t *columns, size_t *lines)
{
	size_t column = 0;

	*columns = 1;
	*lines = 1;
	for (; *text != '\0'; text++) {
		column = *text == '\n' ? 0 : column + 1;
		*lines += *text == '\n';
		*columns = column > *columns ? column : *columns;
	}
}

static void draw(uint8_t *grey, size_t width, const char *rows, size_t left, size_t top)
{
	for (size_t y = 0; rows != NULL && y < GLYPH_HEIGHT * SCALE; y++)
		for (size_t x = 0; x < GLYPH_WIDTH * SCALE; x++)
			if (rows[y / SCALE * GLYPH_WIDTH + x / SCALE] == '#')
				grey[(top + y) * width + left + x] = 0;
}

uint8_t *t_font_page(const char *text, bool upside_down, size_t *size)
{
	size_t columns, lines, width, height, header, column = 0, line = 0;
	uint8_t *file, *grey;

	measure(text, &columns, &lines);
	width = (columns * ADVANCE + 2 * MARGIN) * SCALE;
	height = (lines * LEADING + 2 * MARGIN) * SCALE;
	file = malloc(width * height + 64);
	if (file == NULL)
		abort();
	header = (size_t)sprintf((char *)file, "P5 %zu %zu 255\n", width, height);
	grey = file + header;
	memset(grey, 255, width * height);
	for (; *text != '\0'; text++) {
		draw(grey, width, rows_of(*text), (MARGIN + column * ADVANCE) * SCALE,
		     (MARGIN + line * LEADING) * SCALE);
		column = *text == '\n' ? 0 : column + 1;
		line += *text == '\n';
	}
	for (size_t i = 0, n = width * height; upside_down && i < n / 2; i++) {
		uint8_t swap = grey[i];

		grey[i] = grey[n - 1 - i];
		grey[n - 1 - i] = swap;
	}
	*size = header + width * height;
	return file;
}
