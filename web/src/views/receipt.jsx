// SPDX-License-Identifier: Apache-2.0
// One answer, down to its bits. What is called checked was checked in this browser.
import { useState } from "preact/hooks";
import { getOrNull, modelPath } from "../api.js";
import { asked } from "../asked.js";
import { NotInThisBuild, checkReceipt, computeAgain } from "../checks.js";
import { firstElements } from "../elements.js";
import { amount, time } from "../format.js";
import { Answer, Command, Facts, Hash, Table } from "../parts.jsx";
import { to } from "../route.js";
import { api, useAnswer } from "../session.js";
import { Cases } from "./dispute.jsx";

/** The signed bytes of a receipt, which alone are checked: nothing else of what the gateway tells. */
const signedBytes = ({ receipt }) =>
  Uint8Array.from(receipt?.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const SHOWN = 256; // elements of a tensor

/** Tensors as they were signed, down to the bits of their elements. */
function Tensors({ of, label }) {
  return (of ?? []).map((one) => {
    const rows = firstElements(one, SHOWN);
    const title = `${label} ${one.name}: ${one.oip} [${one.shape.join(", ")}]`;
    return (
      <details>
        <summary>{title}</summary>
        {rows.length === 0 ? (
          <p class="quiet">{one.elements.length} bytes, not shown here.</p>
        ) : (
          <Table
            label={title}
            rows={rows}
            columns={[
              ["element", (row) => row.index, true],
              ["value", (row) => String(row.value), true],
              ["bits", (row) => <code>{row.bits}</code>],
            ]}
          />
        )}
      </details>
    );
  });
}

// [class, mark, words] of all checks together: only what this browser has looked at is right.
const VERDICTS = {
  right: [
    "good",
    "✓",
    "Checked in this browser: signatures, order and hashes fit what was delivered.",
  ],
  wrong: [
    "bad",
    "✗",
    "Something does not fit: see below. Keep this receipt: an accusation is made of it.",
  ],
  unknown: [
    "",
    "?",
    "Not everything could be looked at: see below. That says nothing about the answer.",
  ],
};
const verdictOf = ({ checks }) => {
  if (checks.some((check) => check.ok === false)) return VERDICTS.wrong;
  return checks.length > 0 && checks.every((check) => check.ok === true)
    ? VERDICTS.right
    : VERDICTS.unknown;
};

function Checks({ found }) {
  const [kind, mark, words] = verdictOf(found);
  return (
    <>
      <p class={`notice ${kind}`} role="status" id="verdict">
        {mark} {words}
      </p>
      <ul class="checks">
        {found.checks.map(({ name, ok, detail }) => (
          <li class={ok ? "good" : ok === false ? "bad" : ""}>
            <strong>
              {ok ? "✓" : ok === false ? "✗" : "?"} {name}
            </strong>{" "}
            <span class="breaks">{detail}</span>
          </li>
        ))}
      </ul>
      <Facts
        of={[
          ["provider, of the receipt that was checked", found.provider],
          ["gateway, likewise", found.gateway],
        ].map(([name, value]) => [name, value && <code class="breaks">{value}</code>])}
      />
      <Tensors of={found.inputs} label="input" />
      <Tensors of={found.outputs} label="output" />
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

/** Addresses that one knows from elsewhere than this gateway: {gateway, provider}, either empty. */
function Expected({ value, onChange }) {
  const field = (role) => (
    <label>
      {role}{" "}
      <input
        value={value[role]}
        placeholder="0x…"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onChange({ ...value, [role]: event.currentTarget.value.trim() })}
      />
    </label>
  );
  return (
    <details>
      <summary>Whose signatures they must be</summary>
      <p>Addresses that you know from elsewhere: the gateway could name its own here.</p>
      {field("gateway")} {field("provider")}
    </details>
  );
}

/** Loads what a check is made of. `id` is what was asked for, whatever the gateway says it sent. */
async function load(id, receipt, path, typed) {
  const own = asked.of(id);
  const given = Object.entries(typed).filter(([, address]) => address !== "");
  const ofGateway = own ? null : await getOrNull(api, path);
  return {
    ...own,
    id,
    receipt: signedBytes(receipt),
    opening: await api.get(`/v1/receipts/${encodeURIComponent(id)}/opening`, { bytes: true }),
    model: own?.model ?? ofGateway,
    expected: { ...own?.expected, ...Object.fromEntries(given) },
  };
}

function Check({ id, receipt }) {
  const path = `/v1/models/${modelPath(receipt.model)}/versions/${receipt.version}`;
  const [typed, type] = useState({ gateway: "", provider: "" });
  const check = useAct(async () => checkReceipt(await load(id, receipt, path, typed)));
  const again = useAct(async (progress) =>
    computeAgain({
      ...(await load(id, receipt, path, typed)),
      fetchModel: () => api.get(`${path}/content`, { bytes: true }),
      onProgress: progress,
    }),
  );
  return (
    <section aria-labelledby="check">
      <h2 id="check">Check it here</h2>
      <p>
        Your browser fetches what the answer was made of and checks it, by a script that comes from
        this gateway too. Who does not trust that checks elsewhere: with the command below.
      </p>
      <p class="quiet" id="compared">
        {asked.of(id)
          ? "This tab has asked for it: what it sent and got is compared with what was signed."
          : "This tab has not asked for it: the question and the answer that you know are not compared."}
      </p>
      <Expected value={typed} onChange={type} />
      <div class="side">
        <button type="button" class="main" onClick={check.start} disabled={check.state.busy}>
          Check signatures and hashes
        </button>
        <button type="button" onClick={again.start} disabled={again.state.busy}>
          Compute it again here
        </button>
      </div>
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
      <Command text={`commensal audit ${id}`} />
    </section>
  );
}

// [class, words] by what came of computing again: what could not be found out is no fraud.
const OUTCOMES = {
  holds: ["good", "✓ Computed again in this browser: the same answer, to the last bit."],
  differs: ["bad", "✗ Computed again in this browser: other bits than the provider committed to."],
  invalid: ["bad", "✗ Not computed again, since the receipt does not fit what was delivered:"],
  unknown: ["", "? Not found out, which says nothing about the answer:"],
};

function Recomputed({ found }) {
  const [kind, words] = OUTCOMES[found.outcome] ?? OUTCOMES.unknown;
  return (
    <p class={`notice ${kind}`} id="recomputed">
      {words} <span class="breaks">{found.detail}</span>
    </p>
  );
}

function Body({ id, receipt }) {
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
      <Check id={id} receipt={receipt} />
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
        <Cases receipt={receipt} />
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
      <Answer of={found}>{(receipt) => <Body id={id} receipt={receipt} />}</Answer>
    </>
  );
}
