// SPDX-License-Identifier: Apache-2.0
// What the programs beside this file share.
import {readFileSync} from 'node:fs';
import ort from 'onnxruntime-node';

const arrays = {float32: Float32Array, int64: BigInt64Array};

/// Inputs from [{"name", "dtype": "float32"|"int64", "shape", "file"}], each file the little-endian
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

/// A session as its makers would have it for speed, on `threads` threads.
export function createSession(model, threads) {
  return ort.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
  });
}
