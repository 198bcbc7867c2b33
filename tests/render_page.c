/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders a page of text whose truth is known: UTF-8 from standard input, one line of the page a
 * line (an empty line leaves a gap), to a PNG.  The same options give the same pixels on the same
 * fonts; noise comes from a generator of its own.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 65536 /* bytes; a page is a few thousand */
#define MAX_SIDE 20000 /* pixels; cairo's own limit is 32767 */
#define PI 3.14159265358979323846

typedef struct options {
	const char *out, *font;
	double dpi, rotate, noise, blur, spacing;
	uint64_t seed;
	bool invert, table;
} options;

/* Grey, row by row without padding: what noise and blur work on. */
typedef struct picture {
	int width, height;
	uint8_t *grey;
} picture;

static const char usage[] =
	"usage: render_page --out FILE.png [options] < TEXT\n"
	"  --font \"NAME SIZE\"  size in points (DejaVu Sans 12)\n"
	"  --dpi N             pixels in an inch (300)\n"
	"  --spacing X         line distance as a multiple of the font's own (1.25)\n"
	"  --table             tabs separate the cells of a ruled table\n"
	"  --rotate DEGREES    clockwise\n"
	"  --invert            light on dark\n"
	"  --blur R            Gaussian blur, standard deviation in pixels\n"
	"  --noise S           Gaussian noise, standard deviation in grey levels\n"
	"  --seed N            of the noise (1)\n";

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "render_page: %s\n", what);
	exit(1);
}

static void *need(void *memory)
{
	if (memory == NULL)
		die("out of memory");
	return memory;
}

/* Parses a number in [low, high] or ends with the usage. */
static double number(const char *text, double low, double high)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno != 0 || end == text || *end != '\0' || !(value >= low && value <= high)) {
		(void)fprintf(stderr, "render_page: '%s' is not a number from %g to %g\n%s", text,
			      low, high, usage);
		exit(2);
	}
	return value;
}

static options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "font", required_argument, NULL, 'f' },
		{ "dpi", required_argument, NULL, 'd' },
		{ "spacing", required_argument, NULL, 'l' },
		{ "table", no_argument, NULL, 't' },
		{ "rotate", required_argument, NULL, 'r' },
		{ "invert", no_argument, NULL, 'i' },
		{ "blur", required_argument, NULL, 'b' },
		{ "noise", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	options o = { .font = "DejaVu Sans 12", .dpi = 300, .spacing = 1.25, .seed = 1 };
	int key;

	while ((key = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (key) {
		case 'o':
			o.out = optarg;
			break;
		case 'f':
			o.font = optarg;
			break;
		case 'd':
			o.dpi = number(optarg, 30, 1200);
			break;
		case 'l':
			o.spacing = number(optarg, 0.5, 5);
			break;
		case 't':
			o.table = true;
			break;
		case 'r':
			o.rotate = number(optarg, -360, 360);
			break;
		case 'i':
			o.invert = true;
			break;
		case 'b':
			o.blur = number(optarg, 0, 50);
			break;
		case 'n':
			o.noise = number(optarg, 0, 128);
			break;
		case 's':
			o.seed = (uint64_t)number(optarg, 0, 1e15);
			break;
		default:
			(void)fputs(usage, stderr);
			exit(2);
		}
	}
	if (o.out == NULL || optind != argc) {
		(void)fputs(usage, stderr);
		exit(2);
	}
	return o;
}

static char *read_text(void)
{
	char *text = need(malloc(MAX_TEXT + 1));
	size_t length = fread(text, 1, MAX_TEXT, stdin);

	if (length == 0 || length == MAX_TEXT)
		die("standard input is empty or too long");
	text[length] = '\0';
	if (!g_utf8_validate(text, (gssize)length, NULL))
		die("standard input is not UTF-8");
	return text;
}

/* Pango would draw another font without a word: status 77 when the one asked for is not there. */
static void need_font(const char *wanted)
{
	PangoFontDescription *font = pango_font_description_from_string(wanted);
	const char *family = pango_font_description_get_family(font);
	PangoFontFamily **families;
	bool found = false;
	int n;

	pango_font_map_list_families(pango_cairo_font_map_get_default(), &families, &n);
	for (int i = 0; i < n && family != NULL; i++)
		found = found ||
			g_ascii_strcasecmp(pango_font_family_get_name(families[i]), family) == 0;
	g_free(families);
	pango_font_description_free(font);
	if (!found) {
		(void)fprintf(stderr, "render_page: there is no font '%s'\n", wanted);
		exit(77);
	}
}

static PangoLayout *layout_of(cairo_t *cairo, const options *o)
{
	PangoLayout *layout = pango_cairo_create_layout(cairo);
	PangoFontDescription *font = pango_font_description_from_string(o->font);
	cairo_font_options_t *how = cairo_font_options_create();

	/* As a scanner sees print: grey edges, no grid fitting. */
	cairo_font_options_set_antialias(how, CAIRO_ANTIALIAS_GRAY);
	cairo_font_options_set_hint_style(how, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_hint_metrics(how, CAIRO_HINT_METRICS_OFF);
	pango_cairo_context_set_font_options(pango_layout_get_context(layout), how);
	pango_cairo_context_set_resolution(pango_layout_get_context(layout), o->dpi);
	pango_layout_context_changed(layout);
	pango_layout_set_font_description(layout, font);
	cairo_font_options_destroy(how);
	pango_font_description_free(font);
	return layout;
}

/* Lays out one line or cell; its width in pixels, and `*height` if asked. */
static double lay(PangoLayout *layout, const char *text, int length, double *height)
{
	PangoRectangle box;

	pango_layout_set_text(layout, text, length);
	pango_layout_get_extents(layout, NULL, &box);
	if (height != NULL)
		*height = (double)box.height / PANGO_SCALE;
	return (double)box.width / PANGO_SCALE;
}

#define MAX_COLUMNS 16

/*
 * Goes over the page's lines and cells: with `draw` unset it measures the columns, else it draws.
 * A page that is no table has one column.  Returns the height below the last line.
 */
static double walk(cairo_t *cairo, PangoLayout *layout, const options *o, const char *text,
		   double margin, double *columns, bool draw)
{
	double line_height, pad = o->table ? margin / 3 : 0, y = margin;

	(void)lay(layout, "Ag\xe5\xad\x97", -1, &line_height);
	line_height *= o->spacing;
	for (const char *line = text; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		double x = margin;
		size_t at = 0;

		for (int column = 0; column < MAX_COLUMNS && length > 0; column++) {
			size_t cell = o->table ? strcspn(line + at, "\t\n") : length;

			if (!draw)
				columns[column] =
					fmax(columns[column],
					     lay(layout, line + at, (int)cell, NULL) + 2 * pad);
			if (draw) {
				(void)lay(layout, line + at, (int)cell, NULL);
				cairo_move_to(cairo, x + pad, y + pad);
				pango_cairo_show_layout(cairo, layout);
				if (o->table) {
					cairo_rectangle(cairo, x, y, columns[column],
							line_height + 2 * pad);
					cairo_stroke(cairo);
				}
			}
			x += columns[column];
			at += cell + 1;
			if (at > length)
				break;
		}
		y += line_height + 2 * pad;
		line += length + (line[length] == '\n' ? 1 : 0);
	}
	return y;
}

static cairo_surface_t *new_page(double width, double height, cairo_t **cairo)
{
	cairo_surface_t *surface;

	if (!(width <= MAX_SIDE && height <= MAX_SIDE))
		die("the page would be too large");
	surface =
		cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width), (int)ceil(height));
	*cairo = cairo_create(surface);
	if (cairo_status(*cairo) != CAIRO_STATUS_SUCCESS)
		die(cairo_status_to_string(cairo_status(*cairo)));
	cairo_set_source_rgb(*cairo, 1, 1, 1);
	cairo_paint(*cairo);
	cairo_set_source_rgb(*cairo, 0, 0, 0);
	return surface;
}

static cairo_surface_t *draw_text(const options *o, const char *text)
{
	double columns[MAX_COLUMNS] = { 0 }, margin = o->dpi * 0.4, width = 2 * margin, height;
	cairo_t *cairo;
	cairo_surface_t *page = new_page(1, 1, &cairo);
	PangoLayout *layout = layout_of(cairo, o);

	height = walk(cairo, layout, o, text, margin, columns, false) + margin;
	for (int i = 0; i < MAX_COLUMNS; i++)
		width += columns[i];
	g_object_unref(layout);
	cairo_destroy(cairo);
	cairo_surface_destroy(page);

	page = new_page(width, height, &cairo);
	cairo_set_line_width(cairo, fmax(1, o->dpi / 150));
	layout = layout_of(cairo, o);
	(void)walk(cairo, layout, o, text, margin, columns, true);
	g_object_unref(layout);
	cairo_destroy(cairo);
	return page;
}

/* The page turned clockwise inside the smallest upright page that holds it. */
static cairo_surface_t *turn(cairo_surface_t *page, double degrees)
{
	double angle = degrees * PI / 180;
	double width = cairo_image_surface_get_width(page),
	       height = cairo_image_surface_get_height(page);
	double c = fabs(cos(angle)), s = fabs(sin(angle));
	bool quarter = fmod(degrees, 90) == 0;
	cairo_t *cairo;
	/* Rounded for quarter turns, where cos and sin are not quite 0 and 1. */
	double wide = width * c + height * s, high = width * s + height * c;
	cairo_surface_t *turned =
		new_page(quarter ? round(wide) : wide, quarter ? round(high) : high, &cairo);

	cairo_translate(cairo, cairo_image_surface_get_width(turned) / 2.0,
			cairo_image_surface_get_height(turned) / 2.0);
	cairo_rotate(cairo, angle);
	cairo_translate(cairo, -width / 2, -height / 2);
	cairo_set_source_surface(cairo, page, 0, 0);
	cairo_pattern_set_filter(cairo_get_source(cairo),
				 quarter ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BILINEAR);
	cairo_paint(cairo);
	cairo_destroy(cairo);
	cairo_surface_destroy(page);
	return turned;
}

static picture to_grey(cairo_surface_t *page)
{
	picture p = { .width = cairo_image_surface_get_width(page),
		      .height = cairo_image_surface_get_height(page) };
	int stride = cairo_image_surface_get_stride(page);
	const unsigned char *data;

	cairo_surface_flush(page);
	data = cairo_image_surface_get_data(page);
	p.grey = need(malloc((size_t)p.width * (size_t)p.height));
	for (int y = 0; y < p.height; y++)
		for (int x = 0; x < p.width; x++)
			/* Everything is drawn in black and white: any of the three channels will
			 * do. */
			p.grey[(size_t)y * (size_t)p.width + (size_t)x] =
				data[(size_t)y * (size_t)stride + (size_t)x * 4];
	return p;
}

static void from_grey(cairo_surface_t *page, const picture *p)
{
	int stride = cairo_image_surface_get_stride(page);
	unsigned char *data = cairo_image_surface_get_data(page);

	for (int y = 0; y < p->height; y++)
		for (int x = 0; x < p->width; x++)
			memset(data + (size_t)y * (size_t)stride + (size_t)x * 4,
			       p->grey[(size_t)y * (size_t)p->width + (size_t)x], 4);
	cairo_surface_mark_dirty(page);
}

/* One pass of a separable filter along `count` values that lie `step` apart; ends are repeated. */
static void filter(uint8_t *line, uint8_t *copy, int count, size_t step, const double *weights,
		   int reach)
{
	for (int i = 0; i < count; i++)
		copy[i] = line[(size_t)i * step];
	for (int i = 0; i < count; i++) {
		double sum = 0;

		for (int k = -reach; k <= reach; k++) {
			int at = i + k < 0 ? 0 : i + k >= count ? count - 1 : i + k;

			sum += weights[k + reach] * copy[at];
		}
		line[(size_t)i * step] = (uint8_t)(sum + 0.5);
	}
}

static void blur(picture *p, double deviation)
{
	int reach = (int)ceil(3 * deviation);
	double *weights = need(malloc((size_t)(2 * reach + 1) * sizeof(*weights)));
	uint8_t *copy = need(malloc((size_t)(p->width > p->height ? p->width : p->height)));
	double sum = 0;

	for (int k = 0; k <= 2 * reach; k++) {
		double distance = k - reach;

		weights[k] = exp(-distance * distance / (2 * deviation * deviation));
		sum += weights[k];
	}
	for (int k = 0; k <= 2 * reach; k++)
		weights[k] /= sum;
	for (int y = 0; y < p->height; y++)
		filter(p->grey + (size_t)y * (size_t)p->width, copy, p->width, 1, weights, reach);
	for (int x = 0; x < p->width; x++)
		filter(p->grey + x, copy, p->height, (size_t)p->width, weights, reach);
	free(copy);
	free(weights);
}

/* Knuth's MMIX multiplier; the upper half, because the low bits of such a generator are poor. */
static uint32_t random_word(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 32);
}

/*
 * About normal: the sum of twelve uniform values has variance 1.  Light and paper both vary, so
 * the page's middle grey range is used: black becomes 40 and white 215 before the noise is added,
 * or clipping would take half of it away.
 */
static void add_noise(picture *p, double deviation, uint64_t seed)
{
	size_t n = (size_t)p->width * (size_t)p->height;

	for (size_t i = 0; i < n; i++) {
		double sum = -6, value;

		for (int k = 0; k < 12; k++)
			sum += random_word(&seed) / 4294967296.0;
		value = 40 + p->grey[i] * (175.0 / 255) + sum * deviation;
		p->grey[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
	}
}

int main(int argc, char **argv)
{
	options o = parse(argc, argv);
	char *text = read_text();
	cairo_surface_t *page;
	cairo_status_t status;
	picture p;

	need_font(o.font);
	page = draw_text(&o, text);
	if (o.rotate != 0)
		page = turn(page, o.rotate);
	p = to_grey(page);
	if (o.invert)
		for (size_t i = 0; i < (size_t)p.width * (size_t)p.height; i++)
			p.grey[i] = (uint8_t)(255 - p.grey[i]);
	if (o.blur > 0)
		blur(&p, o.blur);
	if (o.noise > 0)
		add_noise(&p, o.noise, o.seed);
	from_grey(page, &p);
	status = cairo_surface_write_to_png(page, o.out);
	if (status != CAIRO_STATUS_SUCCESS)
		die(cairo_status_to_string(status));
	free(p.grey);
	cairo_surface_destroy(page);
	free(text);
	return 0;
}
