// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { elementsOf, textOf } from "../src/elements.js";
import { infer, readAnswer } from "../src/infer.js";

const text = (json) => [...new TextEncoder().encode(JSON.stringify(json))];
const bytes = (array) => [...new Uint8Array(array.buffer)];

test("outputs that follow as binary data are taken apart", () => {
  const size = (count) => ({ parameters: { binary_data_size: count } });
  const json = text({
    outputs: [
      { name: "a", datatype: "FP32", shape: [2], ...size(8) },
      { name: "b", datatype: "INT64", shape: [1], data: [3] },
      { name: "c", datatype: "BOOL", shape: [1], ...size(1) },
    ],
  });
  const body = Uint8Array.from([...json, ...bytes(Float32Array.of(NaN, 2)), 1]);
  const { outputs } = readAnswer(body, json.length);
  assert.deepEqual(outputs.map((one) => one.data), [[NaN, 2], [3], [true]]);
  assert.deepEqual([...outputs[0].elements], bytes(Float32Array.of(NaN, 2)));
  assert.equal(outputs[1].elements, undefined);
  assert.throws(() => readAnswer(body.subarray(0, body.length - 1), json.length), RangeError);
  const plain = text({ outputs: [{ name: "b", datatype: "INT64", shape: [1], data: [3] }] });
  assert.deepEqual(readAnswer(Uint8Array.from(plain), null).outputs[0].data, [3]);
});

test("an answer brings no elements of its own beside what is shown", () => {
  const lie = { name: "y", datatype: "FP32", shape: [1], data: [-777] };
  for (const elements of [{ 0: 1, length: 1 }, [0, 0, 128, 63], "AACAPw=="]) {
    const json = Uint8Array.from(text({ outputs: [{ ...lie, elements, oip: "FP32" }] }));
    assert.deepEqual(readAnswer(json, null).outputs, [lie]);
  }
  const cut = text({ outputs: [{ ...lie, parameters: { binary_data_size: 0.5 } }] });
  assert.throws(() => readAnswer(Uint8Array.from([...cut, 1]), cut.length), RangeError);
});

test("a model is asked for binary outputs", async () => {
  const asked = [];
  const json = text({ outputs: [] });
  const api = {
    send: async (...all) => {
      asked.push(all);
      const headers = { "Inference-Header-Content-Length": String(json.length) };
      return new Response(Uint8Array.from(json), { headers });
    },
  };
  const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1] }];
  assert.deepEqual(await infer(api, { name: "a/m", version: 2 }, inputs), { outputs: [] });
  const [[method, path, { json: sent }]] = asked;
  assert.deepEqual([method, path], ["POST", "/v2/models/a/m/versions/2/infer"]);
  assert.deepEqual(sent, { inputs, parameters: { binary_data_output: true } });
});

test("elements are shown as what they are", () => {
  const of = (oip, array) => elementsOf({ oip, elements: new Uint8Array(array.buffer) });
  assert.deepEqual(of("INT64", BigInt64Array.of(2n ** 60n, -1n)), [2n ** 60n, -1n]);
  assert.deepEqual(of("FP16", Uint16Array.of(0x3c00, 0x7c00)), [1, Infinity]);
  assert.deepEqual(of("BYTES", Uint8Array.of(1, 0, 0, 0, 97, 0, 0, 0, 0)), ["a", ""]);
  assert.deepEqual(of("FP8E4M3FN", Uint8Array.of(1)), []);
  assert.throws(() => of("BYTES", Uint8Array.of(9, 0, 0, 0, 97)), RangeError);
  assert.equal(textOf(Math.fround(0.1), "FP32"), "0.1");
  assert.equal(textOf(Math.fround(16777217.5), "FP32"), "16777218");
  assert.equal(textOf(Math.fround(1 / 3), "FP32"), "0.33333334");
  assert.equal(textOf(NaN, "FP32"), "NaN");
  assert.equal(textOf(2n ** 60n, "INT64"), "1152921504606846976");
});
