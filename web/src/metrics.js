// SPDX-License-Identifier: Apache-2.0
/** Sums by family of Prometheus' text format: [{name, help, value}]; histograms by their counts. Pure. */
export function sums(text) {
  const families = new Map();
  const help = new Map();
  for (const line of text.split("\n")) {
    const said = /^# HELP (\S+) (.*)$/.exec(line);
    if (said) help.set(said[1], said[2]);
    const found = /^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/.exec(line);
    if (!found || /_(bucket|sum)$/.test(found[1])) continue;
    const value = Number(found[2]);
    if (Number.isFinite(value)) families.set(found[1], (families.get(found[1]) ?? 0) + value);
  }
  return [...families].map(([name, value]) => ({
    name,
    value,
    help: help.get(name) ?? help.get(name.replace(/_count$/, "")) ?? "",
  }));
}
