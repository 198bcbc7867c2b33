#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The room check must see an arrow that points upwards, and only that.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/ops" "$work/src/jobs" "$work/src/cli" "$work/include/pagesift"
cases=0

# expect RESULT FILE LINE: rooms.sh on a tree whose FILE holds LINE ends with RESULT.
expect() {
	printf '%s\n' "$3" >"$work/$2"
	result=0
	sh "$here/rooms.sh" "$work" >"$work/out" || result=$?
	if [ "$result" -ne "$1" ]; then
		echo "$2 with '$3': exit status $result, expected $1"
		cat "$work/out"
		exit 1
	fi
	rm "$work/$2"
	cases=$((cases + 1))
}

expect 0 src/jobs/a.c '#include "model/graph.h"'
expect 0 src/jobs/a.c '#include "jobs/jobs.h"'
expect 0 src/jobs/a.c '#include <pagesift/op.h>'
expect 0 src/jobs/a.c '#include <stdio.h>'
expect 0 src/cli/a.c '#include <pagesift/gpu.h>'
expect 0 include/pagesift/gpu.h '#include <pagesift/ocr.h>'
expect 1 src/ops/a.c '#include "model/graph.h"'
expect 1 src/ops/a.h '#include <pagesift/job.h>'
expect 1 src/ops/a.c '#  include  "jobs/jobs.h"'
expect 1 src/jobs/a.c '#include <pagesift/gpu.h>'
expect 1 src/jobs/a.c '#include "../ops/ops.h"'
expect 1 src/jobs/a.c '#include "jobs.h"'
expect 1 src/jobs/a.c '#include "attic/old.h"'
expect 1 include/pagesift/op.h '#include <pagesift/model.h>'
expect 1 include/pagesift/new.h '#include <stdio.h>'
echo "summary: $cases cases, all as expected"
