// SPDX-License-Identifier: Apache-2.0
// Tensors as they travel: a name, an element type, a shape and the elements' bytes.

import { equal, joined } from "./bytes.js";

const RANK_MAX = 16;
const ELEMENTS_MAX = 1n << 48n;
const STRING = 8;

// Numbers are ONNX's. What JavaScript has no array of (float16, bfloat16, 8 and 4 bits) is one of
// its bits.
const TABLE = [
  [1, "float32", "FP32", Float32Array], [2, "uint8", "UINT8", Uint8Array],
  [3, "int8", "INT8", Int8Array], [4, "uint16", "UINT16", Uint16Array],
  [5, "int16", "INT16", Int16Array], [6, "int32", "INT32", Int32Array],
  [7, "int64", "INT64", BigInt64Array], [STRING, "string", "BYTES", null],
  [9, "bool", "BOOL", Uint8Array], [10, "float16", "FP16", Uint16Array],
  [11, "float64", "FP64", Float64Array], [12, "uint32", "UINT32", Uint32Array],
  [13, "uint64", "UINT64", BigUint64Array], [16, "bfloat16", "BF16", Uint16Array],
  [17, "float8e4m3fn", "FP8E4M3FN", Uint8Array], [18, "float8e4m3fnuz", "FP8E4M3FNUZ", Uint8Array],
  [19, "float8e5m2", "FP8E5M2", Uint8Array], [20, "float8e5m2fnuz", "FP8E5M2FNUZ", Uint8Array],
  [21, "uint4", "UINT4", Uint8Array], [22, "int4", "INT4", Uint8Array],
  [23, "float4e2m1", "FP4E2M1", Uint8Array], [24, "float8e8m0", "FP8E8M0", Uint8Array],
];
const DTYPES = new Map(
  TABLE.map(([number, name, oip, array]) => [number, { number, name, oip, array }]),
);
const JSON_TYPES = new Set(
  ["BOOL", "FP32", "FP64", ...[8, 16, 32, 64].flatMap((bits) => [`INT${bits}`, `UINT${bits}`])],
);
const lengthOf = (bytes) => new Uint8Array(Uint32Array.of(bytes.length).buffer);
const BY_OIP = new Map([...DTYPES.values()].map((dtype) => [dtype.oip, dtype]));

/** A length in four bytes, little-endian, before each; `count` of them. Throws RangeError. */
export function stringsOf(elements, count = null) {
  const view = new DataView(elements.buffer, elements.byteOffset, elements.byteLength);
  const found = [];
  for (let at = 0; at < elements.length; ) {
    const size = elements.length - at >= 4 ? view.getUint32(at, true) : Infinity;
    if (size > elements.length - at - 4) throw new RangeError(`string ${found.length} is cut off`);
    found.push(elements.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  if (count !== null && found.length !== count) throw new RangeError(`${found.length} strings, expected ${count}`);
  return found;
}

/**
 * A tensor by ONNX's number of its type; elements are little-endian and row-major, strings have
 * their lengths before them. Throws RangeError where the elements do not fill the shape.
 */
export function tensorOf(name, number, shape, elements) {
  const dtype = DTYPES.get(number);
  if (!dtype) throw new RangeError(`'${name}' has the type ${number}, which is none that is known`);
  const dims = shape.map(BigInt);
  const most = dims.reduce((product, dim) => product * (dim === 0n ? 1n : dim), 1n);
  if (dims.length > RANK_MAX || dims.some((dim) => dim < 0n) || most > ELEMENTS_MAX) {
    throw new RangeError(`'${name}': no tensor has the shape [${dims.slice(0, RANK_MAX)}]`);
  }
  const count = Number(dims.includes(0n) ? 0n : most);
  if (!dtype.array) {
    stringsOf(elements, count);
  } else if (elements.length !== count * dtype.array.BYTES_PER_ELEMENT) {
    throw new RangeError(
      `'${name}': ${elements.length} bytes do not fill ${dtype.name}[${dims}]`,
    );
  }
  return { name, dtype: dtype.name, number, oip: dtype.oip, shape: dims.map(Number), elements };
}

/** The same by the Open Inference Protocol's name of its type. */
export function tensorOfOip(name, datatype, shape, elements) {
  const dtype = BY_OIP.get(datatype);
  if (!dtype) throw new RangeError(`'${name}' has the type ${datatype}, which is not known`);
  return tensorOf(name, dtype.number, shape, elements);
}

/**
 * The same of an input or output as JSON has it: {name, datatype, shape, data}. Throws RangeError
 * for numbers that JSON has rounded, or has null in the place of, and for what an array of the type
 * would make something else of than is shown.
 */
export function tensorOfJson({ name, datatype, shape, data }) {
  const dtype = BY_OIP.get(datatype);
  if (dtype && !dtype.array) {
    if (data.some((text) => typeof text !== "string")) throw new RangeError("that is no text");
    const texts = data.map((text) => new TextEncoder().encode(text));
    return tensorOf(name, dtype.number, shape, joined(texts.flatMap((t) => [lengthOf(t), t])));
  }
  if (!dtype || !JSON_TYPES.has(datatype))
    throw new RangeError(`JSON has no exact form of ${datatype}`);
  const isWhole = datatype.includes("INT");
  if (isWhole && !data.every(Number.isSafeInteger))
    throw new RangeError("it has numbers beyond 2^53, which a browser rounds");
  // The gateway writes null for these; Number(null) is 0.
  if (datatype.startsWith("FP") && !data.every(Number.isFinite))
    throw new RangeError("JSON has no form of what is not finite");
  if (datatype === "BOOL" && !data.every((one) => typeof one === "boolean"))
    throw new RangeError("it has what is neither true nor false");
  const isWide = dtype.array === BigInt64Array || dtype.array === BigUint64Array;
  const values = dtype.array.from(data, isWide ? BigInt : Number);
  const isBeyond = (value, i) => isWhole ? Number(value) !== data[i] : !Number.isFinite(value);
  if (values.some(isBeyond)) throw new RangeError(`it has numbers beyond ${datatype}`);
  return tensorOf(name, dtype.number, shape, new Uint8Array(values.buffer));
}

export function isString(tensor) {
  return tensor.number === STRING;
}

export function elementCount(tensor) {
  return tensor.shape.reduce((product, dim) => product * dim, 1);
}

/** A copy as a typed array; of strings an array of Uint8Array. */
export function valuesOf(tensor) {
  if (isString(tensor)) return stringsOf(tensor.elements, elementCount(tensor));
  return new (DTYPES.get(tensor.number).array)(tensor.elements.slice().buffer);
}

/** Whether names, types, shapes and elements are the same, in the same order. */
export function sameTensors(some, others) {
  return (
    some.length === others.length &&
    some.every((a, i) => {
      const b = others[i];
      return (
        a.name === b.name && a.number === b.number && a.shape.length === b.shape.length &&
        a.shape.every((dim, k) => dim === b.shape[k]) && equal(a.elements, b.elements)
      );
    })
  );
}
