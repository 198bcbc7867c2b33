/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of the NVIDIA driver, found when the program runs. */
#ifndef PSG_DRIVER_LIBRARY_H
#define PSG_DRIVER_LIBRARY_H

#include <pagesift/error.h>

/* A function of a library, and the pointer to a function that is to hold its address. */
typedef struct psgi_symbol {
	const char *name;
	void *to;
	int since; /* version that first had it */
	bool needed;
} psgi_symbol;

/*
 * Opens what the environment variable `variable` names, or, where that is not set, `name`: as the
 * linker finds it, else in one of the folders where drivers also put it.  `path` tells which file
 * it was.  NO_DEVICE: none is there; DRIVER: the one that the variable names, or one that is there,
 * cannot be opened, with the loader's reason.  The library stays open as long as the process.
 */
psg_status psgi_library_open(const char *variable, const char *name, void **library, char *path,
			     size_t size, psg_error *error);

/* Stores the addresses, NULL for what the library does not have; gives the needed one of the latest
 * version that is missing, or NULL. */
const psgi_symbol *psgi_library_bind(void *library, const psgi_symbol *symbols, size_t n);

#endif
