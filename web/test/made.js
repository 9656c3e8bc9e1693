// SPDX-License-Identifier: Apache-2.0
// Receipts and openings made for tests, with keys of their own.

import { secp256k1 } from "@noble/curves/secp256k1";
import { joined, u32, u64 } from "../verify/bytes.js";
import { Reader, readJob } from "../verify/encoding.js";
import {
  bodyOf, commitInput, commitStep, hashBack, leafHash, merkleRoot, stateRoot,
} from "../verify/roots.js";
import { batchDigest, recover } from "../verify/signatures.js";

export const PROVIDER_KEY = new Uint8Array(32).fill(7);
export const GATEWAY_KEY = new Uint8Array(32).fill(9);

const bytes = (count, value = 0) => new Uint8Array(count).fill(value);
const glued = (...parts) => joined(parts);
const list = (items) => glued(u32(items.length), ...items);
const text = (value) => {
  const utf8 = new TextEncoder().encode(value);
  return glued(u32(utf8.length), utf8);
};

export function sign(key, digest) {
  const signed = secp256k1.sign(digest, key, { lowS: true });
  return glued(signed.toCompactRawBytes(), Uint8Array.of(27 + signed.recovery));
}

export function addressOf(key) {
  return recover(bytes(32, 1), sign(key, bytes(32, 1)));
}

/** `fields` of readJob; what is not given is that of an answer. */
export function makeJob(fields) {
  const job = {
    kind: 0, graphRoot: bytes(32, 1), weightRoot: bytes(32, 2), numericsVersion: 1,
    inputCommitment: bytes(32), steps: 1n, client: addressOf(GATEWAY_KEY),
    provider: addressOf(PROVIDER_KEY), noise: 0, exponent: 0, noiseAnchor: bytes(32), states: 0,
    feeds: [], ...fields,
  };
  const encoding = glued(
    Uint8Array.of(1, 4, job.kind), job.graphRoot, job.weightRoot, u32(job.numericsVersion),
    job.inputCommitment, u64(job.steps), job.client, job.provider, bytes(16), bytes(32), list([]),
    Uint8Array.of(job.noise, job.exponent), job.noiseAnchor, Uint8Array.of(job.states),
    list(job.feeds.map(({ output, input }) => glued(u32(output), u32(input)))),
    Uint8Array.of(0), list([]), u64(0), bytes(32),
  );
  return readJob(new Reader(encoding, "job"));
}

function pathOf(index, leaves) {
  const path = [];
  for (let level = leaves; level.length > 1; index >>= 1) {
    if ((index ^ 1) < level.length) path.push(level[index ^ 1]);
    const above = [];
    for (let i = 0; i < level.length; i += 2) above.push(merkleRoot(level.slice(i, i + 2)));
    level = above;
  }
  return path;
}

function batchSignature(key, role, body, count) {
  const leaves = Array.from({ length: count }, (_, i) =>
    leafHash(i === count - 1 ? body : bytes(20, i)));
  const signature = sign(key, batchDigest(role, merkleRoot(leaves), count));
  return glued(
    Uint8Array.of(3, 1), signature, u64(count - 1), u64(count), list(pathOf(count - 1, leaves)),
  );
}

/** Signed by both, as the last of so many in a batch. */
export function makeReceipt(job, step, commitment, { count = 3, provider = PROVIDER_KEY,
  gateway = GATEWAY_KEY } = {}) {
  const body = bodyOf({ job, step, commitment, round: 5n });
  return glued(
    Uint8Array.of(4, 4), job.encoding, u64(step), commitment, u64(5),
    batchSignature(provider, "provider", body, count),
    batchSignature(gateway, "client", body, count),
  );
}

function encodeTensor(tensor) {
  return glued(
    text(tensor.name), Uint8Array.of(tensor.number, tensor.shape.length), ...tensor.shape.map(u64),
    u64(tensor.elements.length), tensor.elements,
  );
}

export function makeOpening({ job, step = 1n, noiseValue = bytes(32), inputSalt, inputs,
  before = null, saltBefore = bytes(32), outputsBefore = [], outputSalt, outputs }) {
  return glued(
    Uint8Array.of(1), job.encoding, u64(step), noiseValue, inputSalt,
    list(inputs.map(encodeTensor)),
    before ? glued(Uint8Array.of(1), before) : Uint8Array.of(0), saltBefore,
    list(outputsBefore.map(encodeTensor)), outputSalt, list(outputs.map(encodeTensor)),
  );
}

/** An answer: its receipt, its opening and what the hub says of the model. */
export function makeAnswer({ inputs, outputs, fields = {}, signers = {} }) {
  const inputSalt = bytes(32, 3);
  const outputSalt = bytes(32, 4);
  const job = makeJob({ inputCommitment: commitInput(stateRoot(inputs), inputSalt), ...fields });
  const commitment = commitStep(job, 1n, stateRoot(outputs), outputSalt);
  return {
    job,
    receipt: makeReceipt(job, 1n, commitment, signers),
    opening: makeOpening({ job, inputSalt, inputs, outputSalt, outputs }),
    parts: { job, inputSalt, inputs, outputSalt, outputs },
  };
}

/** Step 2 of a rollout with noise, behind a step 1. */
export function makeSecondStep({ inputs, outputsBefore, outputs }) {
  const inputSalt = bytes(32, 3);
  const noiseValue = bytes(32, 8);
  const job = makeJob({
    kind: 1, steps: 4n, noise: 1, exponent: 10, noiseAnchor: hashBack(noiseValue, 2n),
    inputCommitment: commitInput(stateRoot(inputs), inputSalt), feeds: [{ output: 0, input: 0 }],
  });
  const saltBefore = bytes(32, 5);
  const outputSalt = bytes(32, 6);
  const before = makeReceipt(job, 1n, commitStep(job, 1n, stateRoot(outputsBefore), saltBefore));
  const receipt = makeReceipt(job, 2n, commitStep(job, 2n, stateRoot(outputs), outputSalt));
  const parts = { job, step: 2n, noiseValue, inputSalt, inputs, before, saltBefore, outputsBefore,
    outputSalt, outputs };
  return { job, receipt, opening: makeOpening(parts), parts };
}
