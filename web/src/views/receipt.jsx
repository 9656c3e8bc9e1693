// SPDX-License-Identifier: Apache-2.0
// One answer, down to its bits. What is called checked was checked in this browser.
import { useState } from "preact/hooks";
import { getOrNull, modelPath } from "../api.js";
import { NotInThisBuild, checkReceipt, computeAgain } from "../checks.js";
import { amount, number, time } from "../format.js";
import { Answer, Command, Facts, Hash, Table } from "../parts.jsx";
import { to } from "../route.js";
import { api, useAnswer } from "../session.js";

const hexOf = (value) =>
  value instanceof Uint8Array
    ? Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("")
    : String(value ?? "");

/** Tensors as the checks found them in the opening. */
function Tensors({ of, label }) {
  const list = Array.isArray(of)
    ? of
    : Object.entries(of ?? {}).map(([name, one]) => ({ name, ...one }));
  if (list.length === 0) return null;
  const first = (one) =>
    Array.from(one.values ?? one.data ?? [])
      .slice(0, 12)
      .map((x) => number(Number(x)));
  return (
    <Table
      label={label}
      rows={list}
      columns={[
        ["name", (one) => <code>{one.name}</code>],
        [
          "shape",
          (one) =>
            `${one.datatype ?? one.dtype ?? ""} [${(one.shape ?? one.dims ?? []).join(", ")}]`,
        ],
        ["first elements", (one) => first(one).join(" ")],
      ]}
    />
  );
}

function Checks({ found }) {
  const isRight = found.checks.length > 0 && found.checks.every((check) => check.ok);
  return (
    <>
      <p class={`notice ${isRight ? "good" : "bad"}`} role="status" id="verdict">
        {isRight
          ? "✓ Checked in this browser: signatures, order and hashes fit what was delivered."
          : "✗ Something does not fit: see below. Keep this receipt, it is what an accusation is made of."}
      </p>
      <ul class="checks">
        {found.checks.map((check) => (
          <li class={check.ok ? "good" : "bad"}>
            <strong>
              {check.ok ? "✓" : "✗"} {check.name}
            </strong>{" "}
            <span class="breaks">{check.detail}</span>
          </li>
        ))}
      </ul>
      <Facts
        of={[
          ["provider (by its signature)", <code class="breaks">{hexOf(found.provider)}</code>],
          ["gateway (by its signature)", <code class="breaks">{hexOf(found.gateway)}</code>],
        ]}
      />
      <Tensors of={found.inputs} label="inputs in the opening" />
      <Tensors of={found.outputs} label="outputs in the opening" />
    </>
  );
}

/** Runs `act`(progress) by a button: {start, state}. What fails for want of a gateway is no fraud. */
function useAct(act) {
  const [state, set] = useState({});
  const start = async () => {
    set({ busy: true, done: 0 });
    try {
      set({ found: await act((done) => set({ busy: true, done })) });
    } catch (error) {
      set({ error });
    }
  };
  return { start, state };
}

function Failure({ error }) {
  if (!error) return null;
  const isConnection = error.status !== undefined;
  const words =
    error instanceof NotInThisBuild
      ? `Not checked: ${error.message}.`
      : isConnection
        ? `Not checked: the gateway did not send what is needed (${error.message}). That says nothing about the answer.`
        : `Not checked: ${error.message}`;
  return (
    <p class="notice" role="alert">
      {words}
    </p>
  );
}

function Check({ receipt }) {
  const path = `/v1/models/${modelPath(receipt.model)}/versions/${receipt.version}`;
  const load = async () => ({
    receipt,
    opening: await api.get(`/v1/receipts/${receipt.id}/opening`, { bytes: true }),
    model: await getOrNull(api, path),
  });
  const check = useAct(async () => checkReceipt(await load()));
  const again = useAct(async (progress) => {
    const given = await load();
    const modelBytes = await api.get(`${path}/content`, { bytes: true });
    const onProgress = (part) => progress(typeof part === "number" ? part : part.done / part.of);
    return computeAgain({ ...given, modelBytes, onProgress });
  });
  return (
    <section aria-labelledby="check">
      <h2 id="check">Check it here</h2>
      <p>Your browser fetches what the answer was made of and checks it; it believes nobody.</p>
      <button type="button" class="main" onClick={check.start} disabled={check.state.busy}>
        Check signatures and hashes
      </button>{" "}
      <button type="button" onClick={again.start} disabled={again.state.busy}>
        Compute it again here
      </button>
      <div aria-live="polite">
        {check.state.busy && <p class="quiet">Checking…</p>}
        <Failure error={check.state.error} />
        {check.state.found && <Checks found={check.state.found} />}
        {again.state.busy && (
          <label class="quiet">
            Computing again <progress max={1} value={again.state.done || undefined} />
          </label>
        )}
        <Failure error={again.state.error} />
        {again.state.found && <Recomputed found={again.state.found} />}
      </div>
      <p class="quiet">On the command line, with models of any size:</p>
      <Command text={`commensal audit ${receipt.id}`} />
    </section>
  );
}

function Recomputed({ found }) {
  const isRight = found.ok === true;
  return (
    <p class={`notice ${isRight ? "good" : "bad"}`} id="recomputed">
      {isRight
        ? "✓ Computed again in this browser: the same answer, to the last bit."
        : "✗ Computed again in this browser: another answer than was committed to."}{" "}
      {found.detail}
    </p>
  );
}

function Case({ receipt }) {
  const found = useAnswer(
    async (options) => (await getOrNull(api, `/v1/cases/${receipt.id}`, options))?.cases ?? [],
    [receipt.id],
  );
  return (
    <Answer of={found} empty="Nobody has accused anybody over this answer.">
      {(rows) => (
        <Table
          label="accusations"
          rows={rows}
          columns={[
            ["accuser", (row) => <Hash of={row.accuser} />],
            ["accused", (row) => <Hash of={row.accused} />],
            ["status", (row) => row.status],
            ["whose turn", (row) => row.owes?.join(", ") ?? "?"],
            ["until", (row) => time(row.until_ms)],
            ["moves", (row) => row.moves, true],
            ["bond", (row) => amount(row.bond), true],
          ]}
        />
      )}
    </Answer>
  );
}

function Body({ receipt }) {
  const { job, verdict } = receipt;
  return (
    <>
      <Facts
        of={[
          [
            "model",
            <a href={to("models", ...receipt.model.split("/"))}>
              {receipt.model} version {receipt.version}
            </a>,
          ],
          ["delivered", time(receipt.delivered_ms)],
          ["step", `${receipt.step} of ${job.steps}`],
          ["provider", <code class="breaks">{job.provider}</code>],
          ["client (the gateway)", <code class="breaks">{job.client}</code>],
          ["ticket's face value", amount(job.face_value)],
          [
            "replaced by",
            receipt.replaced_by && (
              <Hash of={receipt.replaced_by} link={to("receipts", receipt.replaced_by)} />
            ),
          ],
        ]}
      />
      <Check receipt={receipt} />
      <section aria-labelledby="audit">
        <h2 id="audit">Audits</h2>
        <p class="quiet">As the gateway tells it; unchecked here.</p>
        <Facts
          of={[
            ["audit", receipt.audit],
            ["outcome", verdict?.outcome],
            ["auditor", verdict && <Hash of={verdict.auditor} />],
            ["committed", verdict && <Hash of={verdict.expected_commitment} />],
            ["recomputed", verdict && <Hash of={verdict.recomputed_commitment} />],
            ["reason", verdict?.reason],
          ]}
        />
      </section>
      <section aria-labelledby="cases">
        <h2 id="cases">Disputes</h2>
        <Case receipt={receipt} />
      </section>
      <details>
        <summary>All hashes and signatures</summary>
        <Facts
          of={[
            ["commitment", receipt.commitment],
            ["graph", job.graph_root],
            ["weights", job.weight_root],
            ["inputs", job.input_commitment],
            ["model's file", receipt.model_sha256],
            ["job", job.id],
            ["numerics", job.numerics_version],
            ["provider's signature", receipt.provider_signature.signature],
            ["gateway's signature", receipt.client_signature.signature],
            ["win threshold", job.win_threshold],
          ].map(([name, value]) => [name, <code class="breaks">{value}</code>])}
        />
      </details>
    </>
  );
}

export default function Receipt({ id }) {
  const found = useAnswer(
    (options) => api.get(`/v1/receipts/${encodeURIComponent(id)}`, options),
    [id],
  );
  return (
    <>
      <p>
        <a href="#/receipts">Jobs</a>
      </p>
      <h1>Receipt</h1>
      <p>
        <code class="breaks">{id}</code>
      </p>
      <Answer of={found}>{(receipt) => <Body receipt={receipt} />}</Answer>
    </>
  );
}
