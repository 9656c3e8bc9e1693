# SPDX-License-Identifier: Apache-2.0
"""Who signed: Keccak-256, recovery of keys on secp256k1 (SEC 1, 4.1.6), and EIP-712.

Only what checks signatures: nothing here holds a secret, so it need not take constant time.

>>> keccak256(b"").hex()
'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'
"""
from __future__ import annotations

import struct
from functools import lru_cache

_MASK = (1 << 64) - 1
_RATE_BYTES = 136


def _round_constants() -> list[int]:
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            if register & 1:
                constant |= 1 << ((1 << j) - 1)
            register = (register << 1) ^ (0x171 if register >> 7 else 0)
        constants.append(constant)
    return constants


def _moves() -> list[tuple[int, int, int]]:
    """Rho and pi of Keccak: from, to, and the bits to rotate by; lane x + 5 y."""
    moves = [(0, 0, 0)]
    x, y = 1, 0
    for t in range(24):
        to_x, to_y = y, (2 * x + 3 * y) % 5
        moves.append((x + 5 * y, to_x + 5 * to_y, (t + 1) * (t + 2) // 2 % 64))
        x, y = to_x, to_y
    return moves


_CONSTANTS = _round_constants()
_MOVES = _moves()


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _permute(a: list[int]) -> list[int]:
    for constant in _CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[x - 1] ^ _rotate(c[(x + 1) % 5], 1) for x in range(5)]
        b = [0] * 25
        for source, to, bits in _MOVES:
            b[to] = _rotate(a[source] ^ d[source % 5], bits)
        a = [b[i] ^ (~b[i - i % 5 + (i + 1) % 5] & b[i - i % 5 + (i + 2) % 5]) & _MASK
             for i in range(25)]
        a[0] ^= constant
    return a


def keccak256(message: bytes) -> bytes:
    """The hash of Ethereum, which is not SHA3-256: other padding."""
    padded = bytearray(message) + b"\x01" + bytes(-(len(message) + 1) % _RATE_BYTES)
    padded[-1] |= 0x80
    state = [0] * 25
    for at in range(0, len(padded), _RATE_BYTES):
        for i, lane in enumerate(struct.unpack_from("<17Q", padded, at)):
            state[i] ^= lane
        state = _permute(state)
    return struct.pack("<4Q", *state[:4])


_P = 2**256 - 2**32 - 977
_N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
      0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)
_Point = tuple[int, int, int]  # Jacobian: x / z^2, y / z^3; z is 0 at infinity
_INFINITY = (0, 1, 0)


def _double(p: _Point) -> _Point:
    x, y, z = p
    if z == 0:
        return _INFINITY
    square = y * y % _P
    s = 4 * x * square % _P
    m = 3 * x * x % _P
    to_x = (m * m - 2 * s) % _P
    return to_x, (m * (s - to_x) - 8 * square * square) % _P, 2 * y * z % _P


def _add(p: _Point, q: _Point) -> _Point:
    if p[2] == 0:
        return q
    if q[2] == 0:
        return p
    pz2, qz2 = p[2] * p[2] % _P, q[2] * q[2] % _P
    u, v = p[0] * qz2 % _P, q[0] * pz2 % _P
    s, t = p[1] * qz2 * q[2] % _P, q[1] * pz2 * p[2] % _P
    if u == v:
        return _double(p) if s == t else _INFINITY
    h, r = v - u, t - s
    h2 = h * h % _P
    h3, w = h * h2 % _P, u * h2 % _P
    x = (r * r - h3 - 2 * w) % _P
    return x, (r * (w - x) - s * h3) % _P, h * p[2] * q[2] % _P


def _sum_of_products(a: int, p: _Point, b: int, q: _Point) -> _Point:
    """a p + b q, in one pass over the bits."""
    both = _add(p, q)
    total: _Point = _INFINITY
    for bit in range(255, -1, -1):
        total = _double(total)
        which = (a >> bit & 1) | (b >> bit & 1) << 1
        if which:
            total = _add(total, (p, q, both)[which - 1])
    return total


@lru_cache(maxsize=1024)  # the receipts of a batch share a signature
def recover(digest: bytes, signature: bytes) -> bytes:
    """Address of who signed: r, s, v of 32, 32, 1 bytes. Raises ValueError for what is no
    signature; of two forms of one only that with the lower s is."""
    if len(signature) != 65 or len(digest) != 32:
        raise ValueError("signature: expected 65 bytes over a digest of 32")
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    parity = signature[64] - 27
    if parity not in (0, 1):
        raise ValueError(f"signature: v is {signature[64]}, expected 27 or 28")
    if not 0 < r < _N or not 0 < s <= _N // 2:
        raise ValueError("signature: r or s is out of its range")
    square = (r * r * r + 7) % _P
    y = pow(square, (_P + 1) // 4, _P)
    if y * y % _P != square:
        raise ValueError("signature: no public key matches r")
    if y & 1 != parity:
        y = _P - y
    inverse = pow(r, -1, _N)
    number = int.from_bytes(digest, "big")
    x, y, z = _sum_of_products(-number * inverse % _N, (*_G, 1), s * inverse % _N, (r, y, 1))
    if z == 0:
        raise ValueError("signature: no public key matches it")
    back = pow(z, -1, _P)
    x, y = x * back * back % _P, y * back * back * back % _P
    return keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:]


def address_text(address: bytes) -> str:
    """0x... with the checksum of EIP-55.

    >>> address_text(bytes.fromhex("52908400098527886e0f7030069857d2e4169ee7"))
    '0x52908400098527886E0F7030069857D2E4169EE7'
    """
    text = address.hex()
    check = keccak256(text.encode()).hex()
    return "0x" + "".join(c.upper() if int(n, 16) >= 8 else c for c, n in zip(text, check))


def _struct_hash(kind: str, *words: bytes) -> bytes:
    return keccak256(keccak256(kind.encode()) + b"".join(words))


def batch_digest(role: str, root: bytes, count: int, chain_id: int = 0) -> bytes:
    """What is signed of a batch of receipts: ReceiptBatch of EIP-712."""
    domain = _struct_hash("EIP712Domain(string name,string version,uint256 chainId)",
                          keccak256(b"Commensal"), keccak256(b"1"), chain_id.to_bytes(32, "big"))
    message = _struct_hash("ReceiptBatch(string role,bytes32 root,uint64 count)",
                           keccak256(role.encode()), root, count.to_bytes(32, "big"))
    return keccak256(b"\x19\x01" + domain + message)
