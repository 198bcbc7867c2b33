/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device: host memory, and a number of cores that one operator may use. */
#include "config.h"

#include "device/device.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/memory.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

/* A worker runs one plan at a time, which takes its arena and a copy of its input. */
#define KEPT_BLOCKS 2

/* Times in a row that a block may be more than twice as large as was asked for: then it goes, so
 * that one huge page does not pin its arena.  Chosen: more than the lines of a page, which lie
 * between the detections of two pages. */
#define PATIENCE 256

struct block {
	size_t bytes;
	bool used;
	int too_large; /* times in a row */
	void *memory;
};

struct cpu_device {
	psg_device device;
	struct block kept[KEPT_BLOCKS]; /* freed blocks wait here for the next run */
};

/* cgroup v2 limit in cores, rounded up; 0 when there is none. */
static int32_t cgroup_cores(void)
{
	char quota[32];
	long period;
	int32_t cores = 0;
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%31s %ld", quota, &period) == 2 && period > 0 &&
	    strcmp(quota, "max") != 0)
		cores = (int32_t)((strtol(quota, NULL, 10) + period - 1) / period);
	(void)fclose(file);
	return cores;
}

int32_t psg_cpu_cores(void)
{
	cpu_set_t set;
	int32_t cores = 1, limit = cgroup_cores();

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cores = (int32_t)CPU_COUNT(&set);
	return limit > 0 && limit < cores ? limit : cores;
}

/* The smallest free block of at least `bytes`; else the largest free one; NULL: none is free. */
static struct block *choose(struct cpu_device *cpu, size_t bytes)
{
	struct block *best = NULL;

	for (size_t i = 0; i < KEPT_BLOCKS; i++) {
		struct block *block = &cpu->kept[i];
		bool fits = block->bytes >= bytes;

		if (!block->used &&
		    (best == NULL ||
		     (fits && (best->bytes < bytes || block->bytes < best->bytes)) ||
		     (!fits && best->bytes < bytes && block->bytes > best->bytes)))
			best = block;
	}
	return best;
}

/*
 * Blocks grow to what the largest runs take and then stay: memory that is taken and given back for
 * each run costs its page faults again, and sizes that differ from run to run leave holes in the
 * heap.
 */
static void *cpu_alloc(psg_device *device, size_t bytes)
{
	struct cpu_device *cpu = (struct cpu_device *)device;
	struct block *block;
	size_t size;

	if (!psgi_add_size(bytes, PSGI_ALIGNMENT, &size))
		return NULL;
	size &= ~(size_t)(PSGI_ALIGNMENT - 1);
	block = choose(cpu, size);
	if (block == NULL)
		return psgi_memory_alloc(size);
	block->too_large = block->bytes / 2 > size ? block->too_large + 1 : 0;
	if (block->bytes < size || block->too_large > PATIENCE) {
		free(block->memory);
		block->memory = psgi_memory_alloc(size);
		block->bytes = block->memory == NULL ? 0 : size;
		block->too_large = 0;
	}
	block->used = block->memory != NULL;
	return block->memory;
}

static void cpu_free(psg_device *device, void *memory)
{
	struct cpu_device *cpu = (struct cpu_device *)device;

	for (size_t i = 0; i < KEPT_BLOCKS; i++) {
		if (cpu->kept[i].memory == memory) {
			cpu->kept[i].used = false;
			return;
		}
	}
	free(memory);
}

static void cpu_close(psg_device *device)
{
	struct cpu_device *cpu = (struct cpu_device *)device;

	for (size_t i = 0; i < KEPT_BLOCKS; i++)
		free(cpu->kept[i].memory);
	free(cpu);
}

static void cpu_trim(psg_device *device)
{
	struct cpu_device *cpu = (struct cpu_device *)device;

	for (size_t i = 0; i < KEPT_BLOCKS; i++) {
		if (cpu->kept[i].used)
			continue;
		free(cpu->kept[i].memory);
		cpu->kept[i] = (struct block){ .memory = NULL };
	}
}

static const psgi_device_ops cpu_ops = {
	.alloc = cpu_alloc, .free = cpu_free, .close = cpu_close, .trim = cpu_trim
};

static void describe(psg_device *device, int32_t threads)
{
	psg_device_info *info = &device->info;

	info->kind = PSG_DEVICE_CPU;
	info->threads = threads;
	(void)snprintf(info->name, sizeof(info->name), "%s",
		       device->reference ? "reference" : "cpu");
#ifdef HAVE_DNNL
	if (!device->reference) {
		const dnnl_version_t *version = dnnl_version();

		(void)snprintf(info->detail, sizeof(info->detail), "%d core%s, oneDNN %d.%d.%d",
			       threads, threads == 1 ? "" : "s", version->major, version->minor,
			       version->patch);
		return;
	}
#endif
	(void)snprintf(info->detail, sizeof(info->detail), "%d core%s, reference loops", threads,
		       threads == 1 ? "" : "s");
}

#ifdef _OPENMP
/* libgomp reads both when it is loaded, so that nobody can set them for it later. */
static void warn_of_spinning(void)
{
	if (getenv("OMP_WAIT_POLICY") == NULL && getenv("GOMP_SPINCOUNT") == NULL)
		psgi_log(PSG_LOG_WARNING,
			 "cpu: OpenMP's threads spin while they wait, which is slow where other "
			 "programs want the cores: set OMP_WAIT_POLICY=passive, or open cpu:1 once "
			 "a core");
}
#endif

psg_status psgi_cpu_open(int32_t threads, bool reference, psg_device **out, psg_error *error)
{
	struct cpu_device *cpu = calloc(1, sizeof(*cpu));

	if (cpu == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for the CPU device");
	cpu->device.ops = &cpu_ops;
	cpu->device.reference = reference;
	/* More would only wait for each other. */
	if (threads > psg_cpu_cores())
		threads = psg_cpu_cores();
	describe(&cpu->device, threads);
#ifdef _OPENMP
	omp_set_num_threads((int)threads); /* of the calling thread, which owns this device */
	if (threads > 1)
		warn_of_spinning();
#endif
	*out = &cpu->device;
	return PSG_OK;
}
