// SPDX-License-Identifier: Apache-2.0
// Runs a model once in ONNX Runtime, on one thread:
//   node run_onnxruntime.mjs MODEL.onnx REQUEST.json OUT_DIR
// REQUEST.json: [{"name", "dtype": "float32"|"int64", "shape", "file"}], each file the little-endian
// elements alone. Writes OUT_DIR/K.bin likewise, and prints [{"name", "dtype", "shape"}] for them.
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import ort from 'onnxruntime-node';

const arrays = {float32: Float32Array, int64: BigInt64Array};

const [model, request, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node run_onnxruntime.mjs MODEL.onnx REQUEST.json OUT_DIR');
  process.exit(2);
}
const feeds = {};
for (const {name, dtype, shape, file} of JSON.parse(readFileSync(request, 'utf8'))) {
  const bytes = readFileSync(file);
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  feeds[name] = new ort.Tensor(dtype, new arrays[dtype](copy), shape);
}
const session = await ort.InferenceSession.create(
    model, {intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: 'all'});
const made = await session.run(feeds);
const answer = session.outputNames.map((name, k) => {
  const {type, dims, data} = made[name];
  writeFileSync(join(out, `${k}.bin`), Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return {name, dtype: type, shape: dims};
});
console.log(JSON.stringify(answer));
