/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, and telling what was counted. */
#include "config.h"

#include "server/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const outcomes[] = {
#define OUTCOME_LABEL(name, label) label,
	SRV_OUTCOMES(OUTCOME_LABEL)
#undef OUTCOME_LABEL
};

/* --- counting --- */

static void note(srv_histogram *histogram, int64_t ns)
{
	size_t i = 0;

	while (i < SRV_BOUNDS && ns > PSG_MILLISECOND << i)
		i++;
	atomic_fetch_add(&histogram->bucket[i], 1);
	atomic_fetch_add(&histogram->sum_ns, (uint64_t)(ns > 0 ? ns : 0));
}

void srv_metrics_request(srv_metrics *metrics, srv_route_name route, unsigned status, int64_t ns)
{
	atomic_fetch_add(&metrics->requests[route][status < SRV_STATUSES ? status : 0], 1);
	if (route == SRV_ROUTE_OCR)
		note(&metrics->request_seconds, ns);
}

static srv_outcome outcome_of(psg_status how)
{
	switch (how) {
	case PSG_OK:
		return SRV_OUTCOME_READ;
	case PSG_FORMAT:
	case PSG_INVALID:
	case PSG_UNSUPPORTED:
		return SRV_OUTCOME_UNREADABLE;
	case PSG_TIMED_OUT:
		return SRV_OUTCOME_TIMED_OUT;
	case PSG_CANCELLED:
	case PSG_SHUTDOWN:
		return SRV_OUTCOME_CANCELLED;
	default:
		return SRV_OUTCOME_FAILED;
	}
}

/* The newest gap counts an eighth; a time without pages is not a pace. */
void srv_metrics_page(srv_metrics *metrics, psg_status how, int64_t ns)
{
	int64_t now = psg_now_ns(), gap = now - atomic_exchange(&metrics->page_end_ns, now);
	int64_t mean = atomic_load(&metrics->page_ns);

	atomic_fetch_add(&metrics->pages[outcome_of(how)], 1);
	if (how == PSG_OK)
		note(&metrics->page_seconds, ns);
	if (atomic_load(&metrics->in_flight) > 1 && gap > 0 && gap < 60 * PSG_SECOND)
		atomic_store(&metrics->page_ns, mean == 0 ? gap : mean + (gap - mean) / 8);
}

int srv_metrics_retry_after_s(const srv_metrics *metrics, int64_t pages)
{
	int64_t seconds = atomic_load(&metrics->page_ns) * pages / PSG_SECOND + 1;

	return seconds < 60 ? (int)seconds : 60; /* chosen: nobody should stay away for longer */
}

/* --- telling --- */

static void head(FILE *to, const char *name, const char *type, const char *help)
{
	(void)fprintf(to, "# HELP pagesift_%s %s\n# TYPE pagesift_%s %s\n", name, help, name, type);
}

static void one(FILE *to, const char *name, const char *type, const char *help, double value)
{
	head(to, name, type, help);
	(void)fprintf(to, "pagesift_%s %.17g\n", name, value);
}

static void tell_requests(FILE *to, const srv_metrics *metrics)
{
	head(to, "requests_total", "counter",
	     "Requests by path and HTTP status; 499: the client left, 0: not understood");
	for (size_t i = 0; i < SRV_N_ROUTES; i++)
		for (size_t k = 0; k < SRV_STATUSES; k++) {
			uint64_t n = atomic_load(&metrics->requests[i][k]);

			if (n > 0)
				(void)fprintf(to,
					      "pagesift_requests_total{path=\"%s\",status=\"%zu\"} "
					      "%" PRIu64 "\n",
					      srv_route_path((srv_route_name)i), k, n);
		}
}

static void tell_seconds(FILE *to, const char *name, const char *help,
			 const srv_histogram *histogram)
{
	uint64_t sum = 0;

	head(to, name, "histogram", help);
	for (size_t i = 0; i <= SRV_BOUNDS; i++) {
		sum += atomic_load(&histogram->bucket[i]);
		if (i < SRV_BOUNDS)
			(void)fprintf(to, "pagesift_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
				      0.001 * (double)(1U << i), sum);
	}
	(void)fprintf(to,
		      "pagesift_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n"
		      "pagesift_%s_sum %.9g\npagesift_%s_count %" PRIu64 "\n",
		      name, sum, name, (double)atomic_load(&histogram->sum_ns) / 1e9, name, sum);
}

static void tell_pages(FILE *to, const srv_metrics *metrics)
{
	head(to, "pages_total", "counter", "Pages by how they ended");
	for (size_t i = 0; i < SRV_N_OUTCOMES; i++)
		(void)fprintf(to, "pagesift_pages_total{outcome=\"%s\"} %" PRIu64 "\n", outcomes[i],
			      atomic_load(&metrics->pages[i]));
	tell_seconds(to, "page_seconds", "Pages that were read, from their submission to their end",
		     &metrics->page_seconds);
}

static void tell_server(FILE *to, const srv_server *server)
{
	const srv_metrics *metrics = &server->metrics;
	const srv_connections *connections = &server->connections;

	tell_requests(to, metrics);
	tell_seconds(to, "request_seconds",
		     "Requests for text, from their first line to the end of their reply",
		     &metrics->request_seconds);
	tell_pages(to, metrics);
#define TELL(name, type, help, value) one(to, name, type, help, (double)(value))
	TELL("requests_in_flight", "gauge", "Requests for text that have not been answered",
	     atomic_load(&metrics->in_flight));
	TELL("received_bytes_total", "counter", "Bytes of bodies that came",
	     atomic_load(&metrics->bytes_in));
	TELL("sent_bytes_total", "counter", "Bytes of bodies of replies",
	     atomic_load(&metrics->bytes_out));
	TELL("bodies_bytes", "gauge", "Bytes of bodies in memory",
	     atomic_load(&server->bodies_bytes));
	TELL("connections", "gauge", "Open connections", atomic_load(&connections->open));
	TELL("connections_total", "counter", "Connections since the start",
	     atomic_load(&connections->total));
	TELL("connections_too_slow_total", "counter",
	     "Connections that were ended because they took too long to send or to receive",
	     atomic_load(&connections->too_slow));
	TELL("hang_ups_total", "counter", "Clients that hung up while their request waited",
	     atomic_load(&connections->left));
	TELL("reloads_total", "counter", "Times that the models were read again",
	     atomic_load(&metrics->reloads));
	TELL("reloads_failed_total", "counter", "Times that this failed",
	     atomic_load(&metrics->failed_reloads));
	TELL("draining", "gauge", "1: the server ends when what is in flight has ended",
	     atomic_load(&server->draining));
#undef TELL
}

/* --- of the workers --- */

/* X(name, type, help, value of a psg_worker_stats `s`) */
#define WORKER_VALUES(X)                                                                           \
	X("jobs_submitted_total", "counter", "Jobs that a worker accepted", s->submitted)          \
	X("jobs_completed_total", "counter", "Jobs that ended well", s->completed)                 \
	X("jobs_failed_total", "counter", "Jobs that failed", s->failed)                           \
	X("jobs_cancelled_total", "counter", "Jobs that were cancelled", s->cancelled)             \
	X("jobs_expired_total", "counter", "Jobs whose deadline passed", s->expired)               \
	X("jobs_recomputed_total", "counter", "Jobs that the CPU did because the GPU had failed",  \
	  s->recomputed)                                                                           \
	X("jobs_refused_total", "counter", "Jobs for which there was no room or no time",          \
	  s->refused_full + s->refused_late)                                                       \
	X("jobs_queued", "gauge", "Jobs that have not ended", s->queued)                           \
	X("device_busy_seconds_total", "counter", "The device's time that jobs took",              \
	  (double)s->busy_ns / 1e9)                                                                \
	X("device_stalls_total", "counter", "Times that the GPU did not answer", s->stalls)        \
	X("device_memory_used_bytes", "gauge", "Of the GPU's memory, in use between jobs",         \
	  s->memory_used)                                                                          \
	X("device_memory_held_bytes", "gauge", "Of the GPU's memory, with what waits for its use", \
	  s->memory_held)                                                                          \
	X("device_memory_peak_bytes", "gauge", "The most that ever was held", s->memory_peak)

/* One row's number, by its place in the table. */
static double value_at(size_t row, const psg_worker_stats *s)
{
	const double values[] = {
#define ROW_VALUE(name, type, help, value) (double)(value),
		WORKER_VALUES(ROW_VALUE)
#undef ROW_VALUE
	};

	return values[row];
}

static void tell_label(FILE *to, const srv_server *server, size_t i)
{
	(void)fprintf(to, "worker=\"%zu\",device=\"%s\"", i,
		      psg_worker_device(server->workers[i])->name);
}

static void tell_workers(FILE *to, const srv_server *server, const psg_stats *stats)
{
	static const struct {
		const char *name, *type, *help;
	} rows[] = {
#define ROW_TEXT(name, type, help, value) { name, type, help },
		WORKER_VALUES(ROW_TEXT)
#undef ROW_TEXT
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		head(to, rows[row].name, rows[row].type, rows[row].help);
		for (size_t i = 0; i < server->n_workers; i++) {
			(void)fprintf(to, "pagesift_%s{", rows[row].name);
			tell_label(to, server, i);
			(void)fprintf(to, "} %.17g\n", value_at(row, &stats[i].worker));
		}
	}
}

/* Bounds at powers of four, of which each is the end of a bucket. */
static void tell_spread(FILE *to, const srv_server *server, size_t worker, const char *name,
			const psg_histogram *histogram, int first, int last, double unit)
{
	uint64_t sum = 0;
	size_t bucket = 0;

	for (int power = first; power <= last; power += 2) {
		while (bucket < PSG_HISTOGRAM_BUCKETS &&
		       psg_histogram_greatest(bucket) < UINT64_C(1) << power)
			sum += histogram->bucket[bucket++];
		(void)fprintf(to, "pagesift_%s_bucket{", name);
		tell_label(to, server, worker);
		(void)fprintf(to, ",le=\"%g\"} %" PRIu64 "\n",
			      (double)((UINT64_C(1) << power) - 1) * unit, sum);
	}
	(void)fprintf(to, "pagesift_%s_bucket{", name);
	tell_label(to, server, worker);
	(void)fprintf(to, ",le=\"+Inf\"} %" PRIu64 "\npagesift_%s_sum{", histogram->count, name);
	tell_label(to, server, worker);
	(void)fprintf(to, "} %.9g\npagesift_%s_count{", (double)histogram->sum * unit, name);
	tell_label(to, server, worker);
	(void)fprintf(to, "} %" PRIu64 "\n", histogram->count);
}

static void tell_spreads(FILE *to, const srv_server *server, const psg_stats *stats)
{
	/* 2^16 ns is 66 us, 2^36 ns 69 s. */
	head(to, "job_wait_seconds", "histogram", "Jobs, from their submission to their start");
	for (size_t i = 0; i < server->n_workers; i++)
		tell_spread(to, server, i, "job_wait_seconds", &stats[i].wait_ns, 16, 36, 1e-9);
	head(to, "job_run_seconds", "histogram", "Jobs, from their start to their end");
	for (size_t i = 0; i < server->n_workers; i++)
		tell_spread(to, server, i, "job_run_seconds", &stats[i].run_ns, 16, 36, 1e-9);
	head(to, "batch_samples", "histogram", "Lines that share a run");
	for (size_t i = 0; i < server->n_workers; i++)
		tell_spread(to, server, i, "batch_samples", &stats[i].samples, 1, 7, 1);
}

/* Of the newest one, so that they begin again with it. */
static void tell_engine(FILE *to, srv_server *server)
{
	psg_ocr_stats stats = { 0 };
	srv_engine *engine = srv_engine_hold(server);

	if (engine == NULL)
		return;
	psg_ocr_stats_get(engine->ocr, &stats);
	srv_engine_drop(server, engine);
	one(to, "pages_by_fallback", "gauge",
	    "Pages that the CPU read in part or all because a GPU had failed, since the models "
	    "were read",
	    (double)stats.fallbacks);
	one(to, "jobs_moved", "gauge",
	    "Jobs that went to another worker after a failure, since the models were read",
	    (double)stats.moved_jobs);
}

/* A process is its metrics' reader's to watch, too; these are all that a dashboard needs. */
static void tell_process(FILE *to)
{
	FILE *from = fopen("/proc/self/statm", "re");
	long total, resident;

	head(to, "build_info", "gauge", "Always 1");
	(void)fprintf(to, "pagesift_build_info{version=\"%s\"} 1\n", psg_version());
	if (from == NULL)
		return;
	if (fscanf(from, "%ld %ld", &total, &resident) == 2)
		one(to, "resident_memory_bytes", "gauge", "Of the process",
		    (double)resident * (double)sysconf(_SC_PAGESIZE));
	(void)fclose(from);
}

char *srv_metrics_text(srv_server *server, size_t *bytes)
{
	psg_stats *stats = calloc(server->n_workers, sizeof(*stats));
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);
	int failed;

	if (stats == NULL || to == NULL) {
		free(stats);
		if (to != NULL)
			(void)fclose(to);
		free(text);
		return NULL;
	}
	for (size_t i = 0; i < server->n_workers; i++) {
		stats[i].size = sizeof(*stats);
		(void)psg_stats_get(server->workers[i], &stats[i]);
	}
	tell_server(to, server);
	tell_workers(to, server, stats);
	tell_spreads(to, server, stats);
	tell_engine(to, server);
	tell_process(to);
	free(stats);
	failed = ferror(to);
	if (fclose(to) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}
