// SPDX-License-Identifier: Apache-2.0
// Inputs out of what was typed, and answers read: softmax, the best by name.

const INTEGERS = {
  INT8: [-128, 127],
  INT16: [-32768, 32767],
  INT32: [-(2 ** 31), 2 ** 31 - 1],
  INT64: [-(2 ** 53), 2 ** 53],
  UINT8: [0, 255],
  UINT16: [0, 65535],
  UINT32: [0, 2 ** 32 - 1],
  UINT64: [0, 2 ** 53],
};
export const ELEMENTS_MAX = 1 << 20; // of what is typed or sent as JSON

/** What stands for a declared shape: free dimensions are 1, but the last free one, which follows. */
export function shapeFor(declared, count) {
  const known = declared.reduce((product, n) => (n > 0 ? product * n : product), 1);
  const shape = declared.map((n) => (n > 0 ? n : 1));
  const free = declared.reduce((last, n, i) => (n > 0 ? last : i), -1);
  if (count === known) return shape;
  if (free < 0 || known === 0 || count % known !== 0) {
    const wanted = free < 0 ? `${known}` : `a multiple of ${known}`;
    throw new Error(`expected ${wanted} numbers, found ${count}`);
  }
  shape[free] = count / known;
  return shape;
}

function numberOf(text, datatype) {
  if (datatype === "BOOL") {
    if (!/^(true|false|0|1)$/i.test(text)) throw new Error(`"${text}" is neither true nor false`);
    return /^(true|1)$/i.test(text);
  }
  const value = Number(text);
  if (text === "" || !Number.isFinite(value))
    throw new Error(`"${text.slice(0, 32)}" is no number`);
  if (datatype === "FP32") {
    // As it is signed: what was sent can then be held against it, to the last bit.
    const held = Math.fround(value);
    if (!Number.isFinite(held)) throw new Error(`"${text.slice(0, 32)}" is beyond FP32`);
    return held;
  }
  const range = INTEGERS[datatype];
  if (range && (!Number.isInteger(value) || value < range[0] || value > range[1])) {
    throw new Error(`"${text.slice(0, 32)}" is no ${datatype}`);
  }
  return value;
}

/** An input of the Open Inference Protocol out of numbers with spaces or commas between, or a text. */
export function typedInput({ name, datatype, shape }, text) {
  if (datatype === "BYTES") {
    const lines = text.split("\n");
    const count = shape.every((n) => n === 1) ? 1 : lines.length;
    return { name, datatype, shape: shapeFor(shape, count), data: count === 1 ? [text] : lines };
  }
  if (datatype === "FP16" || datatype === "BF16") {
    throw new Error(`${name} is ${datatype}, which the page does not send: use the command line`);
  }
  const parts = text
    .replace(/[[\]]/g, " ")
    .split(/[\s,;]+/)
    .filter((part) => part !== "");
  if (parts.length === 0) throw new Error(`${name}: nothing is typed yet`);
  if (parts.length > ELEMENTS_MAX) throw new Error(`${name}: at most ${ELEMENTS_MAX} numbers`);
  try {
    const data = parts.map((part) => numberOf(part, datatype));
    return { name, datatype, shape: shapeFor(shape, data.length), data };
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

/** An input of what a form has for it: a picture's tensor, or what was typed. */
export function inputOf(port, { text, picture, isRefused }) {
  if (picture) return picture;
  if (isRefused && text.trim() === "")
    throw new Error(`${port.name}: choose another picture, or type its numbers`);
  return typedInput(port, text);
}

/** Shares of 1. */
export function softmax(values) {
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = values.map((value) => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

export const ROWS_MAX = 16; // of an output, that are ranked

/** The last dimension; those of 1 behind it do not count, but for a single label. As `infer`. */
function extentOf(shape, labels) {
  if (labels.length === 1) return shape.at(-1) ?? 0;
  return [...shape].reverse().find((dim) => dim !== 1) ?? 1;
}

/**
 * The largest of an output's numbers by the card's rules, row by row of its last dimension:
 * {ranked: [{row, index, value, label, share}], rows}, of which the first ROWS_MAX are ranked. An
 * output of several rows, of which the card says nothing, has none, nor has one with numbers that
 * are not finite.
 */
export function best(output, card) {
  const none = { ranked: [], rows: 0 };
  const values = output.datatype === "BYTES" ? [] : (output.data ?? []).map(Number);
  if (values.length === 0 || !values.every(Number.isFinite)) return none;
  const rules = card?.output ?? {};
  const isMeant = !rules.name || rules.name === output.name;
  const labels = isMeant ? (card?.labels ?? []) : [];
  const extent = extentOf(output.shape ?? [values.length], labels);
  const isNamed = labels.length > 0 && labels.length === extent;
  if (extent < 2 && !isNamed) return none;
  const rows = values.length / extent;
  if (rows > 1 && !isNamed && !(isMeant && (rules.softmax || rules.top_k))) return none;
  const ranked = [];
  const count = (isMeant ? rules.top_k : null) ?? 5;
  for (let row = 0; row < Math.min(rows, ROWS_MAX); ++row) {
    const own = values.slice(row * extent, (row + 1) * extent);
    const shares = isMeant && rules.softmax ? softmax(own) : null;
    const order = own.map((_, i) => i).sort((a, b) => own[b] - own[a] || a - b);
    for (const index of order.slice(0, count)) {
      const label = isNamed ? labels[index] : null;
      ranked.push({ row, index, value: own[index], label, share: shares?.[index] ?? null });
    }
  }
  return { ranked, rows };
}
