#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The static probes of the built library are those that src/base/probe.h tells of, with as many
# arguments; a build without <sys/sdt.h> has none.
# Takes PSG_TOP and PSG_BUILD, the absolute source and build folders, from the environment.
set -eu
library=$PSG_BUILD/.libs/libpagesift-gpu.so
if [ ! -f "$library" ]; then
	echo "skipped: no shared library in this build"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "name arguments" of each line of the header's table.
if grep -q '^#define HAVE_SDT 1' "$PSG_BUILD/config.h"; then
	sed -n 's/^ \*   \([a-z]*__[a-z]*\)  *\([a-z]*\(, [a-z]*\)*\)\(  .*\)*$/\1 \2/p' \
		"$PSG_TOP/src/base/probe.h" | awk '{ print $1, NF - 1 }' | LC_ALL=C sort >"$work/told"
	[ -s "$work/told" ] || {
		echo "no probe found in src/base/probe.h"
		exit 1
	}
else
	: >"$work/told"
fi

# A probe that the compiler copied is there several times.
readelf -nW "$library" | awk '
	/Provider: / { ours = $NF == "pagesift" }
	/Name: / { name = $2 }
	/Arguments:/ && ours { print name, NF - 1 }
	' | LC_ALL=C sort -u >"$work/built"
diff -u "$work/told" "$work/built" >"$work/diff" || {
	echo "told (-) and built (+) differ:"
	cat "$work/diff"
	exit 1
}
echo "summary: $(wc -l <"$work/built") probes, all of them told"
