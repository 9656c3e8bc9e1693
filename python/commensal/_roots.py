# SPDX-License-Identifier: Apache-2.0
"""Hashes that stand for tensors, states and steps (docs/protocol.md, "Roots")."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import sha256

from ._tensors import Tensor, strings_of

_LEAF_BYTES = 1024
_DEPTH_MAX = 40


def tagged(tag: str, *parts: bytes) -> bytes:
    return sha256(bytes([len(tag)]) + tag.encode() + b"".join(parts)).digest()


def leaf_hash(leaf: bytes) -> bytes:
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def merkle_root(leaf_hashes: Iterable[bytes]) -> bytes:
    """RFC 6962's, whose split at a power of two is that a node without a neighbour rises."""
    level = list(leaf_hashes)
    if not level:
        return sha256(b"").digest()
    while len(level) > 1:
        above = [node_hash(a, b) for a, b in zip(level[::2], level[1::2])]
        level = above + level[-1:] if len(level) % 2 else above
    return level[0]


def root_of_path(leaf: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes:
    """Where a leaf's hash and its path lead. Raises ValueError for a path of another length."""
    if count > 1 << _DEPTH_MAX or not 0 <= index < count:
        raise ValueError(f"Merkle path: leaf {index} of {count}")
    siblings, last, found = iter(path), count - 1, leaf
    try:
        while last > 0:
            if index % 2 == 1:
                found = node_hash(next(siblings), found)
            elif index < last:
                found = node_hash(found, next(siblings))
            index, last = index // 2, last // 2
    except StopIteration:
        raise ValueError(f"Merkle path: {len(path)} hashes are too few") from None
    if next(siblings, None) is not None:
        raise ValueError(f"Merkle path: {len(path)} hashes are too many")
    return found


def tensor_root(tensor: Tensor) -> bytes:
    elements = tensor.elements
    if not tensor.dtype.numpy:  # the protocol's lengths, not those of how strings travel
        texts = strings_of(elements, math.prod(tensor.shape))
        elements = b"".join(len(t).to_bytes(4, "big") + t for t in texts)
    header = bytes([tensor.dtype.number, len(tensor.shape)])
    header += b"".join(dim.to_bytes(8, "big") for dim in tensor.shape)
    leaves = (leaf_hash(elements[at:at + _LEAF_BYTES])
              for at in range(0, len(elements), _LEAF_BYTES))
    return tagged("commensal/tensor/v1", header, merkle_root(leaves))


def state_root(tensors: Sequence[Tensor]) -> bytes:
    """Names and roots, in the graph's order."""
    leaves = [leaf_hash(len(t.name.encode()).to_bytes(4, "big") + t.name.encode() + tensor_root(t))
              for t in tensors]
    return tagged("commensal/state/v1", len(leaves).to_bytes(8, "big"), merkle_root(leaves))


def commit_input(root: bytes, salt: bytes) -> bytes:
    return tagged("commensal/input/v1", root, salt)


def commit_step(job_id: bytes, step: int, root: bytes, salt: bytes) -> bytes:
    return tagged("commensal/step/v1", job_id, step.to_bytes(8, "big"), root, salt)


def hash_back(value: bytes, steps: int) -> bytes:
    """The value of a hash chain so many steps before."""
    for _ in range(steps):
        value = tagged("commensal/chain/v1", value)
    return value
