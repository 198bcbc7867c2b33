/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static probes for bpftrace, SystemTap and perf, provider `pagesift`: an instruction that does
 * nothing until somebody attaches.  Built where <sys/sdt.h> is there; else they are nothing at all.
 *
 *   job__submit   worker, lane, job, kind        by the submitting thread
 *   job__start    worker, lane, job, kind        by the worker's thread
 *   batch__run    worker, model, samples         a model is run, on so many samples
 *   job__done     worker, lane, job, status      by who ended it, however it ended
 *   device__lost  device, message
 *
 * `worker` numbers the workers of the process from 1, `lane` its lanes from 0, `job` the lane's
 * jobs from 0: together they name a job.  `kind` is 0 for a function, 1 for an operator, 2 for a
 * model run, 3 for a function that nobody watches (0 where it has a priority), 4 for a batcher's
 * sample; `status` a psg_status; `model`, `device` and `message` are strings that end with a zero.
 */
#ifndef PSG_BASE_PROBE_H
#define PSG_BASE_PROBE_H

#ifdef HAVE_SDT
#include <sys/sdt.h>
#define PSGI_PROBE2(name, a, b) DTRACE_PROBE2(pagesift, name, a, b)
#define PSGI_PROBE3(name, a, b, c) DTRACE_PROBE3(pagesift, name, a, b, c)
#define PSGI_PROBE4(name, a, b, c, d) DTRACE_PROBE4(pagesift, name, a, b, c, d)
#else
/* Looks at the arguments, so that what is only for a probe is not called unused. */
#define PSGI_PROBE2(name, a, b) ((void)(a), (void)(b))
#define PSGI_PROBE3(name, a, b, c) (PSGI_PROBE2(name, a, b), (void)(c))
#define PSGI_PROBE4(name, a, b, c, d) (PSGI_PROBE3(name, a, b, c), (void)(d))
#endif

#endif
