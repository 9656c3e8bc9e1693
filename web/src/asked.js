// SPDX-License-Identifier: Apache-2.0
// What this tab has asked and was answered, so that a receipt can be held against it. It is kept in
// memory alone, and of the last few: who loads the page again has nothing to compare any more.
import { tensorOfJson, tensorOfOip } from "../verify/tensors.js";

const KEPT_MAX = 16;

function tensors(list) {
  return list.map((one) => {
    try {
      const { name, datatype, shape, elements } = one;
      const isBinary = elements instanceof Uint8Array; // what is shown is made of it then
      return isBinary ? tensorOfOip(name, datatype, shape, elements) : tensorOfJson(one);
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      return { name: one.name, why: error.message };
    }
  });
}

export function makeAsked() {
  const kept = new Map();
  return {
    /** `model` as it was shown when it was asked; `answer` of infer(). */
    keep(model, inputs, answer) {
      const { commensal_receipt: id, commensal_provider: provider } = answer.parameters ?? {};
      if (!id) return;
      kept.delete(id);
      const sent = JSON.parse(JSON.stringify(inputs)); // which has no -0: it was sent as 0
      kept.set(id, { model, inputs: sent, outputs: answer.outputs, provider });
      if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
    },

    /** What verifyReceipt() takes besides the receipt; null: this tab has not asked for it. */
    of(id) {
      const found = kept.get(id);
      if (!found) return null;
      const { model, inputs, outputs, provider } = found;
      return {
        model,
        asked: tensors(inputs),
        answered: tensors(outputs),
        expected: provider ? { provider } : {},
      };
    },
  };
}

export const asked = makeAsked();
