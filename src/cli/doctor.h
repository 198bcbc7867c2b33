/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `pagesift-gpu doctor` share: what was found out about the machine. */
#ifndef PSG_CLI_DOCTOR_H
#define PSG_CLI_DOCTOR_H

#include "cli/cli.h"

#define CLI_DOCTOR_GPUS 16 /* more are not looked at; no machine has them */
#define CLI_DOCTOR_FINDINGS 40
#define CLI_DOCTOR_MODULES 64

/* What the system's files tell of NVIDIA cards, the driver loaded or not. */
typedef struct cli_machine {
	int cards;               /* on the PCI bus */
	char first_card[32];     /* its address there: "0000:3b:00.0" */
	bool module;             /* the kernel's nvidia module is loaded */
	char module_version[64]; /* "580.65.06"; empty: not known */
	bool wsl;                /* Windows' driver serves the card, through /dev/dxg */
	bool container;
	bool control, uvm; /* there is a /dev/nvidiactl, a /dev/nvidia-uvm */
	char refused[128]; /* a device node that cannot be opened, and why; empty: none */
	char cache[512];   /* folder of compiled kernels; empty: they are not kept */
	bool cache_works;  /* it can be written, or made */
} cli_machine;

/* What lies in the driver's cache of compiled kernels. */
typedef struct cli_cache_size {
	uint64_t files, bytes;
} cli_cache_size;

/* Where the kernels' code came from. */
typedef enum cli_code_origin {
	CLI_CODE_UNKNOWN,
	CLI_CODE_CACHED,   /* all of it from the cache */
	CLI_CODE_KEPT,     /* some was compiled, and is in the cache now */
	CLI_CODE_COMPILED, /* some was compiled, and will be again */
} cli_code_origin;

typedef struct cli_doctor_gpu {
	psg_gpu_info info;
	psg_error error; /* code OK: it starts */
	double open_ms;
	bool tested; /* what follows is known */
	psg_gpu_check check;
	psg_error check_error; /* code OK: `check` is of all cases */
	size_t n_modules;
	psg_gpu_module modules[CLI_DOCTOR_MODULES];
	cli_code_origin origin;
	psg_gpu_speed speed;
	psg_error speed_error;
	psg_op_rates rates; /* product_side -1: not asked for, PAGESIFT_OPERATORS decides */
	psg_error rates_error;
} cli_doctor_gpu;

typedef enum cli_weight {
	CLI_NOTE,    /* how things are */
	CLI_WARNING, /* works, but not as well as it could */
	CLI_PROBLEM, /* does not work */
} cli_weight;

typedef struct cli_finding {
	cli_weight weight;
	char what[800];
	char todo[400]; /* empty: nothing */
} cli_finding;

/* What the whole is worth; also the exit status. */
typedef enum cli_verdict {
	CLI_GPU_USABLE = 0,
	CLI_CPU_ONLY = 1,
	CLI_GPU_BROKEN = 2, /* there is a GPU that should work */
} cli_verdict;

typedef struct cli_report {
	cli_machine machine;
	bool disabled;       /* by PAGESIFT_GPU=off */
	const char *visible; /* CUDA_VISIBLE_DEVICES; NULL: not set */
	psg_gpu_driver driver;
	psg_error driver_error; /* code OK: it works */
	int32_t count;
	int n_gpus, n_usable;
	cli_doctor_gpu gpus[CLI_DOCTOR_GPUS];
	char cpu[128];
	int n_findings;
	cli_finding findings[CLI_DOCTOR_FINDINGS];
	cli_verdict verdict;
} cli_report;

void cli_machine_look(cli_machine *machine);

/* Tests and measures a card that was started. */
void cli_doctor_test(const cli_machine *machine, psg_device *device, cli_doctor_gpu *gpu);

/* What is in `folder` and below; nothing where there is none. */
cli_cache_size cli_cache_look(const char *folder);

/* Where `n` modules came from, from what the cache held before and holds after they were loaded. */
cli_code_origin cli_cache_judge(const cli_cache_size *before, const cli_cache_size *after,
				const psg_gpu_module *modules, size_t n);

/* It starts, and no kernel was found to be wrong. */
bool cli_doctor_usable(const cli_doctor_gpu *gpu);

/* The time that loading all of the kernels took, and what took longest. */
int64_t cli_doctor_load_ns(const cli_doctor_gpu *gpu, const psg_gpu_module **slowest);

/* Of any card: it starts. */
bool cli_doctor_any_starts(const cli_report *report);

/* Fills findings and verdict from all the rest. */
void cli_report_judge(cli_report *report);

cli_exit cli_report_print(const cli_report *report);
cli_exit cli_report_print_json(const cli_report *report);

#endif
