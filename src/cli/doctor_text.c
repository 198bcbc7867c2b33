/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `doctor` for people. */
#include "config.h"

#include "cli/doctor.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#define COLUMN 10 /* where the texts begin, behind what they are about */

/* "about     text", wrapped. */
static void print_line(const char *about, const char *text)
{
	(void)printf("%-*s", COLUMN, about);
	cli_print_wrapped(text, COLUMN, COLUMN);
}

static void print_driver(const cli_report *report)
{
	const psg_gpu_driver *driver = &report->driver;
	const char *version = driver->version;
	char text[800], cuda[40] = "";

	if (version[0] == '\0')
		version = report->machine.module_version;
	if (driver->library[0] == '\0') {
		print_line("driver", "none");
		return;
	}
	if (driver->cuda > 0)
		(void)snprintf(cuda, sizeof(cuda), ", CUDA %d.%d", driver->cuda / 1000,
			       driver->cuda % 1000 / 10);
	(void)snprintf(text, sizeof(text), "NVIDIA %s%s: %s",
		       version[0] != '\0' ? version : "of unknown version", cuda, driver->library);
	print_line("driver", text);
}

static void print_gpu(const cli_doctor_gpu *gpu)
{
	const psg_gpu_info *info = &gpu->info;
	char about[24], text[400];

	(void)snprintf(about, sizeof(about), "cuda:%d", info->index);
	if (info->name[0] == '\0') {
		print_line(about, gpu->error.code == PSG_DISABLED ? "not looked at" : "unknown");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "%s, compute capability %d.%d, %d multiprocessors, %.1f of %.1f GiB free, "
		       "PCI %s, %s",
		       info->name, info->capability / 10, info->capability % 10,
		       info->multiprocessors, (double)info->free_bytes / (1 << 30),
		       (double)info->total_bytes / (1 << 30), info->pci, info->uuid);
	print_line(about, text);
	if (gpu->error.code == PSG_OK) {
		(void)snprintf(text, sizeof(text),
			       "usable, with code for sm_%d; started in %.0f ms", info->ptx,
			       gpu->open_ms);
		print_line("", text);
	}
}

static void print_finding(const cli_finding *finding)
{
	static const char *const weights[] = { "note", "warning", "problem" };

	print_line(weights[finding->weight], finding->what);
	if (finding->todo[0] != '\0')
		print_line("  to do", finding->todo);
}

cli_exit cli_report_print(const cli_report *report)
{
	static const char *const verdicts[] = {
		[CLI_GPU_USABLE] = "a GPU can be used",
		[CLI_CPU_ONLY] = "the CPU does the work",
		[CLI_GPU_BROKEN] = "a GPU that should work does not; the CPU does the work",
	};

	print_driver(report);
	for (int i = 0; i < report->n_gpus; i++)
		print_gpu(&report->gpus[i]);
	if (report->n_usable > 0 && report->machine.cache[0] != '\0')
		print_line("cache", report->machine.cache);
	print_line("cpu", report->cpu);
	for (int i = 0; i < report->n_findings; i++)
		print_finding(&report->findings[i]);
	print_line("result", verdicts[report->verdict]);
	return cli_finish_output(CLI_OK);
}
