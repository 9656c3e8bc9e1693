#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes report.json beside itself, or with --check compares it: an auditor's signed report, as
generate.py would write it (not the C++)."""
from generate import AUDITOR_KEY, HERE, address, h, keep, sign, struct_hash, typed_digest


def report_vectors():
    auditor = address(AUDITOR_KEY)
    message = struct_hash("AuditReport(bytes32 receiptId,bytes32 outputRoot,address auditor)",
                          h("receipt"), h("root"), bytes(12) + auditor)
    encoding = (b"\x0a\x01" + h("receipt") + h("root") + auditor
                + sign(AUDITOR_KEY, typed_digest(0, message)))
    return [{"auditor_key": AUDITOR_KEY.hex(), "receipt_id": h("receipt").hex(),
             "output_root": h("root").hex(), "encoding": encoding.hex()}]


if __name__ == "__main__":
    keep(HERE, {"report.json": report_vectors()})
