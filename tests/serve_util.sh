#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the server share: starting it, asking it, waiting for its counters.
# shellcheck disable=SC1091,SC2034,SC2154 # it reads cli_expect.sh, which sets $work and $program
set -eu
. "$PSG_TOP/tests/cli_expect.sh"
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/pagesift/models}
cd "$work" || exit 1
"$PSG_BUILD/tests/cli_files" "$work"
raw=$PSG_BUILD/tests/http_raw
served='' port='' got=0 VARIABLES='' authorization=''
trap '[ -z "$served" ] || kill -KILL "$served" 2>/dev/null || :; rm -rf "$work"' EXIT

needs_models() {
	command -v curl >/dev/null 2>&1 || {
		echo "skipped: no curl"
		finish 77
	}
	[ -r "$models/ch_PP-OCRv4_det_infer.onnx" ] || {
		echo "skipped: no models in $models"
		finish 77
	}
	models=$(cd "$OLDPWD" && cd "$models" && pwd)
	PAGESIFT_MODELS=$models
	export PAGESIFT_MODELS
}

# alive: the server has not ended.
alive() { kill -0 "$served" 2>/dev/null; }

# start OPTION...: the server on a port of its own, ready; its messages go to $work/err.  VARIABLES
# are set for it.
start() {
	: >"$work/err"
	: >"$work/out"
	# shellcheck disable=SC2086 # words
	env $VARIABLES "$program" serve --listen 127.0.0.1:0 "$@" >"$work/out" 2>"$work/err" </dev/null &
	served=$!
	until grep -q 'listening on' "$work/err"; do
		alive || {
			right "the server starts with $*" false
			finish 1
		}
		sleep 0.05
	done
	port=$(sed -n 's/.*listening on https*:\/\/127.0.0.1:\([0-9]*\)$/\1/p' "$work/err" | head -n 1)
	url=http://127.0.0.1:$port
}

# stop: by SIGTERM; its exit status in $got.
stop() {
	kill -TERM "$served"
	got=0
	wait "$served" || got=$?
	served=
}

# ask PATH CURL-ARGUMENT...: the status in $code, the head in $work/head, the body in $work/out.
ask() {
	path=$1
	shift
	code=$(curl -s -m 120 -o "$work/out" -D "$work/head" -w '%{http_code}' "$@" "$url$path") || code="curl $?"
}

# answers STATUS PATH CURL-ARGUMENT...
answers() {
	wanted=$1
	shift
	ask "$@"
	right "$* answers $wanted: it was $code" [ "$code" = "$wanted" ]
}

# problem STATUS CODE PATH CURL-ARGUMENT...: a refusal, as RFC 9457 wants it.
problem() {
	wanted=$1 wanted_code=$2
	shift 2
	answers "$wanted" "$@"
	right "$*: it is a problem" headed 'content-type: application/problem[+]json'
	right "$*: its status is in its body" has "\"status\":$wanted,"
	right "$*: its code is $wanted_code" has "\"code\":\"$wanted_code\""
	for key in type title detail; do
		right "$*: it has a $key" has "\"$key\":\"..*\""
	done
}

# headed PATTERN: a line of the last head fits.
headed() { tr -d '\r' <"$work/head" | grep -qiE -- "^$1\$"; }

# metric NAME: its value, with its labels, as in 'requests_total{path="/",status="200"}'; 0: none.
metric() {
	curl -s -m 60 ${authorization:+-H "$authorization"} "$url/metrics" | awk -v name="pagesift_$1" '$1 == name { v = $2 } END { print v + 0 }'
}

# until_metric NAME OPERATOR VALUE: waits until it is so.
until_metric() {
	tries=0
	until test "$(metric "$1")" "$2" "$3"; do
		tries=$((tries + 1))
		[ $tries -lt 1200 ] || return 1
		sleep 0.05
	done
}

# rawly STEP...: what comes of it in $work/out.
rawly() { "$raw" "$port" "$@" >"$work/out" 2>"$work/raw.err" || echo "http_raw: $?" >>"$work/out"; }

# got_is WORD...: the output's lines are these.
got_is() { [ "$(tr '\n' ' ' <"$work/out")" = "$* " ]; }

# many_pages N: a form of N images, many.form, and its head, many.head, with \r\n as http_raw takes it.
many_pages() {
	: >many.form
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		printf -- '--cut\r\nContent-Disposition: form-data; name="f"; filename="p%d.pnm"\r\n\r\n' $i
		cat three.pnm
		printf '\r\n'
	done >>many.form
	printf -- '--cut--\r\n' >>many.form
	many_head="POST /v1/ocr?timeout=300000 HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: multipart/form-data; boundary=cut\\r\\nContent-Length: $(wc -c <many.form)\\r\\n\\r\\n"
}
