#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pagesift-gpu model: what it tells of the three models, and what it says to bad files and shapes.
# Takes PSG_BUILD, the build folder, from the environment.
set -eu
program=$PSG_BUILD/pagesift-gpu
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/pagesift/models}
detection=$models/ch_PP-OCRv4_det_infer.onnx
recognition=$models/ch_PP-OCRv4_rec_infer.onnx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=0 wrong=0

# expect STATUS WORDS ARGUMENT...: ends with STATUS, and WORDS stand in its output or messages.
expect() {
	status=$1 words=$2
	shift 2
	got=0
	"$program" model "$@" >"$work/out" 2>"$work/err" || got=$?
	cases=$((cases + 1))
	if [ "$got" -ne "$status" ] || ! grep -qF -- "$words" "$work/out" "$work/err"; then
		echo "model $*: exit status $got, expected $status and '$words'; it said:"
		cat "$work/out" "$work/err"
		wrong=$((wrong + 1))
	elif [ "$status" -ne 0 ] && [ -s "$work/out" ]; then
		echo "model $*: failed, and printed:"
		cat "$work/out"
		wrong=$((wrong + 1))
	fi
}

# number NAME: the number of that member of the last output.
number() { sed -n "s/.*\"$1\": \\([0-9][0-9]*\\).*/\\1/p" "$work/out"; }

# within NAME LEAST MOST: so is the number NAME of the last output.
within() {
	value=$(number "$1")
	cases=$((cases + 1))
	if [ -z "$value" ] || [ "$value" -lt "$2" ] || [ "$value" -gt "$3" ]; then
		echo "$1 is '$value', expected $2 to $3"
		wrong=$((wrong + 1))
	fi
}

finish() {
	echo "summary: $((cases - wrong)) of $cases right"
	[ "$wrong" -eq 0 ] || exit 1
	exit "$1"
}

expect 0 "usage: pagesift-gpu model" --help
expect 2 "which FILE?"
expect 2 "one FILE at a time" a b
expect 1 "$work/none: No such file" "$work/none"
expect 1 "$work" "$work"
: >"$work/empty"
expect 1 "empty" "$work/empty"
echo "not a model" >"$work/text.onnx"
expect 1 "not an ONNX model" "$work/text.onnx"
expect 2 "at least 1" --shape x=1x0x4 "$work/text.onnx"
expect 2 "at least 1" --shape x=1x-3x4 "$work/text.onnx"
expect 2 "at most 6" --shape x=1x1x1x1x1x1x1 "$work/text.onnx"
expect 2 "at most 8589934592 elements" --shape x=99999999999999999999 "$work/text.onnx"
expect 2 "at most 8589934592 elements" --shape x=4294967296x4294967296 "$work/text.onnx"
expect 2 "joined by x" --shape x=1x "$work/text.onnx"
expect 2 "joined by x" --shape x= "$work/text.onnx"
expect 2 "joined by x" --shape "" "$work/text.onnx"
expect 2 "joined by x" --shape "x= 1x3" "$work/text.onnx"
expect 2 "is not a device" --device toaster "$work/text.onnx"

if [ ! -r "$detection" ] || [ ! -r "$recognition" ]; then
	echo "skipped: no models in $models"
	finish 77
fi

head -c 100000 "$detection" >"$work/cut.onnx"
expect 1 "truncated" "$work/cut.onnx"
expect 2 "has no input 'y'; it has 'x'" --shape y=1x3x64x64 "$detection"
expect 2 "two shapes" --shape x=1x3x64x64 --shape 1x3x64x64 "$detection"
expect 2 "it has 4 sizes, the shape 1x3x64 has 3" --shape x=1x3x64 "$detection"
expect 2 "does not fit" --shape x=1x4x64x64 "$detection"
expect 2 "do not broadcast" --shape x=1x3x33x33 "$detection"
expect 2 "over the limit" --shape x=1x3x40000x40000 "$detection"
expect 0 "assumed 1x3x960x960" "$detection"
expect 0 "given 1x3x64x96" -s 1x3x64x96 "$detection"
expect 0 "     342  Constant" "$detection"
expect 0 "672 in the file" "$detection"
expect 0 "assumed 1x3x48x320" "$recognition"
cp "$detection" "$work/- a name.onnx"
(cd "$work" && "$program" model -- "- a name.onnx" >/dev/null) || {
	echo "a name with a dash and blanks: failed"
	wrong=$((wrong + 1))
}

"$program" model --json "$recognition" >"$work/out" 2>"$work/err" || :
if grep -q "without-jansson" "$work/err"; then
	expect 2 "without-jansson" --json "$recognition"
	finish 0
fi
# Parameters, nodes and multiply-adds as another program counted them in these files.
within parameters 2690296 2690296
within nodes_before 765 765
within nodes_after 20 150
within macs 700000000 705000000
expect 0 '"shape": [1, 3, 48, 320], "assumed": true' --json "$recognition"
expect 0 '"shape": [2, 3, 48, 64], "assumed": false' --json -s x=2x3x48x64 "$recognition"
expect 0 '"device": "reference"' --json --device reference "$detection"
within parameters 1171841 1171841
within macs 5170000000 5190000000
within weight_bytes 4600000 99999999
# Twice the samples are twice the sums, and more memory.
expect 0 '"macs"' --json --device reference -s 1x3x64x64 "$detection"
once=$(number macs) memory=$(number peak_bytes)
expect 0 '"macs"' --json --device reference -s 2x3x64x64 "$detection"
within macs $((2 * once)) $((2 * once))
within peak_bytes $((memory + 1)) $((2 * memory))
# A card's memory is told without running anything there, on the tests' own driver.
PAGESIFT_LIBCUDA=$PSG_BUILD/tests/fakecuda/.libs/libfakecuda.so
PAGESIFT_LIBNVML=$PSG_BUILD/tests/fakecuda/.libs/libfakenvml.so
FAKECUDA_REPORT=$work/counts
export PAGESIFT_LIBCUDA PAGESIFT_LIBNVML FAKECUDA_REPORT
expect 0 '"device": "cuda:0"' --json --device cuda -s 1x3x64x64 "$detection"
within weight_bytes 4600000 99999999
within peak_bytes 49152 99999999
cases=$((cases + 1))
grep -qx 'launches 0' "$work/counts" || {
	echo "model --device cuda: something was run"
	wrong=$((wrong + 1))
}
finish 0
