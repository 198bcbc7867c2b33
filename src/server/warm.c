/* SPDX-License-Identifier: Apache-2.0 */
/* A page to warm up with. */
#include "config.h"

#include "server/warm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS 5
#define COLUMNS 5 /* pixels of a letter */
#define ROWS 7
#define SCALE 6                           /* pixels of the page for one of a letter */
#define WIDTH ((LETTERS + 2) * 6 * SCALE) /* a pixel between letters, a letter around them */
#define HEIGHT ((ROWS + 12) * SCALE)
#define HEAD 32 /* bytes, at least, of a PNM's first line */

/* R E A D Y; a bit a pixel, the top row first. */
static const unsigned char word[LETTERS][ROWS] = {
	{ 30, 17, 17, 30, 20, 18, 17 }, { 31, 16, 16, 30, 16, 16, 31 },
	{ 14, 17, 17, 31, 17, 17, 17 }, { 30, 17, 17, 17, 17, 17, 30 },
	{ 17, 17, 10, 4, 4, 4, 4 },
};

static bool ink(int x, int y)
{
	int column = x / SCALE - 6, row = y / SCALE - 6;

	if (column < 0 || column >= LETTERS * 6 || row < 0 || row >= ROWS || column % 6 >= COLUMNS)
		return false;
	return (word[column / 6][row] >> (COLUMNS - 1 - column % 6) & 1) != 0;
}

psg_status srv_warm_up(psg_ocr *ocr, psg_error *error)
{
	char *page = malloc(HEAD + WIDTH * HEIGHT);
	psg_future *future = NULL;
	size_t head;
	psg_status status;

	if (page == NULL) {
		*error = (psg_error){ PSG_NOMEM, "no memory for a page to warm up with" };
		return PSG_NOMEM;
	}
	head = (size_t)snprintf(page, HEAD, "P5 %d %d 255\n", WIDTH, HEIGHT);
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			page[head + (size_t)y * WIDTH + (size_t)x] = (char)(ink(x, y) ? 0 : 255);
	status = psg_ocr_submit(ocr, page, head + WIDTH * HEIGHT, 0, NULL, &future, error);
	if (status == PSG_OK && psg_future_wait(future) != PSG_OK)
		status = psg_future_error(future, error);
	psg_future_release(future);
	free(page);
	return status;
}
