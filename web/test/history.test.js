// SPDX-License-Identifier: Apache-2.0
// What charts of providers show of what was seen of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { guestIncomes, hostIncome, line, looked, rates } from "../src/history.js";

const seen = (served, host = null) => ({ address: "a", served, host });
const looks = (...all) =>
  all.reduce((sofar, [at, ...providers]) => looked(sofar, at, providers), []);

test("a rate is what came since the look before, and nothing where that is not known", () => {
  const all = looks([10, seen(5)], [13, seen(11)], [15, seen(11)], [16], [18, seen(12)]);
  assert.deepEqual(rates(all, "a"), [null, 2, 0, null, null]);
  assert.deepEqual(rates(looks([10, seen(5)], [13, seen(1)]), "a"), [null, null], "counted anew");
  assert.deepEqual(rates(all, "b"), [null, null, null, null, null]);
});

test("an income is that of a minute, or of what there is of one", () => {
  const all = looks([0], [10, seen(0)], [20, seen(10)], [70, seen(10)], [80, seen(10)]);
  assert.deepEqual(guestIncomes(all, "a", "7"), [null, null, 7 * 3600, (7 * 3600) / 6, 0]);
  assert.deepEqual(guestIncomes(all, "a", undefined), [null, null, null, null, null]);
});

test("a host earns by its rate, where all that is known", () => {
  const host = { unit: "sol", rate: 9, reference: 10, income_per_hour: 5 };
  assert.equal(hostIncome(seen(0, host)), 4.5);
  assert.equal(hostIncome(seen(0, { ...host, income_per_hour: 0 })), 0);
  for (const none of ["rate", "reference", "income_per_hour"])
    assert.equal(hostIncome(seen(0, { ...host, [none]: null })), null);
  assert.equal(hostIncome(seen(0)), null);
});

test("the oldest looks go, and a line has a place for each look", () => {
  let all = [];
  for (let at = 0; at < 300; ++at) all = looked(all, at, at % 2 ? [seen(at)] : []);
  assert.equal(all.length, 200);
  assert.equal(all[0].at, 100);
  const served = line(all, "a", (one) => one.served);
  assert.deepEqual(served.slice(0, 3), [null, 101, null]);
  assert.deepEqual(line(all, "a", (one) => one.host?.rate).slice(0, 2), [null, null]);
});
