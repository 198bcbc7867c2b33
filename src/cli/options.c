/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by its table. */
#include "config.h"

#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

bool cli_parse_text(const cli_option *option, const char *text, void *field, char *wanted,
		    size_t size)
{
	(void)option;
	*(const char **)field = text;
	(void)snprintf(wanted, size, "anything but nothing");
	return text[0] != '\0';
}

bool cli_parse_int(const cli_option *option, const char *text, void *field, char *wanted,
		   size_t size)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	(void)snprintf(wanted, size, "a whole number from %.0f to %.0f", option->least,
		       option->most);
	if (end == text || *end != '\0' || errno != 0 || (double)value < option->least ||
	    (double)value > option->most)
		return false;
	*(int64_t *)field = value;
	return true;
}

bool cli_parse_real(const cli_option *option, const char *text, void *field, char *wanted,
		    size_t size)
{
	char *end;
	double value = strtod(text, &end);

	(void)snprintf(wanted, size, "a number from %g to %g", option->least, option->most);
	/* Written so that it is false for what is not a number. */
	if (end == text || *end != '\0' || !(value >= option->least && value <= option->most))
		return false;
	*(double *)field = value;
	return true;
}

bool cli_parse_choice(const cli_option *option, const char *text, void *field, char *wanted,
		      size_t size)
{
	size_t used = 0;

	for (int i = 0; option->choices[i] != NULL; i++) {
		if (strcmp(text, option->choices[i]) == 0) {
			*(int *)field = i;
			return true;
		}
	}
	for (int i = 0; option->choices[i] != NULL && used < size; i++) {
		const char *before = i == 0 ? "one of " : option->choices[i + 1] ? ", " : " and ";
		int n = snprintf(wanted + used, size - used, "%s%s", before, option->choices[i]);

		used += n > 0 ? (size_t)n : 0;
	}
	return false;
}

/* --- finding an option --- */

struct reader {
	const cli_usage *usage;
	char *values;
	int argc, at;
	char **argv;
};

/* Offered by every command, and never stored. */
static const cli_option help = { .letter = 'h', .name = "help", .help = "show this help" };

/* The option of the row `i`; the row past the table is help's. */
static const cli_option *option_at(const cli_usage *usage, size_t i)
{
	return i < usage->n_options ? &usage->options[i] : &help;
}

static const cli_option *by_letter(const cli_usage *usage, char letter)
{
	for (size_t i = 0; i <= usage->n_options; i++)
		if (option_at(usage, i)->letter == letter)
			return option_at(usage, i);
	return NULL;
}

/* By its whole name, or the first letters of only one: `n` bytes of `name`.  *others: of several.
 */
static const cli_option *by_name(const cli_usage *usage, const char *name, size_t n, bool *others)
{
	const cli_option *found = NULL;

	*others = false;
	for (size_t i = 0; i <= usage->n_options; i++) {
		const cli_option *option = option_at(usage, i);

		if (strncmp(option->name, name, n) != 0)
			continue;
		if (option->name[n] == '\0') {
			*others = false;
			return option;
		}
		*others = *others || found != NULL;
		found = option;
	}
	return *others ? NULL : found;
}

static cli_exit unknown(const cli_usage *usage, const char *word, size_t n, bool several)
{
	const char *names[64];
	char name[64];
	const char *near;
	size_t count = 0;

	if (several)
		return cli_usage_error(usage, "--%.*s could be several options", (int)n, word);
	while (count <= usage->n_options && count < sizeof(names) / sizeof(names[0])) {
		names[count] = option_at(usage, count)->name;
		count++;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)n, word);
	near = cli_nearest(name, names, count);
	if (near == NULL)
		return cli_usage_error(usage, "there is no option --%.*s", (int)n, word);
	return cli_usage_error(usage, "there is no option --%.*s; did you mean --%s?", (int)n, word,
			       near);
}

/* --- reading --- */

static bool store(struct reader *r, const cli_option *option, const char *value, cli_exit *result)
{
	char wanted[256] = "";

	if (option->parse == NULL) {
		*(bool *)(r->values + option->field) = true;
		return true;
	}
	if (option->parse(option, value, r->values + option->field, wanted, sizeof(wanted)))
		return true;
	*result =
		cli_usage_error(r->usage, "--%s: '%.200s' is not %s", option->name, value, wanted);
	return false;
}

/* The argument after an option; NULL: there is none. */
static const char *next_argument(struct reader *r)
{
	return r->at + 1 < r->argc ? r->argv[++r->at] : NULL;
}

/* `given` is what follows in the same argument; NULL: nothing. */
static bool take(struct reader *r, const cli_option *option, const char *given, cli_exit *result)
{
	if (option->parse != NULL && given == NULL)
		given = next_argument(r);
	if (option->parse == NULL || given != NULL)
		return store(r, option, given, result);
	*result = cli_usage_error(r->usage, "--%s needs a value: --%s %s", option->name,
				  option->name, option->value);
	return false;
}

static void print_help(const cli_usage *usage);

static bool read_long(struct reader *r, const char *word, cli_exit *result)
{
	size_t n = strcspn(word, "=");
	const char *given = word[n] == '=' ? word + n + 1 : NULL;
	bool several;
	const cli_option *option = by_name(r->usage, word, n, &several);

	if (option == NULL) {
		*result = unknown(r->usage, word, n, several);
		return false;
	}
	if (option->parse == NULL && given != NULL) {
		*result = cli_usage_error(r->usage, "--%s takes no value", option->name);
		return false;
	}
	if (option == &help) {
		print_help(r->usage);
		*result = cli_finish_output(CLI_OK);
		return false;
	}
	return take(r, option, given, result);
}

static bool read_letters(struct reader *r, const char *letters, cli_exit *result)
{
	for (; *letters != '\0'; letters++) {
		const cli_option *option = by_letter(r->usage, *letters);

		if (option == NULL) {
			*result = cli_usage_error(r->usage, "there is no option -%c", *letters);
			return false;
		}
		if (option == &help)
			return read_long(r, help.name, result);
		if (option->parse != NULL)
			return take(r, option, letters[1] != '\0' ? letters + 1 : NULL, result);
		if (!take(r, option, NULL, result))
			return false;
	}
	return true;
}

bool cli_options_read(const cli_usage *usage, int argc, char **argv, void *values, int *n,
		      cli_exit *result)
{
	struct reader r = { .usage = usage, .values = values, .argc = argc, .argv = argv };
	bool operands_only = false;

	*n = 0;
	for (r.at = 1; r.at < argc; r.at++) {
		char *word = argv[r.at];

		if (operands_only || word[0] != '-' || word[1] == '\0') {
			argv[++*n] = word;
		} else if (word[1] != '-') {
			if (!read_letters(&r, word + 1, result))
				return false;
		} else if (word[2] == '\0') {
			operands_only = true;
		} else if (!read_long(&r, word + 2, result)) {
			return false;
		}
	}
	return true;
}

cli_exit cli_usage_error(const cli_usage *usage, const char *format, ...)
{
	char text[PSG_ERROR_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cli_error("%s: %s", usage->command, text);
	cli_note("'" PACKAGE_NAME " %s --help' tells more", usage->command);
	return CLI_USAGE;
}

/* --- help --- */

#define WIDTH 80       /* columns; chosen: what a terminal has at least */
#define HELP_COLUMN 27 /* where the explanations start */

void cli_print_wrapped(const char *text, size_t at, size_t indent)
{
	while (*text != '\0') {
		size_t n = strcspn(text, " ");
		bool first = at == indent;

		if (!first && at + 1 + n >= WIDTH) {
			(void)printf("\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		(void)printf("%s%.*s", first ? "" : " ", (int)n, text);
		at += n + (first ? 0 : 1);
		text += n;
		text += strspn(text, " ");
	}
	(void)putchar('\n');
}

static void print_option(const cli_option *option)
{
	char letter[8] = "   ", left[64];
	int n;

	if (option->letter != '\0')
		(void)snprintf(letter, sizeof(letter), "-%c,", option->letter);
	n = snprintf(left, sizeof(left), "  %s --%s%s%s", letter, option->name,
		     option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
	(void)fputs(left, stdout);
	if (n > HELP_COLUMN - 2) {
		(void)putchar('\n');
		n = 0;
	}
	(void)printf("%*s", HELP_COLUMN - n, "");
	cli_print_wrapped(option->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_help(const cli_usage *usage)
{
	(void)printf("usage: " PACKAGE_NAME " %s [OPTION]...%s%s\n\n%s\n\n", usage->command,
		     usage->operands[0] != '\0' ? " " : "", usage->operands, usage->about);
	for (size_t i = 0; i <= usage->n_options; i++)
		print_option(option_at(usage, i));
	if (usage->notes != NULL)
		(void)printf("\n%s\n", usage->notes);
}
