// SPDX-License-Identifier: Apache-2.0
// What `pagesift-gpu bench cpu --json` measures, with onnxruntime-node: same models, shapes and
// inputs, same JSON, so that compare.cjs can put both side by side.
//
//     NODE_PATH=FOLDER/node_modules node tests/bench/ort_bench.cjs MODELS [THREADS [REPEAT]]
const path = require('path');
const ort = require('onnxruntime-node');

const WARM_UP = 2; // as src/cli/bench_cpu.c

const benchmarks = [
	{ name: 'detection', file: 'ch_PP-OCRv4_det_infer.onnx', shape: [1, 3, 960, 960] },
	{ name: 'recognition', file: 'ch_PP-OCRv4_rec_infer.onnx', shape: [1, 3, 48, 320] },
	{ name: 'recognition', file: 'ch_PP-OCRv4_rec_infer.onnx', shape: [1, 3, 48, 640] },
	{ name: 'recognition', file: 'ch_PP-OCRv4_rec_infer.onnx', shape: [8, 3, 48, 320] },
	{ name: 'direction', file: 'ch_ppocr_mobile_v2.0_cls_infer.onnx', shape: [1, 3, 48, 192] },
];

// fill_input of src/cli/bench_cpu.c
function input(shape) {
	const data = new Float32Array(shape.reduce((a, b) => a * b));
	let state = 1;
	for (let i = 0; i < data.length; i++) {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		data[i] = (state >>> 8) / 8388608 - 1;
	}
	return new ort.Tensor('float32', data, shape);
}

function rootMeanSquare(data) {
	let sum = 0;
	for (const v of data)
		sum += v * v;
	return Math.sqrt(sum / data.length);
}

async function measure(session, benchmark, threads, repeat) {
	const feeds = { [session.inputNames[0]]: input(benchmark.shape) };
	const ms = [];
	let outputs;
	for (let i = 0; i < WARM_UP; i++)
		outputs = await session.run(feeds);
	const rms = rootMeanSquare(outputs[session.outputNames[0]].data);
	for (let i = 0; i < repeat; i++) {
		const begin = performance.now();
		await session.run(feeds);
		ms.push(performance.now() - begin);
	}
	ms.sort((a, b) => a - b);
	return { model: benchmark.name, shape: benchmark.shape, threads, runs_ms: ms, output_rms: rms };
}

(async () => {
	const [, , models, threadsText = '1', repeatText = '12'] = process.argv;
	const threads = Number(threadsText);
	const versions = ort.env.versions || {};
	const sessions = new Map();
	const cases = [];
	for (const b of benchmarks) {
		if (!sessions.has(b.file))
			sessions.set(b.file, await ort.InferenceSession.create(path.join(models, b.file), {
				intraOpNumThreads: threads,
				interOpNumThreads: 1,
				executionMode: 'sequential',
				graphOptimizationLevel: 'all',
			}));
		cases.push(await measure(sessions.get(b.file), b, threads, Number(repeatText)));
	}
	console.log(JSON.stringify({ runtime: `onnxruntime-node ${versions.node || ''}`.trim(), cases }));
})();
