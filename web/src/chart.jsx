// SPDX-License-Identifier: Apache-2.0
import { useEffect, useId, useRef } from "preact/hooks";
import uPlot from "uplot";
import { number } from "./format.js";

const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
const HEIGHT = 220;
const LEAST_S = 30; // that it shows: one look alone is no span of time

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

const clock = (seconds) => new Date(1000 * seconds).toTimeString().slice(0, 8);
const said = (value) =>
  value === null || value === undefined ? "not known" : number(Number(value.toPrecision(4)));

/** uPlot takes one time alone for a whole day. */
const spanOf = (times) => {
  const last = times.at(-1) ?? Date.now() / 1000;
  return [Math.min(times[0] ?? last, last - LEAST_S), last];
};

/**
 * Lines over time: [{label, values, isDashed}], a value at each of `at` (seconds), null where there
 * is none. `shows`: the newest values stand above them, for all to read.
 */
export function Chart({ title, at, lines, shows = false }) {
  const box = useRef();
  const plot = useRef();
  const id = useId();
  const data = [at, ...lines.map(({ values }) => values)];
  useEffect(() => {
    const axis = {
      stroke: colour("--ink"),
      grid: { stroke: colour("--edge"), width: 1 },
      ticks: { stroke: colour("--edge"), width: 1 },
    };
    const width = () => box.current.clientWidth || 600;
    plot.current = new uPlot(
      {
        width: width(),
        height: HEIGHT,
        legend: { show: !shows || lines.length > 1, live: false },
        cursor: { show: false },
        axes: [
          { ...axis, space: 90, values: (_, all) => all.map(clock) },
          { ...axis, size: 60, values: (_, all) => all.map((one) => short.format(one)) },
        ],
        scales: {
          x: { range: (chart) => spanOf(chart.data[0]) },
          y: { range: (_, low, high) => [0, high > 0 ? 1.1 * high : 1] },
        },
        series: [
          {},
          ...lines.map(({ label, isDashed }, i) => ({
            label,
            width: 2,
            dash: isDashed ? [8, 6] : undefined,
            stroke: colour(COLOURS[i % COLOURS.length]),
          })),
        ],
      },
      data,
      box.current,
    );
    const resize = () => plot.current.setSize({ width: width(), height: HEIGHT });
    addEventListener("resize", resize);
    return () => {
      removeEventListener("resize", resize);
      plot.current.destroy();
    };
  }, [lines.map(({ label }) => label).join(), document.documentElement.dataset.theme]);
  useEffect(() => plot.current?.setData(data));
  const latest = lines.map(({ label, values }) => `${label} ${said(values.at(-1))}`).join(", ");
  return (
    <figure aria-labelledby={id}>
      <figcaption id={id}>
        {title}
        <span class={shows ? "quiet" : "hidden"}>: {latest}</span>
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}
