#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws the cases of page_cases.txt (or those named) into pages/ of the build folder, reads them and
# compares: check_pages tells how it went.  Skipped without models, Pango or the fonts.
# PSG_DEVICE is what reads them, where it is not the usual one.
set -eu
tests=$PSG_TOP/tests pages=$PSG_BUILD/pages
if [ ! -x "$PSG_BUILD/tests/render_page" ]; then
	echo "no pages: render_page was not built (no Pango)"
	exit 77
fi
sizes=$("$PSG_BUILD/tests/check_pages" --sizes) || {
	echo "no pages: the models are not there, or their reader failed"
	exit 77
}

# What this build reads, of what is wanted: name, limit, truth, picture.
wanted=" $* " list=$pages/list
mkdir -p "$pages"
sed -n '/^#/!s/ *| */|/gp' "$tests/page_cases.txt" | while IFS='|' read -r name text limit size _; do
	case $wanted in "  " | *" $name "*) ;; *) continue ;; esac
	case " $sizes " in *" $size "*) ;; *) continue ;; esac
	printf '%s\t%s\t%s\t%s\n' "$name" "$limit" "$tests/pages/$text.txt" "$pages/$name.png"
done >"$list.all"
[ -s "$list.all" ] || {
	echo "no case of this name and size ($sizes)"
	exit 1
}
# shellcheck disable=SC2046 # names are words
"$SHELL" "$tests/render_pages.sh" "$PSG_BUILD/tests/render_page" "$tests" "$pages" $(cut -f 1 "$list.all")
# A font that is missing leaves no picture.
while IFS='	' read -r name limit truth picture; do
	[ ! -f "$picture" ] || printf '%s\t%s\t%s\t%s\n' "$name" "$limit" "$truth" "$picture"
done <"$list.all" >"$list"
[ -s "$list" ] || exit 77
"$PSG_BUILD/tests/check_pages" "$list" ${PSG_DEVICE:+"$PSG_DEVICE"}
