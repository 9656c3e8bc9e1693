// SPDX-License-Identifier: Apache-2.0
// Who signed: Keccak-256, recovery of keys on secp256k1 (SEC 1, 4.1.6), and EIP-712.

import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 as keccak256 } from "@noble/hashes/sha3";
import { joined, toHex, u256 } from "./bytes.js";

const utf8 = (text) => new TextEncoder().encode(text);

/**
 * Address of who signed: r, s, v of 32, 32, 1 bytes. Throws RangeError for what is no signature; of
 * two forms of one only that with the lower s is.
 */
export function recover(digest, signature) {
  if (signature.length !== 65 || digest.length !== 32) {
    throw new RangeError("expected 65 bytes over a digest of 32");
  }
  const parity = signature[64] - 27;
  if (parity !== 0 && parity !== 1) {
    throw new RangeError(`v is ${signature[64]}, expected 27 or 28`);
  }
  let point;
  try {
    const signed = secp256k1.Signature.fromCompact(signature.subarray(0, 64));
    if (signed.hasHighS()) throw new RangeError("r or s is out of its range");
    point = signed.addRecoveryBit(parity).recoverPublicKey(digest).toRawBytes(false);
  } catch (error) {
    throw new RangeError(
      error instanceof RangeError ? error.message : "no public key matches it", { cause: error },
    );
  }
  return keccak256(point.subarray(1)).subarray(12);
}

/** 0x... with the checksum of EIP-55. */
export function addressText(address) {
  const text = toHex(address);
  const check = toHex(keccak256(utf8(text)));
  return "0x" + Array.from(text, (c, i) => (check[i] >= "8" ? c.toUpperCase() : c)).join("");
}

function structHash(kind, ...words) {
  return keccak256(joined([keccak256(utf8(kind)), ...words]));
}

/** What is signed of a batch of receipts: ReceiptBatch of EIP-712. */
export function batchDigest(role, root, count, chainId = 0) {
  const domain = structHash(
    "EIP712Domain(string name,string version,uint256 chainId)",
    keccak256(utf8("Commensal")), keccak256(utf8("1")), u256(chainId),
  );
  const message = structHash(
    "ReceiptBatch(string role,bytes32 root,uint64 count)",
    keccak256(utf8(role)), root, u256(count),
  );
  return keccak256(joined([Uint8Array.of(0x19, 1), domain, message]));
}
