#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server with models: requests and their answers, limits, tokens, TLS, what it tells of itself.
# shellcheck disable=SC1091,SC2154 # it reads serve_util.sh, which sets $work and others
set -eu
. "$PSG_TOP/tests/serve_util.sh"

expect 2 "--tls-cert and --tls-key need each other" serve --tls-cert x
expect 2 "it takes no operands, but 'x'" serve x
expect 2 "--max-body: '64Q' is not a number of bytes" serve --max-body 64Q
expect 3 "ch_PP-OCRv4_det_infer.onnx cannot be read in the folder nowhere" serve --models nowhere --listen 127.0.0.1:0
for address in nothing 1.2.3.4 1.2.3.4:x 1.2.3.4:99999 ::1:80 '[::1:80' unix:; do
	run serve --listen "$address"
	right "'$address' is no address: $got" [ "$got" -eq 1 ]
done
needs_models

# ---- pages in, text out

pages() {
	for format in json text tsv hocr; do
		answers 200 "/v1/ocr?format=$format" --data-binary @one.pnm
		right "$format has the text" has 'READ 42'
	done
	right "hocr's type" headed 'content-type: text/html; charset=utf-8'
	answers 200 /v1/ocr --data-binary @one.pnm -H 'Content-Type: image/x-portable-anymap'
	right "JSON is the default" headed 'content-type: application/json'
	right "it names the device" has '"device":"cpu"'
	answers 200 /v1/ocr --data-binary @one.pnm -H 'Accept: text/html;q=0.1, text/plain'
	right "Accept chooses" headed 'content-type: text/plain; charset=utf-8'
	right "the text" printed "READ 42"
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm -H 'Transfer-Encoding: chunked'
	right "chunked bodies are read" printed "READ 42"
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm -H 'Content-Type: application/octet-stream' -H 'Expect: 100-continue'
	right "100-continue" [ "$(grep -c '^HTTP/1.1 100' head)" -eq 1 ]
	answers 200 '/v1/ocr?format=text' -F a=@one.pnm -F b=@two.pnm
	right "a form's images, in their order" printed "$(printf 'READ 42\n\nPAGE 2')"
	answers 200 /v1/ocr -F a=@one.pnm -F format=text -F timeout=60000
	right "a form's fields" printed "READ 42"
	[ -x "$PSG_BUILD/tests/json_pages" ] || return 0
	echo text >none.pnm
	answers 200 /v1/ocr -F a=@one.pnm -F b=@two.pnm -F c=@none.pnm -F d=@blank.pnm
	right "JSON is an array" [ "$(sed -n '1p;$p' out | tr -d '\n')" = '{"pages":[]}' ]
	sed '1d;$d;s/},$/}/' out >lines && mv lines out
	right "of objects as promised" judged
	right "one that failed is in its place" [ "$(sed 's/.*|//' pages | tr '\n' ,)" = "READ 42,PAGE 2,,," ]
	right "with its reason" grep -q '^none.pnm|-|.*FORMAT' pages
	[ -f cut.png ] || return 0
	answers 200 '/v1/ocr?format=text' --data-binary @pages.tif
	right "all pages of a TIFF" [ "$(grep -c . out)" -eq 4 ]
}

refusals() {
	problem 415 FORMAT /v1/ocr --data-binary 'no image'
	problem 415 NOT_AN_IMAGE /v1/ocr --data-binary @one.pnm -H 'Content-Type: text/html'
	problem 400 BAD_REQUEST /v1/ocr --data-binary ''
	problem 400 BAD_REQUEST /v1/ocr -H 'Content-Type: multipart/form-data' --data-binary @one.pnm
	problem 400 BAD_REQUEST /v1/ocr -F a=@one.pnm -F b=text
	right "it says which fields there are" has "'format' and 'timeout'"
	problem 400 BAD_REQUEST '/v1/ocr?format=pdf' --data-binary @one.pnm
	right "it says which formats there are" has 'json, text, tsv and hocr'
	problem 400 BAD_REQUEST '/v1/ocr?page=1' --data-binary @one.pnm
	right "it says which parameters there are" has 'format and timeout'
	for timeout in x -1 0 1e999 nan ''; do
		problem 400 BAD_REQUEST "/v1/ocr?timeout=$timeout" --data-binary @one.pnm
	done
	problem 406 NOT_ACCEPTABLE /v1/ocr --data-binary @one.pnm -H 'Accept: image/png'
	problem 405 METHOD /v1/ocr
	right "405 says with what" headed 'allow: POST'
	problem 405 METHOD /healthz --data x
	right "405 says with what" headed 'allow: GET, HEAD'
	problem 404 NOT_FOUND /v1/none
	problem 404 NOT_FOUND /../../etc/passwd --path-as-is
	problem 404 NOT_FOUND /%2e%2e/%2e%2e/etc/passwd --path-as-is
	problem 504 TIMED_OUT '/v1/ocr?timeout=1' --data-binary @one.pnm
	right "504 tells the stage" has '"detail":"(waiting|decoding|detection|boxes|direction|recognition)'
	problem 504 TIMED_OUT /v1/ocr --data-binary @one.pnm -H 'Request-Timeout: 0.001'
	[ -f cut.png ] || return 0
	problem 422 FORMAT /v1/ocr --data-binary @cut.png
	problem 422 FORMAT /v1/ocr --data-binary @huge.png
	right "a bomb is told" has 'claims 60000x60000'
	problem 422 FORMAT /v1/ocr --data-binary @cut.tif
}

tells() {
	answers 200 /healthz
	answers 200 /healthz -I
	answers 200 /readyz
	right "ready tells the device" has '"devices":\[\{"name":"cpu"'
	answers 200 /v1/info
	right "info tells the version" has "\"version\":\"$("$program" --version | sed -n 's/^library [^ ]* //p')\""
	right "and limits" has '"body_bytes":1048576,'
	answers 200 /metrics
	right "metrics are as Prometheus wants them" awk -f "$PSG_TOP/tests/check_metrics.awk" out
	if command -v promtool >/dev/null 2>&1; then
		right "promtool finds nothing" sh -c 'promtool check metrics <out >promtool.log 2>&1'
		right "not even a remark" [ ! -s promtool.log ]
	fi
	right "requests are counted" [ "$(metric 'requests_total{path="/v1/ocr",status="504"}')" -eq 2 ]
	right "pages are counted" [ "$(metric 'pages_total{outcome="timed_out"}')" -eq 2 ]
	right "paths that there are not are one label" [ "$(metric 'requests_total{path="other",status="404"}')" -eq 3 ]
	right "nothing is in flight" [ "$(metric requests_in_flight)" -eq 0 ]
	right "no body is in memory" [ "$(metric bodies_bytes)" -eq 0 ]
	answers 200 /
	right "the page's policy has its number" headed "content-security-policy: .*script-src 'nonce-[0-9a-f]{32}'.*"
	nonce=$(sed -n "s/.*script-src 'nonce-\([0-9a-f]*\)'.*/\1/p" head)
	right "and its script, too" has "<script nonce=\"$nonce\">"
	not_twice=$(curl -s "$url/" | sed -n 's/.*<script nonce="\([0-9a-f]*\)">.*/\1/p')
	right "another one each time" [ -n "$not_twice" -a "$not_twice" != "$nonce" ]
	right "nothing is loaded from elsewhere" not grep -qE '(src|href)="?(https?:)?//' out
}

limits() {
	head -c 1048577 /dev/zero >large
	problem 413 TOO_LARGE /v1/ocr --data-binary @large -H 'Expect:'
	problem 413 TOO_LARGE /v1/ocr --data-binary @large -H 'Expect: 100-continue'
	right "it is refused before the body comes" not grep -q '^HTTP/1.1 100' head
	problem 413 TOO_LARGE /v1/ocr --data-binary @large -H 'Transfer-Encoding: chunked' -H 'Expect:'
	problem 413 TOO_LARGE /v1/ocr -F a=@large
	problem 413 TOO_LARGE /v1/ocr -F a=@one.pnm -F b=@one.pnm -F c=@one.pnm -F d=@one.pnm -F e=@one.pnm
	right "it says how many pages" has 'at most 4 pages'
	[ ! -f cut.png ] || problem 413 TOO_LARGE /v1/ocr -F a=@pages.tif -F b=@pages.tif
}

start --max-body 1M --max-pages 4 --log requests
pages
refusals
tells
limits
answers 404 "/$(printf 'a%%0d%%0aforged')"
right "no line is forged" not grep -q '^forged' err
right "requests are logged" grep -qE '^[0-9T:.-]*Z 127.0.0.1:[0-9]* POST /v1/ocr 200 [0-9]* bytes [0-9.]* ms 4 pages$' err
stop
right "SIGTERM ends it well: $got" [ "$got" -eq 0 ]

# ---- room: 100 kB of bodies together, one request at a time

start --max-memory-bodies 20k --jobs 1
problem 503 UNAVAILABLE /v1/ocr --data-binary @one.pnm
right "it may be tried again" headed 'retry-after: [0-9]*'
right "what was refused is not in memory" [ "$(metric bodies_bytes)" -eq 0 ]
stop
start --max-requests 1 --jobs 1
many_pages 40
"$raw" "$port" "s:$many_head" p:many.form r >first 2>&1 &
first=$!
until_metric requests_in_flight -eq 1
problem 429 FULL /v1/ocr --data-binary @one.pnm
right "it is told when to come back" headed 'retry-after: [1-9][0-9]*'
answers 200 /readyz
wait "$first"
right "the first one is served all the same" [ "$(head -n 1 first)" = 200 ]
right "all of its pages" [ "$(grep -c '"text":"STOP"' first)" -eq 40 ]
stop

# ---- who may ask

printf '# a comment\nsecret-of-sixteen-letters\nanother-one-of-them\n' >tokens
start --token-file tokens --log requests --log-json
problem 401 UNAUTHORIZED /v1/ocr --data-binary @one.pnm
right "401 tells how" headed 'www-authenticate: Bearer .*'
for token in secret-of-sixteen-letter secret-of-sixteen-letters1 '' '# a comment'; do
	problem 401 UNAUTHORIZED /v1/info -H "Authorization: Bearer $token"
done
problem 401 UNAUTHORIZED /metrics
answers 200 /v1/ocr --data-binary @one.pnm -H "Authorization: Bearer another-one-of-them"
answers 200 /v1/info -H "Authorization: bearer secret-of-sixteen-letters"
answers 200 /healthz
answers 200 /readyz
answers 200 /
stop
right "no token is logged" not grep -qE 'secret-of|another-one' err
right "the log is JSON" grep -q '^{"time":"[^"]*","client":"127.0.0.1:[0-9]*","method":"POST","path":"/v1/ocr","status":200,' err
: >empty
expect 1 "empty: has no token" serve --listen 127.0.0.1:0 --token-file empty
echo short >empty
expect 1 "of 16 to 255 characters; one has 5" serve --listen 127.0.0.1:0 --token-file empty

if command -v openssl >/dev/null 2>&1; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem \
		-days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>openssl.log
	start --tls-cert cert.pem --tls-key key.pem
	url=https://127.0.0.1:$port
	answers 200 '/v1/ocr?format=text' --cacert cert.pem --data-binary @one.pnm
	right "the text comes by TLS" printed "READ 42"
	url=http://127.0.0.1:$port
	ask /healthz
	right "and not without: $code" [ "$code" = 'curl 52' -o "$code" = 'curl 56' -o "$code" = 'curl 1' ]
	stop
	expect 1 "nowhere.pem: No such file" serve --listen 127.0.0.1:0 --tls-cert nowhere.pem --tls-key key.pem
fi

# ---- a GPU that fails: the tests' own driver

with_gpu() {
	VARIABLES="PAGESIFT_LIBCUDA=$PSG_BUILD/tests/fakecuda/.libs/libfakecuda.so PAGESIFT_LIBNVML=$PSG_BUILD/tests/fakecuda/.libs/libfakenvml.so $1"
	shift
	start --device cuda "$@"
	VARIABLES=''
}
if [ -z "${TSAN_OPTIONS:-}" ]; then
	# The kernels of the first page, which warms up, are fewer than 300.
	with_gpu FAKECUDA_FAIL=cuLaunchKernel:2000+:719 --no-fallback
	answers 200 /readyz
	while :; do
		ask '/v1/ocr' --data-binary @one.pnm
		[ "$code" = 200 ] || break
	done
	right "a lost card: $code" [ "$code" = 503 ]
	right "is told by its code" has '"code":"DEVICE_LOST"'
	problem 503 DEVICE_LOST /readyz
	answers 200 /healthz
	stop
	with_gpu FAKECUDA_FAIL=cuLaunchKernel:2000+:719
	while :; do
		answers 200 /v1/ocr --data-binary @one.pnm
		has '"device":"cpu","fallback":"[^"]*719' && break
		[ "$code" = 200 ] || break
	done
	right "with the CPU to fall back on all are read" [ "$code" = 200 ]
	answers 200 /readyz
	right "and it is ready, and tells of the card" has '"health":"DEVICE_LOST"'
	stop
	# A card that has room for what it is warmed up with, and not for a large page.
	printf 'P5 1600 1600 255\n' >blank_large.pnm
	head -c 2560000 /dev/zero | tr '\0' '\377' >>blank_large.pnm
	with_gpu FAKECUDA_MEMORY=60 --no-fallback
	problem 507 OOM /v1/ocr --data-binary @blank_large.pnm
	right "507 has the numbers" has 'out of GPU memory: .* [0-9]+ bytes were asked for; this device uses [0-9]+ of the [0-9]+ it may'
	answers 200 '/v1/ocr?format=text' --data-binary @one.pnm
	right "smaller pages are read after it" printed "READ 42"
	stop
fi
finish 0
