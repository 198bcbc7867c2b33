/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the system's files tell about NVIDIA cards.  PAGESIFT_DOCTOR_ROOT is put before /sys, /proc
 * and /dev, for tests and for a look at a machine's files from elsewhere.
 */
#include "config.h"

#include "cli/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 600

static const char *under_root(const char *path, char *out)
{
	const char *root = getenv("PAGESIFT_DOCTOR_ROOT");

	(void)snprintf(out, PATH_SIZE, "%s%s", root != NULL ? root : "", path);
	return out;
}

static bool exists(const char *path)
{
	char full[PATH_SIZE];

	return access(under_root(path, full), F_OK) == 0;
}

/* A file's first line; false: there is none. */
static bool first_line(const char *path, char *line, size_t size)
{
	char full[PATH_SIZE];
	FILE *file = fopen(under_root(path, full), "re");
	bool read = file != NULL && fgets(line, (int)size, file) != NULL;

	if (file != NULL)
		(void)fclose(file);
	return read;
}

/* --- cards --- */

static unsigned long hex_in(const char *device, const char *name)
{
	char path[PATH_SIZE], line[32];

	(void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/%s", device, name);
	return first_line(path, line, sizeof(line)) ? strtoul(line, NULL, 16) : 0;
}

/* NVIDIA's vendor number, and the class of display controllers, of the PCI specification. */
static bool is_card(const char *device)
{
	return hex_in(device, "vendor") == 0x10de && hex_in(device, "class") >> 16 == 0x03;
}

static void count_cards(cli_machine *machine)
{
	char path[PATH_SIZE];
	DIR *devices = opendir(under_root("/sys/bus/pci/devices", path));
	const struct dirent *entry;

	if (devices == NULL)
		return;
	while ((entry = readdir(devices)) != NULL) { /* NOLINT(concurrency-mt-unsafe): one thread */
		if (entry->d_name[0] == '.' || !is_card(entry->d_name))
			continue;
		if (machine->cards == 0 || strcmp(entry->d_name, machine->first_card) < 0)
			(void)snprintf(machine->first_card, sizeof(machine->first_card), "%.31s",
				       entry->d_name);
		machine->cards++;
	}
	(void)closedir(devices);
}

/* --- the kernel's half of the driver --- */

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun ..." */
static void find_module(cli_machine *machine)
{
	char line[256], *at;

	machine->module = first_line("/proc/driver/nvidia/version", line, sizeof(line));
	at = machine->module ? strstr(line, "Module") : NULL;
	if (at == NULL)
		return;
	at += strcspn(at, "0123456789");
	at[strspn(at, "0123456789.")] = '\0';
	(void)snprintf(machine->module_version, sizeof(machine->module_version), "%.63s", at);
}

/* Opening is the only true answer: a container may forbid what the file's mode allows. */
static bool try_node(cli_machine *machine, const char *path)
{
	char full[PATH_SIZE];
	int fd = open(under_root(path, full), O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int reason = errno;

	if (fd >= 0) {
		(void)close(fd);
		return true;
	}
	if (reason == ENOENT)
		return false;
	if (machine->refused[0] == '\0')
		(void)snprintf(machine->refused, sizeof(machine->refused), "%s: %s", path,
			       strerror(reason)); /* NOLINT(concurrency-mt-unsafe): one thread */
	return true;
}

static void try_nodes(cli_machine *machine)
{
	char path[32];

	machine->control = try_node(machine, "/dev/nvidiactl");
	machine->uvm = try_node(machine, "/dev/nvidia-uvm");
	for (int i = 0; i < CLI_DOCTOR_GPUS; i++) {
		(void)snprintf(path, sizeof(path), "/dev/nvidia%d", i);
		(void)try_node(machine, path);
	}
	machine->wsl = exists("/dev/dxg");
}

/* --- compiled kernels --- */

static bool is_set(const char *variable, const char *value)
{
	const char *text = getenv(variable);

	return text != NULL && strcmp(text, value) == 0;
}

/* Can a folder be written, or made in the nearest folder above it that exists? */
static bool can_be_written(const char *folder)
{
	char path[sizeof(((cli_machine *)NULL)->cache)];
	char *slash;

	(void)snprintf(path, sizeof(path), "%s", folder);
	while (access(path, F_OK) != 0) {
		slash = strrchr(path, '/');
		if (slash == NULL || slash == path)
			return false;
		*slash = '\0';
	}
	return access(path, W_OK | X_OK) == 0;
}

/* Where the driver's documentation says that it keeps them. */
static void find_cache(cli_machine *machine)
{
	const char *path = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");

	if (is_set("CUDA_CACHE_DISABLE", "1"))
		return;
	if (path != NULL && path[0] != '\0')
		(void)snprintf(machine->cache, sizeof(machine->cache), "%s", path);
	else if (home != NULL && home[0] != '\0')
		(void)snprintf(machine->cache, sizeof(machine->cache), "%s/.nv/ComputeCache", home);
	machine->cache_works = machine->cache[0] != '\0' && can_be_written(machine->cache);
}

void cli_machine_look(cli_machine *machine)
{
	memset(machine, 0, sizeof(*machine));
	count_cards(machine);
	find_module(machine);
	try_nodes(machine);
	machine->container = exists("/.dockerenv") || exists("/run/.containerenv");
	find_cache(machine);
}
