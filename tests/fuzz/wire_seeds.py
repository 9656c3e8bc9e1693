# SPDX-License-Identifier: Apache-2.0
"""Seeds of what comes off the wire, for make_seeds.py."""
import json
import struct
import zlib

from seed_files import ROOT, SEEDS, put


def stream_seeds():
    def part(field, data):  # of a protobuf message
        size, length = len(data), b""
        while size > 127:
            length, size = length + bytes([size % 128 + 128]), size // 128
        return bytes([field * 8 + 2]) + length + bytes([size]) + data
    vectors = json.loads((ROOT / "tests/vectors/protocol/stream.json").read_text())
    for i, vector in enumerate(vectors):
        frame = part(1, bytes.fromhex(vector["head"]))
        for elements in vector["tensors"]:
            frame += part(2, bytes.fromhex(elements))
        put("stream", f"{vector['name']}{i}", bytes([vector["to"] == "gateway"]) + frame)


def http_seeds():
    def request(body, fields=""):
        return (f"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n{fields}"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    one = b'{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2.5e0]}]}'
    put("http", "json", request(one))
    put("http", "many", request(
        b'{"id":"a\\u00e9","parameters":{"binary_data_output":true},"inputs":['
        b'{"name":"n","shape":[1,2],"datatype":"INT64","data":[[-1,9223372036854775807]]},'
        b'{"name":"b","shape":[2],"datatype":"BOOL","data":[true,false]}],'
        b'"outputs":[{"name":"y","parameters":{"binary_data":false}}]}'))
    head = (b'{"inputs":[{"name":"x","shape":[2],"datatype":"BF16",'
            b'"parameters":{"binary_data_size":4}}]}')
    put("http", "binary", request(head + b"\1\2\3\4",
                                  f"Inference-Header-Content-Length: {len(head)}\r\n"))
    rollout = (b'{"model":"a/m","steps":9,"feeds":[["y","x"]],"noise":12,"states":"movable",'
               b'"audit_probability":1e-2,"key":"k",' + head[1:])
    put("http", "rollout", request(rollout + b"\1\2\3\4",
                                   f"Inference-Header-Content-Length: {len(rollout)}\r\n"))
    put("http", "root", request(b'{"root":"' + b"7f" * 32 + b'"}'))
    put("http", "get", b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    chunk = f"{len(one):x}\r\n".encode() + one + b"\r\n0\r\n\r\n"
    put("http", "chunked", b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
        chunk)
    for name, window in (("gzip", 31), ("deflate", 15), ("raw", -15)):
        made = zlib.compressobj(wbits=window)
        put("http", "encoded_" + name, request(
            made.compress(one) + made.flush(),
            f"Content-Encoding: {'gzip' if name == 'gzip' else 'deflate'}\r\n"
            "Accept-Encoding: deflate;q=0.5, *;q=0.1\r\n"))
    put("http", "old", b"GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")


def grpc_seeds():
    """Requests of the gRPC face: fields of grpc_service.proto, by their numbers."""
    def varint(number):
        made = b""
        while number > 127:
            made, number = made + bytes([number % 128 + 128]), number // 128
        return made + bytes([number])

    def field(number, value):
        if isinstance(value, int):
            return varint(number * 8) + varint(value)
        return varint(number * 8 + 2) + varint(len(value)) + value

    def tensor(datatype, shape, contents=b"", parameters=b""):
        made = field(1, b"x") + field(2, datatype) + field(3, b"".join(map(varint, shape)))
        return field(5, made + parameters + (field(5, contents) if contents else b""))
    texts = struct.pack("<I", 3) + b"a\0b" + struct.pack("<I", 0)
    head = field(1, b"simple") + field(2, b"1") + field(3, b"id")
    raw = {
        "int32": head + tensor(b"INT32", [1, 2]) + field(7, struct.pack("<2i", 1, -1)),
        "bytes": head + tensor(b"BYTES", [2]) + field(7, texts),
        "explicit": head + tensor(b"BYTES", [2], field(8, b"a\0b") + field(8, b"")),
        "ints": head + tensor(b"INT8", [2], field(2, varint(1) + varint(127))),
        "sequence": field(4, field(1, b"sequence_id") + field(2, field(3, b"s"))) +
                    field(6, field(1, b"y") + field(2, field(1, b"classification") +
                                                    field(2, field(2, 3)))),
        "placed": tensor(b"FP32", [4], parameters=field(4, field(1, b"shared_memory_region") +
                                                        field(2, field(3, b"r")))),
    }
    for name, message in raw.items():
        put("grpc", name, b"\0" + message)
    put("grpc", "gzip", b"\1" + zlib.compress(raw["int32"], wbits=31))
    put("grpc", "deflate", b"\1" + zlib.compress(raw["bytes"]))


def incoming_seeds():
    """Where it is cut, then a call's messages: whether compressed, how long, what."""
    def message(content, flag=0):
        return struct.pack(">BI", flag, len(content)) + content

    def put_cut(name, wire, cuts=b"\2\0\5"):
        put("incoming", name, bytes([len(cuts)]) + cuts + wire)

    put_cut("messages", message(b"one") + message(b"") + message(b"three", 1))
    put_cut("long", message(bytes(range(256)) * 2) + message(b"x"), b"\xff\3")
    put_cut("unfinished", message(b"one") + message(b"four")[:-1])
    put_cut("head", message(b"one") + b"\0\0\0")
    put_cut("large", message(b"one") + b"\0\x7f\xff\xff\xff" + b"more")
    put_cut("neither", message(b"one") + b"\2\0\0\0\0", b"")


def api_seeds():
    def requests(*asked):
        made = b""
        for line, body in asked:
            made += line.encode() + b"\n" + len(body).to_bytes(2, "big") + body
        return made
    small = (SEEDS / "onnx" / "gemm").read_bytes()
    given = b'{"inputs":[{"name":"x","shape":[2,3],"datatype":"FP32","data":[1,2,3,4,5,6]}]}'
    push, infer = ("a PUT /v1/models/alice/m", small), ("a POST /v2/models/alice/m/infer", given)
    put("api", "infer", requests(push, infer, ("a GET /v1/receipts", b"")))
    put("api", "models", requests(
        push, push, ("x GET /v1/models?after=a", b""), ("x POST /v2/repository/index", b"{}"),
        ("x GET /v2/models/alice/m", b""), ("a GET /v1/models/alice/m/versions/1/content", b""),
        ("a DELETE /v1/models/alice/m", b"")))
    put("api", "accounts", requests(
        ("r POST /v1/accounts", b'{"name":"bob","role":"consumer"}'), ("r GET /v1/accounts", b""),
        ("r POST /v1/accounts/bob/token", b""), ("r DELETE /v1/accounts/bob", b"")))
    put("api", "tokens", requests(
        ("a POST /v1/account/tokens",
         b'{"label":"ci","scopes":["infer","models"],"expires_in_s":60}'),
        ("a GET /v1/account/tokens", b""), ("r DELETE /v1/accounts/alice/tokens/ci", b""),
        ("a DELETE /v1/account/tokens/default", b"")))
    put("api", "signup", requests(
        ("r POST /v1/invitations", b'{"label":"i","uses":2,"expires_in_s":9,"credit":"0"}'),
        ("r GET /v1/invitations", b""), ("x POST /v1/signup", b'{"name":"bob","code":"00"}'),
        ("x POST /v1/signup", b'{"name":"bob"}'), ("r DELETE /v1/invitations/i", b""),
        ("r GET /v1/audit-log?count=2&before=9", b"")))
    put("api", "grants", requests(
        ("a PUT /v1/models/alice/m?private=1", small),
        ("r PUT /v1/models/alice/m/accounts/root?content=1", b""),
        ("a GET /v1/models/alice/m/accounts", b""),
        ("a DELETE /v1/models/alice/m/accounts/root", b"")))
    put("api", "rollout", requests(push, (
        "a POST /v1/rollouts", b'{"model":"alice/m","steps":3,"feeds":[],' + given[1:]),
        ("a GET /v1/rollouts", b"")))
    put("api", "money", requests(
        ("r POST /v1/deposits", b'{"owner":"alice","amount":"5","reference":"r1"}'),
        ("a GET /v1/ledger", b""), ("a POST /v1/transactions", b""),
        ("a GET /v1/balances", b""), ("x GET /v1/tickets", b"")))
    put("api", "wrong", requests(("x POST /v2/models/m/infer 7", given), ("y BREW /v1/%00", b"")))


def worker_seeds():
    def message(kind, head, elements=b""):
        return struct.pack("<II", kind, len(head)) + head + elements

    def text(words):
        return struct.pack(">I", len(words)) + words
    u32, u64 = struct.Struct(">I").pack, struct.Struct(">Q").pack
    name = bytes(range(32))
    floats = b"\x01\x01" + u64(2)  # [2] of float32
    two = struct.pack("<2f", 1, -2.5)
    declared = b"\x01\x01" + u32(1) + u64(2**64 - 1) + u32(1) + text(b"N") + u32(0)
    face = text(b"m") + 2 * (u32(1) + text(b"x") + declared)
    # To the parent: its first byte is even.
    put("worker", "loaded", b"\0" + message(4, b"\0" + 2 * name + text(b"") + face))
    put("worker", "refused", b"\0" + message(4, b"\x01\x01" + text(b"no") + 2 * name +
                                               text(b"") + text(b"") + u32(0) + u32(0)))
    put("worker", "answer", b"\0" + message(5, b"\0" + u32(1) + floats, two) +
        message(5, b"\x01\x01" + text(b"no") + u32(0)))
    # Strings: how many bytes of them come is said before.
    strings = b"\x08\x01" + u64(2)
    for seed, size in (("strings", 11), ("strings_huge", 2**62)):
        put("worker", seed, b"\0" + message(5, b"\0" + u32(1) + strings,
                                            struct.pack("<Q", size) + struct.pack("<I", 3) +
                                            b"a\0b" + struct.pack("<I", 0)))
    put("worker", "packs", b"\0" + message(6, name + u64(0)) + message(7, name + u64(3), b"abc"))
    put("worker", "argued", b"\0" + message(9, b"\0" + name + b"\x01" + text(b"\x17\x01abc")) +
        message(9, b"\0" + name + b"\0") + message(9, b"\x01\x01" + text(b"no") + name + b"\0"))
    put("worker", "beyond", b"\xfe" + message(6, name + u64(0)))
    # To the worker.
    session = b"\0\0" + u32(1) + u64(1 << 30) + u64(1 << 20) + b"\x01"
    load = session + b"\x01" + u32(1) + u32(0) + u32(0) + u64(9) + u64(1 << 30)
    put("worker", "load", b"\x01" + message(1, load) + message(3, name + u64(7)))
    run = u32(1) + u64(1) + b"\x01" + name + u32(12) + u64(1 << 46)
    put("worker", "run", b"\x01" + message(2, run + b"\0" + u32(1) + u32(1) + floats, two))
    receipt = json.loads((ROOT / "tests/vectors/protocol/receipt.json").read_text())[0]
    setup = bytes.fromhex(receipt["receipts"][0]) + 3 * name + name[:20] + u64(60000)
    moves = u32(2) + b"\0" + text(b"\x17\x01abc") + b"\x01" + text(b"")
    put("worker", "argue", b"\x01" + message(8, u32(1) + u64(1 << 46) + setup + b"\0" + moves +
                                             u32(1) + floats, two))
