// SPDX-License-Identifier: Apache-2.0
// Pictures by cards: the page sends what `commensal infer` sends, bit for bit, and names the same.
// Of a network whose first output is its input the program's answer shows what it sent.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { TURNED, mirrorNetwork, noise, png, pnm, turnedJpeg } from "../network.js";
import { System, launch, open } from "./system.mjs";

const PIXEL_ERROR_MAX = 12; // of 255: of a JPEG in two decoders

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

const cardOf = (picture, more = "") => `---
commensal:
  labels: [warm, middling, cold]
  picture: { ${picture} }
  output: { name: scores, softmax: true, top_k: 2 }
${more}---
A mirror.
`;
const WHITE = "scale: 255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]";
const MODELS = {
  cropped: [[1, 3, 5, 6], cardOf(`resize: crop, layout: NCHW, colour: BGR, ${WHITE}`)],
  padded: [[1, 3, 9, 4], cardOf("resize: pad, colour: RGB, scale: 127.5, mean: 1, std: 0.7")],
  stretched: [[1, 3, 16, 11], cardOf(`resize: stretch, size: [16, 11], colour: RGB, ${WHITE}`)],
  last: [[1, 3, 7, 3], cardOf(`resize: crop, layout: NHWC, colour: RGB, ${WHITE}`)],
  grey: [[1, 1, 6, 6], cardOf("resize: crop, colour: gray, scale: 16, mean: 0.3, std: 0.9")
    .replace("  labels: [warm, middling, cold]\n", "")],
  bare: [[1, 3, 8, 10], ""],
};
const PICTURES = {
  "wide.ppm": pnm(13, 8, 3, noise(13 * 8 * 3)),
  "high.pgm": pnm(7, 12, 1, noise(7 * 12)),
  "coloured.png": png(10, 8, 3, noise(240)),
  "grey.png": png(9, 11, 1, noise(99)),
  "turned.png": png(10, 8, 3, noise(240), [["sRGB", [0]], ["eXIf", TURNED]]),
};

const bits = (numbers) => Buffer.from(Float32Array.from(numbers).buffer).toString("hex");

function put(name, bytes) {
  const file = path.join(system.folder, name);
  writeFileSync(file, bytes);
  return file;
}

/** What the program makes of it; null where it refuses. */
function told(model, file) {
  try {
    return JSON.parse(system.run(["infer", `alice/${model}`, file, "--json"], system.alice));
  } catch (error) {
    assert.match(`${error.stdout}${error.stderr}`, /the picture is|an image fills/);
    return null;
  }
}

/** What the page sends of it, and the rows that it shows of `scores`; null where it refuses. */
async function shown(page, file) {
  await page.setInputFiles("input[type=file]", file);
  const note = page.locator("fieldset [role=status], fieldset [role=alert]");
  await note.waitFor();
  if ((await note.getAttribute("role")) === "alert") return null;
  const asked = page.waitForRequest((request) => request.url().endsWith("/infer"));
  await page.getByRole("button", { name: "Ask" }).click();
  const [input] = (await asked).postDataJSON().inputs;
  const answer = page.locator('section[aria-label="output scores"]');
  await answer.locator("tbody tr, pre").first().waitFor(); // what is not ranked is plain numbers
  const rows = answer.locator("tbody tr");
  const cells = await rows.evaluateAll((all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  return { input, cells, note: await note.textContent() };
}

/** As the page writes scores and shares. */
const written = ({ label, index, value, share }) => [
  label ?? String(index),
  String(Number(value.toPrecision(6))),
  ...(share === undefined ? [] : [`${(100 * share).toFixed(1)} %`]),
];

for (const [model, [shape, card]] of Object.entries(MODELS)) {
  test(`${model}: the page sends and names what the command line does`, async () => {
    const network = put(`${model}.onnx`, mirrorNetwork(shape));
    const words = card ? ["--card", put(`${model}.md`, card)] : [];
    system.run(["push", network, ...words], system.alice);
    let sent = 0;
    for (const [name, bytes] of Object.entries(PICTURES)) {
      const tab = await open(browser, system, {
        token: system.alice,
        place: `#/models/alice/${model}`,
      });
      await tab.page.waitForSelector("input[type=file]");
      const file = put(name, bytes);
      const [program, page] = [told(model, file), await shown(tab.page, file)];
      assert.equal(page === null, program === null, `${name}: both send it, or neither`);
      if (page) {
        const { pixels, scores } = program.outputs;
        assert.deepEqual(page.input.shape, pixels.shape, name);
        assert.equal(bits(page.input.data), bits(pixels.data), `${name}: other bits`);
        assert.match(page.note, /as the command line makes it/, name);
        assert.deepEqual(page.cells, scores.top.map(written), name);
        sent++;
      }
      const missing = `404 (Not Found) ${system.url}/v1/models/alice/${model}/card`;
      assert.deepEqual(
        tab.faults.filter((one) => card || !one.endsWith(missing)),
        [],
      );
      await tab.close();
    }
    if (card) assert.equal(sent, Object.keys(PICTURES).length);
    else assert.equal(sent, 2, "without a card those of its very colour and proportions");
  });
}

test("what a browser may read otherwise is said to be so, and nothing is turned", async () => {
  const network = put("mirror.onnx", mirrorNetwork([1, 3, 16, 24]));
  system.run(["push", network, "--card", put("mirror.md", cardOf("colour: RGB"))], system.alice);
  const tab = await open(browser, system, { token: system.alice, place: "#/models/alice/mirror" });
  const jpeg = await tab.page.evaluate(async () => {
    const canvas = new OffscreenCanvas(24, 16);
    const context = canvas.getContext("2d");
    context.fillStyle = "#204060";
    context.fillRect(0, 0, 24, 16);
    context.fillStyle = "#f0c040";
    context.fillRect(0, 0, 16, 8);
    const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.95 });
    return [...new Uint8Array(await blob.arrayBuffer())];
  });
  const gamma = [["gAMA", [0, 0, 0x4e, 0x20]]];
  for (const [name, bytes] of [
    ["turned.jpg", turnedJpeg(Buffer.from(jpeg))],
    ["gamma.png", png(24, 16, 3, noise(24 * 16 * 3), gamma)],
  ]) {
    const file = put(name, bytes);
    const [program, page] = [told("mirror", file), await shown(tab.page, file)];
    assert.match(page.note, /the command line may differ/, name);
    assert.deepEqual(page.input.shape, [1, 3, 16, 24], name);
    if (!name.endsWith("jpg")) continue;
    const error = page.input.data.map((value, i) =>
      Math.abs(value - program.outputs.pixels.data[i]),
    );
    assert.ok(Math.max(...error) <= PIXEL_ERROR_MAX, `${Math.max(...error)}`);
  }
  assert.deepEqual(tab.faults, []);
  await tab.close();
});

test("rules of a card that no longer fits are left out", async () => {
  const wide = put("wide.ppm", PICTURES["wide.ppm"]);
  const network = put("misfit.onnx", mirrorNetwork([1, 3, 5, 6]));
  const card = put("misfit.md", MODELS.cropped[1]);
  system.run(["push", network, "--card", card], system.alice);
  system.run(["push", put("misfit.onnx", mirrorNetwork([1, 1, 5, 6]))], system.alice);
  assert.equal(told("misfit", wide), null);
  const tab = await open(browser, system, { token: system.alice, place: "#/models/alice/misfit" });
  await tab.page.getByText("is not gone by").waitFor();
  assert.equal(await shown(tab.page, wide), null);
  const fitting = put("fitting.pgm", pnm(6, 5, 1, noise(30)));
  const { input, cells } = await shown(tab.page, fitting);
  assert.deepEqual(input.data, [...noise(30)], "no mean, no scale");
  assert.deepEqual(cells, [], "one score, which no label names");
  assert.deepEqual(tab.faults, []);
  await tab.close();
});
