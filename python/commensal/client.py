# SPDX-License-Identifier: Apache-2.0
"""A gateway, its models and their answers."""
from __future__ import annotations

import difflib
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

from ._batches import Progress, in_order
from ._cards import Card, card_bytes
from ._inputs import Port, signature_of, tensors_of
from ._pictures import CardPicture, Picture
from ._scores import Scores
from ._tensors import BY_OIP, Array, Tensor
from ._transport import Response, Transport, one_line
from ._trust import DEFAULT_GATEWAY, Trust, find_token, parse_url
from ._uploads import push_file
from .errors import BadAnswer, CommensalError, NotFound, RequestRefused, UnknownModel, WrongInput
from .receipts import Expected, Receipt, receipt_bytes

__all__ = ["Answer", "Client", "Model", "login"]

_PAGES_MAX = 32
_SORTS = ("name", "newest", "used")


class Answer:
    """What a model said, and the receipt for it."""

    def __init__(self, model: Model, tensors: list[Tensor], provider: str, receipt: Receipt,
                 privacy_class: str = "") -> None:
        self.model, self.version, self.provider = model.name, model.version, provider
        self.receipt, self._model = receipt, model
        self.privacy_class = privacy_class  # that the gateway placed it by; "": by none
        self.outputs: dict[str, Array] = {t.name: t.array() for t in tensors}
        self._tensors = {t.name: t for t in tensors}

    @property
    def output(self) -> Array:
        """The only one."""
        if len(self.outputs) != 1:
            raise WrongInput(f"the model has the outputs {', '.join(self.outputs)}: take one of "
                             "answer.outputs")
        return next(iter(self.outputs.values()))

    def names(self, row: int | None = None) -> list[tuple[str, float]]:
        """What the model says that it is, with scores, the greatest first: as many as the model's
        card says, or 5."""
        return self._scores().of_row(None, row)

    def top(self, k: int, row: int | None = None) -> list[tuple[str, float]]:
        """The k greatest elements of the output that the card reads (or the only one), by the
        card's labels, or their places where it has none, with their shares of the row where it
        says softmax, else their values. `row`: of an output with several."""
        return self._scores().of_row(k, row)

    def rows(self, k: int | None = None) -> list[list[tuple[str, float]]]:
        """As top(k), or names(), of each row: of what lies along the output's last dimension
        (dimensions of 1 behind it do not count), in the order of its elements."""
        return self._scores().of_rows(k)

    def _scores(self) -> Scores:
        return Scores(self._tensors, self._model._card_if_usable())

    def __repr__(self) -> str:
        shapes = ", ".join(f"{n} {a.dtype}{list(a.shape)}" for n, a in self.outputs.items())
        return f"Answer({self.model} version {self.version}: {shapes})"


class Model:
    """A version of a model: the newest when it was asked for, unless it was named."""

    def __init__(self, client: Client, info: dict[str, Any], ports: dict[str, Any]) -> None:
        self._client = client
        try:
            self.name, self.version = str(info["name"]), int(info["version"])
            self.sha256 = str(info["sha256"])
            self._card: Card | None = None
            self._has_card: bool | None = None  # None: not asked yet
            self._left_out = ""  # why it is, as was said
            self._asking = Lock()
            self._roots = str(info["graph_root"]), str(info["weight_root"])
            self.inputs = [Port.of_json(port) for port in ports["inputs"]]
            self.outputs = [Port.of_json(port) for port in ports["outputs"]]
        except (KeyError, TypeError, ValueError):
            raise BadAnswer("the gateway's answer about the model makes no sense") from None

    @property
    def signature(self) -> str:
        return signature_of(self.name, self.inputs, self.outputs)

    def __repr__(self) -> str:
        return f"Model({self.signature}, version {self.version})"

    def card(self) -> Card:
        """What its owner says of it now. Raises NotFound where it has none."""
        try:
            said = self._client._transport.call("GET", f"/v1/models/{quote(self.name)}/card").json()
        except NotFound as error:
            self._card, self._has_card = None, False
            raise NotFound(f"{self.name} has no card ({error}): its owner gives it one by "
                           "model.set_card(path), or push(..., card=path)") from None
        self._card, self._has_card = Card.of_json(said), True
        return self._card

    def set_card(self, card: str | os.PathLike[str]) -> Card:
        """Gives it a card, by its path or its text, for all versions, in place of the one before.
        One that says of inputs or outputs what is not so is refused."""
        self._client._put_card(self.name, card_bytes(card))
        return self.card()

    def _card_if_usable(self) -> Card | None:
        """As it was when it was first asked for. One that does not fit is left out, as the command
        line does, with a warning."""
        with self._asking:
            if self._has_card is None:
                with suppress(NotFound):
                    self.card()
            card = self._card
            if card is None or not card.problem:
                return card
            if card.problem != self._left_out:
                warnings.warn(f"{self.name}: its card is left out: {one_line(card.problem)}",
                              stacklevel=2)
                self._left_out = card.problem
            return None

    def _rule_of(self, picture: Picture | None, name: str) -> Picture | CardPicture:
        if picture is not None:
            return picture
        card = self._card_if_usable()
        if card and card.picture and card.picture.input in ("", name):
            return card.picture
        return Picture()

    def infer(self, x: Any, *, timeout_s: float | None = None, picture: Picture | None = None,
              privacy_class: str | None = None) -> Answer:
        """`x`: an array, a picture (PIL) or the path of one, for a model of one input; a dict of
        them by name for any. A picture becomes numbers by `picture`, else by the model's card.
        After `timeout_s` the gateway gives up, which may still cost. `privacy_class`: of the
        inputs, which only providers that an auditor has vouched for may see."""
        tensors = tensors_of(x, self.inputs, self.signature,
                             lambda name: self._rule_of(picture, name))
        return self._client._infer(self, tensors, timeout_s, privacy_class)

    def infer_many(self, inputs: Iterable[Any], *, at_once: int = 8,
                   progress: Progress = False, patience_s: float = 60.0,
                   picture: Picture | None = None,
                   privacy_class: str | None = None) -> Iterator[Answer]:
        """Answers in the order of the inputs, which are taken as they are needed; so many requests
        are under way at a time. `progress`: True, a line on a terminal; or a function of how many
        are done and of how many (None: unknown). A gateway that is busy is asked again for
        `patience_s`."""
        return in_order(lambda x: self.infer(x, picture=picture, privacy_class=privacy_class),
                        inputs, at_once, progress, patience_s)


class Client:
    """One gateway, one account. Thread-safety: any thread."""

    def __init__(self, transport: Transport, account: dict[str, Any]) -> None:
        self._transport = transport
        self.account = str(account.get("name", ""))

    def __repr__(self) -> str:
        return f"Client({self._transport.place}, account {self.account})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Drops idle connections; the next request makes a new one."""
        self._transport.close()

    def _full_name(self, name: str) -> str:
        parts = name.split("/")
        if len(parts) > 2 or not all(parts):
            raise RequestRefused(f"a model's name is OWNER/MODEL or, of one's own, MODEL; found "
                                 f"'{name}'")
        return name if len(parts) == 2 else f"{self.account}/{name}"

    def models(self) -> list[dict[str, Any]]:
        """All that this account may see, as the gateway's JSON has them."""
        found: list[dict[str, Any]] = []
        after = ""
        for _ in range(_PAGES_MAX):
            page = self._transport.call("GET", f"/v1/models?after={quote(after, safe='')}").json()
            if not isinstance(page, dict) or not page.get("models"):
                break
            found += page["models"]
            after = str(found[-1].get("name", ""))
        return found

    def model(self, name: str, version: int | None = None) -> Model:
        """By OWNER/MODEL[:VERSION] or, of one's own, MODEL[:VERSION]. Raises UnknownModel, which
        names similar ones."""
        name, version = _of_version(name, version)
        full = self._full_name(name)
        target = f"models/{quote(full)}"
        try:
            info = self._transport.call("GET", "/v1/" + target + (
                f"/versions/{version}" if version is not None else "")).json()
        except NotFound as error:
            raise UnknownModel(f"{error}{self._hint(full)}") from None
        if not isinstance(info, dict):
            raise BadAnswer("the gateway's answer about the model makes no sense")
        ports = self._transport.call("GET", f"/v2/{target}/versions/{info.get('version')}").json()
        return Model(self, info, ports)

    def _hint(self, full: str) -> str:
        """Who can mistype the owner, or leave it out, is told so too."""
        try:
            names = [str(info.get("name")) for info in self.models()]
        except CommensalError:
            return ""
        wanted = full.split("/")[-1]
        near = [n for n in names if n.split("/")[-1] == wanted]
        near += [n for n in difflib.get_close_matches(full, names, 3, 0.6) if n not in near]
        if full in near:
            return ""
        return f"; did you mean {' or '.join(near[:3])}?" if near else (
            "; client.models() lists those that there are")

    def explore(self, query: str = "", *, task: str = "", modality: str = "",
                sort: str = "name", count: int = 100) -> list[dict[str, Any]]:
        """Models by words of their names and cards, as the gateway's JSON has them: `count` at
        most. `task` such as image-classification; `modality`: image, text, audio, tabular, other;
        `sort`: name, newest or used."""
        if sort not in _SORTS:
            raise RequestRefused(f"sort is '{sort}', expected one of {', '.join(_SORTS)}")
        asked = {"query": query, "task": task, "modality": modality, "sort": sort}
        found: list[dict[str, Any]] = []
        after = ""
        while len(found) < count:
            part = {**asked, "count": str(min(100, count - len(found))), "after": after}
            said = self._transport.call("GET", "/v1/explore?" + urlencode(
                {key: text for key, text in part.items() if text}, quote_via=quote)).json()
            if not isinstance(said, dict) or not isinstance(said.get("models"), list):
                raise BadAnswer("the gateway's list of models makes no sense")
            found += said["models"]
            before, after = after, str(said.get("next") or "")
            if not said["models"] or after in ("", before):
                break
        return found[:count]

    def push(self, path: str | os.PathLike[str], name: str | None = None, *, private: bool = False,
             allow: Sequence[str] = (), privacy_class: str = "",
             card: str | os.PathLike[str] | None = None) -> Model:
        """Gives the gateway an ONNX file to serve: a new model, or the next version of it.
        `allow`: addresses of the providers that may run a private one. `privacy_class`: of the
        inputs, from this version on; "": as the version before. `card`: a path, or the text.
        A file over 8 MiB goes in parts: what broke off goes on where it was by the same call."""
        full = self._full_name(name if name is not None else Path(path).stem)
        if allow and not private:
            raise RequestRefused("allow is for private models: push(..., private=True)")
        text = card_bytes(card) if card is not None else None
        said = {"private": "1"} if private else {}
        said |= {"allow": ",".join(allow)} if allow else {}
        said |= {"privacy_class": privacy_class} if privacy_class else {}
        info, digest = push_file(self._transport, Path(path), full, said)
        if not isinstance(info, dict) or info.get("sha256") != digest:
            raise BadAnswer("the gateway has another file than was sent: push it again")
        if text is not None:
            try:
                self._put_card(full, text)
            except CommensalError as error:
                error.add_note(f"the model itself is there, as version {info.get('version')} of "
                               f"{full}: model.set_card(path) gives it another card")
                raise
        return self.model(full, int(info["version"]))

    def _put_card(self, full: str, text: bytes) -> None:
        self._transport.call("PUT", f"/v1/models/{quote(full)}/card", text,
                             {"Content-Type": "text/markdown; charset=utf-8"})

    def receipt(self, id: str) -> Receipt:
        """One of this account's, by its id."""
        return Receipt(id, lambda what: self._fetch(id, what))

    def receipts(self, count: int = 20) -> list[dict[str, Any]]:
        """The newest, as the gateway's JSON has them."""
        said = self._transport.call("GET", f"/v1/receipts?count={count}").json()
        found = said.get("receipts") if isinstance(said, dict) else None
        if not isinstance(found, list):
            raise BadAnswer("the gateway's list of receipts makes no sense")
        return found

    def _fetch(self, id: str, what: str) -> bytes:
        target = f"/v1/receipts/{quote(id, safe='')}"
        if what == "opening":
            return self._transport.call("GET", target + "/opening").body
        return receipt_bytes(self._transport.call("GET", target).json())

    def _infer(self, model: Model, tensors: list[Tensor], timeout_s: float | None,
               privacy_class: str | None) -> Answer:
        parameters: dict[str, Any] = {"binary_data_output": True}
        if timeout_s is not None:
            parameters["timeout"] = max(1, round(timeout_s * 1e6))
        if privacy_class is not None:
            parameters["privacy_class"] = privacy_class
        head = json.dumps({"parameters": parameters, "inputs": [
            {"name": t.name, "shape": t.shape, "datatype": t.dtype.oip,
             "parameters": {"binary_data_size": len(t.elements)}} for t in tensors]}).encode()
        response = self._transport.call(
            "POST", f"/v2/models/{quote(model.name)}/versions/{model.version}/infer",
            head + b"".join(t.elements for t in tensors),
            {"Content-Type": "application/octet-stream",
             "Inference-Header-Content-Length": str(len(head))})
        said, outputs = _read_answer(response)
        provider, id = str(said.get("commensal_provider", "")), str(said.get("commensal_receipt"))
        placed_by = str(said.get("privacy_class", ""))
        if privacy_class is not None and placed_by != privacy_class:
            raise BadAnswer(f"the gateway knows nothing of the privacy class '{privacy_class}': "
                            f"any provider may have seen the inputs; the answer's receipt is {id}")
        expected = Expected(provider, model._roots, tuple(tensors), tuple(outputs))
        receipt = Receipt(id, lambda what: self._fetch(id, what), expected)
        return Answer(model, outputs, provider, receipt, placed_by)


def _of_version(name: str, version: int | None) -> tuple[str, int | None]:
    """A name with ':' and a number behind it, apart."""
    found = re.fullmatch(r"(.*):([0-9]+)", name, re.DOTALL)
    if not found:
        return name, version
    said = int(found[2]) if len(found[2]) <= 10 else 0
    if not 0 < said <= 0xFFFFFFFF:
        raise RequestRefused(f"'{one_line(name)}': a version is a number from 1 to {0xFFFFFFFF}")
    if version not in (None, said):
        raise RequestRefused(f"'{one_line(name)}' and version={version} name two versions: give "
                             "one of them")
    return found[1], said


def _read_answer(response: Response) -> tuple[dict[str, Any], list[Tensor]]:
    """The answer's parameters, and its outputs from the bytes behind the JSON."""
    try:
        at = int(response.headers.get("inference-header-content-length") or len(response.body))
        if not 0 <= at <= len(response.body):
            raise ValueError
        said = json.loads(response.body[:at])
        outputs = []
        for output in said["outputs"]:
            size = int(output["parameters"]["binary_data_size"])
            if not 0 <= size <= len(response.body) - at:
                raise ValueError
            outputs.append(Tensor.of_bytes(
                str(output["name"]), BY_OIP[output["datatype"]],
                tuple(int(dim) for dim in output["shape"]), response.body[at:at + size]))
            at += size
        return dict(said["parameters"]), outputs
    except (KeyError, TypeError, ValueError, RecursionError):
        raise BadAnswer("the gateway's answer is none of the Open Inference Protocol") from None


def login(url: str | None = None, token: str | None = None, *, pin: str | None = None,
          ca: str | None = None) -> Client:
    """Asks the gateway whose token this is. What is not given is looked for where the command line
    looks: $COMMENSAL_GATEWAY (else http://127.0.0.1:8080), $COMMENSAL_TOKEN (else
    $XDG_CONFIG_HOME/commensal/token or ~/.config/commensal/token), $COMMENSAL_PIN and
    $COMMENSAL_CA."""
    place = parse_url(url or os.environ.get("COMMENSAL_GATEWAY") or DEFAULT_GATEWAY)
    found, source = find_token(token)
    transport = Transport(place, Trust(place, pin, ca), found, source)
    said = transport.call("GET", "/v1/account").json()
    if not isinstance(said, dict) or not said.get("name"):
        raise BadAnswer(f"{place} is no gateway: its answer names no account")
    return Client(transport, said)
