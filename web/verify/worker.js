// SPDX-License-Identifier: Apache-2.0
// Runs the judge beside the page, which can end it at any time.

import { JudgeFailed } from "./judge.js";

const TIME_MS_MAX = 10 * 60 * 1000;

/**
 * As recompute() of judge.js. `makeWorker()` starts judge_worker.js: the page knows where it is.
 * `signal`: an AbortSignal; `timeMsMax`: then it ends too. Throws JudgeFailed, which says nothing
 * about the answer.
 */
export function recomputeInWorker({
  makeWorker, wasm, modelBytes, inputs, onProgress = () => {}, signal, timeMsMax = TIME_MS_MAX,
}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new JudgeFailed("cancelled"));
    const worker = makeWorker();
    let timer;
    const end = (settle, value) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      worker.terminate();
      settle(value);
    };
    const cancel = () => end(reject, new JudgeFailed("cancelled"));
    timer = setTimeout(() => {
      end(reject, new JudgeFailed(`stopped: not done within ${timeMsMax / 1000} s`));
    }, timeMsMax);
    signal?.addEventListener("abort", cancel);
    worker.onmessage = ({ data }) => {
      if (data.progress) onProgress(data.progress);
      else if (data.made) end(resolve, data.made);
      else end(reject, new JudgeFailed(data.failed));
    };
    worker.onerror = (event) => {
      end(reject, new JudgeFailed(`its worker stopped: ${event.message ?? "no reason given"}`));
    };
    worker.postMessage({ wasm, modelBytes, inputs });
  });
}
