// SPDX-License-Identifier: Apache-2.0
// The judge in WebAssembly: computes a model again, by the plain loops that say what the bits are
// (docs/numerics.md). Slow, exact, and on one thread: pages run it in a worker (worker.js).

import { joined, toHex, u32, u64 } from "./bytes.js";
import { Reader, readTensor } from "./encoding.js";
import { stateRoot } from "./roots.js";

/** The judge could not say: too little memory, an operator it lacks, a model it cannot read. */
export class JudgeFailed extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "JudgeFailed";
  }
}

const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 58;

/** What the C library asks of its system: only what it says before it aborts is listened to. */
function system(memory, say) {
  const refuse = () => NOT_SUPPORTED;
  const write = (fd, pieces, count, written) => {
    if (fd !== 1 && fd !== 2) return BAD_DESCRIPTOR;
    const view = new DataView(memory().buffer);
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const at = view.getUint32(pieces + 8 * i, true);
      const size = view.getUint32(pieces + 8 * i + 4, true);
      say(new TextDecoder().decode(new Uint8Array(memory().buffer, at, size)));
      total += size;
    }
    view.setUint32(written, total, true);
    return 0;
  };
  const exit = (code) => {
    throw new Error(`it ended with ${code}`);
  };
  const known = { fd_write: write, proc_exit: exit, fd_prestat_get: () => BAD_DESCRIPTOR };
  return new Proxy(known, { get: (all, name) => all[name] ?? refuse });
}

/** A judge with memory of its own. After a JudgeFailed that says "stopped" it is of no use. */
export class Judge {
  #exports;
  #said = "";
  #onNode = () => {};

  /** `wasm`: the bytes of judge.wasm, or a WebAssembly.Module. */
  static async create(wasm) {
    if (typeof WebAssembly === "undefined") {
      throw new JudgeFailed(
        "this browser has no WebAssembly: save the receipt and check it with commensal receipts",
      );
    }
    const judge = new Judge();
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const imports = { judge: { progress: (done) => judge.#onNode(done) } };
    for (const { module: from } of WebAssembly.Module.imports(module)) {
      imports[from] ??= system(() => judge.#exports.memory, (text) => (judge.#said += text));
    }
    judge.#exports = (await WebAssembly.instantiate(module, imports)).exports;
    judge.#exports._initialize();
    return judge;
  }

  /** One fused multiply-add, rounded once. */
  fmaf(x, y, z) {
    return this.#exports.judge_fmaf(x, y, z);
  }
  fma(x, y, z) {
    return this.#exports.judge_fma(x, y, z);
  }

  #call(name, bytes) {
    const { judge_alloc, judge_free, judge_result, judge_result_size, memory } = this.#exports;
    let refused, said;
    try {
      const at = judge_alloc(bytes.length);
      if (at === 0 && bytes.length > 0) throw new Error("no memory is left");
      new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
      refused = this.#exports[name](at, bytes.length) !== 0;
      judge_free(at);
      said = new Uint8Array(memory.buffer, judge_result(), judge_result_size()).slice();
    } catch (error) {
      const why = this.#said.trim().split("\n").at(-1) || error.message;
      throw new JudgeFailed(`the judge stopped: ${why}`, { cause: error });
    }
    if (refused) throw new JudgeFailed(new TextDecoder().decode(said));
    return said;
  }

  /** Reads an ONNX file: `{graph_root, weight_root, numericsVersion, nodes}`, roots as found. */
  load(modelBytes) {
    const reader = new Reader(this.#call("judge_load", modelBytes), "judge");
    return {
      graph_root: toHex(reader.raw(32)), weight_root: toHex(reader.raw(32)),
      numericsVersion: reader.u32(), nodes: reader.u32(),
    };
  }

  /** Computes what was loaded: `{outputs, root}`. `onNode(done)` is called behind each node. */
  run(inputs, onNode = () => {}) {
    this.#onNode = onNode;
    const reader = new Reader(this.#call("judge_run", encodeTensors(inputs)), "judge");
    const outputs = reader.list(readTensor);
    const root = toHex(reader.raw(32));
    reader.finish();
    if (toHex(stateRoot(outputs)) !== root) {
      throw new JudgeFailed("the judge's root is not that of its outputs");
    }
    return { outputs, root };
  }
}

function encodeTensors(tensors) {
  const utf8 = (text) => new TextEncoder().encode(text);
  const parts = tensors.flatMap((tensor) => {
    const name = utf8(tensor.name);
    return [
      u32(name.length), name, Uint8Array.of(tensor.number, tensor.shape.length),
      ...tensor.shape.map(u64), u64(tensor.elements.length), tensor.elements,
    ];
  });
  return joined([u32(tensors.length), ...parts]);
}

/**
 * Computes a model on inputs (tensors.js, in the model's order) once.
 * Returns `{outputs, root, graph_root, weight_root, numericsVersion}`. `onProgress({done, nodes})`:
 * of models with loops `done` may pass `nodes`. Throws JudgeFailed. Blocks until it is done: in
 * pages recomputeInWorker() of worker.js is to be used.
 */
export async function recompute({ wasm, modelBytes, inputs, onProgress = () => {} }) {
  const judge = await Judge.create(wasm);
  const { nodes, ...model } = judge.load(modelBytes);
  onProgress({ done: 0, nodes });
  return { ...model, ...judge.run(inputs, (done) => onProgress({ done, nodes })) };
}
