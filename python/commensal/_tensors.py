# SPDX-License-Identifier: Apache-2.0
"""Tensors as they travel: a name, an element type, a shape and the elements' bytes."""
from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_RANK_MAX = 16
_ELEMENTS_MAX = 1 << 48


@dataclass(frozen=True)
class DType:
    """An element type: its number in ONNX, and its names there and in the Open Inference Protocol.
    What numpy lacks (bfloat16, 8 and 4 bits) is an array of its bits."""

    number: int
    name: str
    oip: str
    numpy: str  # "" for strings

    @property
    def array(self) -> str:
        """What numpy calls an array of it."""
        return np.dtype(self.numpy).name if self.numpy else "str or bytes"


_TABLE = [DType(*row) for row in (
    (1, "float32", "FP32", "<f4"), (2, "uint8", "UINT8", "|u1"), (3, "int8", "INT8", "|i1"),
    (4, "uint16", "UINT16", "<u2"), (5, "int16", "INT16", "<i2"), (6, "int32", "INT32", "<i4"),
    (7, "int64", "INT64", "<i8"), (8, "string", "BYTES", ""), (9, "bool", "BOOL", "|b1"),
    (10, "float16", "FP16", "<f2"), (11, "float64", "FP64", "<f8"),
    (12, "uint32", "UINT32", "<u4"), (13, "uint64", "UINT64", "<u8"),
    (16, "bfloat16", "BF16", "<u2"), (17, "float8e4m3fn", "FP8E4M3FN", "|u1"),
    (18, "float8e4m3fnuz", "FP8E4M3FNUZ", "|u1"), (19, "float8e5m2", "FP8E5M2", "|u1"),
    (20, "float8e5m2fnuz", "FP8E5M2FNUZ", "|u1"), (21, "uint4", "UINT4", "|u1"),
    (22, "int4", "INT4", "|u1"), (23, "float4e2m1", "FP4E2M1", "|u1"),
    (24, "float8e8m0", "FP8E8M0", "|u1"))]
DTYPES = {row.number: row for row in _TABLE}
BY_OIP = {row.oip: row for row in _TABLE}


def strings_of(elements: bytes, count: int) -> list[bytes]:
    """A length in four bytes, little-endian, before each. Raises ValueError.

    >>> strings_of(b"\\x02\\0\\0\\0hi\\0\\0\\0\\0", 2)
    [b'hi', b'']
    """
    found: list[bytes] = []
    at = 0
    while at < len(elements):
        if len(elements) - at < 4:
            raise ValueError(f"string {len(found)} is cut off")
        (size,) = struct.unpack_from("<I", elements, at)
        at += 4
        if size > len(elements) - at:
            raise ValueError(f"string {len(found)} is cut off")
        found.append(elements[at:at + size])
        at += size
    if len(found) != count:
        raise ValueError(f"{len(found)} strings, expected {count}")
    return found


@dataclass(frozen=True)
class Tensor:
    """Elements are little-endian and row-major; strings have their lengths before them."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    elements: bytes

    @classmethod
    def of_bytes(cls, name: str, dtype: DType, shape: tuple[int, ...], elements: bytes) -> Tensor:
        """Raises ValueError where the elements do not fill the shape."""
        count = math.prod(shape)
        if len(shape) > _RANK_MAX or min(shape, default=0) < 0 or (
                math.prod(dim or 1 for dim in shape) > _ELEMENTS_MAX):
            raise ValueError(f"'{name}': no tensor has the shape {list(shape)[:_RANK_MAX]}")
        if not dtype.numpy:
            strings_of(elements, count)
        elif len(elements) != count * np.dtype(dtype.numpy).itemsize:
            raise ValueError(f"'{name}': {len(elements)} bytes do not fill "
                             f"{dtype.name}{list(shape)}")
        return cls(name, dtype, shape, elements)

    @classmethod
    def of_array(cls, name: str, dtype: DType, array: Array) -> Tensor:
        """The array has the type that stands for dtype already."""
        if dtype.numpy:
            made = np.ascontiguousarray(array, dtype=dtype.numpy).tobytes()
        else:
            texts = [t if isinstance(t, bytes) else str(t).encode() for t in array.ravel().tolist()]
            made = b"".join(struct.pack("<I", len(t)) + t for t in texts)
        return cls(name, dtype, tuple(array.shape), made)

    def array(self) -> Array:
        """A copy; strings as objects, bytes each."""
        if self.dtype.numpy:
            flat = np.frombuffer(self.elements, self.dtype.numpy).copy()
            return flat.reshape(self.shape)
        texts = np.empty(math.prod(self.shape), dtype=object)
        texts[:] = strings_of(self.elements, texts.size)
        return texts.reshape(self.shape)
