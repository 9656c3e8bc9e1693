# SPDX-License-Identifier: Apache-2.0
"""PGM and PPM, plain or raw, with the numbers of the file whatever its white is: as the command
line reads them. PIL stretches them to 255."""
from __future__ import annotations

import re

import numpy as np

from ._tensors import Array

_SIDE_MAX = 1 << 14
_PIXELS_MAX = 1 << 26
_PIECE_BYTES = 1 << 16  # of plain numbers, which are lists of bytes for a while
_BLANKS = re.compile(rb"[ \t-\r]*")
_BLANK = re.compile(rb"[ \t-\r]")
_DIGITS = re.compile(rb"[0-9]+")


def is_netpbm(data: bytes) -> bool:
    return data[:2] in (b"P2", b"P3", b"P5", b"P6")


def _number(data: bytes, at: int) -> re.Match[bytes] | None:
    """The next one, after blanks and comments."""
    while True:
        blanks = _BLANKS.match(data, at)
        at = blanks.end() if blanks else at
        if data[at:at + 1] != b"#":
            return _DIGITS.match(data, at)
        at = data.find(b"\n", at)
        if at < 0:
            return None


def _values(words: list[bytes]) -> list[int]:
    if not all(word.isdigit() for word in words):
        raise ValueError("a pixel of the PGM or PPM is missing")
    plain = [word if len(word) <= 3 else word.lstrip(b"0") or b"0" for word in words]
    if any(len(word) > 3 or int(word) > 255 for word in plain):
        raise ValueError("a pixel of the PGM or PPM is brighter than its white")
    return [int(word) for word in plain]


def _plain(text: bytes, count: int) -> Array:
    if len(text) < 2 * count:  # a blank and a digit each
        raise ValueError("a pixel of the PGM or PPM is missing")
    text = re.sub(rb"#[^\n]*", b"", text)
    made = np.empty(count, np.uint8)
    done = at = 0
    while done < count:
        blank = _BLANK.search(text, at + _PIECE_BYTES)
        end = blank.start() if blank else len(text)
        words = text[at:end].split(None, count - done)[:count - done]
        if words and done + len(words) == count:  # behind the last number anything may stand
            last = _DIGITS.match(words[-1])
            words[-1] = last[0] if last else b""
        elif end == len(text):
            raise ValueError("a pixel of the PGM or PPM is missing")
        made[done:done + len(words)] = _values(words)
        done, at = done + len(words), end
    return made


def decoded(data: bytes) -> Array:
    """float32, channels first, of what is_netpbm(). Raises ValueError."""
    at = 2
    head: list[int] = []
    while len(head) < 3:
        found = _number(data, at)
        if not found:
            break
        head.append(int(found[0]) if len(found[0]) <= 9 else 10**9)
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
