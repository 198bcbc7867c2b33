/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver's modules: reads of a PTX text for which card and driver it is, which kernels it
 * has and how large their parameter is, and refuses what a real driver would refuse.
 */
#include "config.h"

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct CUfunc_st {
	struct CUfunc_st *next;
	char name[64];
	size_t param_bytes;
	int shared_most; /* dynamic, set by cuFuncSetAttribute */
};

struct CUmod_st {
	struct CUfunc_st *functions;
};

/* --- what the text says --- */

/* The word after `directive` at the start of a line. */
static bool directive(const char *text, const char *name, char *word, size_t size)
{
	size_t length = strlen(name), n = 0;

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) != 0 || line[length] != ' ')
			continue;
		for (const char *at = line + length + 1; n + 1 < size && *at > ' ' && *at != ',';)
			word[n++] = *at++;
		word[n] = '\0';
		return n > 0;
	}
	return false;
}

/* The latest PTX version of a driver, as 10 times its number; from NVIDIA's table of PTX releases.
 */
static int latest_ptx(int cuda)
{
	int major = cuda / 1000, minor = cuda % 1000 / 10;

	return major >= 11 ? (major - 4) * 10 + minor : 60 + minor + (major == 10 ? 3 : 0);
}

static CUresult refuse(char *log, size_t size, CUresult code, const char *text, const char *word)
{
	if (size > 0)
		(void)snprintf(log, size, "ptxas application ptx input, line 1; fatal : %s%s", text,
			       word);
	return code;
}

/* sm_90a runs on 9.0 only. */
static bool target_fits(const char *target)
{
	char *end;
	long wanted = strncmp(target, "sm_", 3) == 0 ? strtol(target + 3, &end, 10) : 0;
	int here = fake_configured.major * 10 + fake_configured.minor;

	if (wanted == 0 ||
	    (fake_configured.refuse != NULL && strcmp(fake_configured.refuse, target) == 0))
		return false;
	return *end == 'a' ? wanted == here : wanted <= here;
}

static CUresult judge(const char *text, char *log, size_t size)
{
	char version[16], target[16];
	char *end;
	long wanted;

	if (fake_configured.jit != NULL)
		return refuse(log, size, CUDA_ERROR_INVALID_PTX, fake_configured.jit, "");
	if (!directive(text, ".version", version, sizeof(version)))
		return refuse(log, size, CUDA_ERROR_INVALID_PTX, "Missing .version directive", "");
	if (!directive(text, ".target", target, sizeof(target)))
		return refuse(log, size, CUDA_ERROR_INVALID_PTX, "Missing .target directive", "");
	wanted = 10 * strtol(version, &end, 10);
	wanted += *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	if (wanted > latest_ptx(fake_configured.cuda))
		return refuse(log, size, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
			      "Unsupported .version ", version);
	if (!target_fits(target))
		return refuse(log, size, CUDA_ERROR_NO_BINARY_FOR_GPU,
			      "SM version not supported: ", target);
	return CUDA_SUCCESS;
}

/* Bytes of the parameter in "(.param .align 8 .b8 name_param_0[56])"; 0: none. */
static size_t param_bytes(const char *at)
{
	const char *end = strchr(at, ')'), *open = strchr(at, '[');

	return end != NULL && open != NULL && open < end ? strtoul(open + 1, NULL, 10) : 0;
}

static bool add_functions(CUmodule module, const char *text)
{
	static const char entry[] = ".entry ";

	for (const char *at = strstr(text, entry); at != NULL; at = strstr(at, entry)) {
		CUfunction function = calloc(1, sizeof(*function));
		size_t n;

		if (function == NULL)
			return false;
		at += sizeof(entry) - 1;
		n = strcspn(at, " (\n");
		(void)snprintf(function->name, sizeof(function->name), "%.*s", (int)n, at);
		function->param_bytes = param_bytes(at);
		function->shared_most = FAKE_SHARED;
		function->next = module->functions;
		module->functions = function;
	}
	return true;
}

static void free_module(CUmodule module)
{
	while (module->functions != NULL) {
		CUfunction function = module->functions;

		module->functions = function->next;
		free(function);
	}
	free(module);
}

/* --- the cache of compiled code --- */

/* A file for each text, two folders deep as the real driver has it; true: it was there. */
static bool find_cached(const char *text)
{
	const char *folder = getenv("CUDA_CACHE_PATH");
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	char path[1024];
	FILE *file;

	if (folder == NULL)
		return false;
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	for (size_t depth = 0; depth < 3; depth++) {
		(void)snprintf(path, sizeof(path), "%s%s%s", folder, depth > 0 ? "/0" : "",
			       depth > 1 ? "/1" : "");
		(void)mkdir(path, 0700);
	}
	(void)snprintf(path, sizeof(path), "%s/0/1/%016llx", folder, (unsigned long long)hash);
	if (access(path, F_OK) == 0)
		return true;
	file = fopen(path, "we");
	if (file != NULL)
		(void)fclose(file);
	return false;
}

static void compile(const char *text)
{
	long ms = fake_configured.compile_ms;
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	if (ms > 0 && !find_cached(text))
		(void)nanosleep(&time, NULL);
}

/* --- calls --- */

/* NOLINTBEGIN(readability-non-const-parameter): the type is the driver's */
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n,
			    CUjit_option *options, void **values)
{
	char *log = NULL;
	size_t size = 0;
	CUresult result;

	ENTER(cuModuleLoadDataEx);
	for (unsigned int i = 0; i < n; i++) {
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = values[i];
		else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			size = (size_t)(uintptr_t)values[i];
	}
	if (fake_current() == NULL)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	result = judge(image, log, log != NULL ? size : 0);
	if (result != CUDA_SUCCESS)
		return fake_leave(result);
	*module = calloc(1, sizeof(**module));
	if (*module == NULL)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	if (!add_functions(*module, image)) {
		free_module(*module);
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	compile(image);
	fake_counts.modules++;
	fake_counts.compiled++;
	return fake_leave(CUDA_SUCCESS);
}
/* NOLINTEND(readability-non-const-parameter) */

CUresult cuModuleUnload(CUmodule module)
{
	CUresult fault = fake_enter_last("cuModuleUnload");

	free_module(module);
	fake_counts.modules--;
	return fake_leave(fault);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	ENTER(cuModuleGetFunction);
	for (CUfunction f = module->functions; f != NULL; f = f->next) {
		if (strcmp(f->name, name) == 0) {
			*function = f;
			return fake_leave(CUDA_SUCCESS);
		}
	}
	return fake_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	ENTER(cuFuncSetAttribute);
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
	    value > FAKE_SHARED_OPTIN)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	function->shared_most = value;
	return fake_leave(CUDA_SUCCESS);
}

/* The limits of all cards since capability 3.0. */
static bool is_legal(const fake_work *work, CUfunction function)
{
	const uint32_t *grid = work->grid, *block = work->block;
	uint64_t threads = (uint64_t)block[0] * block[1];

	return grid[0] >= 1 && grid[0] <= INT32_MAX && grid[1] >= 1 && grid[1] <= 65535 &&
	       grid[2] >= 1 && grid[2] <= 65535 && block[0] >= 1 && block[0] <= 1024 &&
	       block[1] >= 1 && block[1] <= 1024 && block[2] >= 1 && block[2] <= 64 &&
	       threads * block[2] <= 1024 && work->shared_bytes <= (uint32_t)function->shared_most;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			void **arguments, void **extra)
{
	fake_work work = { .kind = FAKE_KERNEL,
			   .kernel = function->name,
			   .grid = { grid_x, grid_y, grid_z },
			   .block = { block_x, block_y, block_z },
			   .shared_bytes = shared_bytes };

	(void)extra;
	ENTER(cuLaunchKernel);
	fake_log('L', fake_is_first(stream));
	if (!is_legal(&work, function))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	work.owned = malloc(function->param_bytes + 1);
	if (work.owned == NULL)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	memcpy(work.owned, arguments[0], function->param_bytes);
	fake_counts.launches++;
	return fake_leave(fake_queue(stream, &work));
}
