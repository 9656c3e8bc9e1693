// SPDX-License-Identifier: Apache-2.0
// A model tried from the page: what is typed or chosen becomes inputs, the answer names and scores.
import { useState } from "preact/hooks";
import { asked } from "../asked.js";
import { decodePicture } from "../decode.js";
import { textOf } from "../elements.js";
import { number, percent, shape } from "../format.js";
import { infer } from "../infer.js";
import { Problem, Table } from "../parts.jsx";
import { pictureTensor, ruleOf } from "../picture.js";
import { to } from "../route.js";
import { api, useSession } from "../session.js";
import { ROWS_MAX, best, inputOf } from "../tensors.js";

/** Whether a picture may fill this input. */
function pictureRule(port, card) {
  const isMeant = !card.picture?.input || card.picture.input === port.name;
  if (port.datatype !== "FP32" || !isMeant) return null;
  try {
    return ruleOf(card.picture, port.shape);
  } catch {
    return null;
  }
}

function Input({ port, card, value, onChange }) {
  const rule = pictureRule(port, card);
  const id = `input-${port.name}`;
  const [note, say] = useState("");
  const [error, fail] = useState(null);
  const choose = async (event) => {
    const file = event.currentTarget.files[0];
    if (!file) return;
    try {
      const { picture, exact } = await decodePicture(file);
      const { shape: made, data } = pictureTensor(picture, rule);
      onChange({
        isRefused: false,
        picture: { name: port.name, datatype: "FP32", shape: made, data: Array.from(data) },
      });
      fail(null);
      say(
        `${picture.width} x ${picture.height}, made ${made.join(" x ")}${
          exact
            ? ", as the command line makes it"
            : "; this browser decoded it, the command line may differ in last bits"
        }`,
      );
    } catch (failed) {
      onChange({ picture: null, isRefused: true });
      say("");
      fail(failed);
    }
  };
  return (
    <fieldset>
      <legend>
        <code>{port.name}</code> <span class="quiet">{shape(port)}</span>
      </legend>
      {rule && (
        <label for={`${id}-file`}>
          Picture{" "}
          <input id={`${id}-file`} type="file" accept="image/*,.pgm,.ppm" onChange={choose} />
        </label>
      )}
      {note && (
        <p class="quiet" role="status">
          {note}
        </p>
      )}
      <Problem error={error} />
      <label for={id}>
        {port.datatype === "BYTES"
          ? "Text"
          : rule
            ? "or its numbers"
            : "Numbers, with spaces or commas between"}
      </label>
      <textarea
        id={id}
        rows={port.datatype === "BYTES" ? 4 : 3}
        spellcheck={false}
        value={value.text}
        onInput={(event) => onChange({ text: event.currentTarget.value, picture: null })}
      />
    </fieldset>
  );
}

function Output({ output, card }) {
  const { ranked, rows } = best(output, card);
  if (ranked.length === 0) {
    const shown = (output.data ?? []).slice(0, 64).map((one) => textOf(one, output.datatype));
    return <pre tabIndex={0}>{shown.join("\n")}</pre>;
  }
  const hasNames = ranked.some((one) => one.label !== null);
  const columns = [
    hasNames ? ["name", (one) => one.label] : ["element", (one) => one.index],
    ["score", (one) => number(one.value), true],
  ];
  if (rows > 1) columns.unshift(["row", (one) => one.row]);
  if (ranked[0].share !== null) columns.push(["share", (one) => percent(one.share), true]);
  return (
    <>
      <Table label={`largest of ${output.name}`} rows={ranked} columns={columns} />
      {rows > ROWS_MAX && <p class="quiet">and {rows - ROWS_MAX} more rows</p>}
    </>
  );
}

function Answered({ answer, card }) {
  const { commensal_receipt: receipt, commensal_provider: provider } = answer.parameters ?? {};
  return (
    <div id="answer">
      {answer.outputs.map((output) => (
        <section aria-label={`output ${output.name}`}>
          <h3>
            <code>{output.name}</code> <span class="quiet">{shape(output)}</span>
          </h3>
          <Output output={output} card={card} />
        </section>
      ))}
      {receipt && (
        <p>
          By provider <code>{provider}</code>.{" "}
          <a href={to("receipts", receipt)}>Its receipt: check this answer</a>
        </p>
      )}
    </div>
  );
}

/** Where a token is typed; it may only come with the next drawing of the page. */
const toToken = () => setTimeout(() => document.getElementById("token")?.focus());

export function Try({ model, card }) {
  const { token } = useSession();
  const [typed, type] = useState({});
  const [state, set] = useState({});
  const valueOf = (port) => typed[port.name] ?? { text: "", picture: null };
  const run = async (event) => {
    event.preventDefault();
    set({ busy: true });
    try {
      const inputs = model.inputs.map((port) => inputOf(port, valueOf(port)));
      const answer = await infer(api, model, inputs);
      asked.keep(model, inputs, answer);
      set({ answer });
    } catch (error) {
      set({ error });
      if (error.status === 401) toToken();
    }
  };
  return (
    <form onSubmit={run}>
      {card.example?.text && <p class="quiet">For example: {card.example.text}</p>}
      {model.inputs.map((port) => (
        <Input
          port={port}
          card={card}
          value={valueOf(port)}
          onChange={(changed) =>
            type((all) => ({
              ...all,
              [port.name]: { text: "", picture: null, ...all[port.name], ...changed },
            }))
          }
        />
      ))}
      <button type="submit" class="main" disabled={state.busy}>
        Ask
      </button>
      {!token && (
        <p class="quiet">
          An answer needs a token: sign in at the top (unless this gateway serves everybody).
        </p>
      )}
      <div aria-live="polite">
        {state.busy && <p class="quiet">A provider computes…</p>}
        <Problem error={state.error} />
        {state.answer && <Answered answer={state.answer} card={card} />}
      </div>
    </form>
  );
}
