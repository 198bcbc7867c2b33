/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines from tables: one table a command, from which options are read
 * and --help is written.
 *
 * Options and operands may be mixed; "--" ends the options; "-" is an operand.
 * `-j 4`, `-j4`, `--jobs 4`, `--jobs=4`, and a long name's first letters when
 * they fit no other; switches of one letter may stand together.
 */
#ifndef PSG_CLI_OPTIONS_H
#define PSG_CLI_OPTIONS_H

#include "cli/cli.h"

typedef struct cli_option cli_option;

/*
 * Reads `text` into the option's field.  False: it does not fit; `wanted` (of `size` bytes) then
 * says what would, as in "... is not WANTED".
 */
typedef bool (*cli_parse_fn)(const cli_option *option, const char *text, void *field, char *wanted,
			     size_t size);

bool cli_parse_text(const cli_option *, const char *, void *, char *, size_t);   /* const char * */
bool cli_parse_int(const cli_option *, const char *, void *, char *, size_t);    /* int64_t */
bool cli_parse_real(const cli_option *, const char *, void *, char *, size_t);   /* double */
bool cli_parse_choice(const cli_option *, const char *, void *, char *, size_t); /* int: which */

struct cli_option {
	char letter;        /* 0: none */
	const char *name;   /* the long name, without its dashes */
	const char *value;  /* what --help calls the value; NULL: a switch, its field a bool */
	const char *help;   /* any length: it is wrapped */
	size_t field;       /* offset in the command's struct of values */
	cli_parse_fn parse; /* NULL for a switch */
	double least, most; /* bounds of a number */
	const char *const *choices; /* of cli_parse_choice; NULL ends it */
};

/* A command, as --help shows it. */
typedef struct cli_usage {
	const char *command;
	const char *operands; /* "FILE..." */
	const char *about;    /* what it does; lines are kept as they are */
	const cli_option *options;
	size_t n_options;
	const char *notes; /* after the options: examples; lines are kept as they are */
} cli_usage;

/* What every command that reads pages or runs models offers, in the same words. */
#define CLI_OPTION_DEVICE(type, member)                                                            \
	{                                                                                          \
		.name = "device", .value = "DEVICE",                                               \
		.help = "auto (default), cpu, auto:CORES, cpu:CORES, reference, cuda or cuda:N",   \
		.field = offsetof(type, member), .parse = cli_parse_text                           \
	}
#define CLI_OPTION_MODELS(type, member)                                                            \
	{                                                                                          \
		.name = "models", .value = "DIR",                                                  \
		.help = "folder of the models and the dictionary; default: PAGESIFT_MODELS, else " \
			"pagesift/models in XDG_DATA_HOME (~/.local/share)",                       \
		.field = offsetof(type, member), .parse = cli_parse_text                           \
	}

#define CLI_OPTION_JSON(type, member)                                                              \
	{                                                                                          \
		.name = "json", .help = "print JSON", .field = offsetof(type, member)              \
	}

/*
 * Reads argv[1] and on into `values`, which hold the defaults.  The operands are moved to argv[1]
 * and on, *n of them.  False: there is nothing more to do, exit with *result: help was shown, or
 * the usage is wrong, which was told.
 */
bool cli_options_read(const cli_usage *usage, int argc, char **argv, void *values, int *n,
		      cli_exit *result);

/* Tells what is wrong with the command line and where help is; returns CLI_USAGE. */
cli_exit cli_usage_error(const cli_usage *usage, const char *format, ...) PSG_PRINTF(2, 3);

/* The name that `word` may have been meant to be; NULL: none is near. */
const char *cli_nearest(const char *word, const char *const *names, size_t n);

/* Prints words of `text` from column `at` on, lines broken before column 80 and indented so. */
void cli_print_wrapped(const char *text, size_t at, size_t indent);

#endif
