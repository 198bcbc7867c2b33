/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the JSON of bench jobs on standard input: each key that is promised is there, once, with
 * the right type, and nothing else is; there is one entry for each number of producers given as
 * an argument, in that order; times and rates are above zero.  Whether they are good is not looked
 * at.
 */
#include "config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

static void check(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "json_jobs: %s\n", what);
	wrong = 1;
}

static bool positive(const json_t *number)
{
	return json_is_number(number) && json_number_value(number) > 0;
}

/* Is the key of a system that this build lacks? */
static bool absent(const char *key)
{
#if !HAVE_GLIB
	if (strncmp(key, "gthreadpool", strlen("gthreadpool")) == 0)
		return true;
#endif
#if !HAVE_UV
	if (strncmp(key, "uv", strlen("uv")) == 0)
		return true;
#endif
	return key[0] == '\0';
}

/* One entry of a list: `producers`, and these keys and no other. */
static void check_entry(const json_t *entry, long producers, const char *const *keys, size_t n)
{
	check(json_integer_value(json_object_get(entry, "producers")) == producers,
	      "another number of producers");
	check(json_object_size(entry) == n + 1, "another number of keys");
	for (size_t i = 0; i < n; i++)
		check(absent(keys[i]) ? json_is_null(json_object_get(entry, keys[i]))
				      : positive(json_object_get(entry, keys[i])),
		      keys[i]);
}

static void check_rates(const json_t *list, char **producers, size_t n)
{
	static const char *const keys[] = { "ours", "ours_detached", "gthreadpool", "uv",
					    "mutex_cond" };

	check(json_array_size(list) == n, "throughput has another length");
	for (size_t i = 0; i < n; i++)
		check_entry(json_array_get(list, i), atol(producers[i]), keys, 5);
}

static void check_submissions(const json_t *list, char **producers, size_t n)
{
	static const char *const keys[] = { "p50", "p99", "p99_9", "max", "samples" };

	check(json_array_size(list) == n, "submit_ns has another length");
	for (size_t i = 0; i < n; i++) {
		const json_t *entry = json_array_get(list, i);

		check_entry(entry, atol(producers[i]), keys, 5);
		for (size_t k = 0; k < 3; k++)
			check(json_number_value(json_object_get(entry, keys[k])) <=
				      json_number_value(json_object_get(entry, keys[k + 1])),
			      "falling quantiles");
	}
}

/* Two entries for each number: an idle and an awake worker. */
static void check_trips(const json_t *list, char **producers, size_t n)
{
	static const char *const keys[] = { "ours",       "ours_p99",        "gthreadpool",
					    "uv",         "gthreadpool_p99", "uv_p99",
					    "mutex_cond", "mutex_cond_p99" };
	static const char *const states[] = { "idle", "awake" };

	check(json_array_size(list) == 2 * n, "a list of trips has another length");
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *entry = json_array_get(list, i);
		const char *state = json_string_value(json_object_get(entry, "worker"));

		check(state != NULL && strcmp(state, states[i % 2]) == 0, "another worker");
		(void)json_object_del(entry, "worker");
		check_entry(entry, atol(producers[i / 2]), keys, 8);
	}
}

int main(int argc, char **argv)
{
	static const char *const trips[] = { "round_trip_ns", "trip_submit_ns",
					     "trip_completion_ns" };
	json_error_t error;
	json_t *all = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
	size_t n = (size_t)argc - 1;

	check(json_object_size(all) == 8, "another number of keys in all");
	check(positive(json_object_get(all, "cores")), "cores");
	check(json_integer_value(json_object_get(all, "rounds")) == 2, "rounds are not 2");
	check(positive(json_object_get(all, "in_flight")), "in_flight");
	check_rates(json_object_get(all, "throughput"), argv + 1, n);
	check_submissions(json_object_get(all, "submit_ns"), argv + 1, n);
	for (size_t i = 0; i < 3; i++)
		check_trips(json_object_get(all, trips[i]), argv + 1, n);
	json_decref(all);
	return wrong;
}
