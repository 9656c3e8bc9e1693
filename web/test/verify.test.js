// SPDX-License-Identifier: Apache-2.0
// Receipts against the committed vectors, which other code wrote, and tampered copies.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromHex, toHex } from "../verify/bytes.js";
import { NotValid, Reader, readJob } from "../verify/encoding.js";
import { verifyReceipt } from "../verify/receipt.js";
import { commitInput, commitStep, jobId, leafHash, merkleRoot, receiptId, rootOfPath,
  tensorRoot } from "../verify/roots.js";
import { addressText, batchDigest, recover } from "../verify/signatures.js";
import { tensorOf, tensorOfJson, tensorOfOip, valuesOf } from "../verify/tensors.js";
import { GATEWAY_KEY, addressOf, makeAnswer, makeOpening, makeReceipt, makeSecondStep }
  from "./made.js";

const vectors = (name) =>
  JSON.parse(readFileSync(new URL(`../../tests/vectors/${name}`, import.meta.url)));

const outcome = (result, name) => result.checks.find((check) => check.name === name)?.ok;
const failed = (result) => result.checks.filter((check) => check.ok === false).map((c) => c.name);

const floats = (name, shape, values) =>
  tensorOf(name, 1, shape, new Uint8Array(Float32Array.from(values).buffer));

const inputs = [floats("x", [2, 2], [1, 2, 3, 4]), tensorOf("n", 7, [], new Uint8Array(8))];
const outputs = [floats("y", [3], [0.5, -0, NaN])];
const model = { graph_root: "01".repeat(32), weight_root: "02".repeat(32) };

test("jobs and commitments of the vectors", () => {
  for (const vector of vectors("protocol/job.json")) {
    const reader = new Reader(fromHex(vector.encoding), "job");
    const job = readJob(reader);
    reader.finish();
    assert.equal(toHex(jobId(job)), vector.id);
    assert.equal(job.faceValue, BigInt(vector.fields.face_value));
    assert.equal(job.validUntilMs, BigInt(vector.fields.valid_until_ms));
  }
  const vector = vectors("protocol/commitment.json");
  const [root, salt] = [fromHex(vector.root), fromHex(vector.salt)];
  assert.equal(toHex(commitInput(root, salt)), vector.input);
  const [{ encoding }] = vectors("protocol/job.json").filter(({ id }) => id === vector.job_id);
  for (const { step, commitment } of vector.steps) {
    const made = commitStep({ encoding: fromHex(encoding) }, BigInt(step), root, salt);
    assert.equal(toHex(made), commitment);
  }
});

test("receipts of the vectors", async () => {
  const [ours, otherChain] = vectors("protocol/receipt.json");
  for (const [i, hex] of ours.receipts.entries()) {
    const result = await verifyReceipt({ receipt: fromHex(hex), id: ours.ids[i] });
    assert.deepEqual(failed(result), []);
    assert.equal(outcome(result, "provider"), true);
    assert.equal(outcome(result, "gateway"), true);
    assert.equal(outcome(result, "id"), true);
    // Nothing was opened: that is no proof of what was answered.
    assert.equal(outcome(result, "outputs"), null);
    assert.equal(result.holds, false);
  }
  for (const hex of otherChain.receipts) {
    const result = await verifyReceipt({ receipt: fromHex(hex) });
    assert.deepEqual(failed(result), ["provider", "gateway"]);
  }
});

test("every changed byte of a receipt is found", async () => {
  const good = fromHex(vectors("protocol/receipt.json")[0].receipts[2]);
  for (let at = 0; at < good.length; at += 3) {
    const bad = good.slice();
    bad[at] ^= 1;
    assert.notDeepEqual(failed(await verifyReceipt({ receipt: bad })), [], `byte ${at}`);
  }
});

test("what is cut off, too long or something else is refused", async () => {
  const good = fromHex(vectors("protocol/receipt.json")[0].receipts[0]);
  const long = new Uint8Array(good.length + 1);
  long.set(good);
  const other = good.slice();
  other[0] = 5;
  for (const receipt of [new Uint8Array(), good.subarray(0, -1), long, other, new Uint8Array(100),
    new Uint8Array((1 << 20) + 1), "text", null]) {
    assert.deepEqual(failed(await verifyReceipt({ receipt })), ["format"]);
  }
});

test("signatures of ethers", () => {
  let seen = 0;
  for (const vector of vectors("ethers.json").typed) {
    const digest = fromHex(vector.digest.slice(2));
    const found = recover(digest, fromHex(vector.signature.slice(2)));
    assert.equal(addressText(found), vector.signer);
    if (vector.type !== "ReceiptBatch") continue;
    const { role, root, count } = vector.value;
    assert.equal(toHex(batchDigest(role, fromHex(root.slice(2)), count, vector.chain_id)),
      toHex(digest));
    ++seen;
  }
  assert.ok(seen > 0);
});

test("what is no signature is refused", () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const hex = vectors("ethers.json").typed[0].signature.slice(2);
  const s = BigInt("0x" + hex.slice(64, 128));
  const v = parseInt(hex.slice(128), 16);
  const word = (value) => value.toString(16).padStart(64, "0");
  for (const bad of ["00".repeat(65), "ff".repeat(65), hex.slice(0, 128), hex.slice(0, 128) + "1d",
    hex.slice(0, 64) + word(order - s) + (55 - v).toString(16), word(order) + hex.slice(64),
    word(0n) + hex.slice(64)]) {
    assert.throws(() => recover(new Uint8Array(32), fromHex(bad)), RangeError, bad);
  }
});

test("paths lead to the root", () => {
  for (let count = 1; count < 18; ++count) {
    const leaves = Array.from({ length: count }, (_, i) => leafHash(Uint8Array.of(i)));
    const root = merkleRoot(leaves);
    const above = (level) => Array.from({ length: (level.length + 1) >> 1 },
      (_, i) => merkleRoot(level.slice(2 * i, 2 * i + 2)));
    for (let index = 0; index < count; ++index) {
      const path = [];
      for (let level = leaves, at = index; level.length > 1; level = above(level), at >>= 1) {
        if ((at ^ 1) < level.length) path.push(level[at ^ 1]);
      }
      assert.deepEqual(rootOfPath(leaves[index], index, count, path), root);
      assert.throws(() => rootOfPath(leaves[index], index, count, [...path, root]), /too many/);
      if (path.length) {
        assert.throws(() => rootOfPath(leaves[index], index, count, path.slice(1)), RangeError);
      }
    }
  }
  assert.throws(() => rootOfPath(leafHash(Uint8Array.of(0)), 3n, 3n, []), /leaf 3 of 3/);
});

test("tensors that are none are refused", () => {
  const strings = Uint8Array.of(2, 0, 0, 0, 104, 105, 0, 0, 0, 0);
  const texts = valuesOf(tensorOfOip("s", "BYTES", [2], strings));
  assert.deepEqual(texts.map((text) => new TextDecoder().decode(text)), ["hi", ""]);
  for (const bad of [strings.subarray(0, -1), Uint8Array.of(255, 255, 255, 255)]) {
    assert.throws(() => tensorOf("s", 8, [2], bad), RangeError);
  }
  for (const shape of [[3], [0, 2 ** 50], [2n ** 64n, 0], Array(17).fill(1), [-1]]) {
    assert.throws(() => tensorOf("x", 2, shape, new Uint8Array(1)), RangeError);
  }
  assert.throws(() => tensorOf("x", 99, [1], new Uint8Array(1)), /type 99/);
});

test("a tensor of many strings has a root", () => {
  const count = 300_000; // more than a call takes as arguments
  const data = Array(count).fill("a");
  const texts = tensorOfJson({ name: "s", datatype: "BYTES", shape: [count], data });
  const one = Uint8Array.of(1, 0, 0, 0, 97);
  assert.deepEqual(texts.elements.subarray(-5), one);
  assert.equal(texts.elements.length, count * one.length);
  assert.equal(tensorRoot(texts).length, 32);
});

test("an answer holds", async () => {
  const { receipt, opening } = makeAnswer({ inputs, outputs });
  const result = await verifyReceipt({ receipt, opening, model, asked: inputs, answered: outputs,
    expected: { gateway: addressText(addressOf(GATEWAY_KEY)) } });
  assert.equal(result.holds, true, JSON.stringify(result.checks));
  assert.deepEqual([...valuesOf(result.outputs[0])], [0.5, -0, NaN]);
  assert.equal(result.inputs.length, 2);
});

test("an answer that gateway and provider have given", async () => {
  const vector = vectors("answers/digits.json");
  const all = { receipt: fromHex(vector.receipt), opening: fromHex(vector.opening), model: vector,
    id: vector.id, expected: { provider: vector.provider, gateway: vector.gateway } };
  const result = await verifyReceipt(all);
  assert.equal(result.holds, true, JSON.stringify(result.checks));
  assert.deepEqual([...valuesOf(result.outputs[0])], vector.data.map(Math.fround));
  for (let at = 0; at < all.opening.length; at += 29) {
    const bad = all.opening.slice();
    bad[at] ^= 1;
    assert.equal((await verifyReceipt({ ...all, opening: bad })).holds, false, `byte ${at}`);
  }
});

test("each check fails when its thing is tampered with", async () => {
  const answer = makeAnswer({ inputs, outputs });
  const { receipt, opening, parts, job } = answer;
  const all = { receipt, opening, model, asked: inputs, answered: outputs };
  const changed = [floats("x", [2, 2], [1, 2, 3, 5]), inputs[1]];
  const renamed = [{ ...outputs[0], name: "z" }];
  const reshaped = [{ ...outputs[0], shape: [3, 1] }];
  const otherJob = makeAnswer({ inputs, outputs, fields: { steps: 2n } });
  const step2 = makeReceipt(job, 2n, new Uint8Array(32));
  const signedBy = (signers) => makeAnswer({ inputs, outputs, signers }).receipt;
  const tampered = {
    step: { receipt: step2 },
    provider: { receipt: signedBy({ provider: GATEWAY_KEY }) },
    gateway: { receipt: signedBy({ gateway: new Uint8Array(32).fill(1) }) },
    id: { id: "00".repeat(32) },
    model: { model: { ...model, weight_root: "03".repeat(32) } },
    "expected provider": { expected: { provider: addressText(addressOf(GATEWAY_KEY)) } },
    opening: { opening: otherJob.opening },
    inputs: { opening: makeOpening({ ...parts, inputs: changed }), asked: [] },
    outputs: { opening: makeOpening({ ...parts, outputs: renamed }), answered: [] },
    asked: { asked: changed },
    answered: { answered: [floats("y", [3], [0.5, 0, NaN])] },
  };
  for (const [name, change] of Object.entries(tampered)) {
    const result = await verifyReceipt({ ...all, ...change });
    assert.equal(outcome(result, name), false, name);
    assert.equal(result.holds, false, name);
  }
  // Salts, shapes and a model that the hub says nothing of.
  for (const change of [
    { opening: makeOpening({ ...parts, inputSalt: new Uint8Array(32) }) },
    { opening: makeOpening({ ...parts, outputSalt: new Uint8Array(32) }) },
    { opening: makeOpening({ ...parts, outputs: reshaped }) },
    { opening: makeOpening({ ...parts, noiseValue: new Uint8Array(32).fill(1) }) },
    { opening: makeOpening({ ...parts, outputs: [...outputs, ...outputs] }) },
    { opening: opening.subarray(0, -1) }, { opening: null }, { model: null }, { model: {} },
  ]) {
    const result = await verifyReceipt({ ...all, ...change });
    assert.equal(result.holds, false);
  }
  const shown = await verifyReceipt({ ...all, ...tampered.outputs });
  assert.equal(shown.outputs, null);
});

test("a rollout's second step is bound to the first", async () => {
  const before = [floats("y", [2, 2], [4, 3, 2, 1])];
  const { receipt, opening, parts } = makeSecondStep({ inputs, outputsBefore: before, outputs });
  const good = await verifyReceipt({ receipt, opening, model });
  assert.equal(good.holds, true, JSON.stringify(good.checks));
  const other = makeReceipt(parts.job, 1n, new Uint8Array(32));
  const forged = makeReceipt(parts.job, 1n, new Uint8Array(32), { provider: GATEWAY_KEY });
  for (const change of [{ outputsBefore: outputs }, { before: null }, { before: other },
    { before: forged }, { noiseValue: new Uint8Array(32).fill(1) },
    { saltBefore: new Uint8Array(32) }]) {
    const changed = makeOpening({ ...parts, ...change });
    const result = await verifyReceipt({ receipt, opening: changed, model });
    assert.deepEqual(failed(result), ["opening"]);
    assert.equal(result.outputs, null);
  }
});

test("errors of this program are not taken for a receipt's", () => {
  assert.throws(() => new Reader("text", "receipt"), NotValid);
  assert.equal(toHex(receiptId({ job: { encoding: new Uint8Array() }, step: 1n,
    commitment: new Uint8Array(32), round: 0n })).length, 64);
});
