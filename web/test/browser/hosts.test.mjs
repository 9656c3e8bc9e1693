// SPDX-License-Identifier: Apache-2.0
// A provider beside a host, on the page: rates and incomes of both.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { violations } from "./axe.mjs";
import { LOOKS, System, THREE, launch, open, shoot } from "./system.mjs";

const INCOME = 5_000_000;

const system = new System();
let browser;
let counting;
before(async () => {
  // The host: a figure in a file, a thousand more each second. In a process of its own: this one
  // stands still while a command runs.
  const file = path.join(system.folder, "work");
  writeFileSync(file, "1");
  const count = `
    const { renameSync, writeFileSync } = require("node:fs");
    const [file] = process.argv.slice(1), began = Date.now();
    setInterval(() => {
      writeFileSync(file + ".new", String(1 + Date.now() - began));
      renameSync(file + ".new", file);
    }, 100);`;
  counting = spawn(process.execPath, ["-e", count, file], { stdio: "inherit" });
  const income = ["--host-income-per-hour", String(INCOME)];
  await system.start("--host", `counter:${file}`, "--show-host", ...income);
  browser = await launch();
});
after(async () => {
  counting.kill();
  await browser?.close();
  system.close();
});

/** The newest figures of a chart, by their labels; what is not known is no number. */
const figures = async (page, title) => {
  const text = await page.locator("figcaption", { hasText: title }).first().textContent();
  const [, all] = text.split(": ");
  return Object.fromEntries(
    all.split(", ").map((one) => {
      const [, label, value] = /^(\S+) (.*)$/.exec(one);
      return [label, Number(value.replaceAll("\u202f", ""))];
    }),
  );
};

async function until(is) {
  for (let tries = 0; tries < 120; ++tries) {
    if (await is()) return;
    await new Promise((done) => setTimeout(done, 500));
  }
  assert.fail(`never: ${is}`);
}

test("the host's rate beside its reference, the guest's, and both incomes", async () => {
  const tab = await open(browser, system, { token: system.alice, place: "#/providers" });
  const { page } = tab;
  await until(async () => (await figures(page, "host, ")).alone > 0);
  const { host } = (await system.call("GET", "/v1/providers", system.alice)).json.providers[0];
  assert.equal(host.income_per_hour, INCOME);
  const rate = await figures(page, `host, as it says, ${host.unit} a second`);
  for (const [shown, said] of [
    [rate.now, host.rate],
    [rate.alone, host.reference],
  ])
    assert.ok(shown > said / 2 && shown < 2 * said, `${shown} beside ${said}`);
  assert.ok(rate.now > 500 && rate.now < 2000, `${rate.now} of about 1000`);
  const incomes = () => figures(page, "incomes an hour, the host's as it says");
  assert.ok((await incomes()).host > INCOME / 2 && (await incomes()).host < 2 * INCOME);
  // The guest may be paused for a minute, and a command waits less.
  await until(() => {
    try {
      return system.run(["infer", "alice/digits", THREE, "--json"], system.alice);
    } catch {
      return false;
    }
  });
  await until(async () => (await incomes()).guest > 0);
  await page.getByRole("button", { name: /^hide charts of/ }).click();
  assert.equal(await page.getByText("incomes an hour").count(), 0);
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

for (const { colorScheme, name, viewport } of LOOKS) {
  test(`no rule of accessibility is broken beside a host, ${colorScheme}, ${name}`, async () => {
    const tab = await open(browser, system, {
      token: system.operator,
      place: "#/providers",
      colorScheme,
      viewport,
    });
    await until(async () => (await figures(tab.page, "incomes an hour")).host > 0);
    await new Promise((done) => setTimeout(done, 8_000)); // some points
    assert.deepEqual(await violations(tab.page), []);
    const { scroll, width } = await tab.page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      width: innerWidth,
    }));
    assert.ok(scroll <= width, `${scroll} wide on ${width}`);
    await shoot(tab.page, `host-${colorScheme}-${name}`);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });
}

test("what is not told, and how it is told, is said", async () => {
  const tab = await open(browser, system, { token: system.alice });
  let host = { unit: "sol", rate: null, reference: null, income_per_hour: null };
  await tab.page.route("**/v1/providers", async (route) => {
    const response = await route.fetch();
    const { providers } = await response.json();
    await route.fulfill({ json: { providers: providers.map((one) => ({ ...one, host })) } });
  });
  await tab.page.goto(`${system.url}/#/providers`);
  await tab.page.getByText("What the host earns is not told").waitFor();
  await tab.page.getByText("now not known, alone not known").waitFor();
  host = null;
  await tab.page.getByText("It shows no host.").waitFor();
  assert.deepEqual(tab.faults, []);
  await tab.close();
});
