/* SPDX-License-Identifier: Apache-2.0 */
/* What every room may use: errors, log, time. */
#ifndef PSG_BASE_BASE_H
#define PSG_BASE_BASE_H

#include <pagesift/error.h>

/* Fills `error` (may be NULL) and returns `code`, so that a failing call is one line. */
psg_status psgi_fail(psg_error *error, psg_status code, const char *format, ...) PSG_PRINTF(3, 4);

/* Puts "text: " before the message that `error` holds, so that a caller can say where it happened;
 * behind the tag of OOM, which every such message begins with. */
void psgi_error_prefix(psg_error *error, const char *format, ...) PSG_PRINTF(2, 3);

/* A time of psg_now_ns that does not come: some 292 years after boot. */
#define PSGI_NEVER INT64_MAX

/* True when a message of this level would be heard: guards costly arguments. */
bool psgi_log_enabled(psg_log_level level);
void psgi_log(psg_log_level level, const char *format, ...) PSG_PRINTF(2, 3);

#endif
