#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes statement.json beside itself, or with --check compares it: an auditor's signed statement
of a privacy class, and what is none, as generate.py would write it (not the C++)."""
from generate import (AUDITOR_KEY, HERE, PROVIDER_KEY, address, keep, keccak256, sign, struct_hash,
                      typed_digest, u, word)

KIND = "PrivacyStatement(address provider,string privacyClass,uint64 validUntilMs,address auditor)"


def statement(privacy_class, until_ms):
    provider, auditor = address(PROVIDER_KEY), address(AUDITOR_KEY)
    name = privacy_class.encode()
    message = struct_hash(KIND, bytes(12) + provider, keccak256(name), word(until_ms),
                          bytes(12) + auditor)
    return (b"\x0b\x01" + provider + u(len(name), 4) + name + u(until_ms, 8) + auditor
            + sign(AUDITOR_KEY, typed_digest(0, message)))


def statement_vectors():
    made = [{"class": name, "until_ms": str(until), "encoding": statement(name, until).hex()}
            for name, until in (("medical", 1801440000000), ("a", 0), ("0-" * 16, 2**64 - 1))]
    whole = statement("medical", 5)
    refused = [statement(name, 5).hex() for name in ("", "Medical", "a b", "a_b", "x" * 33)]
    refused += [(whole + b"\0").hex(), whole[:-1].hex(), (b"\x0b\x02" + whole[2:]).hex()]
    return {"auditor_key": AUDITOR_KEY.hex(), "provider": address(PROVIDER_KEY).hex(),
            "statements": made, "refused": refused}


if __name__ == "__main__":
    keep(HERE, {"statement.json": statement_vectors()})
