// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor as it was signed: little-endian, row-major, with their bits.
import { stringsOf } from "../verify/tensors.js";

const half = (bits) => {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return (sign * fraction) / 2 ** 24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
};
const brain = (bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0];

// [bytes of one, how it is read]
const TYPES = {
  FP64: [8, (view, at) => view.getFloat64(at, true)],
  FP32: [4, (view, at) => view.getFloat32(at, true)],
  FP16: [2, (view, at) => half(view.getUint16(at, true))],
  BF16: [2, (view, at) => brain(view.getUint16(at, true))],
  INT64: [8, (view, at) => view.getBigInt64(at, true)],
  UINT64: [8, (view, at) => view.getBigUint64(at, true)],
  INT32: [4, (view, at) => view.getInt32(at, true)],
  UINT32: [4, (view, at) => view.getUint32(at, true)],
  INT16: [2, (view, at) => view.getInt16(at, true)],
  UINT16: [2, (view, at) => view.getUint16(at, true)],
  INT8: [1, (view, at) => view.getInt8(at)],
  UINT8: [1, (view, at) => view.getUint8(at)],
  BOOL: [1, (view, at) => view.getUint8(at) !== 0],
};

/**
 * All elements of {oip, elements}: numbers, of 64 bits BigInts, booleans, or texts. Empty for a type
 * that is not shown. Throws a RangeError for strings that are cut off.
 */
export function elementsOf({ oip, elements }) {
  if (oip === "BYTES") {
    const text = new TextDecoder();
    return stringsOf(elements).map((one) => text.decode(one));
  }
  const type = TYPES[oip];
  if (!type) return [];
  const [size, read] = type;
  const view = new DataView(elements.buffer, elements.byteOffset, elements.byteLength);
  const count = Math.floor(elements.length / size);
  return Array.from({ length: count }, (_, index) => read(view, index * size));
}

/** One of them as it is shown: of FP32 no more digits than tell it from its neighbours. */
export function textOf(value, oip) {
  if (oip !== "FP32" || !Number.isFinite(value)) return String(value);
  const digits = [6, 7, 8].find((count) => Math.fround(value.toPrecision(count)) === value);
  return String(Number(value.toPrecision(digits ?? 9)));
}

/**
 * The first `most` elements of {oip, elements}: [{index, value, bits}], bits in hexadecimal. Empty
 * for a type that is not shown, such as strings.
 */
export function firstElements({ oip, elements }, most) {
  const type = TYPES[oip];
  if (!type || !(elements instanceof Uint8Array)) return [];
  const [size, read] = type;
  const view = new DataView(elements.buffer, elements.byteOffset, elements.byteLength);
  const count = Math.min(most, Math.floor(elements.length / size));
  return Array.from({ length: count }, (_, index) => {
    const own = elements.subarray(index * size, (index + 1) * size);
    const bits = Array.from(own, (byte) => byte.toString(16).padStart(2, "0")).reverse();
    return { index, value: read(view, index * size), bits: bits.join("") };
  });
}
