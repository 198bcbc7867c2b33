/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu: finds the command and runs it. */
#include "config.h"

#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
	const char *name, *summary;
	cli_exit (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND_ROW(name, summary) { #name, summary, cli_##name },
	CLI_COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static cli_exit print_help(void)
{
	(void)printf("usage: " PACKAGE_NAME " COMMAND [OPTION]... [FILE]...\n\n"
		     "Reads the text of pages.\n\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		(void)printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	(void)printf("\n'" PACKAGE_NAME " COMMAND --help' tells what a command does and takes;\n"
		     "'" PACKAGE_NAME " --version' what this is.\n");
	return cli_finish_output(CLI_OK);
}

static cli_exit print_version(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;

	(void)printf(PACKAGE_NAME " " PACKAGE_VERSION "\nlibrary " PACKAGE_NAME " %s\n",
		     psg_version());
	if (psg_device_open("cpu", &device, &error) == PSG_OK) {
		(void)printf("device cpu: %s\n", psg_device_info_get(device)->detail);
		psg_device_close(device);
	}
	return cli_finish_output(CLI_OK);
}

static cli_exit unknown(const char *word)
{
	const char *names[N_COMMANDS], *near;

	for (size_t i = 0; i < N_COMMANDS; i++)
		names[i] = commands[i].name;
	near = cli_nearest(word, names, N_COMMANDS);
	if (word[0] != '-' && access(word, F_OK) == 0)
		cli_error("'%s' is a file, not a command; '" PACKAGE_NAME " ocr %s' reads it", word,
			  word);
	else if (near != NULL)
		cli_error("there is no command '%s'; did you mean '%s'?", word, near);
	else
		cli_error("there is no %s '%s'", word[0] == '-' ? "option" : "command", word);
	cli_note("'" PACKAGE_NAME " --help' lists the commands");
	return CLI_USAGE;
}

static cli_exit dispatch(int argc, char **argv)
{
	const struct command *command;
	static char help[] = "--help";

	if (argc < 2) {
		cli_error("which command?");
		cli_note("'" PACKAGE_NAME " --help' lists the commands");
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    (strcmp(argv[1], "help") == 0 && argc == 2))
		return print_help();
	if (strcmp(argv[1], "help") == 0) { /* help NAME is NAME --help */
		argv[1] = argv[2];
		argv[2] = help;
	}
	command = find(argv[1]);
	return command != NULL ? command->run(argc - 1, argv + 1) : unknown(argv[1]);
}

/* From any of the library's threads: the progress line is not theirs to clear. */
static void print_warning(void *user, psg_log_level level, const char *message)
{
	(void)user;
	(void)level;
	(void)fprintf(stderr, PACKAGE_NAME ": %s\n", message);
}

int main(int argc, char **argv)
{
	/* Who traces looks closely, and is to know why there is no trace. */
	if (getenv("PAGESIFT_TRACE") != NULL)
		psg_log_set(print_warning, NULL, PSG_LOG_WARNING);
	return (int)dispatch(argc, argv);
}
