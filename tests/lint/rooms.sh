#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A room may include its own headers and those of rooms below it, never of one above.
# usage: rooms.sh TOP: checks TOP/src and TOP/include/pagesift, prints each arrow that points upwards.
set -eu
rules=$(cd "$(dirname "$0")" && pwd)/rooms.awk
cd "${1:-.}"
# shellcheck disable=SC2046 # no name in this tree has blanks
awk -f "$rules" $(find src include/pagesift -name '*.[ch]' | LC_ALL=C sort)
