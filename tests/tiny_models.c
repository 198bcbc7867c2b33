/* SPDX-License-Identifier: Apache-2.0 */
/* Models that look at how dark pixels are, and pages of bars. */
#include "config.h"

#include "tiny_models.h"

#include "models.h"
#include "onnx_text.h"

#include <string.h>

/* 1 where a pixel is darker than 230: of its three normalised colours (see prepare.c) white sums to
 * 7.3, 230 to 5.9 and 200 to 4.5. */
static const char detection[] = "opset 11; in x ? 3 ? ?; w k 1 3 1 1 = -4 -4 -4; w b 1 = 23.6; "
				"Conv x k b > c; Sigmoid c > y; out y f32 ? 1 ? ?";

/*
 * For each eight columns blank, a, b, a line of the dictionary that does not come, and the space,
 * by their mean, which is -1 for black, 0 for grey and 1 for white.
 */
static const char recognition[] =
	"opset 11; in x ? 3 48 ?; AveragePool x > p kernel_shape=[48,8] strides=[48,8]; "
	"w k 5 3 1 1 = 13 13 13 -13 -13 -13 0 0 0 0 0 0 0 0 0; w b 5 = -10 -10 10 -50 -50; "
	"Conv p k b > c; Squeeze c > s axes=[2]; Transpose s > t perm=[0,2,1]; "
	"Softmax t > y axis=2; out y f32 ? ? 5";

/* Upside down when the mean is above 0.1. */
static const char direction[] =
	"opset 11; in x ? 3 48 192; GlobalAveragePool x > g; w k 2 3 1 1 = 0 0 0 33 33 33; "
	"w b 2 = 0 -10; Conv g k b > c; Flatten c > f; Softmax f > y axis=1; out y f32 ? 2";

static const char dictionary[] = "a\nb\nc\n";

static const char *const files[] = { T_DET, T_REC, T_CLS, "ppocr_keys_v1.txt" };

static _Noreturn void quit(const char *path)
{
	perror(path);
	abort();
}

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		quit(path);
}

void t_tiny_models(char *folder)
{
	static const char *const texts[] = { detection, recognition, direction };

	/* A program that does not fork sets up several times. */
	memset(folder + strlen(folder) - 6, 'X', 6);
	if (mkdtemp(folder) == NULL)
		quit(folder);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t size;
		uint8_t *model = t_onnx(texts[i], &size);

		write_file(folder, files[i], model, size);
		free(model);
	}
	write_file(folder, files[3], dictionary, sizeof(dictionary) - 1);
}

void t_tiny_models_remove(const char *folder)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[256];

		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
}

/* A bar of black and grey columns as the bits of `pattern` say, or light all over. */
static void draw_bar(uint8_t *pixels, size_t width, size_t y, size_t length, uint32_t pattern)
{
	for (size_t x = 8; x < 8 + length; x++) {
		bool grey = (pattern >> x / 16 % 32 & 1) != 0;
		uint8_t level = (uint8_t)(pattern % 5 == 0 ? 170 : grey ? 128 : 0);

		for (size_t row = y; row < y + 12; row++)
			pixels[row * width + x] = level;
	}
}

uint8_t *t_tiny_page(uint32_t k, size_t *size)
{
	uint32_t bits = (k + 1) * 2654435761U; /* 2^32 / golden ratio: near ones differ much */
	size_t width = 80 + bits % 7 * 16, height = 24 + (size_t)(bits >> 8) % 4 * 24;
	uint8_t *page = malloc(32 + width * height);
	size_t header;

	if (page == NULL)
		quit("t_tiny_page");
	header = (size_t)sprintf((char *)page, "P5 %zu %zu 255\n", width, height);
	memset(page + header, 255, width * height);
	for (size_t y = 6; y + 18 <= height; y += 24)
		draw_bar(page + header, width, y, 32 + (bits + y * 5) % (width - 47),
			 bits >> y % 13);
	*size = header + width * height;
	return page;
}
