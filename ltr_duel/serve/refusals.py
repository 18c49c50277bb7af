"""Which status each refusal has. A client gets one sentence about its own request, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse

from ltr_duel.core import InputError
from ltr_duel.live import BusyError, ExpiredError, StoreError, TokenError, UsedError

CLOSE = {"connection": "close"}  # the rest of the request is not read
RETRY = {"retry-after": "1"}  # of each 503
_STATUS: dict[type[InputError], int] = {
    TokenError: 403,
    UsedError: 409,
    ExpiredError: 410,
    BusyError: 503,
    InputError: 400,  # of every other kind
}
_AWAY = "the store cannot be used now: nothing of the request is kept; ask again"


class Refusal(Exception):  # noqa: N818  # an answer, not a fault
    """A request that is answered by a status and a sentence."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, RETRY if status == 503 else headers

    def response(self) -> JSONResponse:
        """Return the answer."""
        return JSONResponse({"error": self.sentence}, self.status, dict(self.headers or {}))


def refusal_of(error: Exception) -> Refusal:
    """Return the answer to an error; one that nobody expected says nothing about itself."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StoreError):  # its own sentence is for the operator, and may quote the store
        return Refusal(503, _AWAY)
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return Refusal(status, str(error))
    if isinstance(error, TimeoutError):
        return Refusal(503, "the answer took too long; it is not known whether the request is kept")
    return Refusal(500, "the service met an error of its own; its log says more")
