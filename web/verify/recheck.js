// SPDX-License-Identifier: Apache-2.0
// An answer, down to its bits: the receipt is checked, the model computed again here, and what
// comes out held against what the provider committed to.

import { equal, toHex } from "./bytes.js";
import { verifyReceipt } from "./receipt.js";
import { commitStep, stateRoot } from "./roots.js";

const ANSWER = 0;

/** What was found. Only `holds` says that the answer is right, only `differs` that it is not. */
export const OUTCOMES = Object.freeze({
  holds: "holds", // the same bits
  differs: "differs", // other bits than were committed to
  invalid: "invalid", // the receipt, or what opens it, is not what it should be
  unknown: "unknown", // it could not be found out
});

function describe(tensor) {
  return `'${tensor.name}' ${tensor.dtype}[${tensor.shape}]`;
}

/** Why outputs are not even alike, or null: order, names, types, shapes. */
function unlike(found, committed) {
  const some = found.map(describe).join(", ");
  const others = committed.map(describe).join(", ");
  return some === others ? null : `computed here: ${some}; committed to: ${others}`;
}

function firstDifference(found, committed) {
  for (const [i, tensor] of found.entries()) {
    const other = committed[i].elements;
    const at = tensor.elements.findIndex((byte, k) => byte !== other[k]);
    if (at >= 0 || tensor.elements.length !== other.length) {
      return `output '${tensor.name}' differs from byte ${Math.max(at, 0)} on`;
    }
  }
  return "the outputs are the same, their order or names are not";
}

/** Why the judge cannot compute this job; null where it can. */
function beyondTheJudge(job) {
  if (job.kind !== ANSWER || job.steps !== 1n || job.noise || job.feeds.length > 0) {
    return "only answers are computed again here, of rollouts `commensal audit` does it";
  }
  return null;
}

function compare(result, recomputed) {
  const { receipt, opening } = result.decoded;
  const { job } = receipt;
  if (recomputed.numericsVersion !== job.numericsVersion) {
    return [OUTCOMES.unknown, `the job follows version ${job.numericsVersion} of the numeric ` +
      `specification, this judge version ${recomputed.numericsVersion}`];
  }
  if (recomputed.graph_root !== toHex(job.graphRoot) ||
      recomputed.weight_root !== toHex(job.weightRoot)) {
    return [OUTCOMES.unknown, "the model's file, as read here, is not the one that the job names"];
  }
  // From the outputs themselves, not from what the judge said of them.
  const root = stateRoot(recomputed.outputs);
  const commitment = commitStep(job, receipt.step, root, opening.outputSalt);
  const shapes = unlike(recomputed.outputs, opening.outputs);
  if (shapes) return [OUTCOMES.differs, shapes];
  if (!equal(commitment, receipt.commitment)) {
    return [OUTCOMES.differs, firstDifference(recomputed.outputs, opening.outputs)];
  }
  return [OUTCOMES.holds, `computed again to the same bits: root ${toHex(root)}`];
}

/**
 * `receipt`, `opening`, `model`, `id`, `expected`, `asked`, `answered`: as verifyReceipt() takes
 * them. `fetchModel()` gives the model's file; `compute({modelBytes, inputs})` what recompute() of
 * judge.js does, wherever it runs.
 *
 * Returns `{outcome, detail, verified, recomputed}`: outcome is one of OUTCOMES. A download or a
 * judge that fails is "unknown": it says nothing about the provider.
 */
export async function recheck({ fetchModel, compute, ...asked }) {
  const verified = await verifyReceipt(asked);
  const say = (outcome, detail, recomputed = null) => ({ outcome, detail, verified, recomputed });
  const bad = verified.checks.find((check) => check.ok === false);
  if (bad) return say(OUTCOMES.invalid, `${bad.name}: ${bad.detail}`);
  const missing = verified.checks.find((check) => check.ok !== true);
  if (missing) return say(OUTCOMES.unknown, `${missing.name}: ${missing.detail}`);
  const beyond = beyondTheJudge(verified.decoded.receipt.job);
  if (beyond) return say(OUTCOMES.unknown, beyond);
  let recomputed;
  try {
    const modelBytes = await fetchModel();
    recomputed = await compute({ modelBytes, inputs: verified.inputs });
  } catch (error) {
    return say(OUTCOMES.unknown, `it could not be computed again: ${error.message}`);
  }
  return say(...compare(verified, recomputed), recomputed);
}
