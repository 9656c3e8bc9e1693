# SPDX-License-Identifier: Apache-2.0
"""Large files go to the gateway in parts (tus 1.0, tus.io), so that what breaks off goes on later:
the gateway lists what an account has begun."""
from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ._transport import Response, Transport
from .errors import (BadAnswer, Busy, CommensalError, GatewayUnreachable, NotFound, RequestRefused,
                     TooLate)

WHOLE_BYTES_MAX = 8 << 20  # what goes in one request
_PART_BYTES = 4 << 20
_PATIENCE_S = 60.0  # for a gateway that takes nothing
_FINAL = (400, 403, 413, 422)  # what would be refused again; after others the gateway keeps it
_TUS = {"Tus-Resumable": "1.0.0"}


def push_file(transport: Transport, path: Path, model: str,
              said: Mapping[str, str]) -> tuple[Any, str]:
    """The gateway's answer about the new version, and the file's SHA-256. `said`: private, allow,
    privacy_class."""
    if path.stat().st_size > WHOLE_BYTES_MAX:
        upload = _Upload(transport, path)
        if upload.start(model, said):
            return upload.finish(), upload.digest
    data = path.read_bytes()  # small, or the gateway knows of no uploads
    query = "?" + urlencode(said, quote_via=quote, safe=",") if said else ""
    info = transport.call("PUT", f"/v1/models/{quote(model)}{query}", data,
                          {"Content-Type": "application/octet-stream"}).json()
    return info, hashlib.sha256(data).hexdigest()


def metadata(model: str, digest: str, said: Mapping[str, str]) -> str:
    """tus' Upload-Metadata: keys, and values in base64.

    >>> metadata("a/m", "00", {})
    'model YS9t,sha256 MDA='
    """
    named = {"model": model, "sha256": digest, **said}
    return ",".join(f"{key} {b64encode(text.encode()).decode()}" for key, text in named.items())


class _Upload:
    def __init__(self, transport: Transport, path: Path) -> None:
        self._transport, self._path = transport, path
        self._size = path.stat().st_size
        with path.open("rb") as file:
            self.digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._target = ""  # below the gateway's address

    def start(self, model: str, said: Mapping[str, str]) -> bool:
        """Finds what was begun, or begins; false where the gateway knows of no uploads."""
        try:
            begun = self._transport.call("GET", "/v1/uploads").json()
        except NotFound:
            return False
        wanted = {"model": model, "sha256": self.digest, "bytes": self._size,
                  "private": "private" in said, "privacy_class": said.get("privacy_class")}
        allowed = sorted(one.lower() for one in said.get("allow", "").split(",") if one)
        try:
            found = [one for one in begun["uploads"]
                     if all(one.get(key) == what for key, what in wanted.items())
                     and sorted(who.lower() for who in one["allowed_providers"]) == allowed]
            if found:
                self._target = f"/v1/uploads/{quote(str(found[0]['upload']), safe='')}"
                return True
        except (KeyError, TypeError, AttributeError):
            raise BadAnswer("the gateway's list of uploads makes no sense") from None
        made = self._transport.call("POST", "/v1/uploads", headers={
            **_TUS, "Upload-Length": str(self._size),
            "Upload-Metadata": metadata(model, self.digest, said)})
        self._target = urlsplit(made.headers.get("location", "")).path
        if not self._target.startswith("/v1/uploads/"):
            raise BadAnswer("the gateway does not say where the upload is to go")
        return True

    def finish(self) -> Any:
        """Sends what is missing, and has a version made of it."""
        try:
            self._send_all()
            made = self._transport.call("POST", self._target + "/push", headers=_TUS).json()
        except NotFound:
            raise
        except CommensalError as error:
            is_changed = isinstance(error, RequestRefused) and error.status is None  # our own
            if is_changed or error.status in _FINAL:
                self._forget()
                raise
            error.add_note(f"what was sent of '{self._path}' is kept for a day: the same push() "
                           "goes on with it")
            raise
        return made

    def _send_all(self) -> None:
        until, offset = time.monotonic() + _PATIENCE_S, -1
        with self._path.open("rb") as file:
            while True:
                try:
                    found = self._offset() if offset < 0 else offset
                    if found is None:
                        raise NotFound("the gateway has ended the upload: push it again")
                    if found == self._size:
                        return
                    file.seek(found)
                    part = file.read(_PART_BYTES)
                    if not part:
                        raise RequestRefused(f"'{self._path}' was changed while it was sent")
                    offset = self._send_part(found, part)
                    until = time.monotonic() + _PATIENCE_S
                except (GatewayUnreachable, TooLate, Busy) as error:
                    wait_s = error.retry_after_s if isinstance(error, Busy) else 0.5
                    if time.monotonic() + wait_s > until:
                        raise
                    time.sleep(wait_s)
                    offset = -1  # some of it may have arrived

    def _send_part(self, offset: int, part: bytes) -> int:
        """How far it is then."""
        answer = self._transport.send("PATCH", self._target, part, {
            **_TUS, "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream"})
        if answer.status == 409:
            raise Busy(f"another push of '{self._path.name}' is under way, it seems")
        if answer.status not in (200, 204):
            raise self._transport.error_of(answer)
        reached = self._read_offset(answer)
        if reached <= offset:
            raise BadAnswer("the gateway takes parts of the upload, but has no more of it then")
        return reached

    def _offset(self) -> int | None:
        """How far the gateway is; None where it knows of no such upload."""
        answer = self._transport.send("HEAD", self._target, headers=_TUS)
        if answer.status in (404, 410):
            return None
        if answer.status not in (200, 204):
            raise self._transport.error_of(answer)
        return self._read_offset(answer)

    def _read_offset(self, answer: Response) -> int:
        try:
            offset = int(answer.headers["upload-offset"])
        except (KeyError, ValueError):
            offset = -1
        if not 0 <= offset <= self._size:
            raise BadAnswer("the gateway does not say how much of the upload it has")
        return offset

    def _forget(self) -> None:
        """What was refused is of no use any more, and counts against the account's quota."""
        with suppress(CommensalError):
            self._transport.send("DELETE", self._target, headers=_TUS)
