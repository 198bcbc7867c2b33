#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the built library shows to the world: the functions of its headers and nothing else, each
# under the map's version; no text relocations, no executable stack, no link to a GPU's driver, no
# path of this build.
# Takes PSG_TOP and PSG_BUILD, the absolute source and build folders, from the environment.
set -eu
library=$PSG_BUILD/.libs/libpagesift-gpu.so
if [ ! -f "$library" ]; then
	echo "skipped: no shared library in this build"
	exit 77
fi
# Instrumented code exports and holds what the instruments need.
if nm -D --undefined-only "$library" | grep -qE ' __(asan|tsan|ubsan)_'; then
	echo "skipped: a sanitizer's build"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0
say() {
	echo "$*"
	wrong=1
}

cat "$PSG_TOP"/include/pagesift/*.h | sed -e '/^#/d' | tr '\n\t' '  ' | tr ';' '\n' |
	sed -n 's/^.*PSG_API [^(]*[ *]\(psg_[a-z0-9_]*\)(.*$/\1/p' | LC_ALL=C sort >"$work/declared"
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | LC_ALL=C sort >"$work/exported"
[ -s "$work/declared" ] || say "no PSG_API function found in the headers"
sed 's/@.*//' "$work/exported" >"$work/names"
diff -u "$work/declared" "$work/names" >"$work/diff" || {
	say "headers (-) and library (+) differ:"
	cat "$work/diff"
}
if ! readelf -V "$library" | grep -q PAGESIFT_GPU_0; then
	say "the symbols have no version: the export map was not used"
fi

readelf -dW "$library" >"$work/dynamic"
readelf -lW "$library" >"$work/segments"
grep -q 'SONAME.*libpagesift-gpu\.so\.[0-9]' "$work/dynamic" || say "no soname"
! grep -q TEXTREL "$work/dynamic" || say "text relocations"
! grep -Eq 'RPATH|RUNPATH' "$work/dynamic" || say "a run path"
! grep 'GNU_STACK' "$work/segments" | grep -q 'RWE' || say "an executable stack"
! grep 'NEEDED' "$work/dynamic" | grep -Eq 'libcuda|libnvidia' || say "linked to a GPU driver"

objcopy --strip-debug "$library" "$work/stripped" 2>/dev/null || strip -g -o "$work/stripped" "$library"
for folder in "$PSG_TOP" "$PSG_BUILD"; do
	! grep -qF "$folder/" "$work/stripped" || say "holds the path $folder"
done

[ "$wrong" -eq 0 ] || exit 1
echo "summary: $(wc -l <"$work/names") functions exported, all of them declared"
