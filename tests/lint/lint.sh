#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All static checks, each told by name; a missing tool is a failure, not a pass.
# usage: lint.sh TOP BUILD C-FLAGS...: the sources, the folder with config.h and generated headers,
# and the flags that the compiler gets.
set -eu
top=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
shift 2
cd "$top"
failed=

folders=
for folder in src include tests examples kernels; do
	[ ! -d "$folder" ] || folders="$folders $folder"
done
# shellcheck disable=SC2086 # a list of words; no name in this tree has blanks
all=$(find $folders -name '*.[ch]' ! -name '*.pb-c.*' | LC_ALL=C sort)
sources=$(printf '%s\n' "$all" | grep -E '^(src|tests|examples)/.*\.c$')
scripts=$(find bootstrap .ci tests examples -type f 2>/dev/null | while read -r file; do
	case $(head -c 64 "$file" | head -n 1 | tr -d '\000') in
	'#!'*sh) printf '%s\n' "$file" ;;
	esac
done)
jobs=$(nproc 2>/dev/null || echo 1)

# check NAME TOOL COMMAND...
check() {
	name=$1 tool=$2
	shift 2
	if ! command -v "$tool" >/dev/null 2>&1; then
		echo "lint: $name: $tool is not installed"
		failed="$failed $name"
	elif "$@"; then
		echo "lint: $name: clean"
	else
		echo "lint: $name: FAILED"
		failed="$failed $name"
	fi
}

format() { printf '%s\n' "$all" | xargs clang-format --dry-run -Werror; }

# tidy_files FLAG...: of the files named on standard input.
tidy_files() {
	# shellcheck disable=SC2086 # flags are words
	xargs -P "$jobs" -I '{}' clang-tidy --quiet '{}' -- $flags "$@" >>"$build/lint-tidy.log" 2>&1
}

tidy() {
	status=0
	: >"$build/lint-tidy.log"
	printf '%s\n' "$sources" | grep '^src/base/' | tidy_files || status=1
	printf '%s\n' "$sources" | grep -v '^src/base/' | tidy_files -include tests/lint/analyser.h || status=1
	# The way to each finding stays in the file.
	grep -E ': (error|warning): ' "$build/lint-tidy.log" | LC_ALL=C sort -u || :
	return "$status"
}

cpp_check() {
	# Bounds of its own analysis are not findings; the compiler already reports unknown headers.
	# uninitvar: see .clang-tidy on arrays filled up to a rank.  incorrectLogicOperator: it reads
	# hexadecimal floating constants as 0.  memleak: it does not follow ownership into a structure;
	# LeakSanitizer does.  internalAstError: its parser gives up on compound literals in ?:.
	printf '%s\n' "$sources" | grep -v '^tests/' | xargs cppcheck --quiet --std=c11 --language=c -j "$jobs" \
		--enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--suppress=missingInclude --suppress=normalCheckLevelMaxBranches \
		--suppress=uninitvar --suppress=memleak --suppress=internalAstError --suppress=incorrectLogicOperator --suppress=toomanyconfigs --suppress=unknownMacro \
		-DHAVE_CONFIG_H=1 -I "$build" -I src -I include -I .
}

shell() { printf '%s\n' "$scripts" | xargs shellcheck; }

# In their folder, where mandoc finds the pages that name each other.
manual() (cd docs/man && mandoc -Tlint -W style ./*.[1-8])

# Files that say what they are allowed to be used for, and no leftovers.
spdx() {
	missing=$(printf '%s\n%s\n' "$all" "$scripts" | while read -r file; do
		head -n 4 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || printf '%s\n' "$file"
	done)
	[ -z "$missing" ] || {
		printf 'no SPDX line: %s\n' "$missing"
		return 1
	}
}

flags="$* -Wno-unknown-warning-option"
check rooms awk sh tests/lint/rooms.sh .
check licence grep spdx
check format clang-format format
check shell shellcheck shell
check manual mandoc manual
check cppcheck cppcheck cpp_check
check tidy clang-tidy tidy

if [ -n "$failed" ]; then
	echo "lint: FAILED:$failed"
	exit 1
fi
echo "lint: all clean"
