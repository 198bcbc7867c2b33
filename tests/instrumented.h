/* SPDX-License-Identifier: Apache-2.0 */
/* Is each step of this program checked, which takes ten times as long or more? */
#ifndef PSG_TESTS_INSTRUMENTED_H
#define PSG_TESTS_INSTRUMENTED_H

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifdef RUNNING_ON_VALGRIND
#define T_ON_VALGRIND RUNNING_ON_VALGRIND
#else
#define T_ON_VALGRIND 0
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define T_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define T_SANITIZED 1
#endif
#ifndef T_SANITIZED
#define T_SANITIZED 0
#endif

#define T_INSTRUMENTED (T_SANITIZED || T_ON_VALGRIND)

#endif
