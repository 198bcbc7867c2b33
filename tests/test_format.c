/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which a page is written: exact bytes, hostile names, and the drawing. */
#include "config.h"

#include "base/base.h"
#include "base/utf8.h"
#include "ocr/image.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_JANSSON
#include <jansson.h>
#endif

static const psg_line lines[] = {
	{ .text = "Fish & <Chips>\t\"1\"",
	  .confidence = 0.98768F,
	  .box_score = 0.9F,
	  .angle = 0,
	  .quad = { { 10, 20 }, { 110, 20 }, { 110, 40 }, { 10, 40 } } },
	{ .text = "\xe6\xbc\xa2\xe5\xad\x97 \\ x\x01",
	  .confidence = 1,
	  .angle = 2.96F,
	  .quad = { { 10.5F, 60 }, { 110, 65.25F }, { 109, 85 }, { 9, 80 } } },
};

static const psg_page page = {
	.width = 160,
	.height = 100,
	.index = 2,
	.count = 3,
	.device = "cpu",
	.fallback = "no NVIDIA GPU found",
	.n_lines = 2,
	.lines = lines,
	.times = { .decode_ms = 1.23456, .detect_ms = 200, .total_ms = 12345.6789 },
};

static const psg_page blank = {
	.width = 1, .height = 1, .count = 1, .device = "cpu", .fallback = ""
};

static char *written(const psg_page *p, const char *name, psg_format format)
{
	psg_error error = PSG_ERROR_INIT;
	char *out;

	ck_assert_msg(psg_page_format(p, name, format, &out, &error) == PSG_OK, "%s",
		      error.message);
	return out;
}

START_TEST(text)
{
	char *out = written(&page, "a.png", PSG_FORMAT_TEXT);

	ck_assert_str_eq(out, "Fish & <Chips>\t\"1\"\n\xe6\xbc\xa2\xe5\xad\x97 \\ x\x01\n");
	free(out);
	out = written(&blank, "a.png", PSG_FORMAT_TEXT);
	ck_assert_str_eq(out, "");
	free(out);
}
END_TEST

START_TEST(tsv)
{
	char *out = written(&page, "a\tb\n\xff.png", PSG_FORMAT_TSV);

	ck_assert_str_eq(
		out, "a\\tb\\n\xff.png\t2\t0\t0.9877\t0.0\t10\t20\t110\t20\t110\t40\t10\t40\t"
		     "Fish & <Chips>\\t\"1\"\n"
		     "a\\tb\\n\xff.png\t2\t1\t1.0000\t3.0\t10.5\t60\t110\t65.25\t109\t85\t9\t80\t"
		     "\xe6\xbc\xa2\xe5\xad\x97 \\\\ x\x01\n");
	free(out);
}
END_TEST

START_TEST(hocr)
{
	char *out = written(&page, "a \"b\" & <c>'\\\xff\x02\n.png", PSG_FORMAT_HOCR);

	ck_assert_ptr_nonnull(strstr(
		out, "title=\"image &quot;a \\&quot;b\\&quot; &amp; &lt;c&gt;&#39;\\\\\xef\xbf\xbd"
		     "\xef\xbf\xbd&#10;.png&quot;; bbox 0 0 160 100; ppageno 2\""));
	ck_assert_ptr_nonnull(strstr(out, "title=\"bbox 10 20 110 40\">"));
	ck_assert_ptr_nonnull(strstr(out, "x_wconf 99\">Fish &amp; &lt;Chips&gt;\t&quot;1&quot;<"));
	/* Counter-clockwise, the outermost whole pixels, and no control characters. */
	ck_assert_ptr_nonnull(strstr(out, "title=\"bbox 9 60 110 85; textangle -3.0\""));
	ck_assert_ptr_nonnull(strstr(out, " \\ x\xef\xbf\xbd</span>"));
	ck_assert_ptr_null(strchr(out, '\x01'));
	ck_assert_str_eq(out + strlen(out) - 8, "</html>\n");
	free(out);
}
END_TEST

#if HAVE_JANSSON

START_TEST(json)
{
	char *out = written(&page, "a\"\n.png", PSG_FORMAT_JSON);

	ck_assert_str_eq(
		out, "{\"file\":\"a\\\"\\n.png\",\"page\":2,\"width\":160,\"height\":100,"
		     "\"device\":\"cpu\",\"fallback\":\"no NVIDIA GPU found\",\"lines\":["
		     "{\"text\":\"Fish & <Chips>\\t\\\"1\\\"\",\"confidence\":0.9877,"
		     "\"quad\":[[10,20],[110,20],[110,40],[10,40]],\"angle\":0},"
		     "{\"text\":\"\xe6\xbc\xa2\xe5\xad\x97 \\\\ x\\u0001\",\"confidence\":1,"
		     "\"quad\":[[10.5,60],[110,65.25],[109,85],[9,80]],\"angle\":3}],"
		     "\"timings_ms\":{\"decode\":1.235,\"detect\":200,\"boxes\":0,\"direction\":0,"
		     "\"recognise\":0,\"total\":12345.679},\"error\":null}\n");
	free(out);
	out = written(&blank, NULL, PSG_FORMAT_JSON);
	ck_assert_ptr_nonnull(strstr(out, "{\"file\":\"\",\"page\":0,"));
	ck_assert_ptr_nonnull(strstr(out, "\"fallback\":null,\"lines\":[],"));
	free(out);
}
END_TEST

/* Names of every two bytes: always one line of valid JSON. */
START_TEST(json_of_any_name)
{
	for (int byte = 1; byte < 256; byte++)
		for (int next = 1; next < 256; next += 7) {
			char name[4] = { (char)byte, (char)next, 'x', 0 };
			char *out = written(&blank, name, PSG_FORMAT_JSON);
			json_t *object = json_loads(out, 0, NULL);

			ck_assert_msg(json_is_object(object), "%02x %02x: %s", byte, next, out);
			ck_assert_ptr_eq(strchr(out, '\n'), out + strlen(out) - 1);
			json_decref(object);
			free(out);
		}
}
END_TEST

START_TEST(json_of_a_failure)
{
	static const psg_error failure = { PSG_FORMAT, "not \"it\"" };
	psg_error error = PSG_ERROR_INIT;
	char *out;

	ck_assert_int_eq(
		psg_document_failure(PSG_FORMAT_JSON, &failure, "b\xc3.png", 1, 3, &out, &error),
		PSG_OK);
	ck_assert_str_eq(out, "{\"file\":\"b\xef\xbf\xbd.png\",\"page\":1,\"width\":null,"
			      "\"height\":null,\"device\":null,\"fallback\":null,\"lines\":[],"
			      "\"timings_ms\":null,\"error\":"
			      "{\"code\":\"FORMAT\",\"message\":\"not \\\"it\\\"\"}}\n");
	free(out);
	ck_assert_int_eq(psg_document_failure(PSG_FORMAT_JSON, &failure, "b", -1, 3, &out, &error),
			 PSG_OK);
	ck_assert_ptr_nonnull(strstr(out, "{\"file\":\"b\",\"page\":null,"));
	free(out);
}
END_TEST

/* Numbers of nobody's making still give valid JSON. */
START_TEST(json_of_strange_numbers)
{
	psg_line line = { .text = "x", .confidence = NAN, .angle = INFINITY };
	psg_page p = blank;
	json_t *object;
	char *out;

	p.lines = &line;
	p.n_lines = 1;
	out = written(&p, "x", PSG_FORMAT_JSON);
	object = json_loads(out, 0, NULL);
	ck_assert(json_is_object(object));
	json_decref(object);
	free(out);
}
END_TEST

#endif

/* Begin, a page, a page that failed, a blank one, end: for the caller to free(). */
static char *document(psg_format format, const psg_error *failure)
{
	char *part[5] = { NULL }, *whole = calloc(1, 1 << 16);
	size_t used = 0;

	ck_assert_ptr_nonnull(whole);
	ck_assert_int_eq(psg_document_begin(format, "a & b", &part[0], NULL), PSG_OK);
	ck_assert_int_eq(psg_document_page(format, &page, "a", 1, &part[1], NULL), PSG_OK);
	ck_assert_int_eq(psg_document_failure(format, failure, "b", -1, 2, &part[2], NULL), PSG_OK);
	ck_assert_int_eq(psg_document_page(format, &blank, "c", 3, &part[3], NULL), PSG_OK);
	ck_assert_int_eq(psg_document_end(format, &part[4], NULL), PSG_OK);
	for (int i = 0; i < 5; i++) {
		size_t n = strlen(part[i]);

		ck_assert_uint_lt(used + n, 1 << 16);
		memcpy(whole + used, part[i], n);
		used += n;
		free(part[i]);
	}
	return whole;
}

static size_t count(const char *in, const char *word)
{
	size_t n = 0;

	for (const char *at = in; (at = strstr(at, word)) != NULL; at++)
		n++;
	return n;
}

START_TEST(text_document)
{
	static const psg_error failure = { PSG_FORMAT, "no" };
	char *out = document(PSG_FORMAT_TEXT, &failure);

	/* Pages end at empty lines, those without text too. */
	ck_assert_str_eq(out, "Fish & <Chips>\t\"1\"\n\xe6\xbc\xa2\xe5\xad\x97 \\ x\x01\n\n\n");
	free(out);
}
END_TEST

START_TEST(tsv_document)
{
	static const psg_error failure = { PSG_FORMAT, "no" };
	char *out = document(PSG_FORMAT_TSV, &failure),
	     *alone = written(&page, "a", PSG_FORMAT_TSV);

	ck_assert_str_eq(out, alone);
	free(alone);
	free(out);
}
END_TEST

START_TEST(hocr_document)
{
	static const psg_error failure = { PSG_FORMAT, "a --> b <c>\xff" };
	char *out = document(PSG_FORMAT_HOCR, &failure);

	ck_assert_uint_eq(count(out, "<?xml"), 1);
	ck_assert_uint_eq(count(out, "</html>"), 1);
	ck_assert_uint_eq(count(out, "class=\"ocr_page\""), 3);
	ck_assert_ptr_nonnull(strstr(out, "<title>a &amp; b</title>"));
	ck_assert_ptr_nonnull(strstr(out, "id=\"line_1_2\""));
	ck_assert_ptr_nonnull(strstr(out, "id=\"page_2\" title=\"image &quot;b&quot;\">\n   <!-- "
					  "FORMAT: a __&gt; b &lt;c&gt;\xef\xbf\xbd -->\n"));
	ck_assert_ptr_nonnull(strstr(out, "id=\"page_3\""));
	ck_assert_str_eq(out + strlen(out) - 8, "</html>\n");
	free(out);
}
END_TEST

START_TEST(refusals)
{
	psg_error error = PSG_ERROR_INIT;
	char *out;

	ck_assert_int_eq(psg_page_format(NULL, "x", PSG_FORMAT_TEXT, &out, &error), PSG_INVALID);
	ck_assert_int_eq(psg_page_format(&page, "x", (psg_format)9, &out, &error), PSG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "no format 9"));
	ck_assert_int_eq(psg_document_begin((psg_format)9, "x", &out, &error), PSG_INVALID);
	ck_assert_int_eq(psg_document_end((psg_format)9, &out, &error), PSG_INVALID);
	ck_assert_int_eq(psg_document_page(PSG_FORMAT_TEXT, NULL, "x", 1, &out, &error),
			 PSG_INVALID);
	ck_assert_int_eq(psg_document_failure(PSG_FORMAT_TEXT, NULL, "x", 0, 1, &out, &error),
			 PSG_INVALID);
#if !HAVE_JANSSON
	ck_assert_int_eq(psg_page_format(&page, "x", PSG_FORMAT_JSON, &out, &error),
			 PSG_UNSUPPORTED);
	ck_assert_int_eq(psg_document_begin(PSG_FORMAT_JSON, "x", &out, &error), PSG_UNSUPPORTED);
#endif
}
END_TEST

START_TEST(utf8)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc1\xbf!", "\xef\xbf\xbd\xef\xbf\xbd!" },
		{ "\xe0\x9f\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe6\xbc", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf0\x9f\x98\x80\xf0", "\xf0\x9f\x98\x80\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *out = psgi_utf8_clean(rows[i].in);

		ck_assert_ptr_nonnull(out);
		ck_assert_msg(strcmp(out, rows[i].out) == 0, "row %zu", i);
		free(out);
	}
}
END_TEST

#if HAVE_PNG

/* A white page as PNM. */
static size_t white(char *file, size_t room)
{
	size_t head = (size_t)snprintf(file, room, "P5 %d %d 255\n", page.width, page.height);
	size_t pixels = (size_t)page.width * (size_t)page.height;

	ck_assert_uint_le(head + pixels, room);
	memset(file + head, 255, pixels);
	return head + pixels;
}

START_TEST(drawing)
{
	char file[20000];
	size_t size = white(file, sizeof(file)), png_size, inked = 0;
	psg_error error = PSG_ERROR_INIT;
	psg_page first = page;
	psgi_image *image;
	void *png;

	first.index = 0;
	ck_assert_msg(psg_page_draw(&first, file, size, &png, &png_size, &error) == PSG_OK, "%s",
		      error.message);
	ck_assert_int_eq(psgi_image_decode(png, png_size, 0, 0, &image, &error), PSG_OK);
	ck_assert(image->width == 160 && image->height == 100);
	/* The first box's edge in its colour, its inside tinted, the page's corner untouched. */
	ck_assert_int_lt(psgi_row(image, 20)[3 * 60], 60);
	ck_assert_int_gt(psgi_row(image, 30)[3 * 60], 180);
	ck_assert_int_lt(psgi_row(image, 30)[3 * 60], 255);
	ck_assert_int_eq(psgi_row(image, 99)[3 * 159], 255);
	/* Its number's tag lies left of it. */
	for (int x = 0; x < 9; x++)
		inked += psgi_row(image, 26)[3 * x] < 100;
	ck_assert_uint_gt(inked, 3);
	psgi_image_free(image);
	free(png);
}
END_TEST

START_TEST(drawing_of_strange_quads)
{
	char file[20000];
	size_t size = white(file, sizeof(file)), png_size;
	psg_line strange[3] = { lines[0], lines[0], lines[0] };
	psg_page p = page;
	psg_error error = PSG_ERROR_INIT;
	void *png;

	strange[0].quad[1].x = NAN;
	strange[1].quad[2].y = INFINITY;
	strange[2].quad[0].x = -1e30F;
	p.lines = strange;
	p.n_lines = 3;
	p.index = 0;
	ck_assert_int_eq(psg_page_draw(&p, file, size, &png, &png_size, &error), PSG_OK);
	free(png);
	/* Another image than the one that was read. */
	p.width = 159;
	ck_assert_int_eq(psg_page_draw(&p, file, size, &png, &png_size, &error), PSG_FORMAT);
	p.width = 200;
	ck_assert_int_eq(psg_page_draw(&p, file, size, &png, &png_size, &error), PSG_INVALID);
	ck_assert_ptr_null(png);
}
END_TEST

#endif

int main(void)
{
	Suite *suite = suite_create("format");
	TCase *all = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(all, text);
	tcase_add_test(all, tsv);
	tcase_add_test(all, hocr);
	tcase_add_test(all, text_document);
	tcase_add_test(all, tsv_document);
	tcase_add_test(all, hocr_document);
#if HAVE_JANSSON
	tcase_add_test(all, json);
	tcase_add_test(all, json_of_any_name);
	tcase_add_test(all, json_of_a_failure);
	tcase_add_test(all, json_of_strange_numbers);
#endif
	tcase_add_test(all, refusals);
	tcase_add_test(all, utf8);
#if HAVE_PNG
	tcase_add_test(all, drawing);
	tcase_add_test(all, drawing_of_strange_quads);
#endif
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
