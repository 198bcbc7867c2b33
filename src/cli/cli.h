/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command's files share: exit statuses, the commands, messages.
 * The command uses the library as anybody else does, through its public headers.
 */
#ifndef PSG_CLI_CLI_H
#define PSG_CLI_CLI_H

#include <pagesift/gpu.h>

/* Exit statuses of all commands. */
typedef enum cli_exit {
	CLI_OK = 0,        /* all done */
	CLI_FAILED = 1,    /* something failed; what could be done was done */
	CLI_USAGE = 2,     /* the command line is wrong; nothing was done */
	CLI_NO_MODELS = 3, /* the models are missing or unusable; nothing was done */
} cli_exit;

/* X(name, summary): cli_NAME runs the command NAME with its own argc and argv (argv[0] is NAME). */
#define CLI_COMMANDS(X)                                                                            \
	X(ocr, "read the text of pages")                                                           \
	X(serve, "serve pages' text over HTTP")                                                    \
	X(model, "show what a model consists of and costs")                                        \
	X(bench, "measure how fast this machine is")                                               \
	X(doctor, "tell whether a GPU can be used, and if not, why")

#define CLI_DECLARE_COMMAND(name, summary) cli_exit cli_##name(int argc, char **argv);
CLI_COMMANDS(CLI_DECLARE_COMMAND)
#undef CLI_DECLARE_COMMAND

/* --- messages, on standard error, each one line that starts with the program's name --- */

void cli_error(const char *format, ...) PSG_PRINTF(1, 2);
void cli_note(const char *format, ...) PSG_PRINTF(1, 2);

/*
 * Shows a line that the next one of these, or a message, takes the place of; does nothing unless
 * standard error is a terminal that can do that.
 */
void cli_progress(const char *format, ...) PSG_PRINTF(1, 2);
void cli_progress_clear(void);

/* Fills `error` (may be NULL) as the library would; cli_fail is worth the code, also to analysers.
 */
void cli_set_error(psg_error *error, psg_status code, const char *format, ...) PSG_PRINTF(3, 4);
#define cli_fail(error, code, ...) (cli_set_error(error, code, __VA_ARGS__), (code))

/* Writes out what is left in standard output; a failure is told, but for a reader that left. */
cli_exit cli_finish_output(cli_exit result);

#endif
