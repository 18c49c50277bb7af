"""A policy gets outcomes strictly in turn, however many pages are open and in whatever order their clicks come.

A policy asks for some rankers, is told who won, and asks again. Pages are always shown for the rankers that it asks
for now. Their first outcome is told; those that come later, when it asks for others already, wait until it asks for
the same rankers again. So it learns from each outcome at most once, of no other rankers than it asked for, and steps
on as long as an outcome waits for what it asks. If outcomes of the same rankers are independent and of one law, the
path has the law of a path without delay: Joulani, György, Szepesvári. Online Learning under Delayed Feedback. ICML
2013, algorithm QPM-D. One page at a time it is the path without delay.

An arm alone, or against itself, tells nothing that could be waited for: the policy steps when the page is shown.

An arm is dropped by a new policy for the others, which is told the outcomes of their pages from the first one on, by
the same rule. So its path has the law of a policy that never had that arm.
"""

from __future__ import annotations

import json

import numpy as np

from ltr_duel.bandits import LivePolicy, sign_table
from ltr_duel.core import IntVector

Key = tuple[int, ...]  # the arms as the policy asked for them
MOST_HELD = 10_000  # outcomes that wait; more are not told. Who wins has no part in that, so the law stays


class Turns:
    """A policy and the outcomes that wait for their turn.

    policy: of the arms that are left.
    n_arms: all arms.
    slates: whether the policy compares sets of arms.
    in_order: whether outcomes of the same rankers are told in the order in which their pages were shown: an early page
        whose clicks are late keeps the later ones waiting.
    left: which arms the policy has: its arm k is arm ``left[k]``. By default it has all.
    """

    def __init__(
        self, policy: LivePolicy, n_arms: int, *, slates: bool, in_order: bool, left: tuple[int, ...] = ()
    ) -> None:
        self.policy, self.held = policy, 0
        self.left = left or tuple(range(n_arms))
        self.pulls: IntVector = np.zeros(n_arms, np.int64)
        self._slates, self._in_order = slates, in_order
        self._lines: dict[Key, dict[int, bytes | None]] = {}  # page -> who won, None while it is open

    @property
    def asked(self) -> Key:
        """Arms to show now."""
        return tuple([self.left[arm] for arm in self.policy.ask()])

    @property
    def recommended(self) -> int:
        """The policy's own answer."""
        return self.left[self.policy.recommend()]

    def is_alone(self, key: Key) -> bool:
        """Whether there is nothing to compare; in a set, an arm that is there twice is compared with itself."""
        return len(key) == 1 or (not self._slates and key[0] == key[1])

    def opened(self, page: int, key: Key) -> None:
        """Take note that a page of several rankers was shown."""
        if self._in_order:
            self._lines.setdefault(key, {})[page] = None

    def alone(self, key: Key) -> None:
        """Step on, as the arm that the policy asks for was shown alone; other code may ask for another one."""
        if self.asked == key:
            self._tell(b"")
            self._advance()

    def closed(self, page: int, key: Key, signs: bytes) -> None:
        """Take the outcome of a page: for each pair of its arms, in order, a byte of +1 or -1."""
        if not set(key) <= set(self.left):
            return
        line = self._lines.setdefault(key, {})
        line[page] = signs
        self.held += 1
        self._advance()
        if self.held > MOST_HELD:
            self.held -= 1
            self._remove(key, page)

    def dropped(self, page: int, key: Key) -> None:
        """Wait no longer for the outcome of a page, if it is waited for."""
        if page in self._lines.get(key, ()):
            self._remove(key, page)
            self._advance()

    def forget(self, page: int) -> None:
        """Wait no longer for a page whose rankers are not known any more."""
        for key in [key for key, line in self._lines.items() if line.get(page, b"") is None]:
            self.dropped(page, key)

    def _advance(self) -> None:
        """Tell the policy what waits for it."""
        while line := self._lines.get(key := self.asked):
            page, signs = next(iter(line.items()))
            if signs is None:
                return
            self.held -= 1
            self._remove(key, page)
            self._tell(signs)

    def _remove(self, key: Key, page: int) -> None:
        line = self._lines[key]
        del line[page]
        if not line:
            del self._lines[key]

    def _tell(self, signs: bytes) -> None:
        key = self.asked
        for arm in key:
            self.pulls[arm] += 1
        if not signs:
            self.policy.tell()
        elif self._slates:
            self.policy.tell(sign_table(signs, len(key)))
        else:
            self.policy.tell(1 if signs == b"\1" else -1)

    def waiting(self) -> str:
        """Return the outcomes that wait, for `wait_again`."""
        lines = [
            [list(key), [[page, None if signs is None else signs.hex()] for page, signs in line.items()]]
            for key, line in sorted(self._lines.items())
        ]
        return json.dumps(lines, separators=(",", ":"))

    def wait_again(self, text: str) -> None:
        """Take back what `waiting` returned."""
        self._lines = {
            tuple(key): {page: None if signs is None else bytes.fromhex(signs) for page, signs in line}
            for key, line in json.loads(text)
        }
        self.held = sum(signs is not None for line in self._lines.values() for signs in line.values())
