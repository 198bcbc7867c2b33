/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many short jobs at once, and then none: the worker stops looking at a lane
 * whose producer does not fence, waiters look on or sleep, and detached jobs
 * have no states.  None of them may be lost, run twice, or overtake another.
 */
#include "config.h"

#include "jobs_util.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRODUCERS 4
#define CAPACITY 32 /* of a lane: smaller than the largest burst */
#define BURST 40

/* Chosen: some seconds under ThreadSanitizer. */
#define ROUNDS 2000

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* --- jobs that know their place --- */

/* The jobs of one producer, which run in the order of their submission. */
struct row {
	psg_worker *worker;
	uint32_t seed;
	uint64_t sent;       /* the producer's */
	atomic_ulong ran;    /* the worker's */
	atomic_ulong astray; /* ran before or after its turn */
};

struct place {
	struct row *row;
	uint64_t number;
};

static psg_status take_turn(psg_device *device, void *arg, psg_error *error)
{
	struct place *place = arg;
	struct row *row = place->row;

	(void)device;
	(void)error;
	if (atomic_load_explicit(&row->ran, memory_order_relaxed) != place->number)
		atomic_fetch_add(&row->astray, 1);
	atomic_store_explicit(&row->ran, place->number + 1, memory_order_relaxed);
	return PSG_OK;
}

static psg_status send(struct row *row, struct place *place, psg_future **out)
{
	const psg_job_options options = { .room_timeout_ns = INT64_MAX };
	psg_status status;

	*place = (struct place){ row, row->sent };
	status = psg_submit_function(row->worker, take_turn, place, &options, out, NULL);
	row->sent += status == PSG_OK;
	return status;
}

/* A number of detached jobs, and one that tells when they have ended.  Waiting sees what they did.
 */
static void burst(struct row *row)
{
	struct place places[BURST + 1];
	uint32_t n = t_random(&row->seed) % BURST;
	psg_future *last;

	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(send(row, &places[i], NULL), PSG_OK);
	ck_assert_int_eq(send(row, &places[n], &last), PSG_OK);
	ck_assert_int_eq(t_finish(last), PSG_OK);
	ck_assert_uint_eq(atomic_load(&row->ran), row->sent);
}

/* Up to 60 us: the worker looks on for some 25, and then goes to sleep, each in its turn. */
static void loiter(uint32_t *seed)
{
	int64_t until = psg_now_ns() + t_random(seed) % 60000;

	while (psg_now_ns() < until)
		;
}

static void *send_bursts(void *argument)
{
	struct row *row = argument;

	for (int i = 0; i < ROUNDS; i++) {
		burst(row);
		if (t_random(&row->seed) % 2 == 0)
			loiter(&row->seed);
	}
	return NULL;
}

static void check_rows(psg_worker *worker, int producers)
{
	struct row rows[PRODUCERS] = { 0 };
	pthread_t threads[PRODUCERS];

	for (int i = 0; i < producers; i++) {
		rows[i].worker = worker;
		rows[i].seed = (uint32_t)i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, send_bursts, &rows[i]), 0);
	}
	for (int i = 0; i < producers; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_uint_eq(atomic_load(&rows[i].astray), 0);
	}
}

START_TEST(bursts_and_rests)
{
	psg_worker *worker = t_open(CAPACITY);
	psg_worker_stats stats;

	check_rows(worker, 1);
	check_rows(worker, PRODUCERS);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	stats = t_stats(worker);
	ck_assert_uint_eq(stats.completed, stats.submitted);
	ck_assert_uint_ge(stats.completed, (uint64_t)(1 + PRODUCERS) * ROUNDS);
	psg_worker_close(worker);
}
END_TEST

/* --- without membarrier(2) --- */

/* From here on the call fails in this process, as in one that has locked itself up. */
static void forbid_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = T_COUNT(code), .filter = code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program),
		0);
}

START_TEST(membarrier_is_forbidden)
{
	psg_worker *worker;

	forbid_membarrier();
	worker = t_open(CAPACITY);
	check_rows(worker, PRODUCERS);
	psg_worker_close(worker);
}
END_TEST

/* The worker has counted on it, and has lanes whose producers do not fence. */
START_TEST(membarrier_is_forbidden_later)
{
	psg_worker *worker = t_open(CAPACITY);

	check_rows(worker, PRODUCERS);
	forbid_membarrier();
	check_rows(worker, PRODUCERS);
	psg_worker_close(worker);
}
END_TEST

/* --- jobs without states --- */

/* Behind each other in one lane, whatever they are. */
START_TEST(detached_and_others_keep_their_order)
{
	psg_worker *worker = t_open(0);
	struct place places[300];
	psg_future *futures[T_COUNT(places)];
	struct row row = { .worker = worker, .seed = 1 };
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < T_COUNT(places); i++) {
		bool detached = t_random(&row.seed) % 2 == 0;

		futures[i] = NULL;
		ck_assert_int_eq(send(&row, &places[i], detached ? NULL : &futures[i]), PSG_OK);
	}
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	for (size_t i = 0; i < T_COUNT(places); i++)
		if (futures[i] != NULL)
			ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	ck_assert_uint_eq(atomic_load(&row.ran), T_COUNT(places));
	ck_assert_uint_eq(atomic_load(&row.astray), 0);
	psg_worker_close(worker);
}
END_TEST

/* The lane is full of them: a slot comes free when one has ended, and not before. */
START_TEST(detached_ones_fill_a_lane)
{
	psg_worker *worker = t_open(3);
	const psg_job_options patient = { .room_timeout_ns = INT64_MAX };
	const psg_job_options impatient = { .room_timeout_ns = PSG_MILLISECOND };
	atomic_int ran = 0;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL), PSG_FULL);
	ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, &impatient, NULL, NULL),
			 PSG_FULL);
	t_gate_open(&gate);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, &patient, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 1002);
	ck_assert_uint_eq(t_stats(worker).refused_full, 2);
	psg_worker_close(worker);
}
END_TEST

/*
 * Detached jobs and futures together fill a lane to its very bound, in any mix: what is kept of
 * one kind is no room for the other, and each end is room for either.
 */
START_TEST(both_kinds_are_bounded_together)
{
	enum { MOST = 5 };
	psg_worker *worker = t_open(MOST);
	const psg_job_options patient = { .room_timeout_ns = INT64_MAX };
	psg_future *kept[MOST];
	uint64_t refused = 0;
	uint32_t seed = 7;

	for (int round = 0; round < 300; round++) {
		size_t n_kept = t_random(&seed) % MOST, left = MOST - 1 - n_kept;
		atomic_int ran = 0;
		t_gate gate;

		for (size_t i = 0; i < n_kept; i++)
			kept[i] = t_submit(worker, t_nothing, NULL, NULL);
		t_gate_close(&gate, worker);
		for (size_t i = 0; i < left; i++)
			ck_assert_int_eq(
				psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				PSG_OK);
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_FULL);
		refused++;
		t_gate_open(&gate);
		/* What is kept has ended, too, and is no room yet. */
		for (size_t i = 0; i <= left; i++)
			ck_assert_int_eq(
				psg_submit_function(worker, t_add_one, &ran, &patient, NULL, NULL),
				PSG_OK);
		for (size_t i = 0; i < n_kept; i++)
			ck_assert_int_eq(t_finish(kept[i]), PSG_OK);
		ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, &patient)), PSG_OK);
		ck_assert_uint_eq((size_t)ran, 2 * left + 1);
	}
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).refused_full, refused);
	psg_worker_close(worker);
}
END_TEST

/* As those with futures: by class first, and in each as they came. */
START_TEST(detached_ones_have_priorities)
{
	static const int32_t priorities[] = { -1, 0, 1, 0, -1, 1, 0, 0, 1 };
	static const size_t order[] = { 2, 5, 8, 1, 3, 6, 7, 0, 4 };
	psg_worker *worker = t_open(0);
	struct row row = { .worker = worker };
	struct place places[T_COUNT(priorities)];
	t_gate gate;

	for (size_t i = 0; i < T_COUNT(order); i++)
		places[order[i]] = (struct place){ &row, i };
	t_gate_close(&gate, worker);
	for (size_t i = 0; i < T_COUNT(priorities); i++) {
		const psg_job_options options = { .priority = priorities[i] };

		ck_assert_int_eq(
			psg_submit_function(worker, take_turn, &places[i], &options, NULL, NULL),
			PSG_OK);
	}
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_uint_eq(atomic_load(&row.ran), T_COUNT(priorities));
	ck_assert_uint_eq(atomic_load(&row.astray), 0);
	psg_worker_close(worker);
}
END_TEST

/* A child has its parent's ring, with jobs in it, and adds nothing to it. */
START_TEST(a_fork_with_detached_jobs)
{
	psg_worker *worker = t_open(CAPACITY);
	atomic_int ran = 0;
	t_gate gate;
	int status;
	pid_t pid;

	t_gate_close(&gate, worker);
	for (int i = 0; i < CAPACITY / 2; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_OK);
	pid = fork();
	if (pid == 0) {
		psg_status refused = psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL);

		psg_worker_close(worker);
		_exit(refused == PSG_FORKED && ran == 0 ? 0 : 1);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (int i = CAPACITY / 2; i < CAPACITY - 1; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_OK);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, CAPACITY - 1);
	psg_worker_close(worker);
}
END_TEST

/* A thread that ends leaves them behind; its lane is the next one's when they have ended. */
struct leaver {
	psg_worker *worker;
	atomic_int ran;
};

static void *leave_some(void *argument)
{
	struct leaver *leaver = argument;

	for (int i = 0; i < CAPACITY; i++)
		ck_assert_int_eq(psg_submit_function(leaver->worker, t_add_one, &leaver->ran, NULL,
						     NULL, NULL),
				 PSG_OK);
	return NULL;
}

START_TEST(threads_that_end_leave_detached_jobs)
{
	struct leaver leaver = { .worker = t_open(CAPACITY) };

	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, leave_some, &leaver), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert_int_eq(psg_worker_drain(leaver.worker, -1), PSG_OK);
	ck_assert_int_eq(leaver.ran, 200 * CAPACITY);
	psg_worker_close(leaver.worker);
}
END_TEST

/* --- aborting --- */

struct flood {
	psg_worker *worker;
	atomic_int ran;
	atomic_ulong accepted;
};

static void *flood_until_refused(void *argument)
{
	struct flood *flood = argument;
	const psg_job_options options = { .room_timeout_ns = INT64_MAX };

	while (psg_submit_function(flood->worker, t_add_one, &flood->ran, &options, NULL, NULL) ==
	       PSG_OK)
		atomic_fetch_add(&flood->accepted, 1);
	return NULL;
}

static void abort_flood(int how)
{
	struct flood flood = { .worker = t_open(CAPACITY) };
	pthread_t threads[PRODUCERS];
	psg_worker_stats stats;

	for (int i = 0; i < PRODUCERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, flood_until_refused, &flood), 0);
	while (atomic_load(&flood.accepted) < 1000)
		(void)sched_yield();
	if (how == 0)
		psg_worker_abort(flood.worker);
	else
		ck_assert_int_eq(psg_worker_drain(flood.worker, -1), PSG_OK);
	for (int i = 0; i < PRODUCERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_int_eq(psg_worker_drain(flood.worker, -1), PSG_OK);
	stats = t_stats(flood.worker);
	ck_assert_uint_eq(stats.submitted, atomic_load(&flood.accepted));
	ck_assert_uint_eq(stats.completed, (uint64_t)atomic_load(&flood.ran));
	ck_assert_uint_eq(stats.completed + stats.failed, stats.submitted);
	ck_assert_uint_eq(stats.queued, 0);
	psg_worker_close(flood.worker);
}

/* None of those that wait runs, and each counts once. */
START_TEST(abort_drops_detached_jobs)
{
	psg_worker *worker = t_open(CAPACITY);
	psg_worker_stats stats;
	atomic_int ran = 0;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < CAPACITY - 1; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_OK);
	psg_worker_abort(worker);
	ck_assert_uint_eq(t_stats(worker).queued, CAPACITY);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	stats = t_stats(worker);
	ck_assert_int_eq(ran, 0);
	ck_assert_uint_eq(stats.submitted, CAPACITY);
	ck_assert_uint_eq(stats.failed, CAPACITY - 1);
	ck_assert_uint_eq(stats.completed, 1);
	ck_assert_uint_eq(stats.queued, 0);
	psg_worker_close(worker);
}
END_TEST

START_TEST(a_flood_is_aborted_or_drained)
{
	for (int i = 0; i < 50; i++)
		abort_flood(i % 2);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		bursts_and_rests,
		membarrier_is_forbidden,
		membarrier_is_forbidden_later,
		detached_and_others_keep_their_order,
		detached_ones_fill_a_lane,
		both_kinds_are_bounded_together,
		detached_ones_have_priorities,
		a_fork_with_detached_jobs,
		threads_that_end_leave_detached_jobs,
		abort_drops_detached_jobs,
		a_flood_is_aborted_or_drained,
	};

	return t_run("bursts", tests, T_COUNT(tests));
}
