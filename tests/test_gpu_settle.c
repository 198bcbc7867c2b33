/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2,000 pages of random sizes: what a GPU's pool holds settles, and then the driver is not asked
 * for memory any more.
 *
 * A page is what the engine makes of one: detection of the page, the directions of its lines, and
 * their texts, a batch for each bucket of widths.  Plans come and go as they do there.  On the fake
 * driver kernels do nothing here, which leaves memory as it is.
 *
 * The second thousand pages are those of the first in another order.  So nothing is larger than
 * what has been, and not one call of the driver is allowed; but which plans are kept together is
 * new with each page.
 */
#include "config.h"

#include "device/cuda.h"

#include "fakecuda_util.h"
#include "models.h"
#include "random_net.h"

#include <check.h>
#include <malloc.h>
#include <pagesift/gpu.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PSG_SANITIZED
#define DIFFERENT 100 /* which takes as long: what is wrong with a page's memory shows with few */
#else
#define DIFFERENT 1000 /* pages */
#endif
#define PAGES (2 * DIFFERENT)
#define STRIDE                                                                                     \
	421 /* between pages of the second thousand; prime to it, so that all of them come         \
	     */

#define MOST_LINES 40
#define BATCH 8
#define LARGEST_EACH 8 /* one page in so many is as large as any, and full of the longest lines */

enum { DETECTION, RECOGNITION, DIRECTION, MODELS };

/* As many plans as the engine keeps of each: see src/ocr/models.c. */
static const struct kind {
	const char *file;
	uint32_t net; /* the random network in the place of the file */
	size_t max_plans;
} kinds[MODELS] = {
	[DETECTION] = { T_DET, 17, 8 },
	[RECOGNITION] = { T_REC, 18, 64 },
	[DIRECTION] = { T_CLS, 19, 8 },
};

/* Sizes in pixels, chosen for the time that copies take on the fake driver.  With these networks
 * and numbers, plans' tables that took blocks of runs' made the driver's calls go on. */
static const struct scale {
	int32_t longest;     /* side of a page, as detection gets it */
	int32_t least, most; /* sides of pages */
	uint32_t seed;
	/* Percent of what a dry run of the largest tells that may be held: demanded of the page
	 * models, and for any other what the pool promises, 1/7 more. */
	size_t most_held;
} small = { 320, 64, 1024, 2, 114 }, real = { 640, 64, 1664, 2, 110 };

static const struct scale *scale;
static psg_device *device;
static psg_model *models[MODELS];
static uint32_t state;

/* --- models --- */

static psg_model *load_file(const struct kind *kind)
{
	psg_model_options options = { .digest = kind == &kinds[RECOGNITION],
				      .max_plans = kind->max_plans };
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	char path[4096];

	ck_assert_msg(t_model_path(kind->file, path, sizeof(path)), "%s is missing", path);
	ck_assert_msg(psg_model_load_file(path, &options, &model, &error) == PSG_OK, "%s",
		      error.message);
	return model;
}

static psg_model *load_net(const struct kind *kind)
{
	psg_model_options options = { .max_plans = kind->max_plans };
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	size_t size;
	void *file = t_random_net(kind->net, 3, &size);

	ck_assert_msg(psg_model_load_memory(file, size, "random", &options, &model, &error) ==
			      PSG_OK,
		      "%s", error.message);
	free(file);
	return model;
}

static void begin(const struct scale *sizes)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(setenv("FAKECUDA_ARITHMETIC", "off", 1), 0);
	t_gpu_begin();
	ck_assert_msg(psg_device_open("cuda", &device, &error) == PSG_OK, "%s", error.message);
	scale = sizes;
	for (int i = 0; i < MODELS; i++)
		models[i] = sizes == &real ? load_file(&kinds[i]) : load_net(&kinds[i]);
}

static void end(void)
{
	for (int i = 0; i < MODELS; i++)
		psg_model_unref(models[i]);
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}

/* --- pages --- */

static int32_t between(int32_t least, int32_t most)
{
	return least + (int32_t)t_random(&state, (uint32_t)(most - least + 1));
}

/* Runs a model on a batch; lines (`ragged`) are up to 15 columns narrower than it. */
static void run(psg_model *model, int32_t n, int32_t height, int32_t width, bool ragged)
{
	psg_error error = PSG_ERROR_INIT;
	size_t n_out = psg_model_outputs(model);
	psg_tensor *in, *out[PSG_MAX_OUTPUTS];
	int32_t widths[BATCH];

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(n, 3, height, width), &in, NULL),
			 PSG_OK);
	for (int32_t i = 0; i < n; i++)
		widths[i] = width - between(0, 15);
	if (ragged)
		ck_assert_int_eq(psg_tensor_set_valid_widths(in, 3, widths, (size_t)n, NULL),
				 PSG_OK);
	ck_assert_msg(psg_model_run(model, device, &in, 1, out, n_out, NULL, NULL, &error) ==
			      PSG_OK,
		      "%d x %d x %d: %s", n, height, width, error.message);
	for (size_t i = 0; i < n_out; i++)
		psg_tensor_unref(out[i]);
	psg_tensor_unref(in);
}

/* A side as detection gets it: a multiple of 32. */
static int32_t detected(int32_t side, int32_t longest)
{
	int32_t scaled = longest > scale->longest ? side * scale->longest / longest : side;

	return scaled < 32 ? 32 : scaled / 32 * 32;
}

/* See src/ocr/stages.c. */
static int32_t bucket(int32_t width)
{
	int32_t step = width <= 320 ? 16 : width <= 640 ? 32 : width <= 1280 ? 64 : 128;

	return (width + step - 1) / step * step;
}

static int by_width(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

static void read_lines(int32_t lines, int32_t least, int32_t most)
{
	int32_t widths[MOST_LINES];

	for (int32_t left = lines; left > 0; left -= BATCH)
		run(models[DIRECTION], left < BATCH ? left : BATCH, 48, 192, false);
	for (int32_t i = 0; i < lines; i++)
		widths[i] = bucket(between(least, most));
	qsort(widths, (size_t)lines, sizeof(widths[0]), by_width);
	for (int32_t i = 0, n; i < lines; i += n) {
		for (n = 1; i + n < lines && n < BATCH && widths[i + n] == widths[i]; n++)
			;
		run(models[RECOGNITION], n, 48, widths[i], true);
	}
}

/* The page is all that `number` says. */
static void read_page(uint32_t number)
{
	int32_t width = scale->most, height = scale->most, longest, lines = MOST_LINES;
	bool largest = number % LARGEST_EACH == 0;

	state = (number + 1) * 2654435761U + scale->seed; /* 2^32 / golden ratio */
	if (!largest) {
		width = between(scale->least, scale->most);
		height = between(scale->least, scale->most);
		lines = between(0, MOST_LINES);
	}
	longest = width > height ? width : height;
	run(models[DETECTION], 1, detected(height, longest), detected(width, longest), false);
	read_lines(lines, largest ? width : 32, width);
}

/* --- what is left when they are read --- */

struct memory {
	psgi_gpu_stats gpu;
	fakecuda_counts driver;
	size_t heap;     /* bytes in use; 0 where nobody tells */
	double resident; /* of the process, in KiB */
};

static double resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	ck_assert_msg(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2, "statm");
	(void)fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static struct memory memory_now(void)
{
	struct memory now = { .driver = t_gpu_counts() };

	psgi_gpu_stats_get(device, &now.gpu);
#ifdef __GLIBC__
	(void)malloc_trim(0); /* what is free between what is in use is not resident either */
#endif
	now.resident = resident();
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	now.heap = mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
	return now;
}

static void tell(const char *when, const struct memory *m)
{
	(void)printf("%s: held %zu, in use %zu, most held %zu, requests %llu, calls of the driver "
		     "%llu; host: heap %zu, resident %.0f KiB\n",
		     when, m->gpu.held_bytes, m->gpu.used_bytes, m->gpu.high_bytes,
		     (unsigned long long)m->gpu.allocs, (unsigned long long)m->gpu.driver_allocs,
		     m->heap, m->resident);
}

/* Measured: the heap grows by some kilobytes.  A hundred bytes a run would be megabytes.  What is
 * resident is told only: huge pages may fill in what nobody touched. */
#define MOST_HEAP ((size_t)64 << 10)

static void compare(const struct memory *before, const struct memory *after)
{
	ck_assert_uint_gt(after->gpu.allocs, before->gpu.allocs + 20 * DIFFERENT);
	ck_assert_uint_eq(after->gpu.driver_allocs, before->gpu.driver_allocs);
	ck_assert_uint_eq(after->gpu.held_bytes, before->gpu.held_bytes);
	ck_assert_uint_eq(after->gpu.high_bytes, before->gpu.high_bytes);
	ck_assert_uint_eq(after->gpu.used_bytes, before->gpu.used_bytes);
	ck_assert_uint_eq(after->gpu.trims, 0);
	if (t_gpu_real())
		return; /* its driver has memory of its own */
	ck_assert_int_eq(after->driver.allocs, before->driver.allocs);
	ck_assert_int_eq(after->driver.device_bytes, before->driver.device_bytes);
#ifndef PSG_SANITIZED                  /* whose memory is not ours */
	if (getenv("CK_FORK") == NULL) /* as under valgrind, whose memory is not ours either */
		ck_assert_uint_le(after->heap, before->heap + MOST_HEAP);
#endif
}

/* What a dry run tells of the largest run. */
static size_t largest_run(void)
{
	const psg_shape shapes[MODELS] = {
		[DETECTION] = PSG_SHAPE(1, 3, scale->longest, scale->longest),
		[RECOGNITION] = PSG_SHAPE(BATCH, 3, 48, bucket(scale->most)),
		[DIRECTION] = PSG_SHAPE(BATCH, 3, 48, 192),
	};
	size_t most = 0;

	for (int i = 0; i < MODELS; i++) {
		psg_model_stats stats;

		ck_assert_int_eq(
			psg_model_stats_get(models[i], device, &shapes[i], 1, &stats, NULL),
			PSG_OK);
		if ((size_t)stats.peak_bytes > most)
			most = (size_t)stats.peak_bytes;
	}
	return most;
}

static void settles(const struct scale *sizes)
{
	struct memory before, after;
	size_t needed;

	begin(sizes);
	for (uint32_t i = 0; i < DIFFERENT; i++)
		read_page(i);
	before = memory_now();
	tell("after the first", &before);
	for (uint32_t i = DIFFERENT; i < PAGES; i++)
		read_page(i * STRIDE % DIFFERENT);
	after = memory_now();
	tell("after the second", &after);
	compare(&before, &after);
	needed = after.gpu.used_bytes + largest_run();
	ck_assert_msg(after.gpu.held_bytes <= needed / 100 * scale->most_held,
		      "%zu held, %zu needed", after.gpu.held_bytes, needed);
	end();
}

START_TEST(random_networks)
{
	settles(&small);
}
END_TEST

START_TEST(page_models)
{
	settles(&real);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu settle");
	TCase *all = tcase_create("pages");
	SRunner *runner;
	char path[4096];
#ifdef PSG_SANITIZED
	bool found = false; /* the same at a tenth of the speed tells nothing new */
#else
	bool found = true;
#endif
	int failed;

	for (int i = 0; i < MODELS; i++)
		found = found && t_model_path(kinds[i].file, path, sizeof(path));
	/* It takes some ten seconds where nothing else runs; with kernels on a card a minute. */
	tcase_set_timeout(all, t_gpu_real() ? 600 : 180);
	tcase_add_test(all, random_networks);
	if (found)
		tcase_add_test(all, page_models);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
