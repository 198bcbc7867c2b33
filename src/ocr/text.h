/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognition digests to text: the dictionary of classes and CTC decoding.
 * A dictionary is immutable and shared by threads.
 */
#ifndef PSG_OCR_TEXT_H
#define PSG_OCR_TEXT_H

#include "ocr/prepare.h"

typedef struct psgi_dictionary psgi_dictionary;

/*
 * Loads a dictionary file: one character (UTF-8, any number of code points) a line; LF or CRLF;
 * the last line's end may be missing.  Classes: 0 blank, then the lines, then the space.
 * `classes`, when above 0, is what the model has.  INVALID: no such file, or the counts differ.
 * FORMAT: not UTF-8, an empty line, too large.  NOMEM.
 */
psg_status psgi_dictionary_load(const char *path, int64_t classes, psgi_dictionary **out,
				psg_error *error);

/* As psgi_dictionary_load from memory; `name` is for messages. */
psg_status psgi_dictionary_parse(const char *name, const void *data, size_t size, int64_t classes,
				 psgi_dictionary **out, psg_error *error);

/* NULL is allowed. */
void psgi_dictionary_free(psgi_dictionary *dictionary);

/* Classes with blank and space. */
int64_t psgi_dictionary_classes(const psgi_dictionary *dictionary);

/* The text of a class, "" for the blank; NULL outside the classes.  Borrowed. */
const char *psgi_dictionary_text(const psgi_dictionary *dictionary, int64_t klass);

/*
 * Greedy CTC: repeats and blanks dropped.  `digest` is [steps][2], class and probability.
 * `*text` is for the caller to free(), "" when nothing was read; `*confidence` is the mean
 * probability of its characters, 0 when there are none.  INVALID: a class outside the dictionary,
 * or a value that is not finite.  NOMEM.
 */
psg_status psgi_ctc_text(const float *digest, size_t steps, const psgi_dictionary *dictionary,
			 char **text, float *confidence, psg_error *error);

/* One piece's digest, [steps][2], borrowed. */
typedef struct psgi_digest {
	const float *data;
	size_t steps;
} psgi_digest;

/*
 * Puts the digests of a line's pieces (as psgi_line_pieces cut them) together, each pair at a
 * blank that both see nearest to the middle of their overlap.  `*out`, [*steps][2], is for the
 * caller to free().  NOMEM.
 */
psg_status psgi_ctc_join(const psgi_piece *pieces, const psgi_digest *digests, size_t n,
			 float **out, size_t *steps, psg_error *error);

#endif
