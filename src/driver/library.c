/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of the NVIDIA driver, see library.h. */
#include "config.h"

#include "driver/library.h"

#include "base/base.h"
#include "base/phase.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where else than in the linker's cache the library is: WSL, containers, NixOS, Debian's
 * alternatives before they are linked. */
static const char *const folders[] = {
	"/usr/lib/wsl/lib",
	"/usr/local/nvidia/lib64",
	"/run/opengl-driver/lib",
	"/usr/lib/x86_64-linux-gnu/nvidia/current",
};

#define N_FOLDERS (sizeof(folders) / sizeof(folders[0]))

static void *load(const char *name)
{
	const char *outer = psgi_phase_begin("loading the driver's library");
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	psgi_phase_end(outer);
	return library;
}

/* The file that the loader chose; what was asked for where it does not tell. */
static void find_path(void *library, const char *name, char *path, size_t size)
{
	struct link_map *map;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0')
		name = map->l_name;
	(void)snprintf(path, size, "%s", name);
}

static const char *loader_says(void)
{
	const char *text = dlerror();

	return text != NULL ? text : "the loader gives no reason";
}

/* The loader names the file it misses first: it may be one that the library needs. */
static bool is_absent(const char *name, const char *reason)
{
	size_t n = strlen(name);

	return strncmp(reason, name, n) == 0 && reason[n] == ':' &&
	       strstr(reason, "No such file") != NULL;
}

static psg_status open_somewhere(const char *name, void **library, psg_error *error)
{
	char place[256];
	const char *reason;

	*library = load(name);
	if (*library != NULL)
		return PSG_OK;
	reason = loader_says();
	if (!is_absent(name, reason))
		return psgi_fail(error, PSG_DRIVER, "%s", reason);
	for (size_t i = 0; i < N_FOLDERS; i++) {
		(void)snprintf(place, sizeof(place), "%s/%s", folders[i], name);
		*library = load(place);
		if (*library != NULL)
			return PSG_OK;
		if (access(place, F_OK) == 0)
			return psgi_fail(error, PSG_DRIVER, "%s", loader_says());
	}
	return psgi_fail(error, PSG_NO_DEVICE, "%s is not installed", name);
}

psg_status psgi_library_open(const char *variable, const char *name, void **library, char *path,
			     size_t size, psg_error *error)
{
	const char *chosen = getenv(variable);
	psg_status status = PSG_OK;

	if (chosen != NULL && chosen[0] != '\0') {
		name = chosen;
		*library = load(name);
		if (*library == NULL)
			status = psgi_fail(error, PSG_DRIVER, "%s=%s: %s", variable, name,
					   loader_says());
	} else {
		status = open_somewhere(name, library, error);
	}
	if (status == PSG_OK)
		find_path(*library, name, path, size);
	return status;
}

const psgi_symbol *psgi_library_bind(void *library, const psgi_symbol *symbols, size_t n)
{
	const psgi_symbol *missing = NULL;

	for (size_t i = 0; i < n; i++) {
		const psgi_symbol *symbol = &symbols[i];
		void *address = dlsym(library, symbol->name);

		/* C has no conversion from an object's address to a function's; POSIX promises this
		 * one. */
		memcpy(symbol->to, &address, sizeof(address));
		if (address == NULL && symbol->needed &&
		    (missing == NULL || symbol->since > missing->since))
			missing = symbol;
	}
	return missing;
}
