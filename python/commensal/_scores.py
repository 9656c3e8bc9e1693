# SPDX-License-Identifier: Apache-2.0
"""What an answer's numbers say by the model's card, as `commensal infer` reads them: row by row
along an output's last dimension."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ._cards import Card, CardOutput
from ._tensors import Array, Tensor
from .errors import WrongInput

Named = list[tuple[str, float]]
_UNREAD = ("float8", "float4", "int4")  # arrays of bits, which are in no order


class Scores:
    """Of one answer. Raises WrongInput where there is nothing to rank."""

    def __init__(self, outputs: Mapping[str, Tensor], card: Card | None) -> None:
        self._labels = card.labels if card else ()
        self._read = card.output if card and card.output else CardOutput("", False, 5)
        tensor = self._chosen(outputs)
        numbers = _numbers(tensor)
        if numbers is None or not numbers.size:
            raise WrongInput(f"no numbers to rank: '{tensor.name}' is {tensor.dtype.name}"
                             f"{list(tensor.shape)}")
        self._rows = numbers.reshape(-1, extent_of(tensor.shape, len(self._labels)))

    def _chosen(self, outputs: Mapping[str, Tensor]) -> Tensor:
        """What the card names, the only one, or the only one that its labels fit."""
        name, count = self._read.name, len(self._labels)
        if name and name not in outputs:
            raise WrongInput(f"the card reads the output '{name}', the answer has "
                             f"{', '.join(outputs)}: the card is of another version")
        found = [tensor for tensor in outputs.values() if tensor.name == name or not name]
        if len(found) > 1:
            found = [one for one in found if count and extent_of(one.shape, count) == count]
        if len(found) != 1:
            raise WrongInput(f"the model has the outputs {', '.join(outputs)}, and its card does "
                             "not say which to read: take one of answer.outputs")
        return found[0]

    def of_row(self, k: int | None, row: int | None) -> Named:
        """Of the only one, unless one is named."""
        rows = self._rows
        if row is None and len(rows) != 1:
            raise WrongInput(f"the answer has {len(rows)} rows: top(k, row=0) is of the first, "
                             "rows(k) of each")
        if row is not None and not 0 <= row < len(rows):
            raise WrongInput(f"row {row}, expected 0 to {len(rows) - 1}")
        return self._top(rows[row or 0], k)

    def of_rows(self, k: int | None) -> list[Named]:
        return [self._top(row, k) for row in self._rows]

    def _top(self, row: Array, k: int | None) -> Named:
        return top_of(row, self._labels, self._read.softmax, self._read.top if k is None else k)


def extent_of(shape: Sequence[int], labels: int) -> int:
    """How long a row is: the last dimension; those of 1 behind it do not count, but for a single
    label.

    >>> [extent_of(shape, 0) for shape in ((10,), (1, 10, 1, 1), (2, 3, 10), (1, 1), ())]
    [10, 10, 10, 1, 1]
    """
    rank = len(shape)
    while rank > 1 and shape[rank - 1] == 1 and labels != 1:
        rank -= 1
    return shape[rank - 1] if rank else 1


def _numbers(tensor: Tensor) -> Array | None:
    """None for what has no order."""
    if not tensor.dtype.numpy or tensor.dtype.name.startswith(_UNREAD):
        return None
    if tensor.dtype.name == "bfloat16":  # the upper half of a float32
        return (tensor.array().astype(np.uint32) << 16).view(np.float32)
    return tensor.array()


def top_of(row: Array, labels: Sequence[str], softmax: bool, count: int) -> Named:
    """The greatest elements of one row and what they are called, the greatest first; where several
    are equal, the first of them; what is no number counts as the least.

    >>> top_of(np.array([1.0, 3.0, 2.0]), ["cat", "dog", "owl"], False, 2)
    [('dog', 3.0), ('owl', 2.0)]
    """
    values = np.asarray(row).astype(np.float64)
    if count < 1:
        raise WrongInput(f"the top {count}, expected 1 or more")
    if labels and len(labels) != values.size:
        raise WrongInput(f"the card has {len(labels)} labels, a row of the output {values.size} "
                         "elements: the card is of another version of the model")
    rank = np.where(np.isnan(values), -np.inf, values)
    order = np.argsort(-rank, kind="stable")[:count]
    if softmax:
        with np.errstate(invalid="ignore"):
            powers = np.exp(rank - rank.max())
            values = powers / powers.sum()
    return [(labels[i] if labels else str(i), float(values[i])) for i in order]
