/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as tests read them: a file's events, and what each of them says. */
#ifndef PSG_TESTS_TRACE_UTIL_H
#define PSG_TESTS_TRACE_UTIL_H

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The array that is in the file; fails the test when it is none. */
static inline json_t *t_trace_load(const char *path)
{
	json_error_t error;
	json_t *events = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	ck_assert_msg(events != NULL, "%s:%d: %s", path, error.line, error.text);
	ck_assert(json_is_array(events));
	return events;
}

static inline const char *t_trace_string(const json_t *event, const char *key)
{
	const char *value = json_string_value(json_object_get(event, key));

	return value != NULL ? value : "";
}

/* Nanoseconds of a time. */
static inline int64_t t_trace_ns(const json_t *event, const char *key)
{
	return (int64_t)(json_number_value(json_object_get(event, key)) * 1000 + 0.5);
}

static inline int64_t t_trace_int(const json_t *event, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(event, key));
}

static inline const json_t *t_trace_arg(const json_t *event, const char *key)
{
	return json_object_get(json_object_get(event, "args"), key);
}

static inline int64_t t_trace_number(const json_t *event, const char *key)
{
	const json_t *arg = t_trace_arg(event, key);

	ck_assert_msg(json_is_integer(arg), "%s is no number of '%s'", key,
		      t_trace_string(event, "name"));
	return (int64_t)json_integer_value(arg);
}

static inline const char *t_trace_text(const json_t *event, const char *key)
{
	const char *value = json_string_value(t_trace_arg(event, key));

	ck_assert_msg(value != NULL, "%s is no text of '%s'", key, t_trace_string(event, "name"));
	return value;
}

/* NULL: any. */
static inline bool t_trace_is(const json_t *event, const char *phase, const char *category,
			      const char *name)
{
	return (phase == NULL || strcmp(t_trace_string(event, "ph"), phase) == 0) &&
	       (category == NULL || strcmp(t_trace_string(event, "cat"), category) == 0) &&
	       (name == NULL || strcmp(t_trace_string(event, "name"), name) == 0);
}

static inline size_t t_trace_count(const json_t *events, const char *phase, const char *category,
				   const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(events); i++)
		n += t_trace_is(json_array_get(events, i), phase, category, name);
	return n;
}

/* The `k`-th of them, from 0; NULL: there are fewer. */
static inline const json_t *t_trace_find(const json_t *events, const char *phase,
					 const char *category, const char *name, size_t k)
{
	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (t_trace_is(event, phase, category, name) && k-- == 0)
			return event;
	}
	return NULL;
}

/* The one that there is. */
static inline const json_t *t_trace_only(const json_t *events, const char *phase,
					 const char *category, const char *name)
{
	ck_assert_msg(t_trace_count(events, phase, category, name) == 1, "%zu of '%s' %s",
		      t_trace_count(events, phase, category, name), name != NULL ? name : "any",
		      phase != NULL ? phase : "");
	return t_trace_find(events, phase, category, name, 0);
}

/* The name that the file gives a thread; NULL: none. */
static inline const char *t_trace_thread_name(const json_t *events, int64_t thread)
{
	const json_t *event;

	for (size_t k = 0; (event = t_trace_find(events, "M", NULL, "thread_name", k)) != NULL; k++)
		if (t_trace_int(event, "tid") == thread)
			return t_trace_text(event, "name");
	return NULL;
}

#endif
