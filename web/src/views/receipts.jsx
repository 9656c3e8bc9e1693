// SPDX-License-Identifier: Apache-2.0
import { time } from "../format.js";
import { Answer, Hash, Table } from "../parts.jsx";
import { to } from "../route.js";
import { api, useAnswer } from "../session.js";

export const audited = (receipt) =>
  receipt.verdict ? `${receipt.audit}: ${receipt.verdict.outcome}` : receipt.audit;

export default function Receipts() {
  const found = useAnswer(
    async (options) => (await api.get("/v1/receipts?count=50", options)).receipts,
    [],
    { every: 10_000 },
  );
  return (
    <>
      <h1>Jobs</h1>
      <p>
        Each answer has a receipt, which its provider and the gateway have signed. Open one to check
        it here.
      </p>
      <Answer of={found} empty="No receipts yet: ask a model for an answer.">
        {(rows) => (
          <Table
            label="receipts, newest first"
            rows={rows}
            columns={[
              ["receipt", (row) => <Hash of={row.id} link={to("receipts", row.id)} />],
              ["model", (row) => <a href={to("models", ...row.model.split("/"))}>{row.model}</a>],
              ["version", (row) => row.version, true],
              ["step", (row) => `${row.step} of ${row.job.steps}`, true],
              ["provider", (row) => <Hash of={row.job.provider} />],
              ["audit", audited],
              ["delivered", (row) => time(row.delivered_ms)],
            ]}
          />
        )}
      </Answer>
    </>
  );
}
