/* SPDX-License-Identifier: Apache-2.0 */
/* A model for people to read. */
#include "config.h"

#include "cli/model.h"
#include "cli/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A number with its thousands apart: 1 171 841. */
static const char *grouped(int64_t value, char *text, size_t size)
{
	char digits[24];
	size_t n, used = 0;

	(void)snprintf(digits, sizeof(digits), "%" PRId64, value);
	n = strlen(digits);
	for (size_t i = 0; i < n && used + 2 < size; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			text[used++] = ' ';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

static void print_number(const char *what, int64_t value, const char *unit)
{
	char text[40];

	(void)printf("  %-18s %18s%s\n", what, grouped(value, text, sizeof(text)), unit);
}

/* Bytes, also in the unit that people think of them in. */
static void print_bytes(const char *what, int64_t value)
{
	char text[40];

	(void)snprintf(text, sizeof(text), " B  (%.1f MB)", (double)value / 1e6);
	print_number(what, value, text);
}

/* Names come from the file: control characters would speak to the terminal. */
static const char *clean(const char *name, char *text, size_t size)
{
	(void)snprintf(text, size, "%s", name);
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return text;
}

static void print_port(const char *what, const psg_port *port, const char *note)
{
	char name[256], declared[CLI_SHAPE_TEXT], sizes[CLI_SHAPE_TEXT];

	cli_port_text(port, declared, sizeof(declared));
	(void)printf("%-7s %-20s %-8s %s%s\n", what, clean(port->name, name, sizeof(name)),
		     port->dtype == PSG_F32 ? "float32" : "int64",
		     clean(declared, sizes, sizeof(sizes)), note);
}

static void print_ports(const cli_about *m)
{
	for (size_t i = 0; i < psg_model_inputs(m->model); i++) {
		char used[CLI_SHAPE_TEXT], note[CLI_SHAPE_TEXT + 16];

		cli_shape_text(&m->shapes[i], used, sizeof(used));
		(void)snprintf(note, sizeof(note), ", %s %s", m->assumed[i] ? "assumed" : "given",
			       used);
		print_port("input", psg_model_input(m->model, i), note);
	}
	for (size_t i = 0; i < psg_model_outputs(m->model); i++)
		print_port("output", psg_model_output(m->model, i), "");
}

static void print_cost(const cli_about *m)
{
	(void)printf("\none run on %s (%s)\n", m->device->name, m->device->detail);
	print_number("parameters", m->stats.parameters, "");
	print_bytes("weights", m->stats.weight_bytes);
	if (m->planned) {
		print_number("multiply-adds", m->stats.cost.macs, "");
		print_bytes("memory traffic", m->stats.cost.bytes);
		print_bytes("peak memory", m->stats.peak_bytes);
	}
}

static void print_operators(const cli_about *m)
{
	const cli_operators *before = &m->before, *after = &m->after;
	size_t n = before->n > after->n ? before->n : after->n;
	char left[80], right[80];

	(void)printf("\noperators\n");
	(void)snprintf(left, sizeof(left), "%zu in the file", m->stats.nodes_before);
	(void)snprintf(right, sizeof(right), "%zu to run", m->stats.nodes_after);
	(void)printf("  %-31s %s\n", left, right);
	for (size_t i = 0; i < n; i++) {
		left[0] = right[0] = '\0';
		if (i < before->n)
			(void)snprintf(left, sizeof(left), "%6zu  %.40s", before->at[i].count,
				       before->at[i].name);
		if (i < after->n)
			(void)snprintf(right, sizeof(right), "%6zu  %.40s", after->at[i].count,
				       after->at[i].name);
		(void)printf(right[0] != '\0' ? "  %-31s %s\n" : "  %s%s\n", left, right);
	}
}

cli_exit cli_model_print_text(const cli_about *model)
{
	(void)printf("%s\n", model->file);
	print_ports(model);
	print_cost(model);
	print_operators(model);
	return cli_finish_output(CLI_OK);
}
