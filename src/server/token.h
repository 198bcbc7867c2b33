/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask: the tokens of --token-file, a line each. */
#ifndef PSG_SERVER_TOKEN_H
#define PSG_SERVER_TOKEN_H

#include <pagesift/error.h>

#define SRV_TOKENS 64       /* chosen: more is work for a proxy */
#define SRV_TOKEN_BYTES 256 /* chosen; with its end */

typedef struct srv_tokens {
	size_t n;
	char token[SRV_TOKENS][SRV_TOKEN_BYTES]; /* zeros behind each */
} srv_tokens;

/* Lines that are empty or begin with # are left out.  INVALID: the file cannot be read, has no
 * token, or one that is too short or too long. */
psg_status srv_tokens_read(srv_tokens *tokens, const char *path, psg_error *error);

/* Is `header`, the value of Authorization, "Bearer" and one of them?  Takes as long whatever is
 * wrong with it.  NULL: there is none. */
bool srv_tokens_allow(const srv_tokens *tokens, const char *header);

#endif
