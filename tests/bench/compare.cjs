// SPDX-License-Identifier: Apache-2.0
// Puts the JSON of two runtimes side by side: node compare.cjs OURS.json... -- THEIRS.json...
// Runs of the same case in several files are taken together.  Fails when the outputs differ.
const fs = require('fs');

function median(ms) {
	const n = ms.length;
	return n % 2 ? ms[(n - 1) / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
}

// All runs of each case, by model, shape and threads.
function gather(files) {
	const cases = new Map();
	let runtime = '';
	for (const file of files) {
		const result = JSON.parse(fs.readFileSync(file, 'utf8'));
		runtime = result.runtime;
		for (const c of result.cases) {
			const key = [c.model, c.shape.join('x'), c.threads].join(' ');
			if (!cases.has(key))
				cases.set(key, { ms: [], rms: c.output_rms });
			cases.get(key).ms.push(...c.runs_ms);
		}
	}
	for (const c of cases.values())
		c.ms.sort((a, b) => a - b);
	return { runtime, cases };
}

const at = process.argv.indexOf('--');
const ours = gather(process.argv.slice(2, at));
const theirs = gather(process.argv.slice(at + 1));
const runs = [...ours.cases.values()][0].ms.length;
let differ = 0;
console.log(`${ours.runtime} beside ${theirs.runtime}; milliseconds, ${runs} runs each\n`);
console.log('model        input        threads |',
	'median: ours   theirs  ratio | least: ours   theirs  ratio');
const keys = [...ours.cases.keys()].sort((a, b) => a.split(' ')[2] - b.split(' ')[2]);
for (const key of keys) {
	const a = ours.cases.get(key), b = theirs.cases.get(key);
	const [model, shape, threads] = key.split(' ');
	const numbers = [median(a.ms), median(b.ms), a.ms[0], b.ms[0]];
	const ms = numbers.map((v) => v.toFixed(2));
	console.log(model.padEnd(12), shape.padEnd(12), threads.padStart(7), '|',
		ms[0].padStart(12), ms[1].padStart(8), (numbers[0] / numbers[1]).toFixed(2).padStart(6), '|',
		ms[2].padStart(11), ms[3].padStart(8), (numbers[2] / numbers[3]).toFixed(2).padStart(6));
	// Rounding differs; a missing layer or a wrong input would show in the first digits.
	if (Math.abs(a.rms - b.rms) > 1e-3 * b.rms) {
		console.log(`  not the same output: root mean square ${a.rms} and ${b.rms}`);
		differ++;
	}
}
process.exit(differ ? 1 : 0);
