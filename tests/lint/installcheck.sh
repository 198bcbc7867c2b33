#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Uses the installed library as a stranger would: the tree is staged, moved to another prefix, and
# every example is compiled there with what pkg-config says and nothing else, then run.
# Takes PSG_TOP, PSG_BUILD, PSG_PREFIX, PSG_LIBDIR, PSG_BINDIR, CC, MAKE and PKG_CONFIG from the
# environment.
set -eu
stage=$PSG_BUILD/installcheck
trap 'rm -rf "$stage"' EXIT
rm -rf "$stage"
mkdir -p "$stage"
"$MAKE" -C "$PSG_BUILD" --no-print-directory install DESTDIR="$stage/root" >"$stage/install.log" 2>&1 || {
	cat "$stage/install.log"
	exit 1
}
moved=$stage/moved
mv "$stage/root$PSG_PREFIX" "$moved"
libdir=$moved${PSG_LIBDIR#"$PSG_PREFIX"}
bindir=$moved${PSG_BINDIR#"$PSG_PREFIX"}
PKG_CONFIG_PATH=$libdir/pkgconfig
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH
flags() { "$PKG_CONFIG" --define-variable=prefix="$moved" "$@" pagesift-gpu; }

[ "$(flags --modversion)" = "$PSG_VERSION" ] || {
	echo "pkg-config says version $(flags --modversion), this is $PSG_VERSION"
	exit 1
}
# A static link must at least be able to name all its libraries.
flags --static --libs >/dev/null

# Each public header stands alone, as C and with the warnings that a strict user has on.
for header in "$PSG_TOP"/include/pagesift/*.h; do
	echo "#include <pagesift/$(basename "$header")>" >"$stage/alone.c"
	# shellcheck disable=SC2046 # flags are words
	$CC -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(flags --cflags) "$stage/alone.c"
done

page=
if [ -x "$PSG_BUILD/tests/render_page" ] && [ -f "$PSG_TOP/tests/pages/demo.txt" ]; then
	"$PSG_BUILD/tests/render_page" --font "DejaVu Sans 11" --dpi 200 --out "$stage/page.png" \
		<"$PSG_TOP/tests/pages/demo.txt"
	page=$stage/page.png
fi
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}/pagesift/models}
[ -f "$models/ppocr_keys_v1.txt" ] || models=

compiled=0 ran=0
for source in "$PSG_TOP"/examples/*.c; do
	[ -f "$source" ] || continue
	program=$stage/$(basename "$source" .c)
	# shellcheck disable=SC2046 # flags are words
	$CC -std=c11 -Wall -Wextra -Werror -o "$program" "$source" $(flags --cflags --libs) -pthread
	compiled=$((compiled + 1))
	if [ -n "$page" ] && [ -n "$models" ]; then
		"$program" "$page" >"$stage/out" || {
			echo "$(basename "$source") failed with status $?"
			exit 1
		}
		[ -s "$stage/out" ] || {
			echo "$(basename "$source") printed nothing for a page with text"
			exit 1
		}
		ran=$((ran + 1))
	fi
done

# The program in the manual of jobs, as a reader would copy it.
sed -n '/^\.Sh EXAMPLES/,/^\.Ed/s/\\e/\\/g; /^\.Sh EXAMPLES/,/^\.Ed/p' \
	"$PSG_TOP/docs/man/pagesift-gpu-jobs.7" | sed '1,/^\.Bd/d; /^\.Ed/d' >"$stage/manual.c"
# shellcheck disable=SC2046 # flags are words
$CC -std=c11 -Wall -Wextra -Werror -o "$stage/manual" "$stage/manual.c" $(flags --cflags --libs)
"$stage/manual" | grep '^42 on '

if [ -x "$bindir/pagesift-gpu" ]; then
	"$bindir/pagesift-gpu" --version
fi
[ -n "$page" ] || echo "no page was rendered (no Pango): the examples were compiled, not run"
[ -n "$models" ] || echo "no models: the examples were compiled, not run"
echo "installcheck: $compiled examples compiled against the moved tree, $ran run"
