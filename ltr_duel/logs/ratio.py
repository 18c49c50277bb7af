"""Ratios of two outcomes of a log: their rows and sums, in the form of those of a single outcome."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.logs.attribution import Outcome
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import UNIT, Credited, credited
from ltr_duel.logs.sums import Clusters, Grouping, Growth, PairSums, pair_sums

LINES = "line"  # kind of cluster in the sums of a ratio if each impression is a cluster


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
    singles = [one if isinstance(one, Ratio) else (one,) for one in map(ratio_in, outcomes)]
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


def outcome_sums(engine: Any, outcomes: Any, grouping: Grouping, step: float = 0.0) -> tuple[PairSums, list[Growth]]:
    """Return `pair_sums` of credited outcomes; of a ratio, the size of a cluster is the sum of its denominator."""
    sums, parts = pair_sums(engine, outcomes, grouping, step)
    if "weight" not in outcomes.columns:
        return sums, parts
    clusters = []
    for keys in grouping.keys:
        groups = ["pair", *(f'"{key}"' for key in keys or (LINES,))]
        groups += ['CASE WHEN "user" IS NULL THEN line END'] * ("user" in keys and not grouping.named)
        each = "SELECT pair, CAST(sum(weight) AS BIGINT) AS n, CAST(sum(y) AS BIGINT) AS total FROM outcomes"
        each = f"({each} GROUP BY {', '.join(groups)}) AS c WHERE n > 0 OR total <> 0"
        sql = f"SELECT pair, n, total, count(*) AS number FROM {each} GROUP BY pair, n, total ORDER BY pair, n, total"
        pair, n, total, number = (column.to_numpy() for column in engine.query(sql, outcomes=outcomes).columns)
        clusters.append(Clusters(pair.astype(np.int64), n / UNIT, total, number))
    return replace(sums, kinds=tuple(clusters), cluster=LINES if sums.cluster == "impression" else sums.cluster), parts
