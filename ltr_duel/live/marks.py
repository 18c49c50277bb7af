"""Tokens of the pages of one store: signed here, and believed only if they are of one of its pages.

Numbers of pages come again when an earlier copy of a store is restored; tokens of the lost pages must not. Each time a
store is opened, the pages that are shown get a new random mark, which their tokens hold.
"""

from __future__ import annotations

import functools
import hashlib
import json
import secrets

from ltr_duel.live.calls import TokenError
from ltr_duel.live.store import Store
from ltr_duel.live.tokens import NO_PAGE, Claim, Keys

_KEY = "marks"
_MOST = 1000  # openings whose pages may still wait


class Marks:
    """The marks of pages, each of a range.

    keys: that sign the tokens, and are believed.
    own: the mark of this opening.
    pages: number of the last page.
    """

    def __init__(self, store: Store, keys: Keys, own: str, pages: int) -> None:
        self._store, self._keys, self._own, self._pages = store, keys, own, pages
        self._experiment = bytes.fromhex(store.about("experiment"))
        self._from: list[tuple[int, str]] = [(page, mark) for page, mark in json.loads(store.about(_KEY) or "[]")]
        self._told = functools.cache(self._tell)

    @staticmethod
    def new() -> str:
        """Return a mark for an opening."""
        return secrets.token_hex(16)

    def begin(self, page: int) -> None:
        """Let a page, which is the last one now, and those after it have the mark of this opening."""
        self._pages = page
        if not self._from or self._from[-1][1] != self._own:
            self._from = [*self._from[-_MOST:], (page, self._own)]
            self._store.say(_KEY, json.dumps(self._from))

    def token(self, page: int, expires: int) -> str:
        """Return the token of a page; `NO_PAGE` is one outside of the experiment."""
        return self._keys.sign(Claim(self._of(page), page, expires))

    def _of(self, page: int) -> bytes:
        """Return 16 bytes that tell the experiment and the mark of a page; pages of earlier versions have no mark."""
        for first, mark in reversed(self._from):
            if page >= first:
                return self._told(mark)
        return self._experiment

    def claim(self, token: str) -> Claim:
        """Return what a token says; neither waits for the store nor reads it.

        Raises `TokenError` if it is none, or is of another experiment, or of a page that is not among the pages of the
        store.
        """
        claim = self._keys.verify(token)
        if claim.experiment != self._of(claim.page):
            lost = "" if claim.page == NO_PAGE else ", or of a page that a restored store does not hold"
            raise TokenError(f"the token is of another experiment{lost}")
        if claim.page > self._pages:
            raise TokenError("the token is of a page that this experiment does not know")
        return claim

    def _tell(self, mark: str) -> bytes:
        return hashlib.sha256(self._experiment + bytes.fromhex(mark)).digest()[:16]
