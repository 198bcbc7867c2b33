/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "image_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <leptonica/allheaders.h>

typedef enum kind { PLAIN, PALETTE, ALPHA } kind;

/* Writers other than Leptonica's. */
enum { CMYK = 1000, GRAY_JPEG, PROGRESSIVE, PLAIN_PNM };

static const struct {
	const char *name;
	int format, depth;
	kind kind;
	int tolerance;
} recipes[] = {
	{ "png 1 bit", IFF_PNG, 1, PLAIN, 0 },
	{ "png 2 bits", IFF_PNG, 2, PLAIN, 0 },
	{ "png 4 bits", IFF_PNG, 4, PLAIN, 0 },
	{ "png 8 bits", IFF_PNG, 8, PLAIN, 0 },
	{ "png 16 bits", IFF_PNG, 16, PLAIN, 1 },
	{ "png rgb", IFF_PNG, 32, PLAIN, 0 },
	{ "png palette of 2 bits", IFF_PNG, 2, PALETTE, 0 },
	{ "png palette of 8 bits", IFF_PNG, 8, PALETTE, 0 },
	{ "png alpha", IFF_PNG, 32, ALPHA, 1 },
	{ "tiff 1 bit", IFF_TIFF, 1, PLAIN, 0 },
	{ "tiff 1 bit g4", IFF_TIFF_G4, 1, PLAIN, 0 },
	{ "tiff 1 bit packbits", IFF_TIFF_PACKBITS, 1, PLAIN, 0 },
	{ "tiff 4 bits", IFF_TIFF_ZIP, 4, PLAIN, 0 },
	{ "tiff 8 bits", IFF_TIFF, 8, PLAIN, 0 },
	{ "tiff 16 bits", IFF_TIFF_ZIP, 16, PLAIN, 1 },
	{ "tiff palette", IFF_TIFF_LZW, 8, PALETTE, 0 },
	{ "tiff rgb", IFF_TIFF, 32, PLAIN, 0 },
	{ "tiff rgb lzw", IFF_TIFF_LZW, 32, PLAIN, 0 },
	{ "tiff rgb zip", IFF_TIFF_ZIP, 32, PLAIN, 0 },
	{ "tiff alpha", IFF_TIFF_ZIP, 32, ALPHA, 1 },
	{ "bmp 1 bit", IFF_BMP, 1, PLAIN, 0 },
	{ "bmp 8 bits", IFF_BMP, 8, PLAIN, 0 },
	{ "bmp palette", IFF_BMP, 4, PALETTE, 0 },
	{ "bmp rgb", IFF_BMP, 32, PLAIN, 0 },
	{ "gif gray", IFF_GIF, 8, PLAIN, 0 },
	{ "gif palette", IFF_GIF, 4, PALETTE, 0 },
	{ "webp rgb", IFF_WEBP, 32, PLAIN, 0 },
	{ "webp alpha", IFF_WEBP, 32, ALPHA, 1 },
	{ "pnm 1 bit", IFF_PNM, 1, PLAIN, 0 },
	{ "pnm 8 bits", IFF_PNM, 8, PLAIN, 0 },
	{ "pnm 16 bits", IFF_PNM, 16, PLAIN, 1 },
	{ "pnm rgb", IFF_PNM, 32, PLAIN, 0 },
	{ "pnm plain", PLAIN_PNM, 8, PLAIN, 0 },
	{ "jpeg rgb", IFF_JFIF_JPEG, 32, PLAIN, 8 },
	{ "jpeg gray", GRAY_JPEG, 8, PLAIN, 4 },
	{ "jpeg progressive", PROGRESSIVE, 32, PLAIN, 8 },
	{ "jpeg cmyk", CMYK, 32, PLAIN, 6 },
};

size_t t_sample_count(void)
{
	return sizeof(recipes) / sizeof(recipes[0]);
}

static const uint8_t colours[4][3] = {
	{ 200, 30, 60 },
	{ 20, 160, 40 },
	{ 40, 50, 220 },
	{ 250, 240, 20 },
};

static void need(bool good, const char *what)
{
	if (!good) {
		(void)fprintf(stderr, "cannot make a sample: %s\n", what);
		abort();
	}
}

static int quarter_of(int x, int y)
{
	return (y >= T_HEIGHT / 2 ? 2 : 0) + (x >= T_WIDTH / 2 ? 1 : 0);
}

/* The value of a quarter in a grey picture of this depth, and the level it stands for. */
static unsigned gray(int depth, int quarter, uint8_t *level)
{
	unsigned most = (1U << depth) - 1, v = most * (unsigned)quarter / 3;

	if (depth == 1) { /* Leptonica's 1 is black */
		v = quarter == 0 ? 1 : 0;
		*level = v ? 0 : 255;
	} else {
		*level = (uint8_t)(v * 255 / most);
	}
	return v;
}

static PIX *picture(t_sample *s, int depth, kind what)
{
	PIX *pix = pixCreate(T_WIDTH, T_HEIGHT, depth);
	PIXCMAP *map = what == PALETTE ? pixcmapCreate(depth) : NULL;
	unsigned value[4];

	for (int q = 0; q < 4; q++) {
		const uint8_t *c = colours[q];

		memcpy(s->quarter[q], c, 3);
		if (what == PALETTE) {
			(void)pixcmapAddColor(map, c[0], c[1], c[2]);
			value[q] = (unsigned)q;
		} else if (depth < 32) {
			value[q] = gray(depth, q, &s->quarter[q][0]);
			s->quarter[q][1] = s->quarter[q][2] = s->quarter[q][0];
		} else {
			value[q] = (unsigned)c[0] << 24 | (unsigned)c[1] << 16 |
				   (unsigned)c[2] << 8 | 255;
		}
	}
	if (what == ALPHA) {
		/* Nothing to see of the first quarter: white; 2/5 of the second. */
		pixSetSpp(pix, 4);
		value[0] &= 0xffffff00U;
		value[1] = (value[1] & 0xffffff00U) | 102;
		memset(s->quarter[0], 255, 3);
		for (int c = 0; c < 3; c++)
			s->quarter[1][c] = (uint8_t)((colours[1][c] * 2 + 255 * 3 + 2) / 5);
	}
	for (int y = 0; y < T_HEIGHT; y++)
		for (int x = 0; x < T_WIDTH; x++)
			(void)pixSetPixel(pix, x, y, value[quarter_of(x, y)]);
	if (map != NULL)
		(void)pixSetColormap(pix, map);
	return pix;
}

static void jpeg_row(const t_sample *s, int format, int y, uint8_t *row)
{
	for (int x = 0; x < T_WIDTH; x++) {
		const uint8_t *c = s->quarter[quarter_of(x, y)];

		if (format == GRAY_JPEG) {
			row[x] = c[0];
		} else if (format == CMYK) {
			/* Adobe's way: 255 is no ink; no black is used. */
			memcpy(row + 4 * x, c, 3);
			row[4 * x + 3] = 255;
		} else {
			memcpy(row + 3 * x, c, 3);
		}
	}
}

static void write_jpeg(t_sample *s, int format)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	unsigned char *data = NULL;
	unsigned long size = 0;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &data, &size);
	jpeg.image_width = T_WIDTH;
	jpeg.image_height = T_HEIGHT;
	jpeg.input_components = format == GRAY_JPEG ? 1 : format == CMYK ? 4 : 3;
	jpeg.in_color_space = format == GRAY_JPEG ? JCS_GRAYSCALE
			      : format == CMYK    ? JCS_CMYK
						  : JCS_RGB;
	jpeg_set_defaults(&jpeg);
	jpeg_set_quality(&jpeg, 98, TRUE);
	if (format == PROGRESSIVE)
		jpeg_simple_progression(&jpeg);
	jpeg_start_compress(&jpeg, TRUE);
	for (int y = 0; y < T_HEIGHT; y++) {
		uint8_t row[T_WIDTH * 4];
		JSAMPROW rows[1] = { row };

		jpeg_row(s, format, y, row);
		(void)jpeg_write_scanlines(&jpeg, rows, 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	s->data = data;
	s->size = size;
}

static void write_plain_pnm(t_sample *s)
{
	s->data = malloc(64 + (size_t)T_WIDTH * T_HEIGHT * 4);
	need(s->data != NULL, s->name);
	s->size = (size_t)sprintf((char *)s->data, "P2 # a comment\n%d\n%d\n255\n", T_WIDTH,
				  T_HEIGHT);
	for (int y = 0; y < T_HEIGHT; y++)
		for (int x = 0; x < T_WIDTH; x++)
			s->size += (size_t)sprintf((char *)s->data + s->size, "%d\n",
						   s->quarter[quarter_of(x, y)][0]);
}

t_sample t_sample_make(size_t i)
{
	t_sample s = { .name = recipes[i].name, .tolerance = recipes[i].tolerance };
	PIX *pix = picture(&s, recipes[i].depth, recipes[i].kind);
	l_uint8 *data = NULL;

	switch (recipes[i].format) {
	case PLAIN_PNM:
		write_plain_pnm(&s);
		break;
	case CMYK:
	case GRAY_JPEG:
	case PROGRESSIVE:
		write_jpeg(&s, recipes[i].format);
		break;
	case IFF_WEBP:
		need(pixWriteMemWebP(&data, &s.size, pix, 80, 1) == 0, s.name);
		s.data = data;
		break;
	case IFF_JFIF_JPEG:
		need(pixWriteMemJpeg(&data, &s.size, pix, 98, 0) == 0, s.name);
		s.data = data;
		break;
	default:
		need(pixWriteMem(&data, &s.size, pix, recipes[i].format) == 0, s.name);
		s.data = data;
		break;
	}
	pixDestroy(&pix);
	return s;
}

t_sample t_sample_named(const char *name)
{
	for (size_t i = 0; i < t_sample_count(); i++)
		if (strcmp(recipes[i].name, name) == 0)
			return t_sample_make(i);
	need(false, name);
	return (t_sample){ 0 };
}

t_sample t_sample_exif(t_sample jpeg, int orientation, bool big_endian)
{
	/* APP1, its length, "Exif", a TIFF header and a directory of one SHORT field. */
	static const uint8_t little[36] = {
		0xff, 0xe1, 0, 34, 'E', 'x', 'i',  'f', 0, 0, 'I', 'I', 42, 0,
		8,    0,    0, 0,  1,   0,   0x12, 1,   3, 0, 1,   0,   0,  0,
	};
	static const uint8_t big[36] = {
		0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f',  0, 0, 'M', 'M', 0, 42,
		0,    0,    0, 8,  0,   1,   1,   0x12, 0, 3, 0,   0,   0, 1,
	};
	t_sample s = jpeg;

	s.size = jpeg.size + sizeof(little);
	s.data = malloc(s.size);
	need(s.data != NULL, "EXIF");
	memcpy(s.data, jpeg.data, 2);
	memcpy(s.data + 2, big_endian ? big : little, sizeof(little));
	s.data[2 + 28 + (big_endian ? 1 : 0)] = (uint8_t)orientation;
	memcpy(s.data + 2 + sizeof(little), jpeg.data + 2, jpeg.size - 2);
	return s;
}
