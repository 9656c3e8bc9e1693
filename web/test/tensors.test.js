// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { sums } from "../src/metrics.js";
import { best, inputOf, shapeFor, softmax, typedInput } from "../src/tensors.js";
import { firstElements } from "../src/elements.js";
import * as format from "../src/format.js";

test("free dimensions follow from how much is typed", () => {
  assert.deepEqual(shapeFor([-1, 1, 8, 8], 64), [1, 1, 8, 8]);
  assert.deepEqual(shapeFor([-1, 4], 12), [3, 4]);
  assert.deepEqual(shapeFor([-1, -1], 5), [1, 5]);
  assert.deepEqual(shapeFor([], 1), []);
  assert.throws(() => shapeFor([-1, 4], 10), /a multiple of 4 numbers, found 10/);
  assert.throws(() => shapeFor([2, 2], 5), /expected 4 numbers/);
});

test("what is typed becomes numbers, or a line that says what was expected", () => {
  const port = { name: "x", datatype: "FP32", shape: [1, 3] };
  assert.deepEqual(typedInput(port, "[1, 2.5\n-3e2]"), {
    name: "x",
    datatype: "FP32",
    shape: [1, 3],
    data: [1, 2.5, -300],
  });
  for (const [text, why] of [
    ["", /nothing is typed/],
    ["1 2", /expected 3/],
    ["1 2 x", /no number/],
    ["1 2 Infinity", /no number/],
    ["1 2 NaN", /no number/],
  ]) {
    assert.throws(() => typedInput(port, text), why);
  }
  assert.throws(() => typedInput(port, "1 2 1e39"), /beyond FP32/);
  assert.deepEqual(typedInput({ ...port, shape: [1] }, "0.1").data, [Math.fround(0.1)]);
  const byte = { name: "b", datatype: "UINT8", shape: [-1] };
  assert.throws(() => typedInput(byte, "256"), /no UINT8/);
  assert.throws(() => typedInput(byte, "1.5"), /no UINT8/);
  assert.throws(() => typedInput({ ...byte, datatype: "FP16" }, "1"), /command line/);
  const text = { name: "t", datatype: "BYTES", shape: [1] };
  assert.deepEqual(typedInput(text, "a\nb").data, ["a\nb"]);
  assert.deepEqual(typedInput({ ...text, shape: [-1] }, "a\nb").data, ["a", "b"]);
  assert.deepEqual(typedInput({ name: "f", datatype: "BOOL", shape: [2] }, "true 0").data, [
    true,
    false,
  ]);
});

test("after a refused picture nothing has to be typed, but another may be chosen", () => {
  const port = { name: "x", datatype: "FP32", shape: [2] };
  assert.throws(() => inputOf(port, { text: "", picture: null }), /nothing is typed yet/);
  assert.throws(
    () => inputOf(port, { text: " ", picture: null, isRefused: true }),
    /^Error: x: choose another picture, or type its numbers$/,
  );
  assert.deepEqual(inputOf(port, { text: "1 2", picture: null, isRefused: true }).data, [1, 2]);
  assert.equal(inputOf(port, { text: "", picture: "made", isRefused: false }), "made");
});

test("the best by name, with shares where the card asks for them", () => {
  const output = { name: "logits", datatype: "FP32", shape: [1, 3, 1, 1], data: [1, 3, 2] };
  const card = { labels: ["a", "b", "c"], output: { name: "logits", softmax: true, top_k: 2 } };
  const { ranked, rows } = best(output, card);
  assert.equal(rows, 1);
  assert.deepEqual(
    ranked.map((one) => one.label),
    ["b", "c"],
  );
  assert.ok(Math.abs(ranked[0].share - 0.6652) < 1e-3);
  assert.ok(Math.abs(softmax([1000, 1001])[1] - 0.731) < 1e-3, "no overflow");
  const [first] = best(output, { labels: ["a", "b"] }).ranked;
  assert.equal(first.label, null, "labels of another number are none");
  const other = best({ name: "other", shape: [3], data: [1, 2, 3] }, card).ranked[0];
  assert.equal(other.share, null, "the card's rules are for the output that it names");
  const alone = { shape: [1, 1], data: [7] };
  for (const text of [{ datatype: "BYTES", data: ["12"] }, { data: ["text"] }, {}, alone])
    assert.deepEqual(best({ name: "t", ...text }, null), { ranked: [], rows: 0 });
});

test("softmax, the best and labels are of each row of the last dimension", () => {
  const output = { name: "y", datatype: "FP32", shape: [2, 3], data: [1, 3, 2, 30, 10, 20] };
  const card = { labels: ["a", "b", "c"], output: { name: "y", softmax: true, top_k: 2 } };
  const { ranked, rows } = best(output, card);
  assert.equal(rows, 2);
  assert.deepEqual(
    ranked.map(({ row, index, value, label }) => [row, index, value, label]),
    [
      [0, 1, 3, "b"],
      [0, 2, 2, "c"],
      [1, 0, 30, "a"],
      [1, 2, 20, "c"],
    ],
  );
  const sums = [0, 1].map((row) =>
    best(output, { ...card, output: { softmax: true, top_k: 3 } })
      .ranked.filter((one) => one.row === row)
      .reduce((sum, one) => sum + one.share, 0),
  );
  for (const sum of sums) assert.ok(Math.abs(sum - 1) < 1e-12, `${sum}`);
  assert.deepEqual(best(output, null), { ranked: [], rows: 0 }, "rows of which no card speaks");
  const many = { name: "y", shape: [40, 1], data: Array(40).fill(1) };
  const shown = best(many, { labels: ["one"], output: { top_k: 1 } });
  assert.deepEqual([shown.rows, shown.ranked.length, shown.ranked[0].label], [40, 16, "one"]);
});

test("figures of Prometheus are summed by family", () => {
  const rows = sums(
    '# HELP a_total Answers\n# TYPE a_total counter\na_total{x="1"} 2\na_total{x="}"} 3\nb_bucket{le="1"} 9\nb_sum 7\nb_count 4\nbroken\n',
  );
  assert.deepEqual(rows, [
    { name: "a_total", value: 5, help: "Answers" },
    { name: "b_count", value: 4, help: "" },
  ]);
});

test("formats", () => {
  assert.equal(format.bytes(62_000), "62.0 kB");
  assert.equal(format.bytes(999), "999 B");
  assert.equal(format.amount("1234567"), "1\u202f234\u202f567");
  assert.equal(format.time(0), "");
  assert.equal(format.time(1_700_000_000_000), "2023-11-14 22:13:20 UTC");
  assert.equal(format.short("0x174512B8D34C4Dc52275098B639Af9973a99386C"), "0x174512B8…99386C");
});

test("elements, with their bits", () => {
  const of = (oip, array) => firstElements({ oip, elements: new Uint8Array(array.buffer) }, 2);
  assert.deepEqual(of("FP32", Float32Array.of(1.5, -2, 9)), [
    { index: 0, value: 1.5, bits: "3fc00000" },
    { index: 1, value: -2, bits: "c0000000" },
  ]);
  assert.equal(of("INT64", BigInt64Array.of(-1n))[0].value, -1n);
  assert.deepEqual(
    of("FP16", Uint16Array.of(0x3c00, 0xfc00)).map((one) => one.value),
    [1, -Infinity],
  );
  assert.equal(of("BF16", Uint16Array.of(0x3fc0))[0].value, 1.5);
  assert.deepEqual(of("BYTES", Uint8Array.of(1)), []);
});
