/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's faults and counts: which call fails, and with what. */
#include "config.h"

#include "fake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_RULES 16

static struct rule {
	char what[48];
	unsigned long at; /* the call that fails, counted from 1 */
	bool from_then_on;
	CUresult code;
	unsigned long seen;
} rules[MAX_RULES];
static size_t n_rules;

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
fakecuda_counts fake_counts;

bool fake_is_lost(CUresult code)
{
	switch (code) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_ECC_UNCORRECTABLE:
		return true;
	default:
		return false;
	}
}

/* "cuMemAlloc_v2:3+:2" */
static void add_rule(const char *text)
{
	struct rule *rule = &rules[n_rules];
	const char *colon = strchr(text, ':');
	char *end;

	if (colon == NULL || n_rules == MAX_RULES || (size_t)(colon - text) >= sizeof(rule->what))
		return;
	memset(rule, 0, sizeof(*rule));
	memcpy(rule->what, text, (size_t)(colon - text));
	rule->at = strtoul(colon + 1, &end, 10);
	if (*end == '+') {
		rule->from_then_on = true;
		end++;
	}
	if (*end != ':')
		return;
	rule->code = (CUresult)strtol(end + 1, NULL, 10);
	n_rules++;
}

static void read_rules(const char *text)
{
	n_rules = 0;
	while (text != NULL && *text != '\0') {
		const char *comma = strchr(text, ',');

		add_rule(text);
		text = comma != NULL ? comma + 1 : NULL;
	}
}

/* The function that does not return; NULL: all do. */
static const char *_Atomic hangs;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_environment(void)
{
	read_rules(getenv("FAKECUDA_FAIL"));
	atomic_store(&hangs, getenv("FAKECUDA_HANG"));
	fake_configure();
}

CUresult fake_rule(const char *what)
{
	CUresult code = CUDA_SUCCESS;

	for (size_t i = 0; i < n_rules; i++) {
		struct rule *rule = &rules[i];

		if (strcmp(rule->what, what) != 0 &&
		    (strcmp(rule->what, "*") != 0 || strcmp(what, "run") == 0))
			continue;
		rule->seen++;
		if (rule->seen == rule->at || (rule->from_then_on && rule->seen > rule->at))
			code = rule->code;
	}
	fake_counts.faults += code != CUDA_SUCCESS;
	return code;
}

static void hang(const char *function)
{
	const char *which;

	while ((which = atomic_load(&hangs)) != NULL && strcmp(which, function) == 0)
		(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static CUresult enter(const char *function, bool last)
{
	fake_device *device;
	CUresult code;

	(void)pthread_once(&once, read_environment);
	hang(function);
	(void)pthread_mutex_lock(&fake_lock);
	fake_counts.calls++;
	code = fake_rule(function);
	device = fake_current();
	if (device != NULL && fake_is_lost(code))
		device->sticky = code;
	if (code == CUDA_SUCCESS && !last && device != NULL)
		code = device->sticky;
	return code;
}

CUresult fake_enter(const char *function)
{
	return enter(function, false);
}

CUresult fake_enter_last(const char *function)
{
	return enter(function, true);
}

CUresult fake_leave(CUresult result)
{
	(void)pthread_mutex_unlock(&fake_lock);
	return result;
}

void fakecuda_stats(fakecuda_counts *out)
{
	(void)pthread_mutex_lock(&fake_lock);
	*out = fake_counts;
	(void)pthread_mutex_unlock(&fake_lock);
}

static char letters[FAKECUDA_LOG];
static size_t n_letters; /* ever */

void fake_log(char letter, bool is_first)
{
	letters[n_letters++ % FAKECUDA_LOG] = is_first ? letter : (char)(letter - 'A' + 'a');
}

void fakecuda_log(char *out)
{
	size_t first = 0;

	(void)pthread_mutex_lock(&fake_lock);
	if (n_letters > FAKECUDA_LOG)
		first = n_letters - FAKECUDA_LOG;
	for (size_t i = first; i < n_letters; i++)
		*out++ = letters[i % FAKECUDA_LOG];
	*out = '\0';
	(void)pthread_mutex_unlock(&fake_lock);
}

void fakecuda_fail(const char *text)
{
	(void)pthread_once(&once, read_environment);
	(void)pthread_mutex_lock(&fake_lock);
	read_rules(text);
	n_letters = 0;
	for (size_t i = 0; i < FAKE_MAX_DEVICES; i++)
		fake_devices[i].sticky = CUDA_SUCCESS;
	(void)pthread_mutex_unlock(&fake_lock);
	atomic_store(&hangs, NULL); /* what hung meets the new rules */
}

static __attribute__((destructor)) void report(void)
{
	const char *name = getenv("FAKECUDA_REPORT");
	FILE *file = name != NULL ? fopen(name, "we") : NULL;

	if (file == NULL)
		return;
#define PRINT(count) (void)fprintf(file, #count " %lld\n", (long long)fake_counts.count);
	FAKECUDA_COUNTS(PRINT)
#undef PRINT
	(void)fclose(file);
}
