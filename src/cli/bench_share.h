/* SPDX-License-Identifier: Apache-2.0 */
/* What `pagesift-gpu bench share` measures: who else has the device, and who does not wait for it.
 */
#ifndef PSG_CLI_BENCH_SHARE_H
#define PSG_CLI_BENCH_SHARE_H

#include "cli/bench.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/* --- threads that do the same until they are told to stop --- */

#define CLI_CROWD_MOST 64

typedef struct cli_crowd cli_crowd;

/* One of them: returns soon after cli_crowd_stops(), or with a failure. */
typedef psg_status (*cli_crowd_fn)(cli_crowd *crowd, void *user, psg_error *error);

struct cli_crowd {
	cli_crowd_fn member;
	void *user;
	pthread_t threads[CLI_CROWD_MOST];
	size_t n;
	atomic_bool stop;
	pthread_mutex_t lock; /* of the rest: the first failure */
	psg_status status;
	psg_error error;
};

/* Starts `n` of them; after a failure those that were started are to be stopped and joined, too. */
psg_status cli_crowd_start(cli_crowd *crowd, size_t n, cli_crowd_fn member, void *user,
			   psg_error *error);
bool cli_crowd_stops(const cli_crowd *crowd);
void cli_crowd_tell(cli_crowd *crowd); /* to stop; does not wait */
/* Waits for all; the first failure. */
psg_status cli_crowd_join(cli_crowd *crowd, psg_error *error);

/* --- what the threads do --- */

/* A flood: each of so many threads has so many lines in flight, together far more than the 64 of a
 * batch.  Chosen. */
#define CLI_FLOOD_CLIENTS 4
#define CLI_FLOOD_LINES 128

typedef struct cli_flood {
	psg_batcher *batcher;
	psg_tensor *line;
} cli_flood;

psg_status cli_flood_member(cli_crowd *crowd, void *flood, psg_error *error);

/* Clients that submit a line, wait for it and submit the next, and as many whose patience ends
 * before their line's turn comes. */
#define CLI_SHARE_CLIENTS CLI_CROWD_MOST
/* Of a batch: the queue is four of them long, so that one can leave it before its turn.  Chosen. */
#define CLI_SHARE_BATCH 16

typedef struct cli_office {
	psg_batcher *batcher;
	psg_tensor *line;
	/* For each line that a patient one got, an impatient one may come. */
	sem_t invited;
	bool invites;
	int64_t patience_ns;
	atomic_uint_fast32_t comers; /* impatient ones: every second one has a deadline */
	/* Lines, relaxed: only numbers. */
	atomic_uint_fast64_t served, abandoned, too_soon;
} cli_office;

psg_status cli_patient_member(cli_crowd *crowd, void *office, psg_error *error);
psg_status cli_impatient_member(cli_crowd *crowd, void *office, psg_error *error);

/* --- results --- */

#define CLI_SHARE_HEAVY 3 /* to 1 */

typedef struct cli_growing {
	double *at; /* owned */
	size_t n, room;
} cli_growing;

/* False: no memory. */
bool cli_growing_add(cli_growing *values, double value);

enum { CLI_SHARE_ALONE, CLI_SHARE_BESIDE, CLI_SHARE_CASES };

typedef struct cli_share_times {
	char device[96];
	size_t rounds;
	cli_growing detection_ms[CLI_SHARE_CASES];
	/* Of the flood beside it. */
	double busy_ms, longest_ms; /* the batches together; the longest */
	uint64_t runs, lines;
	double heavy_ms, light_ms; /* the device's time, of all rounds */
	double *weights; /* by round: device time of who has 3, by that of who has 1; owned */
	double *rates[CLI_SHARE_CASES]; /* by round: lines a second of the patient; owned */
	double *busy[CLI_SHARE_CASES];  /* by round: the device's part of that time; owned */
	double *parts;                  /* by round: of the second of these by the first; owned */
	uint64_t served, abandoned, too_soon;
} cli_share_times;

/* Sorts the times. */
cli_exit cli_bench_share_print(cli_share_times *times, bool json);

#endif
