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

/** Whether outputs that this browser computes are those that were committed to. */
export async function computeAgain(given) {
  if (typeof WebAssembly !== "object") {
    throw new NotInThisBuild(
      "this browser has no WebAssembly, which computing again needs: " +
        "`commensal audit RECEIPT` does it on the command line",
    );
  }
  const recheck = await need(
    import("../verify/recheck.js"),
    "recheck",
    "judge, which computes answers again",
  );
  return recheck(given);
}
