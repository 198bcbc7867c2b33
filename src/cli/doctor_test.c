/* SPDX-License-Identifier: Apache-2.0 */
/* What a card that starts is put to: each kernel's results, and how fast it is. */
#include "config.h"

#include "cli/doctor.h"

#include <stdlib.h>
#include <string.h>

/* Where operators that come alone run is only predicted unless somebody decided. */
static void ask_rates(psg_device *device, cli_doctor_gpu *gpu)
{
	const char *wish = getenv("PAGESIFT_OPERATORS");

	if (wish == NULL || wish[0] == '\0' || strcmp(wish, "auto") == 0)
		(void)psg_op_rates_get(device, &gpu->rates, &gpu->rates_error);
	else
		gpu->rates.product_side = -1;
}

void cli_doctor_test(const cli_machine *machine, psg_device *device, cli_doctor_gpu *gpu)
{
	cli_cache_size before = cli_cache_look(machine->cache), after;

	cli_progress("%s: testing", psg_device_info_get(device)->name);
	gpu->tested = true;
	(void)psg_gpu_check_run(device, &gpu->check, &gpu->check_error);
	gpu->n_modules = psg_gpu_modules(device, gpu->modules, CLI_DOCTOR_MODULES);
	if (gpu->n_modules > CLI_DOCTOR_MODULES)
		gpu->n_modules = CLI_DOCTOR_MODULES;
	after = cli_cache_look(machine->cache);
	gpu->origin = cli_cache_judge(&before, &after, gpu->modules, gpu->n_modules);
	if (gpu->check_error.code == PSG_OK) {
		cli_progress("%s: measuring", psg_device_info_get(device)->name);
		(void)psg_gpu_speed_measure(device, &gpu->speed, &gpu->speed_error);
		ask_rates(device, gpu);
	}
	cli_progress_clear();
}

bool cli_doctor_usable(const cli_doctor_gpu *gpu)
{
	return gpu->error.code == PSG_OK && gpu->check_error.code == PSG_OK &&
	       gpu->check.wrong == 0;
}

bool cli_doctor_any_starts(const cli_report *report)
{
	for (int i = 0; i < report->n_gpus; i++)
		if (report->gpus[i].error.code == PSG_OK)
			return true;
	return false;
}

int64_t cli_doctor_load_ns(const cli_doctor_gpu *gpu, const psg_gpu_module **slowest)
{
	int64_t ns = 0;

	*slowest = &gpu->modules[0];
	for (size_t i = 0; i < gpu->n_modules; i++) {
		ns += gpu->modules[i].load_ns;
		if (gpu->modules[i].load_ns > (*slowest)->load_ns)
			*slowest = &gpu->modules[i];
	}
	return ns;
}
