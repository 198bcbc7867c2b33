/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the JSON of bench share on standard input: each key that is promised is there, once, with
 * the right type, and nothing else is; rounds are as many as the argument says; times and rates are
 * above zero, and what is in order is so.  Whether they are good is not looked at.
 */
#include "config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void check(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "json_share: %s\n", what);
	wrong = 1;
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	check(json_is_number(value), key);
	return json_number_value(value);
}

/* These keys, of numbers above zero, and no other. */
static void check_positive(const json_t *object, const char *const *keys, size_t n, size_t size)
{
	check(json_object_size(object) == size, "another number of keys");
	for (size_t i = 0; i < n; i++)
		check(number(object, keys[i]) > 0, keys[i]);
}

static void check_pages(const json_t *pages)
{
	static const char *const keys[] = { "p50_ms", "p99_ms", "pages" };

	check_positive(pages, keys, 3, 3);
	check(number(pages, "p50_ms") <= number(pages, "p99_ms"), "falling quantiles");
	check(json_is_integer(json_object_get(pages, "pages")), "pages are no number of them");
}

static void check_detection(const json_t *detection)
{
	static const char *const keys[] = { "p99_part" };
	static const char *const of_batch[] = { "lines", "mean_ms", "longest_ms" };
	const json_t *alone = json_object_get(detection, "alone");
	const json_t *beside = json_object_get(detection, "beside");
	const json_t *batch = json_object_get(detection, "batch");
	double bound = number(alone, "p50_ms") + number(batch, "mean_ms");
	double off = number(detection, "p99_part") - number(beside, "p99_ms") / bound;

	check_positive(detection, keys, 1, 4);
	check_pages(alone);
	check_pages(beside);
	check_positive(batch, of_batch, 3, 3);
	check(off > -1e-3 && off < 1e-3, "p99_part is of something else");
}

/* Of rounds, and what is told of all of them, which lies between. */
static void check_spread(const json_t *spread, const char *all)
{
	const char *const keys[] = { "least", all, "most" };

	check_positive(spread, keys, 3, 3);
	for (size_t i = 0; i < 2; i++)
		check(number(spread, keys[i]) <= number(spread, keys[i + 1]) + 1e-5, all);
}

static void check_clients(const json_t *clients)
{
	static const char *const keys[] = { "patient", "given_up" };
	static const char *const cases[] = { "alone", "beside" };

	check_positive(clients, keys, 2, 6);
	check(number(clients, "given_up") + number(clients, "given_up_late") <= 1, "parts above 1");
	check_positive(json_object_get(clients, "lines_per_second"), cases, 2, 2);
	check_positive(json_object_get(clients, "device_busy"), cases, 2, 2);
	check_spread(json_object_get(clients, "part"), "median");
}

int main(int argc, char **argv)
{
	static const char *const of_weights[] = { "heavy" };
	json_error_t error;
	json_t *all = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
	const json_t *weights = json_object_get(all, "weights");

	check(json_object_size(all) == 5, "another number of keys in all");
	check(json_is_string(json_object_get(all, "device")), "device");
	check(argc == 2 && json_integer_value(json_object_get(all, "rounds")) == atol(argv[1]),
	      "another number of rounds");
	check_detection(json_object_get(all, "detection"));
	check_positive(weights, of_weights, 1, 2);
	check_spread(json_object_get(weights, "device_time"), "ratio");
	check_clients(json_object_get(all, "clients"));
	json_decref(all);
	return wrong;
}
