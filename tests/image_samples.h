/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image files made in memory: one picture of four coloured quarters in every format and depth.
 */
#ifndef PSG_TESTS_IMAGE_SAMPLES_H
#define PSG_TESTS_IMAGE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Odd sides, not alike, so that a swapped or padded row shows. */
#define T_WIDTH 53
#define T_HEIGHT 35

typedef struct t_sample {
	const char *name;
	uint8_t *data; /* malloc'd */
	size_t size;
	uint8_t quarter[4][3]; /* top left, top right, bottom left, bottom right */
	int tolerance;         /* levels */
} t_sample;

/* How many samples there are. */
size_t t_sample_count(void);

/* Makes the i-th; the caller frees its data.  Stops the program when an encoder fails. */
t_sample t_sample_make(size_t i);

/* The one of that name. */
t_sample t_sample_named(const char *name);

/* An EXIF block with this orientation put into a JPEG file. */
t_sample t_sample_exif(t_sample jpeg, int orientation, bool big_endian);

#endif
