"""Make the next plan of an experiment. The policy learns from a batch of outcomes, and then chooses sets of rankers.

The outcome of a page has the indices of its rankers (the arms) and, for each pair of rankers, +1 if the first won or -1
if the second won. For a tie, one of the two numbers is drawn. The draw depends only on the name of the
impression, so the same impressions always give the same plan.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.bandits import POLICIES, Learner
from ltr_duel.core import InputError, IntVector, SignVector, digest, errors, interpreted, several, shuffle, stream
from ltr_duel.interleaving import Page
from ltr_duel.live.plan import RUNNING, WINNER, LivePlan
from ltr_duel.live.settings import Settings, with_seed
from ltr_duel.logs import ClickLog, credited
from ltr_duel.simulation import RunKey, run_order, run_streams

_FIXED = "name", "rankers", "policy", "method", "outcome", "top", "horizon", "batch", "credit"  # the same in all plans
_MIX = np.uint64(0x9E3779B97F4A7C15)
IMPRESSION = re.compile(r"[1-9][0-9]{0,8}-[0-9a-f]{16}")
_SEPARATOR = "\x1f"

Outcome = tuple[tuple[int, ...], bytes]
Coins = NDArray[np.uint64]


class Planner:
    """Makes one plan after another for an experiment: `learn` tells its policy the outcomes, `plan` returns the plan.

    ``settings`` must have a seed (see `with_seed`). ``left`` lists the indices of the rankers to use, by default all.
    """

    def __init__(self, settings: Settings, left: Sequence[int] = ()) -> None:
        if settings.seed is None:
            raise InputError("seed: a planner requires settings with a seed")
        self.settings, self.version, self.learned = settings, 1, 0
        every = tuple(range(len(settings.rankers)))
        self._left = tuple(left) or every
        _, policy, params = POLICIES.configure(settings.policy)
        if self._left == every:
            key = RunKey({}, policy.name, params._asdict(), settings.horizon, 0, settings.seed)
            rng, order = run_streams(key).policy, run_order(key, len(every))
        else:
            rng, order = stream(settings.seed, "left", *self._left), np.arange(len(self._left))
            interpreted(shuffle)(order, rng)
        others = stream(settings.seed, "plan", "others", settings.policy, *(set(self._left) ^ set(every)))
        self._learner = Learner(
            settings.policy, len(order), horizon=settings.horizon, rng=rng, others=others, order=order
        )
        self._owed = dict[tuple[int, ...], float]()  # parts of steps of single rankers that the policy is not told yet
        self._sets = self._drawn()

    @property
    def shows_single_rankers(self) -> bool:
        """Whether all pages of the current plan show a single ranker, so that nothing is compared."""
        return all(len(arms) == 1 for arms in self._sets)

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        """Tell the policy the outcomes of pages in the order of display. The policy then chooses sets for a new plan.

        The outcome of a page with a single ranker has no signs.
        """
        if len(self._left) < len(self.settings.rankers):
            outcomes = [(tuple(map(self._left.index, arms)), signs) for arms, signs in outcomes]
        self._learner.tell(outcomes)
        self.learned += sum(bool(signs) for _, signs in outcomes)
        self.version += 1
        self._sets = self._drawn()

    def single_steps(self, outcomes: int) -> list[Outcome]:
        """Return outcomes for the pages with a single ranker that the plan has shown.

        A log does not contain these pages. ``outcomes`` is the number of logged pages, from which the number of pages
        with a single ranker is estimated.
        """
        alone = {arms: count for arms, count in self._sets.items() if len(arms) == 1}
        compared, steps = self._sets.total() - sum(alone.values()), list[Outcome]()
        for arms, count in sorted(alone.items()):
            owed = self._owed.get(arms, 0.0) + (outcomes * count / compared if compared else count)
            self._owed[arms] = owed - int(owed)
            steps += [(arms if self.settings.compares_sets else arms * 2, b"")] * int(owed)
        return steps

    def plan(
        self, version: int | None = None, *, at: int = 0, mode: str = RUNNING, winner: str | None = None,
        share: float | None = None, holdback: float | None = None,
    ) -> LivePlan:  # fmt: skip
        """Return the current plan, by default with the share and the holdback of the settings."""
        settings, names = self.settings, self.settings.rankers
        sets = [(tuple([names[arm] for arm in arms]), count) for arms, count in self._sets.items()]
        return LivePlan(
            experiment=settings.name, version=version or self.version, at=at, mode=mode, winner=winner,
            share=settings.share if share is None else share,
            holdback=settings.holdback if holdback is None else holdback,
            **{name: getattr(settings, name) for name in ("policy", "method", "outcome", "top", "incumbent")},
            salt=str(settings.seed),
            sets=tuple(sorted(sets, key=lambda draw: (-draw[1], draw[0]))),
            recommended=names[self._left[self._learner.recommend()]],
            settings=_digest_of(settings), learned=self.learned,
        )  # fmt: skip

    def _drawn(self) -> Counter[tuple[int, ...]]:
        drawn = self._learner.ask(self.settings.batch)
        sets = Counter[tuple[int, ...]]()
        for arms, count in Counter(drawn).items():
            distinct = tuple(dict.fromkeys(arms))
            if len(distinct) < len(arms) > 2 and not self.settings.policy_component.any_order:
                raise InputError(
                    f"'{self.settings.policy}' requires sets that contain a ranker twice, which a plan cannot show"
                )
            sets[tuple([self._left[arm] for arm in distinct])] += count
        return sets


def _digest_of(settings: Settings) -> str:
    return digest.digest_of([settings.policy_component.version, *(getattr(settings, name) for name in _FIXED)])


def credit(record: Mapping[str, Any], positions: Sequence[int]) -> tuple[int, ...]:
    """Return who won each pair of rankers on a page: +1 for the first, -1 for the second, 0 for a tie.

    ``positions`` are the clicked positions, from 1.
    """
    rankers = record["rankers"]
    if "page" in record:
        page = Page.from_json(record["page"])
        won = page.credit([page.shown[position - 1] for position in positions])
        return tuple([(y > 0) - (y < 0) for y in won.values()])
    owners = [record["owners"][position - 1] for position in positions]
    clicks = [owners.count(k) for k in range(len(rankers))]
    return tuple([(a > b) - (a < b) for a, b in combinations(clicks, 2)])


def outcome(settings: Settings, record: Mapping[str, Any], won: Sequence[int]) -> Outcome:
    """Return the outcome of a page for `Planner.learn`. ``won`` is the result of `credit` for this page."""
    arms = tuple([settings.rankers.index(name) for name in record["rankers"]])
    coin = int(record["impression"].partition("-")[2], 16)
    coins = np.full(len(won), coin, np.uint64)
    return arms, _decided(np.array(won, np.int8), coins, np.arange(len(won))).tobytes()


def _decided(won: SignVector, coins: Coins, places: IntVector) -> SignVector:
    # A tie is decided by a bit that depends only on the impression and on the place of the pair.
    with np.errstate(over="ignore"):
        mixed = (coins ^ (places.astype(np.uint64) + np.uint64(1))) * _MIX
    return np.where(won == 0, 1 - 2 * (mixed >> np.uint64(63)).astype(np.int8), won)


def next_plan(
    settings: Settings, log: ClickLog | None = None, *, at: float, last: LivePlan | None = None,
    winner: str | None = None,
) -> LivePlan:  # fmt: skip
    """Make the next plan of an experiment from its settings and the log of all earlier plans.

    Parameters
    ----------
    settings : Settings
    log : ClickLog, optional
        The log of all earlier plans, with all impressions and clicks. By default, there is no earlier plan.
    at : float
        The time at which the plan starts, in seconds since 1970. Impressions are left out if they may still get clicks
        after this time (see ``Settings.window``).
    last : LivePlan, optional
        The last plan, which the new plan follows. By default, the new plan is the first plan.
    winner : str, optional
        The ranker whose list users get from now on, unless they are held back. By default, the experiment goes on.

    Returns
    -------
    LivePlan
        The next plan. If the settings have a seed, the same arguments always give the same plan.

    Raises
    ------
    InputError
        If the settings have changed since the last plan, if the log cannot be read, or if its impressions do not fit
        the earlier plans.

    Examples
    --------
    >>> from ltr_duel.live import Settings
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="self_sparring")
    >>> plan = next_plan(settings, at=0)
    >>> plan.version, plan.draws, next_plan(settings, at=60, last=plan).version
    (1, 1000, 2)
    """
    if last is not None and settings.seed not in (None, int(last.salt)):
        raise InputError("seed: differs from the seed of the last plan")
    settings = with_seed(settings) if last is None else replace(settings, seed=int(last.salt))
    if winner is not None and winner not in settings.rankers:
        raise errors.unknown_name("ranker", winner, settings.rankers)
    planner, version = Planner(settings), 1 if last is None else last.version + 1
    if last is not None and last.settings != _digest_of(settings):
        raise InputError(f"the settings have changed since plan {last.version}: begin another experiment")
    logged = logged_outcomes(log, settings, before=at - settings.window) if log is not None else {}
    if logged and max(logged) >= version:
        raise InputError(
            f"{log.path if log else ''}: has exposures of plan {max(logged)}, so the next plan is not plan {version}"
        )
    while planner.version < version:
        outcomes = logged.get(planner.version, [])
        planner.learn(outcomes + planner.single_steps(len(outcomes)))
    if last is not None and planner.learned < last.learned:
        if not winner:
            raise InputError(
                f"the log has {several(planner.learned, 'impression')} whose window is over, but plan {last.version}"
                f" has learned from {last.learned:,}: give the whole log of all earlier plans"
            )
        planner.learned = last.learned  # to serve a winner, no log is required; the next plan requires it again
    return planner.plan(at=int(at), mode=WINNER if winner else RUNNING, winner=winner)


def logged_outcomes(log: ClickLog, settings: Settings, *, before: float) -> dict[int, list[Outcome]]:
    """Return the outcomes of the pages that each plan showed before a time, in the order of display."""
    log = log.limited(settings.window)
    credits = credited(log, settings.rankers, columns=("impression", "rankers"))
    rows = log.engine.query(
        f"SELECT line, impression, time, array_to_string(rankers, '{_SEPARATOR}') AS rankers FROM shown"
        f" WHERE time < {before!r} ORDER BY line",
        shown=credits.rows,
    )
    table = log.engine.query("SELECT line, pair, y FROM outcomes", outcomes=credits.outcomes)
    version, coins = _parsed(log, rows["impression"].to_pylist(), rows["line"])
    sets = rows["rankers"].combine_chunks().dictionary_encode()
    kind, number = sets.indices.to_numpy(), {name: arm for arm, name in enumerate(settings.rankers)}
    arms = [tuple([number[name] for name in text.split(_SEPARATOR)]) for text in sets.dictionary.to_pylist()]
    size = np.array([len(some) for some in arms], np.int64)
    place = np.zeros((len(arms), len(number)), np.int64)  # place of each ranker in each set
    for some, places in zip(arms, place, strict=True):
        places[list(some)] = range(len(some))
    ends = np.cumsum((size * (size - 1) // 2)[kind])  # where each row's pairs end in an array of all pairs
    begins = ends - (size * (size - 1) // 2)[kind]
    won, lines = np.zeros(ends[-1] if len(ends) else 0, np.int8), rows["line"].to_numpy()

    pairs = np.array([[number[a], number[b]] for a, b in credits.creditor.named_pairs], np.int64).reshape(-1, 2)
    row = np.searchsorted(lines, table["line"].to_numpy())
    used = row < len(lines)
    used[used] = lines[row[used]] == table["line"].to_numpy()[used]
    row, (first, second) = row[used], pairs[table["pair"].to_numpy()[used]].T
    i, j = place[kind[row], first], place[kind[row], second]
    low, high = np.minimum(i, j), np.maximum(i, j)
    position = low * size[kind[row]] - low * (low + 1) // 2 + high - low - 1
    won[begins[row] + position] = np.sign(table["y"].to_numpy()[used]) * np.where(i < j, 1, -1)

    owner = np.repeat(np.arange(len(lines)), ends - begins)
    signs = _decided(won, coins[owner], np.arange(len(won)) - begins[owner]).tobytes()
    outcomes: dict[int, list[Outcome]] = {}
    order = np.lexsort((coins, rows["time"].to_numpy(), version))
    facts = zip(*(column[order].tolist() for column in (version, kind, begins, ends)), strict=True)
    for number_of_plan, set_number, begin, end in facts:
        outcomes.setdefault(number_of_plan, []).append((arms[set_number], signs[begin:end]))
    return outcomes


def _parsed(log: ClickLog, impressions: list[str], lines: Any) -> tuple[IntVector, Coins]:
    for k, name in enumerate(impressions):
        if not IMPRESSION.fullmatch(name):
            message = f"impression '{name}' belongs to no plan; valid: 3-0123456789abcdef"
            raise InputError(f"{log.find(lines[k].as_py())}: {message}")
    parts = [name.partition("-") for name in impressions]
    coins = np.frombuffer(bytes.fromhex("".join([digits for *_, digits in parts])), ">u8").astype(np.uint64)
    return np.array([int(number) for number, *_ in parts], np.int64), coins
