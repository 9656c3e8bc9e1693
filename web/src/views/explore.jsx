// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { explore } from "../api.js";
import { bytes, number, shape } from "../format.js";
import { Answer } from "../parts.jsx";
import { to } from "../route.js";
import { api, useAnswer } from "../session.js";

const MODALITIES = ["image", "text", "audio", "tabular", "other"];
const TASKS = [
  "image-classification",
  "object-detection",
  "image-segmentation",
  "text-classification",
  "text-generation",
  "feature-extraction",
  "tabular-classification",
  "tabular-regression",
  "audio-classification",
];

/** What is typed, once nobody types any more. */
function useSettled(value) {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), 250);
    return () => clearTimeout(timer);
  }, [JSON.stringify(value)]);
  return settled;
}

function One({ model }) {
  const facts = [
    model.task,
    model.modality,
    model.license,
    bytes(model.bytes),
    model.served ? `${number(model.served)} answer${model.served === 1 ? "" : "s"}` : "",
    model.private ? "private" : "",
  ];
  return (
    <li class="box">
      <h2>
        <a href={to("models", ...model.name.split("/"))}>{model.name}</a>
      </h2>
      {model.summary && <p>{model.summary}</p>}
      <p class="quiet">{facts.filter(Boolean).join(" · ")}</p>
      <p class="quiet">{model.inputs.map((port) => `${port.name}: ${shape(port)}`).join("; ")}</p>
    </li>
  );
}

export function Explore({ query: asked = {} }) {
  const [wanted, want] = useState({
    query: asked.query ?? "",
    task: "",
    modality: "",
    sort: "name",
  });
  const settled = useSettled(wanted);
  const [more, add] = useState([]);
  const found = useAnswer(
    (options) => {
      add([]);
      return explore(api, settled, options);
    },
    [JSON.stringify(settled)],
  );
  const set = (name) => (event) => want({ ...wanted, [name]: event.currentTarget.value });
  const last = more.at(-1) ?? found.data;
  const models = [found.data, ...more].flatMap((page) => page?.models ?? []);
  const next = async () => {
    const page = await explore(api, { ...settled, after: last.next });
    add([...more, page]);
  };
  return (
    <>
      <h1>Models</h1>
      <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Words <input type="search" value={wanted.query} onInput={set("query")} />
        </label>
        <label>
          Task <input list="tasks" value={wanted.task} onInput={set("task")} />
        </label>
        <datalist id="tasks">
          {TASKS.map((one) => (
            <option value={one} />
          ))}
        </datalist>
        <label>
          Modality{" "}
          <select value={wanted.modality} onChange={set("modality")}>
            <option value="">any</option>
            {MODALITIES.map((one) => (
              <option>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Order{" "}
          <select value={wanted.sort} onChange={set("sort")}>
            <option value="name">by name</option>
            <option value="newest">newest</option>
            <option value="used">most used</option>
          </select>
        </label>
      </form>
      <Answer of={found}>
        {() => (
          <>
            <p role="status" class="quiet">
              {models.length} shown{last?.plain && " (this gateway knows no cards: by name alone)"}
            </p>
            <ul class="boxes">
              {models.map((model) => (
                <One key={model.name} model={model} />
              ))}
            </ul>
            {last?.next && (
              <button type="button" onClick={next}>
                More
              </button>
            )}
          </>
        )}
      </Answer>
    </>
  );
}
