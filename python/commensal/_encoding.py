# SPDX-License-Identifier: Apache-2.0
"""The canonical encoding of what is signed (docs/protocol.md), read strictly: one form a value."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ._tensors import DTYPES, Tensor
from .errors import ReceiptInvalid

T = TypeVar("T")

NOUN_BYTES_MAX = 1 << 20
_ITEMS_MAX = 1 << 16
_TEXT_BYTES_MAX = 1 << 12


class Reader:
    """Takes bytes apart; whatever an encoder would not have written is ReceiptInvalid."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data, self._at, self._what = data, 0, what

    def refuse(self, why: str) -> ReceiptInvalid:
        return ReceiptInvalid(f"{self._what}: {why}")

    def raw(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise self.refuse(f"it ends after {len(self._data)} bytes, expected more")
        self._at += size
        return self._data[self._at - size:self._at]

    def integer(self, width: int) -> int:
        return int.from_bytes(self.raw(width), "big")

    def enum(self, name: str, count: int) -> int:
        value = self.integer(1)
        if value >= count:
            raise self.refuse(f"{name} is {value}, at most {count - 1} is known")
        return value

    def text(self) -> str:
        size = self.integer(4)
        if size > _TEXT_BYTES_MAX:
            raise self.refuse(f"a text of {size} bytes, at most {_TEXT_BYTES_MAX} are accepted")
        try:
            return self.raw(size).decode()
        except UnicodeDecodeError:
            raise self.refuse("a text that is not UTF-8") from None

    def list_of(self, item: Callable[[Reader], T]) -> list[T]:
        count = self.integer(4)
        if count > _ITEMS_MAX:
            raise self.refuse(f"{count} items, at most {_ITEMS_MAX} are accepted")
        return [item(self) for _ in range(count)]

    def noun(self, kind: int, version: int) -> None:
        found = self.raw(2)
        if found != bytes((kind, version)):
            raise self.refuse(f"kind and version are {found[0]} and {found[1]}, expected {kind} "
                              f"and {version}: another version of the protocol, or something else")

    def at(self) -> int:
        return self._at

    def since(self, start: int) -> bytes:
        return self._data[start:self._at]

    def finish(self) -> None:
        if self._at != len(self._data):
            raise self.refuse(f"{len(self._data) - self._at} bytes too many")


@dataclass(frozen=True)
class Job:
    """What both sides have agreed on before the first step."""

    encoding: bytes
    kind: int  # 0: an answer, 1: a rollout
    graph_root: bytes
    weight_root: bytes
    numerics_version: int
    input_commitment: bytes
    steps: int
    client: bytes
    provider: bytes
    face_value: int
    noise: int
    noise_anchor: bytes
    valid_until_ms: int


@dataclass(frozen=True)
class BatchSignature:
    """One signature over many receipts, and the Merkle path from one of them."""

    signature: bytes
    index: int
    count: int
    path: list[bytes]


@dataclass(frozen=True)
class SignedReceipt:
    """A receipt, decoded; nothing of it has been checked."""

    job: Job
    step: int
    commitment: bytes
    round: int
    provider: BatchSignature
    client: BatchSignature


@dataclass(frozen=True)
class Opening:
    """What opens a receipt's commitments: inputs, outputs and salts."""

    job: Job
    step: int
    noise_value: bytes
    input_salt: bytes
    inputs: list[Tensor]
    before: SignedReceipt | None
    salt_before: bytes
    outputs_before: list[Tensor]
    output_salt: bytes
    outputs: list[Tensor]


def _check_feeds(reader: Reader, feeds: list[tuple[int, int]]) -> None:
    inputs = [into for _, into in feeds]
    if any(a >= b for a, b in zip(inputs, inputs[1:])):
        raise reader.refuse("feeds are not by ascending input")


def _read_job(reader: Reader) -> Job:
    start = reader.at()
    reader.noun(1, 4)
    kind = reader.enum("kind", 2)
    graph_root, weight_root = reader.raw(32), reader.raw(32)
    numerics_version, input_commitment = reader.integer(4), reader.raw(32)
    steps, client, provider = reader.integer(8), reader.raw(20), reader.raw(20)
    face_value = reader.integer(16)
    reader.raw(32)  # win_threshold
    reader.list_of(lambda r: r.raw(32))  # beacons
    noise, exponent, anchor = reader.enum("noise", 2), reader.integer(1), reader.raw(32)
    states = reader.enum("states", 3)
    _check_feeds(reader, reader.list_of(lambda r: (r.integer(4), r.integer(4))))
    auditors = reader.enum("auditors", 4)
    auditor_list = reader.list_of(lambda r: r.raw(20))
    valid_until_ms = reader.integer(8)
    reader.raw(32)  # draw_commitment
    if steps == 0:
        raise reader.refuse("steps is 0, expected 1 or more")
    if exponent > (100 if noise else 0) or (not noise and (any(anchor) or states == 2)):
        raise reader.refuse("noise, its exponent, its anchor and states contradict each other")
    if auditor_list and auditors != 2:
        raise reader.refuse("auditor_list is set, but auditors is not owner-list")
    return Job(reader.since(start), kind, graph_root, weight_root, numerics_version,
               input_commitment, steps, client, provider, face_value, noise, anchor,
               valid_until_ms)


def _read_batch_signature(reader: Reader) -> BatchSignature:
    reader.noun(3, 1)
    return BatchSignature(reader.raw(65), reader.integer(8), reader.integer(8),
                          reader.list_of(lambda r: r.raw(32)))


def _read_receipt(reader: Reader) -> SignedReceipt:
    reader.noun(4, 4)
    return SignedReceipt(_read_job(reader), reader.integer(8), reader.raw(32), reader.integer(8),
                         _read_batch_signature(reader), _read_batch_signature(reader))


def _read_tensor(reader: Reader) -> Tensor:
    name, number, rank = reader.text(), reader.integer(1), reader.integer(1)
    if number not in DTYPES:
        raise reader.refuse(f"'{name}' has the type {number}, which is none that is known")
    shape = tuple(reader.integer(8) for _ in range(rank))
    elements = reader.raw(reader.integer(8))
    try:
        return Tensor.of_bytes(name, DTYPES[number], shape, elements)
    except ValueError as error:
        raise reader.refuse(str(error)) from None


def decode_receipt(data: bytes) -> SignedReceipt:
    """Raises ReceiptInvalid."""
    if len(data) > NOUN_BYTES_MAX:
        raise ReceiptInvalid(f"receipt: {len(data)} bytes, at most {NOUN_BYTES_MAX} are accepted")
    reader = Reader(data, "receipt")
    made = _read_receipt(reader)
    reader.finish()
    return made


def decode_opening(data: bytes) -> Opening:
    """Raises ReceiptInvalid."""
    reader = Reader(data, "opening")
    version = reader.integer(1)
    if version != 1:
        raise reader.refuse(f"version {version}, expected 1")
    job, step, value = _read_job(reader), reader.integer(8), reader.raw(32)
    input_salt, inputs = reader.raw(32), reader.list_of(_read_tensor)
    before = _read_receipt(reader) if reader.enum("presence", 2) else None
    salt_before, outputs_before = reader.raw(32), reader.list_of(_read_tensor)
    made = Opening(job, step, value, input_salt, inputs, before, salt_before, outputs_before,
                   reader.raw(32), reader.list_of(_read_tensor))
    reader.finish()
    return made


def encode_body(job_id: bytes, step: int, commitment: bytes, draw_round: int) -> bytes:
    """What both sign of a step."""
    return (b"\x02\x02" + job_id + step.to_bytes(8, "big") + commitment
            + draw_round.to_bytes(8, "big"))
