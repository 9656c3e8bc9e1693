#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Calls a gateway's HTTP face as the examples of Triton's Python client do.

  http_twin.py URL TOKEN

Prints a line for each example that passes and ends with status 1 at the first that does not. Needs
Debian's python3-aiohttp, python3-numpy and curl. Models: those of models/triton, by their aliases.
"""
import asyncio
import gzip
import json
import os
import subprocess
import sys
import zlib

import aiohttp
import numpy as np
from elements import texts_of, with_lengths

URL, TOKEN = sys.argv[1:3]
NUMPY = {"INT32": np.int32, "INT8": np.int8, "FP32": np.float32}
A, B = np.arange(16), np.ones(16, int)


def tensor(name, datatype, shape, values, binary=True):
    """One input, and its bytes behind the JSON. `values`: an array, or a list of bytes."""
    head = {"name": name, "datatype": datatype, "shape": shape}
    if not binary:
        is_text = datatype == "BYTES"
        head["data"] = [v.decode() for v in values] if is_text else np.ravel(values).tolist()
        return head, b""
    raw = with_lengths(values) if datatype == "BYTES" else values.astype(NUMPY[datatype]).tobytes()
    head["parameters"] = {"binary_data_size": len(raw)}
    return head, raw


def pair(datatype="INT32", binary=(True, True)):
    rows = [[str(v).encode() for v in one] for one in (A, B)] if datatype == "BYTES" else [A, B]
    return [tensor(f"INPUT{i}", datatype, [1, 16], rows[i], binary[i]) for i in range(2)]


class Client:
    def __init__(self, session):
        self.session = session

    async def call(self, method, path, body=None, headers=None, token=TOKEN):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        async with self.session.request(method, f"{URL}/{path}", data=body,
                                        headers=headers) as answer:
            return answer.status, await answer.read(), answer.headers

    async def get(self, path):
        status, body, _ = await self.call("GET", path)
        assert status == 200, (path, status, body)
        return json.loads(body) if body else {}

    async def post(self, path, message=None):
        return await self.call("POST", path, json.dumps(message or {}).encode())

    async def infer(self, model, tensors, outputs=(), parameters=None, coding=None):
        """{name: (head, elements)} of the answer, after its status; an error's text."""
        head = json.dumps({"id": "my request id", "inputs": [one for one, _ in tensors],
                           "outputs": list(outputs), "parameters": parameters or {}}).encode()
        body = head + b"".join(raw for _, raw in tensors)
        headers = {}
        if len(body) > len(head):
            headers["Inference-Header-Content-Length"] = str(len(head))
        if coding:
            pack = {"gzip": gzip.compress, "deflate": zlib.compress}[coding]
            body = pack(body)
            headers |= {"Content-Encoding": coding, "Accept-Encoding": coding}
        status, body, said = await self.call("POST", f"v2/models/{model}/infer", body, headers)
        if coding and status == 200:
            assert said["Content-Encoding"] == coding, said
        return status, answer_of(status, body, said)


def answer_of(status, body, headers):
    if status != 200:
        return json.loads(body)["error"]
    size = int(headers.get("Inference-Header-Content-Length", len(body)))
    head, rest = json.loads(body[:size]), body[size:]
    assert len(head["parameters"]["commensal_receipt"]) == 64, head
    made = {}
    for output in head["outputs"]:
        raw = None
        if "binary_data_size" in output.get("parameters", {}):
            count = output["parameters"]["binary_data_size"]
            raw, rest = rest[:count], rest[count:]
        made[output["name"]] = (output, elements_of(output, raw))
    assert not rest, rest
    return made


def elements_of(output, raw):
    if raw is None:
        values = output.get("data", [])
        return [v.encode() for v in values] if output["datatype"] == "BYTES" else np.array(values)
    return texts_of(raw) if output["datatype"] == "BYTES" else np.frombuffer(
        raw, NUMPY[output["datatype"]])


def check(said, number=int):
    status, outputs = said
    assert status == 200, said
    for name, expected in (("OUTPUT0", A + B), ("OUTPUT1", A - B)):
        if name in outputs:
            head, values = outputs[name]
            assert head["shape"] == [1, 16], head
            assert [number(v) for v in values] == expected.tolist(), values


async def health_metadata(client):
    for path in ("v2/health/live", "v2/health/ready", "v2/models/simple/ready"):
        await client.get(path)
    described = await client.get("openapi.json")
    assert "post" in described["paths"]["/v2/models/{model}/infer"], described
    server = await client.get("v2")
    assert server["name"] == "triton", server
    assert {"classification", "binary_tensor_data"} <= set(server["extensions"]), server
    model = await client.get("v2/models/simple_string")
    assert model["inputs"][0] == {"name": "INPUT0", "datatype": "BYTES", "shape": [-1, 16]}, model
    config = await client.get("v2/models/simple_string/config")
    assert config["max_batch_size"] == 8 and config["input"][0]["data_type"] == "TYPE_STRING"
    status, body, _ = await client.call("GET", "v2/models/wrong_model_name")
    assert status == 400, status
    assert json.loads(body)["error"].startswith(
        "Request for unknown model: 'wrong_model_name' is not found"), body


async def infer(client):
    """JSON and binary data mixed, each way and each coding."""
    for coding in (None, "gzip", "deflate"):
        for binary in ((True, True), (False, True), (False, False)):
            outputs = [{"name": "OUTPUT0", "parameters": {"binary_data": binary[0]}},
                       {"name": "OUTPUT1", "parameters": {"binary_data": binary[1]}}]
            check(await client.infer("simple", pair(binary=binary), outputs, coding=coding))
    check(await client.infer("simple", pair(), parameters={"binary_data_output": True}))
    check(await client.infer("simple_int8", pair("INT8")))
    stats = await client.get("v2/models/simple/stats")
    assert len(stats["model_stats"]) == 1, stats
    assert stats["model_stats"][0]["inference_stats"]["success"]["count"] >= 10, stats
    assert stats["model_stats"][0]["batch_stats"][0]["batch_size"] == 1, stats
    status, error = await client.infer("wrong_model", pair())
    assert status == 400 and error.startswith("Request for unknown model"), (status, error)
    half = {"name": "INPUT0", "datatype": "FP16", "shape": [1, 16], "data": [1.0] * 16}
    status, error = await client.infer("simple", [(half, b"")])
    assert status == 400 and "binary" in error, (status, error)
    status, _, _ = await client.call("POST", "v2/models/simple/infer", b"{}", token=None)
    assert status == 401, status


async def async_infer(client):
    for said in await asyncio.gather(*(client.infer("simple", pair()) for _ in range(50))):
        check(said)


async def string_infer(client):
    for binary in ((True, True), (False, True), (False, False)):
        outputs = [{"name": f"OUTPUT{i}", "parameters": {"binary_data": binary[i]}}
                   for i in range(2)]
        check(await client.infer("simple_string", pair("BYTES", binary), outputs))
    rows = {"words": [b"%d" % i for i in range(16)], "zeros": [b"he\x00llo"] * 16,
            "none": [b""] * 16, "accents": ["h\u00e9\U0001f600".encode()] * 16}
    for row in rows.values():
        for binary in (True, False):
            outputs = [{"name": "OUTPUT0", "parameters": {"binary_data": binary}}]
            status, said = await client.infer(
                "simple_identity", [tensor("INPUT0", "BYTES", [1, 16], row, binary)], outputs)
            assert status == 200 and said["OUTPUT0"][1] == row, (row, said)
    any_bytes = [bytes([i, 255 - i]) for i in range(16)]
    sent = [tensor("INPUT0", "BYTES", [1, 16], any_bytes)]
    binary_output = {"binary_data_output": True}
    status, said = await client.infer("simple_identity", sent, parameters=binary_output)
    assert said["OUTPUT0"][1] == any_bytes, said
    status, error = await client.infer("simple_identity", sent)
    assert status == 400 and "UTF-8" in error and "receipt" in error, error


async def sequences(client):
    values = [0, 11, 7, 5, 3, 2, 0, 1]
    for sequence in (1001, "8b1c3b6e-35b4-4bd9-9b3c-1f0a0b9c7d11"):
        got = []
        for i, value in enumerate(values):
            _, said = await client.infer(
                "simple_sequence", [tensor("INPUT", "INT32", [1, 1], np.array([value]))],
                parameters={"sequence_id": sequence, "sequence_start": i == 0,
                            "sequence_end": i + 1 == len(values)})
            got.append(int(said["OUTPUT"][1][0]))
        assert got == [1] + values[1:], got


class Region:
    """Shared memory of this host, registered by name."""

    def __init__(self, client, name, content, size):
        self.client, self.name, self.size = client, name, size
        self.key = f"/commensal-http-twin-{os.getpid()}"
        with open("/dev/shm" + self.key, "wb") as memory:
            memory.write(content.ljust(size, b"\0"))

    async def __aenter__(self):
        status, body, _ = await self.client.post(
            f"v2/systemsharedmemory/region/{self.name}/register",
            {"key": self.key, "offset": 0, "byte_size": self.size})
        assert status == 200, body
        return self

    async def __aexit__(self, *_):
        status, body, _ = await self.client.post(
            f"v2/systemsharedmemory/region/{self.name}/unregister")
        assert status == 200, body
        os.unlink("/dev/shm" + self.key)

    def place(self, offset, size):
        return {"parameters": {"shared_memory_region": self.name, "shared_memory_offset": offset,
                               "shared_memory_byte_size": size}}

    def content(self):
        with open("/dev/shm" + self.key, "rb") as memory:
            return memory.read()


async def shared_memory(client):
    for datatype in ("INT32", "BYTES"):
        rows = [raw for _, raw in pair(datatype)]
        async with Region(client, "data", rows[0] + rows[1], 4096) as region:
            inputs = [({"name": f"INPUT{i}", "datatype": datatype, "shape": [1, 16]}
                       | region.place(i * len(rows[0]), len(rows[i])), b"") for i in range(2)]
            outputs = [{"name": f"OUTPUT{i}"} | region.place(1024 * (i + 1), 1024)
                       for i in range(2)]
            status, said = await client.infer("simple" if datatype == "INT32" else "simple_string",
                                              inputs, outputs)
            assert status == 200, said
            for i, expected in enumerate((A + B, A - B)):
                size = said[f"OUTPUT{i}"][0]["parameters"]["shared_memory_byte_size"]
                raw = region.content()[1024 * (i + 1):][:size]
                got = texts_of(raw) if datatype == "BYTES" else np.frombuffer(raw, np.int32)
                assert [int(v) for v in got] == expected.tolist(), got
            listed = await client.get("v2/systemsharedmemory/status")
            assert [one["name"] for one in listed] == ["data"], listed
            inputs[0][0]["parameters"]["shared_memory_byte_size"] = -1
            status, error = await client.infer(
                "simple" if datatype == "INT32" else "simple_string", inputs, outputs)
            assert status in (400, 429, 503), (status, error)
            inputs[0][0]["parameters"]["shared_memory_byte_size"] = len(rows[0])
    status, _, _ = await client.post("v2/cudasharedmemory/unregister")
    assert status == 200, status
    status, error = await client.infer("simple", inputs, outputs)
    assert status == 400 and "Unable to find shared memory region" in error, error


async def image_client(client):
    """As image_client.py: by the configuration, classes with their labels."""
    config = await client.get("v2/models/densenet_onnx/config")
    assert config["input"][0]["format"] == "FORMAT_NCHW", config
    assert [int(d) for d in config["input"][0]["dims"]] == [3, 224, 224], config
    pixels = np.linspace(-1, 1, 3 * 224 * 224, dtype=np.float32)
    sent = [tensor("data_0", "FP32", [3, 224, 224], pixels)]
    status, said = await client.infer("densenet_onnx", sent,
                                      parameters={"binary_data_output": True})
    assert status == 200 and said["fc6_1"][0]["shape"] == [1000], said
    scores = said["fc6_1"][1]
    best = np.argsort(-scores, kind="stable")[:3]
    for binary in (True, False):
        outputs = [{"name": "fc6_1", "parameters": {"classification": 3, "binary_data": binary}}]
        status, said = await client.infer("densenet_onnx", sent, outputs)
        head, texts = said["fc6_1"]
        assert head["shape"] == [3] and head["datatype"] == "BYTES", head
        assert [t.decode().split(":")[1:] for t in texts] == [
            [str(i), f"class {i}"] for i in best], texts
    outputs = [{"name": "OUTPUT0", "parameters": {"classification": 1}}]
    status, error = await client.infer("simple_string", pair("BYTES"), outputs)
    assert status == 400 and "has no classes" in error, error


async def memory_growth(client):
    row = np.arange(64)
    for _ in range(50):
        status, said = await client.infer(
            "custom_identity_int32", [tensor("INPUT0", "INT32", [1, 64], row)],
            parameters={"binary_data_output": True})
        assert (said["OUTPUT0"][1] == row).all(), said


def curl(path, body, *options):
    run = subprocess.run(["curl", "-sS", "-H", f"Authorization: Bearer {TOKEN}", *options,
                          "--data-binary", "@-", "-w", "\n%{http_code}", f"{URL}/{path}"],
                         input=body, stdout=subprocess.PIPE, check=True)
    said, _, status = run.stdout.rpartition(b"\n")
    return int(status), said


async def raw_requests(client):
    """A body that is the only input, and nothing else; by curl."""
    raw = ("-H", "Inference-Header-Content-Length: 0", "-H",
           "Content-Type: application/octet-stream")
    pixels = np.zeros(3 * 224 * 224, np.float32).tobytes()
    status, said = curl("v2/models/densenet_onnx/infer", pixels, *raw)
    assert status == 200 and b'"fc6_1"' in said, said
    status, said = curl("v2/models/densenet_onnx/infer", pixels[4:], *raw)
    assert status == 400 and b"FP32[3,224,224]" in said, said
    status, said = curl("v2/models/simple_identity/infer", b"one\0text", *raw)
    assert status == 200 and said.endswith(with_lengths([b"one\0text"])), said
    status, said = curl("v2/models/simple/infer", b"1234", *raw)
    assert status == 400 and b"a model of one input" in said, said


async def model_control(client):
    status, body, _ = await client.post("v2/repository/index")
    names = [model["name"] for model in json.loads(body)]
    assert status == 200 and {"simple", "simple_string", "densenet_onnx"} <= set(names), names

    async def load(name, **parameters):
        status, body, _ = await client.post(f"v2/repository/models/{name}/load",
                                            {"parameters": parameters})
        return status, json.loads(body or b"{}").get("error", "")
    assert await load("simple") == (200, "")
    status, error = await load("simple", config='"parameters": {"config": {{"max_batch_size": 8}}}')
    assert status == 400 and "failed to load" in error, (status, error)
    assert await load("simple", config='{"max_batch_size":"16"}') == (200, "")
    assert (await client.get("v2/models/simple/config"))["max_batch_size"] == 16
    status, _, _ = await client.post("v2/repository/models/simple/unload")
    assert status == 200, status
    status, _, _ = await client.call("GET", "v2/models/simple/ready")
    assert status == 503, status
    status, error = await load("wrong_model_name")
    assert status == 400 and "failed to load" in error, (status, error)
    assert await load("simple") == (200, "")


async def main():
    async with aiohttp.ClientSession(auto_decompress=True) as session:
        client = Client(session)
        for example in (health_metadata, infer, async_infer, string_infer, sequences,
                        shared_memory, image_client, memory_growth, raw_requests, model_control):
            await example(client)
            print(f"{example.__name__}: passed", flush=True)


if __name__ == "__main__":
    sys.stderr = sys.stdout  # which the test shows
    asyncio.run(main())
