/* SPDX-License-Identifier: Apache-2.0 */
/* The whole library. */
#ifndef PAGESIFT_GPU_H
#define PAGESIFT_GPU_H

#include <pagesift/batch.h>
#include <pagesift/device.h>
#include <pagesift/error.h>
#include <pagesift/fleet.h>
#include <pagesift/histogram.h>
#include <pagesift/job.h>
#include <pagesift/model.h>
#include <pagesift/ocr.h>
#include <pagesift/op.h>
#include <pagesift/shared.h>
#include <pagesift/stats.h>
#include <pagesift/tensor.h>

#endif
