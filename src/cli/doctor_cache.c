/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's cache of compiled kernels, as its folder shows it.
 *
 * The driver does not tell whether code came from there.  But what it compiles it keeps there, so
 * that the folder grows; and where it cannot keep it, compiling takes so much longer than loading
 * that the time tells.
 */
#include "config.h"

#include "cli/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_DEPTH 4     /* the driver's files lie two folders deep */
#define MOST_FILES 65536 /* chosen: a folder that is something else must not hold up the report */

/*
 * The slowest module takes 1 to 2 s to be compiled and a few ms to be loaded (measured, H200); a
 * slow disk or a slow host changes either by less than this lies from both.
 */
#define COMPILED_NS (50 * PSG_MILLISECOND)

static void add_folder(const char *folder, int depth, cli_cache_size *size)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;

	if (entries == NULL)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while ((entry = readdir(entries)) != NULL && size->files < MOST_FILES) {
		char path[1024];
		struct stat info;
		int n = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || n < 0 ||
		    (size_t)n >= sizeof(path) || lstat(path, &info) != 0)
			continue;
		if (S_ISREG(info.st_mode)) {
			size->files++;
			size->bytes += (uint64_t)info.st_size;
		} else if (S_ISDIR(info.st_mode) && depth < MOST_DEPTH) {
			add_folder(path, depth + 1, size);
		}
	}
	(void)closedir(entries);
}

cli_cache_size cli_cache_look(const char *folder)
{
	cli_cache_size size = { 0, 0 };

	if (folder[0] != '\0')
		add_folder(folder, 0, &size);
	return size;
}

cli_code_origin cli_cache_judge(const cli_cache_size *before, const cli_cache_size *after,
				const psg_gpu_module *modules, size_t n)
{
	if (n == 0)
		return CLI_CODE_UNKNOWN;
	if (before->files != after->files || before->bytes != after->bytes)
		return CLI_CODE_KEPT;
	for (size_t i = 0; i < n; i++)
		if (modules[i].load_ns > COMPILED_NS)
			return CLI_CODE_COMPILED;
	return CLI_CODE_CACHED;
}
