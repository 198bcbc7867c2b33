#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The models on this library and on onnxruntime-node, in one run: `make bench`, or
#
#     PSG_TOP=SOURCES PSG_BUILD=BUILD sh tests/bench/compare.sh [ROUNDS [RUNS]]
#
# ROUNDS (4) times in turn, ours and theirs, RUNS (3) runs of each case that count, on one thread
# and on two: what else the machine does falls on both alike.  Leave it alone all the same; two
# threads suffer most from others, ours less with OMP_WAIT_POLICY=passive.  Needs node and npm, which
# fetches onnxruntime-node into BUILD/bench.
set -eu
rounds=${1:-4} runs=${2:-3}
here=$PSG_TOP/tests/bench work=$PSG_BUILD/bench
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/pagesift/models}
NODE_PATH=$(sh "$here/modules.sh" "$work")
export NODE_PATH

ours() {
	"$PSG_BUILD/pagesift-gpu" bench cpu --json --models "$models" --threads "$1" \
		--repeat "$runs"
}
theirs() { node "$here/ort_bench.cjs" "$models" "$1" "$runs"; }

rm -f "$work"/ours.*.json "$work"/theirs.*.json
round=1
while [ "$round" -le "$rounds" ]; do
	for threads in 1 2; do
		echo "round $round of $rounds, $threads threads" >&2
		ours "$threads" >"$work/ours.$round.$threads.json"
		theirs "$threads" >"$work/theirs.$round.$threads.json"
	done
	round=$((round + 1))
done
node "$here/compare.cjs" "$work"/ours.*.json -- "$work"/theirs.*.json
