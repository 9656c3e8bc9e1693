# SPDX-License-Identifier: Apache-2.0
"""A gateway that is none: its hub (cards, explore, uploads) in memory, as docs/http.md has it."""
import http.server
import json
import threading
from base64 import b64decode
from hashlib import sha256
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

PORTS = {"inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
         "outputs": [{"name": "logits", "datatype": "FP32", "shape": [-1, 10]}]}


class Hub:
    """What it holds, and what was asked of it."""

    def __init__(self):
        self.ports, self.card, self.cards_put = PORTS, None, []
        self.problem = None  # why the card does not fit
        self.models, self.uploads, self.asked = {}, {}, []
        self.break_after = None  # so many parts; then it hangs up, once
        self.listed = None  # in place of the list of uploads
        self.has_uploads, self.refuses_push, self.refuses_card = True, 0, False  # a status
        self.logits = np.arange(10, dtype="<f4")[None]
        self.datatype, self.others = "FP32", {}  # of logits; further outputs by name
        self.seen = None  # the last input

    def info(self, name):
        return {"name": name, "version": 1, "sha256": self.models.get(name, "00"),
                "graph_root": "", "weight_root": ""}

    def list_uploads(self):
        return self.listed if self.listed is not None else {"uploads": [
            {"upload": target.rsplit("/", 1)[1], "model": said["model"], "bytes": length,
             "sha256": said["sha256"], "private": "private" in said,
             "allowed_providers": [one for one in said.get("allow", "").split(",") if one],
             "privacy_class": said.get("privacy_class"), "received": len(data)}
            for target, (said, length, data) in self.uploads.items()]}

    def parts(self):
        return [target for method, target in self.asked if method == "PATCH"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, status, text):
        self.say(status, {"error": text, "code": "x"})

    def handle_any(self):
        hub, url = self.hub, urlsplit(self.path)
        hub.asked.append((self.command, self.path))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(url.path)
        if path == "/v1/account":
            return self.say(200, {"name": "alice"})
        if path == "/v1/explore":
            return self.explore(parse_qs(url.query))
        if path.startswith("/v1/uploads"):
            return self.upload(path, body)
        if path.endswith("/card"):
            return self.card_of(body)
        if path.endswith("/infer"):
            return self.infer(body)
        if path.startswith("/v2"):
            return self.say(200, hub.ports)
        name = path.removeprefix("/v1/models/").split("/versions")[0]
        if self.command == "PUT":
            hub.models[name] = sha256(body).hexdigest()
        return self.say(200, hub.info(name))

    do_GET = do_PUT = do_POST = do_HEAD = do_PATCH = do_DELETE = handle_any

    def explore(self, asked):
        """250 models, three pages."""
        first, count = int(asked.get("after", ["0"])[0]), int(asked["count"][0])
        names = range(first, min(250, first + count))
        self.say(200, {"models": [{"name": f"a/m{n}", "task": asked.get("task", [""])[0]}
                                  for n in names],
                       "next": str(first + count) if first + count < 250 else None})

    def card_of(self, body):
        hub = self.hub
        if self.command == "PUT":
            hub.cards_put.append(body)
            if hub.refuses_card:
                return self.refuse(400, "card: labels: 3 of them, output 'logits' has 10 elements")
            return self.say(200, {"model": "a/m"})
        if hub.card is None:
            return self.refuse(404, "the model has no card")
        return self.say(200, {"model": "a/m", "card": hub.card, "text": "Reads digits.",
                              "source": "---\n---\nReads digits.", "problem": hub.problem})

    def infer(self, body):
        at = int(self.headers["Inference-Header-Content-Length"])
        said = json.loads(body[:at])["inputs"][0]
        self.hub.seen = np.frombuffer(body[at:], "<f4").reshape(said["shape"])
        outputs = {"logits": self.hub.logits, **self.hub.others}
        head = json.dumps({"parameters": {"commensal_receipt": "00"}, "outputs": [
            {"name": name, "datatype": self.hub.datatype, "shape": output.shape,
             "parameters": {"binary_data_size": output.nbytes}}
            for name, output in outputs.items()]}).encode()
        self.say(200, head + b"".join(output.tobytes() for output in outputs.values()),
                 Inference_Header_Content_Length=str(len(head)))

    def upload(self, path, body):
        hub = self.hub
        if not hub.has_uploads:
            return self.refuse(404, "no such route")
        if (self.command, path) == ("GET", "/v1/uploads"):
            return self.say(200, hub.list_uploads())
        if self.headers["Tus-Resumable"] != "1.0.0":
            return self.refuse(412, "Tus-Resumable")
        if path == "/v1/uploads":
            pairs = (pair.split(" ") for pair in self.headers["Upload-Metadata"].split(","))
            said = {key: b64decode(text).decode() for key, text in pairs}
            made = f"/v1/uploads/{len(hub.asked)}"
            hub.uploads[made] = (said, int(self.headers["Upload-Length"]), bytearray())
            return self.say(201, Location=f"http://{self.headers['Host']}{made}")
        target = path.removesuffix("/push")
        if target not in hub.uploads:
            return self.refuse(404, "no such upload")
        return self.part(path, target, body)

    def part(self, path, target, body):
        hub = self.hub
        said, length, data = hub.uploads[target]
        if path != target:
            if hub.refuses_push:
                return self.refuse(hub.refuses_push, "not an ONNX model")
            assert len(data) == length
            hub.models[said["model"]] = sha256(data).hexdigest()
            return self.say(201, hub.info(said["model"]))
        if self.command == "DELETE":
            del hub.uploads[target]
            return self.say(204)
        if self.command == "PATCH":
            if int(self.headers["Upload-Offset"]) != len(data):
                return self.refuse(409, "another offset")
            if hub.break_after is not None and len(hub.parts()) > hub.break_after:
                hub.break_after = None
                data += body[:1000]  # some of it has arrived
                self.close_connection = True
                return None
            data += body
        return self.say(204 if self.command == "PATCH" else 200, Upload_Offset=str(len(data)),
                        Upload_Length=str(length))


class Server:
    """Runs until close()."""

    def __init__(self):
        self.hub = Hub()
        handler = type("Handler", (Handler,), {"hub": self.hub})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
