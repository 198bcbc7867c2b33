/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ONNX models written as text, one statement a line or between ';':
 *
 *     opset 6
 *     in x 1 3 4              an input, ? for a free dimension
 *     in n i64 2              f32 unless a type is named: i32, i64, bool, f64
 *     w s 3 = 0.1 0.2 0.3     a weight
 *     c s 3 = 0.1 0.2 0.3     the same as a Constant node
 *     Add x s > y broadcast=1 axis=1
 *     out y                   an output of any rank; or with a type and dimensions
 *
 * A node is OPERATOR INPUTS > OUTPUTS ATTRIBUTES, '-' being an absent input.  An attribute is an
 * integer, a float (with a point), a list ([1,2] or [1.0,2.0]) or else a string.
 */
#ifndef PSG_TESTS_ONNX_TEXT_H
#define PSG_TESTS_ONNX_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the model, which the caller frees.  Ends the program when the text is wrong. */
uint8_t *t_onnx(const char *text, size_t *size);

#endif
