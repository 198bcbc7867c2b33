/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /: the page for people (page.html, which the build makes an array of).
 *
 * Its script and style are inside it, and the only ones that a browser takes: the policy names a
 * number that is drawn for each reply, which stands in place of each NONCE_MARK in the text.
 */
#include "config.h"

#include "server/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NONCE_BYTES 16                                /* W3C's CSP wants 16 at least */
#define NONCE_MARK "NONCE-NONCE-NONCE-NONCE-NONCE-NO" /* as long as what takes its place */

static const char page[] = {
#include "server/page.inc"
	'\0'
};

static bool draw(char nonce[2 * NONCE_BYTES + 1])
{
	unsigned char bytes[NONCE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < NONCE_BYTES; i++)
		(void)snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

enum MHD_Result srv_page_answer(srv_request *request)
{
	char nonce[2 * NONCE_BYTES + 1], policy[320];
	srv_reply reply = { .status = 200,
			    .type = "text/html; charset=utf-8",
			    .bytes = sizeof(page) - 1,
			    .header = { { "Content-Security-Policy", policy } } };

	_Static_assert(sizeof(NONCE_MARK) == sizeof(nonce), "the mark is replaced in its place");
	if (!draw(nonce))
		return MHD_NO;
	(void)snprintf(policy, sizeof(policy),
		       "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
		       "img-src blob: data:; connect-src 'self'; base-uri 'none'; "
		       "form-action 'none'; frame-ancestors 'none'",
		       nonce, nonce);
	reply.body = strdup(page);
	if (reply.body == NULL)
		return MHD_NO;
	for (char *at = strstr(reply.body, NONCE_MARK); at != NULL; at = strstr(at, NONCE_MARK))
		memcpy(at, nonce, sizeof(nonce) - 1);
	return srv_send(request, &reply);
}
