// SPDX-License-Identifier: Apache-2.0
import { amount, number, percent, time } from "../format.js";
import { Answer, Facts, Hash, Table } from "../parts.jsx";
import { api, useAnswer } from "../session.js";

function Balances() {
  const found = useAnswer((options) => api.get("/v1/balances", options), [], { every: 10_000 });
  return (
    <Answer of={found}>
      {(data) => (
        <>
          {data.test_money && (
            <p class="notice">This is test money: it buys answers here and nothing else.</p>
          )}
          <Facts
            of={[
              ["account", data.name],
              ["address", <code class="breaks">{data.owner}</code>],
              ...Object.entries(data.balances).map(([kind, value]) => [
                kind.replaceAll("_", " "),
                amount(value),
              ]),
            ]}
          />
          {data.announcements.length > 0 && (
            <Table
              label="withdrawals announced"
              rows={data.announcements}
              columns={[
                ["from", (row) => row.from],
                ["amount", (row) => amount(row.amount), true],
                ["free", (row) => time(row.release_ms)],
              ]}
            />
          )}
        </>
      )}
    </Answer>
  );
}

function Terms() {
  const found = useAnswer((options) => api.get("/v1/ledger", options), [], { every: 10_000 });
  return (
    <Answer of={found}>
      {({ terms, totals, entries, head }) => (
        <>
          <Facts
            of={[
              ["price of an answer", amount(terms.price)],
              ["face value of a ticket", amount(terms.face_value)],
              ["chance that it wins", percent(terms.win_probability)],
              ["worth of a ticket", amount(terms.ticket_value)],
              ["least stake", amount(terms.stake_min)],
            ]}
          />
          <h3>The ledger</h3>
          <Facts
            of={[
              ["entries", number(entries)],
              ["head", <Hash of={head} />],
              ...Object.entries(totals).map(([kind, value]) => [
                kind.replaceAll("_", " "),
                amount(value),
              ]),
            ]}
          />
        </>
      )}
    </Answer>
  );
}

function Tickets() {
  const found = useAnswer((options) => api.get("/v1/tickets", options), [], { every: 10_000 });
  return (
    <Answer of={found}>
      {(data) => (
        <Facts
          of={[
            ...Object.entries(data.tickets).map(([state, count]) => [state, number(count)]),
            ["worth, as expected", amount(data.expected)],
            ["claims pending", number(data.claims_pending)],
            ["won, ever", data.ever && number(data.ever.won)],
            ["paid, ever", data.ever && amount(data.ever.value_paid)],
          ]}
        />
      )}
    </Answer>
  );
}

export default function Money() {
  return (
    <>
      <h1>Money</h1>
      <section aria-labelledby="own">
        <h2 id="own">Yours</h2>
        <Balances />
      </section>
      <section aria-labelledby="tickets">
        <h2 id="tickets">Tickets</h2>
        <p class="quiet">
          Answers are paid with lottery tickets: few win, and pay as much as all are worth.
        </p>
        <Tickets />
      </section>
      <section aria-labelledby="terms">
        <h2 id="terms">Terms</h2>
        <Terms />
      </section>
    </>
  );
}
