// SPDX-License-Identifier: Apache-2.0
// Small ONNX files (onnx.proto) for tests.

const bytes = (text) => (typeof text === "string" ? [...new TextEncoder().encode(text)] : text);

function varint(value) {
  const made = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    if (left < 0x80n) return [...made, Number(left)];
    made.push(Number(left & 0x7fn) | 0x80);
  }
}
const number = (field, value) => [...varint(field << 3), ...varint(value)];
/** A field with a length: text, or the bytes of what is inside. */
export const message = (field, content) => {
  const inside = bytes(content);
  return [...varint((field << 3) | 2), ...varint(inside.length), ...inside];
};

function port({ name, shape, type = 1 }) {
  const dims = shape.flatMap((dim) => message(1, number(1, dim)));
  const tensor = [...number(1, type), ...message(2, dims)];
  return [...message(1, name), ...message(2, message(1, tensor))];
}

const node = ({ op, inputs, outputs }) => [
  ...inputs.flatMap((name) => message(1, name)),
  ...outputs.flatMap((name) => message(2, name)), ...message(4, op),
];

/** int64, of one dimension. */
const constant = ({ name, values }) => [
  ...number(1, values.length), ...number(2, 7), ...values.flatMap((one) => number(7, one)),
  ...message(8, name),
];

/** `nodes`: {op, inputs, outputs}; `inputs`, `outputs`: {name, shape} of float32. */
export function makeModel({ nodes, inputs, outputs, constants = [], opset = 17 }) {
  const graph = [
    ...nodes.flatMap((one) => message(1, node(one))), ...message(2, "made"),
    ...constants.flatMap((one) => message(5, constant(one))),
    ...inputs.flatMap((one) => message(11, port(one))),
    ...outputs.flatMap((one) => message(12, port(one))),
  ];
  return Uint8Array.from([
    ...number(1, 8), ...message(8, number(2, opset)), ...message(7, graph),
  ]);
}
