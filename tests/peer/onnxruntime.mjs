// SPDX-License-Identifier: Apache-2.0
// What the programs beside this file share.
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import ort from 'onnxruntime-node';

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

/// Inputs from [{"name", "dtype": "float32", "shape", "file"}], each file the little-endian
/// elements alone.
export function feedsOf(request) {
  const feeds = {};
  for (const {name, dtype, shape, file} of request) {
    const bytes = readFileSync(file);
    const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    feeds[name] = new ort.Tensor(dtype, new arrays[dtype](copy), shape);
  }
  return feeds;
}

/// A session as its makers would have it for speed, on `threads` threads; `more` options.
export function createSession(model, threads, more = {}) {
  return ort.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
    ...more,
  });
}

/// What a run writes into, as ours does: without it each run pays for fresh outputs and their
/// collection. Empty where the runtime takes none of that kind. Runs it once or twice.
export async function preallocated(session, feeds) {
  const made = await session.run(feeds);
  try {
    await session.run(feeds, made);
    return [made];
  } catch {
    return [];
  }
}

/// Runs it once and writes each output K into FOLDER/PREFIXK.bin; returns what feedsOf reads.
export async function writeOutputs(session, feeds, folder, prefix) {
  const made = await session.run(feeds);
  return session.outputNames.map((name, k) => {
    const {type, dims, data} = made[name];
    const file = join(folder, `${prefix}${k}.bin`);
    writeFileSync(file, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    return {name, dtype: type, shape: dims, file};
  });
}
