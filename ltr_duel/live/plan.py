"""A plan decides which rankers a search compares, and which page it gets.

The page depends only on the plan, the user, the query and the rankers' lists. Every machine that has the plan therefore
shows the same page, and no machine needs to store anything. docs/plans.md describes the rules, and
`clients/js/plan.js` implements them in JavaScript.

    SHA-256(salt, version, user, query) = state of SFC64 -> set of rankers -> interleaved list
    SHA-256(salt, user) = state of SFC64 -> the user's bucket in [0, 1) -> in the experiment, or one ranker's list
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, arguments, errors
from ltr_duel.interleaving import METHODS, MOST_SHOWN, Page, interleave, listed
from ltr_duel.live.signing import Keys
from ltr_duel.live.validation import require_text

RUNNING, PAUSED, WINNER, ENDED = MODES = "experiment", "paused", "winner", "ended"
_FORMAT = "ltr-duel plan 2"
_LARGEST = 1 << 53
_TEXTS = "experiment", "mode", "policy", "method", "outcome", "salt", "recommended", "incumbent", "settings"
_WHOLE = "version", "at", "top", "learned"
_SHARES = "share", "holdback"


class Decision(NamedTuple):
    """The page that a search gets, and why it gets this page.

    Examples
    --------
    >>> Decision(("d1", "d2"), ("old",), None, "paused", 7).page
    ('d1', 'd2')
    """

    page: tuple[Any, ...]  # ids of the documents to show, from the top
    rankers: tuple[str, ...]  # the rankers whose lists are on the page
    record: dict[str, Any] | None  # the page as a row of a click log; None for a page of one ranker
    served: str  # "experiment", or why nothing is compared: "share", "holdback", "paused", "winner" or "ended"
    version: int  # version of the plan
    impression: str = ""  # name of this page, unique in the experiment; empty outside of the experiment
    token: str = ""  # for reporting events to a service; empty without a service


@dataclass(frozen=True, eq=False, kw_only=True)
class LivePlan:
    """A plan: which sets of rankers are shown how often, and which share of users takes part.

    Parameters
    ----------
    experiment, version : str, int
        The name of the experiment, and the number of the plan, from 1.
    at : int
        The time at which the plan starts, in seconds since 1970. It is used only to check logs.
    mode : {"experiment", "paused", "winner", "ended"}
        What users see. In the mode "experiment", rankers are compared. In the mode "paused", users see the incumbent's
        list. In the other modes, users see the list of ``winner``, or of the incumbent if there is no winner.
    share, holdback : float
        The share of users who take part, and the share of users who always get the incumbent's list.
    policy, method, outcome, top : str, str, str, int
        The settings of the experiment that have these names (see `Settings`).
    salt : str
        The seed of the experiment. It is hashed with each user and query; keep it secret, or users can predict pages.
    sets : tuple of (tuple of str, int)
        The sets of rankers, each with the number of times that the policy chose it.
    recommended, incumbent : str
        The ranker that the policy recommends, and the ranker for users who do not take part.
    settings, learned : str, int
        A hash of the settings, and the number of impressions from which the policy has learned.

    Examples
    --------
    >>> from ltr_duel.live import Keys, Settings, next_plan
    >>> plan = next_plan(Settings(name="shoes", rankers=("old", "new"), policy="self_sparring"), at=0)
    >>> keys = Keys({"2026": bytes(32)})
    >>> plan = LivePlan.from_json(plan.to_json(keys), keys)
    >>> lists = {"old": ["a", "b"], "new": ["c", "a"]}
    >>> plan.decide("user 7", "red shoes", lists).page == plan.decide("user 7", "red shoes", lists).page
    True
    """

    experiment: str
    version: int
    at: int = 0
    mode: str = RUNNING
    winner: str | None = None
    share: float = 1.0
    holdback: float = 0.0
    policy: str
    method: str
    outcome: str
    top: int
    salt: str
    sets: tuple[tuple[tuple[str, ...], int], ...]
    recommended: str
    incumbent: str
    settings: str = ""
    learned: int = 0

    def decide(
        self, user: str, query: str, lists: Mapping[str, Sequence[Any]], *, now: float | None = None
    ) -> Decision:
        """Return the page to show for a search. Every machine returns the same page.

        Parameters
        ----------
        user : str
            The id of the user or session, which should not change and may not be empty.
        query : str
        lists : mapping of str to sequence
            The lists of the rankers that ``plan.rankers(user, query)`` returns. A list has the ids of documents, which
            are strings or whole numbers, with the best document first.
        now : float, optional
            The time at which the page is shown, in seconds since 1970; by default, the current time.

        Raises
        ------
        InputError
            If the user is empty, or if a required list is missing or invalid.
        """
        state = self._hash(user, query)
        if (outside := self._outside(user)) is not None:
            return self._alone((outside[0],), lists, outside[1])
        rng = _generator(state)
        rankers = self._chosen(rng)
        if len(rankers) == 1:
            single = self._alone(rankers, lists, RUNNING)
            return single._replace(impression=_impression(self.version, state, "\n".join(map(str, single.page))))
        page = interleave(
            {name: _list(lists, name) for name in rankers}, self.method, outcome=self.outcome, top=self.top, rng=rng
        )
        shown = list(map(str, page.shown))
        if len(set(shown)) < len(shown):
            raise InputError("a document id is on the page as a string and as a number")
        credit, content = self._credit(rankers, page, shown)
        impression = _impression(self.version, state, content)
        record = {
            "impression": impression,
            "time": time.time() if now is None else now,
            "query": query,
            "user": user,
            "shown": shown,
            "rankers": list(rankers),
            "method": self.method,
            "outcome": self.outcome,
            "policy": self.policy,
            "propensity": self.propensity(rankers),
            **credit,
        }
        return Decision(page.shown, rankers, record, RUNNING, self.version, impression)

    def rankers(self, user: str, query: str) -> tuple[str, ...]:
        """Return the rankers whose lists `decide` requires for this search."""
        state = self._hash(user, query)
        outside = self._outside(user)
        return self._chosen(_generator(state)) if outside is None else (outside[0],)

    def propensity(self, rankers: Sequence[str]) -> float:
        """Return the probability that a search gets this set of rankers, if its user takes part."""
        return self._counts[tuple(sorted(rankers))] / self.draws

    def impression(self, user: str, query: str, shown: Sequence[str], credit: Sequence[int] | str) -> str:
        """Return the name that `decide` gives to a page. ``credit`` is ``owners`` or ``page`` of `Decision.record`."""
        content = credit if isinstance(credit, str) else _owned(shown, credit)
        return _impression(self.version, self._hash(user, query), content)

    def bucket(self, user: str) -> float:
        """Return a random number from 0 to below 1 that is fixed for the user during the experiment.

        Users with numbers below ``share`` take part. Users with numbers of 1 - ``holdback`` or more always get the
        incumbent's list.
        """
        return float(_generator(hashlib.sha256(f"{self.salt}\0{user}".encode()).digest()).random())

    @cached_property
    def draws(self) -> int:
        """The sum of the numbers in ``sets``: how often the policy chose a set for this plan."""
        return self._bounds[-1]

    @cached_property
    def _bounds(self) -> list[int]:
        return list(accumulate(count for _, count in self.sets))

    @cached_property
    def _counts(self) -> Counter[tuple[str, ...]]:
        counts = Counter[tuple[str, ...]]()
        for rankers, count in self.sets:
            counts[tuple(sorted(rankers))] += count
        return counts

    def _outside(self, user: str) -> tuple[str, str] | None:  # the only ranker that the user sees, and why
        if self.mode == RUNNING and self.share == 1:
            return None
        if self.mode == PAUSED:
            return self.incumbent, PAUSED
        bucket = self.bucket(user)
        if bucket >= 1 - self.holdback:
            return self.incumbent, "holdback"
        if self.mode != RUNNING:
            return self.winner or self.incumbent, self.mode
        return None if bucket < self.share else (self.incumbent, "share")

    def _chosen(self, rng: np.random.Generator) -> tuple[str, ...]:
        return self.sets[bisect_right(self._bounds, int(rng.random() * self.draws))][0]

    def _credit(self, rankers: tuple[str, ...], page: Page, shown: list[str]) -> tuple[dict[str, Any], str]:
        if self.method.partition(":")[0] != "team_draft":
            text = page.to_json()
            return {"page": text}, text
        owners = [-1 if owner is None else rankers.index(owner) for owner in page.owners]
        return {"owners": owners}, _owned(shown, owners)

    def _alone(self, rankers: tuple[str, ...], lists: Mapping[str, Sequence[Any]], served: str) -> Decision:
        ids = tuple(_list(lists, rankers[0]))
        if len({*map(str, ids)}) < len(ids):
            twice = next(document for document, count in Counter(map(str, ids)).items() if count > 1)
            raise InputError(f"document {twice!r} appears twice on the list of ranker '{rankers[0]}'")
        return Decision(ids[: self.top], rankers, None, served, self.version)

    def _hash(self, user: str, query: str) -> bytes:
        require_text("the user", user)
        require_text("the query", query, empty=True)
        if "\0" in user:  # this character separates user and query
            raise InputError("the user contains the null character")
        return hashlib.sha256(f"{self.salt}\0{self.version}\0{user}\0{query}".encode()).digest()

    def to_json(self, keys: Keys) -> str:
        """Return the plan as JSON text, signed with the first of the keys."""
        plan = {name: getattr(self, name) for name in (*_TEXTS, *_WHOLE, "winner")} | {"format": _FORMAT}
        plan |= {name: repr(float(getattr(self, name))) for name in _SHARES}  # languages write floats differently
        plan["sets"] = [{"rankers": list(rankers), "draws": count} for rankers, count in self.sets]
        key, signature = keys.sign(_canonical(plan))
        return json.dumps({"key": key, "plan": plan, "signature": signature}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str, keys: Keys, *, source: str = "the plan") -> LivePlan:
        """Read a plan that `to_json` wrote. Raises `InputError` unless one of the keys has signed it."""
        try:
            content = json.loads(text)
            plan, key, signature = content["plan"], content["key"], content["signature"]
            if not isinstance(key, str) or not isinstance(signature, str) or not isinstance(plan, dict):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(f"{source}: not a plan of 'ltr-duel live plan'") from None
        if key not in keys:
            raise InputError(f"{source}: signed by key {errors.shown(key)}, which is not among {', '.join(keys)}")
        if not keys.is_signed(_canonical(plan), key, signature):
            raise InputError(f"{source}: changed since it was signed by key '{key}'")
        if plan.get("format") != _FORMAT:
            raise InputError(f"{source}: made by another version: {errors.shown(plan.get('format'))}, not '{_FORMAT}'")
        try:
            return cls(**_legal(plan))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{source}: signed, but not a valid plan ({error})") from None

    @classmethod
    def read(cls, path: str | Path, keys: Keys) -> LivePlan:
        """Read a plan from a file. Raises `InputError` unless one of the keys has signed it."""
        path = arguments.as_path("a plan", path)
        try:
            text = path.read_text("utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        return cls.from_json(text, keys, source=str(path))


def _legal(plan: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: plan[name] for name in (*_TEXTS, *_WHOLE, "winner")}
    fields |= {name: float(plan[name]) for name in _SHARES}
    fields["sets"] = tuple((tuple(item["rankers"]), item["draws"]) for item in plan["sets"])
    whole = all(type(fields[name]) is int and 0 <= fields[name] <= _LARGEST for name in _WHOLE)
    if not whole or not fields["version"] or not 1 <= fields["top"] <= MOST_SHOWN:
        raise ValueError("version, at, top or learned")
    texts = all(type(fields[name]) is str for name in _TEXTS) and isinstance(fields["winner"], str | None)
    if not texts or fields["mode"] not in MODES:
        raise ValueError("a text")
    if not all(0 <= fields[name] <= 1 for name in _SHARES):
        raise ValueError("share or holdback")
    if not fields["sets"] or not all(type(count) is int and 0 < count <= _LARGEST for _, count in fields["sets"]):
        raise ValueError("draws")
    for rankers, _ in fields["sets"]:
        if not rankers or len(set(rankers)) < len(rankers) or not all(isinstance(name, str) for name in rankers):
            raise ValueError("rankers")
    METHODS.configure(fields["method"])
    return fields


def _canonical(plan: Mapping[str, Any]) -> str:
    # Programs in other languages must write the same bytes: ASCII, with sorted keys and without spaces.
    return json.dumps(plan, sort_keys=True, separators=(",", ":"))


_local = threading.local()  # each thread keeps one generator, because making one takes longer than a decision


def _generator(state: bytes) -> np.random.Generator:
    try:
        rng: np.random.Generator = _local.rng
    except AttributeError:
        rng = _local.rng = np.random.Generator(np.random.SFC64(0))
    rng.bit_generator.state = {
        "bit_generator": "SFC64", "state": {"state": np.frombuffer(state, "<u8")}, "has_uint32": 0, "uinteger": 0,
    }  # fmt: skip
    return rng


def _impression(version: int, state: bytes, content: str) -> str:
    return f"{version}-{hashlib.sha256(state + content.encode()).hexdigest()[:16]}"


def _owned(shown: Sequence[str], owners: Sequence[int]) -> str:
    return "\n".join([*shown, " ".join(map(str, owners))])


def _list(lists: Mapping[str, Sequence[Any]], name: str) -> Sequence[Any]:
    try:
        ids = lists[name]
    except (KeyError, TypeError):
        raise InputError(f"the list of ranker '{name}' is missing; this search requires it (see rankers)") from None
    if not isinstance(ids, list | tuple):
        ids = listed(name, ids)
    if not ids:
        raise InputError(f"the list of ranker '{name}' is empty")
    for document in ids if not {*map(type, ids)} <= {str, int} else ():
        if not isinstance(document, str | int | np.integer) or isinstance(document, bool):
            raise InputError(f"document id {errors.shown(document)} is neither a string nor a whole number")
    text = "\n".join(map(str, ids))
    require_text("a document id", text, len(text), empty=True)
    if text.count("\n") >= len(ids):  # a line feed separates the ids of a page
        raise InputError(f"a document id on the list of ranker '{name}' contains a line feed")
    return ids
