// SPDX-License-Identifier: Apache-2.0
// The canonical encoding of what is signed (docs/protocol.md), read strictly: one form a value.
// Pure functions; whatever an encoder would not have written is a NotValid.

import { tensorOf } from "./tensors.js";

/** Something that a receipt, its opening or what stands beside them should be and is not. */
export class NotValid extends Error {
  constructor(message) {
    super(message);
    this.name = "NotValid";
  }
}

export const RECEIPT_BYTES_MAX = 1 << 20;
const ITEMS_MAX = 1 << 16;
const TEXT_BYTES_MAX = 1 << 12;

/** Takes bytes apart. Integers of 8 bytes and more are BigInt. */
export class Reader {
  #data;
  #view;
  #at = 0;
  #what;

  /** `what` is named in errors. */
  constructor(data, what) {
    if (!(data instanceof Uint8Array)) throw new NotValid(`${what}: expected bytes`);
    this.#data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.#what = what;
  }

  refuse(why) {
    return new NotValid(`${this.#what}: ${why}`);
  }

  /** A view of the next bytes. */
  raw(size) {
    if (size > this.#data.length - this.#at) {
      throw this.refuse(`it ends after ${this.#data.length} bytes, expected more`);
    }
    this.#at += Number(size);
    return this.#data.subarray(this.#at - Number(size), this.#at);
  }

  u8() {
    return this.raw(1)[0];
  }

  u32() {
    this.raw(4);
    return this.#view.getUint32(this.#at - 4);
  }

  u64() {
    this.raw(8);
    return this.#view.getBigUint64(this.#at - 8);
  }

  /** So many bytes, the most significant one first. */
  integer(width) {
    return this.raw(width).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  }

  enum(name, count) {
    const value = this.u8();
    if (value >= count) {
      throw this.refuse(`${name} is ${value}, at most ${count - 1} is known`);
    }
    return value;
  }

  text() {
    const size = this.u32();
    if (size > TEXT_BYTES_MAX) {
      throw this.refuse(`a text of ${size} bytes, at most ${TEXT_BYTES_MAX} are accepted`);
    }
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.raw(size));
    } catch (error) {
      if (error instanceof NotValid) throw error;
      throw this.refuse("a text that is not UTF-8");
    }
  }

  list(item) {
    const count = this.u32();
    if (count > ITEMS_MAX) {
      throw this.refuse(`${count} items, at most ${ITEMS_MAX} are accepted`);
    }
    const made = [];
    for (let i = 0; i < count; ++i) made.push(item(this));
    return made;
  }

  noun(kind, version) {
    const [foundKind, foundVersion] = this.raw(2);
    if (foundKind !== kind || foundVersion !== version) {
      throw this.refuse(
        `kind and version are ${foundKind} and ${foundVersion}, expected ${kind} and ` +
          `${version}: another version of the protocol, or something else`,
      );
    }
  }

  at() {
    return this.#at;
  }

  since(start) {
    return this.#data.subarray(start, this.#at);
  }

  finish() {
    const rest = this.#data.length - this.#at;
    if (rest !== 0) throw this.refuse(`${rest} bytes too many`);
  }
}

function readFeeds(reader) {
  const feeds = reader.list((r) => ({ output: r.u32(), input: r.u32() }));
  if (feeds.some((feed, i) => i > 0 && feeds[i - 1].input >= feed.input)) {
    throw reader.refuse("feeds are not by ascending input");
  }
  return feeds;
}

/** What both sides have agreed on before the first step. `kind`: 0 an answer, 1 a rollout. */
export function readJob(reader) {
  const start = reader.at();
  reader.noun(1, 4);
  const job = {
    kind: reader.enum("kind", 2),
    graphRoot: reader.raw(32),
    weightRoot: reader.raw(32),
    numericsVersion: reader.u32(),
    inputCommitment: reader.raw(32),
    steps: reader.u64(),
    client: reader.raw(20),
    provider: reader.raw(20),
    faceValue: reader.integer(16),
  };
  reader.raw(32); // win_threshold
  reader.list((r) => r.raw(32)); // beacons
  job.noise = reader.enum("noise", 2);
  const exponent = reader.u8();
  job.noiseAnchor = reader.raw(32);
  const states = reader.enum("states", 3);
  job.feeds = readFeeds(reader);
  const auditors = reader.enum("auditors", 4);
  const auditorList = reader.list((r) => r.raw(20));
  job.validUntilMs = reader.u64();
  reader.raw(32); // draw_commitment
  if (job.steps === 0n) throw reader.refuse("steps is 0, expected 1 or more");
  const isAnchored = job.noiseAnchor.some((byte) => byte !== 0);
  if (exponent > (job.noise ? 100 : 0) || (!job.noise && (isAnchored || states === 2))) {
    throw reader.refuse("noise, its exponent, its anchor and states contradict each other");
  }
  if (auditorList.length > 0 && auditors !== 2) {
    throw reader.refuse("auditor_list is set, but auditors is not owner-list");
  }
  job.encoding = reader.since(start);
  return job;
}

/** One signature over many receipts, and the Merkle path from one of them. */
function readBatchSignature(reader) {
  reader.noun(3, 1);
  return {
    signature: reader.raw(65),
    index: reader.u64(),
    count: reader.u64(),
    path: reader.list((r) => r.raw(32)),
  };
}

function readReceipt(reader) {
  reader.noun(4, 4);
  return {
    job: readJob(reader),
    step: reader.u64(),
    commitment: reader.raw(32),
    round: reader.u64(),
    provider: readBatchSignature(reader),
    client: readBatchSignature(reader),
  };
}

export function readTensor(reader) {
  const name = reader.text();
  const number = reader.u8();
  const rank = reader.u8();
  const shape = [];
  for (let i = 0; i < rank; ++i) shape.push(reader.u64());
  const elements = reader.raw(reader.u64());
  try {
    return tensorOf(name, number, shape, elements);
  } catch (error) {
    throw reader.refuse(error.message);
  }
}

/** A receipt, taken apart; nothing of it has been checked. */
export function decodeReceipt(data) {
  if (data?.length > RECEIPT_BYTES_MAX) {
    throw new NotValid(
      `receipt: ${data.length} bytes, at most ${RECEIPT_BYTES_MAX} are accepted`,
    );
  }
  const reader = new Reader(data, "receipt");
  const made = readReceipt(reader);
  reader.finish();
  return made;
}

/** What opens a receipt's commitments: inputs, outputs, salts. Nothing of it has been checked. */
export function decodeOpening(data) {
  const reader = new Reader(data, "opening");
  const version = reader.u8();
  if (version !== 1) throw reader.refuse(`version ${version}, expected 1`);
  const made = {
    job: readJob(reader),
    step: reader.u64(),
    noiseValue: reader.raw(32),
    inputSalt: reader.raw(32),
    inputs: reader.list(readTensor),
    before: reader.enum("presence", 2) ? readReceipt(reader) : null,
    saltBefore: reader.raw(32),
    outputsBefore: reader.list(readTensor),
    outputSalt: reader.raw(32),
    outputs: reader.list(readTensor),
  };
  reader.finish();
  return made;
}
