#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes transactions.json, or with --check compares it: signed transactions of a ledger, one of
each plain kind and some with evidence, by an implementation of its own (that of ../protocol)."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "protocol"))
from generate import (address, h, keccak256, keep, listed, sign, struct_hash,  # noqa: E402
                      tagged, u, word)

KEYS = [bytes([9]) * 31 + bytes([i]) for i in range(1, 4)]
OPERATOR, ALICE, BOB = (address(key) for key in KEYS)
WIDTHS = {"uint8": 1, "uint32": 4, "uint64": 8, "uint128": 16}


def encoded(kind, value):
    return u(value, WIDTHS[kind]) if kind in WIDTHS else value


def as_word(kind, value):
    if kind in WIDTHS:
        return word(value)
    if kind == "evidence":  # signed by the hash of its encoding
        return tagged("commensal/ledger/evidence/v1", value)
    return bytes(32 - len(value)) + value


def typed_digest(chain_id, message):
    domain = struct_hash(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
        keccak256(b"Commensal"), keccak256(b"1"), word(chain_id), bytes(12) + OPERATOR)
    return keccak256(b"\x19\x01" + domain + message)


def receipts():
    vectors = json.loads((HERE.parent / "protocol" / "receipt.json").read_text())
    return [bytes.fromhex(vector["receipts"][0]) for vector in vectors]


def report():
    vector = json.loads((HERE.parent / "protocol" / "report.json").read_text())[0]
    return bytes.fromhex(vector["encoding"])


AVAILABLE, CREDIT, ESCROW, STAKE = 0, 1, 2, 4
CASE = [("bytes32", "subject", h("receipt")), ("address", "accuser", ALICE)]
BODIES = [
    (0, "Genesis", [("address", "operatorAddress", OPERATOR), ("uint64", "chainId", 0),
                    ("uint64", "withdrawalDelayMs", 1000), ("uint64", "revealDelayMs", 100),
                    ("uint64", "absenceDelayMs", 300), ("uint64", "auditDelayMs", 500),
                    ("uint64", "openingRounds", 5),
                    ("uint32", "patternMismatches", 2), ("uint32", "pardonMatches", 1000),
                    ("uint128", "auditorFee", 3),
                    ("uint128", "auditorBounty", 40), ("uint128", "penalty", 11),
                    ("uint128", "creditCap", 2**100), ("uint128", "accusationBond", 21),
                    ("uint64", "contestDelayMs", 200), ("uint64", "moveDelayMs", 50),
                    ("uint64", "disputeDelayMs", 400), ("uint128", "auditorStake", 70),
                    ("uint32", "reportsNeeded", 2), ("uint64", "reportDelayMs", 60)]),
    (1, "Deposit", [("address", "owner", ALICE), ("uint128", "amount", 2**128 - 1),
                    ("bytes32", "reference", h("payment"))]),
    (2, "Withdraw", [("uint128", "amount", 12345678901234567890123)]),
    (3, "Fund", [("uint8", "into", ESCROW), ("uint128", "amount", 7)]),
    (4, "AnnounceWithdrawal", [("uint8", "from", STAKE), ("uint128", "amount", 7)]),
    (5, "CompleteWithdrawal", [("uint64", "announcement", 2**63)]),
    (6, "Allow", [("address", "spender", BOB), ("uint128", "amount", 0)]),
    (7, "Debit", [("address", "payer", ALICE), ("address", "payee", BOB),
                  ("uint8", "from", CREDIT), ("uint128", "amount", 5),
                  ("address", "provider", OPERATOR), ("bytes32", "request", h("request"))]),
    (8, "GrantCredit", [("address", "to", BOB), ("uint128", "amount", 9)]),
    (9, "AdmitAuditor", [("address", "auditor", BOB), ("uint8", "admitted", 1)]),
    (11, "Reveal", [("bytes32", "hashChain", h("chain")), ("uint64", "round", 77),
                    ("bytes32", "value", h("value"))]),
    (14, "Mature", [("bytes32", "ticket", h("ticket"))]),
    (17, "Silence", [("evidence", "receipt", receipts()[0])]),
    (18, "Demand", [("evidence", "receipt", receipts()[-1])]),
    (19, "Default", [("evidence", "receipt", receipts()[0]),
                     ("evidence", "endorsements", listed([]))]),
    (20, "Checkpoint", [("bytes32", "root", h("root"))]),
    (21, "Accuse", [("evidence", "receipt", receipts()[0]), ("bytes32", "inputRoot", h("inputs")),
                    ("bytes32", "inputSalt", h("salt 0")),
                    ("bytes32", "outputRoot", h("outputs")),
                    ("bytes32", "outputSalt", h("salt 1")),
                    ("evidence", "report", b"\1" + report()),
                    ("evidence", "origin", u(6, 4) + b"origin")]),
    (22, "Contest", CASE),
    (23, "Concede", CASE),
    (24, "Argue", CASE + [("evidence", "move", u(5, 4) + b"moves")]),
    (25, "Expire", CASE),
    (26, "Report", CASE + [("bytes32", "outputRoot", h("outputs"))]),
    (27, "Sell", [("bytes32", "ticket", h("ticket")), ("uint128", "price", 90)]),
    (28, "Buy", [("bytes32", "ticket", h("ticket")), ("uint128", "price", 2**128 - 1)]),
    (29, "Enlist", [("uint8", "listed", 1)]),
    (30, "Disclose", [("bytes32", "receipt", h("receipt")), ("bytes32", "nonce", h("nonce"))]),
    (31, "Summon", CASE),
]


def vector(number, name, fields, key, nonce, chain_id):
    sender = address(key)
    members = [("address", "sender", sender), ("uint64", "nonce", nonce)] + fields
    kind = f"{name}(" + ",".join(
        f"{'bytes32' if t == 'evidence' else t} {n}" for t, n, _ in members) + ")"
    digest = typed_digest(chain_id, struct_hash(kind, *(as_word(t, v) for t, _, v in members)))
    body = u(number, 1) + b"".join(encoded(t, v) for t, _, v in fields)
    encoding = (b"\x20\x01" + u(chain_id, 8) + OPERATOR + sender + u(nonce, 8) + body
                + listed([sign(key, digest)]))
    return {"type": kind, "key": key.hex(), "digest": digest.hex(), "body": body.hex(),
            "encoding": encoding.hex()}


def main():
    vectors = [vector(number, name, fields, KEYS[i % 3], i * 3, 0 if i % 5 else 31337)
               for i, (number, name, fields) in enumerate(BODIES)]
    keep(HERE, {"transactions.json": vectors})


if __name__ == "__main__":
    main()
