#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: render_pages.sh RENDER TESTS OUT [NAME...]: draws the cases of TESTS/page_cases.txt (all, or
# those named) with the program RENDER into OUT/NAME.png.  A case whose font is missing is told and left out.
set -eu
render=$1 tests=$2 out=$3
shift 3
wanted=" $* "
mkdir -p "$out"
grep -v '^#' "$tests/page_cases.txt" | while IFS='|' read -r name text _ _ options; do
	name=$(printf %s "$name" | tr -d ' ') text=$(printf %s "$text" | tr -d ' ')
	case $wanted in
	"  " | *" $name "*) ;;
	*) continue ;;
	esac
	eval "set -- $options"
	rm -f "$out/$name.png"
	status=0
	"$render" --out "$out/$name.png" "$@" <"$tests/pages/$text.txt" || status=$?
	case $status in
	0) ;;
	77) echo "skipped: $name: its font is not installed" ;;
	*) exit "$status" ;;
	esac
done
