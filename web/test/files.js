// SPDX-License-Identifier: Apache-2.0
// Tensors from the files that tests have: .npy, and ONNX's .pb (onnx.proto, TensorProto).

import { readFileSync } from "node:fs";
import { tensorOf } from "../verify/tensors.js";

/** A .npy of little-endian float32. */
export function readNpy(name, path) {
  const file = readFileSync(path);
  const size = file[6] === 1 ? file.readUInt16LE(8) : file.readUInt32LE(8);
  const start = (file[6] === 1 ? 10 : 12) + size;
  const header = file.subarray(start - size, start).toString();
  if (!header.includes("'<f4'") || header.includes("True")) throw new Error(`${path}: ${header}`);
  const shape = header.match(/\(([^)]*)\)/)[1].split(",").filter((dim) => dim.trim()).map(Number);
  return tensorOf(name, 1, shape, new Uint8Array(file.subarray(start)));
}

const WIDTHS = { 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 9: 1, 10: 2, 12: 4, 13: 8, 16: 2 };

class Fields {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
  }
  *[Symbol.iterator]() {
    while (this.at < this.bytes.length) {
      const tag = Number(this.varint());
      const field = { number: tag >> 3, wire: tag & 7 };
      if (field.wire === 0) field.value = this.varint();
      else {
        const size = { 1: 8, 2: null, 5: 4 }[field.wire] ?? Number(this.varint());
        field.payload = this.bytes.subarray(this.at, (this.at += size));
      }
      yield field;
    }
  }
}

function* integers(field) {
  if (field.wire === 0) yield field.value;
  const rest = new Fields(field.payload ?? new Uint8Array());
  while (rest.at < rest.bytes.length) yield rest.varint();
}

function little(values, width) {
  const made = new Uint8Array(values.length * width);
  values.forEach((value, i) => {
    for (let k = 0; k < width; ++k) made[i * width + k] = Number((value >> BigInt(8 * k)) & 0xffn);
  });
  return made;
}

/** A TensorProto; null of kinds that tests have no use for. */
export function readTensorProto(name, bytes) {
  const shape = [], numbers = [], texts = [], packed = [];
  let type = 0, raw = null;
  for (const field of new Fields(bytes)) {
    if (field.number === 1) shape.push(...integers(field));
    if (field.number === 2) type = Number(field.value);
    if (field.number === 4 || field.number === 10) packed.push(...field.payload);
    if ([5, 7, 11].includes(field.number)) numbers.push(...integers(field));
    if (field.number === 6) texts.push(field.payload);
    if (field.number === 9) raw = field.payload;
  }
  if (type > 16) return null; // packed in other ways
  let elements = raw ?? Uint8Array.from(packed);
  if (numbers.length) elements = little(numbers, WIDTHS[type] ?? 8);
  if (type === 8) {
    const parts = texts.flatMap((text) => [...little([BigInt(text.length)], 4), ...text]);
    elements = Uint8Array.from(parts);
  }
  return tensorOf(name, type, shape.map((dim) => BigInt.asIntN(64, dim)), elements.slice());
}

/** Names of a model's inputs that have no initialiser, and of its outputs. */
export function readPorts(bytes) {
  const graph = [...new Fields(bytes)].find((field) => field.number === 7).payload;
  const named = (number, of) => [...new Fields(graph)].filter((field) => field.number === number)
    .map((field) => [...new Fields(field.payload)].find((inner) => inner.number === of).payload)
    .map((text) => new TextDecoder().decode(text));
  const given = new Set(named(5, 8));
  return { inputs: named(11, 1).filter((name) => !given.has(name)), outputs: named(12, 1) };
}
