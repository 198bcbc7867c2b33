/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read before each file that clang-tidy looks at, but never compiled: tells its analyser that
 * psgi_fail returns the code it was given, or it would follow every failure on as if it were none.
 */
#ifndef PSG_LINT_ANALYSER_H
#define PSG_LINT_ANALYSER_H

#include "config.h"

#include "base/base.h"

#define psgi_fail(error, code, ...) (psgi_fail(error, code, __VA_ARGS__), (code))

#endif
