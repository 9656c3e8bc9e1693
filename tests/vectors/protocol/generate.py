#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden vectors of base/protocol beside itself, or with --check compares them.

An implementation of its own, from the texts (Keccak submission, SEC 2, RFC 6979, RFC 6962,
EIP-712) and the Python standard library only, so that the C++ is not compared with itself.
"""
import hashlib
import hmac
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vector_files import keep  # noqa: E402

# Keccak-256.
ROTATIONS = [[0, 36, 3, 41, 18], [1, 44, 10, 45, 2], [62, 6, 43, 15, 61],
             [28, 55, 25, 21, 56], [27, 20, 39, 8, 14]]
MASK64 = (1 << 64) - 1


def rotate(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK64 if n else x


def round_constants():
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            if register & 1:
                constant |= 1 << ((1 << j) - 1)
            register = (register << 1) ^ (0x171 if register >> 7 else 0)
        constants.append(constant)
    return constants


CONSTANTS = round_constants()


def permute(a):
    for constant in CONSTANTS:
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[x - 1] ^ rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
        b = [[0] * 5 for _ in range(5)]
        for x in range(5):
            for y in range(5):
                b[y][(2 * x + 3 * y) % 5] = rotate(a[x][y], ROTATIONS[x][y])
        a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & MASK64 & b[(x + 2) % 5][y]) for y in range(5)]
             for x in range(5)]
        a[0][0] ^= constant
    return a


def keccak256(message):
    rate = 136
    padded = bytearray(message) + b"\x01" + bytes(-(len(message) + 1) % rate)
    padded[-1] |= 0x80
    a = [[0] * 5 for _ in range(5)]
    for at in range(0, len(padded), rate):
        for i, lane in enumerate(struct.unpack_from("<17Q", padded, at)):
            a[i % 5][i // 5] ^= lane
        a = permute(a)
    return b"".join(a[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


# secp256k1.
P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(k, point=G):
    total = None
    while k:
        if k & 1:
            total = add(total, point)
        point = add(point, point)
        k >>= 1
    return total


def address(key):
    x, y = multiply(int.from_bytes(key, "big"))
    return keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:]


def nonce(key, digest):
    reduced = (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    k, v = bytes(32), b"\x01" * 32
    for separator in (b"\x00", b"\x01"):
        k = hmac.digest(k, v + separator + key + reduced, "sha256")
        v = hmac.digest(k, v, "sha256")
    while True:
        v = hmac.digest(k, v, "sha256")
        if 1 <= int.from_bytes(v, "big") < N:
            return int.from_bytes(v, "big")
        k = hmac.digest(k, v + b"\x00", "sha256")
        v = hmac.digest(k, v, "sha256")


def sign(key, digest):
    k = nonce(key, digest)
    x, y = multiply(k)
    r = x % N
    s = pow(k, -1, N) * (int.from_bytes(digest, "big") + r * int.from_bytes(key, "big")) % N
    parity = y & 1
    if s > N // 2:
        s, parity = N - s, parity ^ 1
    return r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([27 + parity])


# EIP-712.
def word(value):
    return value.to_bytes(32, "big")


def struct_hash(kind, *words):
    return keccak256(keccak256(kind.encode()) + b"".join(words))


def typed_digest(chain_id, message):
    domain = struct_hash("EIP712Domain(string name,string version,uint256 chainId)",
                         keccak256(b"Commensal"), keccak256(b"1"), word(chain_id))
    return keccak256(b"\x19\x01" + domain + message)


# Merkle trees and tagged hashes.
def sha256(data):
    return hashlib.sha256(data).digest()


def tagged(tag, *parts):
    return sha256(bytes([len(tag)]) + tag.encode() + b"".join(parts))


def leaf(data):
    return sha256(b"\x00" + data)


def split(count):
    half = 1
    while 2 * half < count:
        half *= 2
    return half


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    at = split(len(leaves))
    return sha256(b"\x01" + root(leaves[:at]) + root(leaves[at:]))


def path(index, leaves):
    if len(leaves) == 1:
        return []
    at = split(len(leaves))
    if index < at:
        return path(index, leaves[:at]) + [root(leaves[at:])]
    return path(index - at, leaves[at:]) + [root(leaves[:at])]


# Nouns.
def u(value, width):
    return value.to_bytes(width, "big")


def listed(items):
    return u(len(items), 4) + b"".join(items)


JOB = ["kind", "graph_root", "weight_root", "numerics_version", "input_commitment", "steps",
       "client", "provider", "face_value", "win_threshold", "beacons", "noise", "noise_exponent",
       "noise_anchor", "states", "feeds", "auditors", "auditor_list", "valid_until_ms",
       "draw_commitment"]


def field(name, value):
    widths = {"kind": 1, "numerics_version": 4, "steps": 8, "face_value": 16, "noise": 1,
              "noise_exponent": 1, "states": 1, "auditors": 1, "valid_until_ms": 8}
    if name == "feeds":
        return listed([u(output, 4) + u(into, 4) for output, into in value])
    if isinstance(value, list):
        return listed(value)
    return u(value, widths[name]) if isinstance(value, int) else value


def encode_job(job):
    return b"\x01\x04" + b"".join(field(name, job[name]) for name in JOB)


def encode_body(job_id, step, commitment, beacon_round):
    return b"\x02\x02" + job_id + u(step, 8) + commitment + u(beacon_round, 8)


def encode_batch_signature(signature, index, leaves):
    return b"\x03\x01" + signature + u(index, 8) + u(len(leaves), 8) + listed(path(index, leaves))


def readable(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [readable(item) for item in value]
    return value


def h(text):
    return sha256(text.encode())


PROVIDER_KEY, CLIENT_KEY, AUDITOR_KEY = h("provider"), h("client"), h("auditor")
ROUND = 2**32 + 7  # of the beacon


def jobs():
    plain = dict(kind=0, graph_root=h("graph"), weight_root=h("weights"), numerics_version=1,
                 input_commitment=tagged("commensal/input/v1", h("input root"), h("input salt")),
                 steps=1, client=address(CLIENT_KEY), provider=address(PROVIDER_KEY),
                 face_value=10**18, win_threshold=b"\xff" * 32, beacons=[], noise=0,
                 noise_exponent=0, noise_anchor=bytes(32), states=0, feeds=[], auditors=0,
                 auditor_list=[], valid_until_ms=0, draw_commitment=bytes(32))
    chain = dict(plain, kind=1, numerics_version=0x01020304, steps=2**63 + 5, face_value=2**128 - 1,
                 win_threshold=u(2**248, 32), beacons=[h("beacon 1"), h("beacon 2")], noise=1,
                 noise_exponent=17, noise_anchor=h("noise key"), states=2,
                 feeds=[[1, 0], [0, 2**32 - 2]], auditors=2,
                 auditor_list=[address(AUDITOR_KEY), address(CLIENT_KEY)], valid_until_ms=2**60 + 3,
                 draw_commitment=tagged("commensal/auditors/nonce/v1", h("nonce")))
    return [plain, chain]


def job_vectors():
    # Wide integers as text: JSON readers may keep only 53 bits.
    wide = ("steps", "face_value", "valid_until_ms")
    return [{"fields": {name: str(job[name]) if name in wide else readable(job[name])
                        for name in JOB},
             "encoding": encode_job(job).hex(),
             "id": tagged("commensal/job/v1", encode_job(job)).hex()} for job in jobs()]


def commitment_vectors():
    job_id = tagged("commensal/job/v1", encode_job(jobs()[0]))
    arguments = h("root"), h("salt")
    return {"root": arguments[0].hex(), "salt": arguments[1].hex(), "job_id": job_id.hex(),
            "input": tagged("commensal/input/v1", *arguments).hex(),
            "steps": [{"step": str(step),
                       "commitment": tagged("commensal/step/v1", job_id, u(step, 8),
                                            *arguments).hex()}
                      for step in (1, 258, 2**64 - 1)]}


def receipt_vectors():
    job = jobs()[0]
    job_id = tagged("commensal/job/v1", encode_job(job))
    commitments = [h(f"commitment {i}") for i in range(5)]
    bodies = [encode_body(job_id, 1, c, ROUND) for c in commitments]
    leaves = [leaf(body) for body in bodies]
    vectors = []
    for chain_id in (0, 137):
        signatures = {}
        for role, key in (("provider", PROVIDER_KEY), ("client", CLIENT_KEY)):
            message = struct_hash("ReceiptBatch(string role,bytes32 root,uint64 count)",
                                  keccak256(role.encode()), root(leaves), word(len(leaves)))
            signatures[role] = sign(key, typed_digest(chain_id, message))
        vectors.append({
            "chain_id": chain_id, "provider_key": PROVIDER_KEY.hex(),
            "client_key": CLIENT_KEY.hex(), "job": encode_job(job).hex(), "step": 1, "round": ROUND,
            "commitments": readable(commitments),
            "bodies": readable(bodies), "root": root(leaves).hex(),
            "ids": [tagged("commensal/receipt/v1", body).hex() for body in bodies],
            "receipts": [(b"\x04\x04" + encode_job(job) + u(1, 8) + commitments[i] + u(ROUND, 8)
                          + encode_batch_signature(signatures["provider"], i, leaves)
                          + encode_batch_signature(signatures["client"], i, leaves)).hex()
                         for i in range(5)]})
    return vectors


def verdict_vectors():
    vectors = []
    auditor = address(AUDITOR_KEY)
    kind = ("Verdict(bytes32 receiptId,uint8 outcome,address auditor,bytes32 expectedCommitment,"
            "bytes32 recomputedCommitment,string reason)")
    for outcome, recomputed, reason in ((0, h("c"), ""), (1, h("d"), "other bits: 12 \u2260 13"),
                                        (2, bytes(32), "silent for 30 s")):
        message = struct_hash(kind, h("receipt"), word(outcome), bytes(12) + auditor, h("c"),
                              recomputed, keccak256(reason.encode()))
        signature = sign(AUDITOR_KEY, typed_digest(0, message))
        encoding = (b"\x05\x01" + h("receipt") + u(outcome, 1) + auditor + h("c") + recomputed
                    + u(len(reason.encode()), 4) + reason.encode() + signature)
        vectors.append({"auditor_key": AUDITOR_KEY.hex(), "receipt_id": h("receipt").hex(),
                        "outcome": outcome, "expected_commitment": h("c").hex(),
                        "recomputed_commitment": recomputed.hex(), "reason": reason,
                        "encoding": encoding.hex()})
    return vectors


def revealed(seed, rounds):
    values = [seed]
    for _ in range(rounds):
        values.insert(0, tagged("commensal/chain/v1", values[0]))
    return values


def hash_chain_head(key, anchor, rounds, first=0):
    message = struct_hash("HashChainHead(address owner,bytes32 anchor,uint64 first,uint64 rounds)",
                          word(int.from_bytes(address(key), "big")), anchor, word(first),
                          word(rounds))
    return (b"\x06\x01" + address(key) + anchor + u(first, 8) + u(rounds, 8)
            + sign(key, typed_digest(0, message)))


def beacon_vectors(rounds=64):
    gateway, provider = revealed(h("gateway seed"), rounds), revealed(h("provider seed"), rounds)
    return {"gateway_key": CLIENT_KEY.hex(), "provider_key": PROVIDER_KEY.hex(),
            "gateway_seed": h("gateway seed").hex(), "provider_seed": h("provider seed").hex(),
            "depth": rounds.bit_length() - 1,
            "gateway_head": hash_chain_head(CLIENT_KEY, gateway[0], rounds).hex(),
            "provider_head": hash_chain_head(PROVIDER_KEY, provider[0], rounds).hex(),
            "id": tagged("commensal/beacon-id/v1", address(CLIENT_KEY), gateway[0], u(0, 8),
                         u(rounds, 8), address(PROVIDER_KEY), provider[0], u(0, 8),
                         u(rounds, 8)).hex(),
            "rounds": [{"round": r, "gateway": gateway[r].hex(), "provider": provider[r].hex(),
                        "value": tagged("commensal/beacon/v1", u(r, 8), gateway[r],
                                        provider[r]).hex()} for r in (1, 2, 33, 64)]}


def winning_claim(rounds=64, at=33):
    gateway, provider = revealed(h("gateway seed"), rounds), revealed(h("provider seed"), rounds)
    beacon = bytes.fromhex(beacon_vectors(rounds)["id"])
    job = dict(jobs()[0], beacons=[beacon])
    job_id = tagged("commensal/job/v1", encode_job(job))
    commitment = tagged("commensal/step/v1", job_id, u(1, 8), h("output root"), h("output salt"))
    body = encode_body(job_id, 1, commitment, at)
    signatures = []
    for role, key in (("provider", PROVIDER_KEY), ("client", CLIENT_KEY)):
        message = struct_hash("ReceiptBatch(string role,bytes32 root,uint64 count)",
                              keccak256(role.encode()), leaf(body), word(1))
        signatures.append(encode_batch_signature(sign(key, typed_digest(0, message)), 0,
                                                 [leaf(body)]))
    receipt = (b"\x04\x04" + encode_job(job) + u(1, 8) + commitment + u(at, 8) + signatures[0]
               + signatures[1])
    value = tagged("commensal/beacon/v1", u(at, 8), gateway[at], provider[at])
    return {"encoding": (b"\x07\x01" + receipt + gateway[at] + provider[at] + h("output root")
                         + h("output salt")).hex(),
            "ticket": tagged("commensal/ticket-id/v1", job_id, u(1, 8)).hex(),
            "draw": tagged("commensal/ticket/v1", value, job_id, u(1, 8), commitment).hex()}


def endorsement():
    ends = address(PROVIDER_KEY), address(AUDITOR_KEY)
    message = struct_hash("Endorsement(bytes32 ticket,uint64 index,address from,address to)",
                          h("ticket"), word(3), *(word(int.from_bytes(e, "big")) for e in ends))
    return (b"\x08\x01" + h("ticket") + u(3, 8) + b"".join(ends)
            + sign(PROVIDER_KEY, typed_digest(0, message))).hex()


def settlement():
    ends, amounts = (address(CLIENT_KEY), address(PROVIDER_KEY)), (2**128 - 1, 10**22)
    message = struct_hash("JointSettlement(bytes32 ticket,address client,address holder,"
                          "uint256 toHolder,uint256 toClient)", h("ticket"),
                          *(word(int.from_bytes(e, "big")) for e in ends), *map(word, amounts))
    return (b"\x09\x01" + h("ticket") + b"".join(ends) + b"".join(u(a, 16) for a in amounts)
            + b"".join(sign(key, typed_digest(0, message))
                       for key in (CLIENT_KEY, PROVIDER_KEY))).hex()


def ticket_vectors():
    return {"provider_key": PROVIDER_KEY.hex(), "client_key": CLIENT_KEY.hex(),
            "claim": winning_claim(), "endorsement": endorsement(), "settlement": settlement()}


def main():
    assert keccak256(b"").hex() == (
        "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
    keep(HERE, {"job.json": job_vectors(), "commitment.json": commitment_vectors(),
                "receipt.json": receipt_vectors(), "verdict.json": verdict_vectors(),
                "beacon.json": beacon_vectors(), "ticket.json": ticket_vectors()})


if __name__ == "__main__":
    main()
