// SPDX-License-Identifier: Apache-2.0
// Hashes that stand for tensors, states and steps (docs/protocol.md, "Roots"). Pure functions.

import { sha256 } from "@noble/hashes/sha2";
import { joined, u32, u64 } from "./bytes.js";
import { elementCount, isString, stringsOf } from "./tensors.js";

const LEAF_BYTES = 1024;
const LEAVES_MAX = 1n << 40n;
const ZERO = Uint8Array.of(0);
const ONE = Uint8Array.of(1);

const utf8 = (text) => new TextEncoder().encode(text);

export function tagged(tag, ...parts) {
  return sha256(joined([Uint8Array.of(tag.length), utf8(tag), ...parts]));
}

export function leafHash(leaf) {
  return sha256.create().update(ZERO).update(leaf).digest();
}

function nodeHash(left, right) {
  return sha256.create().update(ONE).update(left).update(right).digest();
}

/** RFC 6962's, whose split at a power of two is that a node without a neighbour rises. */
export function merkleRoot(leafHashes) {
  if (leafHashes.length === 0) return sha256(new Uint8Array());
  let level = leafHashes;
  while (level.length > 1) {
    const above = [];
    for (let i = 0; i + 1 < level.length; i += 2) above.push(nodeHash(level[i], level[i + 1]));
    if (level.length % 2 === 1) above.push(level.at(-1));
    level = above;
  }
  return level[0];
}

/** Where a leaf's hash and its path lead. Throws RangeError for a path of another length. */
export function rootOfPath(leaf, index, count, path) {
  if (count > LEAVES_MAX || index >= count) {
    throw new RangeError(`Merkle path: leaf ${index} of ${count}`);
  }
  let found = leaf;
  let at = 0;
  const next = () => {
    if (at === path.length) throw new RangeError(`Merkle path: ${at} hashes are too few`);
    return path[at++];
  };
  let place = BigInt(index);
  for (let last = BigInt(count) - 1n; last > 0n; last /= 2n, place /= 2n) {
    if (place % 2n === 1n) found = nodeHash(next(), found);
    else if (place < last) found = nodeHash(found, next());
  }
  if (at !== path.length) throw new RangeError(`Merkle path: ${path.length} hashes are too many`);
  return found;
}

/** What is hashed of strings are the protocol's lengths, not those of how they travel. */
function protocolElements(tensor) {
  if (!isString(tensor)) return tensor.elements;
  const texts = stringsOf(tensor.elements, elementCount(tensor));
  return joined(texts.flatMap((text) => [u32(text.length), text]));
}

export function tensorRoot(tensor) {
  const elements = protocolElements(tensor);
  const { number, shape } = tensor;
  const header = joined([Uint8Array.of(number, shape.length), ...shape.map(u64)]);
  const leaves = [];
  for (let at = 0; at < elements.length; at += LEAF_BYTES) {
    leaves.push(leafHash(elements.subarray(at, at + LEAF_BYTES)));
  }
  return tagged("commensal/tensor/v1", header, merkleRoot(leaves));
}

/** Names and roots, in the graph's order. */
export function stateRoot(tensors) {
  const leaves = tensors.map((tensor) => {
    const name = utf8(tensor.name);
    return leafHash(joined([u32(name.length), name, tensorRoot(tensor)]));
  });
  return tagged("commensal/state/v1", u64(leaves.length), merkleRoot(leaves));
}

export function jobId(job) {
  return tagged("commensal/job/v1", job.encoding);
}

/** What both sign of a step. */
export function bodyOf(receipt) {
  const { job, step, commitment, round } = receipt;
  return joined([Uint8Array.of(2, 2), jobId(job), u64(step), commitment, u64(round)]);
}

export function receiptId(receipt) {
  return tagged("commensal/receipt/v1", bodyOf(receipt));
}

export function commitInput(root, salt) {
  return tagged("commensal/input/v1", root, salt);
}

export function commitStep(job, step, root, salt) {
  return tagged("commensal/step/v1", jobId(job), u64(step), root, salt);
}

/** The value of a hash chain so many steps before. */
export function hashBack(value, steps) {
  let found = value;
  for (let i = 0n; i < steps; ++i) found = tagged("commensal/chain/v1", found);
  return found;
}
