/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's models in a few operators, and pages for them: for tests of how
 * pages come and go, which need thousands of pages and no OCR.
 *
 * What is darker than paper is text.  A line is read as `a` where it is black
 * and `b` where it is grey or light, and stands on its head when it is light.
 */
#ifndef PSG_TESTS_TINY_MODELS_H
#define PSG_TESTS_TINY_MODELS_H

#include <stddef.h>
#include <stdint.h>

/* psg_ocr_options.unclip, so that lines are cut where the bars end. */
#define T_TINY_UNCLIP 0.05F

/* Writes the models and the dictionary into a new folder, whose name replaces the last XXXXXX of
 * `folder`.  These stop the program when something fails. */
void t_tiny_models(char *folder);

/* Removes the folder. */
void t_tiny_models_remove(const char *folder);

/* The `k`-th page, a PNM file to be free()d: four different lines at most, some on their head. */
uint8_t *t_tiny_page(uint32_t k, size_t *size);

#endif
