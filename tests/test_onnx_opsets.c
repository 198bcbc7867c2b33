/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators meant in early opsets, and what they are composed of: small models as text, whose
 * first input holds 1, 2, 3 and so on, and the numbers that come out, computed by hand.  ONNX's own
 * test data (make check-onnx) has hardly any of these.
 */
#include "config.h"

#include "onnx_text.h"

#include <check.h>
#include <math.h>
#include <pagesift/gpu.h>
#include <stdlib.h>
#include <string.h>

static psg_status load_text(const char *text, psg_model **model, psg_error *error)
{
	size_t size;
	uint8_t *data = t_onnx(text, &size);
	psg_status status = psg_model_load_memory(data, size, "text", NULL, model, error);

	free(data);
	return status;
}

/* --- what comes out --- */

static const struct {
	const char *model, *want;
} good[] = {
	/* the second operand lined up from an axis on, with the last dimensions, or not at all */
	{ "opset 6; in x 2 3; w b 2 = 10 20; Add x b > y broadcast=1 axis=0; out y",
	  "11 12 13 24 25 26" },
	{ "opset 6; in x 2 3; w b 3 = 10 20 30; Add x b > y broadcast=1; out y",
	  "11 22 33 14 25 36" },
	{ "opset 6; in x 2 3; w b 3 = 10 20 30; Add x b > y broadcast=1 axis=1; out y",
	  "11 22 33 14 25 36" },
	{ "opset 6; in x 2 2 2; w b 2 = 0 1; Sub x b > y broadcast=1 axis=1; out y",
	  "1 2 2 3 5 6 6 7" },
	{ "opset 6; in x 2 2 2; w b 2 2 = 1 2 3 4; Mul x b > y broadcast=1 axis=0; out y",
	  "1 2 6 8 15 18 28 32" },
	{ "opset 6; in x 2 2; w b 2 = 2 4; Div x b > y broadcast=1 axis=-2; out y",
	  "0.5 1 0.75 1" },
	{ "opset 6; in x 2 2; w b 1 = 2; Pow x b > y broadcast=1 axis=1; out y", "1 4 9 16" },
	{ "opset 1; in x 2 2; w b = 5; Add x b > y broadcast=1 axis=0 consumed_inputs=[0,0]; out y",
	  "6 7 8 9" },
	{ "opset 6; in x 2 2; w b 2 = 2 3; Greater x b > g broadcast=1 axis=0; Cast g > y to=1; "
	  "out y",
	  "0 0 0 1" },
	{ "opset 6; in x 2 2; w b 2 = 1 2; Add x b > y axis=0; out y", "2 4 4 6" },
	/* from opset 7 on numpy's rule holds alone */
	{ "opset 7; in x 2 2; w b 2 = 10 20; Add x b > y; out y", "11 22 13 24" },
	/* a slope a channel */
	{ "opset 6; in x 1 2 2; w s 2 = 0.5 2; w z = 5; Sub x z > d broadcast=1; "
	  "PRelu d s > y; out y",
	  "-2 -1.5 -4 -2" },
	{ "opset 1; in x 1 2 2; w s 1 = 0.5; Neg x > d; PRelu d s > y consumed_inputs=[0]; out y",
	  "-0.5 -1 -1.5 -2" },
	{ "opset 6; in x 2; w s 1 = 0.5; Neg x > d; PRelu d s > y; out y", "-0.5 -1" },
	{ "opset 7; in x 1 2 2; w s 2 = 0.5 2; Neg x > d; PRelu d s > y; out y",
	  "-0.5 -4 -1.5 -8" },
	/* products with a third operand */
	{ "opset 6; in x 2 2; w b 2 2 = 1 0 0 1; w c 2 = 10 20; Gemm x b c > y broadcast=1; out y",
	  "11 22 13 24" },
	{ "opset 1; in x 2 2; w b 2 2 = 1 0 1 0; w c 2 2 = 1 1 1 1; "
	  "Gemm x b c > y transB=1 alpha=2.0 beta=3.0; out y",
	  "5 5 9 9" },
	/* training or not */
	{ "opset 6; in x 1 2 1; w s 2 = 1 2; w b 2 = 0 1; w m 2 = 1 1; w v 2 = 4 1; "
	  "BatchNormalization x s b m v > y is_test=1 epsilon=0.0; out y",
	  "0 3" },
	{ "opset 6; in x 2; Dropout x > y is_test=1 ratio=0.5; out y", "1 2" },
	{ "opset 7; in x 2; Dropout x > y ratio=0.5; out y", "1 2" },
	/* parameters that were attributes */
	{ "opset 1; in x 2 3; Reshape x > y shape=[3,-1] consumed_inputs=[0]; Transpose y > z; "
	  "out z",
	  "1 3 5 2 4 6" },
	{ "opset 4; in x 1 3; Reshape x > y shape=[0,3,1]; Flatten y > z; out z", "1 2 3" },
	{ "opset 1; in x 1 2; Pad x > y paddings=[0,1,0,2] value=7.0; out y", "7 1 2 7 7" },
	{ "opset 2; in x 1 2; Pad x > y pads=[0,1,0,2]; out y", "0 1 2 0 0" },
	{ "opset 2; in x 1 3; Pad x > y pads=[0,2,0,0] mode=reflect; out y", "3 2 1 2 3" },
	{ "opset 1; in x 4; Clip x > y min=2.0 max=3.0; out y", "2 2 3 3" },
	{ "opset 1; in x 2 3; Slice x > y starts=[1] ends=[3] axes=[1]; out y", "2 3 5 6" },
	{ "opset 1; in x 1 3 1; Squeeze x > y axes=[0]; out y", "1 2 3" },
	{ "opset 1; in x 2 2; Concat x x > y; out y", "1 2 1 2 3 4 3 4" },
	{ "opset 1; in x 2 2; Split x > y z axis=1; Concat z y > w axis=1; out w", "2 1 4 3" },
	{ "opset 1; in x 2; w n = 2; w a = 0; Tile x n a > y; out y", "1 2 1 2" },
	{ "opset 6; in x 2; w n i64 1 = 2; Tile x n > y; out y", "1 2 1 2" },
	{ "opset 1; in x 3; Cast x > y to=INT32; Cast y > z to=FLOAT; out z", "1 2 3" },
	{ "opset 1; in x 1 1 1 2; Upsample x > y width_scale=2.0 height_scale=1.0 mode=nearest; "
	  "out y",
	  "1 1 2 2" },
	{ "opset 7; in x 1 1 1 2; Upsample x > y scales=[1.0,1.0,2.0,1.0]; out y", "1 2 1 2" },
	{ "opset 9; in x 1 1 1 2; w s 4 = 1 1 1 2; Upsample x s > y mode=nearest; out y",
	  "1 1 2 2" },
	{ "opset 1; in x 1 1 2; LpPool x > y kernel_shape=[2] p=1.0; out y", "3" },
	{ "opset 2; in x 1 1 2; LpPool x > y kernel_shape=[2] p=1; out y", "3" },
	/* other defaults */
	{ "opset 1; in x 1; Neg x > n; Selu n > y; out y", "-1.1113" }, /* 1.0507*1.6732*(1/e-1) */
	{ "opset 6; in x 1; Neg x > n; Selu n > y; out y", "-1.111331" },
	{ "opset 12; in x 2 1 2; Softmax x > y; out y", "0.268941 0.731059 0.268941 0.731059" },
	{ "opset 12; in x 1 2 1; Softmax x > y; out y", "0.268941 0.731059" },
	{ "opset 13; in x 1 2 1; Softmax x > y; out y", "1 1" },
	/* composed ones */
	{ "in x 3; w a = 1; w b = 3; Greater x a > g; Less x b > l; Xor g l > t; Cast t > y to=1; "
	  "out y",
	  "1 0 1" },
	{ "opset 6; in x 2 2; w b 2 = 2 3; w c = 1; Less x b > l broadcast=1 axis=0; "
	  "Greater x c > g broadcast=1; Xor l g > t; Cast t > y to=1; out y",
	  "1 1 1 1" },
	{ "in x 2; w o = 1; Sub x o > d; Div d d > n; IsNaN n > t; Cast t > y to=1; out y", "1 0" },
	{ "in x 2; w o = 1; Sub x o > d; Log d > l; IsInf l > t; Cast t > y to=1; out y", "1 0" },
	{ "in x 2; w o = 1; Sub x o > d; Log d > l; IsInf l > t detect_negative=0; "
	  "Cast t > y to=1; out y",
	  "0 0" },
	{ "in x 2; w o = 1; Sub x o > d; Log d > l; IsInf l > t detect_positive=0; "
	  "Cast t > y to=1; out y",
	  "1 0" },
	{ "in x 2; w o = 1; Sub x o > d; Log d > l; "
	  "IsInf l > t detect_positive=0 detect_negative=0; Cast t > y to=1; out y",
	  "0 0" },
	{ "in x 4; Shrink x > y lambd=2.5 bias=1.0; out y", "0 0 2 3" },
	{ "in x 4; Neg x > n; Shrink n > y lambd=2.5 bias=1.0; out y", "0 0 -2 -3" },
	{ "in x 1 2 2; Hardmax x > y axis=1; out y", "0 0 1 1" },
	{ "in x 1 2 2; Hardmax x > y; out y", "0 1 0 1" },
	{ "opset 12; in x 2 2 2; Hardmax x > y; out y", "0 0 0 1 0 0 0 1" },
	{ "in x 1 3; w z = 0; Mul x z > t; Hardmax t > y; out y", "1 0 0" },
	{ "in x 1 3 1; LRN x > y size=3 alpha=3.0 beta=1.0; out y", "0.166667 0.133333 0.214286" },
	{ "in x 1 3 1; LRN x > y size=2 alpha=2.0 beta=1.0; out y", "0.166667 0.142857 0.3" },
	{ "in x 1 2 2 1; LRN x > y size=1 alpha=1.0 beta=1.0 bias=0.5; out y",
	  "0.666667 0.444444 0.315789 0.242424" },
	{ "in x 1 1 1 2; MeanVarianceNormalization x > y; out y", "-1 1" },
	{ "in x 2 2; MeanVarianceNormalization x > y axes=[0]; out y", "-1 -1 1 1" },
	{ "in x 2 2; w g 2 = 1 1; LayerNormalization x g > y m i; out y", "-1 1 -1 1" },
	{ "in x 2 2; w g 2 = 1 1; LayerNormalization x g > y m i; out m", "1.5 3.5" },
	{ "in x 2 2; w g 2 = 1 1; LayerNormalization x g > y m i epsilon=0.0; out i", "2 2" },
	{ "in x 2 2; w g 2 2 = 1 1 1 1; LayerNormalization x g > y - i axis=0 epsilon=1.0; out i",
	  "0.666667" },
	{ "opset 12; in x 2; Dropout x > y m; Cast m > z to=1; out z", "1 1" },
	{ "opset 7; in x 2; Dropout x > y m; Add y m > z; out z", "2 3" },
};

/* Runs `model` with 1, 2, 3.. in its input; the first output. */
static psg_tensor *run(psg_model *model, const char *device_name, const char *text)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;
	psg_tensor *in = NULL, *out[2] = { NULL, NULL };
	float *data;

	ck_assert_int_eq(psg_device_open(device_name, &device, &error), PSG_OK);
	ck_assert_msg(psg_tensor_create(PSG_F32, &psg_model_input(model, 0)->shape, &in, &error) ==
			      PSG_OK,
		      "%s: %s", text, error.message);
	data = psg_tensor_data(in);
	for (int64_t i = 0; i < psg_shape_elements(psg_tensor_shape(in)); i++)
		data[i] = (float)(i + 1);
	ck_assert_msg(psg_model_run(model, device, &in, 1, out, psg_model_outputs(model), NULL,
				    NULL, &error) == PSG_OK,
		      "%s: %s", text, error.message);
	psg_tensor_unref(in);
	psg_tensor_unref(out[1]);
	psg_device_close(device);
	return out[0];
}

START_TEST(gives)
{
	const char *text = good[_i].model;
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_msg(load_text(text, &model, &error) == PSG_OK, "%s: %s", text, error.message);
	for (int d = 0; d < 2; d++) {
		psg_tensor *out = run(model, d == 0 ? "cpu" : "reference", text);
		int64_t n = psg_shape_elements(psg_tensor_shape(out)), i = 0;
		const float *have = psg_tensor_const_data(out);
		const char *want = good[_i].want;
		char *end;

		for (double value = strtod(want, &end); end != want; value = strtod(want, &end)) {
			ck_assert_msg(
				i < n && fabs((double)have[i] - value) <= 2e-5 * (1 + fabs(value)),
				"%s: element %lld of %lld is %g, should be %g", text, (long long)i,
				(long long)n, i < n ? (double)have[i] : NAN, value);
			want = end;
			i++;
		}
		ck_assert_msg(i == n, "%s: %lld elements, should be %lld", text, (long long)n,
			      (long long)i);
		psg_tensor_unref(out);
	}
	psg_model_unref(model);
}
END_TEST

/* --- what is refused, and why --- */

static const struct {
	const char *model;
	psg_status status;
	const char *words; /* of the message */
} bad[] = {
	{ "opset 6; in x 2 3; w b 2 = 1 2; Add x b > y broadcast=1 axis=1; out y", PSG_FORMAT,
	  "add: [2,3] and [2] do not" },
	{ "opset 6; in x 2 3; w b 2 3 = 1 2 3 4 5 6; Add x b > y broadcast=1 axis=1; out y",
	  PSG_FORMAT, "[2,3] does not line up with [2,3] from axis 1 on" },
	{ "opset 6; in x 2 3; w b 2 = 1 2; Add x b > y broadcast=1 axis=-3; out y", PSG_FORMAT,
	  "from axis -3 on" },
	{ "opset 7; in x 2 3; w b 2 = 1 2; Add x b > y broadcast=1 axis=0; out y", PSG_UNSUPPORTED,
	  "attribute 'broadcast' is not understood" },
	{ "opset 6; in x 1 2 2; w s 3 = 1 2 3; PRelu x s > y; out y", PSG_FORMAT, "prelu" },
	{ "opset 6; in x 1 2 1; w s 2 = 1 2; "
	  "BatchNormalization x s s s s > y epsilon=0.1; out y",
	  PSG_UNSUPPORTED, "'is_test' is 0: training" },
	{ "opset 6; in x 2; Dropout x > y ratio=0.5; out y", PSG_UNSUPPORTED, "training" },
	{ "opset 2; in x 1 2; Pad x > y pads=[1,1]; out y", PSG_FORMAT, "2 pads for 2 dimensions" },
	{ "opset 7; in x 1 1 1 2; Upsample x > y scales=[2.0,1.0]; out y", PSG_FORMAT,
	  "scales must be 4 numbers" },
	{ "opset 4; in x 2; Concat x x > y; out y", PSG_FORMAT, "'axis' is missing" },
	{ "opset 5; in x 2; w n = 2; w a = 1; Tile x n a > y; out y", PSG_FORMAT,
	  "2 tiles along axis 1 of 1 dimensions" },
	{ "opset 1; in x 1 1 2; LpPool x > y kernel_shape=[2] p=1.5; out y", PSG_UNSUPPORTED,
	  "'p' is not a positive integer" },
	{ "opset 1; in x 2; Cast x > y to=DOUBLE; out y", PSG_UNSUPPORTED, "'to' is not FLOAT" },
	{ "opset 10; in x 2; Round x > y; out y", PSG_UNSUPPORTED, "not there in opset 10" },
	{ "opset 0; in x 2; Relu x > y; out y", PSG_FORMAT, "names no opset" },
	{ "opset -1; in x 2; Relu x > y; out y", PSG_UNSUPPORTED, "opset -1; 1 to 17 are read" },
	{ "opset 18; in x 2; Relu x > y; out y", PSG_UNSUPPORTED, "opset 18; 1 to 17 are read" },
	/* composed ones */
	{ "in x 2; Xor x > y; out y", PSG_FORMAT, "1 inputs of data, 2 is right" },
	{ "in x 2; Xor x - > y; out y", PSG_FORMAT, "1 inputs of data, 2 is right" },
	{ "in x 2; Xor - x > y; out y", PSG_FORMAT, "2 inputs of data, 2 is right" },
	{ "in x 2; IsNaN x x > y; out y", PSG_FORMAT, "2 inputs of data, 1 is right" },
	{ "in x 1 3 1; LRN x > y; out y", PSG_FORMAT, "'size' is not positive" },
	{ "in x 1 3; LRN x > y size=1; out y", PSG_FORMAT, "2 dimensions, at least 3" },
	{ "in x 2; Hardmax x > y axis=1; out y", PSG_FORMAT, "axis 1" },
	{ "in x 2; w g 2 = 1 1; LayerNormalization x g > y m axis=1; out m", PSG_FORMAT, "axis 1" },
	{ "in x 2 2; MeanVarianceNormalization x > y; out y", PSG_FORMAT, "axis 2" },
	{ "in x 2; Dropout x > y m z; out y", PSG_UNSUPPORTED, "3 outputs" },
	/* attributes that contradict each other, the weights or the input */
	{ "in x 1 1 4; w k 1 1 2 = 1 1; Conv x k > y kernel_shape=[3]; out y", PSG_FORMAT,
	  "kernel_shape says 3 for spatial dimension 0, the weights are [1,1,2]" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; Conv x k > y kernel_shape=[2] strides=[1,1]; out y",
	  PSG_FORMAT, "'strides' does not fit the others" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; Conv x k > y strides=[1,1]; out y", PSG_FORMAT,
	  "2 spatial dimensions, the input is [1,1,4]" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; Conv x k > y pads=[1,1,1]; out y", PSG_FORMAT,
	  "'pads' needs two entries" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; Conv x k > y strides=[0]; out y", PSG_FORMAT,
	  "'strides' has a number below 1" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; ConvTranspose x k > y output_padding=[0,9]; out y",
	  PSG_FORMAT, "2 spatial dimensions, the input is [1,1,4]" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; ConvTranspose x k > y output_padding=[-1]; out y",
	  PSG_FORMAT, "'output_padding' has a number below 0" },
	{ "in x 1 1 4; w k 1 1 2 = 1 1; Conv x k > y group=0; out y", PSG_FORMAT,
	  "'group' must be positive" },
	{ "in x 2; Concat x x > y axis=1.0; out y", PSG_FORMAT, "'axis' is of the wrong type" },
	{ "in x 2; Concat x x > y axis=0 axis=0; out y", PSG_FORMAT, "'axis' is given twice" },
};

START_TEST(is_refused)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_msg(load_text(bad[_i].model, &model, &error) == bad[_i].status, "%s: %s: %s",
		      bad[_i].model, psg_status_name(error.code), error.message);
	ck_assert_msg(strstr(error.message, bad[_i].words) != NULL, "%s: '%s' has no '%s'",
		      bad[_i].model, error.message, bad[_i].words);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("onnx_opsets");
	TCase *tests = tcase_create("opsets");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, gives, 0, COUNT(good));
	tcase_add_loop_test(tests, is_refused, 0, COUNT(bad));
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
