# SPDX-License-Identifier: Apache-2.0
"""Large files go to the gateway in parts (tus 1.0, tus.io), so that what breaks off goes on later.

Where an upload is under way is kept in $XDG_STATE_HOME/commensal/uploads (else
~/.local/state/commensal/uploads): a file for each, named by a hash of gateway, account, model and
contents, which ends with the upload.
"""
from __future__ import annotations

import hashlib
import os
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
_TUS = {"Tus-Resumable": "1.0.0"}


def push_file(transport: Transport, path: Path, model: str, account: str,
              said: Mapping[str, str]) -> tuple[Any, str]:
    """The gateway's answer about the new version, and the file's SHA-256. `said`: private, allow,
    privacy_class."""
    if path.stat().st_size > WHOLE_BYTES_MAX:
        digest = _digest_of(path)
        upload = _Upload(transport, path, digest, _note_of(transport, model, account, digest))
        if upload.start(model, said):
            return upload.finish(), digest
    data = path.read_bytes()  # small, or the gateway knows of no uploads
    query = "?" + urlencode(said, quote_via=quote, safe=",") if said else ""
    info = transport.call("PUT", f"/v1/models/{quote(model)}{query}", data,
                          {"Content-Type": "application/octet-stream"}).json()
    return info, hashlib.sha256(data).hexdigest()


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note_of(transport: Transport, model: str, account: str, digest: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    folder = (Path(state) if state else Path.home() / ".local" / "state") / "commensal" / "uploads"
    named = "\n".join((str(transport.place), account, model, digest))
    return folder / hashlib.sha256(named.encode()).hexdigest()[:32]


def metadata(model: str, digest: str, said: Mapping[str, str]) -> str:
    """tus' Upload-Metadata: keys, and values in base64.

    >>> metadata("a/m", "00", {})
    'model YS9t,sha256 MDA='
    """
    named = {"model": model, "sha256": digest, **said}
    return ",".join(f"{key} {b64encode(text.encode()).decode()}" for key, text in named.items())


class _Upload:
    def __init__(self, transport: Transport, path: Path, digest: str, note: Path) -> None:
        self._transport, self._path, self._digest, self._note = transport, path, digest, note
        self._size = path.stat().st_size
        self._target = ""  # below the gateway's address

    def start(self, model: str, said: Mapping[str, str]) -> bool:
        """Finds what was begun, or begins; false where the gateway knows of no uploads."""
        with suppress(OSError, UnicodeDecodeError):
            self._target = self._note.read_text().strip()
            if self._target.startswith("/v1/uploads/") and self._offset() is not None:
                return True
        made = self._transport.send("POST", "/v1/uploads", headers={
            **_TUS, "Upload-Length": str(self._size),
            "Upload-Metadata": metadata(model, self._digest, said)})
        if made.status in (404, 405):
            return False
        if made.status not in (200, 201):
            raise self._transport.error_of(made)
        self._target = urlsplit(made.headers.get("location", "")).path
        if not self._target.startswith("/v1/uploads/"):
            raise BadAnswer("the gateway does not say where the upload is to go")
        with suppress(OSError):  # then it cannot be resumed
            self._note.parent.mkdir(parents=True, exist_ok=True)
            self._note.write_text(self._target + "\n")
        return True

    def finish(self) -> Any:
        """Sends what is missing, and has a version made of it."""
        try:
            self._send_all()
            made = self._transport.call("POST", self._target + "/push", headers=_TUS).json()
        except (RequestRefused, NotFound, BadAnswer):
            self._forget()
            raise
        except CommensalError as error:
            error.add_note(f"what was sent of '{self._path}' is kept for a day: the same push() "
                           "goes on with it")
            raise
        self._drop_note()
        return made

    def _drop_note(self) -> None:
        with suppress(OSError):
            self._note.unlink(missing_ok=True)

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
        self._drop_note()
        with suppress(CommensalError):
            self._transport.send("DELETE", self._target, headers=_TUS)
