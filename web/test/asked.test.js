// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { makeAsked } from "../src/asked.js";
import { verifyReceipt } from "../verify/receipt.js";
import { addressText } from "../verify/signatures.js";
import { tensorOf, tensorOfJson } from "../verify/tensors.js";
import { GATEWAY_KEY, PROVIDER_KEY, addressOf, makeAnswer } from "./made.js";

const MODEL = { graph_root: "01".repeat(32), weight_root: "02".repeat(32) };
const json = (name, datatype, shape, data) => ({ name, datatype, shape, data });
const INPUT = json("x", "FP32", [1, 2], [1, Math.fround(0.1)]);
const OUTPUT = json("y", "FP32", [2], [0.5, -3]);
const provider = addressText(addressOf(PROVIDER_KEY));

function answerOf(id, outputs = [OUTPUT], by = provider) {
  return { parameters: { commensal_receipt: id, commensal_provider: by }, outputs };
}
const signed = makeAnswer({ inputs: [tensorOfJson(INPUT)], outputs: [tensorOfJson(OUTPUT)] });
const check = (own) =>
  verifyReceipt({ receipt: signed.receipt, opening: signed.opening, ...own });
const failed = (found) => found.checks.filter((one) => one.ok === false).map((one) => one.name);

test("a receipt is held against what this tab has sent and got", async () => {
  const asked = makeAsked();
  asked.keep(MODEL, [INPUT], answerOf("a"));
  const right = await check(asked.of("a"));
  assert.equal(right.holds, true, JSON.stringify(right.checks));
  asked.keep(MODEL, [{ ...INPUT, data: [1, 2] }], answerOf("b"));
  assert.deepEqual(failed(await check(asked.of("b"))), ["asked"]);
  asked.keep(MODEL, [INPUT], answerOf("c", [{ ...OUTPUT, data: [0.5, -4] }]));
  assert.deepEqual(failed(await check(asked.of("c"))), ["answered"]);
  asked.keep({ ...MODEL, weight_root: "03".repeat(32) }, [INPUT], answerOf("d"));
  assert.deepEqual(failed(await check(asked.of("d"))), ["model"]);
  const other = addressText(addressOf(GATEWAY_KEY));
  asked.keep(MODEL, [INPUT], answerOf("e", [OUTPUT], other));
  assert.deepEqual(failed(await check(asked.of("e"))), ["expected provider"]);
});

test("what is shown is compared, not what came beside it", async () => {
  const asked = makeAsked();
  const elements = [...tensorOfJson(OUTPUT).elements];
  const lie = { ...OUTPUT, data: [-777, 888] };
  for (const said of [elements, { ...elements, length: elements.length }]) {
    asked.keep(MODEL, [INPUT], answerOf("a", [{ ...lie, elements: said }]));
    assert.deepEqual(failed(await check(asked.of("a"))), ["answered"]);
  }
});

test("what cannot be compared is called unknown, not right", async () => {
  const asked = makeAsked();
  const wide = json("y", "INT64", [1], [2 ** 60]);
  asked.keep(MODEL, [INPUT], answerOf("a", [wide]));
  const found = await check(asked.of("a"));
  assert.equal(found.holds, false);
  const [one] = found.checks.filter((check) => check.name === "answered");
  assert.equal(one.ok, null);
  assert.match(one.detail, /'y' was not compared: .*2\^53/);
});

test("what was asked is what JSON made of it", async () => {
  const zero = makeAnswer({
    inputs: [tensorOfJson(json("x", "FP32", [1], [0]))], outputs: [tensorOfJson(OUTPUT)],
  });
  const asked = makeAsked();
  asked.keep(MODEL, [json("x", "FP32", [1], [-0])], answerOf("a")); // sent as 0
  const found = await verifyReceipt({ ...zero, ...asked.of("a") });
  assert.deepEqual(failed(found), []);
});

test("what came as binary data is compared to the last bit, whatever it is", async () => {
  const elements = new Uint8Array(Float32Array.of(NaN, -Infinity, -0).buffer);
  const { receipt, opening } = makeAnswer({
    inputs: [tensorOfJson(INPUT)], outputs: [tensorOf("y", 1, [3], elements)],
  });
  const asked = makeAsked();
  const compare = async (bytes) => {
    const output = { name: "y", datatype: "FP32", shape: [3], elements: bytes, data: [] };
    asked.keep(MODEL, [INPUT], answerOf("a", [output]));
    return verifyReceipt({ receipt, opening, ...asked.of("a") });
  };
  assert.equal((await compare(elements)).holds, true);
  for (const at of [0, 7, 11]) {
    const other = elements.slice();
    other[at] ^= 0x80; // another NaN, another infinity, another zero
    assert.deepEqual(failed(await compare(other)), ["answered"]);
  }
  const [one] = (await compare(elements.subarray(1))).checks.filter(({ ok }) => ok === null);
  assert.match(one.detail, /'y' was not compared: .*do not fill/);
});

test("a provider is not blamed for numbers that JSON has no form of", async () => {
  for (const [datatype, number, array] of [["FP32", 1, Float32Array], ["FP64", 11, Float64Array]]) {
    const elements = new Uint8Array(array.of(NaN, Infinity, 1).buffer);
    const { receipt, opening } = makeAnswer({
      inputs: [tensorOfJson(INPUT)], outputs: [tensorOf("y", number, [3], elements)],
    });
    const asked = makeAsked();
    // What the gateway writes of them.
    asked.keep(MODEL, [INPUT], answerOf("a", [json("y", datatype, [3], [null, null, 1])]));
    const found = await verifyReceipt({ receipt, opening, ...asked.of("a") });
    assert.deepEqual(failed(found), []);
    assert.equal(found.holds, false);
    const [one] = found.checks.filter((check) => check.name === "answered");
    assert.equal(one.ok, null);
    assert.match(one.detail, /'y' was not compared: JSON has no form of what is not finite/);
  }
});

test("the last few are kept, and nothing is known of others", () => {
  const asked = makeAsked();
  assert.equal(asked.of("a"), null);
  asked.keep(MODEL, [INPUT], { outputs: [] });
  for (let i = 0; i < 20; ++i) asked.keep(MODEL, [INPUT], answerOf(`${i}`));
  assert.equal(asked.of("3"), null);
  assert.equal(asked.of("19").asked.length, 1);
});

test("tensors of JSON have the bytes that are signed", () => {
  const bytes = (...given) => [...tensorOfJson(json("t", ...given)).elements];
  assert.deepEqual(bytes("FP32", [1], [1.5]), [0, 0, 0xc0, 0x3f]);
  assert.deepEqual(bytes("INT64", [1], [-2]), [254, ...Array(7).fill(255)]);
  assert.deepEqual(bytes("UINT8", [2], [1, 255]), [1, 255]);
  assert.deepEqual(bytes("BOOL", [2], [true, false]), [1, 0]);
  assert.deepEqual(bytes("BYTES", [2], ["a", "é"]), [1, 0, 0, 0, 97, 2, 0, 0, 0, 0xc3, 0xa9]);
  assert.deepEqual(
    tensorOfJson(json("t", "FP32", [2], [1, 2])),
    tensorOf("t", 1, [2], new Uint8Array(Float32Array.of(1, 2).buffer)),
  );
  for (const bad of [
    ["INT64", [1], [2 ** 53]],
    ["FP16", [1], [1]],
    ["FP32", [3], [1]],
    ["NONE", [1], [1]],
    ["INT32", [1], [0.5]],
    ["INT64", [1], [null]],
    ["FP32", [1], [null]],
    ["FP32", [1], ["1"]],
    ["FP64", [2], [1, NaN]],
    ["BOOL", [1], [null]],
    ["BOOL", [1], ["no"]],
    ["UINT8", [1], [257]], // an array of the type makes 1 of it
    ["INT32", [1], [2 ** 32]],
    ["UINT64", [1], [-1]],
    ["FP32", [1], [1e300]],
    ["BYTES", [1], [["a"]]],
  ]) {
    assert.throws(() => bytes(...bad), RangeError, bad[0]);
  }
});
