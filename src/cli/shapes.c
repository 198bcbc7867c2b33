/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes for a model's inputs. */
#include "config.h"

#include "cli/shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reading --- */

/* NULL, or what would be right. */
static const char *read_sizes(const char *text, psg_shape *shape)
{
	int64_t elements = 1;

	*shape = (psg_shape){ 0 };
	for (;;) {
		char *end;
		long long size;

		if (text[0] != '-' && (text[0] < '0' || text[0] > '9'))
			return "NAME=1x3x48x320 with the sizes joined by x";
		errno = 0;
		size = strtoll(text, &end, 10);
		if (*end != '\0' && *end != 'x')
			return "NAME=1x3x48x320 with the sizes joined by x";
		if (size < 1)
			return "a shape: each size must be at least 1";
		if (shape->rank == PSG_MAX_RANK)
			return "a shape: it has at most 6 sizes";
		if (errno != 0 || size > PSG_MAX_ELEMENTS / elements)
			return "a shape of a tensor: that has at most 8589934592 elements";
		elements *= size;
		shape->dim[shape->rank++] = size;
		if (*end == '\0')
			return NULL;
		text = end + 1;
	}
}

bool cli_parse_shape(const cli_option *option, const char *text, void *field, char *wanted,
		     size_t size)
{
	cli_shapes *shapes = field;
	cli_shape *shape = &shapes->at[shapes->n];
	const char *equals = strrchr(text, '='), *right;

	(void)option;
	if (shapes->n == CLI_MAX_SHAPES) {
		(void)snprintf(wanted, size, "needed: there are %d shapes before it",
			       CLI_MAX_SHAPES);
		return false;
	}
	*shape = (cli_shape){ 0 };
	if (equals != NULL) {
		shape->name = text;
		shape->n = (size_t)(equals - text);
	}
	right = read_sizes(equals != NULL ? equals + 1 : text, &shape->shape);
	if (right != NULL) {
		(void)snprintf(wanted, size, "%s", right);
		return false;
	}
	shapes->n++;
	return true;
}

/* --- writing --- */

/* What snprintf said, as far as there was room. */
static size_t written(int n, size_t room)
{
	if (n < 0)
		return 0;
	return (size_t)n < room ? (size_t)n : room - 1;
}

void cli_shape_text(const psg_shape *shape, char *text, size_t size)
{
	size_t used = 0;

	if (shape->rank == 0)
		(void)snprintf(text, size, "scalar");
	for (int32_t i = 0; i < shape->rank; i++)
		used += written(snprintf(text + used, size - used, "%s%lld", i > 0 ? "x" : "",
					 (long long)shape->dim[i]),
				size - used);
}

void cli_port_text(const psg_port *port, char *text, size_t size)
{
	size_t used = written(snprintf(text, size, "["), size);

	for (int32_t i = 0; i < port->shape.rank; i++) {
		const char *joint = i > 0 ? ", " : "";
		const char *symbol = port->symbol[i] != NULL ? port->symbol[i] : "?";
		int n = port->shape.dim[i] >= 0
				? snprintf(text + used, size - used, "%s%lld", joint,
					   (long long)port->shape.dim[i])
				: snprintf(text + used, size - used, "%s%.40s", joint, symbol);

		used += written(n, size - used);
	}
	(void)snprintf(text + used, size - used, "]");
}

/* --- which input gets which --- */

static psg_status check(const psg_port *port, const psg_shape *shape, psg_error *error)
{
	char want[CLI_SHAPE_TEXT], have[CLI_SHAPE_TEXT];
	bool fits = port->shape.rank == shape->rank;

	for (int32_t i = 0; fits && i < shape->rank; i++)
		fits = port->shape.dim[i] < 0 || port->shape.dim[i] == shape->dim[i];
	if (fits)
		return PSG_OK;
	cli_port_text(port, want, sizeof(want));
	cli_shape_text(shape, have, sizeof(have));
	if (port->shape.rank != shape->rank)
		return cli_fail(error, PSG_INVALID,
				"input '%.100s' is %s: it has %d sizes, the shape %s has %d",
				port->name, want, (int)port->shape.rank, have, (int)shape->rank);
	return cli_fail(error, PSG_INVALID, "input '%.100s' is %s; the shape %s does not fit",
			port->name, want, have);
}

/* The input's number; the number of inputs when none is called so. */
static size_t find_input(const psg_model *model, const cli_shape *shape)
{
	size_t n = psg_model_inputs(model), i = 0;

	if (shape->name == NULL)
		return n == 1 ? 0 : n;
	while (i < n) {
		const char *name = psg_model_input(model, i)->name;

		if (strlen(name) == shape->n && memcmp(name, shape->name, shape->n) == 0)
			break;
		i++;
	}
	return i;
}

/* Tells which inputs there are. */
static psg_status no_input(const psg_model *model, const cli_shape *shape, psg_error *error)
{
	char names[512] = "";
	size_t used = 0, n = psg_model_inputs(model);

	for (size_t i = 0; i < n && used < sizeof(names) - 1; i++)
		used += written(snprintf(names + used, sizeof(names) - used, "%s'%.60s'",
					 i > 0 ? ", " : "", psg_model_input(model, i)->name),
				sizeof(names) - used);
	if (shape->name == NULL)
		return cli_fail(error, PSG_INVALID,
				"the model has %zu inputs (%s): say which one, as in NAME=1x3", n,
				names);
	return cli_fail(error, PSG_INVALID, "the model has no input '%.*s'; it has %s",
			(int)(shape->n < 100 ? shape->n : 100), shape->name,
			n > 0 ? names : "no inputs at all");
}

/*
 * What a free size is taken for.  Batches are 1.  Images are what this project reads: one whose
 * output is an image as well is a page as detection sees it, 960x960; others are lines of text,
 * 48x320.
 */
static int64_t assumed_size(const psg_model *model, const psg_port *port, int32_t axis)
{
	bool page = psg_model_outputs(model) > 0 && psg_model_output(model, 0)->shape.rank == 4;

	if (port->shape.rank != 4 || axis < 2)
		return 1;
	return page ? 960 : axis == 2 ? 48 : 320;
}

psg_status cli_shapes_resolve(const cli_shapes *given, const psg_model *model, psg_shape *shapes,
			      bool *assumed, psg_error *error)
{
	size_t n = psg_model_inputs(model);

	for (size_t i = 0; i < n; i++) {
		const psg_port *port = psg_model_input(model, i);

		assumed[i] = true;
		shapes[i] = port->shape;
		for (int32_t axis = 0; axis < port->shape.rank; axis++)
			if (port->shape.dim[axis] < 0)
				shapes[i].dim[axis] = assumed_size(model, port, axis);
	}
	for (size_t k = 0; k < given->n; k++) {
		size_t i = find_input(model, &given->at[k]);
		psg_status status;

		if (i == n)
			return no_input(model, &given->at[k], error);
		if (!assumed[i])
			return cli_fail(error, PSG_INVALID, "input '%.100s' is given two shapes",
					psg_model_input(model, i)->name);
		status = check(psg_model_input(model, i), &given->at[k].shape, error);
		if (status != PSG_OK)
			return status;
		shapes[i] = given->at[k].shape;
		assumed[i] = false;
	}
	return PSG_OK;
}
