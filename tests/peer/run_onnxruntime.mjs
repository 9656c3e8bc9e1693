// SPDX-License-Identifier: Apache-2.0
// Runs a model once in ONNX Runtime, on one thread:
//   node run_onnxruntime.mjs MODEL.onnx REQUEST.json OUT_DIR
// REQUEST.json is what feedsOf reads. Writes OUT_DIR/K.bin likewise, and prints
// [{"name", "dtype", "shape"}] for them.
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createSession, feedsOf} from './onnxruntime.mjs';

const [model, request, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node run_onnxruntime.mjs MODEL.onnx REQUEST.json OUT_DIR');
  process.exit(2);
}
const feeds = feedsOf(JSON.parse(readFileSync(request, 'utf8')));
const session = await createSession(model, 1);
const made = await session.run(feeds);
const answer = session.outputNames.map((name, k) => {
  const {type, dims, data} = made[name];
  writeFileSync(join(out, `${k}.bin`), Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return {name, dtype: type, shape: dims};
});
console.log(JSON.stringify(answer));
