#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/fuzz/seeds anew: small inputs that the fuzz targets begin with.

Needs python3-onnx and cjpeg (libjpeg-turbo-progs); the seeds themselves are in the
repository, so that no test needs these. Those of `record` are values of random_part.hpp.
"""
import json
import random
import struct
import subprocess
import zipfile
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from seed_files import ROOT, SEEDS, put
from wire_seeds import (api_seeds, grpc_seeds, http_seeds, incoming_seeds, stream_seeds,
                        worker_seeds)


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=(), opset=13, domains=()):
    graph = helper.make_graph(nodes, "seed", inputs, outputs,
                              [numpy_helper.from_array(a, n) for n, a in constants])
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    made = helper.make_model(graph, opset_imports=opsets)
    made.ir_version = 8
    return made.SerializeToString()


def onnx_seeds():
    node = helper.make_node
    weights = numpy.arange(18, dtype=numpy.float32).reshape(2, 1, 3, 3)
    put("onnx", "conv", model(
        [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
         node("Flatten", ["r"], ["y"])],
        [info("x", ["N", 1, 4, 4])], [info("y", ["N", 32])], [("w", weights)]))
    put("onnx", "gemm", model(
        [node("Gemm", ["x", "w", "b"], ["g"], transB=1), node("Softmax", ["g"], ["y"], axis=1)],
        [info("x", [2, 3])], [info("y", [2, 4])],
        [("w", numpy.ones((4, 3), numpy.float32)), ("b", numpy.zeros(4, numpy.float32))]))
    put("onnx", "shapes", model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["d"]),
         node("Unsqueeze", ["d", "z"], ["u"]), node("Reshape", ["x", "u"], ["y"])],
        [info("x", [6])], [info("y", None)],
        [("i", numpy.array(0, numpy.int64)), ("z", numpy.array([0], numpy.int64))]))
    put("onnx", "constant", model(
        [node("Constant", [], ["c"], value=numpy_helper.from_array(numpy.ones(3, numpy.float32))),
         node("Add", ["x", "c"], ["y"])], [info("x", [3])], [info("y", [3])]))
    body = [helper.make_graph([node("Identity", ["x"], [f"o{i}"])], f"b{i}", [],
                              [info(f"o{i}", [2])]) for i in range(2)]
    put("onnx", "branch", model(
        [node("If", ["c"], ["y"], then_branch=body[0], else_branch=body[1])],
        [info("c", [], TensorProto.BOOL), info("x", [2])], [info("y", [2])]))
    loop = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Add", ["a", "x"], ["b"]),
         node("Identity", ["i"], ["row"])], "body",
        [info("i", [], TensorProto.INT64), info("go", [], TensorProto.BOOL), info("a", [2])],
        [info("on", [], TensorProto.BOOL), info("b", [2]), info("row", [], TensorProto.INT64)])
    put("onnx", "loop", model(
        [node("Loop", ["m", "", "x"], ["y", "rows"], body=loop)], [info("x", [2])],
        [info("y", [2]), info("rows", ["N"], TensorProto.INT64)],
        [("m", numpy.array(3, numpy.int64))]))
    scan = helper.make_graph(
        [node("Add", ["s", "r"], ["t"]), node("Identity", ["t"], ["o"])], "body",
        [info("s", [2]), info("r", [2])], [info("t", [2]), info("o", [2])])
    put("onnx", "scan", model(
        [node("Scan", ["x", "z"], ["y", "all"], body=scan, num_scan_inputs=1)],
        [info("x", [2]), info("z", [3, 2])], [info("y", [2]), info("all", [3, 2])]))
    put("onnx", "sequence", model(
        [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceAt", ["s", "i"], ["e"]),
         node("SequenceInsert", ["s", "e"], ["t"]),
         node("ConcatFromSequence", ["t"], ["y"], axis=0)],
        [info("x", [2])], [info("y", [6])], [("i", numpy.array(-1, numpy.int64))]))
    put("onnx", "old", model(
        [node("BatchNormalization", ["x", "a", "b", "m", "v"], ["y"], epsilon=1e-3)],
        [info("x", [1, 2, 2])], [info("y", [1, 2, 2])],
        [(n, numpy.ones(2, numpy.float32)) for n in "abmv"], opset=9))


def gradient_seeds():
    training = "ai.onnx.preview.training"

    def put_one(name, nodes, shape, constants=()):
        made = model(nodes, [info("x", shape)], [info("y", shape)], constants, 15, [training])
        put("onnx", name, made)

    def gradient(of, output):
        return helper.make_node("Gradient", ["x"], [output], domain=training, xs=["x"], y=of)

    node = helper.make_node
    put_one("gradient_resize", [node("Resize", ["x", "", "s"], ["r"]), gradient("r", "y")],
            [1, 1, 4], [("s", numpy.array([1, 1, 2], numpy.float32))])
    put_one("gradient_pool", [node("AveragePool", ["x"], ["p"], kernel_shape=[2]),
                              gradient("p", "y")], [1, 1, 4])
    put_one("gradient_twice", [node("Sin", ["x"], ["s"]), gradient("s", "c"), gradient("c", "y")],
            [3])
    put_one("gradient_slice", [node("Slice", ["x", "b", "e", "a", "t"], ["s"]),
                               gradient("s", "y")], [6],
            [(n, numpy.array([v], numpy.int64)) for n, v in zip("beat", (1, 6, 0, 2))])


def arrays():
    yield "f4", numpy.arange(6, dtype="<f4").reshape(2, 3)
    yield "f2", numpy.array([1, 0.5], "<f2")
    yield "i8", numpy.array(7, "<i8")
    yield "bool", numpy.array([[True], [False]])
    yield "empty", numpy.zeros((0, 3), "<f8")
    yield "fortran", numpy.asfortranarray(numpy.arange(6, dtype="<u2").reshape(2, 3))


def array_seeds():
    for name, array in arrays():
        path = SEEDS / "npy" / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        numpy.save(path, array)
        put("tensor_pb", name, numpy_helper.from_array(array, "t").SerializeToString())
        for kind, word in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
            (SEEDS / "npz").mkdir(exist_ok=True)
            with zipfile.ZipFile(SEEDS / "npz" / f"{name}-{word}", "w", kind) as archive:
                archive.writestr(zipfile.ZipInfo("x.npy"), path.read_bytes(), kind)
    for kind, field, values in ((TensorProto.FLOAT, "float_data", [1.0, 2.0]),
                                (TensorProto.INT64, "int64_data", [1, -2]),
                                (TensorProto.FLOAT16, "int32_data", [15360, 1]),
                                (TensorProto.DOUBLE, "double_data", [0.5, 1e300]),
                                (TensorProto.STRING, "string_data", [b"one", b"two"])):
        tensor = TensorProto(data_type=kind, dims=[2], name="t")
        getattr(tensor, field).extend(values)
        put("tensor_pb", field, tensor.SerializeToString())
    ones = [numpy.ones(2, numpy.float32), numpy.ones((1, 3), numpy.float32)]
    sequence = numpy_helper.from_list(ones, "s")
    put("tensor_pb", "sequence", sequence.SerializeToString())
    put("tensor_pb", "optional", numpy_helper.from_optional(ones, "o").SerializeToString())


def png(width, height, depth, colour, rows, extra=b""):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) +
            chunk(b"IEND", b""))


def picture_seeds():
    def row(count, step):
        return bytes(i * step % 256 for i in range(count))
    put("picture", "plain.pgm", b"P2\n# grey\n3 2\n16\n0 1 2\n3 4 16\n")
    put("picture", "raw.ppm", b"P6 2 1 255\nabcdef")
    put("picture", "grey.png", png(5, 3, 8, 0, [row(5, 40)] * 3))
    put("picture", "rgb.png", png(4, 2, 8, 2, [row(12, 20)] * 2))
    put("picture", "rgba.png", png(2, 2, 8, 6, [row(8, 30)] * 2))
    put("picture", "grey16.png", png(3, 1, 16, 0, [row(6, 41)]))
    put("picture", "bits.png", png(9, 2, 1, 0, [b"\xaa\x80"] * 2))
    palette = struct.pack(">I", 6) + b"PLTE" + b"\0\1\2\377\376\375"
    palette += struct.pack(">I", zlib.crc32(palette[4:]))
    put("picture", "palette.png", png(4, 1, 8, 3, [b"\0\1\1\0"], palette))
    ppm = b"P6 16 9 255\n" + row(16 * 9 * 3, 7)
    pgm = b"P5 8 8 255\n" + row(64, 11)
    for name, picture, options in (("rgb.jpg", ppm, []), ("progressive.jpg", ppm, ["-progressive"]),
                                   ("grey.jpg", pgm, ["-grayscale"]),
                                   ("full.jpg", ppm, ["-sample", "1x1", "-restart", "1"])):
        made = subprocess.run(["cjpeg", "-quality", "40", *options], input=picture,
                              capture_output=True, check=True)
        put("picture", name, made.stdout)


def noun_seeds():
    def vectors(kind):
        return json.loads((ROOT / f"tests/vectors/protocol/{kind}.json").read_text())

    def put_noun(name, byte, encoding):
        put("noun", name, bytes([byte]) + bytes.fromhex(encoding))
    for kind, byte in {"job": 0, "verdict": 4}.items():
        for i, vector in enumerate(vectors(kind)):
            put_noun(f"{kind}{i}", byte, vector["encoding"])
    for i, vector in enumerate(vectors("receipt")):
        put_noun(f"body{i}", 1, vector["bodies"][0])
        put_noun(f"receipt{i}", 3, vector["receipts"][0])
    beacon, ticket = vectors("beacon"), vectors("ticket")
    put_noun("head", 5, beacon["gateway_head"])
    put_noun("claim", 6, ticket["claim"]["encoding"])
    put_noun("endorsement", 7, ticket["endorsement"])
    put_noun("settlement", 8, ticket["settlement"])
    put_noun("statement", 9, vectors("statement")["statements"][0]["encoding"])


def rollout_seeds():
    def tensors(*items):
        return struct.pack(">I", len(items)) + b"".join(
            struct.pack(">I", len(name)) + name + struct.pack(">BBQ", 1, 1, len(data) // 4)
            + struct.pack(">Q", len(data)) + data for name, data in items)
    vectors = json.loads((ROOT / "tests/vectors/protocol/job.json").read_text())
    job = bytes.fromhex(vectors[1]["encoding"])
    digest, step = bytes(range(32)), struct.pack(">Q", 2)
    batch = b"\x03\x01" + bytes(65) + bytes(8) + struct.pack(">Q", 1) + bytes(4)
    receipt = b"\x04\x02" + job + bytes(7) + b"\1" + digest + step + batch * 2
    state = tensors((b"x", bytes(8)), (b"state", b"\0\0\x80\x3f"))
    task = job + step + digest * 2 + state + b"\1" + receipt + digest + state
    first = job + bytes(7) + b"\1" + digest * 2 + state + b"\0" + digest + tensors()
    put("rollout", "task", b"\0\1" + task + digest + state)
    put("rollout", "first", b"\0\1" + first + digest + state)
    put("rollout", "assignment", b"\3\1" + digest + struct.pack(">I", 3) + b"a/b"
        + struct.pack(">I", 1) + digest + first)
    put("rollout", "rollout", b"\1\1" + job + digest + state)
    put("rollout", "step", b"\2\1" + b"\2" + receipt + digest * 2 + state)
    of_root = struct.pack(">I", 1) + b"x" + struct.pack(">BBQI", 1, 1, 2, 0) + digest
    in_full = struct.pack(">I", 1) + b"y" + struct.pack(">BBQI", 1, 1, 1, 4) + bytes(36)
    put("rollout", "origin", b"\4\1" + digest * 2 + struct.pack(">I", 2) + of_root + in_full
        + b"\1" + receipt + digest + struct.pack(">I", 1) + in_full)


def ticket_seeds():
    # The state of a chain of 4 rounds at its beginning; a record; totals.
    def word(value):
        return struct.pack(">Q", value)
    digests = [bytes([i]) * 32 for i in range(5)]
    chain = digests[0] + word(0) + digests[0] + struct.pack(">I", 2)
    for level in (1, 2):
        chain += word(1 << level) + word(1 << level) + word(level) + digests[level]
    put("ticket", "hash_chain", b"\0" + chain)
    body = b"\x02\x02" + digests[1] + word(1) + digests[2] + word(7)
    record = (b"\4" + digests[0] + body + bytes(15) + b"\x64" + digests[3] + digests[4] + digests[0]
              + word(1000) + word(0) + bytes(16))
    put("ticket", "record", b"\1" + record)
    put("ticket", "totals", b"\2" + b"".join(map(word, range(8))) + bytes(48) + word(0))


def market_seeds():
    # Events of the risk desk; terms, moves and events of a panel. Signatures are of nobody.
    def word(value):
        return struct.pack(">Q", value)

    def joined(*nouns):
        return b"".join(struct.pack(">I", len(noun)) + noun for noun in nouns)

    def amount(value):
        return bytes(8) + word(value)

    def risk(number, at_ms, kind, count=0, outcome=0, units=0):
        return (b"\x30\1" + bytes(20) + word(number) + word(at_ms) + bytes([kind]) + word(count) +
                bytes([outcome]) + amount(units))
    events = [risk(0, 1000, 2, units=500), risk(1, 2000, 0, count=70), risk(2, 3000, 1),
              risk(3, 3000, 1, outcome=1), risk(4, 9000, 1, outcome=2), risk(5, 9000, 3, units=9)]
    put("market", "risk", b"\0" + events[3])
    put("market", "record", b"\5" + joined(*events))
    parties = [bytes([i]) * 20 for i in range(1, 8)]
    terms = (b"\x31\1" + bytes([9]) * 32 + word(0) + b"".join(parties[:3]) + struct.pack(">I", 4) +
             b"".join(parties[3:]) + word(2) + b"".join(map(amount, (1000, 300, 7, 20, 50))) +
             word(1000) * 6)
    move = b"\x32\1" + bytes([8]) * 32 + word(0) + b"\1\0" + bytes(32) + parties[0] + bytes(65)
    draw = b"\x33\1" + word(1) + bytes([7]) * 32

    def event(number, at_ms, kind, body=b""):
        return (b"\x34\1" + word(number) + word(at_ms) + word(0) + bytes([kind]) +
                struct.pack(">I", len(body)) + body)
    settlement = (ROOT / "tests/fuzz/seeds/noun/settlement").read_bytes()[1:]
    put("market", "terms", b"\1" + terms)
    put("market", "move", b"\2" + move)
    put("market", "draw", b"\3" + draw)
    put("market", "event", b"\4" + event(0, 5, 0, move))
    put("market", "case", b"\6" + joined(terms, event(0, 5, 0, move), event(0, 6, 1, draw),
                                         event(0, 7, 2, settlement), event(0, 1000, 3)))


def keystore_seeds():
    for path in (ROOT / "tests/vectors/keystore").glob("*.json"):
        put("keystore", path.stem, path.read_bytes())
    ethers = json.loads((ROOT / "tests/vectors/ethers.json").read_text())
    put("keystore", "ethers", ethers["keystores"][0]["text"].encode())


def ledger_seeds():
    vectors = json.loads((ROOT / "tests/vectors/ledger/transactions.json").read_text())
    for i, vector in enumerate(vectors):
        encoding = bytes.fromhex(vector["encoding"])
        put("ledger", f"transaction{i}", b"\0" + encoding)
        # An entry of it: sequence, time, transaction, no postings, hash of the one before.
        put("ledger", f"entry{i}",
            b"\1\x21\1" + bytes(7) + bytes([i]) + bytes(8) + encoding + bytes(4) + bytes(32))
    put("ledger", "head", b"\3" + bytes(40))
    # Bodies of one run, each after a byte that says who sends it (the operator is 1) and when.
    bodies = [bytes.fromhex(vector["body"]) for vector in vectors]
    put("ledger", "bodies", b"\4" + b"".join(bytes([1 + i % 3]) + b for i, b in enumerate(bodies)))
    put("ledger", "locks", b"\4" + b"".join(
        bytes([how]) + body for how, body in
        ((2, b"\3\4" + bytes(15) + b"\x64"), (2, b"\4\4" + bytes(15) + b"\x32"),
         (250, b"\2" + bytes(15) + b"\5"), (254, b"\5" + bytes(7) + b"\5"))))


def graph_seeds():
    dice = random.Random(7)
    for i in range(24):
        put("graph", f"{i:02}", bytes(dice.randrange(256) for _ in range(40 + 16 * i)))


def dispute_seeds():
    # Calls that an arbiter has programs for: a node's leaf, types, lists, which element. The other
    # seeds are made by commensal_verify_dispute_test (COMMENSAL_WRITE_SEEDS names their folder).
    def u32(value):
        return struct.pack(">I", value)

    def u64(value):
        return struct.pack(">Q", value & (2**64 - 1))

    def text(value):
        return u32(len(value)) + value.encode()

    def attribute(value):
        if isinstance(value, int):
            return b"\0" + u64(value)
        if isinstance(value, float):
            return b"\1" + struct.pack(">f", value)
        if isinstance(value, str):
            return b"\2" + text(value)
        return b"\3" + u32(len(value)) + b"".join(map(u64, value))

    def tensor(dtype, *dims):
        return bytes([dtype, len(dims)]) + b"".join(map(u64, dims))

    def call(file, op, opset, attributes, inputs, outputs, output, element, lists=()):
        node = text("") + text(op) + u32(opset) + u32(len(attributes))
        node += b"".join(text(name) + attribute(attributes[name]) for name in sorted(attributes))
        node += u32(len(inputs)) + b"".join(u32(1 + i) for i in range(len(inputs)))
        node += u32(len(outputs)) + b"".join(u32(100 + i) for i in range(len(outputs)))
        made = b"\x08" + u32(len(node)) + node + bytes([len(inputs), len(outputs)])
        for i, kind in enumerate(inputs):
            shown = dict(lists).get(i)
            made += kind + (b"\0" if shown is None else
                            bytes([1, len(shown)]) + b"".join(map(u64, shown)))
        put("dispute", file, made + b"".join(outputs) + bytes([output]) + u64(element))

    def floats(*dims):
        return tensor(1, *dims)

    call("winograd", "Conv", 17, {"pads": [1, 1, 1, 1]},
         [floats(1, 16, 14, 14), floats(8, 16, 3, 3), floats(8)], [floats(1, 8, 14, 14)], 0, 77)
    call("conv", "Conv", 17, {"strides": [2, 2], "group": 2, "auto_pad": "SAME_UPPER"},
         [floats(2, 4, 9, 9), floats(6, 2, 3, 3)], [floats(2, 6, 5, 5)], 0, 99)
    call("gemm", "Gemm", 13, {"transB": 1, "alpha": 0.5},
         [floats(3, 5), floats(7, 5), floats(7)], [floats(3, 7)], 0, 20)
    call("matmul", "MatMul", 13, {}, [tensor(7, 2, 1, 3, 4), tensor(7, 5, 4, 6)],
         [tensor(7, 2, 5, 3, 6)], 0, 100)
    call("softmax", "Softmax", 13, {"axis": 1}, [floats(2, 70, 3)], [floats(2, 70, 3)], 0, 5)
    call("pool", "AveragePool", 17,
         {"kernel_shape": [3, 2], "ceil_mode": 1, "count_include_pad": 1, "pads": [1, 0, 0, 1]},
         [floats(1, 2, 6, 7)], [floats(1, 2, 5, 7)], 0, 9)
    call("reduce", "ReduceMean", 18, {"keepdims": 0}, [floats(3, 40, 2), tensor(7, 1)],
         [floats(3, 2)], 0, 3, {1: [-2]})
    call("gather", "Gather", 13, {"axis": 1}, [floats(3, 9), tensor(7, 2)], [floats(3, 2)], 0, 5,
         {1: [-1, 4]})
    call("split", "Split", 13, {"axis": 1}, [floats(3, 9), tensor(7, 3)],
         [floats(3, 2), floats(3, 3)], 1, 5, {1: [2, 3, 4]})
    call("transpose", "Transpose", 13, {"perm": [2, 0, 1]}, [tensor(9, 3, 9, 2)],
         [tensor(9, 2, 3, 9)], 0, 53)
    call("norm", "LayerNormalization", 17, {"axis": -1},
         [floats(3, 33), floats(33), floats(33)], [floats(3, 33)], 0, 53)
    call("where", "Where", 16, {}, [tensor(9, 3, 1), floats(4), floats()], [floats(3, 4)], 0, 11)



def probe_seeds():
    folder = ROOT / "tests/vectors/probes"
    for kind, name in enumerate(("xmrig", "lolminer", "trex", "nbminer", "gminer", "excavator")):
        put("probe", name, bytes([kind]) + (folder / f"{name}.json").read_bytes())
    put("probe", "prometheus", b"\x06steps_total{job=\"train\"}\n"
        + (folder / "training.prom").read_bytes())
    put("probe", "stat", b"\x07" + (folder / "stat.txt").read_bytes())
    put("probe", "spec", b"\x08prometheus:http://token@[::1]:9100/metrics#a")


def card_seeds():
    put("card", "example", (ROOT / "examples/digits.md").read_bytes())
    put("card", "bare", b"# Digits\n\nReads ![x](y) *digits*. Well.\n")
    put("card", "list", b"---\nbase_model: [a/b]\nmodel-index:\n- name: x\n  results: [{task: "
        b"{type: y}}]\n---\nText\n")
    put("card", "alias", b"---\na: &a [x, x]\nb: [*a, *a]\n---\n")
    put("card", "quoted", b'---\nlicense: "a\\x41\\n"\ntags:\n- |\n  b\n- >-\n  c\n---\n')
    put("card", "lie", b"---\ncommensal: {picture: {input: x, mean: [0, 1, 2]}, "
        b"labels: [a]}\n---\n")


for make in (onnx_seeds, gradient_seeds, array_seeds, picture_seeds, noun_seeds, rollout_seeds,
             ticket_seeds, market_seeds, keystore_seeds, ledger_seeds, stream_seeds, http_seeds,
             grpc_seeds, incoming_seeds, api_seeds, graph_seeds, dispute_seeds, probe_seeds,
             worker_seeds, card_seeds):
    make()
