/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, and comparing them. */
#include "config.h"

#include "server/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LEAST 16 /* chosen: characters that nobody guesses */

static psg_status add(srv_tokens *tokens, const char *line, size_t n, const char *path,
		      psg_error *error)
{
	if (n < LEAST || n >= SRV_TOKEN_BYTES || tokens->n == SRV_TOKENS) {
		*error = (psg_error){ PSG_INVALID, "" };
		(void)snprintf(error->message, sizeof(error->message),
			       "%s: at most %d tokens, a line each, of %d to %d characters; one "
			       "has %zu",
			       path, SRV_TOKENS, LEAST, SRV_TOKEN_BYTES - 1, n);
		return PSG_INVALID;
	}
	memcpy(tokens->token[tokens->n++], line, n);
	return PSG_OK;
}

static psg_status read_lines(srv_tokens *tokens, FILE *file, const char *path, psg_error *error)
{
	char line[2 * SRV_TOKEN_BYTES];
	psg_status status = PSG_OK;

	while (status == PSG_OK && fgets(line, sizeof(line), file) != NULL) {
		size_t n = strcspn(line, "\r\n");

		while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
			n--;
		if (n > 0 && line[0] != '#')
			status = add(tokens, line, n, path, error);
	}
	explicit_bzero(line, sizeof(line));
	return status;
}

psg_status srv_tokens_read(srv_tokens *tokens, const char *path, psg_error *error)
{
	FILE *file = fopen(path, "re");
	psg_status status = PSG_OK;

	memset(tokens, 0, sizeof(*tokens));
	if (file != NULL) {
		status = read_lines(tokens, file, path, error);
		(void)fclose(file);
	}
	if (status == PSG_OK && tokens->n == 0) {
		status = PSG_INVALID;
		*error = (psg_error){ PSG_INVALID, "" };
		(void)snprintf(error->message, sizeof(error->message), "%s: %s", path,
			       file == NULL ? strerror(errno) : "has no token");
	}
	return status;
}

bool srv_tokens_allow(const srv_tokens *tokens, const char *header)
{
	char given[SRV_TOKEN_BYTES] = "";
	unsigned found = 0;

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0 ||
	    strlen(header + 7) >= SRV_TOKEN_BYTES)
		return false;
	memcpy(given, header + 7, strlen(header + 7));
	for (size_t i = 0; i < tokens->n; i++) {
		unsigned different = 0;

		for (size_t k = 0; k < SRV_TOKEN_BYTES; k++)
			different |= (unsigned)(unsigned char)(given[k] ^ tokens->token[i][k]);
		found |= different == 0;
	}
	return found != 0;
}
