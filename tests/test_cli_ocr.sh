#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command with models: pages in every order and format, bad images, bad models, and how it ends.
# shellcheck disable=SC1091,SC2154 # it reads cli_expect.sh, which sets $got, $work and $program
set -eu
. "$PSG_TOP/tests/cli_expect.sh"
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/pagesift/models}
cd "$work" || exit 1
"$PSG_BUILD/tests/cli_files" "$work"

# ---- models that are missing or unusable: the page is good

prints 3 "" ocr --models nowhere one.pnm
right "what is missing is told" said "ch_PP-OCRv4_det_infer.onnx cannot be read in the folder nowhere"
right "and how to get it" said "bootstrap models"
PAGESIFT_MODELS=$work/none expect 3 "the folder $work/none" ocr one.pnm
for device in toaster cpu:0 cpu:-1 cpu: cpu:0x2 cpu:2x c auto:0 cuda:x; do
	expect 2 "'$device' is not a device" ocr --device $device one.pnm
done
expect 1 "" ocr --device cuda:9999 one.pnm
# Nothing is spoilt by a run that has nothing to write.
echo kept >kept.txt
run ocr --models nowhere -o kept.txt one.pnm
right "what was in the output stays without models" [ "$(cat kept.txt)" = kept ]
run ocr --models nowhere -o made.txt one.pnm
right "and no empty output is left behind" [ ! -e made.txt ]
expect 2 "--output and --draw are both same.png" ocr -o same.png -d same.png one.pnm

detection=ch_PP-OCRv4_det_infer.onnx
if [ ! -r "$models/$detection" ]; then
	echo "skipped: no models in $models"
	finish 77
fi
case $models in
/*) ;;
*) models=$(cd "$OLDPWD" && cd "$models" && pwd) ;;
esac
PAGESIFT_MODELS=$models
export PAGESIFT_MODELS

# folder NAME: a folder of the models, to spoil one of them.
folder() {
	mkdir "$1"
	for file in "$models"/*; do
		[ ! -f "$file" ] || ln -s "$file" "$1/"
	done
}
folder cut
rm "cut/$detection"
head -c 100000 "$models/$detection" >"cut/$detection"
expect 3 "cut/$detection: not an ONNX model, or truncated" ocr --models cut one.pnm
folder picture
rm "picture/$detection"
cp huge.png "picture/$detection"
expect 3 "picture/$detection: " ocr --models picture one.pnm
folder other
rm "other/$detection"
ln -s "$models/ch_ppocr_mobile_v2.0_cls_infer.onnx" "other/$detection"
expect 3 "another kind of model" ocr --models other one.pnm
folder short
rm short/ppocr_keys_v1.txt
head -n 100 "$models/ppocr_keys_v1.txt" >short/ppocr_keys_v1.txt
expect 3 "short/ppocr_keys_v1.txt: " ocr --models short one.pnm
folder none
rm none/ppocr_keys_v1.txt
expect 3 "ppocr_keys_v1.txt cannot be read in" ocr --models none one.pnm
# The direction model is not missed by who does not use it.
rm none/ch_ppocr_mobile_v2.0_cls_infer.onnx
ln -s "$models/ppocr_keys_v1.txt" none/
prints 0 "READ 42" ocr --no-direction --models none one.pnm

odd=$(printf 'odd\377\001name')
cp one.pnm "$odd"

# ThreadSanitizer makes a page take ten seconds, and sees nothing new in the twentieth.
thorough() { [ -z "${TSAN_OPTIONS:-}" ]; }

# Pages, in every way to name them.
names() {
	cp one.pnm "a name with  blanks.pnm"
	cp two.pnm ./-dash.pnm
	two=$(printf 'READ 42\n\nPAGE 2')
	prints 0 "$two" ocr one.pnm two.pnm
	prints 0 "$two" ocr -- one.pnm two.pnm
	prints 0 "$two" ocr "a name with  blanks.pnm" ./-dash.pnm
	prints 0 "$two" ocr "$odd" -- -dash.pnm
	prints 0 "READ 42" ocr one.pnm --device cpu:1 --format text -v
	right "-v tells the device" said "1 worker on cpu (1 core"
	right "-v tells of the page" said "one.pnm: 232x116, 1 line"
	"$program" ocr two.pnm - <one.pnm >out 2>err || :
	right "- is standard input" printed "$(printf 'PAGE 2\n\nREAD 42')"
	run ocr -o written one.pnm
	right "--output takes all" [ ! -s out ]
	right "--output writes the file" [ "$(cat written)" = "READ 42" ]
	run ocr -o written two.pnm
	right "--output writes it over" [ "$(cat written)" = "PAGE 2" ]
	prints 0 "READ 42" ocr one.pnm --device cpu:9999
}

strange_images() {
	for name in blank dot strip; do
		prints 0 "" ocr $name.pnm
		right "$name.pnm has no lines, and that is right" silent
	done
	expect 1 "at most 1000 are allowed" ocr --max-pixels 1000 one.pnm
	if [ -f cut.png ]; then
		expect 1 "huge.png: decoding: PNG: the image claims 60000x60000" ocr huge.png
		expect 1 "cut.png: decoding: PNG: truncated" ocr cut.png
		expect 1 "cut.jpg: decoding: JPEG: " ocr cut.jpg
		expect 1 "cut.tif: TIFF: the list of pages is broken or truncated" ocr cut.tif
	fi
	run ocr none.png one.pnm huge.png two.pnm
	right "one that fails does not stop the others: $got" [ "$got" -eq 1 ]
	right "and has its place" printed "$(printf '\nREAD 42\n\n\nPAGE 2')"
	right "both are told" [ "$(grep -c '^pagesift-gpu: ' err)" -eq 2 ]
	expect 1 "one.pnm: not read in 0.001 s" ocr --timeout 0.001 one.pnm
	run ocr --timeout 600 one.pnm two.pnm
	right "a page in time is no page too late" ended 0
}

texts() { sed 's/.*|//' pages; }

# Whatever runs side by side, the output is the same.
order() {
	[ -x "$PSG_BUILD/tests/json_pages" ] || return 0
	files="one.pnm none.png two.pnm blank.pnm $odd"
	all_jobs=4
	if thorough; then
		files="$files three.pnm huge.png two.pnm one.pnm"
		all_jobs="2 4"
	fi
	# shellcheck disable=SC2086 # names without blanks
	run ocr -f json -j 1 $files
	right "JSON is as promised" judged
	sed 's/"timings_ms":{[^}]*}//' out >one.json
	right "its texts" [ "$(texts | head -n 4 | tr '\n' ,)" = "READ 42,,PAGE 2,," ]
	right "a name that is not UTF-8" grep -q "$(printf '^odd\357\277\275.name|0|232x116|1|-|READ 42')" pages
	for jobs in $all_jobs; do
		# shellcheck disable=SC2086 # names without blanks
		run ocr -f json -j $jobs $files
		right "JSON with -j $jobs is as promised" judged
		sed 's/"timings_ms":{[^}]*}//' out >many.json
		right "-j $jobs gives what -j 1 gives" cmp one.json many.json
	done
}

tiff() {
	[ -f cut.png ] || return 0 # TIFF is not read
	for name in one two three; do
		run ocr $name.pnm
		cp out $name.txt
	done
	{ cat one.txt && echo && cat two.txt && echo && cat three.txt; } >expected
	run ocr -j 3 pages.tif
	right "all pages of a TIFF, in order" cmp out expected
	{ cat one.txt && echo && cat three.txt; } >expected
	run ocr --pages 0,2- pages.tif
	right "--pages chooses" cmp out expected
	prints 0 "PAGE 2" ocr --pages=1 pages.tif
	expect 1 "has none of the pages 3-, but 3 pages, counted from 0" ocr --pages 3- pages.tif
	expect 1 "pages.tif, page 2: not read in" ocr --timeout 0.001 pages.tif
	run ocr -f hocr pages.tif
	right "hocr is one document" [ "$(grep -c '</html>' out)" -eq 1 ]
	right "hocr has every page" [ "$(grep -c 'class="ocr_page" id="page_[123]"' out)" -eq 3 ]
	run ocr -f tsv pages.tif one.pnm
	right "tsv has a line a line" [ "$(grep -c "$(printf '^[a-z.]*\t[0-9]*\t[01]\t')" out)" -eq 5 ]
}

drawings() {
	run ocr --draw drawn.png one.pnm
	! grep -q "no libpng" err || return 0
	right "--draw reads as well" printed "READ 42"
	right "--draw makes a PNG" is_png drawn.png
	run ocr drawn.png
	right "that can be read" ended 0
	run ocr --draw many.png one.pnm blank.pnm none.png two.pnm
	right "--draw numbers the pages" is_png many-1.png
	right "--draw draws blank pages" is_png many-2.png
	right "--draw leaves out what failed" [ ! -e many-3.png ]
	right "--draw goes on after it" is_png many-4.png
	right "--draw writes nothing else" [ ! -e many.png ]
	expect 1 "drawing ./nowhere/x.png: No such file" ocr --draw ./nowhere/x.png one.pnm
	right "the text is there all the same" printed "READ 42"
	cp one.pnm page-1.png
	cp page-1.png kept
	expect 1 "page-1.png: is a file to be read" ocr --draw page.png page-1.png two.pnm
	right "a drawing never replaces an input" cmp -s page-1.png kept
	expect 1 "drawing text-1.png: is where the text goes" ocr -o text-1.png --draw text.png one.pnm two.pnm
	right "nor the text" [ "$(head -n 1 text-1.png)" = "READ 42" ]
	if [ -w /dev/full ]; then
		ln -s /dev/full full.png
		expect 1 "drawing full.png: No space left on device" ocr --draw full.png one.pnm
		right "what was there before stays when it cannot be written" [ -L full.png ]
	fi
}

ends() {
	# A pipe that nobody reads: the program dies of it as all do, or ends with 1 where that is ignored.
	mkfifo pipe
	exec 3<>pipe
	exec 4>pipe
	exec 3>&-
	got=0
	"$program" ocr one.pnm two.pnm >&4 2>err || got=$?
	right "a reader that left ends it: $got" [ "$got" -eq 141 -o "$got" -eq 1 ]
	right "without a word" silent
	got=0
	(trap '' PIPE && exec "$program" ocr one.pnm two.pnm >&4 2>err) || got=$?
	right "also where SIGPIPE is ignored: $got" [ "$got" -eq 1 ]
	right "again without a word" silent
	exec 4>&-
	if [ -w /dev/full ]; then
		got=0
		"$program" ocr one.pnm two.pnm >/dev/full 2>err || got=$?
		right "a full disk is a failure: $got" [ "$got" -eq 1 ]
		right "that is told" said "standard output: No space left on device"
	fi

	# It waits for the second file, which comes from a pipe, and has the first one at work.
	mkfifo slow
	"$program" ocr one.pnm slow >out 2>err &
	waiting=$!
	exec 5>slow
	kill -TERM "$waiting"
	got=0
	wait "$waiting" || got=$?
	exec 5>&-
	right "a signal ends it at once, by that signal: $got" [ "$got" -eq 143 ]
	right "as all programs, without a word" silent
}

# with_gpu ASSIGNMENT ARGUMENT...: on the tests' own driver.
with_gpu() {
	assignment=$1
	shift
	got=0
	env "PAGESIFT_LIBCUDA=$PSG_BUILD/tests/fakecuda/.libs/libfakecuda.so" \
		"PAGESIFT_LIBNVML=$PSG_BUILD/tests/fakecuda/.libs/libfakenvml.so" "$assignment" \
		"$program" ocr "$@" >out 2>err </dev/null || got=$?
}

# A GPU that fails while it reads, and one that is there but cannot be used.
gpu_fails() {
	with_gpu FAKECUDA_FAIL=run:1:719 --device cuda one.pnm two.pnm
	right "a lost GPU's pages are read: $got" [ "$got" -eq 0 ]
	right "with their texts" printed "$(printf 'READ 42\n\nPAGE 2')"
	right "and it is told once" [ "$(grep -c 'the GPU failed, and the CPU goes on: ' err)" -eq 1 ]
	right "with the driver's reason" said "CUDA_ERROR_LAUNCH_FAILED (719"
	with_gpu FAKECUDA_FAIL=run:1:719 --device cuda --no-fallback one.pnm two.pnm
	right "--no-fallback gives them up: $got" [ "$got" -eq 1 ]
	right "each with the reason" [ "$(grep -c 'CUDA_ERROR_LAUNCH_FAILED' err)" -eq 2 ]
	with_gpu FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1+:46 one.pnm
	right "auto reads without a usable GPU" printed "READ 42"
	right "but says what is wrong with it" said "the GPU cannot be used, so the CPU reads: cuda:0: "
	with_gpu PAGESIFT_GPU=off one.pnm
	right "one that is switched off is not missed" silent
	with_gpu CUDA_VISIBLE_DEVICES= one.pnm
	right "nor one that is hidden" silent
	[ -x "$PSG_BUILD/tests/json_pages" ] || return 0
	with_gpu FAKECUDA_FAIL=run:1:719 --device cuda -f json -v one.pnm
	right "JSON says who read" grep -q '"device":"cpu","fallback":"detection: .*CUDA_ERROR_LAUNCH_FAILED' out
	right "JSON is as promised" judged
	right "-v counts" said "of 1 pages the CPU read 1, all or in part"
}

# What happened is written beside the text, which is the same.
traces() {
	PAGESIFT_TRACE=$work/trace.json prints 0 "READ 42" ocr one.pnm
	right "a trace is not talked of" silent
	right "it is whole" [ "$(head -c 1 trace.json)$(tail -n 1 trace.json)" = "[]" ]
	for event in '"name":"recognition".*"cat":"page"' '"name":"conv".*"cat":"kernel"' \
		'"name":"ch_PP-OCRv4_det_infer.onnx".*"cat":"batch".*"samples":1'; do
		right "it has $event" grep -q "$event" trace.json
	done
	for file in /dev/full nowhere/trace.json; do
		PAGESIFT_TRACE=$file prints 0 "READ 42" ocr one.pnm
		right "a trace that cannot be written is told, once" \
			[ "$(grep -c "^pagesift-gpu: PAGESIFT_TRACE: .*$file" err)" -eq 1 ]
	done
}

prints 0 "READ 42" ocr one.pnm
right "nothing else is said" silent
if thorough; then
	traces
	gpu_fails
	names
	strange_images
	tiff
	drawings
fi
order
ends
finish 0
