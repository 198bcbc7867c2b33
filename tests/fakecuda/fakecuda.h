/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests may ask of the fake driver, found with dlsym in the library that PAGESIFT_LIBCUDA
 * names.
 *
 * It is set up by its environment, read when it is first called:
 *   FAKECUDA_DEVICES=N         cards (1)
 *   FAKECUDA_MEMORY=MIB        memory of each (1024)
 *   FAKECUDA_CAPABILITY=X.Y    compute capability (7.5)
 *   FAKECUDA_CUDA=N            CUDA version of the driver: 12040 is 12.4 (12040)
 *   FAKECUDA_DRIVER=TEXT       version of the driver, for NVML (550.54.14)
 *   FAKECUDA_NVML=CODE         what nvmlInit_v2 answers (0)
 *   FAKECUDA_FREE=MIB          free memory that NVML tells of (all)
 *   FAKECUDA_FAIL=RULES        F:N:CODE,...: the N-th call of F answers CODE, N+ each from then on.
 *                              F is a symbol, or * for all calls together, or run for a kernel
 *                              that runs: the context is lost then.  Codes that lose a context
 *                              do so from a call too
 *   FAKECUDA_REFUSE=sm_NN      PTX for this target is refused
 *   FAKECUDA_JIT=TEXT          no PTX compiles, and this is in the log
 *   FAKECUDA_COMPILE_MS=N      a module takes so long, unless CUDA_CACHE_PATH has it; it is put
 *                              there
 *   FAKECUDA_HANG=SYMBOL       it does not return until fakecuda_fail is called
 *   FAKECUDA_LAUNCH_US=N       each kernel takes so long
 *   FAKECUDA_ARITHMETIC=off    kernels do nothing
 *   FAKECUDA_SKIP=NAME         this kernel does nothing
 *   FAKECUDA_BAD=NAME          this kernel, integers or gather, says that element 0 has no result
 *   FAKECUDA_EAGER=1           a context's second stream works at once, where it need not wait
 *   FAKECUDA_REPORT=FILE       at exit the counts are written there
 * CUDA_VISIBLE_DEVICES hides cards as it does for the real one.
 *
 * Work is done when somebody waits for it, not before: who forgets to wait, or frees what queued
 * work uses, gets wrong results each time.  With FAKECUDA_EAGER, so does who overwrites ahead of
 * the first stream what that has yet to read.
 */
#ifndef T_FAKECUDA_H
#define T_FAKECUDA_H

#include <stdint.h>

/* Alive now, but for the last five; faults are calls that a rule made fail. */
#define FAKECUDA_COUNTS(X)                                                                         \
	X(contexts)                                                                                \
	X(modules)                                                                                 \
	X(streams)                                                                                 \
	X(events)                                                                                  \
	X(blocks)                                                                                  \
	X(pinned)                                                                                  \
	X(device_bytes)                                                                            \
	X(calls)                                                                                   \
	X(allocs)                                                                                  \
	X(launches)                                                                                \
	X(compiled)                                                                                \
	X(faults)

typedef struct fakecuda_counts {
#define FAKECUDA_COUNT(name) int64_t name;
	FAKECUDA_COUNTS(FAKECUDA_COUNT)
#undef FAKECUDA_COUNT
} fakecuda_counts;

typedef void fakecuda_stats_fn(fakecuda_counts *out); /* "fakecuda_stats" */

/* Replaces the rules of FAKECUDA_FAIL and begins to count anew; a lost context is well again, and
 * what hangs returns. */
typedef void fakecuda_fail_fn(const char *rules); /* "fakecuda_fail" */

/*
 * The order of calls since fakecuda_fail, a letter each: U copy to a card, L launch, D copy from a
 * card, R record and S wait for an event in a stream, Q question, W wait of the host.  Small
 * letters: in another stream than the context's first one.  The last FAKECUDA_LOG calls at most.
 */
#define FAKECUDA_LOG 65536
typedef void fakecuda_log_fn(char *out); /* "fakecuda_log"; FAKECUDA_LOG + 1 bytes */

#endif
