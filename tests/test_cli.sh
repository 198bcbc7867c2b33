#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command without models: its command line, its help, and files that are no pages.
# shellcheck disable=SC1091,SC2154 # it reads cli_expect.sh, which sets $got, $work and $program
set -eu
. "$PSG_TOP/tests/cli_expect.sh"

# ---- which command

expect 2 "which command?"
expect 2 "there is no command 'orc'; did you mean 'ocr'?" orc
expect 2 "there is no command 'frobnicate'" frobnicate
expect 2 "there is no option '--frobnicate'" --frobnicate
: >"$work/page.png"
expect 2 "is a file, not a command; 'pagesift-gpu ocr $work/page.png' reads it" "$work/page.png"
for words in --help -h help; do
	run "$words"
	right "$words ends well" [ "$got" -eq 0 ]
	right "$words lists the commands" has '^  ocr  '
	right "$words says nothing else" silent
done
run --version
right "--version tells the program" has '^pagesift-gpu [0-9]'
right "--version tells the library" has '^library pagesift-gpu [0-9]'
run ocr --help
right "ocr --help fits 80 columns" not has '^.{81}'
for words in format output draw pages jobs timeout device models no-direction verbose help; do
	right "ocr --help tells of --$words" has " --$words"
done
cp "$work/out" "$work/help"
run help ocr
right "help ocr is ocr --help" cmp -s "$work/out" "$work/help"

# ---- options

expect 2 "which FILE?" ocr
expect 2 "which FILE?" ocr --
expect 2 "there is no option --fromat; did you mean --format?" ocr --fromat text a
expect 2 "there is no option --zzzzzzzz" ocr --zzzzzzzz a
expect 2 "there is no option -Z" ocr -vZ a
expect 2 "--format needs a value" ocr a --format
expect 2 "--format needs a value" ocr a -f
expect 2 "'xml' is not one of text, json, tsv and hocr" ocr --format xml a
expect 2 "'xml' is not one of text, json, tsv and hocr" ocr -fxml a
expect 2 "'xml' is not one of text, json, tsv and hocr" ocr a --for=xml
expect 2 "--verbose takes no value" ocr --verbose=yes a
expect 2 "--m could be several options" ocr --m a
for words in 0 -1 257 two 1.5 99999999999999999999 ''; do
	expect 2 "--jobs: '$words' is not a whole number from 1 to 256" ocr -j "$words" a
done
for words in 0 -1 nan inf 1e99 soon; do
	expect 2 "--timeout: '$words' is not a number from 0.001" ocr --timeout "$words" a
done
for words in '' x -1 3-1 '0,,' ,0 0,x 99999999999; do
	expect 2 "--pages: '$words' is not a list of pages" ocr "--pages=$words" a
done
expect 2 "--limit-side: '31' is not a whole number from 32 to 8192" ocr --limit-side 31 a
expect 2 "--box-score: '1.01' is not a number" ocr --box-score 1.01 a
expect 2 "--models: '' is not" ocr --models= a

# ---- files that are none

cd "$work" || exit 1
mkdir folder
: >empty.png
echo "This is a text, whatever its name says." >text.png
head -c 64 /dev/zero >zeros.png
expect 1 "none.png: No such file or directory" ocr none.png
expect 1 "folder: is a folder, not a file" ocr folder
expect 1 "empty.png: the image is empty (0 bytes)" ocr empty.png
expect 1 "text.png: not an image: this is text" ocr text.png
expect 1 "zeros.png: not an image: it starts with 00 00 00" ocr zeros.png
expect 1 "standard input: the image is empty (0 bytes)" ocr -
expect 1 "a name with  blanks: No such file" ocr "a name with  blanks"
expect 1 "-x.png: No such file" ocr -- -x.png
expect 1 "-x.png: No such file" ocr ./-x.png
expect 1 "$(printf 'a\377\\x1b[1mb: No such file')" ocr "$(printf 'a\377\033[1mb')"
expect 1 "zeros.png: not an image" ocr none.png folder text.png zeros.png
right "every file is told" [ "$(wc -l <err)" -eq 4 ]
right "no colour but on a terminal" not grep -q "$(printf '\033')" err
expect 1 "missing/out: No such file or directory" ocr -o missing/out text.png
expect 1 "text.png: is a file to be read" ocr -o text.png text.png
right "an input is not written over" grep -q "This is a text" text.png

# ---- what failed, in every format

run ocr none.png text.png
right "text keeps the place of pages that failed" [ "$(wc -lc <out | tr -d ' ')" = 11 ]
run ocr -f tsv none.png text.png
right "tsv has no line for them" [ ! -s out ]
run ocr -f hocr none.png text.png
right "hocr has an empty page for each" [ "$(grep -c 'class="ocr_page"' out)" -eq 2 ]
right "hocr is one document" [ "$(grep -c '</html>' out)" -eq 1 ]
right "hocr says why" has '<!-- INVALID: No such file or directory -->'
if [ -x "$PSG_BUILD/tests/json_pages" ]; then
	run ocr -f json none.png text.png
	right "JSON has all keys" judged
	printf '%s\n' 'none.png|-|-x-|0|INVALID|' 'text.png|-|-x-|0|FORMAT|' >expected
	right "JSON has an object for each" cmp pages expected
	expect 1 "/dev/full: No space left on device" ocr -f json -o /dev/full none.png
else
	expect 1 "no jansson" ocr -f json none.png
fi
finish 0
