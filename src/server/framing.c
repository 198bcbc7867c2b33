/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a request's body ends.  A proxy before us and we must agree on it, or one request's body is
 * the next one's head (RFC 9112, 6.3 and 11.2): what could be read in two ways is refused, and the
 * connection ends.
 */
#include "config.h"

#include "server/request.h"

#include <string.h>
#include <strings.h>

struct framing {
	int lengths, codings, hosts;
	const char *coding, *length;
};

static enum MHD_Result count(void *user, enum MHD_ValueKind kind, const char *name,
			     const char *value)
{
	struct framing *framing = user;

	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		framing->lengths++;
		framing->length = value;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		framing->codings++;
		framing->coding = value;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
		framing->hosts++;
	}
	return MHD_YES;
}

static bool is_number(const char *text)
{
	return text != NULL && text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool srv_check_framing(srv_request *request, const char *version)
{
	struct framing f = { 0 };

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count, &f);
	/* So that a refusal closes the connection, whatever follows. */
	request->has_body = f.lengths > 1 || f.codings > 0 ||
			    (f.lengths == 1 && (f.length == NULL || strcmp(f.length, "0") != 0));
	if (f.lengths + f.codings > 1)
		return srv_refuse(
			request, SRV_BAD_REQUEST,
			"one Content-Length or one Transfer-Encoding, not both nor several");
	if (f.lengths == 1 && !is_number(f.length))
		return srv_refuse(request, SRV_BAD_REQUEST, "Content-Length is no number");
	if (f.codings == 1 && (f.coding == NULL || strcasecmp(f.coding, "chunked") != 0))
		return srv_refuse(request, SRV_BAD_REQUEST,
				  "Transfer-Encoding can be chunked only");
	if (f.codings == 1 && strcmp(version, MHD_HTTP_VERSION_1_1) != 0)
		return srv_refuse(request, SRV_BAD_REQUEST, "Transfer-Encoding needs HTTP/1.1");
	if (f.hosts > 1) {
		request->has_body = true;
		return srv_refuse(request, SRV_BAD_REQUEST, "one Host, not several");
	}
	return true;
}
