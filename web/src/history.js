// SPDX-License-Identifier: Apache-2.0
// What looks at the providers have found, the oldest first, and what follows from them. Pure.
const LOOKS_MAX = 200;
const OVER_S = 60;

/** `looks` and one more, at so many seconds; the oldest go. */
export const looked = (looks, at, providers) =>
  [...looks, { at, by: Object.fromEntries(providers.map((one) => [one.address, one])) }].slice(
    -LOOKS_MAX,
  );

/** A line of a chart: `figure`(provider) at each look; null where there is none. */
export const line = (looks, address, figure) =>
  looks.map(({ by }) => (by[address] ? (figure(by[address]) ?? null) : null));

/**
 * Answers a second at each look: since the newest look that is at least `seconds` older, or the
 * first one. Null where there is none before, or where a new gateway counts anew.
 */
export function rates(looks, address, seconds = 0) {
  let before = 0;
  return looks.map(({ at, by }, i) => {
    while (before + 1 < i && at - looks[before + 1].at >= seconds) ++before;
    let from = before;
    while (from < i && !looks[from].by[address]) ++from; // it came later
    const passed = at - looks[from].at;
    const answers = by[address] ? by[address].served - looks[from].by[address].served : -1;
    return answers < 0 || passed <= 0 ? null : answers / passed;
  });
}

/** What the host earns an hour at the rate that it has now; null where that is not known. */
export const hostIncome = ({ host }) =>
  host && host.income_per_hour !== null && host.rate !== null && host.reference !== null
    ? (host.income_per_hour * host.rate) / host.reference
    : null;

/** What its tickets are worth an hour, at `ticketValue` each, by the answers of the last minute. */
export const guestIncomes = (looks, address, ticketValue) =>
  rates(looks, address, OVER_S).map((rate) =>
    rate === null || ticketValue === undefined ? null : rate * 3600 * Number(ticketValue),
  );
