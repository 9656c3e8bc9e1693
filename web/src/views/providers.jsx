// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { Chart } from "../chart.jsx";
import { amount, number, percent } from "../format.js";
import { line, looked, rates } from "../history.js";
import { Answer, Hash, Table } from "../parts.jsx";
import { api, useAnswer } from "../session.js";
import { Provider } from "./provider.jsx";

const EVERY_MS = 3000;
const OPEN_AT_FIRST = 3;

/** `open`, and the first of those that are there. */
function firstOpen(open, providers) {
  const left = OPEN_AT_FIRST - Object.keys(open).length;
  const more = providers.filter((one) => one.connected && !(one.address in open));
  if (left <= 0 || more.length === 0) return open;
  return { ...open, ...Object.fromEntries(more.slice(0, left).map((one) => [one.address, true])) };
}

/** What a ticket is worth; undefined where that is not to be read. */
function useTicketValue() {
  const { data } = useAnswer((options) => api.get("/v1/ledger", options), [], {
    every: 20 * EVERY_MS,
  });
  return data?.terms.ticket_value;
}

export default function Providers() {
  const found = useAnswer(
    async (options) => (await api.get("/v1/providers", options)).providers,
    [],
    { every: EVERY_MS },
  );
  const [looks, see] = useState([]);
  const [open, turn] = useState({}); // by address: as somebody wanted it, or as it came first
  useEffect(() => {
    if (!found.data) return;
    see((before) => looked(before, Date.now() / 1000, found.data));
    turn((before) => firstOpen(before, found.data));
  }, [found.data]);
  const ticketValue = useTicketValue();
  const nameOf = (one) => one.name || one.address.slice(0, 8);
  const lines = (rows, values) =>
    rows.map((row) => ({ label: nameOf(row), values: values(row.address) }));
  const at = looks.map((one) => one.at);
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
                  "charts",
                  (row) => (
                    <button
                      type="button"
                      aria-expanded={Boolean(open[row.address])}
                      aria-label={`${open[row.address] ? "hide" : "show"} charts of ${nameOf(row)}`}
                      onClick={() => turn({ ...open, [row.address]: !open[row.address] })}
                    >
                      {open[row.address] ? "hide" : "show"}
                    </button>
                  ),
                ],
              ]}
            />
            {rows.filter((row) => open[row.address]).map((row) => (
              <Provider
                key={row.address}
                of={row}
                name={nameOf(row)}
                looks={looks}
                ticketValue={ticketValue}
              />
            ))}
            <section aria-labelledby="all">
              <h2 id="all">All of them</h2>
              <div class="charts">
                <Chart
                  title="answers a second"
                  at={at}
                  lines={lines(rows, (address) => rates(looks, address))}
                />
                <Chart
                  title="requests waiting"
                  at={at}
                  lines={lines(rows, (address) => line(looks, address, (one) => one.queued))}
                />
              </div>
            </section>
          </>
        )}
      </Answer>
    </>
  );
}
