#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server and clients that mean no good; docs/security.md names what is shown here.
# shellcheck disable=SC1091,SC2154 # it reads serve_util.sh, which sets $work and others
set -eu
. "$PSG_TOP/tests/serve_util.sh"
needs_models

post='POST /v1/ocr?format=text HTTP/1.1\r\nHost: x\r\n'
get='GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
size=$(wc -c <one.pnm)

# refused STATUS STEP...: that one status, and the connection ends: what follows is no request.
refused() {
	wanted=$1
	shift
	rawly "$@" "s:$get" e
	right "$1: $wanted, and the end" got_is "$wanted" end
}

# --- where a request ends (smuggling, RFC 9112 11.2)

framing() {
	refused 400 "s:${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	refused 400 "s:${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
	refused 400 "s:${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"
	refused 400 "s:${post}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"
	# libmicrohttpd refuses these itself; 0.9.75 sends the head of its answer twice.
	for length in +5 -5 0x5 '5,5' '5 5' 5a 99999999999999999999; do
		rawly "s:${post}Content-Length: $length\r\n\r\nhello" "s:$get" e
		right "Content-Length $length: refused, and the end: $(tr '\n' ' ' <out)" grep -qE '^(400|413)$' out
		right "no second request is answered after it" not grep -q '^200' out
	done
	for coding in identity 'gzip, chunked' 'chunked, identity' xchunked 'chunked;q=1'; do
		rawly "s:${post}Transfer-Encoding: $coding\r\n\r\n0\r\n\r\n" "s:$get" e
		right "Transfer-Encoding $coding is refused: $(tr '\n' ' ' <out)" [ "$(head -n 1 out)" = 400 ]
		right "no second request is answered after it" not grep -q '^200' out
	done
	refused 400 's:POST /v1/ocr HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
	refused 400 's:GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'
	for chunk in 'zz\r\nhello' '-1\r\nhello' '5hello' 'fffffffffffffffff\r\nhello'; do
		rawly "s:${post}Transfer-Encoding: chunked\r\n\r\n$chunk\r\n0\r\n\r\n" "s:$get" e
		right "a chunk of '$chunk' is no request, nor is what follows: $(tr '\n' ' ' <out)" not grep -q '^200' out
	done
	# What is no attack: one request after another on a connection.
	rawly "s:$get$get$get" r r r
	right "requests may be sent ahead" [ "$(grep -c '^200' out)" -eq 3 ]
	rawly "s:${post}Content-Length: $size\r\n\r\n" p:one.pnm "s:${post}Content-Length: $size\r\n\r\n" p:one.pnm "s:$get" r r r
	right "also behind images" [ "$(tr -s '\n' ' ' <out)" = '200 READ 42 200 READ 42 200 {"status":"alive"} ' ]
	# A body where none belongs is not the next request.
	refused 200 "s:GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
}

heads() {
	rawly 's:GET / HTTP/1.1\r\nHost: x\r\nX: ' "f:16384:$(printf %064d 0)" 's:\r\n\r\n' e
	right "a head of 1 MB is refused: $(tr '\n' ' ' <out)" got_is 431 end
	rawly 's:GET /' "f:16384:$(printf %064d 0)" 's: HTTP/1.1\r\n\r\n' e
	right "so is a path: $(tr '\n' ' ' <out)" got_is 414 end
	rawly 's:GET / HTTP/1.1\r\nHost: x\r\n' 'f:100000:X: y\r\n' 's:\r\n' e
	right "and 100000 headers: $(tr '\n' ' ' <out)" got_is 431 end
	for line in 'hello' 'GET' '\x16\x03\x01\x02\x00\x01' '\0\0\0\0' 'GET / HTTP/9.9'; do
		rawly "s:$line\r\n\r\n" h e
		right "'$line' is not answered with a page: $(tr '\n' ' ' <out)" not grep -q '^200' out
	done
	rawly 's:GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n' r
	right "a path of a zero byte" not grep -qi 'etc' out
	for path in '/../../../../etc/passwd' '/..%2f..%2fetc/passwd' '/v1/../../etc/passwd' '//etc/passwd' '/healthz/../../etc/passwd' 'file:///etc/passwd'; do
		rawly "s:GET $path HTTP/1.1\r\nHost: x\r\n\r\n" r
		right "$path is nowhere" [ "$(head -n 1 out)" = 404 -o "$(head -n 1 out)" = 400 ]
		right "and gives no file" not grep -q 'root:' out
	done
}

bodies() {
	head -c 1000000 /dev/zero >zeros
	rawly "s:${post}Content-Length: 1073741824\r\n\r\n" p:zeros e
	right "1 GB is refused by its head: $(tr '\n' ' ' <out)" got_is 413 end
	rawly "s:${post}Transfer-Encoding: chunked\r\n\r\n" "f:4096:400\r\n$(printf %01024d 0)\r\n" e
	right "4 MB in chunks are not taken: $(tr '\n' ' ' <out)" not grep -q '^200' out
	right "but the connection ends" grep -qE '^(end|reset)' out
	right "nothing of it stays in memory" until_metric bodies_bytes -eq 0
	for type in multipart/form-data 'multipart/form-data; boundary=' 'multipart/form-data; boundary=x' text/html application/json; do
		problem_status=$(curl -s -m 60 -o out -w '%{http_code}' -H "Content-Type: $type" --data-binary @one.pnm "$url/v1/ocr")
		right "$type of an image is refused: $problem_status" [ "$problem_status" = 400 -o "$problem_status" = 415 ]
	done
	rawly "s:${post}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 64\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\nP5" h e
	right "half a form is no image" not grep -q '^200' out
	ask /v1/ocr -F "format=$(printf %0100d 0)" -F a=@one.pnm
	right "a field that is too long" [ "$code" = 400 ]
	ask '/v1/ocr' -F 'a=@one.pnm;filename="../../x<script>.pnm"'
	right "a name is a name" has '"file":"../../x<script>.pnm"'
	ask '/v1/ocr?format=hocr' -F 'a=@one.pnm;filename="<script>alert(1)</script>.pnm"'
	right "and no script in hOCR" not grep -q '<script' out
	if [ -f huge.png ]; then
		for file in huge.png cut.png cut.tif cut.jpg; do
			ask /v1/ocr --data-binary @$file
			right "$file is refused: $code" [ "$code" = 422 ]
		done
	fi
	right "none of it is in flight" until_metric requests_in_flight -eq 0
}

start --max-body 1M
# What it has once it is warm.
answers 200 /v1/ocr --data-binary @one.pnm
resident=$(metric resident_memory_bytes)
framing
heads
bodies
answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
right "it reads pages as before" printed "READ 42"
# Shadow memory of the sanitizers grows with each thing that is freed.
if [ -z "${TSAN_OPTIONS:-}${ASAN_OPTIONS:-}" ]; then
	right "all this takes less than 64 MB: $resident, $(metric resident_memory_bytes)" \
		[ $(($(metric resident_memory_bytes) - resident)) -lt 67108864 ]
fi
stop
right "it ends well: $got" [ "$got" -eq 0 ]

# ends: the connection has; what the client still sent may have been thrown away.  Called by right.
# shellcheck disable=SC2317
ends() { [ "$(cat out)" = end ] || [ "$(cat out)" = reset ]; }

# ---- slow ones; the limits are so short for the test's sake

start --request-read-timeout 1 --reply-write-timeout 1 --idle-timeout 60
rawly 's:GET / HTTP/1.1\r\nHost: x\r\n' 'd:X: y\r\n' e
right "a head that comes byte by byte for ever ends (slowloris): $(tr '\n' ' ' <out)" ends
rawly "s:${post}Content-Length: 100000\r\n\r\n" d:a e
right "so does a body: $(tr '\n' ' ' <out)" ends
rawly "s:${post}Transfer-Encoding: chunked\r\n\r\n" 'd:1\r\na\r\n' e
right "also in chunks: $(tr '\n' ' ' <out)" ends
right "they are counted" [ "$(metric connections_too_slow_total)" -eq 3 ]
"$raw" "$port" n 'f:2000:GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' 'x:while [ ! -e enough ]; do sleep 0.05; done' &
reader=$!
right "a reply that is not taken ends" until_metric connections_too_slow_total -eq 4
touch enough
wait "$reader"
right "no connection stays" until_metric connections -eq 1
stop

# ---- many

start --max-connections 50 --max-per-ip 40 --idle-timeout 2
i=0 clients=
rm -f enough
while [ $i -lt 60 ]; do
	i=$((i + 1))
	"$raw" "$port" 's:GET ' 'x:while [ ! -e enough ]; do sleep 0.1; done' &
	clients="$clients $!"
done
until ask /healthz && [ "$code" = 200 ]; do sleep 0.1; done
right "idle connections end by themselves, and the server answers" until_metric connections -eq 1
answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
touch enough
# shellcheck disable=SC2086 # a list
wait $clients
stop
right "it ends well: $got" [ "$got" -eq 0 ]
finish 0
