/* SPDX-License-Identifier: Apache-2.0 */
/* Events as Chrome's JSON. */
#include "config.h"

#include "base/trace_ring.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(psgi_trace_text *text, const char *from, size_t bytes)
{
	if (bytes > text->room - text->bytes)
		bytes = text->room - text->bytes;
	memcpy(text->data + text->bytes, from, bytes);
	text->bytes += bytes;
}

static void print(psgi_trace_text *text, const char *format, ...) PSG_PRINTF(2, 3);

static void print(psgi_trace_text *text, const char *format, ...)
{
	char line[256]; /* of numbers and literals */
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n > 0)
		put(text, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* What is not UTF-8, as where a text was cut, becomes U+FFFD. */
static void put_string(psgi_trace_text *text, const char *from, size_t bytes)
{
	const unsigned char *in = (const unsigned char *)from;

	put(text, "\"", 1);
	for (size_t i = 0; i < bytes;) {
		size_t length = psgi_utf8_length(in + i, bytes - i);

		if (length == 0)
			put(text, "\\ufffd", 6);
		else if (in[i] == '"' || in[i] == '\\')
			print(text, "\\%c", in[i]);
		else if (in[i] < 0x20 || in[i] == 0x7f)
			print(text, "\\u%04x", in[i]);
		else
			put(text, from + i, length);
		i += length > 0 ? length : 1;
	}
	put(text, "\"", 1);
}

/* Microseconds, to the nanosecond. */
static void put_time(psgi_trace_text *text, const char *key, uint64_t ns)
{
	print(text, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_head(psgi_trace_text *text, const char *name, size_t name_bytes, const char *phase,
		     int32_t process, int32_t thread)
{
	put(text, ",\n{\"name\":", 10);
	put_string(text, name, name_bytes);
	print(text, ",\"ph\":\"%s\",\"pid\":%" PRId32 ",\"tid\":%" PRId32, phase, process, thread);
}

static void put_args(psgi_trace_text *text, const unsigned char *from, size_t n_args)
{
	put(text, ",\"args\":{", 9);
	for (size_t i = 0; i < n_args; i++) {
		const psgi_trace_arg_head *head = (const psgi_trace_arg_head *)(const void *)from;

		from += sizeof(*head);
		print(text, "%s\"%s\":", i > 0 ? "," : "", head->key);
		if (head->is_text)
			put_string(text, (const char *)from, head->text_bytes);
		else
			print(text, "%" PRId64, head->number);
		from += psgi_trace_padded(head->text_bytes);
	}
	put(text, "}", 1);
}

void psgi_trace_put_record(psgi_trace_text *text, const psgi_trace_record *record, int32_t process,
			   int32_t thread)
{
	static const char *const phases[] = {
		[PSGI_TRACE_SPAN] = "X",      [PSGI_TRACE_ARROW_BEGIN] = "s",
		[PSGI_TRACE_ARROW_END] = "f", [PSGI_TRACE_COUNTER] = "C",
		[PSGI_TRACE_TRACK] = "M",
	};
	const char *name = (const char *)(record + 1);
	const unsigned char *args =
		(const unsigned char *)name + psgi_trace_padded(record->name_bytes);

	if (record->track != 0)
		thread = record->track;
	if (record->phase == PSGI_TRACE_TRACK) {
		put_head(text, "thread_name", strlen("thread_name"), "M", process, thread);
		put(text, ",\"args\":{\"name\":", 16);
		put_string(text, name, record->name_bytes);
		put(text, "}}", 2);
		return;
	}
	put_head(text, name, record->name_bytes, phases[record->phase], process, thread);
	print(text, ",\"cat\":\"%s\"", record->category);
	put_time(text, "ts", record->at_ns > 0 ? (uint64_t)record->at_ns : 0);
	if (record->phase == PSGI_TRACE_SPAN)
		put_time(text, "dur", record->value);
	else if (record->phase != PSGI_TRACE_COUNTER)
		print(text, ",\"id\":\"0x%" PRIx64 "\"", record->value);
	if (record->phase == PSGI_TRACE_ARROW_END) /* of the span around it, not the next one */
		put(text, ",\"bp\":\"e\"", 9);
	if (record->n_args > 0)
		put_args(text, args, record->n_args);
	put(text, "}", 1);
}

void psgi_trace_put_name(psgi_trace_text *text, const char *what, const char *name, int32_t process,
			 int32_t thread)
{
	put_head(text, what, strlen(what), "M", process, thread);
	put(text, ",\"args\":{\"name\":", 16);
	put_string(text, name, strlen(name));
	put(text, "}}", 2);
}

void psgi_trace_put_note(psgi_trace_text *text, const char *what, const char *key, int64_t number,
			 int32_t process, int32_t thread)
{
	put_head(text, what, strlen(what), "M", process, thread);
	print(text, ",\"args\":{\"%s\":%" PRId64 "}}", key, number);
}
