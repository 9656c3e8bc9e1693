// SPDX-License-Identifier: Apache-2.0
// Runs a model once in ONNX Runtime, on one thread:
//   node run_onnxruntime.mjs MODEL.onnx REQUEST.json OUT_DIR
// REQUEST.json is what feedsOf reads. Writes OUT_DIR/K.bin likewise, and prints
// [{"name", "dtype", "shape", "file"}] for them.
import {readFileSync} from 'node:fs';
import {createSession, feedsOf, writeOutputs} from './onnxruntime.mjs';

const [model, request, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node run_onnxruntime.mjs MODEL.onnx REQUEST.json OUT_DIR');
  process.exit(2);
}
const feeds = feedsOf(JSON.parse(readFileSync(request, 'utf8')));
const session = await createSession(model, 1);
console.log(JSON.stringify(await writeOutputs(session, feeds, out, '')));
