# SPDX-License-Identifier: Apache-2.0
"""Ask a Commensal gateway for answers of neural networks, and check their receipts.

    import commensal
    answer = commensal.model("alice/digits").infer(x)
    answer.receipt.verify()

login() says where the gateway is and who asks; who does not call it is logged in by what the
command line uses too ($COMMENSAL_GATEWAY, $COMMENSAL_TOKEN, ~/.config/commensal/token). `aio` is
the same for asyncio, `receipts` checks receipts from files.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import aio, client, errors, receipts
from ._cards import Card
from ._pictures import Picture
from .client import Answer, Client, Model
from .errors import *  # noqa: F403
from .receipts import Checked, Receipt

__all__ = ["Answer", "Card", "Checked", "Client", "Model", "Picture", "Receipt", "aio", "explore",
           "login", "model", "push", "receipts", *errors.__all__]
__version__ = "0.1.0"

_default: Client | None = None


def login(url: str | None = None, token: str | None = None, *, pin: str | None = None,
          ca: str | None = None) -> Client:
    """As client.login(); model() and push() use it from here on."""
    global _default
    _default = client.login(url, token, pin=pin, ca=ca)
    return _default


def model(name: str, version: int | None = None) -> Model:
    """As Client.model(), of the gateway that login() named last."""
    return (_default or login()).model(name, version)


def explore(query: str = "", *, task: str = "", modality: str = "", sort: str = "name",
            count: int = 100) -> list[dict[str, Any]]:
    """As Client.explore(), likewise."""
    return (_default or login()).explore(query, task=task, modality=modality, sort=sort,
                                         count=count)


def push(path: str | os.PathLike[str], name: str | None = None, *, private: bool = False,
         allow: Sequence[str] = (), privacy_class: str = "",
         card: str | os.PathLike[str] | None = None) -> Model:
    """As Client.push(), likewise."""
    return (_default or login()).push(path, name, private=private, allow=allow,
                                      privacy_class=privacy_class, card=card)
