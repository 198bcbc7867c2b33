#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server's life: sockets, clients that leave, draining, reading models again, systemd.
# shellcheck disable=SC1091,SC2154 # it reads serve_util.sh, which sets $work and others
set -eu
. "$PSG_TOP/tests/serve_util.sh"
needs_models

# ---- clients that leave; of so many images, most wait while the first are read

# ThreadSanitizer makes pages slow, and then a few take long enough.
images=40
[ -z "${TSAN_OPTIONS:-}" ] || images=8
many_pages $images
in_flight="test \$(curl -s '%s/metrics' | sed -n 's/^pagesift_requests_in_flight //p') -ge %s"
# waits_for N: a command for http_raw that waits until so many requests are in flight.
waits_for() {
	# shellcheck disable=SC2059 # the format is ours
	printf "x:until $in_flight; do sleep 0.05; done" "$url" "$1"
}

leaving() {
	start --jobs 1
	rawly "s:$many_head" p:many.form "$(waits_for 1)"
	right "who leaves while pages are read is noticed" until_metric 'requests_total{path="/v1/ocr",status="499"}' -eq 1
	right "and counted" [ "$(metric hang_ups_total)" -eq 1 ]
	right "the rest of its pages is not read" [ "$(metric 'pages_total{outcome="cancelled"}')" -gt 0 ]
	right "nothing is in flight" [ "$(metric requests_in_flight)" -eq 0 ]

	# One that is read, and one that waits for its turn and leaves.
	"$raw" "$port" "s:$many_head" p:many.form r >first 2>&1 &
	first=$!
	until_metric requests_in_flight -eq 1
	rawly "s:$many_head" p:many.form "$(waits_for 2)"
	right "who leaves while it waits is noticed, too" until_metric 'requests_total{path="/v1/ocr",status="499"}' -eq 2
	wait "$first"
	right "the other one is served" [ "$(head -n 1 first)" = 200 ]
	right "in full" [ "$(grep -c '"text":"STOP"' first)" -eq $images ]

	# Half a body, no body, half a head, and a reply that nobody takes.
	rawly "s:$many_head" "f:100:--cut"
	rawly "s:$many_head"
	rawly "s:POST /v1/ocr HT"
	rawly n "f:300:GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
	rawly "s:GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	right "nothing stays of those that broke off" until_metric requests_in_flight -eq 0
	right "no body, either" until_metric bodies_bytes -eq 0
	# The one that asks.
	right "nor a connection" until_metric connections -eq 1
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
	right "and pages are read as before" printed "READ 42"
	stop
	right "it ends well: $got" [ "$got" -eq 0 ]
}

# ---- ending

ending() {
	start --jobs 1 --drain-timeout 600
	"$raw" "$port" "s:$many_head" p:many.form r >first 2>&1 &
	first=$!
	"$raw" "$port" 's:GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' r "x:until [ -e draining ]; do sleep 0.05; done" \
		's:GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n' r e >second 2>&1 &
	second=$!
	until_metric requests_in_flight -eq 1
	until grep -q alive second; do sleep 0.05; done
	kill -TERM "$served"
	until grep -q 'ending: 1 request is in flight' err; do sleep 0.05; done
	ask /healthz
	right "new connections are refused meanwhile: $code" [ "$code" = "curl 7" ]
	touch draining
	wait "$first" "$second"
	got=0
	wait "$served" || got=$?
	served=
	right "what is in flight is finished" [ "$(head -n 1 first)" = 200 ]
	right "in full" [ "$(grep -c '"text":"STOP"' first)" -eq $images ]
	right "meanwhile it is not ready, and the connection ends" [ "$(grep -E '^([0-9]*|end)$' second | tr -s '\n' ' ')" = "200 503 end " ]
	right "it says why" grep -q '"code":"SHUTDOWN"' second
	right "and ends well: $got" [ "$got" -eq 0 ]
	ask /healthz
	right "nobody listens any more: $code" [ "$code" = "curl 7" ]

	start --jobs 1 --drain-timeout 0
	"$raw" "$port" "s:$many_head" p:many.form r >first 2>&1 &
	first=$!
	until_metric requests_in_flight -eq 1
	stop
	wait "$first"
	right "what does not end in time is told" said "1 still are in flight, and are cancelled"
	right "to its client, too" [ "$(head -n 1 first)" = 200 -o "$(head -n 1 first)" = 503 ]
	right "that is no failure of the server: $got" [ "$got" -eq 0 ]

	start --jobs 1
	"$raw" "$port" "s:$many_head" p:many.form r >first 2>&1 &
	first=$!
	until_metric requests_in_flight -eq 1
	kill -TERM "$served"
	until grep -q 'ending: 1 request' err; do sleep 0.05; done
	stop
	right "a second signal ends it at once: $got" [ "$got" -eq 143 ]
	wait "$first"
	right "without the reply" [ "$(cat first)" = end ]
}

# ---- models that are read again

reading_again() {
	mkdir folder
	for file in "$models"/*; do
		[ ! -f "$file" ] || ln -s "$file" folder/
	done
	start --models folder --jobs 1
	"$raw" "$port" "s:$many_head" p:many.form r >first 2>&1 &
	first=$!
	until_metric requests_in_flight -eq 1
	kill -HUP "$served"
	right "SIGHUP reads the models" until_metric reloads_total -eq 1
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
	right "new requests have them" printed "READ 42"
	wait "$first"
	right "those before end as they began" [ "$(head -n 1 first)" = 200 ]
	right "in full" [ "$(grep -c '"text":"STOP"' first)" -eq $images ]
	rm folder/ppocr_keys_v1.txt
	kill -HUP "$served"
	right "models that are not there are counted" until_metric reloads_failed_total -eq 1
	right "and told" said "the models cannot be read, and those before stay: "
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
	right "and the ones before stay" printed "READ 42"
	answers 200 /readyz
	stop
	right "it ends well: $got" [ "$got" -eq 0 ]
}

# ---- sockets

sockets() {
	start --listen unix:here.sock
	right "a Unix socket is told" said "listening on unix:here.sock"
	answers 200 '/v1/ocr?format=text' --unix-socket here.sock --data-binary @one.pnm
	right "and works" printed "READ 42"
	expect 1 "unix:here.sock: Address already in use" serve --listen unix:here.sock
	right "one that is in use stays" [ -S here.sock ]
	expect 1 "127.0.0.1:$port: Address already in use" serve --listen "127.0.0.1:$port"
	: >"$work/err"
	stop
	right "it is removed at the end" [ ! -e here.sock ]
	start --listen unix:here.sock
	kill -KILL "$served"
	wait "$served" 2>/dev/null || :
	right "who is killed leaves it" [ -S here.sock ]
	start --listen unix:here.sock
	answers 200 /healthz --unix-socket here.sock
	stop
	right "which is no hindrance" [ ! -e here.sock ]
	echo kept >here.sock
	expect 1 "unix:here.sock: Address already in use" serve --listen unix:here.sock
	right "what is no socket stays" [ "$(cat here.sock)" = kept ]
	if grep -q . /proc/net/if_inet6 2>/dev/null; then
		start --listen '[::1]:0'
		url=$(sed -n 's/.*listening on \(http:..\[::1\].*\)/\1/p' err)
		answers 200 /healthz --globoff
		stop
	fi
}

systemd() {
	: >notified
	"$PSG_BUILD/tests/activate" notified "$program" serve >out 2>err </dev/null &
	served=$!
	until grep -q READY=1 notified; do
		alive || break
		sleep 0.05
	done
	url=http://127.0.0.1:$(sed -n 's/^port //p' notified)
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
	right "systemd's socket works" printed "READ 42"
	right "no other is opened" [ "$(grep -c 'listening on' err)" -eq 1 ]
	until [ "$(grep -c WATCHDOG=1 notified)" -gt 3 ]; do sleep 0.05; done
	stop
	right "it ends well: $got" [ "$got" -eq 0 ]
	right "and says that it ends" grep -q STOPPING=1 notified
}

leaving
sockets
systemd
reading_again
ending
finish 0
