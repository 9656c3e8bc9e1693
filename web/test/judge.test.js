// SPDX-License-Identifier: Apache-2.0
// judge.wasm (scripts/build-judge) against whole numbers, committed vectors and, where
// COMMENSAL_APP names the program, what it computes on this machine. COMMENSAL_JUDGE names another
// judge.wasm than that of build/judge.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fromHex } from "../verify/bytes.js";
import { Judge, JudgeFailed, recompute } from "../verify/judge.js";
import { OUTCOMES, recheck } from "../verify/recheck.js";
import { isString, tensorOf } from "../verify/tensors.js";
import { BINARY32, BINARY64, fma } from "./exact.js";
import { readNpy, readPorts, readTensorProto } from "./files.js";
import { makeAnswer, makeOpening, makeSecondStep } from "./made.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const WASM = process.env.COMMENSAL_JUDGE ?? here("../../build/judge/judge.wasm");
const APP = process.env.COMMENSAL_APP;
const NODES = process.env.COMMENSAL_ONNX_NODES ?? "/usr/share/libonnx-testdata/data/node";
const DIGITS = here("../../models/digits/digits.onnx");
const skip = existsSync(WASM) ? false : "no judge.wasm: scripts/build-judge makes it";
const wasm = skip ? null : await WebAssembly.compile(readFileSync(WASM));
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

// xorshift64*, so that every run has the same numbers.
let state = 88172645463325252n;
function random64() {
  state ^= state >> 12n;
  state = BigInt.asUintN(64, state ^ (state << 25n));
  state ^= state >> 27n;
  return BigInt.asUintN(64, state * 2685821657736338717n);
}
const view = new DataView(new ArrayBuffer(8));
const EDGES32 = [0, -0, 1, -1, 2 ** -149, -(2 ** -149), 2 ** -126, 2 ** 127, 1 + 2 ** -23,
  Math.fround(3.4e38), Infinity, -Infinity, NaN, 2 ** -75, 2 ** -74, 1 - 2 ** -24];
const EDGES64 = [0, -0, 1, -1, 5e-324, -5e-324, 2 ** -1022, 2 ** 1023, 1 + 2 ** -52,
  Number.MAX_VALUE, Infinity, -Infinity, NaN, 2 ** -537, 2 ** -538, 1 - 2 ** -53];

function random32(near) {
  const bits = Number(random64() >> 32n);
  const exponent = near === undefined ? (bits >>> 23) & 0xff : Math.max(0, Math.min(254, near));
  view.setUint32(0, ((bits & 0x807fffff) | (exponent << 23)) >>> 0);
  return view.getFloat32(0);
}
function randomDouble() {
  view.setBigUint64(0, random64());
  return view.getFloat64(0);
}

test("fused multiply-adds round once", { skip }, async () => {
  const judge = await Judge.create(wasm);
  const check = (name, x, y, z, format) => {
    const [found, expected] = [judge[name](x, y, z), fma(x, y, z, format)];
    assert.ok(Object.is(found, expected), `${name}(${x}, ${y}, ${z}): ${found}, not ${expected}`);
  };
  for (const [name, edges, format] of [["fmaf", EDGES32, BINARY32], ["fma", EDGES64, BINARY64]]) {
    for (const x of edges) {
      for (const y of edges) for (const z of edges) check(name, x, y, z, format);
    }
  }
  for (let i = 0; i < 100_000; ++i) {
    // A third each: anything, sums that cancel, products below the normal numbers.
    const kind = i % 3;
    const near = Number(random64() % 254n);
    const x = random32(kind ? near : undefined);
    const low = kind === 2 ? Number(random64() % 30n) + 100 - near : 127;
    const y = random32(kind ? low : undefined);
    const around = kind === 2 ? Number(random64() % 4n) : near + Number(random64() % 5n) - 2;
    check("fmaf", x, y, random32(kind ? around : undefined), BINARY32);
  }
  for (let i = 0; i < 100_000; ++i) {
    const [x, y, z] = [randomDouble(), randomDouble(), randomDouble()];
    check("fma", x, y, i % 2 ? z : -(x * y) * (1 + Number(random64() % 9n) * 2 ** -52), BINARY64);
  }
});

test("the digit network, to the bits of the native judge", { skip }, async () => {
  const inputs = [readNpy("image", here("../../models/digits/held_out_images.npy"))];
  const seen = [];
  const made = await recompute({ wasm, modelBytes: readFileSync(DIGITS), inputs,
    onProgress: ({ done, nodes }) => seen.push(`${done}/${nodes}`) });
  // commensal run models/digits/digits.onnx --input models/digits/held_out_images.npy --hash
  assert.equal(sha256(made.outputs[0].elements),
    "fc7a4b8c3b272e2250247e12c7552de7d9960065de8d7357a7376f0d3cac4a0b");
  assert.deepEqual([seen[0], seen.at(-1)], ["0/10", "10/10"]);
});

const digit = (i) => {
  const { elements } = readNpy("image", here("../../models/digits/held_out_images.npy"));
  return [tensorOf("image", 1, [1, 1, 8, 8], elements.slice(i * 256, i * 256 + 256))];
};

async function answered(change = {}) {
  const modelBytes = readFileSync(DIGITS);
  const judged = await recompute({ wasm, modelBytes, inputs: digit(0) });
  const model = { graph_root: judged.graph_root, weight_root: judged.weight_root };
  const made = makeAnswer({
    inputs: digit(0), outputs: judged.outputs,
    fields: { graphRoot: fromHex(model.graph_root), weightRoot: fromHex(model.weight_root) },
    ...change,
  });
  const compute = ({ modelBytes: bytes, inputs }) => recompute({ wasm, modelBytes: bytes, inputs });
  return { ...made, judged, model, compute, fetchModel: async () => modelBytes };
}

test("a right answer holds, a wrong one differs", { skip }, async () => {
  const right = await answered();
  const { outcome, detail } = await recheck({ ...right, asked: digit(0) });
  assert.equal(outcome, OUTCOMES.holds, detail);
  const wrong = structuredClone(right.judged.outputs);
  wrong[0].elements[5] ^= 1;
  assert.equal((await recheck(await answered({ outputs: wrong }))).outcome, OUTCOMES.differs);
  for (const other of [{ name: "z" }, { shape: [10] }, { number: 6, dtype: "int32" }]) {
    const unlike = [{ ...right.judged.outputs[0], ...other }];
    const found = await recheck(await answered({ outputs: unlike }));
    assert.equal(found.outcome, OUTCOMES.differs);
    assert.match(found.detail, /computed here/);
  }
  const more = [...right.judged.outputs, ...right.judged.outputs];
  assert.equal((await recheck(await answered({ outputs: more }))).outcome, OUTCOMES.differs);
});

test("an answer that gateway and provider have given holds", { skip }, async () => {
  const vector = JSON.parse(readFileSync(here("../../tests/vectors/answers/digits.json")));
  const { outcome, detail } = await recheck({
    receipt: fromHex(vector.receipt), opening: fromHex(vector.opening), model: vector,
    id: vector.id, asked: digit(0), fetchModel: async () => readFileSync(DIGITS),
    compute: ({ modelBytes, inputs }) => recompute({ wasm, modelBytes, inputs }),
  });
  assert.equal(outcome, OUTCOMES.holds, detail);
});

test("what was not asked, opened or committed to never holds", { skip }, async () => {
  const right = await answered();
  const outcomeOf = async (change) => (await recheck({ ...right, ...change })).outcome;
  assert.equal(await outcomeOf({ asked: digit(1) }), OUTCOMES.invalid);
  assert.equal(await outcomeOf({ opening: null }), OUTCOMES.unknown);
  assert.equal(await outcomeOf({ model: null }), OUTCOMES.unknown);
  const salted = makeOpening({ ...right.parts, outputSalt: new Uint8Array(32) });
  assert.equal(await outcomeOf({ opening: salted }), OUTCOMES.invalid);
  const old = await answered({ fields: { graphRoot: fromHex(right.model.graph_root),
    weightRoot: fromHex(right.model.weight_root), numericsVersion: 9 } });
  assert.equal((await recheck(old)).outcome, OUTCOMES.unknown);
  const step = makeSecondStep({ inputs: digit(0), outputsBefore: digit(1), outputs: digit(2) });
  const model = { graph_root: "01".repeat(32), weight_root: "02".repeat(32) };
  assert.equal(await outcomeOf({ ...step, model }), OUTCOMES.unknown);
});

test("what fails on the way says nothing about the provider", { skip }, async () => {
  const right = await answered();
  const failing = {
    fetchModel: async () => { throw new TypeError("NetworkError"); },
    compute: async () => { throw new JudgeFailed("cancelled"); },
  };
  for (const [name, fails] of Object.entries(failing)) {
    const { outcome, detail } = await recheck({ ...right, [name]: fails });
    assert.equal(outcome, OUTCOMES.unknown);
    assert.match(detail, /could not be computed again/);
  }
  const file = await right.fetchModel();
  const weights = Buffer.from(file);
  weights[file.length - 400] ^= 1;
  for (const bytes of [weights, file.subarray(0, -9), new Uint8Array(), Buffer.from("<html>")]) {
    const { outcome } = await recheck({ ...right, fetchModel: async () => bytes });
    assert.equal(outcome, OUTCOMES.unknown);
  }
});

test("bad input is refused in one line", { skip }, async () => {
  const judge = await Judge.create(wasm);
  assert.throws(() => judge.run(digit(0)), /no model is loaded/);
  assert.throws(() => judge.load(Buffer.from("version https://git-lfs.github.com/")), /Git LFS/);
  judge.load(readFileSync(DIGITS));
  for (const inputs of [[], [...digit(0), ...digit(0)], [{ ...digit(0)[0], name: "x" }],
    [tensorOf("image", 1, [1, 1, 8, 7], new Uint8Array(224))]]) {
    assert.throws(() => judge.run(inputs), (error) =>
      error instanceof JudgeFailed && !error.message.includes("\n"));
  }
  assert.equal(judge.run(digit(3)).outputs[0].shape[1], 10);
});

/** What the program computes: by name the SHA-256 of each output; null where it refuses. */
function native(folder, names) {
  const files = names.inputs.map(
    (name, i) => `--input=${name}=${folder}/test_data_set_0/input_${i}.pb`);
  try {
    const said = execFileSync(
      APP, ["run", `${folder}/model.onnx`, ...files, "--backend", "ref", "--hash"],
      { stdio: ["ignore", "pipe", "ignore"], encoding: "utf8" });
    return new Map(said.trim().split("\n").map((line) => line.split("  ").reverse()));
  } catch {
    return null;
  }
}

function caseInputs(folder, names) {
  const data = `${folder}/test_data_set_0`;
  if (!existsSync(data)) return null;
  const files = readdirSync(data).filter((file) => file.startsWith("input_"));
  if (files.length !== names.inputs.length) return null;
  const made = names.inputs.map((name, i) => {
    try {
      return readTensorProto(name, readFileSync(`${data}/input_${i}.pb`));
    } catch {
      return null;
    }
  });
  return made.every((tensor) => tensor) ? made : null;
}

test("ONNX's own cases, to the bits of the program", {
  skip: skip || (!APP && "COMMENSAL_APP is not set") || (!existsSync(NODES) && `no ${NODES}`),
}, async () => {
  const counts = { same: 0, refusedByBoth: 0, left: 0 };
  const bad = [];
  for (const one of readdirSync(NODES)) {
    const folder = `${NODES}/${one}`;
    if (!existsSync(`${folder}/model.onnx`)) continue;
    const modelBytes = readFileSync(`${folder}/model.onnx`);
    const names = readPorts(modelBytes);
    const inputs = caseInputs(folder, names);
    if (!inputs) {
      ++counts.left;
      continue;
    }
    const expected = native(folder, names);
    let found = null, why = "";
    try {
      found = await recompute({ wasm, modelBytes, inputs });
    } catch (error) {
      why = error.message;
    }
    if (!expected || !found) {
      if (!expected && !found) ++counts.refusedByBoth;
      else if (/is a sequence of/.test(why)) ++counts.left; // a receipt has tensors alone
      else bad.push(`${one}: ${found ? "only the program refuses" : why}`);
      continue;
    }
    const same = found.outputs.every(
      (output) => isString(output) || sha256(output.elements) === expected.get(output.name));
    if (same) ++counts.same;
    else bad.push(`${one}: other bits`);
  }
  console.log(JSON.stringify(counts));
  assert.deepEqual(bad, []);
  assert.ok(counts.same > 400);
});
