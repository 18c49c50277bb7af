"""A log as sums: the engine reads it, and what is known of each pair of rankers leaves the engine."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ltr_duel.logs.clusters import Means
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import Look, looks_of, step_of
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.sums import PairSums, pair_sums


class Summed(NamedTuple):
    """The sums of a log, and what is in it."""

    creditor: Creditor  # names, pairs, method and outcome rule
    sums: PairSums
    looks: list[Look]
    impressions: int
    users: int  # different ones; 0 if the log does not say
    queries: int
    first: float  # time of the first impression
    last: float
    largest: tuple[str, int]  # the user with most impressions, and how many


def summed(log: ClickLog, cluster: str = "", rankers: Collection[str] = ()) -> Summed:
    """Credit a log and sum its outcomes.

    Parameters
    ----------
    log : ClickLog
    cluster : str
        One of `CLUSTERS`; by default users, if any row of the log names one, else queries.
    rankers : collection of str
        The only legal ones, or none for any.

    Raises
    ------
    InputError
        As `credited`.
    """
    outcomes, rows, creditor = credited(log, rankers)
    about = log.engine.run(
        rows.aggregate(n=rows.count(), queries=rows.query.nunique(), first=rows.time.min(), last=rows.time.max())
    ).to_pylist()[0]
    users, largest = 0, ("", 0)
    if "user" in rows.columns:
        each = rows.filter(rows.user.notnull()).group_by("user").agg(n=lambda t: t.count())
        users = log.engine.value(each.count())
        if users:
            most = log.engine.run(each.order_by([each.n.desc(), each.user]).limit(1)).to_pylist()[0]
            largest = most["user"], most["n"]
    cluster = cluster or ("user" if users else "query")
    sums = pair_sums(log.engine, outcomes, len(creditor.pairs), cluster)
    step = step_of(about["first"], about["last"])
    looks = looks_of(log.engine, rows, outcomes, len(creditor.pairs), cluster, step)
    return Summed(creditor, sums, looks, about["n"], users, about["queries"], about["first"], about["last"], largest)


def warnings_of(found: Summed, means: Means) -> list[str]:
    """Say what a reader should know before believing the errors."""
    warnings = []
    name, most = found.largest
    if most > 0.05 * found.impressions:
        warnings.append(
            f"user '{name}' has {most:,} of {found.impressions:,} impressions ({most / found.impressions:.0%})"
        )
    fewest = means.freedom.min()
    if found.sums.cluster != "impression" and fewest < 20:
        warnings.append(
            f"the errors rest on few clusters ({found.sums.cluster}): as many as {fewest + 1:.1f} of equal size"
            " would say; intervals from fewer than about 20 are rough"
        )
    return warnings
