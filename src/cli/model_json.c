/* SPDX-License-Identifier: Apache-2.0 */
/* A model for programs to read. */
#include "config.h"

#include "cli/json.h"
#include "cli/model.h"

#if HAVE_JANSSON

/* The declared sizes: a number, or the name of a free size, or null where it has none. */
static json_t *declared_shape(const psg_port *port)
{
	json_t *array = json_array();
	int failed = 0;

	for (int32_t i = 0; i < port->shape.rank; i++) {
		json_t *size = port->shape.dim[i] >= 0
				       ? json_integer((json_int_t)port->shape.dim[i])
			       : port->symbol[i] != NULL ? cli_json_text(port->symbol[i])
							 : json_null();

		failed |= json_array_append_new(array, size);
	}
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

/* `used` (NULL: an output, whose shape is not known) and whether it was assumed. */
static json_t *port_object(const psg_port *port, const psg_shape *used, bool assumed)
{
	json_t *object = json_pack("{s:o,s:s,s:o}", "name", cli_json_text(port->name), "type",
				   port->dtype == PSG_F32 ? "float32" : "int64", "declared",
				   declared_shape(port));

	if (used == NULL)
		return object;
	if (json_object_set_new(object, "shape", cli_json_shape(used)) != 0 ||
	    json_object_set_new(object, "assumed", json_boolean(assumed)) != 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *inputs(const cli_about *m)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < psg_model_inputs(m->model); i++)
		failed |= json_array_append_new(array, port_object(psg_model_input(m->model, i),
								   &m->shapes[i], m->assumed[i]));
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *outputs(const cli_about *m)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < psg_model_outputs(m->model); i++)
		failed |= json_array_append_new(
			array, port_object(psg_model_output(m->model, i), NULL, false));
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

/* An array, because an object keeps no order. */
static json_t *operators(const cli_operators *list)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < list->n; i++)
		failed |= json_array_append_new(
			array, json_pack("{s:o,s:I}", "name", cli_json_text(list->at[i].name),
					 "count", (json_int_t)list->at[i].count));
	if (failed == 0)
		return array;
	json_decref(array);
	return NULL;
}

/* What depends on shapes is null where it is not known. */
static json_t *known(bool planned, int64_t value)
{
	return planned ? json_integer((json_int_t)value) : json_null();
}

cli_exit cli_model_print_json(const cli_about *m)
{
	const psg_model_stats *stats = &m->stats;
	json_t *root = json_pack("{s:o,s:s,s:s,s:o,s:o}", "file", cli_json_text(m->file), "device",
				 m->device->name, "device_detail", m->device->detail, "inputs",
				 inputs(m), "outputs", outputs(m));
	json_t *costs = json_pack(
		"{s:I,s:I,s:o,s:o,s:o,s:I,s:I,s:o,s:o}", "parameters",
		(json_int_t)stats->parameters, "weight_bytes", (json_int_t)stats->weight_bytes,
		"macs", known(m->planned, stats->cost.macs), "traffic_bytes",
		known(m->planned, stats->cost.bytes), "peak_bytes",
		known(m->planned, stats->peak_bytes), "nodes_before",
		(json_int_t)stats->nodes_before, "nodes_after", (json_int_t)stats->nodes_after,
		"operators_before", operators(&m->before), "operators_after", operators(&m->after));

	if (root != NULL && json_object_update(root, costs) != 0) {
		json_decref(root);
		root = NULL;
	}
	json_decref(costs);
	return cli_json_print(root);
}

#else

cli_exit cli_model_print_json(const cli_about *m)
{
	(void)m;
	return cli_json_available() ? CLI_OK : CLI_USAGE;
}

#endif
