/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu bench: which benchmark, and the statistics of all. */
#include "config.h"

#include "cli/bench.h"
#include "cli/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_usage usage = {
	.command = "bench",
	.operands = "batch|cpu|jobs|pages|share",
	.about = "Measures how fast this machine is.\n\n"
		 "  bench batch          single lines from many at once, that run together\n"
		 "  bench cpu            the models alone, on one core and on two\n"
		 "  bench jobs           what a job costs, beside other thread pools and queues\n"
		 "  bench pages FILE...  whole pages, all cores on one page or one core a page\n"
		 "  bench share          engines that share a device, clients that give up",
	.notes = "'pagesift-gpu bench cpu --help' and so on tell more.",
};

cli_exit cli_bench(int argc, char **argv)
{
	int values, n; /* there are no options whose values could be stored */
	cli_exit result;

	if (argc > 1 && strcmp(argv[1], "batch") == 0)
		return cli_bench_batch(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "cpu") == 0)
		return cli_bench_cpu(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "jobs") == 0)
		return cli_bench_jobs(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "pages") == 0)
		return cli_bench_pages(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "share") == 0)
		return cli_bench_share(argc - 1, argv + 1);
	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n == 0)
		return cli_usage_error(&usage,
				       "which benchmark: batch, cpu, jobs, pages or share?");
	return cli_usage_error(
		&usage, "there is no benchmark '%.100s', only batch, cpu, jobs, pages and share",
		argv[1]);
}

double cli_ms_since(int64_t begin_ns)
{
	return (double)(psg_now_ns() - begin_ns) / (double)PSG_MILLISECOND;
}

const char *cli_bench_device(const char *asked)
{
	psg_gpu_info gpu;

	if (asked != NULL)
		return asked;
	return psg_gpu_probe(0, &gpu, NULL) == PSG_OK ? "cuda" : "cpu";
}

psg_status cli_bench_model(const char *folder, psg_ocr_file file, psg_model **out, psg_error *error)
{
	const psg_model_options as_pages = { .digest = file == PSG_OCR_RECOGNITION };
	char *path;
	psg_status status = psg_ocr_find(folder, file, &path, error);

	if (status != PSG_OK)
		return status;
	status = psg_model_load_file(path, &as_pages, out, error);
	free(path);
	return status;
}

psg_status cli_bench_finish(psg_future *future, psg_error *error)
{
	psg_status status = psg_future_wait(future);

	if (status != PSG_OK)
		(void)psg_future_error(future, error);
	psg_future_release(future);
	return status;
}

void cli_bench_fill(psg_tensor *tensor)
{
	float *data = psg_tensor_data(tensor);
	int64_t n = psg_shape_elements(psg_tensor_shape(tensor));

	for (int64_t i = 0; i < n; i++)
		data[i] = (float)(i % 251) / 125.0F - 1.0F;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cli_quantile_sorted(const double *values, size_t n, double part)
{
	double rank = ceil(part * (double)n);

	return values[rank < 1 ? 0 : rank > (double)n ? n - 1 : (size_t)rank - 1];
}

double cli_quantile(double *values, size_t n, double part)
{
	qsort(values, n, sizeof(*values), compare);
	return cli_quantile_sorted(values, n, part);
}

double cli_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

bool cli_parse_numbers(const cli_option *option, const char *text, void *field, char *wanted,
		       size_t size)
{
	cli_numbers *numbers = field;

	numbers->n = 0;
	(void)snprintf(wanted, size, "a list of at most %d numbers from %.0f to %.0f, as in 1,2",
		       CLI_MAX_NUMBERS, option->least, option->most);
	for (;;) {
		char *end;
		long number = strtol(text, &end, 10);

		if (end == text || (double)number < option->least ||
		    (double)number > option->most || numbers->n == CLI_MAX_NUMBERS ||
		    (*end != '\0' && *end != ','))
			return false;
		numbers->at[numbers->n++] = (int32_t)number;
		if (*end == '\0')
			return true;
		text = end + 1;
	}
}
