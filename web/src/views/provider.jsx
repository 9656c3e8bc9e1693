// SPDX-License-Identifier: Apache-2.0
// A provider beside its host: rates and incomes of both, as they go.
import { Chart } from "../chart.jsx";
import { amount, number } from "../format.js";
import { guestIncomes, hostIncome, line, rates } from "../history.js";
import { Answer, Facts } from "../parts.jsx";
import { api, useAnswer } from "../session.js";

const EVERY_MS = 12_000;

/** What the ledger has of it. */
function Ledger({ address }) {
  const found = useAnswer(
    async (options) => {
      const [tickets, balances] = await Promise.all([
        api.get(`/v1/tickets?provider=${address}`, options),
        api.get(`/v1/balances?owner=${address}`, options),
      ]);
      return { tickets, balances };
    },
    [address],
    { every: EVERY_MS },
  );
  return (
    <Answer of={found}>
      {({ tickets, balances }) => (
        <Facts
          of={[
            [
              "tickets",
              Object.entries(tickets.tickets)
                .filter(([, n]) => n)
                .map(([state, n]) => `${n} ${state}`)
                .join(", "),
            ],
            ["worth, as expected", amount(tickets.expected)],
            ["claims pending", tickets.claims_pending],
            [
              "seconds to the next payment",
              tickets.seconds_to_payment === null ? "" : number(tickets.seconds_to_payment),
            ],
            ...Object.entries(balances.balances).map(([kind, value]) => [
              kind.replaceAll("_", " "),
              amount(value),
            ]),
          ]}
        />
      )}
    </Answer>
  );
}

/** What its owner does so that more is shown. */
function Missing({ host }) {
  if (!host)
    return (
      <p class="quiet">
        It shows no host. Beside one, its owner starts it with <code>--host auto</code> and{" "}
        <code>--show-host</code>, for both incomes with <code>--host-income-per-hour N</code> too;
        of several providers on a machine one shows the host.
      </p>
    );
  if (host.income_per_hour === null)
    return (
      <p class="quiet">
        What the host earns is not told: its owner tells it with{" "}
        <code>--host-income-per-hour N</code>, in the ledger's unit.
      </p>
    );
}

export function Provider({ of, name, looks, ticketValue }) {
  const { address, host } = of;
  const at = looks.map((one) => one.at);
  const ofHost = (figure) => line(looks, address, (one) => one.host && figure(one.host));
  const incomes = [{ label: "guest", values: guestIncomes(looks, address, ticketValue) }];
  if (host && host.income_per_hour !== null)
    incomes.unshift({ label: "host", values: line(looks, address, hostIncome), isDashed: true });
  const id = `provider-${address}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      <Missing host={host} />
      <div class="charts">
        {host && (
          <Chart
            title={`host, as it says, ${host.unit} a second`}
            at={at}
            lines={[
              { label: "now", values: ofHost((one) => one.rate) },
              { label: "alone", values: ofHost((one) => one.reference), isDashed: true },
            ]}
            shows
          />
        )}
        <Chart
          title="guest, answers a second"
          at={at}
          lines={[{ label: "now", values: rates(looks, address) }]}
          shows
        />
        {ticketValue !== undefined && (
          <Chart
            title={`incomes an hour${incomes.length > 1 ? ", the host's as it says" : ""}`}
            at={at}
            lines={incomes}
            shows
          />
        )}
      </div>
      <Ledger address={address} />
    </section>
  );
}
