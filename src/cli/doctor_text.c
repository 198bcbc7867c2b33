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

static void print_code(const cli_doctor_gpu *gpu)
{
	static const char *const origins[] = {
		[CLI_CODE_CACHED] = "all from the cache",
		[CLI_CODE_KEPT] = "compiled now, and kept in the cache",
		[CLI_CODE_COMPILED] = "compiled now, and not kept",
	};
	const psg_gpu_module *slowest;
	double ms = (double)cli_doctor_load_ns(gpu, &slowest) / 1e6;
	char text[200];

	if (gpu->origin == CLI_CODE_UNKNOWN)
		return;
	(void)snprintf(text, sizeof(text),
		       "%zu modules of kernels loaded in %.0f ms, of which %s took %.0f; %s",
		       gpu->n_modules, ms, slowest->name, (double)slowest->load_ns / 1e6,
		       origins[gpu->origin]);
	print_line("code", text);
}

static void print_check(const cli_doctor_gpu *gpu)
{
	const psg_gpu_check *check = &gpu->check;
	char text[200];

	if (gpu->check_error.code != PSG_OK)
		(void)snprintf(text, sizeof(text), "the self-test failed in case %d", check->cases);
	else if (check->wrong > 0)
		(void)snprintf(text, sizeof(text), "%d of %d cases wrong", check->wrong,
			       check->cases);
	else
		(void)snprintf(text, sizeof(text), "%d cases right in %.1f s, %d of %d kernels run",
			       check->cases, (double)check->ns / 1e9, check->launched,
			       check->kernels);
	print_line("kernels", text);
}

/* "40.1 TFLOP/s" */
static const char *rate(double value, const char *unit, char *out, size_t size)
{
	static const char *const prefixes[] = { "k", "M", "G", "T", "P" };
	size_t i = 0;

	for (value /= 1e3; value >= 1e3 && i < 4; i++)
		value /= 1e3;
	(void)snprintf(out, size, "%.*f %s%s",
		       value < 10    ? 2
		       : value < 100 ? 1
				     : 0,
		       value, prefixes[i], unit);
	return out;
}

static void print_speed(const cli_doctor_gpu *gpu)
{
	const psg_gpu_speed *speed = &gpu->speed;
	int side = (int)speed->product_side;
	char text[160], a[40], b[40];

	if (gpu->check_error.code != PSG_OK || gpu->speed_error.code != PSG_OK)
		return;
	(void)snprintf(text, sizeof(text), "%s, %dx%d times %dx%d floats on the card",
		       rate(2 * speed->product_macs, "FLOP/s", a, sizeof(a)), side, side, side,
		       side);
	print_line("product", text);
	(void)snprintf(text, sizeof(text), "%s to the card, %s back, in copies of %d MiB",
		       rate(speed->copy_in, "B/s", a, sizeof(a)),
		       rate(speed->copy_out, "B/s", b, sizeof(b)), (int)(speed->copy_bytes >> 20));
	print_line("copy", text);
	(void)snprintf(text, sizeof(text), "%.1f us until a kernel is known to have run",
		       speed->launch_ns / 1e3);
	print_line("launch", text);
}

static void print_rates(const cli_doctor_gpu *gpu)
{
	const psg_op_rates *rates = &gpu->rates;
	char text[400], products[100], in[40], out[40], card[40], core[40];

	if (gpu->check_error.code != PSG_OK || gpu->rates_error.code != PSG_OK)
		return;
	if (rates->product_side < 0) {
		print_line("operators", "alone: where PAGESIFT_OPERATORS says");
		return;
	}
	(void)snprintf(products, sizeof(products), "products from %dx%d floats on go to the card",
		       (int)rates->product_side, (int)rates->product_side);
	(void)snprintf(text, sizeof(text),
		       "alone: %s; the card takes %.1f us a call, %s in, %s out and %s, a core "
		       "%.1f us and %s",
		       rates->product_side > 0 ? products : "products stay on a core of the CPU",
		       rates->gpu_call_ns / 1e3, rate(rates->copy_in, "B/s", in, sizeof(in)),
		       rate(rates->copy_out, "B/s", out, sizeof(out)),
		       rate(2 * rates->gpu_macs, "FLOP/s", card, sizeof(card)),
		       rates->cpu_call_ns / 1e3,
		       rate(2 * rates->cpu_macs, "FLOP/s", core, sizeof(core)));
	print_line("operators", text);
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
	if (gpu->error.code != PSG_OK)
		return;
	(void)snprintf(text, sizeof(text), "%s, with code for sm_%d; started in %.0f ms",
		       cli_doctor_usable(gpu) ? "usable" : "not usable", info->ptx, gpu->open_ms);
	print_line("", text);
	if (gpu->tested) {
		print_code(gpu);
		print_check(gpu);
		print_speed(gpu);
		print_rates(gpu);
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
	print_line("result", report->verdict == CLI_GPU_BROKEN && cli_doctor_any_starts(report)
				     ? "a GPU starts and does not work as it should"
				     : verdicts[report->verdict]);
	return cli_finish_output(CLI_OK);
}
