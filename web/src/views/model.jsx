// SPDX-License-Identifier: Apache-2.0
import { getOrNull, modelPath } from "../api.js";
import { bytes, number, shape, time } from "../format.js";
import { Answer, Command, Facts, Hash, Markdown, Table } from "../parts.jsx";
import { to } from "../route.js";
import { api, useAnswer } from "../session.js";
import { Try } from "./try.jsx";

const Ports = ({ of, label }) => (
  <Table
    label={label}
    rows={of}
    columns={[
      ["name", (port) => <code>{port.name}</code>],
      ["type and shape", (port) => shape(port)],
    ]}
  />
);

function Speed({ path }) {
  const found = useAnswer((options) => getOrNull(api, `/v1/models/${path}/speed`, options), [path]);
  const devices = found.data?.devices ?? [];
  if (devices.length === 0)
    return <p class="quiet">Not measured yet: it is, as answers are given.</p>;
  return (
    <Table
      label="measured speed by device"
      rows={devices}
      columns={[
        ["device", (row) => row.device || "?"],
        ["provider", (row) => <Hash of={row.provider} />],
        ["ms an answer", (row) => number(Number(row.ms.toPrecision(3))), true],
        ["answers", (row) => number(row.answers), true],
      ]}
    />
  );
}

function Versions({ newest, path, shown }) {
  const list = Array.from({ length: Math.min(newest, 50) }, (_, i) => newest - i);
  return (
    <p>
      {list.map((version) => (
        <>
          <a
            href={`${to("models", ...path.split("/").map(decodeURIComponent))}?version=${version}`}
            aria-current={version === shown ? "true" : undefined}
          >
            version {version}
          </a>{" "}
        </>
      ))}
      {newest > list.length && `and ${newest - list.length} older ones`}
    </p>
  );
}

function Body({ model, newest, card, path }) {
  const said = card?.card ?? {};
  return (
    <>
      <Facts
        of={[
          ["task", said.task],
          ["modality", said.modality],
          ["licence", said.license],
          [
            "made from",
            said.parent &&
              (said.parent.includes("/") ? (
                <a href={to("models", ...said.parent.split("/"))}>{said.parent}</a>
              ) : (
                said.parent
              )),
          ],
          ["tags", said.tags?.join(", ")],
          ["language", said.language],
          ["size", bytes(model.bytes)],
          ["private", model.private && "yes"],
          ["version", model.version],
          ["pushed", time(model.created_ms)],
          ["SHA-256", <Hash of={model.sha256} />],
          ["graph", <Hash of={model.graph_root} />],
          ["weights", <Hash of={model.weight_root} />],
        ]}
      />
      {card?.problem && (
        <p class="notice bad" id="misfit">
          The card does not fit this model, and is not gone by: {card.problem}
        </p>
      )}
      <section aria-labelledby="try">
        <h2 id="try">Try it</h2>
        <Try model={model} card={card?.problem ? {} : said} />
      </section>
      <section aria-labelledby="signature">
        <h2 id="signature">Signature</h2>
        <h3>Inputs</h3>
        <Ports of={model.inputs} label="inputs" />
        <h3>Outputs</h3>
        <Ports of={model.outputs} label="outputs" />
        <p>On the command line:</p>
        <Command text={`commensal infer ${model.name} --input FILE`} />
      </section>
      <section aria-labelledby="speed">
        <h2 id="speed">Speed</h2>
        <Speed path={path} />
      </section>
      <section aria-labelledby="versions">
        <h2 id="versions">Versions</h2>
        <Versions newest={newest} path={path} shown={model.version} />
      </section>
      {card?.text && (
        <section aria-labelledby="card">
          <h2 id="card">What its owner says</h2>
          <Markdown text={card.text} />
        </section>
      )}
    </>
  );
}

/** A name that leads nowhere is said to be none. */
function pathOr(name) {
  try {
    return { path: modelPath(name) };
  } catch (error) {
    return { path: "", error };
  }
}

export function Model({ name, query }) {
  const { path, error } = pathOr(name);
  const version = /^\d+$/.test(query.version ?? "") ? `/versions/${query.version}` : "";
  const found = useAnswer(
    async (options) => {
      if (error) throw error;
      const newest = await api.get(`/v1/models/${path}`, options);
      const [model, card] = await Promise.all([
        version ? api.get(`/v1/models/${path}${version}`, options) : newest,
        getOrNull(api, `/v1/models/${path}/card`, options),
      ]);
      return { model, newest: newest.version, card };
    },
    [path, version],
  );
  return (
    <>
      <p>
        <a href="#/models">Models</a>
      </p>
      <h1>{name}</h1>
      <Answer of={found}>{(data) => <Body path={path} {...data} />}</Answer>
    </>
  );
}
