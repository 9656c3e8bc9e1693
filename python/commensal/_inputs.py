# SPDX-License-Identifier: Apache-2.0
"""What is given to a model, held against what it takes before anything is sent or paid."""
from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._pictures import CardPicture, Picture, card_tensor, is_picture, opened, picture_tensor
from ._tensors import BY_OIP, Array, DType, Tensor
from .errors import BadAnswer, WrongInput


RuleOf = Callable[[str], "Picture | CardPicture"]  # of the input of this name


@dataclass(frozen=True)
class Port:
    """An input or output of a model; -1 is a free dimension."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.dtype.name}[{','.join(map(str, self.shape))}]"

    @classmethod
    def of_json(cls, said: Any) -> Port:
        try:
            shape = tuple(int(dim) for dim in said["shape"])
            return cls(str(said["name"]), BY_OIP[said["datatype"]], shape)
        except (KeyError, TypeError, ValueError):
            raise BadAnswer("the gateway's answer about the model has an input or output of an "
                            "unknown type") from None


def signature_of(name: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    return f"{name}({', '.join(map(str, inputs))}) -> {', '.join(map(str, outputs))}"


def _from_plain(port: Port, x: Any, signature: str) -> Array:
    """Of Python's own numbers and texts, which have no type of the model's kind yet."""
    made = np.asarray(x)
    if made.dtype == object or not port.dtype.numpy:
        return made
    wanted = np.dtype(port.dtype.numpy)
    kinds = {"f": "biuf", "i": "biu", "u": "biu", "b": "b"}[wanted.kind]
    if made.dtype.kind not in kinds and made.size:
        raise WrongInput(f"input '{port.name}' takes {port.dtype.name}, found {made.dtype} in "
                         f"the list: {signature}")
    if wanted.kind in "iu" and made.size:
        limits = np.iinfo(wanted)
        if made.min() < limits.min or made.max() > limits.max:
            raise WrongInput(f"input '{port.name}': {made.min()} to {made.max()} do not fit into "
                             f"{port.dtype.name}")
    return made.astype(wanted)


def _check_type(port: Port, array: Array, signature: str) -> None:
    if not port.dtype.numpy:
        is_good = array.dtype.kind in "SU" or (
            array.dtype == object and all(isinstance(t, (str, bytes)) for t in array.flat))
    else:
        is_good = array.dtype.newbyteorder("=") == np.dtype(port.dtype.numpy)
    if not is_good:
        how = f"x.astype('{port.dtype.array}')" if port.dtype.numpy else "an array of str or bytes"
        bits = "" if port.dtype.array == port.dtype.name else f" (as its bits, {port.dtype.array})"
        raise WrongInput(f"input '{port.name}' takes {port.dtype.name}{bits}, found {array.dtype}: "
                         f"give {how}; the model is {signature}")


def _check_shape(port: Port, array: Array, signature: str) -> None:
    wanted, found = port.shape, array.shape
    if len(wanted) == len(found) and all(w in (-1, f) for w, f in zip(wanted, found)):
        return
    lacks_batch = len(wanted) == len(found) + 1 and wanted[0] in (-1, 1) and all(
        w in (-1, f) for w, f in zip(wanted[1:], found))
    hint = "; for one element of a batch give x[None]" if lacks_batch else ""
    raise WrongInput(f"input '{port.name}' takes the shape [{','.join(map(str, wanted))}], found "
                     f"[{','.join(map(str, found))}]{hint}; the model is {signature}")


def _tensor(port: Port, x: Any, signature: str, rule_of: RuleOf) -> Tensor:
    if isinstance(x, os.PathLike) or (isinstance(x, str) and port.dtype.numpy):
        x = opened(x)
    if is_picture(x):
        if port.dtype.name != "float32":
            raise WrongInput(f"a picture becomes float32, input '{port.name}' takes "
                             f"{port.dtype.name}: make an array of it; the model is {signature}")
        rule = rule_of(port.name)
        x = (card_tensor(x, port.shape, signature, rule) if isinstance(rule, CardPicture) else
             picture_tensor(x, port.shape, signature, rule))
    is_typed = isinstance(x, (np.ndarray, np.generic))
    array = np.asarray(x) if is_typed else _from_plain(port, x, signature)
    _check_type(port, array, signature)
    _check_shape(port, array, signature)
    return Tensor.of_array(port.name, port.dtype, array)


def tensors_of(x: Any, inputs: Sequence[Port], signature: str, rule_of: RuleOf) -> list[Tensor]:
    """Raises WrongInput."""
    if not isinstance(x, Mapping):
        if len(inputs) != 1:
            raise WrongInput(f"the model has {len(inputs)} inputs: give a dict of them by name; "
                             f"the model is {signature}")
        x = {inputs[0].name: x}
    by_name = {port.name: port for port in inputs}
    for name in x:
        if name not in by_name:
            near = difflib.get_close_matches(str(name), by_name, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise WrongInput(f"the model has no input '{name}'{hint}; the model is {signature}")
    return [_tensor(by_name[name], value, signature, rule_of) for name, value in x.items()]
