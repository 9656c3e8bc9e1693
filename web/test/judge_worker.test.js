// SPDX-License-Identifier: Apache-2.0
// The judge's worker can be ended, and whatever ends it is no word about an answer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { JudgeFailed } from "../verify/judge.js";
import { recomputeInWorker } from "../verify/worker.js";

/** A worker that says what `script` makes of what it is asked. */
function workerOf(script) {
  const worker = {
    ended: 0,
    terminate() {
      this.ended += 1;
    },
    postMessage(asked) {
      queueMicrotask(() => script(worker, asked));
    },
  };
  return worker;
}
const say = (worker, data) => worker.onmessage({ data });

test("progress, then what was made", async () => {
  const seen = [];
  const worker = workerOf((self, asked) => {
    say(self, { progress: { done: 1, nodes: 2 } });
    say(self, { made: { root: asked.modelBytes } });
  });
  const made = await recomputeInWorker({ makeWorker: () => worker, modelBytes: "model",
    onProgress: (progress) => seen.push(progress) });
  assert.deepEqual(made, { root: "model" });
  assert.deepEqual(seen, [{ done: 1, nodes: 2 }]);
  assert.equal(worker.ended, 1);
});

test("what fails, stops or takes too long ends it", async () => {
  const scripts = {
    "no operator X": (self) => say(self, { failed: "no operator X" }),
    "its worker stopped: out of memory": (self) => self.onerror({ message: "out of memory" }),
    "its worker stopped: no reason given": (self) => self.onerror({}),
    "stopped: not done within 0.02 s": () => {},
  };
  for (const [message, script] of Object.entries(scripts)) {
    const worker = workerOf(script);
    await assert.rejects(recomputeInWorker({ makeWorker: () => worker, timeMsMax: 20 }), (error) =>
      error instanceof JudgeFailed && error.message === message);
    assert.equal(worker.ended, 1);
  }
});

test("who asked can cancel", async () => {
  const controller = new AbortController();
  const worker = workerOf(() => controller.abort());
  const { signal } = controller;
  const cancelled = { name: "JudgeFailed", message: "cancelled" };
  await assert.rejects(recomputeInWorker({ makeWorker: () => worker, signal }), cancelled);
  assert.equal(worker.ended, 1);
  const unused = () => assert.fail("none is to be started");
  await assert.rejects(recomputeInWorker({ makeWorker: unused, signal }), cancelled);
});
