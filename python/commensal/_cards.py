# SPDX-License-Identifier: Apache-2.0
"""What a model's owner says of it: its card, a Markdown file with YAML before it (README.md)."""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._pictures import CardPicture, Picture
from ._tensors import Array
from .errors import BadAnswer, RequestRefused, WrongInput

_CARD_BYTES_MAX = 64 << 10


@dataclass(frozen=True)
class CardOutput:
    """How an output is read."""

    name: str  # "": the only one
    softmax: bool
    top: int


@dataclass(frozen=True)
class Card:
    """A model's card; what it does not say is empty, or None. `text` is its Markdown without the
    front matter, `source` the whole file, `example` an input and a note about it; `problem`: why
    the card does not fit the newest version, if it does not."""

    model: str
    text: str
    source: str
    license: str
    parent: str
    task: str
    modality: str
    language: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    picture: CardPicture | None
    output: CardOutput | None
    example: tuple[str, str] | None
    problem: str

    def __repr__(self) -> str:
        said = {"task": self.task, "modality": self.modality, "license": self.license,
                "labels": len(self.labels) or ""}
        shown = ", ".join(f"{name} {what}" for name, what in said.items() if what)
        return f"Card({self.model}{': ' if shown else ''}{shown})"

    @classmethod
    def of_json(cls, said: Any) -> Card:
        """Raises BadAnswer."""
        try:
            card = said["card"]
            example = card.get("example")
            return cls(
                model=str(said["model"]), text=str(said.get("text") or ""),
                source=str(said.get("source") or ""), license=_text(card, "license"),
                parent=_text(card, "parent"), task=_text(card, "task"),
                modality=_text(card, "modality"), language=_texts(card, "language"),
                tags=_texts(card, "tags"), labels=_texts(card, "labels"),
                picture=_picture(card.get("picture")), output=_output(card.get("output")),
                example=(_text(example, "input"), _text(example, "text")) if example else None,
                problem=_text(said, "problem"))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadAnswer("the gateway's answer about the card makes no sense") from None


def _text(said: Any, key: str) -> str:
    found = said.get(key)
    return "" if found is None else str(found)


def _texts(said: Any, key: str) -> tuple[str, ...]:
    found = said.get(key)
    if isinstance(found, str):
        return (found,) if found else ()
    return tuple(str(one) for one in found or ())


def _numbers(found: Any, otherwise: float) -> Array:
    """One, or one for each channel, as the gateway's own arithmetic has them."""
    return np.asarray(otherwise if found is None or found == [] else found, np.float64)


def _picture(said: Any) -> CardPicture | None:
    """The card's (pixel / scale - mean) / std is (pixel - mean * scale) / (std * scale)."""
    if not said:
        return None
    size, scale = said.get("size"), float(said.get("scale") or 1)
    mean, std = (_numbers(said.get(key), no) * scale for key, no in (("mean", 0.0), ("std", 1.0)))
    colour = _text(said, "colour")
    rule = Picture(resize=_text(said, "resize") or "refuse", convert=bool(colour),
                   mean=mean.tolist(), scale=std.tolist())
    return CardPicture(_text(said, "input"), rule,
                       (int(size[0]), int(size[1])) if size else None,
                       _text(said, "layout") or "NCHW", colour)


def _output(said: Any) -> CardOutput | None:
    if not said:
        return None
    return CardOutput(_text(said, "name"), bool(said.get("softmax")), int(said.get("top_k") or 5))


def card_bytes(card: str | os.PathLike[str]) -> bytes:
    """Of a path, or of the card's own text, which has more than one line.

    >>> card_bytes("---\\nlicense: mit\\n---\\nReads digits.\\n")[:3]
    b'---'
    """
    if isinstance(card, str) and "\n" in card:
        data = card.encode()
    else:
        try:
            data = Path(card).read_bytes()
        except OSError as error:
            raise RequestRefused(f"no card at '{os.fspath(card)}' ({error.strerror}): expected the "
                                 "path of a Markdown file, or its text") from None
    if len(data) > _CARD_BYTES_MAX:
        raise RequestRefused(f"the card has {len(data)} bytes, at most {_CARD_BYTES_MAX} are kept")
    return data
