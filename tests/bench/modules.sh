#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: modules.sh FOLDER: prints a NODE_PATH with onnxruntime-node, which npm fetches into FOLDER
# if it is not there.  Its install script would fetch CUDA's libraries; the one for the CPU is in
# the package.
set -eu
package=onnxruntime-node@1.30.0
mkdir -p "$1"
if [ ! -f "$1/node_modules/onnxruntime-node/package.json" ]; then
	npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error \
		"$package" >&2
fi
echo "$1/node_modules"
