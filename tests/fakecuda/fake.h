/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fake driver share. */
#ifndef T_FAKE_H
#define T_FAKE_H

#include "fakecuda.h"

#include "driver/cuda.h"

#include <pthread.h>

/* Its functions have the types that the library expects of them. */
#pragma GCC visibility push(default)
#define FAKE_DECLARE(name, symbol, since, needed, args) CUresult symbol args;
PSGI_CUDA_MAP(FAKE_DECLARE)
#undef FAKE_DECLARE
void fakecuda_stats(fakecuda_counts *out);
void fakecuda_fail(const char *rules);
void fakecuda_log(char *out);
#pragma GCC visibility pop

#define FAKE_MAX_DEVICES 8
#define FAKE_SHARED 49152        /* bytes of shared memory that any block may have */
#define FAKE_SHARED_OPTIN 101376 /* and that one may ask for, as on a card of capability 8.6 */

typedef struct fake_config {
	int devices, visible[FAKE_MAX_DEVICES]; /* after CUDA_VISIBLE_DEVICES */
	size_t memory;
	int major, minor;
	int cuda;
	const char *refuse, *jit, *skip, *report;
	long launch_us, compile_ms;
	bool arithmetic, eager;
} fake_config;

/* A card, which is its primary context too. */
typedef struct CUctx_st {
	int ordinal; /* in the machine */
	int retained;
	size_t used;
	CUresult sticky; /* lost, with this code */
	struct CUstream_st *streams;
} fake_device;

/* --- state, all of it guarded by fake_lock --- */
extern pthread_mutex_t fake_lock;
extern fake_config fake_configured;
extern fake_device fake_devices[FAKE_MAX_DEVICES]; /* those that are visible */
extern fakecuda_counts fake_counts;
extern bool fake_started; /* by cuInit */

void fake_configure(void); /* from the environment, at the first call */

/* Takes the lock, counts a call and says what it must answer instead of doing its work. */
CUresult fake_enter(const char *function);
/* As fake_enter, but lets a lost context pass: for the calls that free something. */
CUresult fake_enter_last(const char *function);
CUresult fake_leave(CUresult result); /* drops the lock, gives `result` */
CUresult fake_rule(const char *what); /* of FAKECUDA_FAIL, for one more of `what` */
bool fake_is_lost(CUresult code);

#define ENTER(function)                                                                            \
	do {                                                                                       \
		CUresult fault = fake_enter(#function);                                            \
		if (fault != CUDA_SUCCESS)                                                         \
			return fake_leave(fault);                                                  \
	} while (0)

fake_device *fake_current(void); /* the calling thread's; NULL: none */

void fake_log(char letter, bool is_first); /* see fakecuda_log */

/* --- memory --- */
bool fake_is_device(const void *address, size_t bytes); /* inside of one block? */
bool fake_is_pinned(const void *address, size_t bytes);

/* --- streams: queued work --- */
typedef enum fake_kind { FAKE_COPY, FAKE_FILL, FAKE_KERNEL, FAKE_RECORD, FAKE_WAIT } fake_kind;

typedef struct fake_work {
	struct fake_work *next;
	fake_kind kind;
	void *to;
	const void *from; /* FAKE_COPY */
	void *owned;      /* freed with the work: a copy of what is not pinned, a kernel's args */
	size_t bytes;
	unsigned char value;
	bool to_device, from_device;
	struct CUevent_st *event;
	uint64_t serial; /* of the record that is made, or waited for */
	const char *kernel;
	uint32_t grid[3], block[3], shared_bytes;
} fake_work;

bool fake_is_first(CUstream stream); /* of its context */
CUresult fake_queue(CUstream stream, const fake_work *work);
void fake_run_device(fake_device *device); /* all that is queued on it */

#endif
