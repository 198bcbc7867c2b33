/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: pages in by POST, text out.
 *
 * libmicrohttpd's thread, one for each address that is listened on, serves all connections and
 * never works nor waits: when a request has come its connection is suspended, a clerk submits its
 * pages to an engine (psg_ocr), and writes the reply when the last one has ended.  One thread more
 * watches connections: for clients that hang up, which libmicrohttpd does not see while a
 * connection is suspended, and for those that take too long.  The caller's thread waits for
 * signals, opens and closes engines and drains.
 */
#ifndef PSG_SERVER_SERVER_H
#define PSG_SERVER_SERVER_H

#include <pagesift/gpu.h>

/* All are set: whoever fills them in has the defaults (src/cli/serve.c). */
typedef struct srv_limits {
	int64_t body_bytes;   /* of a request's body */
	int64_t bodies_bytes; /* of all bodies that are in memory at a time, with the engine's
				 copies */
	int64_t requests;     /* for text, in flight */
	int64_t pages;        /* of a request */
	int64_t connections;  /* of each address that is listened on */
	int64_t per_address;  /* connections of one client address; 0: no limit */
	int64_t header_bytes; /* of a request's head; a connection's memory */
	double timeout_s, max_timeout_s; /* of a request: where none is asked for; the most */
	double read_s, write_s;          /* for a request to come, and a reply to be taken */
	double idle_s;                   /* between two bytes, or two requests */
	double drain_s;                  /* for what is in flight when the server is to end */
} srv_limits;

typedef struct srv_options {
	const char *const *listen; /* "ADDRESS:PORT", "[V6]:PORT", "unix:PATH" */
	size_t n_listen;           /* none: systemd's sockets, else SRV_LISTEN_DEFAULT */
	srv_limits limits;
	psg_ocr_options ocr;            /* max_pages is set by the server */
	const char *token_file;         /* NULL: anybody may */
	const char *tls_cert, *tls_key; /* files; NULL: no TLS */
	bool log_requests, log_json;
} srv_options;

#define SRV_LISTEN_DEFAULT "127.0.0.1:8080"
#define SRV_LISTENERS 16 /* at most (chosen) */

/*
 * Serves until SIGTERM or SIGINT, then drains; a second one of them ends the process.  SIGHUP opens
 * the models again.  The workers outlive it.  Fails where it cannot begin: the message says why,
 * and `*no_models` whether these are the reason.
 */
psg_status srv_run(const srv_options *options, psg_worker *const *workers, size_t n,
		   bool *no_models, psg_error *error);

#endif
