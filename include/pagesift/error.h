/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes, error messages, the clock and the log.
 *
 * Every fallible call returns a psg_status and takes a nullable psg_error that
 * receives the same code and a message a person can act on.  The library never
 * prints, exits or aborts, and keeps no per-thread "last error".
 * All functions here may be called from any thread and never block.
 */
#ifndef PAGESIFT_ERROR_H
#define PAGESIFT_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PSG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PSG_API __attribute__((visibility("default")))
#else
#define PSG_PRINTF(fmt, args)
#define PSG_API
#endif

/* X(name, value, what it means to a caller).  Values are ABI: append only. */
#define PSG_STATUS_MAP(X)                                                                          \
	X(OK, 0, "no error")                                                                       \
	X(INVALID, 1, "an argument, a shape or a descriptor is wrong")                             \
	X(NOMEM, 2, "out of host memory")                                                          \
	X(OOM, 3, "out of GPU memory: use a smaller batch")                                        \
	X(NO_DEVICE, 4, "there is no such device")                                                 \
	X(DISABLED, 5, "the device is switched off by configuration")                              \
	X(TOO_OLD, 6, "the device or its driver is too old")                                       \
	X(DRIVER, 7, "the driver reported an error")                                               \
	X(JIT, 8, "the driver could not compile a kernel")                                         \
	X(LAUNCH, 9, "a kernel could not be launched")                                             \
	X(DEVICE_LOST, 10, "the device is lost to this process")                                   \
	X(TIMED_OUT, 11, "a deadline passed")                                                      \
	X(CANCELLED, 12, "cancelled by the caller")                                                \
	X(FULL, 13, "a queue is full: try again later")                                            \
	X(SHUTDOWN, 14, "the worker is shutting down")                                             \
	X(FORMAT, 15, "a file or a buffer is not what it should be")                               \
	X(UNSUPPORTED, 16, "valid, but not something this library does")                           \
	X(FORKED, 17, "used in a child process after fork: open the device there")                 \
	X(STALLED, 18, "the device does not answer")

typedef enum psg_status {
#define PSG_STATUS_ENUM(name, value, text) PSG_##name = value,
	PSG_STATUS_MAP(PSG_STATUS_ENUM)
#undef PSG_STATUS_ENUM
} psg_status;

/* Every PSG_OOM message starts with this tag, for callers that only see text. */
#define PSG_OOM_TAG "out of GPU memory"

/* Bytes of a message with its terminator; long enough for a JIT log's tail. */
#define PSG_ERROR_MESSAGE_SIZE 1024

/* Plain data, owned by the caller; filled only when a call fails.  A message is one line: control
 * characters of the names in it are replaced. */
typedef struct psg_error {
	psg_status code;
	char message[PSG_ERROR_MESSAGE_SIZE];
} psg_error;

#define PSG_ERROR_INIT                                                                             \
	{                                                                                          \
		PSG_OK, ""                                                                         \
	}

/* "TIMED_OUT" for PSG_TIMED_OUT; "UNKNOWN" for a value outside the table. */
PSG_API const char *psg_status_name(psg_status status);

/* The third column of PSG_STATUS_MAP. */
PSG_API const char *psg_status_text(psg_status status);

/* True when `error` says that device memory ran out.  NULL is not OOM. */
PSG_API bool psg_error_is_oom(const psg_error *error);

#define PSG_MILLISECOND INT64_C(1000000)
#define PSG_SECOND INT64_C(1000000000)

/* Nanoseconds of CLOCK_MONOTONIC: the clock of every deadline in this library. */
PSG_API int64_t psg_now_ns(void);

typedef enum psg_log_level {
	PSG_LOG_ERROR,
	PSG_LOG_WARNING,
	PSG_LOG_INFO,
	PSG_LOG_DEBUG,
} psg_log_level;

/* `message` has no newline and is valid during the call only. */
typedef void (*psg_log_fn)(void *user, psg_log_level level, const char *message);

/*
 * Sends messages up to `level` to `fn`; NULL (the start value) silences the
 * log.  `fn` is called from any of the library's threads, several at a time,
 * and must not call back into the library.  Process-wide.  When the call
 * returns, a thread that was already logging may still be inside the old
 * function, so its `user` must stay valid for the life of the process.
 */
PSG_API void psg_log_set(psg_log_fn fn, void *user, psg_log_level level);

/* "MAJOR.MINOR.PATCH" of the library that is loaded. */
PSG_API const char *psg_version(void);

#ifdef __cplusplus
}
#endif
#endif
