# SPDX-License-Identifier: Apache-2.0
"""Pictures (PIL) into tensors, by the rules of `commensal infer` and to the same bits."""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._netpbm import decoded, is_netpbm
from ._tensors import Array
from .errors import WrongInput

_NETPBM_BYTES_MAX = 1 << 30
_RESIZES = ("refuse", "stretch", "crop", "pad")


@dataclass(frozen=True)
class Picture:
    """How pixels (0..255) become numbers: (value - mean) / scale, for each channel. `resize` is for
    a picture of other proportions than the model's: refuse, stretch, crop or pad it; `convert`
    makes grey of colour, or colour of grey: the options --image-* of `commensal infer`."""

    resize: str = "refuse"
    convert: bool = False
    mean: float | Sequence[float] = 0.0
    scale: float | Sequence[float] = 1.0


@dataclass(frozen=True)
class CardPicture:
    """The same as a model's card has it."""

    input: str  # "": the only one
    rule: Picture
    size: tuple[int, int] | None  # height, width, where the model leaves them free
    layout: str = "NCHW"  # or NHWC
    colour: str = ""  # RGB, BGR, gray; "": as many channels as the input has


@dataclass(frozen=True)
class Pixels:
    """A picture that needed no PIL."""

    planes: Array  # float32, channels first


def is_picture(x: object) -> bool:
    return isinstance(x, Pixels) or any(
        c.__module__.startswith("PIL.") and c.__name__ == "Image" for c in type(x).__mro__)


def _pixels(image: Any) -> Array:
    """float32, channels first: 1 of grey, 3 of colour."""
    if isinstance(image, Pixels):
        return image.planes
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode in ("P", "PA"):
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("LA", "RGBA"):
        values = np.asarray(image)
        if (values[..., -1] != 255).any():
            raise WrongInput("a picture with transparency, of which a model knows nothing: lay it "
                             "over a background, or drop it by image.convert('RGB')")
        values = values[..., :-1]
    elif image.mode in ("L", "RGB"):
        values = np.asarray(image)
    else:
        raise WrongInput(f"a picture of PIL's mode '{image.mode}', expected L or RGB: "
                         "image.convert('RGB')")
    values = values.reshape(*values.shape[:2], -1).astype(np.float32)
    return np.moveaxis(values, 2, 0)


def _taps(size: int, to: int) -> tuple[Array, Array, Array]:
    f = np.float32
    place = (np.arange(to, dtype=f) + f(0.5)) * (f(size) / f(to)) - f(0.5)
    held = np.clip(place, f(0), f(size - 1))
    low = held.astype(np.int64)
    return low, np.minimum(low + 1, size - 1), held - low.astype(f)


def _resized(planes: Array, height: int, width: int) -> Array:
    """Bilinear with half-pixel centres, in binary32."""
    if planes.shape[1:] == (height, width):
        return planes
    low, high, part = _taps(planes.shape[2], width)
    a, b = planes[:, :, low], planes[:, :, high]
    across = a + (b - a) * part
    low, high, part = _taps(planes.shape[1], height)
    a, b = across[:, low], across[:, high]
    return np.asarray(a + (b - a) * part[:, None])


def _fitted(height: int, width: int, box_height: int, box_width: int) -> tuple[int, int]:
    """The largest size of these proportions that fits into the box."""
    def rounded(dividend: int, divisor: int) -> int:
        return max(1, (dividend + divisor // 2) // divisor)

    if width * box_height > height * box_width:
        return min(box_height, rounded(box_width * height, width)), box_width
    return box_height, min(box_width, rounded(box_height * width, height))


def _sized(planes: Array, height: int, width: int, rule: Picture) -> Array:
    own_height, own_width = planes.shape[1:]
    off = abs(own_width * height - own_height * width)
    if rule.resize == "refuse" and 2 * off > max(width, height):
        raise WrongInput(f"the picture is {own_width} x {own_height}, the model wants {width} x "
                         f"{height}: picture=Picture(resize=...), one of stretch, crop, pad")
    if rule.resize == "crop":
        kept = _fitted(height, width, own_height, own_width)
        top, left = (own_height - kept[0]) // 2, (own_width - kept[1]) // 2
        planes = planes[:, top:top + kept[0], left:left + kept[1]]
    if rule.resize != "pad":
        return _resized(planes, height, width)
    kept = _fitted(own_height, own_width, height, width)
    made = np.zeros((len(planes), height, width), np.float32)
    top, left = (height - kept[0]) // 2, (width - kept[1]) // 2
    made[:, top:top + kept[0], left:left + kept[1]] = _resized(planes, *kept)
    return made


def _per_channel(name: str, given: float | Sequence[float], channels: int) -> Array:
    values = np.atleast_1d(np.asarray(given, np.float32))
    if values.shape not in ((1,), (3,)) or not np.isfinite(values).all():
        raise WrongInput(f"a picture's {name} is one number or three, R, G, B; found {given}")
    if name == "scale" and not values.all():
        raise WrongInput("a picture cannot be divided by 0")
    return np.broadcast_to(values, 3)[:channels, None, None]


def opened(path: str | os.PathLike[str]) -> Any:
    """The picture in a file."""
    try:
        with open(path, "rb") as file:
            if is_netpbm(file.read(2)):
                file.seek(0)
                return Pixels(decoded(file.read(_NETPBM_BYTES_MAX)))
    except (OSError, ValueError) as error:
        raise WrongInput(f"'{os.fspath(path)}': no picture can be read from it "
                         f"({getattr(error, 'strerror', None) or error})") from None
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise WrongInput(f"'{os.fspath(path)}': pictures need Pillow (Debian's python3-pil): "
                         "`pip install Pillow`, or give an array") from None
    try:
        with Image.open(path) as image:
            image.load()
            return image
    except UnidentifiedImageError:
        raise WrongInput(f"'{os.fspath(path)}' is no picture: expected JPEG, PNG, PGM or PPM; "
                         "arrays are given as arrays, np.load(...)") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise WrongInput(f"'{os.fspath(path)}': no picture can be read from it "
                         f"({getattr(error, 'strerror', None) or error})") from None


def picture_tensor(image: Any, shape: Sequence[int], signature: str, rule: Picture,
                   is_blue_first: bool = False) -> Array:
    """float32[1,C,H,W] for an input of this shape; where H and W are free, the picture's own. The
    rule's numbers are in the order of the input's channels."""
    fits = len(shape) == 4 and shape[0] in (1, -1) and shape[1] in (1, 3)
    if not fits:
        raise WrongInput(f"a picture fills float32[1,1|3,H,W], the model's input is {signature}: "
                         "make an array of it as the model wants it")
    if rule.resize not in _RESIZES:
        raise WrongInput(f"resize is '{rule.resize}', expected one of {', '.join(_RESIZES)}")
    planes, channels = _pixels(image), shape[1]
    if len(planes) != channels:
        if not rule.convert:
            found, wanted = ("grey", "colour") if channels == 3 else ("coloured", "grey")
            raise WrongInput(f"the picture is {found}, the model wants {wanted}: "
                             "picture=Picture(convert=True)")
        if channels == 3:
            planes = np.repeat(planes, 3, axis=0)
        else:
            f = np.float32
            planes = (f(0.299) * planes[0] + f(0.587) * planes[1] + f(0.114) * planes[2])[None]
    if is_blue_first:
        planes = planes[::-1]
    height = shape[2] if shape[2] > 0 else planes.shape[1]
    width = shape[3] if shape[3] > 0 else planes.shape[2]
    made = _sized(planes, height, width, rule) - _per_channel("mean", rule.mean, channels)
    return np.asarray(made / _per_channel("scale", rule.scale, channels))[None]


def card_tensor(image: Any, shape: Sequence[int], signature: str, card: CardPicture) -> Array:
    """The same by the rules of the model's card."""
    is_last = card.layout == "NHWC" and len(shape) == 4
    wanted = [shape[0], shape[3], shape[1], shape[2]] if is_last else list(shape)
    if card.size and len(wanted) == 4:
        wanted[2:] = [own if own > 0 else said for own, said in zip(wanted[2:], card.size)]
    if card.colour and len(wanted) == 4 and wanted[1] < 0:
        wanted[1] = 1 if card.colour == "gray" else 3
    made = picture_tensor(image, wanted, signature, card.rule, card.colour == "BGR")
    return np.ascontiguousarray(np.moveaxis(made, 1, 3) if is_last else made)
