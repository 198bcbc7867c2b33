#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The committed PTX is what kernels/ compiles to, and assembles.
set -eu

to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)} \
	"$PSG_TOP/kernels/ptx.sh" check "$PSG_TOP" "$to"
