// SPDX-License-Identifier: Apache-2.0
/** Numbers and times, as people read them. Pure. */

export function bytes(count) {
  if (!Number.isFinite(count)) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; count >= 999.5 && at < units.length - 1; ++at) count /= 1000;
  return `${at === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[at]}`;
}

export function time(ms) {
  if (!ms) return "";
  const text = new Date(Number(ms)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}

/** Decimal digits in groups of three. */
export const amount = (text) => String(text ?? "").replace(/\B(?=(\d{3})+$)/g, "\u202f");

export const number = (value) => {
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value ?? "");
  if (Number.isInteger(value)) return amount(value);
  return Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6
    ? String(Number(value.toPrecision(6)))
    : value.toExponential(3);
};

export const short = (hash) =>
  hash?.length > 20 ? `${hash.slice(0, 10)}…${hash.slice(-6)}` : (hash ?? "");

export const shape = (port) =>
  `${port.datatype} [${port.shape.map((n) => (n < 0 ? "?" : n)).join(", ")}]`;

export const percent = (share) => `${(100 * share).toFixed(1)} %`;
