// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { decodeNetpbm, plainJpeg, plainPng } from "../src/decode.js";
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
  const luma = data({ colour: "gray" }, [1, 1, 1, 1])[0];
  const f = Math.fround;
  assert.equal(luma, f(f(f(f(0.299) * 10) + f(f(0.587) * 20)) + f(f(0.114) * 30)));
  const grown = pictureTensor(grey(1, 1, [7]), ruleOf({ colour: "RGB" }, [1, 3, 1, 1]));
  assert.deepEqual(Array.from(grown.data), [7, 7, 7]);
});

test("what no picture fills is refused in one line", () => {
  assert.throws(() => ruleOf(null, [1, 64]), /fills/);
  assert.throws(() => ruleOf(null, [2, 3, 8, 8]), /fills/);
  assert.throws(() => ruleOf(null, [1, 5, 8, 8]), /channels/);
  assert.throws(() => ruleOf(null, [1, 8, 8, 3]), /channels/, "as the command line without options");
  assert.equal(ruleOf({}, [1, 8, 8, 3]).layout, "NHWC");
});

test("without a card nothing is stretched or converted, and open sizes are the picture's own", () => {
  const wide = grey(4, 2, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.throws(() => pictureTensor(wide, ruleOf(null, [1, 1, 2, 2])), /other proportions/);
  assert.throws(() => pictureTensor(wide, ruleOf(null, [1, 3, 2, 4])), /grey.*wants colour/);
  const dot = { width: 1, height: 1, channels: 3, pixels: Uint8Array.of(10, 20, 30) };
  assert.throws(() => pictureTensor(dot, ruleOf(null, [1, 1, 1, 1])), /coloured.*wants grey/);
  assert.deepEqual(pictureTensor(wide, ruleOf(null, [-1, -1, -1, -1])).shape, [1, 1, 2, 4]);
  assert.deepEqual(pictureTensor(dot, ruleOf(null, [1, 3, -1, -1])).shape, [1, 3, 1, 1]);
  const card = { size: [32, 16], colour: "RGB", resize: "stretch" };
  assert.deepEqual(pictureTensor(wide, ruleOf(card, [1, -1, -1, -1])).shape, [1, 3, 32, 16]);
});

test("of PNG and JPEG only what makes the pixels goes to the browser", () => {
  const png = [137, 80, 78, 71, 13, 10, 26, 10];
  const chunk = (name, ...data) => [
    ...[0, 0, 0, data.length],
    ...Buffer.from(name),
    ...data,
    ...[0, 0, 0, 0],
  ];
  const head = (type, depth = 8) => chunk("IHDR", 0, 0, 0, 1, 0, 0, 0, 1, depth, type, 0, 0, 0);
  const bare = [...png, ...head(2), ...chunk("IDAT", 1, 2), ...chunk("IEND")];
  const notes = [...chunk("sRGB", 0), ...chunk("eXIf", 1, 2, 3), ...chunk("acTL", 9)];
  const turned = [...png, ...head(2), ...notes, ...chunk("IDAT", 1, 2), ...chunk("IEND")];
  const plain = plainPng(Uint8Array.from(turned));
  assert.deepEqual([...plain.bytes], bare);
  assert.deepEqual([plain.channels, plain.exact], [3, true]);
  for (const name of ["gAMA", "iCCP", "cHRM"]) {
    const dim = [...png, ...head(0), ...chunk(name, 1), ...chunk("IDAT"), ...chunk("IEND")];
    assert.deepEqual(
      [plainPng(Uint8Array.from(dim)).channels, plainPng(Uint8Array.from(dim)).exact],
      [1, false],
      name,
    );
  }
  assert.equal(plainPng(Uint8Array.from([...png, ...head(2, 16)])).exact, false);

  const segment = (mark, ...data) => [0xff, mark, 0, data.length + 2, ...data];
  const frame = (channels) => segment(0xc0, 8, 0, 1, 0, 1, channels);
  const pixels = [...segment(0xda, 1), 7, 0xff, 0xe1, 7, 0xff, 0xd9];
  const jpeg = (channels) =>
    Uint8Array.from([
      ...[0xff, 0xd8],
      ...segment(0xe0, 1),
      ...segment(0xe1, ...Buffer.from("Exif")),
      ...segment(0xe2, 5),
      ...segment(0xee, 6),
      ...frame(channels),
      ...pixels,
    ]);
  const left = plainJpeg(jpeg(1));
  const kept = [...segment(0xe0, 1), ...segment(0xee, 6), ...frame(1), ...pixels];
  assert.deepEqual([...left.bytes], [0xff, 0xd8, ...kept]);
  assert.deepEqual([left.channels, left.exact], [1, false]);
  assert.throws(() => plainJpeg(jpeg(4)), /4 channels, expected 1 or 3/);
  plainJpeg(Uint8Array.of(0xff, 0xd8, 0xff));
  plainPng(Uint8Array.from([...png, 255, 255, 255, 255, 1, 1, 1, 1, 1, 1, 1, 1]));
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
