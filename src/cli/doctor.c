/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu doctor: is there a GPU, can it be used, and if not, what to do about it. */
#include "config.h"

#include "cli/doctor.h"
#include "cli/json.h"
#include "cli/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct values {
	bool json, quick;
};

static const cli_option options[] = {
	{ .name = "quick",
	  .help = "do not test the kernels nor measure: that takes about a second, and some more "
		  "where the driver has to compile them first",
	  .field = offsetof(struct values, quick) },
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "doctor",
	.operands = "",
	.about = "Tells which GPUs there are, whether they can be used and, if not, what to do;\n"
		 "tests each kernel and measures how fast they are.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes =
		"Exit status: 0 there is a usable GPU, 1 there is none and the CPU does the work,\n"
		"2 there is a GPU that should work and does not, or the usage is wrong.",
};

/* Tells all of a card, whether it starts, and how it does. */
static void examine_gpu(const cli_machine *machine, int32_t index, bool quick, cli_doctor_gpu *gpu)
{
	psg_device *device;
	char name[24];
	int64_t begin;

	if (psg_gpu_probe(index, &gpu->info, &gpu->error) != PSG_OK)
		return;
	(void)snprintf(name, sizeof(name), "cuda:%d", index);
	begin = psg_now_ns();
	if (psg_device_open(name, &device, &gpu->error) != PSG_OK)
		return;
	gpu->open_ms = (double)(psg_now_ns() - begin) / 1e6;
	gpu->info.ptx = psg_device_info_get(device)->gpu.ptx;
	if (!quick)
		cli_doctor_test(machine, device, gpu);
	psg_device_close(device);
}

static void examine_gpus(cli_report *report, bool quick)
{
	if (psg_device_count(&report->count, NULL) != PSG_OK)
		report->count = 0;
	for (int32_t i = 0; i < report->count && i < CLI_DOCTOR_GPUS; i++) {
		cli_doctor_gpu *gpu = &report->gpus[i];

		examine_gpu(&report->machine, i, quick, gpu);
		gpu->info.index = i;
		report->n_gpus++;
		report->n_usable += cli_doctor_usable(gpu);
	}
}

static void examine_cpu(cli_report *report)
{
	psg_device *device;

	if (psg_device_open("cpu", &device, NULL) != PSG_OK)
		return;
	(void)snprintf(report->cpu, sizeof(report->cpu), "%s", psg_device_info_get(device)->detail);
	psg_device_close(device);
}

static void examine(cli_report *report, bool quick)
{
	const char *wish = getenv("PAGESIFT_GPU");

	report->disabled = wish != NULL && strcasecmp(wish, "off") == 0;
	report->visible = getenv("CUDA_VISIBLE_DEVICES");
	cli_machine_look(&report->machine);
	(void)psg_gpu_driver_get(&report->driver, &report->driver_error);
	examine_gpus(report, quick);
	examine_cpu(report);
	cli_report_judge(report);
}

cli_exit cli_doctor(int argc, char **argv)
{
	struct values values = { .json = false, .quick = false };
	cli_exit result;
	cli_report *report;
	int n;

	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n != 0)
		return cli_usage_error(&usage, "'%s': there is nothing to name", argv[1]);
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	report = calloc(1, sizeof(*report));
	if (report == NULL) {
		cli_error("no memory for a report");
		return CLI_FAILED;
	}
	examine(report, values.quick);
	result = values.json ? cli_report_print_json(report) : cli_report_print(report);
	if (result == CLI_OK)
		result = (cli_exit)report->verdict;
	free(report);
	return result;
}
