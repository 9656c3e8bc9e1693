// SPDX-License-Identifier: Apache-2.0
// Accusations over one answer, down to the operation in which both sides part.
import { getOrNull } from "../api.js";
import { amount, number, time } from "../format.js";
import { Answer, Facts, Hash, Table } from "../parts.jsx";
import { api, useAnswer } from "../session.js";

const of = (value, words) => (value === null || value === undefined ? "" : words);

/** What one side says: its outputs, where it is now, and the operation's bits. */
function Side({ name, said }) {
  return (
    <Facts
      of={[
        [`${name}'s outputs`, said.outputs],
        [`${name}'s hash, here`, said.hash],
        [`${name}'s bits of the operation`, said.claimed],
        [`${name}`, said.wrong && "was wrong"],
      ].map(([title, value]) => [title, value && <code class="breaks">{value}</code>])}
    />
  );
}

function Dispute({ one }) {
  const place = one.dispute;
  if (!place)
    return (
      <p class="quiet">
        No move was made, or the moves are not yours to see: they show some of the answer's data.
      </p>
    );
  return (
    <>
      {place.verdict && <p class="notice">{place.verdict}</p>}
      <Facts
        of={[
          ["stands at", `${place.phase}, round ${place.round}`],
          ["node", of(place.node, `${number(place.node)} ${place.operator ?? ""}`.trim())],
          ["output", of(place.output, number(place.output))],
          ["element", of(place.element, number(place.element))],
          [
            "operation",
            of(place.operation, `${number(place.operation)} of ${number(place.operations)}`),
          ],
          ["bits that the arbiter computes", place.computed && <code>{place.computed}</code>],
        ]}
      />
      <Side name="accused" said={place.accused} />
      <Side name="accuser" said={place.accuser} />
    </>
  );
}

export function Cases({ receipt }) {
  const found = useAnswer(
    async (options) => (await getOrNull(api, `/v1/cases/${receipt.id}`, options))?.cases ?? [],
    [receipt.id],
  );
  return (
    <Answer of={found} empty="Nobody has accused anybody over this answer.">
      {(rows) => (
        <>
          <p class="quiet">As the gateway's ledger tells it; unchecked here.</p>
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
          {rows.map((one) => (
            <details key={one.accuser}>
              <summary>
                {one.accuser.slice(0, 10)}… against {one.accused.slice(0, 10)}…: hash, element,
                operation
              </summary>
              <Dispute one={one} />
            </details>
          ))}
        </>
      )}
    </Answer>
  );
}
