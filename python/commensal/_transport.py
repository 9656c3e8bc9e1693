# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 to one gateway: connections are kept and shared by threads."""
from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._trust import Place, Trust
from .errors import (BadAnswer, Busy, CommensalError, GatewayUnreachable, GatewayUntrusted,
                     NotAllowed, NotFound, OutOfMoney, OverBudget, RequestRefused, TokenRejected,
                     TooLate)

_ANSWER_BYTES_MAX = 1 << 30
_IDLE_MAX = 16
_SETTINGS = "\x04\0\0\0\0\0"  # of no stream, behind its length: HTTP/2's first frame


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]  # by names in small letters
    body: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise BadAnswer("the gateway's answer is not JSON: is this a gateway's port for "
                            "consumers (8080 by default)?") from None


class Transport:
    """Thread-safety: any thread. `wait_s` is for the next byte."""

    def __init__(self, place: Place, trust: Trust, token: str, token_source: str,
                 wait_s: float = 120.0) -> None:
        self.place, self.token_source = place, token_source
        self._trust, self._token, self._wait_s = trust, token, wait_s
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        self.close()

    def _connect(self) -> http.client.HTTPConnection:
        try:
            if not self.place.is_secure:
                plain = http.client.HTTPConnection(self.place.host, self.place.port,
                                                   timeout=self._wait_s)
                plain.connect()
                connection = plain
            else:
                secure = http.client.HTTPSConnection(self.place.host, self.place.port,
                                                     timeout=self._wait_s,
                                                     context=self._trust.context)
                secure.connect()
                connection = secure
                assert isinstance(secure.sock, ssl.SSLSocket)
                try:
                    self._trust.check(secure.sock)
                except CommensalError:
                    secure.close()
                    raise
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except ssl.SSLCertVerificationError as error:
            raise GatewayUntrusted(
                f"the certificate of {self.place} is not believed: {error.verify_message}; a "
                "gateway prints its pin at the start: login(pin=...) or $COMMENSAL_PIN") from None
        except ssl.SSLError as error:
            raise GatewayUnreachable(f"{self.place} does not speak TLS 1.3 ({error.reason}); if "
                                     f"it is not encrypted: http://{self.place.host}:"
                                     f"{self.place.port}") from None
        except OSError as error:
            raise GatewayUnreachable(
                f"no gateway answers at {self.place} ({error.strerror or error}): start one with "
                "`commensal gateway`, or say where it is by login(url=...) or "
                "$COMMENSAL_GATEWAY") from None

    def _take(self) -> http.client.HTTPConnection:
        """One that is idle, unless it was closed in the meantime, else a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if connection.sock and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if connection.sock and len(self._idle) < _IDLE_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def send(self, method: str, target: str, body: bytes = b"",
             headers: Mapping[str, str] | None = None) -> Response:
        """Any answer at all. Raises GatewayUnreachable, GatewayUntrusted, TooLate, BadAnswer."""
        sent = dict(headers or {}, **{"User-Agent": "commensal-python"})
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        connection = self._take()
        try:
            try:
                connection.request(method, target, body=body or None, headers=sent)
            except (BrokenPipeError, ConnectionResetError):
                pass  # a gateway that takes no more may have said why
            answer = connection.getresponse()
            data = answer.read(_ANSWER_BYTES_MAX + 1)
            if len(data) > _ANSWER_BYTES_MAX:
                raise BadAnswer(f"an answer of more than {_ANSWER_BYTES_MAX} bytes")
        except TimeoutError:
            connection.close()
            raise TooLate(f"{self.place} has said nothing for {self._wait_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if str(error)[3:9] == _SETTINGS:
                raise BadAnswer(f"{self.place} is the gateway's port for providers or gRPC, it "
                                "seems: consumers use another (8080 by default)") from None
            tls = "" if self.place.is_secure else (
                f" (if it speaks TLS: https://{self.place.host}:{self.place.port})")
            said = one_line(str(error)) or type(error).__name__
            raise GatewayUnreachable(
                f"lost the gateway at {self.place} ({said}): is it still running?{tls} What it was "
                "asked may have been done, and paid: see its receipts") from None
        except BaseException:
            connection.close()
            raise
        self._keep(connection)
        names = {name.lower(): text for name, text in answer.headers.items()}
        return Response(answer.status, names, data)

    def call(self, method: str, target: str, body: bytes = b"",
             headers: Mapping[str, str] | None = None) -> Response:
        """An answer of success. Raises what send() does, and an error for what the gateway said."""
        response = self.send(method, target, body, headers)
        if 200 <= response.status < 300:
            return response
        raise self.error_of(response)

    def error_of(self, response: Response) -> CommensalError:
        error = self._kind_of(response)
        error.status = response.status
        return error

    def _kind_of(self, response: Response) -> CommensalError:
        said, code = f"status {response.status}", ""
        try:
            found = json.loads(response.body)
            said, code = one_line(str(found["error"])), str(found.get("code", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        status = response.status
        if status == 401:
            whose = f"the token from {self.token_source}" if self._token else "no token was found"
            return TokenRejected(
                f"{said} ({whose}); a good one goes into login(token=...), $COMMENSAL_TOKEN or "
                "~/.config/commensal/token; who has one makes another with `commensal account "
                "token LABEL`, else the gateway's operator does")
        if status in (429, 503):
            if "can't pay" in said:
                return OutOfMoney(f"{said}; see `commensal account balance`")
            return Busy(said, _seconds(response.headers.get("retry-after")))
        if status == 403:
            return NotAllowed(said)
        if status == 422 and code == "over-budget":
            return OverBudget(said)
        if status == 504:
            return TooLate(said)
        return NotFound(said) if status == 404 else RequestRefused(said)


def one_line(text: str) -> str:
    """What a terminal does not stumble over."""
    return "".join(c if c.isprintable() else "?" for c in text[:512])


def _seconds(text: str | None) -> float:
    try:
        return min(60.0, max(0.1, float(text or 1)))
    except ValueError:
        return 1.0
