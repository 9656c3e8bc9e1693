# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: each call runs on a thread of the client's own, so the loop goes on.

    async with await commensal.aio.login() as client:
        model = await client.model("digits")
        answer = await model.infer(x)
        await answer.receipt.verify()

A call that is cancelled is no longer waited for; the gateway may still do it, and it may cost.
"""
from __future__ import annotations

import asyncio
import functools
import os
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from . import client as _blocking
from . import receipts as _receipts
from ._batches import Progress, length_of, patiently, shown_progress
from ._cards import Card
from ._inputs import Port
from ._pictures import Picture
from ._tensors import Array

__all__ = ["Answer", "Client", "Model", "Receipt", "login"]

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 64


class _Threads:
    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(_THREADS, "commensal")

    async def run(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, functools.partial(call, *args, **named))


class Receipt:
    """As commensal.receipts.Receipt."""

    def __init__(self, threads: _Threads, receipt: _receipts.Receipt) -> None:
        self._threads, self._receipt = threads, receipt
        self.id = receipt.id

    async def signed(self) -> bytes:
        return await self._threads.run(self._receipt.signed)

    async def opening(self) -> bytes:
        return await self._threads.run(self._receipt.opening)

    async def verify(self, opening: bool = True, provider: str | None = None,
                     client: str | None = None) -> _receipts.Checked:
        return await self._threads.run(self._receipt.verify, opening, provider, client)


class Answer:
    """As commensal.Answer."""

    def __init__(self, threads: _Threads, answer: _blocking.Answer) -> None:
        self._threads, self._answer = threads, answer
        self.model, self.version, self.provider = answer.model, answer.version, answer.provider
        self.outputs, self.privacy_class = answer.outputs, answer.privacy_class
        self.receipt = Receipt(threads, answer.receipt)

    @property
    def output(self) -> Array:
        return self._answer.output

    async def names(self, row: int | None = None) -> list[tuple[str, float]]:
        return await self._threads.run(self._answer.names, row)

    async def top(self, k: int, row: int | None = None) -> list[tuple[str, float]]:
        return await self._threads.run(self._answer.top, k, row)

    async def rows(self, k: int | None = None) -> list[list[tuple[str, float]]]:
        return await self._threads.run(self._answer.rows, k)

    def __repr__(self) -> str:
        return repr(self._answer)


class Model:
    """As commensal.Model."""

    def __init__(self, threads: _Threads, model: _blocking.Model) -> None:
        self._threads, self._model = threads, model
        self.name, self.version, self.signature = model.name, model.version, model.signature
        self.inputs: list[Port] = model.inputs
        self.outputs: list[Port] = model.outputs

    def __repr__(self) -> str:
        return repr(self._model)

    async def card(self) -> Card:
        return await self._threads.run(self._model.card)

    async def set_card(self, card: str | os.PathLike[str]) -> Card:
        return await self._threads.run(self._model.set_card, card)

    async def infer(self, x: Any, *, timeout_s: float | None = None,
                    picture: Picture | None = None,
                    privacy_class: str | None = None) -> Answer:
        answer = await self._threads.run(self._model.infer, x, timeout_s=timeout_s,
                                         picture=picture, privacy_class=privacy_class)
        return Answer(self._threads, answer)

    async def _patiently(self, x: Any, patience_s: float, picture: Picture | None,
                         privacy_class: str | None) -> Answer:
        def ask(x: Any) -> _blocking.Answer:
            return self._model.infer(x, picture=picture, privacy_class=privacy_class)

        answer = await self._threads.run(lambda: patiently(ask, x, patience_s))
        return Answer(self._threads, answer)

    async def infer_many(self, inputs: Iterable[Any] | AsyncIterable[Any], *, at_once: int = 8,
                         progress: Progress = False, patience_s: float = 60.0,
                         picture: Picture | None = None,
                         privacy_class: str | None = None) -> AsyncIterator[Answer]:
        """In the order of the inputs, which may come asynchronously themselves."""
        if not 1 <= at_once <= _THREADS:
            raise ValueError(f"at_once is {at_once}, expected 1 to {_THREADS}")
        show, of, done = shown_progress(progress), length_of(inputs), 0
        under_way: deque[asyncio.Task[Answer]] = deque()
        try:
            async for x in _each(inputs):
                under_way.append(asyncio.create_task(
                    self._patiently(x, patience_s, picture, privacy_class)))
                if len(under_way) == at_once:
                    answer = await _result(under_way.popleft(), done)
                    done += 1
                    show(done, of)
                    yield answer
            while under_way:
                answer = await _result(under_way.popleft(), done)
                done += 1
                show(done, of)
                yield answer
        finally:
            for left in under_way:
                left.cancel()


async def _result(task: asyncio.Task[Answer], number: int) -> Answer:
    try:
        return await task
    except Exception as error:
        error.add_note(f"of input {number}, counted from 0")
        raise


async def _each(inputs: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(inputs, AsyncIterable):
        async for x in inputs:
            yield x
    else:
        for x in inputs:
            yield x


class Client:
    """As commensal.Client."""

    def __init__(self, threads: _Threads, client: _blocking.Client) -> None:
        self._threads, self._client = threads, client
        self.account = client.account

    def __repr__(self) -> str:
        return repr(self._client)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Waits for nothing; what is under way ends by itself."""
        self._client.close()
        self._threads.pool.shutdown(wait=False, cancel_futures=True)

    async def models(self) -> list[dict[str, Any]]:
        return await self._threads.run(self._client.models)

    async def model(self, name: str, version: int | None = None) -> Model:
        return Model(self._threads, await self._threads.run(self._client.model, name, version))

    async def explore(self, query: str = "", *, task: str = "", modality: str = "",
                      sort: str = "name", count: int = 100) -> list[dict[str, Any]]:
        return await self._threads.run(self._client.explore, query, task=task, modality=modality,
                                       sort=sort, count=count)

    async def push(self, path: str | os.PathLike[str], name: str | None = None, *,
                   private: bool = False, allow: Sequence[str] = (), privacy_class: str = "",
                   card: str | os.PathLike[str] | None = None) -> Model:
        made = await self._threads.run(self._client.push, path, name, private=private, allow=allow,
                                       privacy_class=privacy_class, card=card)
        return Model(self._threads, made)

    async def receipts(self, count: int = 20) -> list[dict[str, Any]]:
        return await self._threads.run(self._client.receipts, count)

    def receipt(self, id: str) -> Receipt:
        return Receipt(self._threads, self._client.receipt(id))


async def login(url: str | None = None, token: str | None = None, *, pin: str | None = None,
                ca: str | None = None) -> Client:
    """As commensal.login()."""
    threads = _Threads()
    try:
        return Client(threads, await threads.run(_blocking.login, url, token, pin=pin, ca=ca))
    except BaseException:
        threads.pool.shutdown(wait=False)
        raise
