#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pagesift-gpu bench: that it measures what it says, and what it says to bad command lines.  Times
# are not looked at.  Takes PSG_BUILD, the build folder, from the environment.
set -eu
program=$PSG_BUILD/pagesift-gpu
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/pagesift/models}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=0 wrong=0

# expect STATUS WORDS ARGUMENT...: ends with STATUS, and WORDS stand in its output or messages.
expect() {
	status=$1 words=$2
	shift 2
	got=0
	"$program" bench "$@" >"$work/out" 2>"$work/err" || got=$?
	cases=$((cases + 1))
	if [ "$got" -ne "$status" ] || ! grep -qF -- "$words" "$work/out" "$work/err"; then
		echo "bench $*: exit status $got, expected $status and '$words'; it said:"
		cat "$work/out" "$work/err"
		wrong=$((wrong + 1))
	fi
}

# lines N WORDS: so many lines of the last output have the words.
lines() {
	n=$(grep -cF -- "$2" "$work/out" || :)
	cases=$((cases + 1))
	if [ "$n" -ne "$1" ]; then
		echo "$n lines with '$2', expected $1:"
		cat "$work/out"
		wrong=$((wrong + 1))
	fi
}

finish() {
	echo "summary: $((cases - wrong)) of $cases right"
	[ "$wrong" -eq 0 ] || exit 1
	exit "$1"
}

printf 'P5\n96 64\n255\n' >"$work/blank page.pgm"
head -c $((96 * 64)) /dev/zero | tr '\0' '\377' >>"$work/blank page.pgm"
echo "not a page" >"$work/text.png"

expect 0 "usage: pagesift-gpu bench" --help
expect 0 "usage: pagesift-gpu bench batch" batch --help
expect 0 "usage: pagesift-gpu bench cpu" cpu --help
expect 0 "usage: pagesift-gpu bench jobs" jobs --help
expect 0 "usage: pagesift-gpu bench pages" pages --help
expect 0 "usage: pagesift-gpu bench share" share --help
expect 2 "which benchmark"
expect 2 "no benchmark 'gpus'" gpus
expect 2 "too much" batch now
expect 2 "from 1 to 1000" batch --repeat 0
expect 2 "too much" cpu now
expect 2 "a list of at most 16 numbers from 1 to 256" cpu --threads 0
expect 2 "a list of" cpu --threads 1,,2
expect 2 "a list of" cpu --threads 1,2,
expect 2 "a list of" cpu --threads 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
expect 2 "from 1 to 100000" cpu --repeat 0
expect 2 "too much" jobs now
expect 2 "a list of at most 16 numbers from 1 to 128" jobs --producers 129
expect 2 "a list of" jobs --producers 1,0
expect 2 "from 1 to 1000" jobs --repeat 1001
expect 2 "from 1 to 100000" pages --repeat -1 "$work/text.png"
expect 2 "which FILE?" pages
expect 2 "too much" share now
expect 2 "from 1 to 1000" share --repeat 0
expect 3 "ch_PP-OCRv4_det_infer.onnx" share --models "$work"
expect 3 "ch_PP-OCRv4_rec_infer.onnx" batch --models "$work"
expect 3 "ch_PP-OCRv4_det_infer.onnx" cpu --models "$work"
expect 3 "ch_PP-OCRv4_det_infer.onnx" pages --models "$work" "$work/blank page.pgm"
expect 1 "none.png: No such file" pages "$work/none.png"
expect 1 "text.png: not an image" pages "$work/text.png"

# Each of the 4 tables of 2 numbers of producers, 3 of which have 2 lines for each, has them all.
expect 0 "million jobs a second" jobs -r 1 --producers 3,1
for n in 3 1; do
	count=$(grep -cE "^$n( +([0-9.]+|-)){5}\$" "$work/out" || :)
	trips=$(grep -cE "^$n +(idle|awake)( +([0-9]+, [0-9]+|-)){4}\$" "$work/out" || :)
	cases=$((cases + 1))
	if [ "$count $trips" != "2 6" ]; then
		echo "$count and $trips lines of $n producers, expected 2 and 6:"
		cat "$work/out"
		wrong=$((wrong + 1))
	fi
done
"$program" bench jobs --json -r 2 --producers 2,5 >"$work/out" 2>"$work/err" || :
if grep -q "without-jansson" "$work/err"; then
	expect 2 "without-jansson" jobs --json -r 1
else
	cases=$((cases + 1))
	if ! "$PSG_BUILD/tests/json_jobs" 2 5 <"$work/out"; then
		echo "the JSON of bench jobs is wrong:"
		cat "$work/out" "$work/err"
		wrong=$((wrong + 1))
	fi
fi

if [ ! -r "$models/ppocr_keys_v1.txt" ]; then
	echo "skipped: no models in $models"
	finish 77
fi
head -c 40 "$work/blank page.pgm" >"$work/cut.pgm"
expect 1 "cut.pgm" pages -r 1 "$work/blank page.pgm" "$work/cut.pgm"
expect 0 "pages/second" pages -r 2 "$work/blank page.pgm" "$work/blank page.pgm"
about=$("$program" --version)
case $about in
*": 1 core"*) lines 2 " with " ;;
*) lines 4 " with " ;;
esac
lines 0 "cuda"
expect 0 "1 with 1 core " pages -r 1 --device cpu:1 "$work/blank page.pgm"
lines 2 " with "
PAGESIFT_LIBCUDA=$PSG_BUILD/tests/fakecuda/.libs/libfakecuda.so
export PAGESIFT_LIBCUDA
expect 0 "pages/second" pages -r 1 --device cuda "$work/blank page.pgm"
lines 2 "cuda:0 "
FAKECUDA_ARITHMETIC=off
export FAKECUDA_ARITHMETIC
expect 0 "cuda:0; recognition" batch -r 1
lines 2 "64 clients with one each, "
lines 1 "batches of "
"$program" bench batch --json -r 1 >"$work/out" 2>"$work/err" || :
if ! grep -q "without-jansson" "$work/err"; then
	for key in lines_per_second batcher_part alone batches lines_per_run waits; do
		lines 1 "\"$key\": "
	done
fi
expect 0 "cuda:0; 1 rounds" share -r 1
lines 1 "beside a flood of lines "
lines 1 "two floods, weights 3:1: "
lines 1 "beside 64 who give up "
"$program" bench share --json -r 2 >"$work/out" 2>"$work/err" || :
if ! grep -q "without-jansson" "$work/err"; then
	cases=$((cases + 1))
	if ! "$PSG_BUILD/tests/json_share" 2 <"$work/out"; then
		echo "the JSON of bench share is wrong:"
		cat "$work/out" "$work/err"
		wrong=$((wrong + 1))
	fi
fi
unset PAGESIFT_LIBCUDA FAKECUDA_ARITHMETIC
expect 2 "'tpu' is not a device" share --device tpu
expect 2 "'tpu' is not a device" batch --device tpu
expect 2 "'vulkan' is not a device" pages --device vulkan "$work/blank page.pgm"
"$program" bench pages --json -r 1 "$work/blank page.pgm" >"$work/out" 2>"$work/err" || :
if grep -q "without-jansson" "$work/err"; then
	expect 2 "without-jansson" pages --json -r 1 "$work/blank page.pgm"
else
	lines 1 '"pages_per_second"'
	lines 1 'blank page.pgm", "page": 0, "median_ms"'
fi
case $about in
*oneDNN*)
	# 960x960 would take minutes without it.
	expect 0 "1x3x960x960" cpu -r 1 --threads 2,1
	lines 2 "1x3x960x960"
	lines 2 "8x3x48x320"
	;;
esac
finish 0
