/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the image files that the tests of the command read.
 * usage: cli_files DIR
 */
#include "config.h"

#include "page_font.h"
#ifdef T_SAMPLES
#include "image_samples.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PAGES 3

static const char *const texts[N_PAGES] = { "READ 42", "PAGE 2", "STOP\nHERE" };
static const char *const names[N_PAGES] = { "one.pnm", "two.pnm", "three.pnm" };

static const char *folder;

static void save(const char *name, const void *data, size_t size)
{
	char path[4096];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* A grey PNM of one colour. */
static void save_plain(const char *name, size_t width, size_t height, int grey)
{
	char *data = malloc(width * height + 64);
	size_t head;

	if (data == NULL)
		abort();
	head = (size_t)sprintf(data, "P5 %zu %zu 255\n", width, height);
	memset(data + head, grey, width * height);
	save(name, data, head + width * height);
	free(data);
}

static uint32_t crc(const uint8_t *data, size_t size)
{
	uint32_t sum = 0xffffffff;

	for (size_t i = 0; i < size; i++) {
		sum ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			sum = (sum >> 1) ^ (0xedb88320U & (0 - (sum & 1)));
	}
	return ~sum;
}

/* A PNG's signature and its first chunk, which is right but for what it claims. */
static void save_huge(uint16_t side)
{
	uint8_t png[33] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	uint32_t sum;

	png[18] = png[22] = (uint8_t)(side >> 8);
	png[19] = png[23] = (uint8_t)side;
	png[24] = 8;
	sum = crc(png + 12, 17);
	for (int i = 0; i < 4; i++)
		png[29 + i] = (uint8_t)(sum >> (24 - 8 * i));
	save("huge.png", png, sizeof(png));
}

/* --- a TIFF of grey pages, not compressed --- */

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, size_t value)
{
	put16(at, value & 0xffff);
	put16(at + 2, value >> 16);
}

#define TAGS 8
#define DIRECTORY (2 + 12 * TAGS + 4)

/* The directory at `at` of a page of which the pixels follow it. */
static size_t put_page(uint8_t *file, size_t at, const uint8_t *grey, size_t width, size_t height)
{
	const size_t pixels = at + DIRECTORY, next = (pixels + width * height + 1) & ~(size_t)1;
	/* width, height, bits, no compression, black is 0, strip, rows a strip, bytes */
	const size_t tags[TAGS][2] = { { 256, width },  { 257, height },
				       { 258, 8 },      { 259, 1 },
				       { 262, 1 },      { 273, pixels },
				       { 278, height }, { 279, width * height } };

	put16(file + at, TAGS);
	for (size_t i = 0; i < TAGS; i++) {
		uint8_t *tag = file + at + 2 + 12 * i;

		put16(tag, tags[i][0]);
		put16(tag + 2, 4); /* 32 bits */
		put32(tag + 4, 1);
		put32(tag + 8, tags[i][1]);
	}
	memcpy(file + pixels, grey, width * height);
	put32(file + at + DIRECTORY - 4, next);
	return next;
}

static void save_pages(void)
{
	uint8_t *file = calloc(1, 1 << 20);
	size_t at = 8, last = 0;

	if (file == NULL)
		abort();
	memcpy(file, "II*\0\b\0\0\0", 8);
	for (int i = 0; i < N_PAGES; i++) {
		size_t size, width, height;
		uint8_t *page = t_font_page(texts[i], false, &size);

		save(names[i], page, size);
		if (sscanf((char *)page, "P5 %zu %zu", &width, &height) != 2)
			abort();
		last = at;
		at = put_page(file, at, page + size - width * height, width, height);
		free(page);
	}
	put32(file + last + DIRECTORY - 4, 0);
	save("pages.tif", file, at);
	/* Its last directory is gone, and with it the list of pages. */
	save("cut.tif", file, last);
	free(file);
}

#ifdef T_SAMPLES
/* The first half of a good file. */
static void save_cut(const char *sample, const char *name)
{
	t_sample s = t_sample_named(sample);

	save(name, s.data, s.size / 2);
	free(s.data);
}
#endif

int main(int argc, char **argv)
{
	if (argc != 2) {
		(void)fprintf(stderr, "usage: cli_files DIR\n");
		return 2;
	}
	folder = argv[1];
	save_pages();
	save_plain("blank.pnm", 300, 200, 255);
	save_plain("dot.pnm", 1, 1, 0);
	save_plain("strip.pnm", 20000, 40, 255);
	save_huge(60000);
#ifdef T_SAMPLES
	save_cut("png rgb", "cut.png");
	save_cut("jpeg rgb", "cut.jpg");
#endif
	return 0;
}
