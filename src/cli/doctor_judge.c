/* SPDX-License-Identifier: Apache-2.0 */
/* From what was found to what is wrong and what to do about it. */
#include "config.h"

#include "cli/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* Chosen: below this a page's detection does not fit beside the context. */
#define LITTLE_MEMORY (512 * MIB)

static const char container_todo[] =
	"start the container with the NVIDIA runtime: docker run --gpus all, with "
	"NVIDIA_DRIVER_CAPABILITIES=compute,utility; after a reload of systemd start it anew";

/* Values of the environment end up here: their control characters would speak to the terminal. */
static void make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* Adds a finding; gives it back for its advice. */
static cli_finding *find(cli_report *report, cli_weight weight, const char *format, ...)
	PSG_PRINTF(3, 4);
static cli_finding *find(cli_report *report, cli_weight weight, const char *format, ...)
{
	int last = report->n_findings < CLI_DOCTOR_FINDINGS - 1 ? report->n_findings++
								: report->n_findings;
	cli_finding *finding = &report->findings[last];
	va_list args;

	finding->weight = weight;
	finding->todo[0] = '\0';
	va_start(args, format);
	(void)vsnprintf(finding->what, sizeof(finding->what), format, args);
	va_end(args);
	make_printable(finding->what);
	return finding;
}

static void advise(cli_finding *finding, const char *format, ...) PSG_PRINTF(2, 3);
static void advise(cli_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(finding->todo, sizeof(finding->todo), format, args);
	va_end(args);
}

/* --- the driver --- */

static void judge_missing_library(cli_report *report)
{
	const cli_machine *machine = &report->machine;
	cli_finding *finding;

	if (machine->cards == 0 && !machine->wsl) {
		(void)find(report, CLI_NOTE,
			   "no NVIDIA card on the PCI bus, and no driver for one");
		return;
	}
	if (machine->wsl) {
		finding = find(report, CLI_PROBLEM,
			       "this is WSL with a GPU, but there is no libcuda.so.1");
		advise(finding, "install NVIDIA's driver in Windows, not here; it puts the library "
				"in /usr/lib/wsl/lib");
		return;
	}
	finding = find(report, CLI_PROBLEM,
		       "an NVIDIA card is at %s, but libcuda.so.1 is not installed",
		       machine->first_card);
	if (machine->container)
		advise(finding, "%s", container_todo);
	else
		advise(finding, "install the NVIDIA driver, 450 or later; the CUDA toolkit is not "
				"needed");
}

/* "libcuda.so.580.65.06"; NULL: the name has no version. */
static const char *library_version(const char *path, char *real)
{
	const char *at;

	if (realpath(path, real) == NULL)
		return NULL;
	at = strstr(real, "libcuda.so.");
	if (at == NULL)
		return NULL;
	at += strlen("libcuda.so.");
	return strchr(at, '.') != NULL ? at : NULL;
}

static bool judge_versions(cli_report *report)
{
	char real[4096]; /* PATH_MAX of Linux */
	const char *version = library_version(report->driver.library, real);
	const char *module = report->machine.module_version;
	cli_finding *finding;

	if (version == NULL || module[0] == '\0' || strcmp(version, module) == 0)
		return false;
	finding =
		find(report, CLI_PROBLEM, "the driver's halves differ: the kernel has %s, %s is %s",
		     module, report->driver.library, version);
	advise(finding, "restart after the driver's update, or reload the nvidia modules; in a "
			"container, start it anew");
	return true;
}

/* Each thing between the library and the card; true: one of them is amiss. */
static bool judge_kernel_side(cli_report *report)
{
	const cli_machine *machine = &report->machine;
	cli_finding *finding = NULL;

	if (machine->wsl)
		return false;
	if (machine->refused[0] != '\0') {
		finding = find(report, CLI_PROBLEM, "%s", machine->refused);
		advise(finding,
		       "let this user open it: join the group that owns it (often video or "
		       "render); in a container, pass the device");
		return true;
	}
	if (!machine->module && !machine->control) {
		finding = find(report, CLI_PROBLEM, "the kernel's nvidia module is not loaded");
		advise(finding, "%s",
		       machine->container ? container_todo
					  : "modprobe nvidia; after an update of the kernel the "
					    "module has to be "
					    "built for it (dkms autoinstall)");
		return true;
	}
	if (machine->control && machine->uvm)
		return false;
	finding = find(report, CLI_PROBLEM, "there is no %s",
		       machine->control ? "/dev/nvidia-uvm" : "/dev/nvidiactl");
	advise(finding, "%s",
	       machine->container ? container_todo : "as root: nvidia-modprobe -u -c=0");
	return true;
}

static void judge_visibility(cli_report *report)
{
	int cards =
		report->driver.nvml_cards >= 0 ? report->driver.nvml_cards : report->machine.cards;
	cli_finding *finding;

	if (report->visible == NULL || (cards == 0 && report->count == 0))
		return;
	finding = find(report, report->count > 0 ? CLI_NOTE : CLI_WARNING,
		       "CUDA_VISIBLE_DEVICES=%.100s shows %d of %d GPU%s to this process%s",
		       report->visible, report->count, cards, cards == 1 ? "" : "s",
		       report->count > 0 ? "; cuda:0 is the first of them" : "");
	if (report->count == 0)
		advise(finding, "unset it, or name indices or the UUIDs of nvidia-smi -L; for a "
				"part of a card (MIG) its MIG-... UUID");
}

static void judge_driver(cli_report *report)
{
	cli_finding *finding;

	if (report->driver_error.code == PSG_OK)
		return;
	if (report->driver.library[0] == '\0' && report->driver_error.code == PSG_NO_DEVICE) {
		judge_missing_library(report);
		return;
	}
	if (report->driver_error.code == PSG_NO_DEVICE && report->visible != NULL)
		return; /* which judge_visibility tells */
	finding = find(report, report->driver_error.code == PSG_NO_DEVICE ? CLI_NOTE : CLI_PROBLEM,
		       "%s", report->driver_error.message);
	if (report->driver_error.code == PSG_TOO_OLD)
		advise(finding, "install the NVIDIA driver, 450 or later");
	else if (report->driver.library[0] == '\0')
		advise(finding, "PAGESIFT_LIBCUDA must name the driver's library, or not be set");
	if (report->driver.library[0] == '\0' ||
	    (report->machine.cards == 0 && report->driver_error.code == PSG_NO_DEVICE))
		return;
	if (!judge_versions(report) && !judge_kernel_side(report) &&
	    report->driver_error.code == PSG_NO_DEVICE) {
		finding->weight = CLI_PROBLEM;
		advise(finding, "look for the card in nvidia-smi and for NVRM in the kernel's log; "
				"where MIG is on, make a part of the card: nvidia-smi mig");
	}
}

static void judge_nvml(cli_report *report)
{
	cli_finding *finding;

	if (report->driver_error.code != PSG_OK || report->driver.nvml_problem[0] == '\0')
		return;
	finding = find(report, CLI_NOTE, "NVML: %s", report->driver.nvml_problem);
	advise(finding, "it is optional: without it free memory is found by starting the card");
}

/* --- cards and their memory --- */

static void judge_gpu(cli_report *report, const cli_doctor_gpu *gpu)
{
	const psg_gpu_info *info = &gpu->info;
	cli_finding *finding;

	if (gpu->error.code == PSG_TOO_OLD) {
		finding = find(report, CLI_WARNING, "cuda:%d: %s", info->index, gpu->error.message);
		advise(finding, "the CPU does the work; a newer card would");
		return;
	}
	if (gpu->error.code != PSG_OK && gpu->error.code != PSG_DISABLED) {
		finding = find(report, CLI_PROBLEM, "cuda:%d cannot be used: %s", info->index,
			       gpu->error.message);
		if (gpu->error.code == PSG_OOM)
			advise(finding, "stop what else uses the card: nvidia-smi lists it");
	}
	if (strncmp(info->uuid, "MIG-", 4) == 0)
		(void)find(report, CLI_NOTE,
			   "cuda:%d is a part of a card (MIG), with memory and processors of its "
			   "own; CUDA shows a process one part at a time",
			   info->index);
	if (info->total_bytes > 0 && info->free_bytes > 0 &&
	    (info->free_bytes < LITTLE_MEMORY || info->free_bytes < info->total_bytes / 10)) {
		finding = find(report, CLI_WARNING, "cuda:%d has only %llu of %llu MiB free",
			       info->index, (unsigned long long)(info->free_bytes / MIB),
			       (unsigned long long)(info->total_bytes / MIB));
		advise(finding, "stop what else uses the card: nvidia-smi lists it");
	}
}

static void judge_test(cli_report *report, const cli_doctor_gpu *gpu)
{
	const psg_gpu_check *check = &gpu->check;
	cli_finding *finding = NULL;

	if (gpu->error.code != PSG_OK || !gpu->tested)
		return;
	if (gpu->check_error.code != PSG_OK)
		finding = find(report, CLI_PROBLEM, "cuda:%d: %s", gpu->info.index,
			       gpu->check_error.message);
	else if (check->wrong > 0)
		finding = find(report, CLI_PROBLEM,
			       "cuda:%d computes wrongly with %s, in %d of %d cases: %s",
			       gpu->info.index, check->wrong_kernels, check->wrong, check->cases,
			       check->message);
	else if (gpu->speed_error.code != PSG_OK || gpu->rates_error.code != PSG_OK)
		finding = find(report, CLI_WARNING, "cuda:%d could not be measured: %s",
			       gpu->info.index,
			       gpu->speed_error.code != PSG_OK ? gpu->speed_error.message
							       : gpu->rates_error.message);
	if (finding == NULL)
		return;
	if (gpu->check_error.code == PSG_OOM || gpu->speed_error.code == PSG_OOM ||
	    gpu->rates_error.code == PSG_OOM)
		advise(finding, "stop what else uses the card: nvidia-smi lists it");
	else
		advise(finding, "use the CPU meanwhile (PAGESIFT_GPU=off), try another driver and "
				"PAGESIFT_PTX=sm_61, and report what doctor --json prints");
}

static void judge_cache(cli_report *report)
{
	const cli_machine *machine = &report->machine;
	cli_finding *finding;

	if (!cli_doctor_any_starts(report) || machine->cache_works)
		return;
	if (machine->cache[0] == '\0')
		finding = find(report, CLI_WARNING,
			       "compiled kernels are not kept (CUDA_CACHE_DISABLE=1, or no HOME): "
			       "each start compiles them anew");
	else
		finding = find(report, CLI_WARNING,
			       "compiled kernels cannot be kept in %s: each start compiles them "
			       "anew",
			       machine->cache);
	advise(finding, "let CUDA_CACHE_PATH name a folder that can be written");
}

/* --- the whole --- */

/* Is there a GPU of which its owner would expect that it works? */
static bool should_work(const cli_report *report)
{
	const cli_machine *machine = &report->machine;

	for (int i = 0; i < report->n_gpus; i++)
		if (report->gpus[i].error.code != PSG_TOO_OLD)
			return true;
	if (report->n_gpus > 0)
		return false;
	if (report->driver_error.code == PSG_NO_DEVICE || report->driver_error.code == PSG_OK)
		return (machine->cards > 0 || machine->wsl) && report->visible == NULL;
	return true;
}

void cli_report_judge(cli_report *report)
{
	if (report->disabled) {
		cli_finding *finding = find(report, CLI_NOTE, "GPU disabled by PAGESIFT_GPU=off");

		advise(finding, "unset PAGESIFT_GPU");
	}
	judge_driver(report);
	judge_visibility(report);
	judge_nvml(report);
	for (int i = 0; i < report->n_gpus; i++)
		judge_gpu(report, &report->gpus[i]);
	for (int i = 0; i < report->n_gpus; i++)
		judge_test(report, &report->gpus[i]);
	judge_cache(report);
	if (report->n_usable > 0)
		report->verdict = CLI_GPU_USABLE;
	else if (report->disabled || !should_work(report))
		report->verdict = CLI_CPU_ONLY;
	else
		report->verdict = CLI_GPU_BROKEN;
}
