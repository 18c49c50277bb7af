"""Make the next plan from the settings of an experiment and the log of its earlier plans.

A plan is determined by settings, log, version and start time: the same inputs give the same bytes at any time, on any
machine.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ltr_duel.bandits import Learner
from ltr_duel.core import InputError, digest, schema, stream
from ltr_duel.live import Settings, default_outcome, live_order, live_streams
from ltr_duel.logs import ClickLog
from ltr_duel.plan.outcomes import Learned, Shown, outcomes_of
from ltr_duel.plan.plan import MOST_SETS, LivePlan

_HOUR = 3600
_LAW = ("name", "rankers", "policy", "method", "outcome", "top", "horizon", "seed")  # settings that determine a plan


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """The table ``[plan]`` of an experiment's file. The guide to plans explains each key."""

    batch: int = schema.value(schema.whole(1, MOST_SETS), default=1000)
    hours: float = schema.value(schema.number(0, 100_000), default=0.0)
    key_file: str = schema.value(schema.text, default="plan.keys")


def plan_settings(settings: Settings, place: str = "the settings") -> PlanSettings:
    """Read the table ``[plan]`` of settings."""
    return schema.read_table(PlanSettings, dict(settings.plan), f"{place}: plan")


class Planner:
    """Makes a sequence of plans."""

    def __init__(self, settings: Settings, planned: PlanSettings) -> None:
        self.settings, self.planned, self.version = settings, planned, 1
        others, rng = stream(settings.seed or 0, "plan", "others", settings.policy), live_streams(settings).policy
        order, horizon = live_order(settings), settings.horizon
        self._learner = Learner(
            settings.policy, len(settings.rankers), horizon=horizon, rng=rng, others=others, order=order
        )
        self._sets = self._drawn()

    def learn(self, shown: list[Shown]) -> None:
        """Learn the outcomes of the latest plan, and sample the next plan.

        Pages of a single ranker have no row in the log, but count as steps of the policy. The number of these steps is
        estimated from the number of rows. If all pages of the plan show a single ranker, the number is the batch size.
        """
        alone = {arms: count for arms, count in self._sets.items() if len(arms) == 1}
        of, draws = sum(alone.values()), self.planned.batch
        told = list(shown)
        for arms, count in sorted(alone.items()):
            steps = count if of == draws else round(len(shown) * count / (draws - of))
            both = arms if self.settings.policy_component.feedback == "slate" else arms * 2
            told += [(both, b"")] * steps
        self._learner.learn(told)
        self.version += 1
        self._sets = self._drawn()

    def _drawn(self) -> Counter[tuple[int, ...]]:
        drawn = self._learner.choose(self.planned.batch)
        if not self.settings.policy_component.any_order and any(len(set(one)) < len(one) > 2 for one in drawn):
            raise InputError(
                f"'{self.settings.policy}' requires sets that contain a ranker twice, which a plan cannot show"
            )
        return Counter(tuple(dict.fromkeys(one)) for one in drawn)

    def plan(self, *, at: int = 0, learned: Learned | None = None) -> LivePlan:
        """Return the current plan."""
        settings, names = self.settings, self.settings.rankers
        sets = [(tuple(names[arm] for arm in arms), count) for arms, count in self._sets.items()]
        salt = hashlib.sha256(f"{settings.name}\0{settings.seed or 0}\0{self.version}".encode()).hexdigest()[:32]
        return LivePlan(
            experiment=settings.name,
            version=self.version,
            at=at,
            until=at + round(self.planned.hours * _HOUR) if self.planned.hours else 0,
            **{name: getattr(settings, name) for name in ("policy", "method", "top", "incumbent")},
            outcome=settings.outcome or default_outcome(settings),
            salt=salt,
            sets=tuple(sorted(sets, key=lambda one: (-one[1], one[0]))),
            recommended=names[self._learner.recommend()],
            settings=digest.digest_of([self.planned.batch, *(getattr(settings, name) for name in _LAW)]),
            log=learned.digest if learned else "",
            learned=learned.rows if learned else 0,
        )


def next_plan(
    settings: Settings,
    log: ClickLog | None,
    *,
    at: float,
    version: int | None = None,
    after: int = 0,
    plan: PlanSettings | None = None,
) -> LivePlan:
    """Make the next plan of an experiment.

    Parameters
    ----------
    settings : Settings
    log : ClickLog, optional
        The exposures of all earlier plans with their clicks; None for the first plan.
    at : float
        Start time of the plan, in seconds since 1970. Exposures whose deadline (see the settings) has not passed at
        this time are omitted, because their clicks may still arrive.
    version : int, optional
        Version of the plan; by default one more than the larger of ``after`` and the last version in the log.
    after : int
        Version of the last plan used. It is required if the last plan has no row in the log because each of its pages
        shows a single ranker.
    plan : PlanSettings, optional

    Returns
    -------
    LivePlan

    Raises
    ------
    InputError
        If the log cannot be read or credited, or contains exposures of ``version``, of a later plan, or of no plan.

    Examples
    --------
    >>> from ltr_duel.live import Settings
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="self_sparring")
    >>> plan = next_plan(settings, None, at=0)
    >>> plan.version, sum(draws for _, draws in plan.sets)
    (1, 1000)
    """
    learned = outcomes_of(log, settings, at - settings.deadline) if log is not None else None
    versions: dict[int, Any] = learned.versions if learned else {}
    wanted = max(after, *versions, 0) + 1 if version is None else version
    if max(versions, default=0) >= wanted:
        raise InputError(
            f"{log.path if log else ''}: has exposures of plan {max(versions)}, so the next version cannot be {wanted}"
        )
    planner = Planner(settings, plan or plan_settings(settings))
    while planner.version < wanted:
        planner.learn(versions.get(planner.version, []))
    return planner.plan(at=int(at), learned=learned)
