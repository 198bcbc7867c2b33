/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding: every format and depth, orientation, limits, and files that are not what they claim. */
#include "config.h"

#include "image_samples.h"
#include "ocr/image.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <leptonica/allheaders.h>

/* The quarter that shows at corner `corner` of a picture turned by an orientation. */
static const int shown[9][4] = {
	[1] = { 0, 1, 2, 3 }, [2] = { 1, 0, 3, 2 }, [3] = { 3, 2, 1, 0 }, [4] = { 2, 3, 0, 1 },
	[5] = { 0, 2, 1, 3 }, [6] = { 2, 0, 3, 1 }, [7] = { 3, 1, 2, 0 }, [8] = { 1, 3, 0, 2 },
};

static void check_picture(const psgi_image *image, const t_sample *s, int orientation)
{
	int w = orientation >= 5 ? T_HEIGHT : T_WIDTH, h = orientation >= 5 ? T_WIDTH : T_HEIGHT;

	ck_assert_msg(image->width == w && image->height == h, "%s: %dx%d", s->name, image->width,
		      image->height);
	for (int corner = 0; corner < 4; corner++) {
		const uint8_t *want = s->quarter[shown[orientation][corner]];
		int x = corner & 1 ? w - 4 : 3, y = corner & 2 ? h - 4 : 3;
		const uint8_t *got = psgi_row(image, y) + (size_t)x * 3;

		for (int c = 0; c < 3; c++)
			ck_assert_msg(abs(got[c] - want[c]) <= s->tolerance,
				      "%s, orientation %d, corner %d: %d %d %d, not %d %d %d",
				      s->name, orientation, corner, got[0], got[1], got[2], want[0],
				      want[1], want[2]);
	}
}

/* A copy whose end is the end of its allocation, so that ASan sees one byte too many. */
static uint8_t *exact(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + (size == 0));

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, data, size);
	return copy;
}

START_TEST(every_format)
{
	t_sample s = t_sample_make((size_t)_i);
	uint8_t *copy = exact(s.data, s.size);
	psg_error error = PSG_ERROR_INIT;
	psgi_image *image;
	int32_t pages;

	ck_assert_msg(psgi_image_decode(copy, s.size, 0, 0, &image, &error) == PSG_OK, "%s: %s",
		      s.name, error.message);
	check_picture(image, &s, 1);
	ck_assert_int_eq(psg_image_pages(copy, s.size, &pages, &error), PSG_OK);
	ck_assert_int_eq(pages, 1);
	psgi_image_free(image);
	free(copy);
	free(s.data);
}
END_TEST

/* Cut anywhere, a file is an error with a message, and never half a picture. */
START_TEST(every_format_truncated)
{
	t_sample s = t_sample_make((size_t)_i);
	size_t step = s.size / 60 + 1;

	for (size_t size = 0; size < s.size; size += size + 40 < s.size ? step : 1) {
		uint8_t *copy = exact(s.data, size);
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;
		psg_status status = psgi_image_decode(copy, size, 0, 0, &image, &error);

		/* A TIFF may end with its resolution, a plain PNM with a newline. */
		if (status == PSG_OK && size + 16 >= s.size)
			check_picture(image, &s, 1);
		else
			ck_assert_msg(status == PSG_FORMAT, "%s cut to %zu of %zu: %s %s", s.name,
				      size, s.size, psg_status_name(status), error.message);
		ck_assert(status == PSG_OK || error.message[0] != '\0');
		psgi_image_free(image);
		free(copy);
	}
	free(s.data);
}
END_TEST

/* Damaged files give a picture or an error; ASan and UBSan judge the rest. */
START_TEST(every_format_damaged)
{
	t_sample s = t_sample_make((size_t)_i);
	uint32_t random = 12345;

	ck_assert_uint_gt(s.size, 0);
	for (int round = 0; round < 60; round++) {
		uint8_t *copy = exact(s.data, s.size);
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;
		psg_status status;

		for (int flip = 0; flip <= round % 4; flip++) {
			random = random * 1664525 + 1013904223;
			/* Half of the damage in the first bytes, where the numbers are. */
			copy[(random >> 8) % (round & 1 && s.size > 100 ? 100 : s.size)] ^=
				(uint8_t)(1U << (random >> 5 & 7));
		}
		status = psgi_image_decode(copy, s.size, 0, 1 << 20, &image, &error);
		ck_assert((status == PSG_OK) == (image != NULL));
		ck_assert(status == PSG_OK || error.message[0] != '\0');
		ck_assert(status == PSG_OK || status == PSG_FORMAT || status == PSG_UNSUPPORTED ||
			  status == PSG_INVALID);
		psgi_image_free(image);
		free(copy);
	}
	free(s.data);
}
END_TEST

START_TEST(exif_orientation)
{
	t_sample jpeg = t_sample_named("jpeg rgb"), s;
	psg_error error = PSG_ERROR_INIT;
	psgi_image *image;

	for (int big = 0; big < 2; big++) {
		s = t_sample_exif(jpeg, _i, big != 0);
		ck_assert_msg(psgi_image_decode(s.data, s.size, 0, 0, &image, &error) == PSG_OK,
			      "%s", error.message);
		check_picture(image, &s, _i);
		psgi_image_free(image);
		free(s.data);
	}
	free(jpeg.data);
}
END_TEST

/* Where the value of a field of the only directory of a little-endian TIFF lies. */
static uint8_t *tiff_field(t_sample *s, unsigned tag)
{
	size_t at = s->data[4] | (size_t)s->data[5] << 8 | (size_t)s->data[6] << 16;
	size_t n = s->data[at] | (size_t)s->data[at + 1] << 8;

	for (size_t i = 0; i < n; i++) {
		uint8_t *entry = s->data + at + 2 + 12 * i;

		if ((entry[0] | (unsigned)entry[1] << 8) == tag)
			return entry + 8;
	}
	ck_abort_msg("%s has no field %u", s->name, tag);
	return NULL;
}

START_TEST(tiff_orientation)
{
	static const char *const names[] = { "tiff 1 bit g4", "tiff 8 bits",  "tiff 16 bits",
					     "tiff palette",  "tiff rgb lzw", "tiff alpha" };

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		t_sample s = t_sample_named(names[k]);
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;

		tiff_field(&s, 274)[0] = (uint8_t)_i;
		ck_assert_msg(psgi_image_decode(s.data, s.size, 0, 0, &image, &error) == PSG_OK,
			      "%s: %s", s.name, error.message);
		check_picture(image, &s, _i);
		psgi_image_free(image);
		free(s.data);
	}
}
END_TEST

START_TEST(tiff_pages)
{
	PIXA *pixa = pixaCreate(3);
	l_uint8 *data;
	size_t size;
	psg_error error = PSG_ERROR_INIT;
	int32_t pages;

	for (int i = 0; i < 3; i++)
		(void)pixaAddPix(pixa, pixCreate(20 + i, 10, 8), L_INSERT);
	ck_assert_int_eq(pixaWriteMemMultipageTiff(&data, &size, pixa), 0);
	pixaDestroy(&pixa);
	ck_assert_int_eq(psg_image_pages(data, size, &pages, &error), PSG_OK);
	ck_assert_int_eq(pages, 3);
	for (int i = 0; i < 3; i++) {
		psgi_image *image;

		ck_assert_int_eq(psgi_image_decode(data, size, i, 0, &image, &error), PSG_OK);
		ck_assert_int_eq(image->width, 20 + i);
		psgi_image_free(image);
	}
	for (int page = -1; page <= 3; page += 4) {
		psgi_image *image;

		ck_assert_int_eq(psgi_image_decode(data, size, page, 0, &image, &error),
				 PSG_INVALID);
		ck_assert_ptr_null(image);
	}
	ck_assert_ptr_nonnull(strstr(error.message, "page 3 of a file with 3"));
	free(data);
}
END_TEST

/* Most writers put the pixels last, where a cut does not touch the directory. */
START_TEST(tiff_with_its_pixels_last)
{
	/* 8 x 4 pixels of 8 bits in one strip at 86, uncompressed. */
	static const uint8_t head[86] = {
		'I',  'I', 42, 0, 8, 0, 0, 0, 6,  0, 0, 1, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0, /* width */
		1,    1,   3,  0, 1, 0, 0, 0, 4,  0, 0, 0, /* height */
		2,    1,   3,  0, 1, 0, 0, 0, 8,  0, 0, 0, /* bits */
		6,    1,   3,  0, 1, 0, 0, 0, 1,  0, 0, 0, /* 0 is black */
		0x11, 1,   4,  0, 1, 0, 0, 0, 86, 0, 0, 0, /* strip */
		0x17, 1,   4,  0, 1, 0, 0, 0, 32, 0, 0, 0, /* its bytes */
		0,    0,   0,  0,
	};

	for (size_t size = sizeof(head); size <= sizeof(head) + 32; size++) {
		uint8_t whole[sizeof(head) + 32], *copy;
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;
		psg_status status;

		memcpy(whole, head, sizeof(head));
		for (size_t i = 0; i < 32; i++)
			whole[sizeof(head) + i] = (uint8_t)(i * 7);
		copy = exact(whole, size);
		status = psgi_image_decode(copy, size, 0, 0, &image, &error);
		if (size == sizeof(whole)) {
			ck_assert_msg(status == PSG_OK, "%s", error.message);
			for (int y = 0; y < 4; y++)
				for (int x = 0; x < 8; x++)
					ck_assert_int_eq(psgi_row(image, y)[3 * x + 1],
							 (y * 8 + x) * 7);
		} else {
			ck_assert_int_eq(status, PSG_FORMAT);
			ck_assert_ptr_nonnull(strstr(error.message, "truncated"));
		}
		psgi_image_free(image);
		free(copy);
	}
}
END_TEST

START_TEST(tiff_list_that_bites_its_tail)
{
	t_sample s = t_sample_named("tiff 8 bits");
	size_t at = s.data[4] | (size_t)s.data[5] << 8 | (size_t)s.data[6] << 16;
	size_t n = s.data[at] | (size_t)s.data[at + 1] << 8;
	psg_error error = PSG_ERROR_INIT;
	int32_t pages;

	memcpy(s.data + at + 2 + 12 * n, s.data + 4, 4);
	ck_assert_int_eq(psg_image_pages(s.data, s.size, &pages, &error), PSG_FORMAT);
	free(s.data);
}
END_TEST

/* Sets a big- or little-endian number in a file. */
static void put(uint8_t *at, uint32_t value, int bytes, bool big)
{
	for (int i = 0; i < bytes; i++)
		at[big ? bytes - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

/* A valid file of the format whose header claims 60000x60000. */
static t_sample claims_much(int format)
{
	static const char *const names[] = { "png rgb", "jpeg rgb",    "tiff rgb",
					     "bmp rgb", "gif palette", "pnm rgb" };
	t_sample s = t_sample_named(names[format]);
	size_t at;

	switch (format) {
	case 0:
		put(s.data + 16, 60000, 4, true);
		put(s.data + 20, 60000, 4, true);
		break;
	case 1:
		for (at = 2; s.data[at + 1] != 0xc0; at += 2 + s.data[at + 3])
			ck_assert_uint_lt(at, s.size - 10);
		put(s.data + at + 5, 60000, 2, true);
		put(s.data + at + 7, 60000, 2, true);
		break;
	case 2:
		put(tiff_field(&s, 256), 60000, 2, false);
		put(tiff_field(&s, 257), 60000, 2, false);
		break;
	case 3:
		put(s.data + 18, 60000, 4, false);
		put(s.data + 22, 60000, 4, false);
		break;
	case 4: /* the screen */
		put(s.data + 6, 60000, 2, false);
		put(s.data + 8, 60000, 2, false);
		break;
	default:
		s.size = (size_t)snprintf((char *)s.data, s.size, "P6 60000 60000 255\nxxx");
		break;
	}
	return s;
}

START_TEST(header_bomb)
{
	t_sample s = claims_much(_i);
	psg_error error = PSG_ERROR_INIT;
	psgi_image *image;

	ck_assert_int_eq(psgi_image_decode(s.data, s.size, 0, 0, &image, &error), PSG_FORMAT);
	ck_assert_ptr_null(image);
	ck_assert_msg(strstr(error.message, "60000x60000") != NULL &&
			      strstr(error.message, "178956970") != NULL,
		      "%s", error.message);
	free(s.data);
}
END_TEST

START_TEST(pixel_limit_is_exact)
{
	for (size_t i = 0; i < t_sample_count(); i++) {
		t_sample s = t_sample_make(i);
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;

		ck_assert_int_eq(psgi_image_decode(s.data, s.size, 0, T_WIDTH * T_HEIGHT - 1,
						   &image, &error),
				 PSG_FORMAT);
		ck_assert_msg(psgi_image_decode(s.data, s.size, 0, T_WIDTH * T_HEIGHT, &image,
						&error) == PSG_OK,
			      "%s: %s", s.name, error.message);
		psgi_image_free(image);
		free(s.data);
	}
}
END_TEST

#define BYTES(text) text, sizeof(text) - 1

START_TEST(not_images)
{
	static const struct {
		const char *data;
		size_t size;
		const char *says;
	} rows[] = {
		{ BYTES(""), "empty" },
		{ BYTES("Dear Sir,\nplease find attached"), "this is text" },
		{ BYTES("P"), "text" },
		{ BYTES("PK\3\4\0\0\0\0"), "starts with 50 4b 03 04" },
		{ BYTES("\x89PNG\r\n\x1a\n"), "truncated" },
		{ BYTES("\xff\xd8\xff"), "JPEG" },
		{ BYTES("II*\0"), "TIFF" },
		{ BYTES("II*\0\x08\0\0\0\xff\xff"), "TIFF" },
		{ BYTES("RIFF\x10\0\0\0WEBPVP8 "), "WebP" },
		{ BYTES("GIF89a"), "GIF" },
		{ BYTES("BM\1\0\0"), "starts with 42 4d 01" },
		{ BYTES("P6\n0 5\n255\n"), "0x5" },
		{ BYTES("P6\n5 5\n255\nabc"), "truncated" },
		{ BYTES("P5\n5 5\n0\n"), "header" },
		{ BYTES("P4\n70000 1\n"), "70000x1" },
		{ BYTES("P3\n2 2\n255\n1 2 x"), "PNM" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *copy = exact((const uint8_t *)rows[i].data, rows[i].size);
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;

		ck_assert_int_eq(psgi_image_decode(copy, rows[i].size, 0, 0, &image, &error),
				 PSG_FORMAT);
		ck_assert_msg(strstr(error.message, rows[i].says) != NULL, "row %zu: %s", i,
			      error.message);
		free(copy);
	}
}
END_TEST

START_TEST(odd_sizes)
{
	static const int sides[][2] = { { 1, 1 }, { 20000, 40 }, { 40, 20000 }, { 1, 3000 } };

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		PIX *pix = pixCreate(sides[i][0], sides[i][1], 8);
		l_uint8 *data;
		size_t size;
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;

		ck_assert_int_eq(pixWriteMem(&data, &size, pix, IFF_PNG), 0);
		ck_assert_int_eq(psgi_image_decode(data, size, 0, 0, &image, &error), PSG_OK);
		ck_assert_int_eq(image->width, sides[i][0]);
		ck_assert_int_eq(image->height, sides[i][1]);
		psgi_image_free(image);
		pixDestroy(&pix);
		free(data);
	}
}
END_TEST

START_TEST(random_bytes)
{
	static const char heads[][9] = { "\x89PNG\r\n\x1a\n",
					 "\xff\xd8\xff\xe0",
					 "II*\0",
					 "MM\0*",
					 "GIF89a",
					 "BM",
					 "RIFF",
					 "P6\n",
					 "P1 " };
	uint32_t random = 99;

	for (int round = 0; round < 400; round++) {
		uint8_t data[300];
		size_t size = 30 + (size_t)round % 270;
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;
		int32_t pages;
		uint8_t *copy;

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
		memcpy(data, heads[round % 9], 4);
		copy = exact(data, size);
		(void)psgi_image_decode(copy, size, 0, 1 << 20, &image, &error);
		(void)psg_image_pages(copy, size, &pages, &error);
		psgi_image_free(image);
		free(copy);
	}
}
END_TEST

START_TEST(turns)
{
	t_sample s = t_sample_named("png rgb");
	static const int orientation[4] = { 1, 6, 3, 8 };
	psg_error error = PSG_ERROR_INIT;
	psgi_image *image, *turned;

	ck_assert_int_eq(psgi_image_decode(s.data, s.size, 0, 0, &image, &error), PSG_OK);
	for (int q = 0; q < 4; q++) {
		ck_assert_int_eq(psgi_image_turn(image, q, &turned, &error), PSG_OK);
		check_picture(turned, &s, orientation[q]);
		psgi_image_free(turned);
	}
	psgi_image_free(image);
	free(s.data);
}
END_TEST

/* Transparent GIF pixels are white, and only the first picture of an animation counts. */
START_TEST(gif_details)
{
	t_sample s = t_sample_named("gif palette");
	/* Graphic control: colour 0 is transparent. */
	static const uint8_t control[8] = { 0x21, 0xf9, 4, 1, 0, 0, 0, 0 };
	size_t at = 13 + ((size_t)3 << ((s.data[10] & 7) + 1)), size = s.size + 8 + 10;
	uint8_t *data = malloc(size);
	psg_error error = PSG_ERROR_INIT;
	psgi_image *image;

	ck_assert_ptr_nonnull(data);
	memcpy(data, s.data, at);
	memcpy(data + at, control, 8);
	memcpy(data + at + 8, s.data + at, s.size - at - 1);
	/* A second picture of 65535 x 65535 without data. */
	memcpy(data + s.size + 7, "\x2c\0\0\0\0\xff\xff\xff\xff\0\2", 11);
	ck_assert_msg(psgi_image_decode(data, size, 0, 0, &image, &error) == PSG_OK, "%s",
		      error.message);
	memset(s.quarter[0], 255, 3);
	check_picture(image, &s, 1);
	psgi_image_free(image);
	free(data);
	free(s.data);
}
END_TEST

/* Kinds that no writer at hand makes, 3 x 2 pixels. */
START_TEST(bmp_kinds)
{
	static const struct {
		int32_t height;
		uint32_t header, bits, compression, mask[4], pixels[3]; /* red, green, blue */
		psg_status status;
	} rows[] = {
		{ 2, 40, 32, 0, { 0 }, { 0xff0000, 0xff00, 0xff }, PSG_OK },
		{ -2, 40, 32, 0, { 0 }, { 0xff0000, 0xff00, 0xff }, PSG_OK },
		{ 2, 40, 16, 0, { 0 }, { 0x7c00, 0x3e0, 0x1f }, PSG_OK },
		{ 2, 40, 16, 3, { 0xf800, 0x7e0, 0x1f }, { 0xf800, 0x7e0, 0x1f }, PSG_OK },
		{ 2,
		  124,
		  32,
		  3,
		  { 0xff, 0xff00, 0xff0000, 0xff000000 },
		  { 0xff0000ff, 0xff00ff00, 0xffff0000 },
		  PSG_OK },
		/* Alpha of 0 throughout is no alpha. */
		{ 2,
		  124,
		  32,
		  3,
		  { 0xff, 0xff00, 0xff0000, 0xff000000 },
		  { 0xff, 0xff00, 0xff0000 },
		  PSG_OK },
		{ 2, 40, 8, 1, { 0 }, { 0 }, PSG_UNSUPPORTED },
		{ 2, 12, 24, 0, { 0 }, { 0 }, PSG_UNSUPPORTED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t file[256] = "BM", *copy;
		size_t at = 14 + rows[i].header +
			    (rows[i].header == 40 && rows[i].compression ? 12 : 0);
		size_t bytes = rows[i].bits / 8;
		psg_error error = PSG_ERROR_INIT;
		psgi_image *image;
		psg_status status;

		put(file + 10, (uint32_t)at, 4, false);
		put(file + 14, rows[i].header, 4, false);
		put(file + 18, 3, 4, false);
		put(file + 22, (uint32_t)rows[i].height, 4, false);
		put(file + 28, rows[i].bits, 2, false);
		put(file + 30, rows[i].compression, 4, false);
		for (size_t c = 0; rows[i].compression == 3 && c < (rows[i].header > 40 ? 4 : 3);
		     c++)
			put(file + 54 + 4 * c, rows[i].mask[c], 4, false);
		/* The first stored row has the three colours, the second is black. */
		for (size_t x = 0; x < 3; x++)
			put(file + at + x * bytes, rows[i].pixels[x], (int)bytes, false);
		at += 2 * ((3 * rows[i].bits + 31) / 32 * 4);
		copy = exact(file, at > 70 ? at : 70);
		status = psgi_image_decode(copy, at > 70 ? at : 70, 0, 0, &image, &error);
		ck_assert_msg(status == rows[i].status, "row %zu: %s", i, error.message);
		for (int x = 0; status == PSG_OK && x < 9; x++) {
			int y = rows[i].height > 0 ? 1 : 0;

			ck_assert_msg(psgi_row(image, y)[x] == (x % 4 == 0 ? 255 : 0),
				      "row %zu: %d", i, x);
		}
		psgi_image_free(image);
		free(copy);
	}
}
END_TEST

/* Decodes every sample; all of them must come out as they are. */
static void *decode_all(void *rounds)
{
	for (int round = 0; round < *(const int *)rounds; round++)
		for (size_t i = 0; i < t_sample_count(); i++) {
			t_sample s = t_sample_make(i);
			psg_error error = PSG_ERROR_INIT;
			psgi_image *image;

			ck_assert_msg(psgi_image_decode(s.data, s.size, 0, 0, &image, &error) ==
					      PSG_OK,
				      "%s: %s", s.name, error.message);
			check_picture(image, &s, 1);
			psgi_image_free(image);
			free(s.data);
		}
	return NULL;
}

START_TEST(many_threads)
{
	int rounds = 4;
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, decode_all, &rounds), 0);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image");
	TCase *files = tcase_create("files"), *details = tcase_create("details");
	SRunner *runner;
	int failed, n = (int)t_sample_count();

	tcase_set_timeout(files, 60);
	tcase_set_timeout(details, 60);
	tcase_add_loop_test(files, every_format, 0, n);
	tcase_add_loop_test(files, every_format_truncated, 0, n);
	tcase_add_loop_test(files, every_format_damaged, 0, n);
	tcase_add_test(files, not_images);
	tcase_add_test(files, random_bytes);
	tcase_add_loop_test(files, header_bomb, 0, 6);
	tcase_add_test(files, pixel_limit_is_exact);
	suite_add_tcase(suite, files);
	tcase_add_loop_test(details, exif_orientation, 1, 9);
	tcase_add_loop_test(details, tiff_orientation, 1, 9);
	tcase_add_test(details, tiff_pages);
	tcase_add_test(details, tiff_with_its_pixels_last);
	tcase_add_test(details, tiff_list_that_bites_its_tail);
	tcase_add_test(details, odd_sizes);
	tcase_add_test(details, turns);
	tcase_add_test(details, gif_details);
	tcase_add_test(details, bmp_kinds);
	tcase_add_test(details, many_threads);
	suite_add_tcase(suite, details);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
