/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of one node: looked up by name, checked for their type, with the default given. */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"

#include <string.h>

#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

void psgi_reader_fail(psgi_reader *r, psg_status status, const char *message, const char *name)
{
	if (r->status == PSG_OK)
		r->status = psgi_fail(r->error, status, message, name);
}

bool psgi_attr_given(const psgi_reader *r, const char *name)
{
	for (size_t i = 0; i < r->proto->n_attribute; i++) {
		if (strcmp(r->proto->attribute[i]->name, name) == 0)
			return true;
	}
	return false;
}

const Onnx__AttributeProto *psgi_attr(psgi_reader *r, const char *name,
				      Onnx__AttributeProto__AttributeType type)
{
	for (size_t i = 0; i < r->proto->n_attribute; i++) {
		const Onnx__AttributeProto *a = r->proto->attribute[i];

		if (strcmp(a->name, name) != 0)
			continue;
		/* The first version of the format did not say the type. */
		if (a->has_type && a->type != TYPE(UNDEFINED) && a->type != type) {
			psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is of the wrong type",
					 name);
			return NULL;
		}
		return a;
	}
	return NULL;
}

int64_t psgi_attr_int(psgi_reader *r, const char *name, int64_t fallback)
{
	const Onnx__AttributeProto *a = psgi_attr(r, name, TYPE(INT));

	return a == NULL ? fallback : a->i;
}

int32_t psgi_attr_int32(psgi_reader *r, const char *name, int32_t fallback)
{
	int64_t value = psgi_attr_int(r, name, fallback);

	if (value >= INT32_MIN && value <= INT32_MAX)
		return (int32_t)value;
	psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is out of range", name);
	return fallback;
}

float psgi_attr_float(psgi_reader *r, const char *name, float fallback)
{
	const Onnx__AttributeProto *a = psgi_attr(r, name, TYPE(FLOAT));

	return a == NULL ? fallback : a->f;
}

bool psgi_attr_is(psgi_reader *r, const char *name, const char *fallback, const char *want)
{
	const Onnx__AttributeProto *a = psgi_attr(r, name, TYPE(STRING));

	if (a == NULL)
		return strcmp(fallback, want) == 0;
	return a->s.len == strlen(want) && memcmp(a->s.data, want, a->s.len) == 0;
}

size_t psgi_attr_ints(psgi_reader *r, const char *name, int64_t *values, size_t room)
{
	const Onnx__AttributeProto *a = psgi_attr(r, name, TYPE(INTS));

	if (a == NULL)
		return 0;
	if (a->n_ints > room) {
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' has too many entries", name);
		return 0;
	}
	for (size_t i = 0; i < a->n_ints; i++)
		values[i] = a->ints[i];
	return a->n_ints;
}

size_t psgi_attr_ints32(psgi_reader *r, const char *name, int32_t *values, size_t room)
{
	int64_t wide[2 * PSG_MAX_RANK];
	size_t n = psgi_attr_ints(r, name, wide, room < 2 * PSG_MAX_RANK ? room : 2 * PSG_MAX_RANK);

	for (size_t i = 0; i < n; i++) {
		if (wide[i] < INT32_MIN || wide[i] > INT32_MAX)
			psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is out of range", name);
		values[i] = (int32_t)wide[i];
	}
	return n;
}

/* Is `name` a word of `list`? */
static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (strchr(name, ' ') != NULL)
		return false;
	for (const char *at = strstr(list, name); n > 0 && at != NULL; at = strstr(at + 1, name)) {
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	}
	return false;
}

psg_status psgi_attr_check(const Onnx__NodeProto *proto, const char *known, psg_error *error)
{
	for (size_t i = 0; i < proto->n_attribute; i++) {
		const Onnx__AttributeProto *a = proto->attribute[i];
		const char *name = a->name == NULL ? "" : a->name;

		/* Opset 1's leave to work in place says nothing about the result. */
		if (!is_listed(known, name) && strcmp(name, "consumed_inputs") != 0)
			return psgi_fail(error, PSG_UNSUPPORTED,
					 "attribute '%.40s' is not understood", name);
		if (a->ref_attr_name != NULL && *a->ref_attr_name != '\0')
			return psgi_fail(error, PSG_UNSUPPORTED,
					 "attribute '%.40s' is a function's parameter", name);
		/* All before it are listed and different, so that there are few. */
		for (size_t k = 0; k < i; k++) {
			if (strcmp(proto->attribute[k]->name, name) == 0)
				return psgi_fail(error, PSG_FORMAT,
						 "attribute '%.40s' is given twice", name);
		}
	}
	return PSG_OK;
}
