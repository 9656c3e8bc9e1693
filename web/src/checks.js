// SPDX-License-Identifier: Apache-2.0
// What the browser checks by itself, loaded when it is asked for. A build without these files says
// so; nothing is called checked then.

export class NotInThisBuild extends Error {}

async function need(module, name, what) {
  const found = (await module)[name];
  if (typeof found !== "function")
    throw new NotInThisBuild(`this build of the page has no ${what}`);
  return found;
}

/** {provider, gateway, checks: [{name, ok, detail}], inputs, outputs}. */
export async function checkReceipt(given) {
  const verify = await need(
    import("../verify/receipt.js"),
    "verifyReceipt",
    "code that checks receipts",
  );
  return verify(given);
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
  const what = "judge, which computes answers again";
  const recheck = await need(import("../verify/recheck.js"), "recheck", what);
  const inWorker = await need(import("../verify/worker.js"), "recomputeInWorker", what);
  const judge = await fetch(WASM, { credentials: "omit" }).catch(() => {
    throw new Error("the judge did not come: the gateway does not answer");
  });
  if (judge.status === 404) throw new NotInThisBuild(`this build of the page has no ${what}`);
  if (!judge.ok) throw new Error(`the judge did not come: the gateway answered ${judge.status}`);
  const wasm = await judge.arrayBuffer();
  const compute = ({ modelBytes, inputs }) =>
    inWorker({
      makeWorker: () => new Worker(WORKER, { type: "module" }),
      wasm,
      modelBytes,
      inputs,
      onProgress: ({ done, nodes }) => onProgress(Math.min(1, done / Math.max(1, nodes))),
    });
  return recheck({ ...given, fetchModel, compute });
}
