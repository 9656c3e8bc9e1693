# SPDX-License-Identifier: Apache-2.0
"""The project's counter-based generator, vectorised: Philox4x32-10 as in base/core/rng.hpp.

symmetric_f32(seed, stream, count)[i] equals counter_symmetric_f32(seed, stream, i) bit for bit:
only integer arithmetic and exact conversions, so the values depend on no library.
Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
"""
import numpy as np

_CHUNK_BLOCKS = 1 << 18  # about 20 MB of temporaries
_LOW = np.uint64(0xFFFFFFFF)


def philox4x32(counter, key):
    """counter: four uint64 arrays of 32-bit words; key: two ints. Returns four uint64 arrays."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = c0 * np.uint64(0xD2511F53)
        p1 = c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = ((p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & _LOW,
                          (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & _LOW)
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def _words(seed, stream, first_block, blocks):
    block = np.arange(first_block, first_block + blocks, dtype=np.uint64)
    same = np.ones(blocks, np.uint64)
    counter = (block & _LOW, block >> np.uint64(32), same * np.uint64(stream & 0xFFFFFFFF),
               same * np.uint64(stream >> 32))
    return np.stack(philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32)), axis=1).ravel()


def symmetric_f32(seed, stream, count):
    """The first `count` elements of the stream: binary32 in [-1, 1), multiples of 2^-23."""
    out = np.empty(count, np.float32)
    for first in range(0, count, 4 * _CHUNK_BLOCKS):
        part = out[first:first + 4 * _CHUNK_BLOCKS]
        words = _words(seed, stream, first // 4, (len(part) + 3) // 4)[:len(part)]
        top = (words >> np.uint64(8)).astype(np.int32) - np.int32(1 << 23)
        part[:] = top.astype(np.float32) * np.float32(2.0 ** -23)
    return out


# Known answers of the Random123 distribution: counter, key, result.
_KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


def self_check():
    """Raises AssertionError unless the generator gives the known answers."""
    for counter, key, expected in _KNOWN:
        got = philox4x32([np.array([word], np.uint64) for word in counter], key)
        assert tuple(int(word[0]) for word in got) == expected, (counter, key)
    # Chunks join without a seam, and the words of a block keep their order.
    joined = symmetric_f32(7, 1 << 32, 4 * _CHUNK_BLOCKS + 6)[-6:]
    last = _words(7, 1 << 32, _CHUNK_BLOCKS, 2)[:6]
    assert np.array_equal(joined, ((last >> np.uint64(8)).astype(np.float64) - 2.0 ** 23) / 2 ** 23)
