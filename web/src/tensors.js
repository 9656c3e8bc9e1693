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

/** Shares of 1, for the last dimension's `extent` numbers. */
export function softmax(values) {
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = values.map((value) => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** The largest of an output's numbers: [{index, value, label, share}], by the card's rules. */
export function best(output, card) {
  const values = (output.data ?? []).map(Number);
  if (values.length === 0 || values.some(Number.isNaN)) return [];
  const rules = card?.output ?? {};
  const isMeant = !rules.name || rules.name === output.name;
  const labels = isMeant ? (card?.labels ?? []) : [];
  const shares = isMeant && rules.softmax ? softmax(values) : null;
  const order = values.map((_, i) => i).sort((a, b) => values[b] - values[a] || a - b);
  return order.slice(0, (isMeant && rules.top_k) || 5).map((index) => ({
    index,
    value: values[index],
    label: labels.length === values.length ? labels[index] : null,
    share: shares ? shares[index] : null,
  }));
}
