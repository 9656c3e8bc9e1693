// SPDX-License-Identifier: Apache-2.0
// Networks and pictures written by tests: ONNX (onnx.proto), PNG, PNM.
import { deflateSync } from "node:zlib";

const varint = (value) => {
  const made = [];
  for (; value > 127; value = Math.floor(value / 128)) made.push((value % 128) | 128);
  return [...made, value];
};
const whole = (number, value) => [...varint(number << 3), ...varint(value)];
const field = (number, ...parts) => {
  const body = parts.flat();
  return [...varint((number << 3) | 2), ...varint(body.length), ...body];
};
const text = (number, value) => field(number, [...Buffer.from(value)]);

function port(number, name, shape) {
  const dims = shape.map((dim) => field(1, whole(1, dim)));
  return field(number, text(1, name), field(2, field(1, whole(1, 1), field(2, ...dims))));
}
const node = (type, input, output) =>
  field(1, text(1, input), text(2, output), text(3, output), text(4, type));

/**
 * float32 `x` of a shape of four: `pixels` is the input itself, `scores` [1,C] the mean of each of
 * its channels, read as [1,C,H,W].
 */
export function mirrorNetwork(shape) {
  const graph = field(
    7,
    node("Identity", "x", "pixels"),
    node("GlobalAveragePool", "x", "means"),
    node("Flatten", "means", "scores"),
    text(2, "mirror"),
    port(11, "x", shape),
    port(12, "pixels", shape),
    port(12, "scores", [1, shape[1]]),
  );
  return Buffer.from([...whole(1, 8), ...graph, ...field(8, text(1, ""), whole(2, 13))]);
}

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; ++i) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(name, body) {
  const named = Buffer.concat([Buffer.from(name), body]);
  const made = Buffer.alloc(named.length + 8);
  made.writeUInt32BE(body.length);
  named.copy(made, 4);
  made.writeUInt32BE(crc32(named), named.length + 4);
  return made;
}

/** Pixels without any order: the same for the same picture. */
export function noise(count) {
  let state = 12345;
  return Uint8Array.from({ length: count }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 24;
  });
}

/** A PNG of 8 bits, grey or coloured, with more chunks ([name, bytes]) behind its header. */
export function png(width, height, channels, pixels, more = []) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, channels === 1 ? 0 : 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(height * (width * channels + 1));
  for (let y = 0; y < height; ++y) {
    const row = pixels.subarray(y * width * channels, (y + 1) * width * channels);
    rows.set(row, y * (width * channels + 1) + 1);
  }
  return Buffer.concat([
    Buffer.of(137, 80, 78, 71, 13, 10, 26, 10),
    chunk("IHDR", head),
    ...more.map(([name, body]) => chunk(name, Buffer.from(body))),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

export const pnm = (width, height, channels, pixels) =>
  Buffer.concat([Buffer.from(`P${channels === 1 ? 5 : 6}\n${width} ${height}\n255\n`), pixels]);

// TIFF's directory of one entry: orientation 6, a quarter turn.
export const TURNED = [
  ...Buffer.from("MM"), 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0,
];

/** A JPEG, with a note that it is to be turned. */
export function turnedJpeg(jpeg) {
  const note = [...Buffer.from("Exif"), 0, 0, ...TURNED];
  const head = Buffer.of(0xff, 0xe1, 0, note.length + 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, Buffer.from(note), jpeg.subarray(2)]);
}
