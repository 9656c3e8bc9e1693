// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { number, time } from "../format.js";
import { sums } from "../metrics.js";
import { Answer, Problem, Table } from "../parts.jsx";
import { api, useAnswer } from "../session.js";

function NewAccount({ onMade }) {
  const [name, type] = useState("");
  const [role, choose] = useState("consumer");
  const [state, set] = useState({});
  const make = async (event) => {
    event.preventDefault();
    try {
      set({ made: await api.post("/v1/accounts", { json: { name, role } }) });
      type("");
      onMade();
    } catch (error) {
      set({ error });
    }
  };
  return (
    <form class="search" onSubmit={make}>
      <label>
        Name <input required value={name} onInput={(event) => type(event.currentTarget.value)} />
      </label>
      <label>
        Role{" "}
        <select value={role} onChange={(event) => choose(event.currentTarget.value)}>
          {["consumer", "operator", "auditor"].map((one) => (
            <option>{one}</option>
          ))}
        </select>
      </label>
      <button type="submit">Make an account</button>
      <div aria-live="polite">
        <Problem error={state.error} />
        {state.made && (
          <p class="notice">
            The token of {state.made.name}, shown this once:{" "}
            <code class="breaks">{state.made.token}</code>
          </p>
        )}
      </div>
    </form>
  );
}

function Accounts() {
  const [after, go] = useState("");
  const found = useAnswer(
    async (options) =>
      (await api.get(`/v1/accounts?count=50&after=${encodeURIComponent(after)}`, options)).accounts,
    [after],
  );
  return (
    <>
      <Answer of={found} empty="No more accounts.">
        {(rows) => (
          <>
            <Table
              label="accounts by name"
              rows={rows}
              columns={[
                ["name", (row) => row.name],
                ["role", (row) => row.role],
              ]}
            />
            {rows.length === 50 && (
              <button type="button" onClick={() => go(rows.at(-1).name)}>
                Next
              </button>
            )}
          </>
        )}
      </Answer>
      {after && (
        <button type="button" onClick={() => go("")}>
          First
        </button>
      )}
      <NewAccount onMade={found.reload} />
    </>
  );
}

function Acts() {
  const found = useAnswer(
    async (options) => {
      const said = await api.get("/v1/audit-log?count=50", options);
      return Object.values(said)[0];
    },
    [],
    { every: 15_000 },
  );
  return (
    <Answer of={found}>
      {(rows) => (
        <Table
          label="what operators have done, newest first"
          rows={rows}
          columns={[
            ["at", (row) => time(row.at_ms)],
            ["account", (row) => row.account],
            ["token", (row) => row.token],
            ["act", (row) => row.act],
            ["on", (row) => <span class="breaks">{row.on}</span>],
            ["outcome", (row) => row.outcome],
          ]}
        />
      )}
    </Answer>
  );
}

function Figures() {
  const found = useAnswer(
    async (options) => sums(await api.get("/metrics", { ...options, text: true })),
    [],
    { every: 10_000 },
  );
  return (
    <Answer of={found}>
      {(rows) => (
        <Table
          label="figures, sums of each"
          rows={rows}
          columns={[
            ["sum", (row) => number(row.value), true],
            ["figure", (row) => <code>{row.name}</code>],
            ["meaning", (row) => row.help],
          ]}
        />
      )}
    </Answer>
  );
}

export default function Operator() {
  return (
    <>
      <h1>Operator</h1>
      <section aria-labelledby="accounts">
        <h2 id="accounts">Accounts</h2>
        <Accounts />
      </section>
      <section aria-labelledby="acts">
        <h2 id="acts">Log of acts</h2>
        <Acts />
      </section>
      <section aria-labelledby="figures">
        <h2 id="figures">Figures</h2>
        <Figures />
      </section>
    </>
  );
}
