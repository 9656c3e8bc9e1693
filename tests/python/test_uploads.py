# SPDX-License-Identifier: Apache-2.0
"""Uploads that break off or are refused: against a gateway that is none."""
from unittest import mock

import commensal
import numpy as np
from commensal import _uploads
from test_hub import WithStub


class Uploads(WithStub):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "large.onnx"
        self.data = np.random.default_rng(3).bytes(9 << 20)
        self.file.write_bytes(self.data)

    def test_go_in_parts(self):
        model = self.client.push(self.file, private=True, allow=["0x01", "0x02"])
        self.assertEqual(model.name, "alice/large")
        said, length, data = next(iter(self.hub.uploads.values()))
        self.assertEqual((length, data), (len(self.data), self.data))
        self.assertEqual({k: said[k] for k in ("model", "private", "allow")},
                         {"model": "alice/large", "private": "1", "allow": "0x01,0x02"})
        self.assertEqual(len(self.hub.parts()), 3)

    def test_a_connection_that_is_lost_costs_what_was_on_its_way(self):
        self.hub.break_after = 1
        self.client.push(self.file)
        self.assertEqual(next(iter(self.hub.uploads.values()))[2], self.data)
        self.assertEqual(len(self.hub.parts()), 4)

    def test_what_broke_off_goes_on_later(self):
        self.hub.break_after = 1
        with mock.patch.object(_uploads, "_PATIENCE_S", 0.0):
            with self.assertRaises(commensal.GatewayUnreachable) as caught:
                self.client.push(self.file)
        self.assertIn("the same push() goes on", caught.exception.__notes__[0])
        commensal.client.login(self.url, "t").push(self.file)
        self.assertEqual(len(self.hub.uploads), 1)
        self.assertEqual(next(iter(self.hub.uploads.values()))[2], self.data)

    def test_what_the_gateway_has_ended_begins_anew(self):
        self.hub.break_after = 1
        with mock.patch.object(_uploads, "_PATIENCE_S", 0.0):
            with self.assertRaises(commensal.GatewayUnreachable):
                self.client.push(self.file)
        self.hub.uploads.clear()
        self.client.push(self.file)
        self.assertEqual(next(iter(self.hub.uploads.values()))[2], self.data)

    def test_other_contents_or_another_audience_are_another_upload(self):
        self.hub.break_after = 1
        with mock.patch.object(_uploads, "_PATIENCE_S", 0.0):
            with self.assertRaises(commensal.GatewayUnreachable):
                self.client.push(self.file)
        with self.assertRaises(commensal.RequestRefused):
            self.client.push(self.file, card="nonesuch.md")
        for said in ({"private": True}, {"private": True, "allow": ["0x01"]},
                     {"privacy_class": "medical"}):
            before = len(self.hub.uploads)
            self.client.push(self.file, **said)
            self.assertEqual(len(self.hub.uploads), before + 1, said)
        self.file.write_bytes(self.data[::-1])
        self.client.push(self.file)
        self.assertEqual(len(self.hub.uploads), 5)
        self.assertLess(len(next(iter(self.hub.uploads.values()))[2]), len(self.data))

    def test_only_what_is_refused_for_good_is_not_kept(self):
        for status in (400, 403, 413, 422, 401, 409, 429, 500, 502, 503, 504, 507):
            self.hub.refuses_push = status
            is_final = status in (400, 403, 413, 422)
            with self.subTest(status):
                with self.assertRaisesRegex(commensal.CommensalError, "not an ONNX") as caught:
                    self.client.push(self.file)
                self.assertEqual(caught.exception.status, status)
                self.assertEqual(len(self.hub.uploads), 0 if is_final else 1)
                self.assertEqual(hasattr(caught.exception, "__notes__"), not is_final)
        parts = len(self.hub.parts())
        self.hub.refuses_push = 0
        self.client.push(self.file)
        self.assertEqual(len(self.hub.parts()), parts)  # all of it was there

    def test_a_file_that_was_changed_meanwhile_is_not_kept(self):
        send = _uploads._Upload._send_part

        def cut(upload, offset, part):
            self.file.write_bytes(b"")
            return send(upload, offset, part)

        with mock.patch.object(_uploads._Upload, "_send_part", cut), \
                self.assertRaisesRegex(commensal.RequestRefused, "was changed"):
            self.client.push(self.file)
        self.assertEqual(self.hub.uploads, {})

    def test_a_gateway_without_uploads_gets_it_whole(self):
        self.hub.has_uploads = False
        self.client.push(self.file)
        self.assertIn(("PUT", "/v1/models/alice/large"), self.hub.asked)

    def test_a_list_that_makes_no_sense_is_refused(self):
        for bad in ([], {"uploads": 5}, {"uploads": ["x"]}):
            self.hub.listed = bad
            with self.assertRaises(commensal.BadAnswer, msg=bad):
                self.client.push(self.file)
