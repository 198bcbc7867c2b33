/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of onnx_text.h to the bytes of an ONNX file, field by field. */
#include "config.h"

#include "onnx_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void quit(const char *what, const char *word)
{
	(void)fprintf(stderr, "onnx_text: %s: %s\n", what, word == NULL ? "(nothing)" : word);
	abort();
}

/* --- protobuf --- */

struct bytes {
	uint8_t *data;
	size_t n, cap;
};

static void put(struct bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2 + 64;
		b->data = realloc(b->data, b->cap);
		if (b->data == NULL)
			quit("no memory", "");
	}
	if (n > 0)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

static void put_varint(struct bytes *b, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		put(b, &byte, 1);
		value >>= 7;
	} while (value > 0);
}

static void put_int(struct bytes *b, unsigned field, int64_t value)
{
	put_varint(b, field << 3);
	put_varint(b, (uint64_t)value);
}

static void put_float(struct bytes *b, unsigned field, float value)
{
	put_varint(b, field << 3 | 5);
	put(b, &value, sizeof(value));
}

static void put_block(struct bytes *b, unsigned field, const void *data, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	put(b, data, n);
}

static void put_text(struct bytes *b, unsigned field, const char *text)
{
	put_block(b, field, text, strlen(text));
}

/* Puts a message into another and empties it. */
static void put_message(struct bytes *b, unsigned field, struct bytes *message)
{
	put_block(b, field, message->data, message->n);
	free(message->data);
	*message = (struct bytes){ 0 };
}

/* --- words --- */

static const struct {
	const char *name;
	int elem_type;
	size_t bytes;
} types[] = {
	{ "f32", 1, 4 }, { "i32", 6, 4 }, { "i64", 7, 8 }, { "bool", 9, 1 }, { "f64", 11, 8 }
};

static char *next(char **rest)
{
	return strtok_r(NULL, " \t", rest);
}

/* The word after `*word` when that is a type; float32 otherwise. */
static size_t type_of(char **word, char **rest)
{
	for (size_t i = 0; *word != NULL && i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(*word, types[i].name) == 0) {
			*word = next(rest);
			return i;
		}
	}
	return 0;
}

static void put_number(struct bytes *b, int elem_type, const char *word)
{
	double wide = strtod(word, NULL);
	float narrow = strtof(word, NULL);
	int64_t whole = strtoll(word, NULL, 10);
	int32_t half = (int32_t)whole;
	uint8_t byte = (uint8_t)whole;

	switch (elem_type) {
	case 1:
		put(b, &narrow, sizeof(narrow));
		break;
	case 6:
		put(b, &half, sizeof(half));
		break;
	case 7:
		put(b, &whole, sizeof(whole));
		break;
	case 9:
		put(b, &byte, sizeof(byte));
		break;
	default:
		put(b, &wide, sizeof(wide));
	}
}

/* --- statements --- */

/* NAME [TYPE] DIMENSIONS as a ValueInfoProto; without dimensions of any rank if that may be. */
static void put_port(struct bytes *graph, unsigned field, char **rest, bool any_rank)
{
	struct bytes value = { 0 }, type = { 0 }, tensor = { 0 }, shape = { 0 };
	char *name = next(rest), *word = next(rest);
	size_t kind = type_of(&word, rest);

	if (name == NULL)
		quit("a port has no name", "");
	put_text(&value, 1, name);
	put_int(&tensor, 1, types[kind].elem_type);
	any_rank = any_rank && word == NULL;
	for (; word != NULL; word = next(rest)) {
		struct bytes dim = { 0 };

		if (*word == '?')
			put_text(&dim, 2, word);
		else
			put_int(&dim, 1, strtoll(word, NULL, 10));
		put_message(&shape, 1, &dim);
	}
	if (any_rank)
		free(shape.data);
	else
		put_message(&tensor, 2, &shape);
	put_message(&type, 1, &tensor);
	put_message(&value, 2, &type);
	put_message(graph, field, &value);
}

/* NAME [TYPE] DIMENSIONS = VALUES as a TensorProto; the name is written only with `named`. */
static char *read_tensor(struct bytes *tensor, char **rest, bool named)
{
	struct bytes raw = { 0 };
	char *name = next(rest), *word = next(rest);
	size_t kind = type_of(&word, rest);

	for (; word != NULL && strcmp(word, "=") != 0; word = next(rest))
		put_int(tensor, 1, strtoll(word, NULL, 10));
	put_int(tensor, 2, types[kind].elem_type);
	if (name == NULL)
		quit("a tensor has no name", "");
	if (named)
		put_text(tensor, 8, name);
	while ((word = next(rest)) != NULL)
		put_number(&raw, types[kind].elem_type, word);
	put_message(tensor, 9, &raw);
	return name;
}

static void put_constant(struct bytes *graph, char **rest)
{
	struct bytes node = { 0 }, attribute = { 0 }, tensor = { 0 };
	char *name = read_tensor(&tensor, rest, false);

	put_text(&node, 2, name);
	put_text(&node, 4, "Constant");
	put_text(&attribute, 1, "value");
	put_message(&attribute, 5, &tensor);
	put_int(&attribute, 20, 4);
	put_message(&node, 5, &attribute);
	put_message(graph, 1, &node);
}

static bool is_number(const char *text)
{
	char *end;

	(void)strtod(text, &end);
	return end != text && *end == '\0';
}

static void put_attribute(struct bytes *node, char *word)
{
	struct bytes attribute = { 0 };
	char *value = strchr(word, '='), *rest;
	bool whole, list;

	if (value == NULL)
		quit("an attribute has no value", word);
	*value++ = '\0';
	put_text(&attribute, 1, word);
	whole = strchr(value, '.') == NULL;
	list = *value == '[';
	if (!list && !is_number(value)) {
		put_text(&attribute, 4, value);
		put_int(&attribute, 20, 3);
	} else {
		put_int(&attribute, 20, (whole ? 2 : 1) + (list ? 5 : 0));
		for (char *item = strtok_r(value, "[],", &rest); item != NULL;
		     item = strtok_r(NULL, "[],", &rest)) {
			if (whole)
				put_int(&attribute, list ? 8 : 3, strtoll(item, NULL, 10));
			else
				put_float(&attribute, list ? 7 : 2, strtof(item, NULL));
		}
	}
	put_message(node, 5, &attribute);
}

static void put_node(struct bytes *graph, char *type, char **rest)
{
	struct bytes node = { 0 };
	char *word;

	while ((word = next(rest)) != NULL && strcmp(word, ">") != 0)
		put_text(&node, 1, strcmp(word, "-") == 0 ? "" : word);
	if (word == NULL)
		quit("a node has no '>'", type);
	while ((word = next(rest)) != NULL && strchr(word, '=') == NULL)
		put_text(&node, 2, strcmp(word, "-") == 0 ? "" : word);
	put_text(&node, 4, type);
	for (; word != NULL; word = next(rest))
		put_attribute(&node, word);
	put_message(graph, 1, &node);
}

static void put_statement(struct bytes *graph, int64_t *opset, char *statement)
{
	struct bytes tensor = { 0 };
	char *rest, *word = strtok_r(statement, " \t", &rest);

	if (word == NULL)
		return;
	if (strcmp(word, "opset") == 0) {
		word = next(&rest);
		if (word == NULL)
			quit("no opset", "");
		*opset = strtoll(word, NULL, 10);
	} else if (strcmp(word, "in") == 0) {
		put_port(graph, 11, &rest, false);
	} else if (strcmp(word, "out") == 0) {
		put_port(graph, 12, &rest, true);
	} else if (strcmp(word, "w") == 0) {
		(void)read_tensor(&tensor, &rest, true);
		put_message(graph, 5, &tensor);
	} else if (strcmp(word, "c") == 0) {
		put_constant(graph, &rest);
	} else {
		put_node(graph, word, &rest);
	}
}

uint8_t *t_onnx(const char *text, size_t *size)
{
	struct bytes model = { 0 }, graph = { 0 }, import = { 0 };
	char *copy = strdup(text), *rest;
	int64_t opset = 17;

	if (copy == NULL)
		quit("no memory", "");
	for (char *at = strtok_r(copy, ";\n", &rest); at != NULL; at = strtok_r(NULL, ";\n", &rest))
		put_statement(&graph, &opset, at);
	put_int(&model, 1, 8); /* the version of the format itself: IR 8 goes up to opset 17 */
	put_message(&model, 7, &graph);
	put_int(&import, 2, opset);
	put_message(&model, 8, &import);
	free(copy);
	*size = model.n;
	return model.data;
}
