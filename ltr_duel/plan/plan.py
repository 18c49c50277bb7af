"""A plan: the probabilities with which sets of rankers are shown, for decisions without a service.

A plan is a file. A hash of the plan's salt, the user and the query determines the page of a search. Every machine that
has the plan therefore shows the same page each time, and no machine stores anything. The rules are simple to implement
in any language (docs/plans.md); `clients/js/plan.js` implements them in JavaScript.
"""

from __future__ import annotations

import hashlib
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import InputError, arguments, errors
from ltr_duel.interleaving import Page, interleave, listed
from ltr_duel.live import Keys
from ltr_duel.plan.signing import FIELDS, signed, verified

MOST_SETS = 100_000
_IDS, _HALF = {str, int}, "half of a surrogate pair, which is not valid Unicode"


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """The page of a search.

    Parameters
    ----------
    shown : tuple
        Document ids of the requested part of the page, from top to bottom.
    rankers : tuple of str
        The rankers whose lists are on the page.
    record : dict or None
        The page as a row of a click log, for `ltr-duel logs` and the next plan; None for a page of a single ranker.
    total : int
        Number of documents on the whole page.
    served : str
        ``plan``, or ``expired`` if the plan has ended, so that the page shows the incumbent's list.

    Examples
    --------
    >>> PlanDecision(("d1", "d2"), ("old",), None, total=10).served
    'plan'
    """

    shown: tuple[Any, ...]
    rankers: tuple[str, ...]
    record: dict[str, Any] | None = field(repr=False)
    total: int
    served: str = "plan"


@dataclass(frozen=True, eq=False)
class LivePlan:
    """The sets of rankers that are shown to searches, and the probability of each set.

    Parameters
    ----------
    experiment : str
    version : int
        Number of the plan, from 1.
    at, until : int
        Start and end of the plan, in seconds since 1970; ``until`` is 0 if the plan has no end.
    policy, method, outcome : str
        As in the settings of the experiment.
    top : int
        Maximum number of documents shown.
    salt : str
        Salt of the hash; each plan of an experiment has a different salt.
    sets : tuple of (tuple of str, int)
        Sets of different rankers; each set with the number of times the policy drew it. ``draws`` is the sum of these.
    recommended, incumbent : str
        The policy's recommendation, and the ranker that is shown after the end of the plan.
    settings, log : str
        Digests of the settings and of the outcomes in the log.
    learned : int
        Number of impressions in the log from which the policy has learned.

    Examples
    --------
    >>> from ltr_duel.live import Keys, Settings
    >>> from ltr_duel.plan import next_plan
    >>> plan = next_plan(Settings(name="shoes", rankers=("old", "new"), policy="self_sparring"), None, at=0)
    >>> keys = Keys({"2026": bytes(32)})
    >>> plan = LivePlan.from_json(plan.to_json(keys), keys)
    >>> lists = {"old": ["a", "b"], "new": ["c", "a"]}
    >>> page = plan.decide("user 7", "red shoes", lists)
    >>> page.shown == plan.decide("user 7", "red shoes", lists).shown
    True
    """

    experiment: str
    version: int
    at: int
    until: int
    policy: str
    method: str
    outcome: str
    top: int
    salt: str
    sets: tuple[tuple[tuple[str, ...], int], ...]
    recommended: str
    incumbent: str
    settings: str
    log: str
    learned: int

    @cached_property
    def draws(self) -> int:
        """How many sets the policy drew for the plan."""
        return self._bounds[-1]

    @cached_property
    def _bounds(self) -> list[int]:
        return list(accumulate(count for _, count in self.sets))

    def rankers(self, unit: str, query: str) -> tuple[str, ...]:
        """Return the rankers whose lists a search requires; parameters as in `decide`."""
        return self._chosen(_generator(self._hash(unit, query)))[0]

    def propensity(self, rankers: Sequence[str]) -> float:
        """Return the probability that `rankers` returns these rankers for a search, in any order."""
        return self._counts[tuple(sorted(rankers))] / self.draws

    @cached_property
    def _counts(self) -> Counter[tuple[str, ...]]:
        counts = Counter[tuple[str, ...]]()
        for names, count in self.sets:
            counts[tuple(sorted(names))] += count
        return counts

    def impression(self, unit: str, query: str) -> str:
        """Return the id of a search's impression, which is the same each time the page of the search is shown."""
        return self._name(self._hash(unit, query))

    def _name(self, seed: bytes) -> str:
        return f"{self.version}-{hashlib.sha256(seed).hexdigest()[:16]}"

    def decide(
        self,
        unit: str,
        query: str,
        rankings: Mapping[str, Sequence[Any]],
        *,
        offset: int = 0,
        limit: int | None = None,
        now: float | None = None,
    ) -> PlanDecision:
        """Return the page of a search, which is the same on every machine and at any time before the plan ends.

        Parameters
        ----------
        unit : str
            A stable id of the user or session.
        query : str
        rankings : mapping of str to sequence
            Document ids (strings or whole numbers), best first, of each ranker that `rankers` returns; after the end
            of the plan, of the incumbent.
        offset, limit : int, optional
            Number of documents to skip at the top, and number to return; by default, skip none and return all others.
        now : float, optional
            Time in seconds since 1970; by default the current time.

        Raises
        ------
        InputError
            If the list of a ranker is missing or empty, or contains a document twice or an invalid id; or if a string
            cannot be written to a log.
        """
        if now is None:
            now = time.time()
        if self.until and now >= self.until:
            return self._alone((self.incumbent,), rankings, offset, limit, "expired")
        seed = self._hash(unit, query)
        rng = _generator(seed)
        names, _ = self._chosen(rng)
        if len(names) == 1:
            return self._alone(names, rankings, offset, limit, "plan")
        page = interleave({name: _list(rankings, name) for name in names}, self.method, outcome=self.outcome,
                          top=self.top, rng=rng)  # fmt: skip
        shown = list(map(str, page.shown))
        if len(set(shown)) < len(shown):
            raise InputError("a document id is on the page as a string and as a number")
        if not _is_text("\n".join(shown)):
            raise InputError(f"a document id on the page contains {_HALF}")
        record = {
            "impression": self._name(seed),
            "time": now,
            "query": query,
            "user": unit,
            "shown": shown,
            **self._credit(names, page),
        }
        return PlanDecision(_part(page.shown, offset, limit), names, record, len(page.shown))

    def _credit(self, names: tuple[str, ...], page: Page) -> dict[str, Any]:
        """Return the columns of a log that determine how the clicks on a page are credited."""
        credit = {
            "rankers": list(names),
            "method": self.method,
            "outcome": self.outcome,
            "policy": self.policy,
            "propensity": self._propensities[names],
        }
        if self.method.partition(":")[0] != "team_draft":
            return credit | {"page": page.to_json()}
        place = {name: k for k, name in enumerate(names)}
        return credit | {"owners": [-1 if owner is None else place[owner] for owner in page.owners]}

    @cached_property
    def _propensities(self) -> dict[tuple[str, ...], float]:
        return {names: self.propensity(names) for names, _ in self.sets}

    def _hash(self, unit: str, query: str) -> bytes:
        for what, text in (("user", unit), ("query", query)):
            if not isinstance(text, str):
                raise InputError(f"the {what} of a search must be a string, not {errors.shown(text)}")
            if not _is_text(text):
                raise InputError(f"the {what} of a search contains {_HALF}")
        if "\0" in unit:  # otherwise different users and queries could have the same hash
            raise InputError("the user of a search contains the null character")
        return hashlib.sha256(f"{self.salt}\0{unit}\0{query}".encode()).digest()

    def _chosen(self, rng: np.random.Generator) -> tuple[tuple[str, ...], int]:
        return self.sets[bisect_right(self._bounds, int(rng.random() * self.draws))]

    def _alone(
        self, names: tuple[str, ...], rankings: Mapping[str, Sequence[Any]], offset: int, limit: int | None, served: str
    ) -> PlanDecision:
        ids = tuple(_list(rankings, names[0]))
        if len(set(ids)) < len(ids):
            twice = next(one for k, one in enumerate(ids) if one in ids[:k])
            raise InputError(f"document {twice!r} appears twice on the list of ranker '{names[0]}'")
        shown = ids[: self.top]
        return PlanDecision(_part(shown, offset, limit), names, None, len(shown), served)

    def to_json(self, keys: Keys) -> str:
        """Return the plan as JSON, signed with the first key."""
        fields = {name: getattr(self, name) for name in FIELDS}
        return signed(fields | {"sets": [{"rankers": list(names), "draws": count} for names, count in self.sets]}, keys)

    @classmethod
    def from_json(cls, text: str, keys: Keys, *, place: str = "the plan") -> LivePlan:
        """Parse a string from `to_json`. Raises `InputError` if it is not a plan, or not signed by one of the keys."""
        fields = verified(text, keys, place)
        sets = tuple((tuple(one["rankers"]), one["draws"]) for one in fields.pop("sets"))
        del fields["draws"]
        return cls(**fields, sets=sets)

    @classmethod
    def read(cls, path: str | Path, keys: Keys) -> LivePlan:
        """Read the file of a plan. Raises `InputError` like `from_json`, or if the file cannot be read."""
        path = arguments.as_path("a plan", path)
        try:
            text = path.read_text("utf-8")
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a plan of 'ltr-duel live plan'") from None
        return cls.from_json(text, keys, place=str(path))


_local = threading.local()  # one generator for each thread, because making a generator takes longer than a decision


def _generator(seed: bytes) -> np.random.Generator:
    """Return the thread's generator, seeded with 32 bytes: the state of PCG64, then its increment (made odd)."""
    try:
        rng: np.random.Generator = _local.rng
    except AttributeError:
        rng = _local.rng = np.random.Generator(np.random.PCG64(0))
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": int.from_bytes(seed[:16], "big"), "inc": int.from_bytes(seed[16:], "big") | 1},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return rng


def _list(rankings: Mapping[str, Sequence[Any]], name: str) -> Sequence[Any]:
    try:
        found = rankings[name]
    except (KeyError, TypeError):
        raise InputError(f"the list of ranker '{name}' is missing; this search requires it (see rankers)") from None
    if not isinstance(found, list | tuple):
        found = listed(name, found)
    if not found:
        raise InputError(f"the list of ranker '{name}' is empty")
    if not {*map(type, found)} <= _IDS:
        for one in found:
            if not isinstance(one, str | int | np.integer) or isinstance(one, bool):
                raise InputError(f"document id {errors.shown(one)} is neither a string nor a whole number")
    return found


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _part(shown: tuple[Any, ...], offset: int, limit: int | None) -> tuple[Any, ...]:
    for one in (offset, limit or 0):
        if not isinstance(one, int | np.integer) or one < 0:
            raise InputError(f"offset and limit are whole numbers from 0, not {errors.shown(one)}")
    return shown[offset:][:limit]
