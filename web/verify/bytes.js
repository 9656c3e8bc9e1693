// SPDX-License-Identifier: Apache-2.0
// Bytes: hexadecimal, comparison, joining.

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Throws RangeError for what is not pairs of hexadecimal digits. */
export function fromHex(text) {
  if (typeof text !== "string" || !/^(?:[0-9a-fA-F]{2})*$/.test(text)) {
    throw new RangeError("expected pairs of hexadecimal digits");
  }
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function equal(a, b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Of an array: of as many arguments there is no room on the stack. */
export function joined(parts) {
  const made = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}

/** The most significant byte first. */
export function u32(value) {
  const made = new Uint8Array(4);
  new DataView(made.buffer).setUint32(0, Number(value));
  return made;
}

export function u64(value) {
  const made = new Uint8Array(8);
  new DataView(made.buffer).setBigUint64(0, BigInt(value));
  return made;
}

/** In 32 bytes, as EIP-712 has every number. */
export function u256(value) {
  return fromHex(BigInt(value).toString(16).padStart(64, "0"));
}
