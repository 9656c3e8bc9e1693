// SPDX-License-Identifier: Apache-2.0
// judge.wasm where it is asked for too much: in a thread that is ended, and with little memory.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Judge, JudgeFailed } from "../verify/judge.js";
import { tensorOf } from "../verify/tensors.js";
import { recomputeInWorker } from "../verify/worker.js";
import { makeModel, message } from "./made_model.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const WASM = process.env.COMMENSAL_JUDGE ?? here("../../build/judge/judge.wasm");
const skip = existsSync(WASM) ? false : "no judge.wasm: scripts/build-judge makes it";
const wasm = skip ? null : readFileSync(WASM);

/** A browser's worker out of node's. */
function makeWorker() {
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    globalThis.self = { postMessage: (said) => parentPort.postMessage(said) };
    parentPort.on("message", (data) => self.onmessage({ data }));
    import(workerData).then(() => parentPort.postMessage({ progress: "loaded" }));`;
  const url = new URL("../verify/judge_worker.js", import.meta.url).href;
  const inner = new Worker(code, { eval: true, workerData: url });
  const worker = {
    ended: null,
    terminate: () => (worker.ended = inner.terminate()),
    // As a browser does, what is posted waits until the module has run.
    postMessage: (asked) => (worker.asked = asked),
  };
  inner.on("message", (data) => {
    if (data.progress === "loaded") inner.postMessage(worker.asked);
    else worker.onmessage({ data });
  });
  inner.on("error", (error) => worker.onerror(error));
  return worker;
}

const square = (side) => ({ name: "x", shape: [side, side] });
const products = (side) => makeModel({
  nodes: [
    { op: "Relu", inputs: ["x"], outputs: ["a"] },
    { op: "MatMul", inputs: ["a", "a"], outputs: ["y"] },
  ],
  inputs: [square(side)], outputs: [{ name: "y", shape: [side, side] }],
});
const ones = (side) =>
  tensorOf("x", 1, [side, side], new Uint8Array(new Float32Array(side * side).fill(1).buffer));

test("progress comes while it computes, then the answer", { skip }, async () => {
  const seen = [];
  const { outputs } = await recomputeInWorker({
    makeWorker, wasm, modelBytes: products(8), inputs: [ones(8)],
    onProgress: ({ done, nodes }) => seen.push(`${done}/${nodes}`),
  });
  assert.deepEqual(seen, ["0/2", "1/2", "2/2"]);
  assert.deepEqual([...new Float32Array(Uint8Array.from(outputs[0].elements).buffer)], new Array(64).fill(8));
});

/** Begins minutes of work, and says how many milliseconds it took to end them. */
async function cancelledIn(module) {
  const controller = new AbortController();
  let worker, cancelled;
  const running = recomputeInWorker({
    makeWorker: () => (worker = makeWorker()), wasm: module, modelBytes: products(2048),
    inputs: [ones(2048)], signal: controller.signal,
    onProgress: ({ done }) => {
      if (done < 1) return;
      cancelled = performance.now();
      controller.abort();
    },
  });
  await assert.rejects(running, { name: "JudgeFailed", message: "cancelled" });
  await worker.ended;
  return performance.now() - cancelled;
}

test("minutes of work are ended within one second", { skip }, async () => {
  const module = await WebAssembly.compile(wasm);
  const took = [];
  // Beside others who compute, some of the threads may wait for their turns for longer than that.
  for (let i = 0; i < 3; ++i) took.push(await cancelledIn(module));
  assert.ok(took.filter((ms) => ms < 1000).length >= 2, `${took} ms`);
});

const widened = (counts) => makeModel({
  nodes: counts.map((_, i) => ({ op: "Expand", inputs: ["x", `to${i}`], outputs: [`wide${i}`] })),
  constants: counts.map((count, i) => ({ name: `to${i}`, values: [count] })),
  inputs: [{ name: "x", shape: [1] }],
  outputs: counts.map((count, i) => ({ name: `wide${i}`, shape: [count] })),
});

test("more than 1 GiB of tensors is refused, and the judge goes on", { skip }, async () => {
  const judge = await Judge.create(wasm);
  const x = [tensorOf("x", 1, [1], new Uint8Array(4))];
  for (const counts of [[2 ** 29], [2 ** 40], [2 ** 27, 2 ** 27, 2 ** 27]]) {
    assert.throws(() => {
      judge.load(widened(counts));
      judge.run(x);
    }, (error) => error instanceof JudgeFailed && /memory|large|elements/.test(error.message) &&
      !error.message.includes("\n") && !error.message.includes("stopped"));
  }
  judge.load(widened([2 ** 20]));
  assert.equal(judge.run(x).outputs[0].elements.length, 2 ** 22);
});

test("a file that nests without end is refused", { skip }, async () => {
  const judge = await Judge.create(wasm);
  let node = message(4, "If");
  for (let depth = 0; depth < 400; ++depth) {
    node = message(5, message(6, message(1, node))); // an attribute's graph's node
  }
  assert.throws(() => judge.load(Uint8Array.from(message(7, message(1, node)))), (error) =>
    error instanceof JudgeFailed && !error.message.includes("stopped"));
});
