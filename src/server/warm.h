/* SPDX-License-Identifier: Apache-2.0 */
/* The first page: a new engine makes its plans and loads its kernels with it, before it counts. */
#ifndef PSG_SERVER_WARM_H
#define PSG_SERVER_WARM_H

#include <pagesift/ocr.h>

/* Reads a page of one word that is drawn here; fails as the page does.  Blocks. */
psg_status srv_warm_up(psg_ocr *ocr, psg_error *error);

#endif
