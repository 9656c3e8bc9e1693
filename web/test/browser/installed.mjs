// SPDX-License-Identifier: Apache-2.0
// node installed.mjs URL: asks alice/digits on the page of a gateway that runs there, checks the
// receipt and computes the answer again, all in the browser. Prints the receipt and the answer's
// bits, as hexadecimal digits. The token is in COMMENSAL_TOKEN. tests/package/debian runs it.
import assert from "node:assert/strict";
import { readAnswer } from "../../src/infer.js";
import { RIGHT, SAME_BITS, check, computeAgain } from "./check.mjs";
import { askDigits, launch, open } from "./system.mjs";

const system = { url: process.argv[2] };
const browser = await launch();
try {
  const tab = await open(browser, system, { token: process.env.COMMENSAL_TOKEN });
  const answered = tab.page.waitForResponse((response) => response.url().endsWith("/infer"));
  const receipt = await askDigits(system, tab.page);
  const response = await answered;
  const jsonBytes = Number(await response.headerValue("inference-header-content-length"));
  const { outputs } = readAnswer(new Uint8Array(await response.body()), jsonBytes);
  const checked = await check(tab.page, receipt);
  assert.match(checked.verdict, RIGHT);
  const names = await tab.page.locator("ul.checks strong").allTextContents();
  assert.ok(names.includes("✓ answered"), `what came is not what was signed: ${names}`);
  assert.match(await computeAgain(tab.page, receipt), SAME_BITS);
  assert.deepEqual(tab.faults, []);
  const bits = Buffer.from(outputs[0].elements).toString("hex");
  console.log(receipt.replace("#/receipts/", ""), bits);
} finally {
  await browser.close();
}
