/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random networks as ONNX files in memory: the operators of text models, put
 * together in ways that no real model has, so that passes meet each other.
 */
#ifndef PSG_TESTS_RANDOM_NET_H
#define PSG_TESTS_RANDOM_NET_H

#include <stddef.h>
#include <stdint.h>

/*
 * One input "x" of [N, `channels`, H, W], where N, H and W are free; one or two outputs.  The same
 * seed gives the same network.  The file is for the caller to free().
 */
void *t_random_net(uint32_t seed, int64_t channels, size_t *size);

/* The next of a sequence of random numbers below `n`, by Marsaglia's xorshift. */
uint32_t t_random(uint32_t *state, uint32_t n);

/* One of them in -1..1. */
float t_random_float(uint32_t *state);

#endif
