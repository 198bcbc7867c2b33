#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share; they read it with `.`.
# Takes PSG_BUILD, the build folder, from the environment.
set -eu
program=$PSG_BUILD/pagesift-gpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=0 wrong=0

# right NAME COMMAND...: right when the command succeeds; else the last run's output is shown.
right() {
	name=$1
	shift
	cases=$((cases + 1))
	if ! "$@"; then
		echo "WRONG: $name; the last output and messages:"
		cat "$work/out" "$work/err"
		wrong=$((wrong + 1))
	fi
}

not() { ! "$@"; }

# run ARGUMENT...: the command, its output in $work/out, its messages in $work/err, its exit status
# in $got.
run() {
	got=0
	"$program" "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
}

# said WORDS: they are in a message that starts with the program's name.
said() { grep -aF -- "$1" "$work/err" | grep -aq '^pagesift-gpu: '; }

# has PATTERN: a line of the output fits.
has() { grep -qE -- "$1" "$work/out"; }

# judged: the output is JSON as promised; $work/pages gets a line for each page (see json_pages.c).
judged() { "$PSG_BUILD/tests/json_pages" <"$work/out" >"$work/pages"; }

printed() { [ "$(cat "$work/out")" = "$1" ]; }
ended() { [ "$got" -eq "$1" ]; }
is_png() { [ "$(od -An -tx1 -N8 "$1" | tr -d ' \n')" = 89504e470d0a1a0a ]; }
silent() { [ ! -s "$work/err" ]; }

# expect STATUS WORDS ARGUMENT...: the exit status, and words among the messages.
expect() {
	status=$1 words=$2
	shift 2
	run "$@"
	right "'$*' ends with $status: it was $got" [ "$got" -eq "$status" ]
	right "'$*' says '$words'" said "$words"
}

# prints STATUS TEXT ARGUMENT...: the exit status, and the whole output.
prints() {
	status=$1 text=$2
	shift 2
	run "$@"
	right "'$*' ends with $status: it was $got" [ "$got" -eq "$status" ]
	right "'$*' prints '$text'" printed "$text"
}

# finish STATUS: the end of the test, 0 or 77, if all was right.
finish() {
	echo "summary: $((cases - wrong)) of $cases right"
	[ "$wrong" -eq 0 ] || exit 1
	exit "$1"
}
