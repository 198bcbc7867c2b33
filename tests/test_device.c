/* SPDX-License-Identifier: Apache-2.0 */
/* A device's memory: blocks that are in use never overlap, whatever comes and goes. */
#include "config.h"

#include "device/device.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 3000
#define BLOCKS 4 /* more than the device keeps */

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static bool all_are(const unsigned char *bytes, size_t n, unsigned char value)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* Takes and gives back at random, small blocks for long and then large ones; each is filled with a
 * mark of its own that must still be there in the end. */
START_TEST(blocks_apart)
{
	psg_device *device;
	unsigned char *block[BLOCKS] = { NULL };
	size_t bytes[BLOCKS] = { 0 };
	uint32_t seed = 7;

	ck_assert_int_eq(psg_device_open("reference", &device, NULL), PSG_OK);
	for (int i = 0; i < ROUNDS; i++) {
		size_t k = t_random(&seed) % BLOCKS;

		if (block[k] == NULL) {
			bytes[k] = t_random(&seed) % (i % 1000 < 800 ? 2000 : 200000);
			block[k] = psgi_device_alloc(device, bytes[k]);
			ck_assert_ptr_nonnull(block[k]);
			ck_assert_uint_eq((uintptr_t)block[k] % 64, 0);
			memset(block[k], (int)k + 1, bytes[k]);
		} else {
			ck_assert(all_are(block[k], bytes[k], (unsigned char)(k + 1)));
			psgi_device_free(device, block[k]);
			block[k] = NULL;
		}
	}
	for (size_t k = 0; k < BLOCKS; k++)
		psgi_device_free(device, block[k]);
	psg_device_close(device);
}
END_TEST

/* What a run took serves the next one. */
START_TEST(blocks_again)
{
	psg_device *device;
	void *large, *small;

	ck_assert_int_eq(psg_device_open("reference", &device, NULL), PSG_OK);
	large = psgi_device_alloc(device, 1000000);
	small = psgi_device_alloc(device, 1000);
	psgi_device_free(device, large);
	psgi_device_free(device, small);
	for (int i = 0; i < 10; i++) {
		ck_assert_ptr_eq(psgi_device_alloc(device, 900000), large);
		ck_assert_ptr_eq(psgi_device_alloc(device, 500), small);
		psgi_device_free(device, large);
		psgi_device_free(device, small);
	}
	psgi_device_free(device, NULL);
	ck_assert_ptr_null(psgi_device_alloc(device, SIZE_MAX));
	ck_assert_ptr_null(psgi_device_alloc(device, SIZE_MAX / 2));
	ck_assert_ptr_nonnull(psgi_device_alloc(device, 1000000));
	psg_device_close(device); /* with a block in use: its memory goes too */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device");
	TCase *memory = tcase_create("memory");
	SRunner *runner;
	int failed;

	tcase_add_test(memory, blocks_apart);
	tcase_add_test(memory, blocks_again);
	suite_add_tcase(suite, memory);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
