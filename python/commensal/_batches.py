# SPDX-License-Identifier: Apache-2.0
"""Many requests, some at a time, answered in order."""
from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, Union

from .errors import Busy

X = TypeVar("X")
Y = TypeVar("Y")
Progress = Union[bool, Callable[[int, "int | None"], None]]


def patiently(ask: Callable[[X], Y], x: X, patience_s: float) -> Y:
    """Again and again while the gateway is busy."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return ask(x)
        except Busy as busy:
            left = until - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(left, busy.retry_after_s))


def shown_progress(progress: Progress) -> Callable[[int, int | None], None]:
    """True: a line on standard error, where that is a terminal."""
    if callable(progress):
        return progress
    if not progress or not sys.stderr.isatty():
        return lambda done, of: None

    def show(done: int, of: int | None) -> None:
        end = "\n" if done == of else ""
        print(f"\r{done}{'' if of is None else f' of {of}'} answers", end=end, file=sys.stderr,
              flush=True)

    return show


def length_of(inputs: object) -> int | None:
    try:
        return len(inputs)  # type: ignore[arg-type]
    except TypeError:
        return None


def in_order(ask: Callable[[X], Y], inputs: Iterable[X], at_once: int, progress: Progress,
             patience_s: float) -> Iterator[Y]:
    """The first error ends it, with a note which input it was of; what is under way then ends, and
    costs, all the same.

    >>> list(in_order(lambda x: x * x, [1, 2, 3], 2, False, 1))
    [1, 4, 9]
    """
    if at_once < 1:
        raise ValueError(f"at_once is {at_once}, expected 1 or more")
    return _in_order(ask, inputs, at_once, shown_progress(progress), patience_s)


def _in_order(ask: Callable[[X], Y], inputs: Iterable[X], at_once: int,
              show: Callable[[int, int | None], None], patience_s: float) -> Iterator[Y]:
    under_way: deque[Future[Y]] = deque()
    of, done = length_of(inputs), 0
    rest = iter(inputs)
    with ThreadPoolExecutor(at_once, "commensal") as threads:
        try:
            while True:
                while len(under_way) < at_once:
                    try:
                        x = next(rest)
                    except StopIteration:
                        break
                    under_way.append(threads.submit(patiently, ask, x, patience_s))
                if not under_way:
                    return
                try:
                    answer = under_way.popleft().result()
                except Exception as error:
                    error.add_note(f"of input {done}, counted from 0")
                    raise
                done += 1
                show(done, of)
                yield answer
        finally:
            for left in under_way:
                left.cancel()
