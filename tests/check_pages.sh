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

# What this build reads, of what is wanted.
wanted=" $* "
names=$(sed -n '/^#/!s/ *| */|/gp' "$tests/page_cases.txt" | while IFS='|' read -r name _ _ size _; do
	case $wanted in "  " | *" $name "*) ;; *) continue ;; esac
	case " $sizes " in *" $size "*) echo "$name" ;; esac
done)
[ -n "$names" ] || {
	echo "no case of this name and size ($sizes)"
	exit 1
}
# shellcheck disable=SC2086 # names are words
"$SHELL" "$tests/render_pages.sh" "$PSG_BUILD/tests/render_page" "$tests" "$pages" $names
list=$pages/list
sed -n '/^#/!s/ *| */|/gp' "$tests/page_cases.txt" | while IFS='|' read -r name text limit _; do
	case " $(echo $names) " in *" $name "*) ;; *) continue ;; esac
	[ ! -f "$pages/$name.png" ] ||
		printf '%s\t%s\t%s\t%s\n' "$name" "$limit" "$tests/pages/$text.txt" "$pages/$name.png"
done >"$list"
[ -s "$list" ] || exit 77 # none of the fonts
"$PSG_BUILD/tests/check_pages" "$list" ${PSG_DEVICE:+"$PSG_DEVICE"}
