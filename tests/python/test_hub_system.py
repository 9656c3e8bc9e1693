# SPDX-License-Identifier: Apache-2.0
"""Cards, explore, names for answers, uploads that break off: against a real gateway."""
import json
import unittest
from unittest import mock

import commensal
import numpy as np
from commensal import _uploads
from system import DIGITS, IMAGES, LETTERS
from test_client import WithSystem
from test_hub import NAMES, Image


class Hub(WithSystem):
    def card(self):
        names = "\n".join(f"    - {name}" for name in NAMES)
        return ("---\nlicense: MIT\npipeline_tag: image-classification\ncommensal:\n"
                f"  modality: image\n  labels:\n{names}\n"
                "  picture:\n    input: image\n    resize: stretch\n"
                "  output:\n    name: logits\n    softmax: true\n    top_k: 2\n"
                "---\nReads handwritten digits.\n")

    @unittest.skipUnless(Image, "needs python3-pil")
    def test_a_card_and_names_as_the_command_line_has_them(self):
        card = self.model.set_card(self.card())
        self.assertEqual((card.labels, card.task), (tuple(NAMES), "image-classification"))
        file = self.system.folder / "card.png"
        Image.fromarray(np.arange(31 * 20, dtype=np.uint8).reshape(20, 31)).save(file)
        answer = commensal.model("digits").infer(file)
        said = json.loads(self.system.run("infer", "digits", file, "--json", token=self.token))
        output = said["outputs"]["logits"]
        self.assertEqual(answer.output.ravel().tolist(), np.float32(output["data"]).tolist())
        self.assert_same(answer.rows(), output["top"])
        self.assertEqual([answer.names()], answer.rows())
        with self.expect(commensal.RequestRefused, "labels"):
            self.model.set_card(self.card().replace("    - nine\n", ""))

    def assert_same(self, rows, said):
        """Ranked by Python, and by the command line."""
        ours = [(row, *one) for row, names in enumerate(rows) for one in names]
        theirs = [(one.get("row", 0), one["label"], one["share"]) for one in said]
        self.assertEqual([one[:2] for one in ours], [one[:2] for one in theirs])
        for mine, other in zip(ours, theirs):
            self.assertAlmostEqual(mine[2], other[2], 12)

    def test_rows_as_the_command_line_has_them(self):
        letters = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=")
        model = self.client.push(LETTERS, "letters", card=(
            f"---\ncommensal:\n  labels: {json.dumps(letters)}\n  output:\n    name: logits\n"
            "    softmax: true\n    top_k: 4\n---\n"))
        said = self.files({"letter": np.array([3, 5, 64], np.int64),
                           "state": np.zeros((3, 160), np.float32)})
        answer = model.infer({name: np.load(file) for name, file in said.items()})
        inputs = [part for name, file in said.items() for part in ("--input", f"{name}={file}")]
        shown = json.loads(self.system.run("infer", "letters", *inputs, "--json",
                                           token=self.token))
        self.assertEqual([len(row) for row in answer.rows()], [4, 4, 4])
        self.assert_same(answer.rows(), shown["outputs"]["logits"]["top"])

    def test_a_card_of_the_version_before_is_left_out(self):
        self.client.push(DIGITS, "changed", card=self.card())
        model = self.client.push(LETTERS, "changed")
        said = self.files({"letter": np.array([3], np.int64),
                           "state": np.zeros((1, 160), np.float32)})
        answer = model.infer({name: np.load(file) for name, file in said.items()})
        with self.assertWarnsRegex(UserWarning, "alice/changed: its card is left out: .*'image'"):
            with self.expect(commensal.WrongInput, "take one of answer.outputs"):
                answer.names()
        self.assertIn("'image'", model.card().problem)

    def files(self, arrays):
        made = {name: self.system.folder / f"{name}.npy" for name in arrays}
        for name, file in made.items():
            np.save(file, arrays[name])
        return made

    def test_explore(self):
        self.assertIn("alice/digits", [one["name"] for one in self.client.explore("digits")])
        self.assertEqual(commensal.explore("no such words"), [])

    def test_an_upload(self):
        with mock.patch.object(_uploads, "WHOLE_BYTES_MAX", 1000), \
                mock.patch.object(_uploads, "_PART_BYTES", 3000):
            model = self.client.push(DIGITS, "uploaded")
            self.assertEqual(model.sha256, self.model.sha256)
            with self.expect(commensal.RequestRefused, "ONNX"):
                self.client.push(IMAGES, "images")

    def large(self):
        """A network of 9 MiB: its note about itself is long."""
        file = self.system.folder / "large.onnx"
        note = bytes(9 << 20)
        size = bytes(((len(note) >> shift) & 127) | (128 if shift < 21 else 0)
                     for shift in (0, 7, 14, 21))
        file.write_bytes(DIGITS.read_bytes() + b"\x32" + size + note)  # ModelProto.doc_string
        return file

    def begun(self):
        return {one["upload"]: one["received"]
                for one in self.client._transport.call("GET", "/v1/uploads").json()["uploads"]}

    def push_one_part(self, *what, **how):
        """It breaks off then."""
        send, client = _uploads._Upload._send_part, self.client

        def once(upload, offset, part):
            if offset:
                raise commensal.GatewayUnreachable("hung up")
            return send(upload, offset, part)

        with mock.patch.object(_uploads._Upload, "_send_part", once), \
                mock.patch.object(_uploads, "_PATIENCE_S", 0.0), \
                self.expect(commensal.GatewayUnreachable, "hung up"):
            client.push(*what, **how)

    def test_what_broke_off_in_public_never_publishes_what_is_private(self):
        file, who = self.large(), [self.system.provider]
        self.push_one_part(file, "secret")
        in_public = self.begun()
        self.assertEqual(list(in_public.values()), [_uploads._PART_BYTES])
        self.push_one_part(file, "secret", private=True)
        self.push_one_part(file, "secret", private=True, allow=who)
        self.assertEqual(len(self.begun()), 3)
        self.client.push(file, "secret", private=True, allow=who)
        self.assertEqual(len(self.begun()), 2)
        info = self.client._transport.call("GET", "/v1/models/alice/secret").json()
        self.assertTrue(info["private"])
        self.assertEqual([one.lower() for one in info["allowed_providers"]],
                         [one.lower() for one in who])
        bob = commensal.client.login(self.system.url, self.system.account("bob"))
        self.addCleanup(bob.close)
        with self.assertRaises(commensal.UnknownModel):
            bob.model("alice/secret")
        self.assertEqual(self.begun().items() & in_public.items(), in_public.items())
        for upload in self.begun():
            self.client._transport.call("DELETE", f"/v1/uploads/{upload}", headers=_uploads._TUS)
