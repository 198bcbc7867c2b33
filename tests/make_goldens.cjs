// SPDX-License-Identifier: Apache-2.0
// Records what onnxruntime makes of small, deterministic inputs, for tests/test_golden.c.
//
//     npm install --ignore-scripts onnxruntime-node@1.30.0
//     NODE_PATH=node_modules node tests/make_goldens.cjs MODELS_FOLDER tests/golden
//
// An input needs no file: it is `pixel` below, which the test repeats in C.
// Files hold little-endian float32: detection maps and directions whole; of
// recognition, for each step, the arg-max class, its probability, and every
// 53rd class's probability.
const ort = require('onnxruntime-node');
const fs = require('fs');
const path = require('path');

const cases = [
	{ name: 'det_96x160', model: 'ch_PP-OCRv4_det_infer.onnx', dims: [1, 3, 96, 160] },
	{ name: 'det_64x64', model: 'ch_PP-OCRv4_det_infer.onnx', dims: [1, 3, 64, 64] },
	{ name: 'rec_48x64', model: 'ch_PP-OCRv4_rec_infer.onnx', dims: [1, 3, 48, 64] },
	{ name: 'rec_48x101', model: 'ch_PP-OCRv4_rec_infer.onnx', dims: [1, 3, 48, 101] },
	{ name: 'cls_48x192', model: 'ch_ppocr_mobile_v2.0_cls_infer.onnx', dims: [1, 3, 48, 192] },
];

// Dark bars with gaps, like words, on a light ground: integers only, so that C gives the same.
function pixel(det, y, x) {
	const line = det ? y % 32 : (y * 32 / 48) | 0;
	const ink = line >= 10 && line < 22 && (x % 41) < 33 && ((x * 7 + line * 5) % 11) < 6;
	return ink ? -1.5 : 1.75;
}

function input(dims, det) {
	const [, C, H, W] = dims;
	const data = new Float32Array(C * H * W);
	for (let c = 0; c < C; c++)
		for (let y = 0; y < H; y++)
			for (let x = 0; x < W; x++)
				data[(c * H + y) * W + x] = pixel(det, y, x);
	return new ort.Tensor('float32', data, dims);
}

function digest(output) {
	const [, T, V] = output.dims;
	const numbers = [];
	for (let t = 0; t < T; t++) {
		const row = output.data.subarray(t * V, (t + 1) * V);
		const best = row.indexOf(Math.max(...row));
		numbers.push(best, row[best]);
		for (let v = 0; v < V; v += 53)
			numbers.push(row[v]);
	}
	return Float32Array.from(numbers);
}

(async () => {
	const [, , models, folder] = process.argv;
	for (const c of cases) {
		const session = await ort.InferenceSession.create(path.join(models, c.model), { intraOpNumThreads: 1 });
		const outputs = await session.run({ x: input(c.dims, c.name.startsWith('det')) });
		const output = outputs[session.outputNames[0]];
		const numbers = c.name.startsWith('rec') ? digest(output) : output.data;
		fs.writeFileSync(path.join(folder, c.name + '.f32'), Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength));
		console.log(c.name, output.dims.join('x'), 'max', Math.max(...output.data).toFixed(4));
	}
})();
