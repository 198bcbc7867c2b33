/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates in a file: lines of text that begin with what they are of.
 *
 * Anybody may have written it, or half of it.  So it must be, but for the values, exactly the text
 * that would be written here, and each value within bounds; else it is measured anew.  The worst
 * that values within the bounds can do is that operators run on the slower side.
 */
#include "config.h"

#include "ops/rates.h"

#include "base/base.h"

#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_SIZE 4096 /* more than a file has */
#define PATH_SIZE 1024

/* Whole numbers, which look the same in every locale. */
static const struct number {
	const char *name;
	size_t offset;
	int64_t least, most;
} numbers[] = {
#define NUMBER(name, member, least, most)                                                          \
	{                                                                                          \
		name, offsetof(psgi_rates, member), least, most                                    \
	}
#define NS(name, member) NUMBER(name, member, 0, 10 * PSG_SECOND)
#define RATE(name, member) NUMBER(name, member, 1000, INT64_C(1000000000000000))
#define HOST(KIND, name, sums)                                                                     \
	NS(#name "_call_ns", host[PSGI_WORK_##KIND].call_ns),                                      \
		RATE(#name "_per_second", host[PSGI_WORK_##KIND].per_second),
	NS("gpu_call_ns", gpu_call_ns), NS("gpu_operand_ns", gpu_operand_ns),
	RATE("gpu_in", gpu_in),         RATE("gpu_out", gpu_out),
	RATE("gpu_macs", gpu_macs),     PSGI_WORK_MAP(HOST)
#undef HOST
#undef RATE
#undef NS
#undef NUMBER
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* --- the text --- */

struct text {
	char at[TEXT_SIZE];
	size_t n;
};

static void add(struct text *text, const char *format, ...) PSG_PRINTF(2, 3);
static void add(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at + text->n, TEXT_SIZE - text->n, format, args);
	va_end(args);
	text->n = n < 0 || (size_t)n >= TEXT_SIZE - text->n ? TEXT_SIZE - 1 : text->n + (size_t)n;
}

/* Whose rates they are.  Each driver compiles anew, and each version may have other kernels. */
static void add_identity(struct text *text, const psg_device *device)
{
	const psg_device_info *info = &device->info;
	const psg_gpu_info *gpu = &info->gpu;

	add(text, "pagesift-gpu rates of operators, 1\nlibrary %s\n", psg_version());
	add(text, "driver %s, CUDA %d\n", gpu->driver, gpu->cuda);
	add(text, "card %s, %s, %s, sm_%d\n", gpu->name, gpu->uuid, gpu->pci, gpu->ptx);
#ifdef HAVE_DNNL
	add(text, "host %d cores, oneDNN %d.%d.%d\n", info->threads, dnnl_version()->major,
	    dnnl_version()->minor, dnnl_version()->patch);
#else
	add(text, "host %d cores\n", info->threads);
#endif
}

static void make_text(struct text *text, const psg_device *device, const psgi_rates *rates)
{
	text->n = 0;
	add_identity(text, device);
	for (size_t i = 0; i < NUMBERS; i++) {
		int64_t value;

		memcpy(&value, (const char *)rates + numbers[i].offset, sizeof(value));
		add(text, "%s %" PRId64 "\n", numbers[i].name, value);
	}
	add(text, "end\n");
}

/* "name 123\n" at `at`; what follows, NULL where it is something else. */
static const char *read_number(const char *at, const struct number *number, psgi_rates *rates)
{
	size_t name = strlen(number->name);
	int64_t value = 0;

	if (strncmp(at, number->name, name) != 0 || at[name] != ' ')
		return NULL;
	at += name + 1;
	if (*at == '\n')
		return NULL;
	for (; *at != '\n'; at++) {
		if (*at < '0' || *at > '9' || value > number->most)
			return NULL;
		value = value * 10 + (*at - '0');
	}
	if (value < number->least || value > number->most)
		return NULL;
	memcpy((char *)rates + number->offset, &value, sizeof(value));
	return at + 1;
}

static bool read_text(const char *text, const psg_device *device, psgi_rates *rates)
{
	struct text identity = { .n = 0 };

	add_identity(&identity, device);
	if (strncmp(text, identity.at, identity.n) != 0)
		return false;
	text += identity.n;
	for (size_t i = 0; i < NUMBERS && text != NULL; i++)
		text = read_number(text, &numbers[i], rates);
	return text != NULL && strcmp(text, "end\n") == 0;
}

/* --- the file --- */

/* XDG's folder of caches; false: none is known. */
static bool cache_folder(char *path, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (cache != NULL && cache[0] == '/') /* the XDG specification ignores others */
		n = snprintf(path, size, "%s", cache);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, size, "%s/.cache", home);
	return n >= 0 && (size_t)n < size;
}

/* A card's name in a file's: letters, digits and dashes. */
static void add_name(char *path, size_t size, const char *name)
{
	size_t n = strlen(path);

	for (; *name != '\0' && n + 1 < size; name++) {
		bool plain = (*name >= '0' && *name <= '9') || (*name >= 'a' && *name <= 'z') ||
			     (*name >= 'A' && *name <= 'Z');

		path[n++] = plain ? *name : '-';
	}
	path[n] = '\0';
}

bool psgi_rates_path(const psg_device *device, char *path, size_t size)
{
	const psg_gpu_info *gpu = &device->info.gpu;
	char folder[PATH_SIZE];
	int n;

	if (!cache_folder(folder, sizeof(folder)))
		return false;
	n = snprintf(path, size, "%s/pagesift/rates-", folder);
	if (n < 0 || (size_t)n + sizeof(gpu->uuid) >= size)
		return false;
	add_name(path, size, gpu->uuid[0] != '\0' ? gpu->uuid : gpu->pci);
	return true;
}

/* The whole of a small file; false: there is none, or it is something else. */
static bool read_file(const char *path, char *text, size_t size)
{
	/* Not blocked by what is no file. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;
	ssize_t n = -1;
	bool fits = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < (off_t)size)
		n = read(fd, text, size - 1);
	if (n >= 0) {
		text[n] = '\0';
		fits = (off_t)n == info.st_size && strlen(text) == (size_t)n;
	}
	(void)close(fd);
	return fits;
}

bool psgi_rates_read(const psg_device *device, psgi_rates *out)
{
	char path[PATH_SIZE], text[TEXT_SIZE];

	if (!psgi_rates_path(device, path, sizeof(path)) || access(path, F_OK) != 0)
		return false;
	if (read_file(path, text, sizeof(text)) && read_text(text, device, out))
		return true;
	psgi_log(PSG_LOG_INFO, "%s: %s is not of this card, driver and library: measuring anew",
		 device->info.name, path);
	return false;
}

static bool write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			text += done;
			n -= (size_t)done;
		}
	}
	return true;
}

/* Under another name first, so that nobody reads half of it. */
static bool replace(const char *path, const struct text *text)
{
	char other[PATH_SIZE + 8];
	int fd, reason;
	bool done;

	(void)snprintf(other, sizeof(other), "%s.XXXXXX", path);
	fd = mkostemp(other, O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write_all(fd, text->at, text->n);
	done = close(fd) == 0 && done;
	if (done && rename(other, path) == 0)
		return true;
	reason = errno;
	(void)unlink(other);
	errno = reason;
	return false;
}

static void make_folders(const char *path)
{
	char folder[PATH_SIZE], *slash;

	if (!cache_folder(folder, sizeof(folder)))
		return;
	(void)mkdir(folder, 0700); /* the mode that XDG's specification wants */
	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	*slash = '\0';
	(void)mkdir(folder, 0700);
}

bool psgi_rates_write(const psg_device *device, const psgi_rates *rates)
{
	char path[PATH_SIZE], reason[128] = "";
	struct text text;

	if (!psgi_rates_path(device, path, sizeof(path)))
		return false;
	make_text(&text, device, rates);
	make_folders(path);
	if (replace(path, &text))
		return true;
	if (strerror_r(errno, reason, sizeof(reason)) != reason)
		reason[sizeof(reason) - 1] = '\0';
	psgi_log(PSG_LOG_INFO, "%s: the rates of operators cannot be kept in %s: %s",
		 device->info.name, path, reason);
	return false;
}
