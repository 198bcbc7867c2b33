/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG through libjpeg with handlers of our own: its default ones print, and its warnings are
 * what tells a truncated page (refused) from harmless junk between markers (read).
 */
#include "config.h"

#include "ocr/decode.h"

#if HAVE_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

/* Scans of a progressive file; real ones have about ten, a bomb makes each cost the whole page. */
#define MAX_SCANS 200

typedef struct decoder {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf failed;
	char message[JMSG_LENGTH_MAX];
	psg_status status; /* of the failure; OK: none yet */
	psgi_image *volatile image;
} decoder;

static _Noreturn void give_up(decoder *d, psg_status status)
{
	d->status = status;
	longjmp(d->failed, 1);
}

static void on_error(j_common_ptr common)
{
	decoder *d = common->client_data;

	common->err->format_message(common, d->message);
	give_up(d, common->err->msg_code == JERR_OUT_OF_MEMORY ? PSG_NOMEM : PSG_FORMAT);
}

/* Level -1 is a warning: data may be lost.  0 and up are traces. */
static void on_message(j_common_ptr common, int level)
{
	if (level >= 0)
		return;
	switch (common->err->msg_code) {
	case JWRN_JPEG_EOF:
	case JWRN_HIT_MARKER:
	case JWRN_HUFF_BAD_CODE:
	case JWRN_ARITH_BAD_CODE:
	case JWRN_MUST_RESYNC:
		on_error(common);
		break;
	default:
		common->err->num_warnings++;
		break;
	}
}

static void on_output(j_common_ptr common)
{
	(void)common;
}

static void on_progress(j_common_ptr common)
{
	decoder *d = common->client_data;

	if (d->jpeg.input_scan_number > MAX_SCANS) {
		(void)snprintf(d->message, sizeof(d->message), "more than %d scans", MAX_SCANS);
		give_up(d, PSG_FORMAT);
	}
}

/* The orientation of the EXIF block, 1 when there is none. */
static int32_t exif_orientation(const struct jpeg_decompress_struct *jpeg)
{
	psgi_tiff_page exif;

	for (jpeg_saved_marker_ptr m = jpeg->marker_list; m != NULL; m = m->next) {
		if (m->marker != JPEG_APP0 + 1 || m->data_length < 6 ||
		    memcmp(m->data, "Exif\0\0", 6) != 0)
			continue;
		if (psgi_tiff_directory(m->data + 6, m->data_length - 6, 0, &exif, NULL))
			return exif.orientation;
	}
	return 1;
}

/* One row of four-component ink to RGB, in place of the row's end.  Adobe's files hold 255 - ink.
 */
static void cmyk_row(const uint8_t *ink, uint8_t *rgb, int32_t width, bool inverted)
{
	unsigned flip = inverted ? 0 : 255;

	for (int32_t x = 0; x < width; x++, ink += 4, rgb += 3) {
		unsigned k = ink[3] ^ flip;

		for (int c = 0; c < 3; c++)
			rgb[c] = (uint8_t)(((ink[c] ^ flip) * k + 127) / 255);
	}
}

static void read_rows(decoder *d)
{
	bool cmyk = d->jpeg.out_color_space == JCS_CMYK;
	int32_t width = d->image->width;
	JSAMPARRAY ink = NULL;

	if (cmyk)
		ink = d->jpeg.mem->alloc_sarray((j_common_ptr)&d->jpeg, JPOOL_IMAGE,
						(JDIMENSION)width * 4, 1);
	while (d->jpeg.output_scanline < d->jpeg.output_height) {
		uint8_t *row = d->image->rgb + d->jpeg.output_scanline * d->image->stride;

		(void)jpeg_read_scanlines(&d->jpeg, cmyk ? ink : &row, 1);
		if (cmyk)
			cmyk_row(ink[0], row, width, d->jpeg.saw_Adobe_marker);
	}
}

/* All that may longjmp, so that no local of the caller is live across it. */
static void decode(decoder *d, const psgi_source *source, int32_t *orientation, psg_error *error)
{
	psgi_image *image = NULL;

	jpeg_create_decompress(&d->jpeg);
	jpeg_mem_src(&d->jpeg, source->data, (unsigned long)source->size);
	jpeg_save_markers(&d->jpeg, JPEG_APP0 + 1, 0xffff);
	(void)jpeg_read_header(&d->jpeg, TRUE);
	d->status =
		psgi_check_sides(source, "JPEG", d->jpeg.image_width, d->jpeg.image_height, error);
	if (d->status != PSG_OK)
		return;
	*orientation = exif_orientation(&d->jpeg);
	d->jpeg.progress = &d->progress;
	d->jpeg.out_color_space = d->jpeg.num_components == 4 ? JCS_CMYK : JCS_RGB;
	(void)jpeg_start_decompress(&d->jpeg);
	d->status = psgi_image_create((int32_t)d->jpeg.output_width, (int32_t)d->jpeg.output_height,
				      &image, error);
	if (d->status != PSG_OK)
		return;
	d->image = image;
	read_rows(d);
	(void)jpeg_finish_decompress(&d->jpeg);
}

psg_status psgi_decode_jpeg(const psgi_source *source, psgi_image **out, int32_t *orientation,
			    psg_error *error)
{
	decoder d = { .status = PSG_OK };

	*out = NULL;
	d.jpeg.err = jpeg_std_error(&d.errors);
	d.errors.error_exit = on_error;
	d.errors.emit_message = on_message;
	d.errors.output_message = on_output;
	d.progress.progress_monitor = on_progress;
	d.jpeg.client_data = &d;
	if (setjmp(d.failed) == 0)
		decode(&d, source, orientation, error);
	else
		(void)psgi_fail(error, d.status, "JPEG: %s", d.message);
	jpeg_destroy_decompress(&d.jpeg);
	if (d.status != PSG_OK)
		psgi_image_free(d.image);
	else
		*out = d.image;
	return d.status;
}

#else

psg_status psgi_decode_jpeg(const psgi_source *source, psgi_image **out, int32_t *orientation,
			    psg_error *error)
{
	(void)source;
	*orientation = 1;
	*out = NULL;
	return psgi_fail(error, PSG_UNSUPPORTED, "JPEG: this build has no libjpeg");
}

#endif
