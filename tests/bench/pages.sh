#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whole pages, in seconds a page and character error rate (percent, spaces ignored), on this library
# and on tesseract, and on a reference pipeline over onnxruntime-node where there is one:
# `make bench-pages`, or
#
#     PSG_TOP=SOURCES PSG_BUILD=BUILD sh tests/bench/pages.sh [NAME...]
#
# NAMEs are those of tests/page_cases.txt, without them a few; PSG_REPEAT (3) is how often each page
# is read.  For each page all take their turn, so that what else the machine does falls on all.
#
#   one page    ours: one worker with all cores, one page at a time: how long a page takes
#   core a page ours: one worker a core, two pages a core at a time: time through number of pages
#   command     ours: `pagesift-gpu ocr`, one worker a core, from start to end with its loading of
#               the models and the first plans
#   tess 1, all tesseract's command on one core (OMP_THREAD_LIMIT=1) and on all; it finds a page's
#               direction (--psm 1), and its language is eng or, for Chinese, chi_sim+eng
#   ref         PSG_REFERENCE names a script that takes PAGE... --models DIR --out DIR --node-path
#               DIR --threads N [--cls] and writes OUT/PAGE.ort.json with det_ms, cls_ms,
#               rec_ms_total and lines of text; the time is that of the models alone, of the second
#               of two readings, with the direction classifier (--cls); errors without and with it
#
# Needs the rendered pages (Pango, fonts), tesseract-ocr and its eng, osd and chi_sim; the reference
# needs node, npm and what it is written in.
set -eu
repeat=${PSG_REPEAT:-3}
here=$PSG_TOP/tests/bench work=$PSG_BUILD/bench
models=${PAGESIFT_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/pagesift/models}
cores=$(nproc)
[ $# -gt 0 ] || set -- latin-serif small-print table chinese-sans mixed turned-180 turned-3 noisy
mkdir -p "$work/pages"
command -v tesseract >/dev/null || {
	echo "tesseract is not there: Debian's tesseract-ocr and tesseract-ocr-chi-sim have it" >&2
	exit 1
}
[ -z "${PSG_REFERENCE:-}" ] || NODE_PATH=$(sh "$here/modules.sh" "$work")
"$PSG_TOP/tests/render_pages.sh" "$PSG_BUILD/tests/render_page" "$PSG_TOP/tests" "$work/pages" "$@"

# middle: the median of the numbers on standard input, one a line.
middle() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# timed COMMAND...: its seconds, the middle of `repeat` runs.
timed() {
	turn=0
	while [ "$turn" -lt "$repeat" ]; do
		begin=$(date +%s%N)
		"$@" >/dev/null 2>&1
		end=$(date +%s%N)
		echo "$(((end - begin) / 1000))"
		turn=$((turn + 1))
	done | middle | awk '{ printf "%.2f\n", $1 / 1e6 }'
}

# rate TRUTH TEXT: the character error rate.
rate() { "$PSG_BUILD/tests/cer" "$1" "$2" | cut -d ' ' -f 1; }

# ours PICTURE: seconds of one page alone, and of one among many.
ours() {
	"$PSG_BUILD/pagesift-gpu" bench pages --models "$models" --repeat $((repeat + 1)) "$1" |
		awk 'NR == 2 { alone = $(NF - 1) / 1000 } NR > 1 { many = 1 / $(NF - 2) }
			END { printf "%.2f %.2f\n", alone, many }'
}

# tess CORES PICTURE LANGUAGES: the text of a page.
tess() { OMP_THREAD_LIMIT=$1 tesseract "$2" - --psm 1 -l "$3" 2>/dev/null; }

# reference PICTURE TEXT FLAG...: its text into a file; prints the models' seconds.
reference() {
	picture=$1 text=$2
	shift 2
	"$PSG_REFERENCE" "$picture" "$picture" --models "$models" --out "$work" \
		--node-path "$NODE_PATH" --threads "$cores" "$@" >"$work/reference.log" 2>&1
	node -e 'const fs = require("fs"), r = JSON.parse(fs.readFileSync(process.argv[1], "utf8"));
		fs.writeFileSync(process.argv[2], r.lines.map((l) => l.text + "\n").join(""));
		console.log(((r.det_ms + r.cls_ms + r.rec_ms_total) / 1000).toFixed(2));' \
		"$work/$(basename "$picture" .png).ort.json" "$text"
}

row() { printf '%-14s %9s %11s %8s %6s | %7s %8s %6s' "$@"; }
row page "one page" "core a page" command "CER %" "tess 1" "tess all" "CER %"
[ -z "${PSG_REFERENCE:-}" ] || printf ' | %6s %6s %9s' ref "CER %" "with cls"
echo
for name in "$@"; do
	picture=$work/pages/$name.png
	truth=$(sed -n "s/^$name *| *\\([a-z_]*\\) *|.*/\\1/p" "$PSG_TOP/tests/page_cases.txt")
	truth=$PSG_TOP/tests/pages/$truth.txt
	[ -f "$picture" ] || {
		echo "$name: not drawn (a font is missing, or there is no such case)"
		continue
	}
	languages=eng
	! LC_ALL=C grep -q '[^ -~]' "$truth" || languages=chi_sim+eng
	times=$(ours "$picture")
	"$PSG_BUILD/pagesift-gpu" ocr --models "$models" "$picture" >"$work/ours.txt"
	tess "$cores" "$picture" "$languages" >"$work/tesseract.txt"
	row "$name" "${times% *}" "${times#* }" \
		"$(timed "$PSG_BUILD/pagesift-gpu" ocr --models "$models" "$picture")" \
		"$(rate "$truth" "$work/ours.txt")" "$(timed tess 1 "$picture" "$languages")" \
		"$(timed tess "$cores" "$picture" "$languages")" "$(rate "$truth" "$work/tesseract.txt")"
	if [ -n "${PSG_REFERENCE:-}" ]; then
		reference "$picture" "$work/plain.txt" >/dev/null
		printf ' | %6s %6s %9s' "$(reference "$picture" "$work/turned.txt" --cls)" \
			"$(rate "$truth" "$work/plain.txt")" "$(rate "$truth" "$work/turned.txt")"
	fi
	echo
done
