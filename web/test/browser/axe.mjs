// SPDX-License-Identifier: Apache-2.0
// The rules of accessibility that a tab breaks as it stands, by axe-core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function violations(page) {
  // Through the debugger's door: the page's own policy lets no such script in.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const { result } = await session.send("Runtime.evaluate", {
    awaitPromise: true,
    returnByValue: true,
    expression:
      "axe.run().then((found) => found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 120)).join(' | ')))",
  });
  return result.value;
}
