# SPDX-License-Identifier: Apache-2.0
"""PGM and PPM, plain or raw, with the numbers of the file whatever its white is: as the command
line reads them. PIL stretches them to 255."""
from __future__ import annotations

import re

import numpy as np

from ._tensors import Array

_SIDE_MAX = 1 << 14
_PIXELS_MAX = 1 << 26
_NUMBER = re.compile(rb"(?:[ \t-\r]|#[^\n]*)*([0-9]+)")


def is_netpbm(data: bytes) -> bool:
    return data[:2] in (b"P2", b"P3", b"P5", b"P6")


def _plain(text: bytes, count: int) -> Array:
    words = re.sub(rb"#[^\n]*", b"", text).split(None, count)[:count]
    if words:  # behind the last number anything may stand
        last = re.match(rb"[0-9]*", words[-1])
        words[-1] = last[0] if last else b""
    if len(words) < count or not all(word.isdigit() for word in words):
        raise ValueError("a pixel of the PGM or PPM is missing")
    if any(len(word) > 3 and len(word.lstrip(b"0")) > 3 for word in words):
        raise ValueError("a pixel of the PGM or PPM is brighter than its white")
    return np.array([int(word.lstrip(b"0") or b"0") for word in words], np.int64)


def decoded(data: bytes) -> Array:
    """float32, channels first, of what is_netpbm(). Raises ValueError."""
    at = 2
    head: list[int] = []
    while len(head) < 3:
        found = _NUMBER.match(data, at)
        if not found:
            break
        head.append(int(found[1]) if len(found[1]) <= 9 else 10**9)
        at = found.end()
    if len(head) < 3 or not 1 <= head[2] <= 255:
        raise ValueError("a PGM or PPM begins with its width, its height and its white, 1 to 255")
    width, height, white = head
    if not (1 <= width <= _SIDE_MAX and 1 <= height <= _SIDE_MAX and
            width * height <= _PIXELS_MAX):
        raise ValueError(f"an image of {width} x {height}, at most {_SIDE_MAX} a side and "
                         f"{_PIXELS_MAX} pixels are accepted")
    channels = 3 if data[1:2] in b"36" else 1
    count = width * height * channels
    if data[1:2] in b"23":
        values = _plain(data[at:], count)
    else:
        values = np.frombuffer(data[at + 1:at + 1 + count], np.uint8)
        if len(values) < count:
            raise ValueError("the PGM or PPM is cut short")
    if (values > white).any():
        raise ValueError("a pixel of the PGM or PPM is brighter than its white")
    return np.moveaxis(values.reshape(height, width, channels).astype(np.float32), 2, 0)
