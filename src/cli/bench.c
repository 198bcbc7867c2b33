/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu bench: which benchmark, and the statistics of all. */
#include "config.h"

#include "cli/bench.h"
#include "cli/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cli_usage usage = {
	.command = "bench",
	.operands = "cpu|pages",
	.about = "Measures how fast this machine is.\n\n"
		 "  bench cpu            the models alone, on one core and on two\n"
		 "  bench pages FILE...  whole pages, all cores on one page or one core a page",
	.notes = "'pagesift-gpu bench cpu --help' and 'pagesift-gpu bench pages --help' tell more.",
};

cli_exit cli_bench(int argc, char **argv)
{
	int values, n; /* there are no options whose values could be stored */
	cli_exit result;

	if (argc > 1 && strcmp(argv[1], "cpu") == 0)
		return cli_bench_cpu(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "pages") == 0)
		return cli_bench_pages(argc - 1, argv + 1);
	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n == 0)
		return cli_usage_error(&usage, "which benchmark: cpu or pages?");
	return cli_usage_error(&usage, "there is no benchmark '%.100s', only cpu and pages",
			       argv[1]);
}

double cli_ms_since(int64_t begin_ns)
{
	return (double)(psg_now_ns() - begin_ns) / (double)PSG_MILLISECOND;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cli_quantile(double *values, size_t n, double part)
{
	double rank = ceil(part * (double)n);

	qsort(values, n, sizeof(*values), compare);
	return values[rank < 1 ? 0 : rank > (double)n ? n - 1 : (size_t)rank - 1];
}

double cli_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
