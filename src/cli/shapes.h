/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes for a model's inputs: those of --shape, and assumed ones where none was given. */
#ifndef PSG_CLI_SHAPES_H
#define PSG_CLI_SHAPES_H

#include "cli/options.h"

#define CLI_MAX_SHAPES 64 /* chosen: more inputs than the models that are known have */

/* One --shape: "NAME=1x3x48x320", or the sizes alone for a model with one input. */
typedef struct cli_shape {
	const char *name; /* n bytes; NULL: not named */
	size_t n;
	psg_shape shape;
} cli_shape;

typedef struct cli_shapes {
	cli_shape at[CLI_MAX_SHAPES];
	size_t n;
} cli_shapes;

/* A cli_parse_fn whose field is a cli_shapes: each use of the option adds one. */
bool cli_parse_shape(const cli_option *option, const char *text, void *field, char *wanted,
		     size_t size);

/*
 * A shape for each input of the model: the given one, else one that is assumed, which assumed[i]
 * tells.  INVALID: a shape that does not fit its input, or that no input is called like.
 */
psg_status cli_shapes_resolve(const cli_shapes *given, const psg_model *model, psg_shape *shapes,
			      bool *assumed, psg_error *error);

/* Enough for six sizes of 19 digits, or six names of 40 bytes. */
#define CLI_SHAPE_TEXT 288

/* "1x3x48x320"; "scalar" for rank 0. */
void cli_shape_text(const psg_shape *shape, char *text, size_t size);

/* "[N, 3, 48, W]": as declared, "?" for a free size without a name. */
void cli_port_text(const psg_port *port, char *text, size_t size);

#endif
