// SPDX-License-Identifier: Apache-2.0
// What the browser checks by itself, loaded when it is asked for.

/** The judge is not in this page, or cannot run in this browser: nothing is known then. */
export class NotInThisBuild extends Error {}

/** What verifyReceipt() of web/verify gives. */
export async function checkReceipt(given) {
  const { verifyReceipt } = await import("../verify/receipt.js");
  return verifyReceipt(given);
}

const WASM = "/page/judge.wasm";
const WORKER = "/page/judge_worker.js";

/**
 * {outcome: "holds", "differs", "invalid" or "unknown", detail}: whether the model, computed again
 * in this browser, gives what was committed to. `fetchModel`() gives its file; `onProgress`(share).
 */
export async function computeAgain({ fetchModel, onProgress, ...given }) {
  if (typeof WebAssembly !== "object") {
    throw new NotInThisBuild(
      "this browser has no WebAssembly, which computing again needs: " +
        "`commensal audit RECEIPT` does it on the command line",
    );
  }
  const { recheck } = await import("../verify/recheck.js");
  const { recomputeInWorker } = await import("../verify/worker.js");
  const judge = await fetch(WASM, { credentials: "omit" }).catch(() => {
    throw new Error("the judge did not come: the gateway does not answer");
  });
  if (judge.status === 404) {
    throw new NotInThisBuild("this build of the page has no judge, which computes answers again");
  }
  if (!judge.ok) throw new Error(`the judge did not come: the gateway answered ${judge.status}`);
  const wasm = await judge.arrayBuffer();
  const compute = ({ modelBytes, inputs }) =>
    recomputeInWorker({
      makeWorker: () => new Worker(WORKER, { type: "module" }),
      wasm,
      modelBytes,
      inputs,
      onProgress: ({ done, nodes }) => onProgress(Math.min(1, done / Math.max(1, nodes))),
    });
  return recheck({ ...given, fetchModel, compute });
}
