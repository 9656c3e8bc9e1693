// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { decodeNetpbm } from "../src/decode.js";
import { pictureTensor, resizeBilinear, ruleOf } from "../src/picture.js";

const grey = (width, height, values) => ({
  width,
  height,
  channels: 1,
  pixels: Uint8Array.from(values),
});

test("the example's pixels are the file's numbers", () => {
  const picture = decodeNetpbm(readFileSync(new URL("../../examples/three.pgm", import.meta.url)));
  assert.deepEqual([picture.width, picture.height, picture.channels], [8, 8, 1]);
  const made = pictureTensor(picture, ruleOf(null, [-1, 1, 8, 8]));
  assert.deepEqual(made.shape, [1, 1, 8, 8]);
  assert.deepEqual(Array.from(made.data), Array.from(picture.pixels));
  assert.deepEqual(Array.from(made.data.slice(0, 8)), [0, 0, 9, 15, 15, 9, 0, 0]);
});

test("bilinear interpolation has half-pixel centres, in binary32", () => {
  const made = resizeBilinear({ width: 2, height: 1, values: Float32Array.of(0, 1) }, 4, 1);
  assert.deepEqual(Array.from(made.values), [0, 0.25, 0.75, 1]);
  const third = resizeBilinear({ width: 3, height: 1, values: Float32Array.of(0, 10, 20) }, 2, 1);
  assert.deepEqual(Array.from(third.values), [2.5, 17.5]);
  // (i + 0.5f) * (3 / 7.0f) - 0.5f at i = 2, each step rounded to binary32.
  const f = Math.fround;
  const place = f(f(2.5 * f(3 / 7)) - 0.5);
  const seventh = resizeBilinear({ width: 3, height: 1, values: Float32Array.of(0, 1, 2) }, 7, 1);
  assert.equal(seventh.values[2], f(0 + f(1 * f(place - 0))));
});

test("crop takes the middle, pad lays black beside", () => {
  const wide = grey(4, 2, [1, 2, 3, 4, 5, 6, 7, 8]);
  const shape = [1, 1, 2, 2];
  const data = (card) => Array.from(pictureTensor(wide, ruleOf(card, shape)).data);
  assert.deepEqual(data({ resize: "crop" }), [2, 3, 6, 7]);
  assert.deepEqual(data({ resize: "pad" }), [3.5, 5.5, 0, 0]);
  assert.deepEqual(data({ resize: "stretch" }), [1.5, 3.5, 5.5, 7.5]);
  assert.throws(() => data({ resize: "refuse" }), /4 x 2, the model wants 2 x 2/);
});

test("layout, order of colours, mean and scale", () => {
  const dot = { width: 1, height: 1, channels: 3, pixels: Uint8Array.of(10, 20, 30) };
  const data = (card, shape) => Array.from(pictureTensor(dot, ruleOf(card, shape)).data);
  assert.deepEqual(data({}, [1, 3, 1, 1]), [10, 20, 30]);
  assert.deepEqual(data({ colour: "BGR" }, [1, 3, 1, 1]), [30, 20, 10]);
  assert.deepEqual(data({ layout: "NHWC" }, [1, 1, 1, 3]), [10, 20, 30]);
  assert.deepEqual(
    data({ scale: 10, mean: [1, 1, 1], std: [0.5, 0.5, 1] }, [1, 3, 1, 1]),
    [0, 2, 2],
  );
  const luma = data({}, [1, 1, 1, 1])[0];
  const f = Math.fround;
  assert.equal(luma, f(f(f(f(0.299) * 10) + f(f(0.587) * 20)) + f(f(0.114) * 30)));
  const grown = pictureTensor(grey(1, 1, [7]), ruleOf({}, [1, 3, 1, 1]));
  assert.deepEqual(Array.from(grown.data), [7, 7, 7]);
});

test("what no picture fills is refused in one line", () => {
  assert.throws(() => ruleOf(null, [1, 64]), /fills/);
  assert.throws(() => ruleOf(null, [1, 5, 8, 8]), /channels/);
  assert.throws(() => ruleOf(null, [1, 3, -1, -1]), /how large/);
  assert.equal(ruleOf({ size: [32, 16] }, [1, 3, -1, -1]).width, 16);
});

test("pictures that are none, or are damaged", () => {
  const bytes = (text) => new TextEncoder().encode(text);
  assert.equal(decodeNetpbm(bytes("")), null);
  assert.equal(decodeNetpbm(bytes("<html>")), null);
  for (const bad of [
    "P5",
    "P5 1",
    "P5 0 1 255\n",
    "P5 99999999 1 255\n",
    "P5 2 2 255\nabc",
    "P2 1 1 255\nx",
    "P2 1 1 10\n11",
    "P2 2 2 255\n1 2 3",
    "P5 1 1 65535\nab",
    "P6 1 1 255\nab",
  ]) {
    assert.throws(() => decodeNetpbm(bytes(bad)), Error, bad);
  }
  const commented = decodeNetpbm(bytes("P2 # a\n#b\n1 2 255\n3\n4"));
  assert.deepEqual(Array.from(commented.pixels), [3, 4]);
});
