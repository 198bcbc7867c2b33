#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pagesift-gpu doctor: each thing that can be amiss between a card and the program is found, with
# what to do about it and the right exit status.  Cards, nodes and the kernel's module are files of a
# folder, the driver is the tests' own.
# shellcheck disable=SC1091,SC2154,SC2317 # it reads cli_expect.sh, which sets $got, $work and
# $program and calls the functions that "right" is given
set -eu
. "$PSG_TOP/tests/cli_expect.sh"

fake=$PSG_BUILD/tests/fakecuda/.libs
PAGESIFT_DOCTOR_ROOT=$work/root
export PAGESIFT_DOCTOR_ROOT
unset CUDA_VISIBLE_DEVICES PAGESIFT_GPU PAGESIFT_GPU_MEMORY PAGESIFT_PTX CUDA_CACHE_DISABLE
unset CUDA_CACHE_PATH PAGESIFT_LIBCUDA PAGESIFT_LIBNVML PAGESIFT_OPERATORS XDG_CACHE_HOME
HOME=$work
export HOME

# ---- machines

machine() {
	rm -rf "$work/root"
	mkdir -p "$work/root/sys/bus/pci/devices" "$work/root/dev" "$work/root/proc/driver/nvidia"
}
# device ADDRESS VENDOR CLASS: something on the PCI bus.
device() {
	mkdir -p "$work/root/sys/bus/pci/devices/$1"
	echo "$2" >"$work/root/sys/bus/pci/devices/$1/vendor"
	echo "$3" >"$work/root/sys/bus/pci/devices/$1/class"
}
card() { device "$1" 0x10de 0x030200; }
module() {
	echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  $1  Sun Jan 1 00:00:00 UTC 2023" \
		>"$work/root/proc/driver/nvidia/version"
}
nodes() {
	for node; do
		: >"$work/root/dev/$node"
	done
}
container() { : >"$work/root/.dockerenv"; }
whole_machine() {
	machine
	card 0000:3b:00.0
	module 550.54.14
	nodes nvidiactl nvidia-uvm nvidia0
}

# flat: the last output's words without its line breaks.
flat() { tr -s ' \n' ' ' <"$work/out"; }
tells() { flat | grep -qF -- "$1"; }

# doctor STATUS WORDS ASSIGNMENT...: with these variables it ends with STATUS and WORDS are told.
# The kernels are tested where $quick is empty.
quick=--quick
doctor() {
	status=$1 words=$2
	shift 2
	got=0
	# shellcheck disable=SC2086 # empty: no argument
	env "$@" "$program" doctor $quick >"$work/out" 2>"$work/err" </dev/null || got=$?
	right "'$*' ends with $status: it was $got" [ "$got" -eq "$status" ]
	right "'$*' tells '$words'" tells "$words"
	right "'$*' says nothing else" silent
}
# also WORDS: the last output tells these too.
also() { right "it tells '$1' too" tells "$1"; }
never() { right "it does not tell '$1'" not tells "$1"; }

# with STATUS WORDS ASSIGNMENT...: as doctor, with the tests' own driver.
with() {
	status=$1 words=$2
	shift 2
	doctor "$status" "$words" "PAGESIFT_LIBCUDA=$fake/libfakecuda.so" \
		"PAGESIFT_LIBNVML=$fake/libfakenvml.so" "$@"
}

# ---- the command line

expect 2 "'cuda': there is nothing to name" doctor cuda
run doctor --help
right "--help ends well" [ "$got" -eq 0 ]
right "--help fits 80 columns" not has '^.{81}'

# ---- a GPU that works

whole_machine
with 0 "result a GPU can be used"
also "driver NVIDIA 550.54.14, CUDA 12.4: $fake/libfakecuda.so"
also "cuda:0 Fake GPU 0, compute capability 7.5, 4 multiprocessors, 1.0 of 1.0 GiB free"
also "usable, with code for sm_70; started in"
also "cache $work/.nv/ComputeCache"
never problem
never warning
never note
with 0 "cuda:1 Fake GPU 1" FAKECUDA_DEVICES=2
with 0 "usable, with code for sm_61" FAKECUDA_CAPABILITY=6.1
with 0 "cuda:0 has only 100 of 1024 MiB free to do stop what else uses the card" FAKECUDA_FREE=100
with 0 "result a GPU can be used" FAKECUDA_REPORT="$work/counts"
right "nothing is left open" sh -c "! grep -vE '^(calls|allocs|launches|compiled) | 0\$' '$work/counts'"
right "nothing is compiled" grep -qx 'compiled 0' "$work/counts"

# One card that fails beside one that works.
with 0 "problem cuda:0 cannot be used: cuda:0: cuDevicePrimaryCtxRetain: an unknown code (46:" \
	FAKECUDA_DEVICES=2 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:46
also "another process has the card for itself"

# ---- hidden, disabled, old

with 1 "note GPU disabled by PAGESIFT_GPU=off to do unset PAGESIFT_GPU" PAGESIFT_GPU=Off
also "result the CPU does the work"
with 1 "CUDA_VISIBLE_DEVICES= shows 0 of 2 GPUs to this process to do unset it" \
	CUDA_VISIBLE_DEVICES= FAKECUDA_DEVICES=2
with 0 "CUDA_VISIBLE_DEVICES=1 shows 1 of 2 GPUs to this process; cuda:0 is the first of them" \
	CUDA_VISIBLE_DEVICES=1 FAKECUDA_DEVICES=2
also "cuda:0 Fake GPU 1"
with 1 "cuda:0: GPU compute capability 5.2 is too old, need at least 6.1 (Pascal)" \
	FAKECUDA_CAPABILITY=5.2

# ---- what is wrong with the driver

doctor 2 "PAGESIFT_LIBCUDA=/nowhere/x: /nowhere/x: cannot open shared object file" \
	PAGESIFT_LIBCUDA=/nowhere/x
also "PAGESIFT_LIBCUDA must name the driver's library, or not be set"
doctor 2 "the NVIDIA driver is too old, need one of CUDA 11.0 or later" PAGESIFT_LIBCUDA=libc.so.6
also "install the NVIDIA driver, 450 or later"
with 2 "cuInit: CUDA_ERROR_UNKNOWN (999: unknown error)" FAKECUDA_FAIL=cuInit:1:999
also "result a GPU that should work does not; the CPU does the work"
with 2 "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" FAKECUDA_FAIL=cuInit:1:803
with 2 "look for the card in nvidia-smi" FAKECUDA_FAIL=cuInit:1:100
with 2 "cuda:0 cannot be used: out of GPU memory" FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:2
with 0 "note NVML: PAGESIFT_LIBNVML=/nowhere/y" PAGESIFT_LIBNVML=/nowhere/y
# The kernel's half tells its version where NVML cannot.
also "driver NVIDIA 550.54.14, CUDA 12.4"
with 0 "note NVML: nvmlInit_v2: code 18 (Driver/library version mismatch)" FAKECUDA_NVML=18

# A library that says in its name that it is of another version than the kernel's module.
mkdir "$work/lib"
cp "$fake/libfakecuda.so" "$work/lib/libcuda.so.535.1.2"
ln -s libcuda.so.535.1.2 "$work/lib/libcuda.so.1"
with 2 "the kernel has 550.54.14, $work/lib/libcuda.so.1 is 535.1.2" \
	"PAGESIFT_LIBCUDA=$work/lib/libcuda.so.1" FAKECUDA_FAIL=cuInit:1:803
also "restart after the driver's update"

# ---- what is wrong with the kernel's side

rm "$work/root/dev/nvidia-uvm"
with 2 "there is no /dev/nvidia-uvm to do as root: nvidia-modprobe" FAKECUDA_FAIL=cuInit:1:999
rm "$work/root/dev/nvidiactl"
with 2 "there is no /dev/nvidiactl" FAKECUDA_FAIL=cuInit:1:100
mkdir "$work/root/dev/nvidiactl" # which nobody can open for writing
with 2 "/dev/nvidiactl: Is a directory to do let this user open it" FAKECUDA_FAIL=cuInit:1:100
machine
card 0000:3b:00.0
with 2 "the kernel's nvidia module is not loaded to do modprobe nvidia" FAKECUDA_FAIL=cuInit:1:100
container
with 2 "start the container with the NVIDIA runtime" FAKECUDA_FAIL=cuInit:1:100
also "after a reload of systemd start it anew"

# ---- compiled kernels

whole_machine
with 0 "compiled kernels are not kept" CUDA_CACHE_DISABLE=1
also "let CUDA_CACHE_PATH name a folder that can be written"
: >"$work/file"
with 0 "compiled kernels cannot be kept in $work/file/cache" "CUDA_CACHE_PATH=$work/file/cache"
with 0 "compiled kernels are not kept" HOME=

# ---- kernels and speeds

# As many as there are, without a need to change this.
kernels=$(grep -cE '^	X\(' "$PSG_TOP/kernels/list.h")
families=$(sed -n '/PSGI_KERNEL_FAMILIES/,/PSGI_KERNELS/p' "$PSG_TOP/kernels/list.h" | grep -cE '^	X\(')
kernels=$((kernels - families))
quick=
with 0 "cases right in"
also "code $families modules of kernels loaded in"
also "$kernels of $kernels kernels run"
also "product "
also "floats on the card copy "
also "/s to the card, "
also "in copies of 64 MiB launch "
also "us until a kernel is known to have run operators alone: products "
right "the rates are kept" [ -f "$work"/.cache/pagesift/rates-GPU-fafafafa-* ]
with 0 "operators alone: where PAGESIFT_OPERATORS says" PAGESIFT_OPERATORS=gpu
with 2 "problem cuda:0 computes wrongly with softmax, in 2 of" FAKECUDA_SKIP=softmax
also "cases: softmax of [2,5,131]: element 0 of 1310 is"
also "kernels 2 of"
also "not usable, with code for sm_70"
also "result a GPU starts and does not work as it should"
with 2 "problem cuda:0: self-test of 'matmul': cuda:0: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX" \
	FAKECUDA_JIT=broken
also "kernels the self-test failed in case 1"
with 2 "problem cuda:0: out of GPU memory: " FAKECUDA_FAIL=cuMemAlloc_v2:1+:2
also "stop what else uses the card"
with 2 "cuda:0 cannot be used: PAGESIFT_OPERATORS=dsp: want auto, gpu or cpu" PAGESIFT_OPERATORS=dsp
# One card that computes wrongly, and the whole machine has another.
with 0 "cuda:1: self-test of 'matmul': cuda:1: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX" \
	FAKECUDA_DEVICES=2 "FAKECUDA_FAIL=cuModuleLoadDataEx:$((families + 1))+:218"

# Code from the cache or not: what the folder tells, and the time where it cannot tell.
with 0 "compiled now, and kept in the cache" "CUDA_CACHE_PATH=$work/jit" FAKECUDA_COMPILE_MS=60
with 0 "all from the cache" "CUDA_CACHE_PATH=$work/jit" FAKECUDA_COMPILE_MS=60
with 0 "compiled now, and not kept" "CUDA_CACHE_PATH=$work/file/jit" FAKECUDA_COMPILE_MS=60
also "compiled kernels cannot be kept in $work/file/jit"
quick=--quick
with 0 "result a GPU can be used"
never "modules of kernels"
never "cases right"
never launch

# ---- no driver: what there is to say depends on the machine

machine
run doctor --quick
if not has '^driver  *none$'; then
	echo "this machine has a driver: its absence is not tested"
else
	doctor 1 "note no NVIDIA card on the PCI bus, and no driver for one"
	also "driver none"
	device 0000:00:1f.0 0x8086 0x030000 # another maker's card
	device 0000:3b:00.1 0x10de 0x040300 # and a card's sound
	doctor 1 "no NVIDIA card on the PCI bus"
	card 0000:3b:00.0
	card 0000:af:00.0
	doctor 2 "an NVIDIA card is at 0000:3b:00.0, but libcuda.so.1 is not installed to do install"
	container
	doctor 2 "start the container with the NVIDIA runtime"
	machine
	nodes dxg
	doctor 2 "install NVIDIA's driver in Windows, not here"
fi

# ---- JSON

whole_machine
PAGESIFT_LIBCUDA=$fake/libfakecuda.so PAGESIFT_LIBNVML=$fake/libfakenvml.so
export PAGESIFT_LIBCUDA PAGESIFT_LIBNVML
run doctor --json --quick
if [ "$got" -eq 2 ] && said "cannot write JSON"; then
	finish 0
fi
right "--json ends with 0" ended 0
right "--json is one object" has '^\{"result": "gpu", "driver": \{.*\}$'
right "--json tells of the driver" has '"version": "550.54.14", "cuda": "12.4"'
right "--json tells of the card" has '"index": 0, "name": "Fake GPU 0", "uuid": "GPU-fafafafa-'
right "--json tells of its code" has '"ptx": "sm_70", "usable": true'
right "--json --quick has no tests" has '"code": null, "check": null, "speed": null, "operators": null'
run doctor --json
right "--json with tests ends with 0" ended 0
right "--json tells of modules" has '"modules": \[\{"name": "[a-z0-9_]+", "ptx": "sm_70", "load_ms": [0-9.]+\}, '
right "--json tells of the kernels" has "\"wrong\": 0, \"kernels\": $kernels, \"launched\": $kernels, \"ms\": [0-9.]+, "
right "--json tells of speeds" has '"product_gflops": [0-9.]+, "copy_bytes": 67108864, "copy_in_gbps": '
right "--json tells of the rates" has '"operators": \{"product_side": [0-9]+, "gpu_call_us": [0-9.]+, '
right "--json tells where they are kept" has '"file": "[^"]*/pagesift/rates-GPU-fafafafa-'
FAKECUDA_SKIP=reduce
export FAKECUDA_SKIP
run doctor --json
right "--json ends with 2" ended 2
right "--json names the kernel" has '"wrong_kernels": "reduce", "message": "reduce_sum of \[3,41,7\]: '
unset FAKECUDA_SKIP
FAKECUDA_CAPABILITY=5.2
export FAKECUDA_CAPABILITY
run doctor --json
right "--json ends with 1" ended 1
right "--json tells why not" has '"usable": false, .*"error": \{"code": "TOO_OLD", "message": "GPU'
right "--json tells what to do" has '"weight": "warning", .*"todo": "the CPU'
finish 0
