/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target for image files: `make fuzz-image` runs it for FUZZ_SECONDS.  The first two
 * bytes choose page and pixel limit, so that those are found too; the rest is the file.
 */
#include "config.h"

#include "ocr/image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_image *image;
	int32_t pages, page;
	int64_t limit;
	psg_status status;
	unsigned sum = 0;

	if (size < 2)
		return 0;
	page = data[0] % 3;
	limit = INT64_C(1) << (data[1] % 21);
	status = psgi_image_decode(data + 2, size - 2, page, limit, &image, &error);
	if ((status == PSG_OK) != (image != NULL) ||
	    (status != PSG_OK && error.message[0] == '\0') ||
	    (image != NULL && (int64_t)image->width * image->height > limit))
		abort();
	/* Touch every pixel: none may be undefined. */
	for (int32_t y = 0; image != NULL && y < image->height; y++)
		for (int32_t x = 0; x < image->width * 3; x++)
			sum += psgi_row(image, y)[x];
	psgi_image_free(image);
	if (psg_image_pages(data + 2, size - 2, &pages, &error) == PSG_OK && pages < 1)
		abort();
	return sum == 0x7fffffff ? -1 : 0;
}
