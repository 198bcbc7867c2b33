/* SPDX-License-Identifier: Apache-2.0 */
/* See fakecuda_util.h. */
#include "config.h"

#include "fakecuda_util.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool t_gpu_real(void)
{
	const char *which = getenv("PAGESIFT_TEST_GPU");

	return which != NULL && strcmp(which, "real") == 0;
}

/* The build's folder, as `make check` tells it; else the current one. */
static void point(const char *variable, const char *library)
{
	const char *build = getenv("PSG_BUILD");
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s/tests/fakecuda/.libs/%s",
		       build != NULL ? build : ".", library);
	ck_assert_int_eq(setenv(variable, path, 1), 0);
}

void t_gpu_begin(void)
{
	/* What is not about the choice tests the GPU's side, and leaves no file behind. */
	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "gpu", 0), 0);
	if (t_gpu_real())
		return;
	point("PAGESIFT_LIBCUDA", "libfakecuda.so");
	point("PAGESIFT_LIBNVML", "libfakenvml.so");
}

void t_gpu_symbol(const char *name, void *function)
{
	const char *path = getenv("PAGESIFT_LIBCUDA");
	void *library = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *address = library != NULL ? dlsym(library, name) : NULL;

	ck_assert_msg(address != NULL, "%s: %s", name, dlerror());
	memcpy(function, &address, sizeof(address));
}

fakecuda_counts t_gpu_counts(void)
{
	fakecuda_counts counts = { 0 };
	fakecuda_stats_fn *stats;

	if (t_gpu_real())
		return counts;
	t_gpu_symbol("fakecuda_stats", &stats);
	stats(&counts);
	return counts;
}

void t_gpu_fail(const char *rules)
{
	fakecuda_fail_fn *set_rules; /* check has a macro "fail" */

	t_gpu_symbol("fakecuda_fail", &set_rules);
	set_rules(rules);
}

char *t_gpu_log(void)
{
	char *text = malloc(FAKECUDA_LOG + 1);
	fakecuda_log_fn *log_of;

	ck_assert_ptr_nonnull(text);
	t_gpu_symbol("fakecuda_log", &log_of);
	log_of(text);
	return text;
}

void t_gpu_expect_nothing_left(void)
{
	fakecuda_counts counts = t_gpu_counts();

	ck_assert_int_eq(counts.contexts, 0);
	ck_assert_int_eq(counts.modules, 0);
	ck_assert_int_eq(counts.streams, 0);
	ck_assert_int_eq(counts.events, 0);
	ck_assert_int_eq(counts.blocks, 0);
	ck_assert_int_eq(counts.pinned, 0);
	ck_assert_int_eq(counts.device_bytes, 0);
}
