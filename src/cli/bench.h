/* SPDX-License-Identifier: Apache-2.0 */
/* Timing: what `pagesift-gpu bench` measures, and how it is told. */
#ifndef PSG_CLI_BENCH_H
#define PSG_CLI_BENCH_H

#include "cli/options.h"

cli_exit cli_bench_batch(int argc, char **argv);
cli_exit cli_bench_cpu(int argc, char **argv);
cli_exit cli_bench_jobs(int argc, char **argv);
cli_exit cli_bench_pages(int argc, char **argv);
cli_exit cli_bench_share(int argc, char **argv);

/* How often: `what` says of what, with the default. */
#define CLI_BENCH_REPEAT(type, member, what, limit)                                                \
	{                                                                                          \
		.letter = 'r', .name = "repeat", .value = "N", .help = (what),                     \
		.field = offsetof(type, member), .parse = cli_parse_int, .least = 1,               \
		.most = (limit)                                                                    \
	}

/* For cli_bench_device. */
#define CLI_BENCH_DEVICE(type, member)                                                             \
	{                                                                                          \
		.name = "device", .value = "DEVICE",                                               \
		.help = "cpu, cpu:CORES, cuda or cuda:N; default: the first GPU, or else cpu",     \
		.field = offsetof(type, member), .parse = cli_parse_text                           \
	}

/* Milliseconds since a time of psg_now_ns. */
double cli_ms_since(int64_t begin_ns);

/* The least value that at least `part` (0 to 1) of them do not pass; sorts them.  n is not 0. */
double cli_quantile(double *values, size_t n, double part);

/* As above, of sorted ones. */
double cli_quantile_sorted(const double *values, size_t n, double part);

/* The middle one, or the mean of the two in the middle; sorts them.  n is not 0. */
double cli_median(double *values, size_t n);

/* The first GPU, or else the CPU, where none is `asked` for. */
const char *cli_bench_device(const char *asked);

/* The model of that kind, as pages use it. */
psg_status cli_bench_model(const char *folder, psg_ocr_file file, psg_model **out,
			   psg_error *error);

/* Waits, and releases it. */
psg_status cli_bench_finish(psg_future *future, psg_error *error);

/* Any numbers, where what they are makes no difference to the time. */
void cli_bench_fill(psg_tensor *tensor);

/* A list of numbers on the command line, "1,2,4". */
#define CLI_MAX_NUMBERS 16
typedef struct cli_numbers {
	int32_t at[CLI_MAX_NUMBERS];
	size_t n;
} cli_numbers;

/* A cli_parse_fn whose field is a cli_numbers; `least` and `most` are bounds of each. */
bool cli_parse_numbers(const cli_option *option, const char *text, void *field, char *wanted,
		       size_t size);

/* --- cpu --- */

/* One model at one shape on a worker with `threads` cores. */
typedef struct cli_model_time {
	const char *name; /* "detection" */
	psg_shape shape;
	int32_t threads;
	double rms; /* of the first output: who computes the same gets the same */
	double median, least, most;
	double *ms; /* n runs, sorted; borrowed */
	size_t n;
} cli_model_time;

cli_exit cli_bench_cpu_print(const cli_model_time *times, size_t n, const char *detail, bool json);

/* --- pages --- */

/* All pages, several times, on one partition of the cores or a GPU, with so many of them at once.
 */
typedef struct cli_pages_time {
	bool gpu;
	char device[96]; /* of the first worker */
	size_t workers;
	int32_t cores; /* of each */
	size_t in_flight, pages;
	double seconds, p50, p99; /* latencies in milliseconds */
	double *medians;          /* by page, milliseconds; owned */
} cli_pages_time;

/* A page that is read again and again. */
typedef struct cli_bench_page {
	const char *file;
	int32_t index;
	const void *data; /* borrowed */
	size_t size;
} cli_bench_page;

cli_exit cli_bench_pages_print(const cli_pages_time *times, size_t n, const cli_bench_page *pages,
			       size_t n_pages, bool json);

/* --- batch --- */

#define CLI_BATCH_LINES 64

typedef enum cli_batch_kind {
	CLI_BATCH_JOB,    /* 64 lines in each job */
	CLI_BATCH_SHARED, /* a line from each of 64 clients, through a batcher */
	CLI_BATCH_EACH,   /* a job for each line of 64 clients */
	CLI_BATCH_KINDS
} cli_batch_kind;

typedef struct cli_batch_times {
	char device[96];
	size_t rounds, lines;             /* `lines` of each round, by kind */
	double *seconds[CLI_BATCH_KINDS]; /* by round; owned */
	/* Of each line of a client who is alone, without and with a batcher; owned. */
	double *alone_ms[2];
	size_t n_alone;
	uint64_t samples, runs, waits; /* of the batcher, when many were at once */
	double waited_ms;              /* all waits together */
} cli_batch_times;

/* Sorts the times. */
cli_exit cli_bench_batch_print(cli_batch_times *times, bool json);

#endif
