// SPDX-License-Identifier: Apache-2.0
// A receipt's page, as a reader uses it: signatures and hashes checked, the answer computed again.
import assert from "node:assert/strict";

const JUDGE_MS_MAX = 60_000;
export const RIGHT = /^✓ Checked in this browser/;
export const WRONG = /^✗ Something does not fit/;
export const SAME_BITS = /^✓ .*the same answer, to the last bit/;

/** Has a receipt checked on its page: {verdict, bad}, bad the names of what does not fit. */
export async function check(page, place, { press = "Check signatures", expect = {} } = {}) {
  await page.evaluate(() => (location.hash = "#/receipts"));
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.evaluate((to) => (location.hash = to), place);
  await page.getByRole("heading", { name: "Check it here" }).waitFor();
  assert.equal(await page.locator(".notice.good").count(), 0, "right before it is checked");
  for (const [role, address] of Object.entries(expect)) {
    await page.getByText("Whose signatures they must be").click();
    await page.getByLabel(role, { exact: true }).fill(address);
  }
  await page.getByRole("button", { name: press }).click();
  const told = page.locator("#verdict, #recomputed, [role=alert]");
  await told.waitFor({ timeout: JUDGE_MS_MAX });
  const bad = await page.locator("ul.checks li.bad strong").allTextContents();
  return { verdict: await told.textContent(), bad: bad.map((text) => text.slice(2)) };
}

export const computeAgain = async (page, place) =>
  (await check(page, place, { press: "Compute it again here" })).verdict;
