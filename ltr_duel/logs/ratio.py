"""Ratios of two outcomes of a log: their rows, in the form of those of a single outcome."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ltr_duel.logs.attribution import Outcome
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import Credited, credited


class Ratio(NamedTuple):
    """A ratio of two outcomes, such as purchases for each click; as text, ``purchase/click``.

    Of a pair of rankers, it is (w - l) / n: by the numerator, the first ranker wins w impressions and loses l; by the
    denominator, n impressions are not tied. Its error follows from the clusters' sums of both (delta method).

    Examples
    --------
    >>> Ratio("purchase", "click").name
    'purchase/click'
    """

    numerator: str  # name of an outcome of the log
    denominator: str

    @property
    def name(self) -> str:
        """The ratio as text."""
        return f"{self.numerator}/{self.denominator}"


AnyOutcome = str | Outcome | Ratio


def ratio_in(outcome: AnyOutcome, names: Collection[str] = ()) -> AnyOutcome:
    """Return a `Ratio` if an outcome is the text of one, and not one of the names, else the outcome."""
    if isinstance(outcome, str) and outcome not in names and outcome.strip("/").count("/") == 1:
        return Ratio(*outcome.split("/"))
    return outcome


def single_outcomes(outcomes: Collection[AnyOutcome]) -> list[str | Outcome]:
    """Return the different outcomes that a log must have: of ratios, numerator and denominator."""
    singles = [given if isinstance(given, Ratio) else (given,) for given in map(ratio_in, outcomes)]
    return list(dict.fromkeys(name for pair in singles for name in pair))


def outcome_name(outcome: AnyOutcome) -> str:
    """Return the name of an outcome."""
    return outcome if isinstance(outcome, str) else outcome.name


def credited_outcome(log: ClickLog, outcome: AnyOutcome, rankers: Collection[str] = ()) -> Credited:
    """Return the credited log; the outcomes of a ratio are those of the numerator, with a column ``weight``."""
    if not isinstance(outcome, Ratio):
        return credited(log, rankers, outcome=outcome_name(outcome))
    numerator, denominator = (credited(log, rankers, outcome=name) for name in outcome)
    sql = "SELECT n.*, abs(d.y) AS weight FROM numerator n JOIN denominator d ON n.line = d.line AND n.pair = d.pair"
    both = log.engine.keep(sql, numerator=numerator.outcomes, denominator=denominator.outcomes)
    return numerator._replace(outcomes=both)
