// SPDX-License-Identifier: Apache-2.0
// What a receipt proves, checked here: neither gateway nor provider has to be believed.
//
// Checked are both signatures, and that inputs and outputs are those that were signed. That the
// outputs are *right* needs the model computed again: recheck.js.

import { equal, toHex } from "./bytes.js";
import { NotValid, decodeOpening, decodeReceipt } from "./encoding.js";
import {
  bodyOf, commitInput, commitStep, hashBack, leafHash, receiptId, rootOfPath, stateRoot,
} from "./roots.js";
import { addressText, batchDigest, recover } from "./signatures.js";

const STEPS_MAX = 1n << 20n;

function invalid(condition, message) {
  if (condition) throw new NotValid(message);
}

function checkSignature(batch, body, role, signer) {
  let found;
  try {
    const root = rootOfPath(leafHash(body), batch.index, batch.count, batch.path);
    found = recover(batchDigest(role, root, batch.count), batch.signature);
  } catch (error) {
    throw error instanceof RangeError ? new NotValid(error.message) : error;
  }
  invalid(
    !equal(found, signer),
    `recovers to ${addressText(found)}, expected ${addressText(signer)}: it was changed, or ` +
      "another signed",
  );
  return `${addressText(signer)} signed a batch of ${batch.count}, in which this is number ` +
    `${batch.index + 1n}`;
}

// What is signed follows from the job itself.
function checkProvider(receipt) {
  return checkSignature(receipt.provider, bodyOf(receipt), "provider", receipt.job.provider);
}
function checkGateway(receipt) {
  return checkSignature(receipt.client, bodyOf(receipt), "client", receipt.job.client);
}

function checkStep(receipt) {
  const { job, step } = receipt;
  invalid(step < 1n || step > job.steps, `step ${step}, expected 1 to ${job.steps}`);
  return `step ${step} of ${job.steps}`;
}

function checkModel(receipt, model) {
  const { graphRoot, weightRoot } = receipt.job;
  invalid(
    toHex(graphRoot) !== model.graph_root?.toLowerCase(),
    "the receipt is about another graph than the model's",
  );
  invalid(
    toHex(weightRoot) !== model.weight_root?.toLowerCase(),
    "the receipt is about other weights than the model's",
  );
  return `graph ${toHex(graphRoot).slice(0, 16)}..., weights ${toHex(weightRoot).slice(0, 16)}...`;
}

function checkBefore(opening) {
  const { before, step } = opening;
  if (step === 1n) {
    const shown = before || opening.outputsBefore.length || opening.saltBefore.some((b) => b !== 0);
    invalid(shown, "step 1 has none before it, but the opening shows one");
    return;
  }
  invalid(
    !before || !equal(before.job.encoding, opening.job.encoding) || before.step !== step - 1n,
    `step ${step} lacks the receipt of the step before it`,
  );
  checkStep(before);
  checkProvider(before);
  checkGateway(before);
  const root = stateRoot(opening.outputsBefore);
  invalid(
    !equal(commitStep(before.job, before.step, root, opening.saltBefore), before.commitment),
    `the state before does not open what step ${before.step} committed to`,
  );
}

function checkOpening(opening, receipt) {
  const { job, step } = receipt;
  invalid(
    !equal(opening.job.encoding, job.encoding) || opening.step !== step,
    "it is of another job or step than the receipt",
  );
  invalid(step > STEPS_MAX, `step ${step}, at most ${STEPS_MAX} are accepted`);
  const value = opening.noiseValue;
  const fits = job.noise
    ? equal(hashBack(value, step), job.noiseAnchor)
    : value.every((byte) => byte === 0);
  invalid(!fits, "the noise's value does not lead to its anchor");
  checkBefore(opening);
  return "of the same job and step";
}

function checkInputs(opening, receipt) {
  const root = stateRoot(opening.inputs);
  invalid(
    !equal(commitInput(root, opening.inputSalt), receipt.job.inputCommitment),
    "the inputs are not those that the job committed to",
  );
  return `root ${toHex(root)}`;
}

function checkOutputs(opening, receipt) {
  const root = stateRoot(opening.outputs);
  invalid(
    !equal(commitStep(receipt.job, receipt.step, root, opening.outputSalt), receipt.commitment),
    `the outputs are not those that step ${receipt.step} committed to`,
  );
  return `root ${toHex(root)}`;
}

/**
 * That what this page sent or got is what was signed. The gateway may have given it another shape
 * (a model's configuration says so), never other elements.
 */
function checkSame(what, own, opened) {
  const byName = new Map(opened.map((tensor) => [tensor.name, tensor]));
  for (const tensor of own) {
    const found = byName.get(tensor.name);
    const same =
      found && found.number === tensor.number && equal(found.elements, tensor.elements);
    invalid(!same, `${what} '${tensor.name}' of the answer is not what was signed`);
  }
  return own.map((tensor) => `'${tensor.name}'`).join(", ");
}

/** One check of all that can be compared; what cannot be is unknown by itself. */
function addSame(checks, name, what, own, opened) {
  const known = own.filter((tensor) => tensor.elements);
  if (known.length) checks.add(name, () => checkSame(what, known, opened));
  for (const tensor of own.filter((one) => !one.elements))
    checks.unknown(name, `${what} '${tensor.name}' was not compared: ${tensor.why}`);
}

/** Collects what holds, what does not, and what could not be looked at (`ok` is null). */
class Checks {
  list = [];

  /** Whether it holds. */
  add(name, check) {
    try {
      this.list.push({ name, ok: true, detail: check() });
      return true;
    } catch (error) {
      if (!(error instanceof NotValid)) throw error;
      this.list.push({ name, ok: false, detail: error.message });
      return false;
    }
  }

  unknown(name, why) {
    this.list.push({ name, ok: null, detail: why });
  }
}

function addReceipt(checks, receipt, { id, model, expected }) {
  checks.add("step", () => checkStep(receipt));
  checks.add("provider", () => checkProvider(receipt));
  checks.add("gateway", () => checkGateway(receipt));
  if (id !== undefined) {
    checks.add("id", () => {
      const found = toHex(receiptId(receipt));
      invalid(found !== id.toLowerCase(), `the gateway sent the receipt ${found}, expected ${id}`);
      return found;
    });
  }
  if (model) checks.add("model", () => checkModel(receipt, model));
  else checks.unknown("model", "the model's graph and weights were not given");
  for (const [role, address] of Object.entries(expected ?? {})) {
    checks.add(`expected ${role}`, () => {
      const found = addressText(role === "provider" ? receipt.job.provider : receipt.job.client);
      invalid(found.toLowerCase() !== address.toLowerCase(), `it is ${found}, expected ${address}`);
      return found;
    });
  }
}

/**
 * Checks a receipt, and what opens it. Whatever is wrong with them becomes a check that fails;
 * errors are thrown of this program only.
 *
 * `receipt`, `opening`: Uint8Array as the gateway has them; without an opening nothing is known of
 * inputs and outputs. `model`: `{graph_root, weight_root}`, hexadecimal, as the hub says.
 * `id`: of the receipt that was asked for. `expected`: `{provider, gateway}`, addresses, either.
 * `asked`, `answered`: tensors (tensors.js) that this program sent and got; `{name, why}` of what
 * it cannot compare.
 *
 * Returns `{provider, gateway, checks: [{name, ok, detail}], holds, inputs, outputs, decoded}`:
 * `ok` is null where something could not be looked at; `holds` where all are true; inputs and
 * outputs are null unless they, and who signed them, hold.
 */
export async function verifyReceipt({
  receipt, opening = null, model = null, id = undefined, expected = {}, asked = [], answered = [],
}) {
  const checks = new Checks();
  const result = { provider: null, gateway: null, checks: checks.list, holds: false, inputs: null,
    outputs: null, decoded: null };
  let signed, opened;
  const isReceipt = checks.add("format", () => {
    signed = decodeReceipt(receipt);
    return `${receipt.length} bytes`;
  });
  if (!isReceipt) return result;
  result.provider = addressText(signed.job.provider);
  result.gateway = addressText(signed.job.client);
  addReceipt(checks, signed, { id, model, expected });
  const isSigned = checks.list.every((check) => check.ok !== false);
  if (opening === null) {
    checks.unknown("inputs", "the receipt was not opened");
    checks.unknown("outputs", "the receipt was not opened");
    return result;
  }
  const isOpening = checks.add("opening", () => {
    opened = decodeOpening(opening);
    return checkOpening(opened, signed);
  });
  if (!opened) return result;
  const areInputs = checks.add("inputs", () => checkInputs(opened, signed));
  const areOutputs = checks.add("outputs", () => checkOutputs(opened, signed));
  if (isSigned && isOpening && areInputs) result.inputs = opened.inputs;
  if (isSigned && isOpening && areOutputs) result.outputs = opened.outputs;
  addSame(checks, "asked", "input", asked, opened.inputs);
  addSame(checks, "answered", "output", answered, opened.outputs);
  result.holds = checks.list.every((check) => check.ok === true);
  result.decoded = { receipt: signed, opening: opened };
  return result;
}
