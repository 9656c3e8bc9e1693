#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes stream.json beside itself, or with --check compares it: a message of every kind that
provider and gateway say to each other, as generate.py would write it (not the C++)."""
import struct

from generate import (AUDITOR_KEY, CLIENT_KEY, HERE, PROVIDER_KEY, address, encode_batch_signature,
                      encode_job, h, hash_chain_head, jobs, keep, leaf, listed, u)
from statement import statement

INPUTS = [("x", 1, [2, 1], struct.pack("<2f", 1.5, -2)), ("flag", 9, [], b"\1"),
          ("none", 7, [0, 3], b"")]  # name, number of the type in ONNX, dimensions, elements


def text(value):
    return u(len(value.encode()), 4) + value.encode()


def tensors(items):
    return listed([text(name) + u(dtype, 1) + u(len(dims), 1) + b"".join(u(d, 8) for d in dims)
                   for name, dtype, dims, _ in items])


def error(code, message):  # its place in core::ErrorCode
    return u(code, 1) + text(message)


def to_provider():
    job = encode_job(jobs()[1])
    batch = encode_batch_signature(bytes(range(65)), 1, [leaf(b"a"), leaf(b"b")])
    position = hash_chain_head(CLIENT_KEY, h("anchor"), 64, 5) + u(9, 8) + h("revealed")
    challenge = h("nonce") + address(CLIENT_KEY) + bytes(range(65))
    yield "challenge", 64, challenge + b"\0", ()
    yield "challenge", 64, challenge + b"\1" + position, ()
    yield "welcome", 65, text("token"), ()
    yield "dismiss", 66, error(3, "a receipt did not hold"), ()
    offer = (job + h("model") + h("salt") + tensors(INPUTS) + u(17, 8) + h("value")
             + u(2**40 + 5, 8))
    yield "offer", 67, offer, INPUTS
    yield "begin", 68, h("job") + u(17, 8) + h("value"), ()
    yield "countersign", 69, listed([h("job") + u(17, 8) + batch] * 2), ()
    yield "withdraw", 70, listed([h("job"), h("job 2")]), ()
    yield "balance", 71, (address(AUDITOR_KEY) + u(3, 8) + u(2**127, 16) + u(4, 16) + u(5, 16)
                          + u(6, 8) + u(7, 8) + u(8, 16) + u(2**64, 16) + u(10, 16) + u(11, 8)
                          + b"\1"), ()
    yield "reveal", 72, u(2**32 + 7, 8) + h("value"), ()
    yield "outcomes", 73, listed([h("ticket") + text("pay") + u(7, 16),
                                  h("ticket 2") + text("slash") + u(0, 16)]), ()
    yield "accused", 74, (u(3, 4) + b"\1\2\3" + h("model") + u(2, 4) + b"\4\5"
                          + tensors(INPUTS[:1]) + tensors(INPUTS[1:2])), INPUTS[:2]
    yield "case moves", 75, (h("receipt") + address(AUDITOR_KEY) + text("contested") + u(5, 4)
                             + listed([b"\1" + u(2, 4) + b"\7\10", b"\0" + u(0, 4)])), ()
    yield "offer", 67, offer + u(1500, 4) + u(64, 4) + listed([u(4, 4), u(16, 4)]), INPUTS
    yield "welcome", 65, text("token") + text("0.1.2"), ()
    yield "prefetch", 76, h("model") + u(2**33 + 3, 8), ()
    yield "release", 77, listed([h("model"), h("model 2")]), ()


def to_gateway():
    batch = encode_batch_signature(bytes(range(65)), 1, [leaf(b"a"), leaf(b"b")])
    position = hash_chain_head(PROVIDER_KEY, h("anchor"), 64) + u(0, 8) + h("anchor")
    hello = (text("k\u00f6ln-1") + text("0.1.0") + address(PROVIDER_KEY) + bytes(range(65))
             + listed([h("model"), h("model 2")]) + u(4, 4))
    receipt = (b"\x04\x04" + encode_job(jobs()[0]) + u(1, 8) + h("commitment") + u(7, 8)
               + batch * 2)
    yield "hello", 80, hello + b"\1" + position + text(""), ()
    yield "hello", 80, hello + b"\0" + text("the signal is stale"), ()
    yield "load", 81, u(3, 4) + listed([h("model")]), ()
    yield "commit", 83, listed([h("job") + u(17, 8) + h("commitment") + u(7, 8) + batch]), ()
    yield "deliver", 84, h("job") + u(17, 8) + h("salt") + tensors(INPUTS[:1]), INPUTS[:1]
    yield "refuse", 85, h("job") + error(6, "queue full"), ()
    yield "claims", 86, listed([receipt + h("output root") + h("output salt")]), ()
    yield "transact", 87, u(3, 4) + b"\1\2\3", ()
    yield "reveal", 72, u(2**32 + 7, 8) + h("value"), ()
    yield "pause", 88, text("the host needs it"), ()
    yield "resume", 89, b"", ()
    yield "load", 81, u(3, 4) + listed([h("model")]) + u(2**40, 8), ()
    yield "statements", 90, listed([statement("medical", 5), statement("legal", 2**60)]), ()
    yield "released", 91, listed([h("model") + u(0, 8), h("model 2") + u(2**40, 8)]), ()
    host = b"\1" + text("sol") + struct.pack(">2d", 2.5, 3)
    yield "host now", 92, b"\0", ()
    yield "host now", 92, host + b"\0", ()
    yield "host now", 92, host + b"\1" + struct.pack(">d", 1e-3), ()


def main():
    vectors = [{"name": name, "to": to, "head": (bytes([kind, 1]) + fields).hex(),
                "tensors": [elements.hex() for _, _, _, elements in carried]}
               for to, messages in (("provider", to_provider()), ("gateway", to_gateway()))
               for name, kind, fields, carried in messages]
    keep(HERE, {"stream.json": vectors})


if __name__ == "__main__":
    main()
