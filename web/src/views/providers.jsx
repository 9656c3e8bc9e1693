// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { amount, number, percent } from "../format.js";
import { Answer, Facts, Hash, Table } from "../parts.jsx";
import { api, useAnswer } from "../session.js";

const EVERY_MS = 3000;
const POINTS_MAX = 200;
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** What each look at the providers adds: answers a second since the last one, and what waits. */
function useHistory(providers) {
  const kept = useRef({ at: [], rate: {}, queued: {}, last: null });
  useEffect(() => {
    if (!providers) return;
    const history = kept.current;
    const now = Date.now() / 1000;
    const seconds = history.last ? now - history.last.at : 0;
    history.at.push(now);
    for (const one of providers) {
      const before = history.last?.served[one.address];
      const rate =
        before === undefined || seconds <= 0 ? null : Math.max(0, one.served - before) / seconds;
      for (const [name, value] of [
        ["rate", rate],
        ["queued", one.queued],
      ]) {
        const line = (history[name][one.address] ??= Array(history.at.length - 1).fill(null));
        line.push(value);
      }
    }
    for (const name of ["rate", "queued"]) {
      for (const line of Object.values(history[name])) {
        while (line.length < history.at.length) line.push(null);
        if (line.length > POINTS_MAX) line.shift();
      }
    }
    if (history.at.length > POINTS_MAX) history.at.shift();
    history.last = {
      at: now,
      served: Object.fromEntries(providers.map((one) => [one.address, one.served])),
    };
  }, [providers]);
  return kept.current;
}

function Chart({ title, history, lines, names }) {
  const box = useRef();
  const plot = useRef();
  const keys = Object.keys(lines);
  const id = `chart-${title.replace(/\W+/g, "-")}`;
  useEffect(() => {
    const ink = colour("--ink");
    const axis = {
      stroke: ink,
      grid: { stroke: colour("--edge") },
      ticks: { stroke: colour("--edge") },
    };
    plot.current = new uPlot(
      {
        width: box.current.clientWidth || 600,
        height: 220,
        legend: { live: false },
        cursor: { show: false },
        axes: [axis, { ...axis, size: 60 }],
        scales: { y: { range: (_, low, high) => [0, Math.max(high ?? 0, 1)] } },
        series: [
          {},
          ...keys.map((key, i) => ({
            label: names[key] ?? key,
            width: 2,
            stroke: colour(COLOURS[i % COLOURS.length]),
          })),
        ],
      },
      [history.at, ...keys.map((key) => lines[key])],
      box.current,
    );
    const resize = () => plot.current.setSize({ width: box.current.clientWidth, height: 220 });
    addEventListener("resize", resize);
    return () => {
      removeEventListener("resize", resize);
      plot.current.destroy();
    };
  }, [keys.join(), document.documentElement.dataset.theme]);
  useEffect(() => plot.current?.setData([history.at, ...keys.map((key) => lines[key])]));
  const latest = keys
    .map((key) => `${names[key] ?? key} ${number(lines[key].at(-1) ?? 0)}`)
    .join(", ");
  return (
    <figure aria-labelledby={id}>
      <figcaption id={id}>
        {title}
        <span class="hidden">: now {latest}</span>
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}

function Income({ address }) {
  const found = useAnswer(
    async (options) => {
      const [tickets, balances] = await Promise.all([
        api.get(`/v1/tickets?provider=${address}`, options),
        api.get(`/v1/balances?owner=${address}`, options),
      ]);
      return { tickets, balances };
    },
    [address],
    { every: 4 * EVERY_MS },
  );
  return (
    <Answer of={found}>
      {({ tickets, balances }) => (
        <Facts
          of={[
            [
              "tickets",
              Object.entries(tickets.tickets)
                .filter(([, n]) => n)
                .map(([state, n]) => `${n} ${state}`)
                .join(", "),
            ],
            ["worth, as expected", amount(tickets.expected)],
            ["claims pending", tickets.claims_pending],
            [
              "seconds to the next payment",
              tickets.seconds_to_payment === null ? "" : number(tickets.seconds_to_payment),
            ],
            ...Object.entries(balances.balances).map(([kind, value]) => [
              kind.replaceAll("_", " "),
              amount(value),
            ]),
          ]}
        />
      )}
    </Answer>
  );
}

export default function Providers() {
  const found = useAnswer(
    async (options) => (await api.get("/v1/providers", options)).providers,
    [],
    { every: EVERY_MS },
  );
  const history = useHistory(found.data);
  const [chosen, choose] = useState("");
  const names = Object.fromEntries(
    (found.data ?? []).map((one) => [one.address, one.name || one.address.slice(0, 8)]),
  );
  return (
    <>
      <h1>Providers</h1>
      <Answer of={found} empty="No provider has come yet.">
        {(rows) => (
          <>
            <Table
              label="providers"
              rows={rows}
              columns={[
                ["name", (row) => row.name],
                ["address", (row) => <Hash of={row.address} />],
                ["state", (row) => row.state],
                ["answers", (row) => number(row.served), true],
                ["waiting", (row) => number(row.queued), true],
                ["audited", (row) => percent(row.audit_probability), true],
                ["stake", (row) => amount(row.stake), true],
                [
                  "incomes",
                  (row) => (
                    <button
                      type="button"
                      aria-expanded={chosen === row.address}
                      aria-label={`show incomes of ${names[row.address]}`}
                      onClick={() => choose(chosen === row.address ? "" : row.address)}
                    >
                      show
                    </button>
                  ),
                ],
              ]}
            />
            {chosen && (
              <section aria-labelledby="incomes">
                <h2 id="incomes">Incomes of {names[chosen]}</h2>
                <Income key={chosen} address={chosen} />
              </section>
            )}
            <Chart title="answers a second" history={history} lines={history.rate} names={names} />
            <Chart
              title="requests waiting"
              history={history}
              lines={history.queued}
              names={names}
            />
            <p class="quiet">
              A host's own rate stays on its machine: there <code>commensal provider</code> writes it
              beside the guest's.
            </p>
          </>
        )}
      </Answer>
    </>
  );
}
