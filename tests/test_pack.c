/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights: made once a form, shared, kept while somebody holds the tensor and no longer. */
#include "config.h"

#include "ops/pack.h"

#include "base/base.h"

#include <check.h>
#include <string.h>

static psgi_pack_cache *cache;
static int fills, releases;

static void set_up(void)
{
	ck_assert_int_eq(psgi_pack_cache_create(&cache, NULL), PSG_OK);
	fills = releases = 0;
}

static void tear_down(void)
{
	psgi_pack_cache_destroy(cache);
}

static void released(void *user, void *data)
{
	(void)user;
	(void)data;
	releases++;
}

/* A tensor that says when it goes. */
static psg_tensor *tensor(void)
{
	static float data[4] = { 1, 2, 3, 4 };
	psg_tensor *made;

	ck_assert_int_eq(psg_tensor_wrap(PSG_F32, &PSG_SHAPE(4), data, released, NULL, &made, NULL),
			 PSG_OK);
	return made;
}

static psg_status fill(void *user, void *memory, psg_error *error)
{
	(void)error;
	memset(memory, *(const int *)user, 100);
	fills++;
	return PSG_OK;
}

static psg_status refuse(void *user, void *memory, psg_error *error)
{
	(void)user;
	(void)memory;
	return psgi_fail(error, PSG_INVALID, "not today");
}

/* 100 bytes of `t` under a key. */
static const char *pack(psg_tensor *t, const char *key)
{
	int value = (unsigned char)key[0];
	void *memory = NULL;

	ck_assert_int_eq(psgi_pack(cache, t, key, strlen(key), 100, fill, &value, &memory, NULL),
			 PSG_OK);
	return memory;
}

START_TEST(once_a_form)
{
	psg_tensor *a = tensor(), *b = tensor();
	const char *first = pack(a, "x"), *other = pack(a, "y");

	ck_assert_int_eq(first[99], 'x');
	ck_assert_int_eq(other[99], 'y');
	ck_assert_ptr_eq(pack(a, "x"), first);
	ck_assert_ptr_eq(pack(a, "y"), other);
	ck_assert_int_eq(fills, 2);
	ck_assert_ptr_ne(pack(a, "xx"), first); /* a longer key is another one */
	ck_assert_ptr_ne(pack(b, "x"), first);  /* and so is another tensor with the same data */
	ck_assert_int_eq(fills, 4);
	ck_assert_uint_eq(psgi_pack_bytes(cache), 400);
	ck_assert_uint_eq((uintptr_t)first % 64, 0);
	psg_tensor_unref(a);
	psg_tensor_unref(b);
}
END_TEST

/* A plan's own weights go with the plan, a model's stay; many plans leave nothing behind. */
START_TEST(orphans)
{
	psg_tensor *held = tensor();
	const char *kept = pack(held, "x");

	for (int i = 0; i < 1000; i++) {
		psg_tensor *passing = tensor();

		(void)pack(passing, "x");
		(void)pack(passing, "y");
		psg_tensor_unref(passing);
		ck_assert_ptr_eq(pack(held, "x"), kept);
	}
	ck_assert_int_eq(kept[0], 'x');
	ck_assert_int_eq(releases, 999); /* the last one's go when a new form comes */
	ck_assert_uint_eq(psgi_pack_bytes(cache), 300);
	(void)pack(held, "y");
	ck_assert_int_eq(releases, 1000);
	ck_assert_uint_eq(psgi_pack_bytes(cache), 200);
	psg_tensor_unref(held);
}
END_TEST

START_TEST(failed_fill)
{
	psg_tensor *a = tensor();
	void *memory = NULL;

	ck_assert_int_eq(psgi_pack(cache, a, "x", 1, 100, refuse, NULL, &memory, NULL),
			 PSG_INVALID);
	ck_assert_uint_eq(psgi_pack_bytes(cache), 0);
	psg_tensor_unref(a);
	ck_assert_int_eq(releases, 1); /* the cache holds no tensor of which it has no form */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pack");
	TCase *all = tcase_create("cache");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_add_test(all, once_a_form);
	tcase_add_test(all, orphans);
	tcase_add_test(all, failed_fill);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
