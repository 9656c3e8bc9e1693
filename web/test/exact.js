// SPDX-License-Identifier: Apache-2.0
// Fused multiply-adds in whole numbers, which round nothing before the end (IEEE 754, 5.4.1).

export const BINARY32 = { digits: 24, exponentMin: -149, exponentMax: 104 };
export const BINARY64 = { digits: 53, exponentMin: -1074, exponentMax: 971 };

const view = new DataView(new ArrayBuffer(8));

/** x is mantissa times 2^exponent. */
function parts(x) {
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  const mantissa = field === 0 ? fraction : fraction | (1n << 52n);
  return { mantissa: bits >> 63n ? -mantissa : mantissa, exponent: Math.max(field, 1) - 1075 };
}

function rounded(mantissa, exponent, format) {
  const sign = mantissa < 0n ? -1 : 1;
  let size = mantissa < 0n ? -mantissa : mantissa;
  const length = size.toString(2).length;
  let drop = Math.max(length - format.digits, format.exponentMin - exponent);
  if (drop > 0) {
    const half = 1n << BigInt(drop - 1);
    const rest = size & ((half << 1n) - 1n);
    size >>= BigInt(drop);
    if (rest > half || (rest === half && size & 1n)) size += 1n;
    exponent += drop;
  }
  if (size.toString(2).length > format.digits) {
    size >>= 1n;
    exponent += 1;
  }
  while (exponent > format.exponentMax && size.toString(2).length < format.digits) {
    size <<= 1n;
    exponent -= 1;
  }
  if (exponent > format.exponentMax) return sign * Infinity;
  // In two steps, as 2^-1074 is a number but not what it takes to get there at once.
  const first = Math.trunc(exponent / 2);
  return sign * Number(size) * 2 ** first * 2 ** (exponent - first);
}

/** x * y + z, rounded once to nearest, ties to even. */
export function fma(x, y, z, format) {
  // A product of numbers is one, whatever binary64 makes of it.
  if (!Number.isFinite(z) && Number.isFinite(x) && Number.isFinite(y)) return z;
  if (![x, y, z].every(Number.isFinite)) return x * y + z;
  const [a, b, c] = [parts(x), parts(y), parts(z)];
  const product = { mantissa: a.mantissa * b.mantissa, exponent: a.exponent + b.exponent };
  if (product.mantissa === 0n || c.mantissa === 0n) {
    if (product.mantissa === 0n) return c.mantissa === 0n ? x * y + z : z;
  }
  const exponent = Math.min(product.exponent, c.exponent);
  const sum = (product.mantissa << BigInt(product.exponent - exponent)) +
    (c.mantissa << BigInt(c.exponent - exponent));
  if (sum === 0n) return c.mantissa === 0n ? x * y : 0; // an exact difference is +0
  return rounded(sum, exponent, format);
}
