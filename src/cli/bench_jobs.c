/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu bench jobs: what a job costs, beside what other libraries offer. */
#include "config.h"

#include "cli/bench_jobs.h"
#include "cli/json.h"

#include <stddef.h>
#include <stdlib.h>

struct values {
	cli_numbers producers;
	int64_t repeat;
	bool json;
};

static const cli_option options[] = {
	{ .name = "producers",
	  .value = "LIST",
	  .help = "numbers of threads that submit, each of which is measured; default: 1,2,4,16,64",
	  .field = offsetof(struct values, producers),
	  .parse = cli_parse_numbers,
	  .least = 1,
	  .most = CLI_JOBS_PRODUCERS },
	CLI_BENCH_REPEAT(struct values, repeat,
			 "rounds, in each of which all systems are measured; default: 5", 1000),
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "bench jobs",
	.operands = "",
	.about =
		"Submits jobs that do nothing from several threads at once to a worker and, where\n"
		"this build has them, to GLib's GThreadPool, libuv's uv_queue_work and a queue\n"
		"with mutex and condition variable, each with one thread that runs them.  Shows\n"
		"jobs a second, how long a submission takes, and how long a round trip does.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes =
		"'ours' is with a future for each job, 'ours detached' without: the worker bounds\n"
		"how many of these are in flight, others' jobs count themselves for that.",
};

static cli_exit run(const struct values *values)
{
	cli_jobs_result *results = calloc(values->producers.n, sizeof(*results));
	psg_error error = PSG_ERROR_INIT;
	psg_status status;
	cli_exit result = CLI_FAILED;

	if (results == NULL) {
		cli_error("no memory for the results");
		return CLI_FAILED;
	}
	for (size_t i = 0; i < values->producers.n; i++)
		results[i].producers = (size_t)values->producers.at[i];
	status = cli_jobs_measure(results, values->producers.n, (size_t)values->repeat, &error);
	if (status == PSG_OK)
		result = cli_bench_jobs_print(results, values->producers.n, (size_t)values->repeat,
					      values->json);
	else
		cli_error("%s", error.message);
	free(results);
	return result;
}

cli_exit cli_bench_jobs(int argc, char **argv)
{
	struct values values = { .producers = { { 1, 2, 4, 16, 64 }, 5 }, .repeat = 5 };
	cli_exit result;
	int n;

	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n > 0)
		return cli_usage_error(&usage, "'%.100s' is too much", argv[1]);
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	/* One thread, as the others have.  libuv reads it at its first use, and here is no other
	 * thread yet that could read the environment meanwhile. */
	(void)setenv("UV_THREADPOOL_SIZE", "1", 1);
	return run(&values);
}
