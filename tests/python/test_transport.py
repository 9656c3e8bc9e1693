# SPDX-License-Identifier: Apache-2.0
"""What a gateway says that is none, that is busy, or that hangs up."""
import http.server
import io
import json
import socket
import threading
import time
import unittest
from unittest import mock

import commensal
import numpy as np
from commensal._transport import Transport
from commensal._trust import Trust, parse_url

INFO = {"name": "a/m", "version": 1, "sha256": "00", "graph_root": "", "weight_root": ""}
PORTS = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2]}],
         "outputs": [{"name": "y", "datatype": "FP32", "shape": [2]}]}


class Stub(http.server.BaseHTTPRequestHandler):
    """Says of POST what the test wants next: (status, headers, body), or None: hangs up."""

    protocol_version = "HTTP/1.1"
    answers: list = []
    connections: set = set()
    hang_up_after = False

    def log_message(self, *_):
        pass

    def say(self, status, headers, body):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        if Stub.hang_up_after:
            self.close_connection = True

    def do_GET(self):
        Stub.connections.add(self.client_address)
        said = {"/v1/account": {"name": "a"}}.get(self.path)
        said = said or (PORTS if self.path.startswith("/v2") else INFO)
        self.say(200, {}, json.dumps(said).encode())

    def do_POST(self):
        Stub.connections.add(self.client_address)
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = Stub.answers.pop(0)
        if answer is None:
            self.close_connection = True
        else:
            self.say(*answer)


def good(values=(1, 2), shape=(2,), size=8, **changed):
    head = json.dumps({"model_name": "a/m", "parameters": {"commensal_receipt": "00"}, "outputs": [
        {"name": "y", "datatype": "FP32", "shape": shape,
         "parameters": {"binary_data_size": size}}], **changed}).encode()
    return 200, {"Inference-Header-Content-Length": str(len(head))}, (
        head + np.array(values, "<f4").tobytes())


BUSY = (503, {"Retry-After": "0.1"}, b'{"error": "no provider", "code": "unavailable"}')


class Refusals(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        Stub.hang_up_after = False
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.client = commensal.client.login(self.url, "t")
        self.addCleanup(self.client.close)
        self.model = self.client.model("a/m")

    def test_the_line_break_of_a_token_s_file_is_none_of_the_token(self):
        with commensal.client.login(self.url, "  t\r\n") as client:
            self.assertEqual(client.account, "a")

    def test_a_token_that_is_no_word_is_refused_and_not_shown(self):
        for token in ("sec\nret", "sec ret", "sec\0ret", "sec\x7fret", "s\u00e9cret"):
            with self.assertRaises(commensal.TokenRejected) as caught:
                commensal.client.login(self.url, token)
            self.assertIn("one word", str(caught.exception))
            self.assertIn("login(token=...)", str(caught.exception))
            self.assertNotIn("ret", str(caught.exception))
        environment = {"COMMENSAL_TOKEN": "sec\nret"}
        with mock.patch.dict("os.environ", environment):
            with self.assertRaisesRegex(commensal.TokenRejected, "COMMENSAL_TOKEN"):
                commensal.client.login(self.url)

    def infer(self, *answers):
        Stub.answers = list(answers)
        return self.model.infer([1, 2])

    def test_an_answer_that_makes_none(self):
        _, headers, body = good()
        for bad in (good(values=(1,)), good(size=12), good(size=-1), good(shape=(3,)),
                    good(shape=(-2, -1)), good(shape=[0, 2**70], size=0, values=()),
                    good(outputs=[{}]), good(outputs=None), (200, {}, b"[" * 10**5),
                    (200, {}, b"<html>"), (200, {}, b"[]"),
                    (200, headers, body[:20]),
                    (200, {"Inference-Header-Content-Length": "-5"}, body),
                    (200, {"Inference-Header-Content-Length": "many"}, body)):
            with self.assertRaises(commensal.BadAnswer, msg=bad):
                self.infer(bad)
        self.assertEqual(self.infer(good()).output.tolist(), [1, 2])

    def test_a_privacy_class_is_asked_for_and_said(self):
        asked = []
        read = Stub.do_POST

        def noted(handler):
            body = handler.rfile.read(int(handler.headers["Content-Length"]))
            head = json.loads(body[:int(handler.headers["Inference-Header-Content-Length"])])
            asked.append(head["parameters"].get("privacy_class"))
            with mock.patch.object(handler, "rfile", io.BytesIO(body)):
                read(handler)

        def placed(name):
            return good(parameters={"commensal_receipt": "00", "privacy_class": name})

        with mock.patch.object(Stub, "do_POST", noted):
            Stub.answers = [good(), placed("medical"), placed("medical")]
            self.assertEqual(self.model.infer([1, 2]).privacy_class, "")
            self.assertEqual(self.model.infer([1, 2]).privacy_class, "medical")
            answer = self.model.infer([1, 2], privacy_class="medical")
            self.assertEqual(answer.privacy_class, "medical")
            Stub.answers = [placed("medical")]
            many = list(self.model.infer_many([[1, 2]], privacy_class="medical"))
            self.assertEqual(many[0].privacy_class, "medical")
            for said in (good(), placed("legal")):
                Stub.answers = [said]
                with self.assertRaisesRegex(commensal.BadAnswer, "any provider may have seen"):
                    self.model.infer([1, 2], privacy_class="medical")
        self.assertEqual(asked, [None, None] + ["medical"] * 4)

    def test_errors_have_their_kinds(self):
        kinds = {401: commensal.TokenRejected, 403: commensal.NotAllowed, 404: commensal.NotFound,
                 400: commensal.RequestRefused, 409: commensal.RequestRefused,
                 429: commensal.Busy, 503: commensal.Busy, 504: commensal.TooLate,
                 500: commensal.RequestRefused}
        for status, kind in kinds.items():
            with self.assertRaisesRegex(kind, "why"):
                self.infer((status, {}, b'{"error": "why"}'))
            with self.assertRaises(kind):
                self.infer((status, {}, b"[1]"))
        with self.assertRaisesRegex(commensal.RequestRefused, r"a\?\[31mb"):
            self.infer((400, {}, b'{"error": "a\\u001b[31mb"}'))

    def test_a_busy_gateway_is_asked_again(self):
        with self.assertRaises(commensal.Busy) as caught:
            self.infer(BUSY)
        self.assertEqual(caught.exception.retry_after_s, 0.1)
        Stub.answers = [BUSY, BUSY, good(), good()]
        answers = list(self.model.infer_many([[1, 2]] * 2, at_once=1))
        self.assertEqual((len(answers), Stub.answers), (2, []))
        Stub.answers = [BUSY] * 50
        with self.assertRaises(commensal.Busy):
            list(self.model.infer_many([[1, 2]], patience_s=0.3))

    def test_who_hangs_up_is_told_of(self):
        with self.assertRaisesRegex(commensal.GatewayUnreachable, "may have been done, and paid"):
            self.infer(None)
        self.assertEqual(self.infer(good()).output.tolist(), [1, 2])

    def test_a_connection_is_kept_and_one_that_was_closed_is_replaced(self):
        Stub.connections = set()
        for _ in range(5):
            self.infer(good())
        self.assertEqual(len(Stub.connections), 1)
        Stub.hang_up_after = True
        for _ in range(3):
            self.infer(good())
            time.sleep(0.05)  # its end arrives
        self.assertGreaterEqual(len(Stub.connections), 3)

    def test_nothing_is_waited_for_without_end(self):
        slow = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
        threading.Thread(target=slow.serve_forever, daemon=True).start()
        self.addCleanup(slow.server_close)
        self.addCleanup(slow.shutdown)
        place = parse_url(f"http://127.0.0.1:{slow.server_address[1]}")
        transport = Transport(place, Trust(place, None, None), "", "", wait_s=0.2)
        with self.assertRaisesRegex(commensal.TooLate, "nothing for 0.2 s"):
            transport.call("GET", "/")

    def test_what_answers_is_no_gateway(self):
        for said, kind in ((b"{}", "is no gateway"), (b"<html>", "is not JSON")):
            with mock.patch.object(Stub, "do_GET", lambda stub: stub.say(200, {}, said)):
                with self.assertRaisesRegex(commensal.BadAnswer, kind):
                    commensal.client.login(self.url, "t")

    def test_what_speaks_no_http_is_named_and_moves_no_cursor(self):
        settings = b"\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x80\0\x06\0\x01\0\0"
        for said, kind, words in (
                (settings, commensal.BadAnswer, "is the gateway's port for providers or gRPC, it "
                                                "seems: consumers use another"),
                (b"\x1b[2J\0\n", commensal.GatewayUnreachable, r"\(\?\[2J\?+\): is it still")):
            with self.subTest(words), socket.create_server(("127.0.0.1", 0)) as server:
                def answer(of=server, text=said):
                    connection, _ = of.accept()
                    with connection:
                        connection.recv(1 << 16)
                        connection.sendall(text)

                threading.Thread(target=answer, daemon=True).start()
                with self.assertRaisesRegex(kind, words) as caught:
                    commensal.client.login(f"http://127.0.0.1:{server.getsockname()[1]}", "t")
                self.assertTrue(str(caught.exception).isprintable())


class Slow(Stub):
    def do_GET(self):
        time.sleep(1)
