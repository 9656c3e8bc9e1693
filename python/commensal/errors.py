# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, a class for each kind; each message says what was expected and what to do."""
from __future__ import annotations

__all__ = ["CommensalError", "GatewayUnreachable", "GatewayUntrusted", "TokenRejected",
           "NotAllowed", "NotFound", "UnknownModel", "WrongInput", "OverBudget", "OutOfMoney",
           "Busy", "TooLate", "RequestRefused", "BadAnswer", "ReceiptInvalid"]


class CommensalError(Exception):
    """Any error of this package; `status` is that of the gateway's answer which says so, if any."""

    status: int | None = None


class GatewayUnreachable(CommensalError):
    """Nobody answers at the gateway's address, or the connection was lost."""


class GatewayUntrusted(CommensalError):
    """Somebody answers over TLS who cannot show that it is the gateway."""


class TokenRejected(CommensalError):
    """There is no token, or it is unknown or expired."""


class NotAllowed(CommensalError):
    """The token is good, but not for this."""


class NotFound(CommensalError):
    """No such thing, or it is hidden from this account."""


class UnknownModel(NotFound):
    """No such model; the message names models with similar names."""


class WrongInput(CommensalError, ValueError):
    """The model does not take this; the message shows its signature."""


class OverBudget(CommensalError):
    """The answer would take more computing or memory than the gateway grants."""


class OutOfMoney(CommensalError):
    """The account cannot pay for the request."""


class Busy(CommensalError):
    """No room or no provider now; `retry_after_s` is when to ask again."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooLate(CommensalError):
    """No answer within the time that was set."""


class RequestRefused(CommensalError):
    """The gateway says that the request is wrong, or not possible now."""


class BadAnswer(CommensalError):
    """What the gateway sent makes no sense."""


class ReceiptInvalid(CommensalError):
    """A receipt or its opening does not prove what it should; the message says what."""
