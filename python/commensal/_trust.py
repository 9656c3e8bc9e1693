# SPDX-License-Identifier: Apache-2.0
"""Where a gateway is, and which one is believed over TLS: as the command line has it."""
from __future__ import annotations

import ipaddress
import os
import re
import ssl
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from .errors import BadAnswer, GatewayUntrusted, RequestRefused, TokenRejected

DEFAULT_GATEWAY = "http://127.0.0.1:8080"
_TOKEN_BYTES_MAX = 4096


@dataclass(frozen=True)
class Place:
    host: str
    port: int
    is_secure: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def parse_url(text: str) -> Place:
    """https://HOST:PORT, http://HOST:PORT, or HOST:PORT: of loopback http, else https.

    >>> str(parse_url("127.0.0.1:8080")), str(parse_url("gateway.example:443"))
    ('http://127.0.0.1:8080', 'https://gateway.example:443')
    """
    found = re.fullmatch(r"(?:(https?)://)?(?:\[([^\]]+)\]|([^\s/?#@:\[\]]+))(?::(\d{1,5}))?/?",
                         text, re.ASCII)
    scheme, port = (found[1], found[4]) if found else (None, None)
    if not found or not (scheme or port) or (port and not 1 <= int(port) <= 65535):
        raise RequestRefused(f"'{text}' is no URL of a gateway: expected https://HOST:PORT or "
                             "http://HOST:PORT")
    host = found[2] or found[3]
    is_secure = scheme == "https" if scheme else not is_loopback(host)
    return Place(host, int(port) if port else (443 if is_secure else 80), is_secure)


def default_token_file() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "commensal" / "token"


def _one_word(text: str, source: str) -> str:
    """A token as it goes into a header; a file's end of line is none of it. What is refused is not
    shown: it is a secret."""
    token = text.strip()
    if not all("!" <= c <= "~" for c in token):
        raise TokenRejected("a token is one word: no spaces, no line breaks within (from "
                            f"{source})")
    return token


def find_token(token: str | None) -> tuple[str, str]:
    """The token and where it is from: the argument, else $COMMENSAL_TOKEN, else the token's file.
    Both empty where there is none."""
    if token is not None:
        return _one_word(token, "login(token=...)"), "login(token=...)"
    if found := os.environ.get("COMMENSAL_TOKEN"):
        return _one_word(found, "$COMMENSAL_TOKEN"), "$COMMENSAL_TOKEN"
    file = default_token_file()
    if not file.exists():
        return "", ""
    try:
        with file.open("rb") as opened:
            data = opened.read(_TOKEN_BYTES_MAX)
    except OSError as error:
        raise TokenRejected(f"'{file}': {error}; expected a file with a token") from None
    text = _one_word(data.decode("latin-1"), f"'{file}'")
    if not text:
        raise TokenRejected(f"'{file}': the file is empty, expected a token")
    return text, f"'{file}'"


def parse_pins(text: str) -> list[str]:
    pins = [pin.strip().lower() for pin in text.split(",")] if text else []
    for pin in pins:
        if not re.fullmatch("[0-9a-f]{64}", pin):
            raise RequestRefused(f"the pin '{pin[:80]}' has {len(pin)} characters, expected 64 "
                                 "hexadecimal digits (commensal gateway prints it)")
    return pins


class Trust:
    """With pins: whoever shows one of these keys, be its certificate expired or for other names.
    Else who shows a valid certificate for the host's name, by the authorities of the file or the
    system's. None given: $COMMENSAL_PIN, $COMMENSAL_CA."""

    def __init__(self, place: Place, pin: str | None, ca: str | None) -> None:
        self.pins = parse_pins(pin if pin is not None else os.environ.get("COMMENSAL_PIN", ""))
        ca = ca if ca is not None else os.environ.get("COMMENSAL_CA", "")
        if not place.is_secure:
            if self.pins or ca:
                raise RequestRefused(f"'{place}' is not encrypted, and pin or ca (or "
                                     "$COMMENSAL_PIN, $COMMENSAL_CA) is for https://HOST:PORT")
            return
        try:
            self.context = ssl.create_default_context(cafile=ca or None)
        except (OSError, ssl.SSLError) as error:
            raise RequestRefused(f"'{ca}': {error}; expected a file of certificates in "
                                 "PEM") from None
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        if self.pins:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE  # check() is all

    def check(self, connection: ssl.SSLSocket) -> None:
        """After the handshake, before anything is said."""
        if not self.pins:
            return
        found = sha256(public_key_of(connection.getpeercert(binary_form=True) or b"")).hexdigest()
        if found not in self.pins:
            raise GatewayUntrusted(f"the gateway's public key has the SHA-256 {found}, expected "
                                   f"{self.pins[0]}: another machine answers, or the gateway has "
                                   "a new key (ask its operator for the new pin)")


def _element(data: bytes, at: int) -> tuple[int, int]:
    """DER: where the contents of the element begin and end."""
    size, begin = data[at + 1], at + 2
    if size & 0x80:
        width = size & 0x7F
        size, begin = int.from_bytes(data[begin:begin + width], "big"), begin + width
    if begin + size > len(data):
        raise IndexError
    return begin, begin + size


def public_key_of(certificate: bytes) -> bytes:
    """SubjectPublicKeyInfo of a certificate (RFC 5280, 4.1), both DER."""
    try:
        at, _ = _element(certificate, _element(certificate, 0)[0])  # within tbsCertificate
        if certificate[at] == 0xA0:  # version
            at = _element(certificate, at)[1]
        for _ in range(5):  # serialNumber, signature, issuer, validity, subject
            at = _element(certificate, at)[1]
        return certificate[at:_element(certificate, at)[1]]
    except IndexError:
        raise BadAnswer("the gateway's certificate is none") from None
