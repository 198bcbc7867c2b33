/* SPDX-License-Identifier: Apache-2.0 */
/* Where tests find the PP-OCR models; they are skipped (exit 77) without them. */
#ifndef PSG_TESTS_MODELS_H
#define PSG_TESTS_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define T_DET "ch_PP-OCRv4_det_infer.onnx"
#define T_REC "ch_PP-OCRv4_rec_infer.onnx"
#define T_CLS "ch_ppocr_mobile_v2.0_cls_infer.onnx"

/* Path of a model file, as the library looks for it; `path` has `size` bytes.  False: not there. */
static inline bool t_model_path(const char *file, char *path, size_t size)
{
	const char *dir = getenv("PAGESIFT_MODELS"), *data = getenv("XDG_DATA_HOME"),
		   *home = getenv("HOME");

	if (dir != NULL && *dir != '\0')
		(void)snprintf(path, size, "%s/%s", dir, file);
	else if (data != NULL && *data != '\0')
		(void)snprintf(path, size, "%s/pagesift/models/%s", data, file);
	else
		(void)snprintf(path, size, "%s/.local/share/pagesift/models/%s",
			       home == NULL ? "" : home, file);
	return access(path, R_OK) == 0;
}

#endif
