"""Pass outcomes to the policy of an experiment one after another, for any number of open pages and any order of clicks.

Pages always show the rankers that the policy currently requests. The policy receives the first outcome of these
rankers; an outcome that arrives while the policy requests other rankers is held until the policy requests the same
rankers again. So the policy receives each outcome at most once and only for requested rankers, and held outcomes let
the policy step without waiting. If the outcomes of the same rankers are independent and identically distributed, the
distribution of the policy's path is the same as without delay: Joulani, György, Szepesvári. Online Learning under
Delayed Feedback. ICML 2013, algorithm QPM-D. With one open page at a time, the path itself is the same.

A page of a single arm, or of an arm against itself, has no outcome, so the policy steps when the page is shown.

When an arm is dropped, a new policy is made for the remaining arms. By the same rule, it receives the outcomes of all
pages, from the first one on, that showed only remaining arms. So its path has the same distribution as the path of a
policy that never had the dropped arm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.bandits import POLICIES, LivePolicy, sign_table
from ltr_duel.core import InputError, IntVector, Streams, interpreted, shuffle, stream
from ltr_duel.live.settings import Settings
from ltr_duel.simulation import RunKey, run_order, run_streams

Key = tuple[int, ...]  # arms, in the order in which the policy requested them
MOST_HELD = 10_000  # further outcomes are discarded, whichever ranker wins, so the path keeps its distribution


def _key(settings: Settings) -> RunKey:
    """Return the key of the first repetition of a simulation with this policy and seed."""
    _, policy, params = POLICIES.configure(settings.policy)
    return RunKey({}, policy.name, params._asdict(), settings.horizon, 0, settings.seed or 0, labels="random")


def live_streams(settings: Settings) -> Streams:
    """Return the random streams of the first repetition of a simulation with this policy and seed."""
    return run_streams(_key(settings))


def live_order(settings: Settings) -> IntVector:
    """Return the order in which the policy numbers the rankers in the first repetition of this simulation."""
    return run_order(_key(settings), len(settings.rankers))


def live_policy(settings: Settings) -> LivePolicy:
    """Make the policy that the settings name; if they contain no seed, use seed 0.

    Random numbers and ranker order are the same as in the first repetition of a simulation with the same seed, so the
    same outcomes lead to the same path.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    LivePolicy

    Examples
    --------
    >>> from ltr_duel.live import Settings
    >>> policy = live_policy(Settings(name="shoes", rankers=("old", "new"), policy="rucb"))
    >>> len(policy.ask())
    2
    """
    n_arms, rng = len(settings.rankers), live_streams(settings).policy
    return LivePolicy(settings.policy, n_arms, horizon=settings.horizon, rng=rng, order=live_order(settings))


class Turns:
    """A policy and the outcomes held for it; arm k of the policy is ranker ``left[k]``, by default ranker k.

    With ``order = "shown"``, outcomes are held until all earlier pages of the same rankers are closed.
    """

    def __init__(self, settings: Settings, policy: LivePolicy, left: tuple[int, ...] = ()) -> None:
        n_arms = len(settings.rankers)
        self.policy, self.held, self.left = policy, 0, left or tuple(range(n_arms))
        self.pulls: IntVector = np.zeros(n_arms, np.int64)
        self._slates, self._in_order = settings.policy_component.feedback == "slate", settings.order == "shown"
        self._lines: dict[Key, dict[int, bytes | None]] = {}  # arms -> page -> outcome; None: open page

    @property
    def asked(self) -> Key:
        """Arms to show now."""
        return tuple([self.left[arm] for arm in self.policy.ask()])

    @property
    def recommended(self) -> int:
        """The policy's recommendation."""
        return self.left[self.policy.recommend()]

    def is_alone(self, key: Key) -> bool:
        """Return whether a page has nothing to compare: it shows one arm, or an arm paired with itself.

        A set that contains an arm twice is still a comparison.
        """
        return len(key) == 1 or (not self._slates and key[0] == key[1])

    def opened(self, page: int, key: Key) -> None:
        """Register a page of several rankers."""
        if self._in_order:
            self._lines.setdefault(key, {})[page] = None

    def alone(self, key: Key) -> None:
        """Advance the policy after the requested arm was shown alone."""
        if self.asked == key:  # changed code of the policy may request another arm
            self._tell(b"")
            self._advance()

    def closed(self, page: int, key: Key, signs: bytes) -> None:
        """Add the outcome of a page: one byte, +1 or -1, for each pair of its arms, in order."""
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
        """Stop waiting for the outcome of a page."""
        if page in self._lines.get(key, ()):
            self._remove(key, page)
            self._advance()

    def forget(self, page: int) -> None:
        """Stop waiting for the outcome of a page whose rankers are unknown."""
        for key in [key for key, line in self._lines.items() if line.get(page, b"") is None]:
            self.dropped(page, key)

    def _advance(self) -> None:
        """Pass held outcomes to the policy while it requests their rankers."""
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
        """Return the held outcomes as JSON."""
        lines = [
            [list(key), [[page, None if signs is None else signs.hex()] for page, signs in line.items()]]
            for key, line in sorted(self._lines.items())
        ]
        return json.dumps(lines, separators=(",", ":"))

    def wait_again(self, text: str) -> None:
        """Restore the outcomes from the JSON of `waiting`."""
        self._lines = {
            tuple(key): {page: None if signs is None else bytes.fromhex(signs) for page, signs in line}
            for key, line in json.loads(text)
        }
        self.held = sum(signs is not None for line in self._lines.values() for signs in line.values())


def kept_turns(settings: Settings, arrays: Mapping[str, NDArray[Any]], lines: str) -> Turns:
    """Restore a policy and its held outcomes from a snapshot, which may be damaged."""
    policy = LivePolicy.restore(settings.policy, arrays, accept_new_code=True)  # `open_store` checks the code
    left = tuple(arrays["left"].tolist())
    if arrays["pulls"].shape != (len(settings.rankers),) or int(arrays["n_arms"][0]) != len(left):
        raise InputError("the snapshot has a different number of rankers")
    if not set(left) <= set(range(len(settings.rankers))):
        raise InputError("the snapshot contains rankers that do not exist")
    turns = Turns(settings, policy, left)
    turns.wait_again(lines)
    turns.pulls[...] = arrays["pulls"]
    return turns


def policy_without(settings: Settings, left: tuple[int, ...]) -> LivePolicy:
    """Make a policy for some of the rankers, with separate random numbers. Raises `InputError` for too few rankers."""
    rng = stream(settings.seed or 0, "left", *left)
    order = np.arange(len(left))
    interpreted(shuffle)(order, rng)
    return LivePolicy(settings.policy, len(left), horizon=settings.horizon, rng=rng, order=order)
