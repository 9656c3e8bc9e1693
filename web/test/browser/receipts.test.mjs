// SPDX-License-Identifier: Apache-2.0
// What the page calls checked and computed again, before honest programs and others.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { fromHex, toHex } from "../../verify/bytes.js";
import { decodeOpening, decodeReceipt } from "../../verify/encoding.js";
import { receiptId } from "../../verify/roots.js";
import { makeAnswer } from "../made.js";
import { makeModel } from "../made_model.js";
import { violations } from "./axe.mjs";
import { RIGHT, SAME_BITS, WRONG, check, computeAgain } from "./check.mjs";
import { HAS_JUDGE, System, THREE, askDigits, launch, open, shoot } from "./system.mjs";

const system = new System();
let browser;
before(async () => {
  await system.start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  system.close();
});

const idOf = (place) => place.replace("#/receipts/", "");
const openingOf = (id) => `**/v1/receipts/${id}/opening`;
const faultsOf = (tab, but) => tab.faults.filter((one) => !one.includes(but));

/** Lets the gateway say something else of a receipt than it does. */
async function say(page, id, { json = {}, opening }) {
  await page.route(`**/v1/receipts/${id}`, async (route) => {
    const real = await (await route.fetch()).json();
    await route.fulfill({ json: { ...real, ...json } });
  });
  if (opening)
    await page.route(openingOf(id), (route) => route.fulfill({ body: Buffer.from(opening) }));
}

test("the digit network reads a three, and its answer is checked and computed again", async () => {
  const tab = await open(browser, system, { token: system.alice });
  const receipt = await askDigits(system, tab.page);
  assert.match(receipt, /^#\/receipts\/[0-9a-f]{64}$/);
  const cells = await tab.page.$$eval("#answer tbody tr", (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  // The same numbers as the command line sends: the same answer, with the names of the card.
  const said = JSON.parse(
    system.run(["infer", "alice/digits", "--input", THREE, "--json"], system.alice),
  );
  assert.deepEqual(
    cells,
    said.outputs.logits.top.map(({ label, value, share }) => [
      label,
      String(Number(value.toPrecision(6))),
      `${(100 * share).toFixed(1)} %`,
    ]),
  );
  assert.deepEqual([cells.length, cells[0][0]], [3, "three"]);
  await shoot(tab.page, "page-model");
  assert.match((await check(tab.page, receipt)).verdict, RIGHT);
  const names = await tab.page.locator("ul.checks strong").allTextContents();
  for (const name of ["id", "model", "inputs", "outputs", "asked", "answered", "expected provider"])
    assert.ok(names.includes(`✓ ${name}`), `${name} of ${names}`);
  await shoot(tab.page, "page-receipt");
  const again = await computeAgain(tab.page, receipt);
  if (HAS_JUDGE) assert.match(again, SAME_BITS);
  else assert.match(again, /^Not checked: this build of the page has no judge, which computes/);
  assert.deepEqual(await violations(tab.page), [], "an answer that was computed again");
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("an opening that was changed is found out, one that did not come is no fraud", async () => {
  const tab = await open(browser, system, { token: system.alice });
  const receipt = await askDigits(system, tab.page);
  const opening = openingOf(idOf(receipt));
  await tab.page.route(opening, (route) =>
    route.fulfill({ status: 500, json: { error: "no disk" } }),
  );
  const { verdict } = await check(tab.page, receipt);
  assert.match(verdict, /^Not checked.*no disk.*That says nothing/);
  await tab.page.unroute(opening);
  await tab.page.route(opening, async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    body[body.length - 40] ^= 1;
    await route.fulfill({ response, body });
  });
  assert.match((await check(tab.page, receipt)).verdict, WRONG);
  assert.equal(await tab.page.locator(".notice.good").count(), 0);
  assert.deepEqual(await violations(tab.page), [], "a receipt that does not fit");
  assert.deepEqual(faultsOf(tab, "500"), []);
  await tab.close();
});

test("another honest receipt, or another signer, is not what was asked for", async () => {
  const tab = await open(browser, system, { token: system.alice });
  const [first, second] = [await askDigits(system, tab.page), await askDigits(system, tab.page)];
  const { json } = await system.call("GET", `/v1/receipts/${idOf(second)}`, system.alice);
  const opening = await fetch(`${system.url}/v1/receipts/${idOf(second)}/opening`, {
    headers: { Authorization: `Bearer ${system.alice}` },
  });
  await say(tab.page, idOf(first), { json, opening: await opening.arrayBuffer() });
  const swapped = await check(tab.page, first);
  assert.match(swapped.verdict, WRONG);
  assert.deepEqual(swapped.bad, ["id"]);
  const { client, provider } = json.job;
  const own = await check(tab.page, second, { expect: { gateway: client } });
  assert.match(own.verdict, RIGHT);
  const other = await check(tab.page, second, { expect: { gateway: provider } });
  assert.match(other.verdict, WRONG);
  assert.deepEqual(other.bad, ["expected gateway"]);
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("an answer or a question other than the signed one is found", async () => {
  const tab = await open(browser, system, { token: system.alice });
  const infer = "**/v2/models/**/infer";
  const alter = async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    body[body.length - 4] ^= 1; // a last bit
    await route.fulfill({ response, body });
  };
  await tab.page.route(infer, alter);
  const answered = await check(tab.page, await askDigits(system, tab.page));
  assert.match(answered.verdict, WRONG);
  assert.deepEqual(answered.bad, ["answered"]);
  await tab.page.unroute(infer);
  await tab.page.route(infer, async (route) => {
    const json = route.request().postDataJSON();
    json.inputs[0].data[9] += 1;
    await route.continue({ postData: JSON.stringify(json) });
  });
  const asked = await check(tab.page, await askDigits(system, tab.page));
  assert.match(asked.verdict, WRONG);
  assert.deepEqual(asked.bad, ["asked"]);
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("what is no number is held against what was signed, to the last bit", async () => {
  const file = path.join(system.folder, "logs.onnx");
  const ports = { inputs: [{ name: "x", shape: [4] }], outputs: [{ name: "y", shape: [4] }] };
  writeFileSync(file, makeModel({ nodes: [{ op: "Log", inputs: ["x"], outputs: ["y"] }], ...ports }));
  system.run(["push", file], system.alice);
  const tab = await open(browser, system, { token: system.alice });
  const ask = async () => {
    await tab.page.goto(`${system.url}/#/models`);
    await tab.page.goto(`${system.url}/#/models/alice/logs`);
    await tab.page.locator("#input-x").fill("0 -1 1 2");
    await tab.page.getByRole("button", { name: "Ask" }).click();
    await tab.page.waitForSelector("#answer pre");
    return tab.page.getAttribute("#answer p a", "href");
  };
  const receipt = await ask();
  assert.equal(await tab.page.textContent("#answer pre"), "-Infinity\nNaN\n0\n0.6931472");
  assert.match((await check(tab.page, receipt)).verdict, RIGHT);
  const names = await tab.page.locator("ul.checks strong").allTextContents();
  assert.ok(names.includes("✓ answered"), `of ${names}`);
  // Another NaN: JSON, and a comparison of numbers, would not tell it from what was signed.
  await tab.page.route("**/v2/models/**/infer", async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    body[body.length - 12] ^= 1;
    await route.fulfill({ response, body });
  });
  const altered = await check(tab.page, await ask());
  assert.match(altered.verdict, WRONG);
  assert.deepEqual(altered.bad, ["answered"]);
  assert.deepEqual(faultsOf(tab, "/card"), []); // it has none
  await tab.close();
});

test("a wrong answer that both have signed is found by computing it again", async () => {
  const tab = await open(browser, system, { token: system.alice });
  const honest = idOf(await askDigits(system, tab.page));
  const auth = { headers: { Authorization: `Bearer ${system.alice}` } };
  const { json } = await system.call("GET", `/v1/receipts/${honest}`, system.alice);
  const opened = await fetch(`${system.url}/v1/receipts/${honest}/opening`, auth);
  const { inputs, outputs } = decodeOpening(new Uint8Array(await opened.arrayBuffer()));
  const { graphRoot, weightRoot, numericsVersion } = decodeReceipt(fromHex(json.receipt)).job;
  const wrong = outputs.map((one) => ({ ...one, elements: one.elements.slice() }));
  wrong[0].elements[0] ^= 1; // a last bit
  const fields = { graphRoot, weightRoot, numericsVersion };
  const { receipt, opening } = makeAnswer({ inputs, outputs: wrong, fields });
  const id = toHex(receiptId(decodeReceipt(receipt)));
  await tab.page.route(`**/v1/receipts/${id}`, (route) =>
    route.fulfill({ json: { ...json, id, receipt: toHex(receipt) } }),
  );
  await tab.page.route(openingOf(id), (route) => route.fulfill({ body: Buffer.from(opening) }));
  const place = `#/receipts/${id}`;
  assert.match((await check(tab.page, place)).verdict, RIGHT, "it is what both have signed");
  assert.match(await tab.page.textContent("#compared"), /has not asked/);
  const again = await computeAgain(tab.page, place);
  if (HAS_JUDGE) assert.match(again, /^✗ .*other bits than the provider committed to/);
  else assert.match(again, /^Not checked: this build of the page has no judge/);
  assert.equal(await tab.page.locator(".notice.good").count(), 0);
  assert.deepEqual(faultsOf(tab, "/v1/cases/"), []);
  await tab.close();
});

test("a dispute goes down to hashes, node, element and operation", async () => {
  const tab = await open(browser, system, { token: system.alice });
  const receipt = await askDigits(system, tab.page);
  const side = (digit, more) => ({
    outputs: digit.repeat(64),
    hash: null,
    claimed: `3f80000${digit}`,
    wrong: false,
    ...more,
  });
  const one = {
    subject: idOf(receipt),
    accuser: `0x${"a".repeat(40)}`,
    accused: `0x${"b".repeat(40)}`,
    status: "convicted",
    bond: "100",
    moves: 0,
    owes: [],
    until_ms: null,
  };
  const dispute = {
    phase: "over",
    round: 31,
    node: 12,
    operator: "Conv",
    output: 0,
    element: 4711,
    operation: 300,
    operations: 577,
    computed: "3f800002",
    verdict: "the provider was wrong: node 12 (Conv), <b>output</b> 0",
    accused: side("1", { wrong: true }),
    accuser: side("2"),
  };
  const cases = [
    { ...one, dispute },
    { ...one, accuser: `0x${"c".repeat(40)}`, dispute: null },
  ];
  await tab.page.route(`**/v1/cases/${idOf(receipt)}`, (route) =>
    route.fulfill({ json: { cases } }),
  );
  await tab.page.goto(`${system.url}/${receipt}`);
  const folded = tab.page.locator("section[aria-labelledby=cases] details");
  await folded.first().waitFor();
  assert.equal(await folded.count(), 2);
  for (const summary of await folded.locator("summary").all()) await summary.click();
  const said = await folded.first().innerText();
  for (const part of [
    dispute.verdict,
    "over, round 31",
    "12 Conv",
    "4\u202f711",
    "300 of 577",
    "3f800002",
    "1".repeat(64),
    "2".repeat(64),
    "was wrong",
  ])
    assert.ok(said.includes(part), `${part} in ${said}`);
  assert.match(await folded.last().innerText(), /not yours to see/);
  await shoot(tab.page, "page-dispute");
  for (const colorScheme of ["light", "dark"]) {
    await tab.page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(tab.page), [], `a dispute, ${colorScheme}`);
  }
  assert.deepEqual(tab.faults, []);
  await tab.close();
});
