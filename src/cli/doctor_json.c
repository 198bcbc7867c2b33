/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `doctor` for programs. */
#include "config.h"

#include "cli/doctor.h"
#include "cli/json.h"

#if HAVE_JANSSON

/* An empty text is null. */
static json_t *text_or_null(const char *text)
{
	return text[0] != '\0' ? cli_json_text(text) : json_null();
}

static json_t *error_or_null(const psg_error *error)
{
	if (error->code == PSG_OK)
		return json_null();
	return json_pack("{s:s,s:o}", "code", psg_status_name(error->code), "message",
			 cli_json_text(error->message));
}

/* Versions as people write them: 12040 is 12.4, capability 75 is 7.5. */
static json_t *version(int32_t major, int32_t minor)
{
	return major > 0 ? json_sprintf("%d.%d", major, minor) : json_null();
}

static json_t *driver_object(const cli_report *report)
{
	const psg_gpu_driver *driver = &report->driver;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "library", text_or_null(driver->library),
			 "version", text_or_null(driver->version), "cuda",
			 version(driver->cuda / 1000, driver->cuda % 1000 / 10), "nvml",
			 text_or_null(driver->nvml_library), "kernel_version",
			 text_or_null(report->machine.module_version), "error",
			 error_or_null(&report->driver_error));
}

static json_t *module_array(const cli_doctor_gpu *gpu)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < gpu->n_modules; i++) {
		const psg_gpu_module *module = &gpu->modules[i];

		failed |= json_array_append_new(
			array, json_pack("{s:s,s:o,s:o}", "name", module->name, "ptx",
					 json_sprintf("sm_%d", module->ptx), "load_ms",
					 cli_json_number((double)module->load_ns / 1e6, 1000)));
	}
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *code_object(const cli_doctor_gpu *gpu)
{
	static const char *const origins[] = {
		[CLI_CODE_CACHED] = "cached",
		[CLI_CODE_KEPT] = "compiled and kept",
		[CLI_CODE_COMPILED] = "compiled",
	};
	const psg_gpu_module *slowest;

	if (gpu->origin == CLI_CODE_UNKNOWN)
		return json_null();
	return json_pack("{s:s,s:o,s:o}", "origin", origins[gpu->origin], "load_ms",
			 cli_json_number((double)cli_doctor_load_ns(gpu, &slowest) / 1e6, 1000),
			 "modules", module_array(gpu));
}

static json_t *check_object(const cli_doctor_gpu *gpu)
{
	const psg_gpu_check *check = &gpu->check;

	if (!gpu->tested)
		return json_null();
	return json_pack("{s:i,s:i,s:i,s:i,s:o,s:o,s:o,s:o}", "cases", (int)check->cases, "wrong",
			 (int)check->wrong, "kernels", (int)check->kernels, "launched",
			 (int)check->launched, "ms", cli_json_number((double)check->ns / 1e6, 1000),
			 "wrong_kernels", text_or_null(check->wrong_kernels), "message",
			 text_or_null(check->message), "error", error_or_null(&gpu->check_error));
}

static json_t *speed_object(const cli_doctor_gpu *gpu)
{
	const psg_gpu_speed *speed = &gpu->speed;

	if (!gpu->tested || gpu->check_error.code != PSG_OK || gpu->speed_error.code != PSG_OK)
		return json_null();
	return json_pack("{s:I,s:o,s:I,s:o,s:o,s:o}", "product_side",
			 (json_int_t)speed->product_side, "product_gflops",
			 cli_json_number(2 * speed->product_macs / 1e9, 1000), "copy_bytes",
			 (json_int_t)speed->copy_bytes, "copy_in_gbps",
			 cli_json_number(speed->copy_in / 1e9, 1000), "copy_out_gbps",
			 cli_json_number(speed->copy_out / 1e9, 1000), "launch_us",
			 cli_json_number(speed->launch_ns / 1e3, 1000));
}

static json_t *rates_object(const cli_doctor_gpu *gpu)
{
	const psg_op_rates *rates = &gpu->rates;

	if (!gpu->tested || gpu->check_error.code != PSG_OK || gpu->rates_error.code != PSG_OK ||
	    rates->product_side < 0)
		return json_null();
	return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "product_side",
			 (json_int_t)rates->product_side, "gpu_call_us",
			 cli_json_number(rates->gpu_call_ns / 1e3, 1000), "gpu_operand_us",
			 cli_json_number(rates->gpu_operand_ns / 1e3, 1000), "copy_in_gbps",
			 cli_json_number(rates->copy_in / 1e9, 1000), "copy_out_gbps",
			 cli_json_number(rates->copy_out / 1e9, 1000), "gpu_gflops",
			 cli_json_number(2 * rates->gpu_macs / 1e9, 1000), "cpu_call_us",
			 cli_json_number(rates->cpu_call_ns / 1e3, 1000), "cpu_gflops",
			 cli_json_number(2 * rates->cpu_macs / 1e9, 1000), "file",
			 text_or_null(rates->file));
}

static json_t *gpu_object(const cli_doctor_gpu *gpu)
{
	const psg_gpu_info *info = &gpu->info;
	bool starts = gpu->error.code == PSG_OK;

	return json_pack("{s:i,s:o,s:o,s:o,s:o,s:i,s:I,s:I,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o}",
			 "index", (int)info->index, "name", text_or_null(info->name), "uuid",
			 text_or_null(info->uuid), "pci", text_or_null(info->pci), "capability",
			 version(info->capability / 10, info->capability % 10), "multiprocessors",
			 (int)info->multiprocessors, "total_bytes", (json_int_t)info->total_bytes,
			 "free_bytes", (json_int_t)info->free_bytes, "ptx",
			 info->ptx > 0 ? json_sprintf("sm_%d", info->ptx) : json_null(), "usable",
			 (int)cli_doctor_usable(gpu), "start_ms",
			 starts ? cli_json_number(gpu->open_ms, 1000) : json_null(), "error",
			 error_or_null(&gpu->error), "code", code_object(gpu), "check",
			 check_object(gpu), "speed", speed_object(gpu), "operators",
			 rates_object(gpu));
}

static json_t *gpus(const cli_report *report)
{
	json_t *array = json_array();
	int failed = 0;

	for (int i = 0; i < report->n_gpus; i++)
		failed |= json_array_append_new(array, gpu_object(&report->gpus[i]));
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *findings(const cli_report *report)
{
	static const char *const weights[] = { "note", "warning", "problem" };
	json_t *array = json_array();
	int failed = 0;

	for (int i = 0; i < report->n_findings; i++) {
		const cli_finding *finding = &report->findings[i];

		failed |= json_array_append_new(
			array, json_pack("{s:s,s:o,s:o}", "weight", weights[finding->weight],
					 "what", cli_json_text(finding->what), "todo",
					 text_or_null(finding->todo)));
	}
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

cli_exit cli_report_print_json(const cli_report *report)
{
	static const char *const verdicts[] = { "gpu", "cpu", "broken" };

	return cli_json_print(json_pack("{s:s,s:o,s:i,s:o,s:o,s:b,s:o,s:o}", "result",
					verdicts[report->verdict], "driver", driver_object(report),
					"pci_cards", report->machine.cards, "gpus", gpus(report),
					"cache", text_or_null(report->machine.cache), "cache_works",
					(int)report->machine.cache_works, "cpu",
					text_or_null(report->cpu), "findings", findings(report)));
}

#else

/* Not reached: the command asks cli_json_available first. */
cli_exit cli_report_print_json(const cli_report *report)
{
	(void)report;
	return CLI_USAGE;
}

#endif
