# SPDX-License-Identifier: Apache-2.0
"""Receipts against the committed vectors, which other code wrote, and damaged ones."""
import doctest
import importlib
import json
import pkgutil
import sys
import unittest

import commensal
import numpy as np
from commensal import _encoding, _roots, _secp256k1, _tensors
from system import ROOT

VECTORS = ROOT / "tests/vectors"


def vectors(name):
    return json.loads((VECTORS / name).read_text())


class Vectors(unittest.TestCase):
    def test_jobs(self):
        for vector in vectors("protocol/job.json"):
            encoding = bytes.fromhex(vector["encoding"])
            reader = _encoding.Reader(encoding, "job")
            job = _encoding._read_job(reader)
            reader.finish()
            self.assertEqual(job.encoding, encoding)
            self.assertEqual(_roots.tagged("commensal/job/v1", encoding).hex(), vector["id"])
            self.assertEqual(job.face_value, int(vector["fields"]["face_value"]))
            self.assertEqual(job.valid_until_ms, int(vector["fields"]["valid_until_ms"]))

    def test_commitments(self):
        vector = vectors("protocol/commitment.json")
        root, salt, job = (bytes.fromhex(vector[name]) for name in ("root", "salt", "job_id"))
        self.assertEqual(_roots.commit_input(root, salt).hex(), vector["input"])
        for step in vector["steps"]:
            made = _roots.commit_step(job, int(step["step"]), root, salt)
            self.assertEqual(made.hex(), step["commitment"])

    def test_receipts(self):
        ours, other_chain = vectors("protocol/receipt.json")
        for receipt, id in zip(ours["receipts"], ours["ids"]):
            checked = commensal.receipts.verify(bytes.fromhex(receipt))
            self.assertEqual((checked.id, checked.step), (id, 1))
            self.assertIsNone(checked.outputs)
        for receipt in other_chain["receipts"]:
            with self.assertRaisesRegex(commensal.ReceiptInvalid, "provider signature: recovers"):
                commensal.receipts.verify(bytes.fromhex(receipt))

    def test_every_changed_byte_is_found(self):
        good = bytes.fromhex(vectors("protocol/receipt.json")[0]["receipts"][2])
        for at in range(0, len(good), 7):  # some hundredths of a second each
            bad = good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]
            with self.assertRaises(commensal.ReceiptInvalid, msg=at):
                commensal.receipts.verify(bad)

    def test_what_is_cut_off_or_too_long_is_refused(self):
        good = bytes.fromhex(vectors("protocol/receipt.json")[0]["receipts"][0])
        for bad in (b"", good[:-1], good + b"\0", bytes(100), b"\x05" + good[1:],
                    bytes(_encoding.NOUN_BYTES_MAX + 1)):
            with self.assertRaises(commensal.ReceiptInvalid):
                commensal.receipts.verify(bad)

    def test_signatures_of_ethers(self):
        """Another implementation made these."""
        seen = 0
        for vector in vectors("ethers.json")["typed"]:
            digest = bytes.fromhex(vector["digest"][2:])
            signature = bytes.fromhex(vector["signature"][2:])
            found = _secp256k1.recover(digest, signature)
            self.assertEqual(_secp256k1.address_text(found), vector["signer"])
            if vector["type"] == "ReceiptBatch":
                value = vector["value"]
                made = _secp256k1.batch_digest(value["role"], bytes.fromhex(value["root"][2:]),
                                               int(value["count"]), int(vector["chain_id"]))
                self.assertEqual(made, digest)
                seen += 1
        self.assertGreater(seen, 0)

    def test_what_is_no_signature_is_refused(self):
        order = _secp256k1._N
        good = bytes.fromhex(vectors("ethers.json")["typed"][0]["signature"][2:])
        other_form = (order - int.from_bytes(good[32:64], "big")).to_bytes(32, "big")
        for bad in (bytes(65), b"\xff" * 65, good[:64], good[:64] + b"\x1d",
                    good[:32] + other_form + bytes([55 - good[64]]),
                    order.to_bytes(32, "big") + good[32:], bytes(32) + good[32:]):
            with self.assertRaises(ValueError):
                _secp256k1.recover(bytes(32), bad)

    def test_keccak(self):
        self.assertEqual(_secp256k1.keccak256(b"abc").hex(), "4e03657aea45a94fc7d47ba826c8d667"
                         "c0d1e6e33a64a036ec44f58fa12d6c45")
        for size in (135, 136, 137, 1000):
            text = bytes(i % 251 for i in range(size))
            self.assertEqual(_secp256k1.keccak256(text), generator().keccak256(text))


def generator():
    """Of the vectors: an implementation of its own."""
    for folder in (VECTORS, VECTORS / "protocol"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return importlib.import_module("generate")


class Roots(unittest.TestCase):
    def test_paths_lead_to_the_root(self):
        for count in range(1, 18):
            leaves = [_roots.leaf_hash(bytes([i])) for i in range(count)]
            for index in range(count):
                path = path_of(index, leaves)
                found = _roots.root_of_path(leaves[index], index, count, path)
                self.assertEqual(found, _roots.merkle_root(leaves))
                with self.assertRaises(ValueError):
                    _roots.root_of_path(leaves[index], index, count, path + [leaves[0]])
                if path:
                    with self.assertRaises(ValueError):
                        _roots.root_of_path(leaves[index], index, count, path[:-1])
        with self.assertRaises(ValueError):
            _roots.root_of_path(leaves[0], 3, 3, [])

    def test_strings_travel(self):
        given = np.array([[b"he\0llo", ""], ["\u00e9", b"\xff"]], dtype=object)
        tensor = _tensors.Tensor.of_array("x", _tensors.BY_OIP["BYTES"], given)
        self.assertEqual(tensor.array().tolist(), [[b"he\0llo", b""], ["\u00e9".encode(), b"\xff"]])
        for bad in (tensor.elements[:-1], tensor.elements + bytes(4), b"\xff" * 4):
            with self.assertRaises(ValueError):
                _tensors.Tensor.of_bytes("x", tensor.dtype, (2, 2), bad)
        for shape in ((-2, -2), (0, 2**50), (2**64, 0), (1,) * 17):
            with self.assertRaises(ValueError):
                _tensors.Tensor.of_bytes("x", _tensors.BY_OIP["UINT8"], shape, bytes(4)[:shape[0]])


def path_of(index, leaves):
    path, level = [], leaves
    while len(level) > 1:
        if index ^ 1 < len(level):
            path.append(level[index ^ 1])
        level = [_roots.merkle_root(level[i:i + 2]) for i in range(0, len(level), 2)]
        index //= 2
    return path


def load_tests(loader, tests, pattern):
    """Doctests of every module."""
    for module in pkgutil.iter_modules(commensal.__path__, "commensal."):
        tests.addTests(doctest.DocTestSuite(importlib.import_module(module.name)))
    return tests
