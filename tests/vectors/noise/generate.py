#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes noise.json beside itself, or with --check compares it: the noise of docs/verification.md.

An implementation of its own, from RFC 8439 and IEEE 754, with the Python standard library and exact
fractions only, so that the C++ is not compared with itself.
"""
import hashlib
import pathlib
import struct
import sys
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vector_files import keep  # noqa: E402

MASK = 0xFFFFFFFF


def quarter(s, a, b, c, d):
    for first, second, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[first] = (s[first] + s[second]) & MASK
        x = s[third] ^ s[first]
        s[third] = (x << turn | x >> (32 - turn)) & MASK


def block(key, tail):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key), *tail]
    s = list(start)
    for _ in range(10):
        for lanes in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                      (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(s, *lanes)
    return [(x + y) & MASK for x, y in zip(s, start)]


def words(seed, tensor, count):
    made = []
    while len(made) < count:
        number = len(made) // 16
        made += block(seed, [number & MASK, number >> 32, tensor, 0])
    return made[:count]


# Formats: digits of the significand (the hidden one included), least exponent, bits.
FORMATS = {"float32": (24, -126, 32), "float64": (53, -1022, 64), "float16": (11, -14, 16),
           "bfloat16": (8, -126, 16)}


def value_of(bits, name):
    """None where it is not finite."""
    digits, least, width = FORMATS[name]
    stored = digits - 1
    exponent = bits >> stored & (1 << width - digits) - 1
    part = bits & (1 << stored) - 1
    if exponent == (1 << width - digits) - 1:
        return None
    if exponent:
        part += 1 << stored
    value = Fraction(part) * Fraction(2) ** (least + max(exponent, 1) - 1 - stored)
    return -value if bits >> width - 1 else value


def rounded(value, name):
    """The bits of the nearest number, ties to even."""
    digits, least, width = FORMATS[name]
    if value == 0:
        return 0
    sign, value = (1 << width - 1 if value < 0 else 0), abs(value)
    exponent = least
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    scaled = value / Fraction(2) ** (exponent - digits + 1)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    bits = (exponent - least << digits - 1) + whole  # a carry moves into the exponent by itself
    return sign | min(bits, ((1 << width - digits) - 1) << digits - 1)


def unit(stream, j, name):
    if name == "float64":
        return Fraction((stream[2 * j + 1] << 32 | stream[2 * j]) >> 11) / 2**52 - 1
    return Fraction(stream[j] >> 8) / 2**23 - 1


def add(bits, noise, name):
    digits, _, width = FORMATS[name]
    value = value_of(bits, name)
    if value is None:
        if bits & (1 << digits - 1) - 1:  # the canonical NaN
            return ((1 << width - digits) - 1 << digits - 1) + (1 << digits - 2)
        return bits
    if name in ("float32", "float64"):
        return rounded(value + noise, name)
    single = value_of(rounded(value + noise, "float32"), "float32")
    return rounded(single, name)


def tagged(tag, *parts):
    return hashlib.sha256(bytes([len(tag)]) + tag.encode() + b"".join(parts)).digest()


SAMPLES = {
    "float32": [0, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x807FFFFF, 0x4B000001,
                0x7F7FFFFF, 0xFF800000, 0x7F800000, 0x7FC00001, 0xFF812345, 0x33800000, 0x3DCCCCCD],
    "float64": [0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000001, 1, 0x7FEFFFFFFFFFFFFF,
                0x7FF0000000000000, 0x7FF8000000000123, 0x3CA0000000000000, 0x4340000000000001],
    "float16": [0, 0x8000, 0x3C00, 0xBC00, 1, 0x83FF, 0x7BFF, 0x7C00, 0x7E01, 0x5801],
    "bfloat16": [0, 0x8000, 0x3F80, 0xBF80, 1, 0x7F7F, 0xFF80, 0x7FC1, 0x4301],
}


def vectors():
    key, job = hashlib.sha256(b"key").digest(), hashlib.sha256(b"job").digest()
    # v_8 is the key; v_(i-1) = H(v_i); v_0 stands in the job.
    values = [key]
    for _ in range(8):
        values.insert(0, tagged("commensal/chain/v1", values[0]))
    seeds = {str(i): tagged("commensal/noise-seed/v1", values[i], job, struct.pack(">Q", i))
             for i in range(1, 9)}
    seed = seeds["1"]
    cases = []
    for name, samples in SAMPLES.items():
        for exponent in (0, 7, 20, 100):
            for tensor in (0, 5):
                per = 2 if name == "float64" else 1
                stream = words(seed, tensor, per * len(samples))
                sums = [add(bits, unit(stream, j, name) / 2**exponent, name)
                        for j, bits in enumerate(samples)]
                width = FORMATS[name][2] // 4
                cases.append({"dtype": name, "tensor": tensor, "exponent": exponent,
                              "x": [f"{bits:0{width}x}" for bits in samples],
                              "sum": [f"{bits:0{width}x}" for bits in sums]})
    # Beyond one piece of the stream, of zeros: each sum is its noise.
    long = words(seed, 9, 5000)
    sums = b"".join(struct.pack("<I", rounded(unit(long, j, "float32") / 2**10, "float32"))
                    for j in range(5000))
    return {"key": key.hex(), "job": job.hex(), "anchor": values[0].hex(),
            "seeds": {i: made.hex() for i, made in seeds.items()},
            "words": [f"{word:08x}" for word in words(seed, 5, 18)], "cases": cases,
            "zeros": {"tensor": 9, "exponent": 10, "elements": 5000,
                      "sha256": hashlib.sha256(sums).hexdigest()}}


def main():
    # RFC 8439, section 2.3.2.
    tail = [1, 0x09000000, 0x4A000000, 0]
    assert block(bytes(range(32)), tail)[0] == 0xE4E7F110, "ChaCha20 is not RFC 8439's"
    keep(HERE, {"noise.json": vectors()})


if __name__ == "__main__":
    main()
