// SPDX-License-Identifier: Apache-2.0
// The page in a browser, before a gateway and a provider: scripts/test-page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { violations } from "./axe.mjs";
import { RIGHT, check } from "./check.mjs";
import { LOOKS, System, askDigits, launch, open, shoot } from "./system.mjs";

const FIRST_BYTES_MAX = 100_000;

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

test("the first load is small", async () => {
  const tab = await open(browser, system);
  await tab.page.getByText("1 shown").waitFor();
  const { files, requests, bytes, paint } = await tab.page.evaluate(() => {
    const all = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
    return {
      files: all.filter((one) => !new URL(one.name).pathname.startsWith("/v1/")).length,
      requests: all.length,
      bytes: all.reduce((sum, one) => sum + one.transferSize, 0), // with headers, as they travel
      paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    };
  });
  console.log(
    `first load: ${requests} requests, ${files} of them files, ${bytes} bytes on the wire, ` +
      `first paint ${Math.round(paint)} ms`,
  );
  assert.ok(files > 3 && bytes > 0 && bytes < FIRST_BYTES_MAX, `${files} files, ${bytes} bytes`);
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

for (const { colorScheme, name, viewport } of LOOKS) {
  test(`every view, ${colorScheme}, ${name}: no complaints, no rule of accessibility broken`, async () => {
    const tab = await open(browser, system, { token: system.operator, colorScheme, viewport });
    const receipt = await askDigits(system, tab.page);
    assert.deepEqual(await violations(tab.page), [], "an answer");
    assert.match((await check(tab.page, receipt)).verdict, RIGHT);
    assert.deepEqual(await violations(tab.page), [], "a receipt that was checked");
    for (const place of [
      "#/models",
      "#/models/alice/digits",
      "#/providers",
      "#/receipts",
      receipt,
      "#/money",
      "#/serve",
      "#/operator",
      "#/nowhere",
    ]) {
      await tab.page.goto(`${system.url}/${place}`);
      await tab.page.waitForSelector("h1");
      await tab.page.waitForFunction(
        () => !document.querySelector("main").textContent.includes("Loading…"),
      );
      assert.deepEqual(await violations(tab.page), [], place);
      const { scroll, width } = await tab.page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        width: innerWidth,
      }));
      assert.ok(scroll <= width, `${place} is ${scroll} wide on ${width}`);
      const [, part, ...rest] = place.split("/");
      await shoot(tab.page, `${part}${rest.length ? "-one" : ""}-${colorScheme}-${name}`);
    }
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });
}

test("who serves reads its tickets as the page shows, without a token", async () => {
  const tab = await open(browser, system, { place: "#/serve" });
  const shown = await tab.page.locator("li:has(h2:text('Watch')) .command code").textContent();
  const words = shown.replace("~/.local/state/commensal", system.folder).split(" ");
  assert.equal(words.shift(), "commensal");
  assert.match(system.run(words, ""), /^STATE/);
  await tab.close();
});

test("colours follow the toggle", async () => {
  const tab = await open(browser, system, { colorScheme: "light" });
  const paper = () => tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  const toggle = tab.page.getByRole("button", { name: /^colours/ });
  await toggle.click();
  await toggle.click();
  await tab.page.waitForFunction(
    (before) => getComputedStyle(document.body).backgroundColor !== before,
    light,
  );
  await tab.page.reload();
  await tab.page.waitForSelector("h1");
  assert.notEqual(await paper(), light, "and it stays");
  await tab.close();
});

test("the keyboard alone suffices: sign in, find a model, ask it", async () => {
  const tab = await open(browser, system);
  const { page } = tab;
  const tabTo = async (is) => {
    for (let i = 0; i < 60; ++i) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(is)) return;
    }
    assert.fail(`no way to ${is}`);
  };
  await tabTo(() => document.activeElement.type === "password");
  await page.keyboard.type(system.alice);
  await page.keyboard.press("Enter");
  await page.getByText("alice (consumer)").waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await tabTo(() => document.activeElement.textContent === "alice/digits");
  await page.keyboard.press("Enter");
  await page.waitForSelector("textarea");
  assert.equal(
    await page.evaluate(() => document.activeElement.id),
    "main",
    "the new part is where one is",
  );
  await tabTo(() => document.activeElement.tagName === "TEXTAREA");
  await page.keyboard.type(Array(64).fill("1").join(" "));
  await tabTo(() => document.activeElement.textContent === "Ask");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#answer td");
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("what is typed wrongly, and what is no picture, is said in a line", async () => {
  const tab = await open(browser, system, { token: system.alice, place: "#/models/alice/digits" });
  await tab.page.fill("textarea", "1 2 three");
  await tab.page.getByRole("button", { name: "Ask" }).click();
  await tab.page.getByText('"three" is no number').waitFor();
  await tab.page.fill("textarea", "1 2");
  await tab.page.getByRole("button", { name: "Ask" }).click();
  await tab.page.getByText("a multiple of 64 numbers, found 2").waitFor();
  await tab.page.setInputFiles("input[type=file]", {
    name: "x.png",
    mimeType: "image/png",
    buffer: Buffer.from("no picture"),
  });
  await tab.page.getByText("is no picture that is read here").waitFor();
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("a hostile card shows itself as text", async () => {
  const tab = await open(browser, system, { token: system.alice, place: "#/money" });
  await tab.page.route("**/v1/models/alice/digits/card", (route) =>
    route.fulfill({
      json: {
        model: "alice/digits",
        source: "",
        card: {
          license: "<b>x</b>",
          parent: "../../v1/account",
          task: '"><img src=x onerror=alert(1)>',
          tags: ["<i>"],
          modality: "image",
          labels: Array(10).fill("<img src=x onerror=alert(1)>"),
          picture: null,
          output: { name: "logits", softmax: true, top_k: 2 },
          example: { input: "image", text: "<script>alert(1)</script>" },
          language: "",
        },
        text: "<script>window.broken = 1</script>\n\n<img src=x onerror='window.broken=1'>\n\n[a](javascript:window.broken=1) [b](https://b.example/)\n\n![c](https://c.example/c.png)\n",
      },
    }),
  );
  await tab.page.goto(`${system.url}/#/models/alice/digits`);
  await tab.page.waitForSelector(".card-text");
  assert.match(await tab.page.textContent(".card-text"), /<script>window\.broken = 1<\/script>/);
  await tab.page.fill("textarea", Array(64).fill(0).join(" "));
  await tab.page.getByRole("button", { name: "Ask" }).click();
  await tab.page.waitForSelector("#answer td");
  assert.equal(await tab.page.locator("main img, main script, main iframe").count(), 0);
  assert.equal(await tab.page.evaluate(() => window.broken), undefined);
  const links = await tab.page.$$eval(".card-text a", (all) =>
    all.map((one) => [one.getAttribute("href"), one.rel]),
  );
  assert.deepEqual(links, [
    ["https://b.example/", "noopener noreferrer nofollow"],
    ["https://c.example/c.png", "noopener noreferrer nofollow"],
  ]);
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("a browser without WebAssembly says what to do", async () => {
  const init = () => delete globalThis.WebAssembly;
  const tab = await open(browser, system, { token: system.alice, init });
  assert.equal(await tab.page.evaluate(() => typeof WebAssembly), "undefined");
  const receipt = await askDigits(system, tab.page);
  await tab.page.goto(`${system.url}/${receipt}`);
  await tab.page.getByRole("button", { name: "Compute it again here" }).click();
  await tab.page.getByText("this browser has no WebAssembly").waitFor();
  assert.equal(await tab.page.locator(".notice.good").count(), 0);
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("a token that ends while one types takes nothing away", async () => {
  const made = await system.call("POST", "/v1/account/tokens", system.alice, { label: "short" });
  const tab = await open(browser, system, {
    token: made.json.token,
    place: "#/models/alice/digits",
  });
  const typed = Array(64).fill("2").join(" ");
  await tab.page.fill("textarea", typed);
  await system.call("DELETE", "/v1/account/tokens/short", system.alice);
  await tab.page.getByRole("button", { name: "Ask" }).click();
  await tab.page.waitForSelector("#expired");
  assert.equal(await tab.page.inputValue("textarea"), typed);
  await tab.page.fill("#expired input", system.alice);
  await tab.page.keyboard.press("Enter");
  await tab.page.waitForSelector("#expired", { state: "detached" });
  assert.equal(await tab.page.inputValue("textarea"), typed);
  await tab.page.getByRole("button", { name: "Ask" }).click();
  await tab.page.waitForSelector("#answer td");
  assert.deepEqual(
    tab.faults.filter((one) => !one.includes("401")),
    [],
  );
  await tab.close();
});

test("a gateway that goes and comes again is one line meanwhile", async () => {
  const tab = await open(browser, system, { token: system.alice, place: "#/providers" });
  await tab.page.waitForSelector("main .scroll table");
  const http = new URL(system.url).host;
  await system.killGateway();
  await tab.page.waitForSelector("#gone");
  assert.equal(await tab.page.locator("main .scroll table").count(), 1, "what was there stays");
  await system.startGateway(http, system.providers);
  await tab.page.waitForSelector("#gone", { state: "detached", timeout: 30_000 });
  assert.deepEqual(
    tab.faults.filter((one) => !one.includes("Failed to load resource")),
    [],
  );
  await tab.close();
});

test("who asks without a token is told where to type one, and the caret is there", async () => {
  const tab = await open(browser, system, { place: "#/models/alice/digits" });
  const { page } = tab;
  await page.locator("textarea").fill(Array(64).fill(0).join(" "));
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByText("this needs a token: type yours above").waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "token");
  await tab.close();
});

test("the token is kept in the tab alone", async () => {
  const tab = await open(browser, system);
  await tab.page.fill("header input", system.alice);
  await tab.page.getByRole("button", { name: "Sign in" }).click();
  await tab.page.getByText("alice (consumer)").waitFor();
  const kept = await tab.page.evaluate(() => ({
    local: JSON.stringify(localStorage),
    cookie: document.cookie,
    url: location.href,
  }));
  for (const where of Object.values(kept)) assert.ok(!where.includes(system.alice));
  await tab.page.getByRole("button", { name: "Sign out" }).click();
  assert.equal(await tab.page.evaluate(() => sessionStorage.getItem("commensal.token")), null);
  await tab.page.fill("header input", "wrong");
  await tab.page.getByRole("button", { name: "Sign in" }).click();
  await tab.page.getByText("the gateway does not know this token").waitFor();
  await tab.close();
});
