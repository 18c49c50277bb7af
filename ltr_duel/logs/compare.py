"""Sum the outcomes of a log for each pair of rankers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from ltr_duel.logs.adaptive import policies_of
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import Look, looks_of, step_of
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.sums import Grouping, PairSums, pair_sums

_FORGOTTEN = "forgotten-"  # prefix of the names that `ltr_duel.live` gives to forgotten users
_EACH = 'SELECT "user", count(*) AS n FROM t WHERE "user" IS NOT NULL GROUP BY "user"'
LARGE = 0.05  # users with more than this share of the impressions are reported


class Users(NamedTuple):
    """The users of a log."""

    number: int  # number of different users; 0 if no row has a user
    largest: str  # the user with the most impressions if this user's share is above `LARGE`, else ""
    impressions: int  # impressions of the largest user; 0 if ``largest`` is empty


class Summed(NamedTuple):
    """The sums of a log, and facts about the log."""

    creditor: Creditor  # has the names, pairs, method and outcome rule
    sums: PairSums
    policies: list[str]  # policies that chose the rankers and react to outcomes
    looks: list[Look]
    impressions: int
    users: Users
    queries: int
    first: float  # time of the first impression
    last: float
    notes: list[str]  # notes on forgotten users


def summed(
    log: ClickLog,
    cluster: str = "",
    rankers: Collection[str] = (),
    *,
    looks: bool = True,
    outcome: str = "",
) -> Summed:
    """Credit a log and sum its outcomes. By default, clusters are users if any row has a user, else queries.

    If a policy reacts to outcomes, the clusters "query" and "both" are replaced by users, or by impressions if no row
    has a user.
    """
    outcomes, rows, creditor, whole = credited(log, rankers, outcome=outcome)
    about = log.facts(rows, rankers)
    cluster = cluster or ("user" if about["named"] else "query")
    policies = policies_of(log.engine, rows)
    if policies and cluster in ("query", "both"):
        cluster = "user" if about["named"] else "impression"  # unit of the confidence sequence of an adaptive log
    named = about["named"] == about["n"]
    step = step_of(about["first"], about["last"])
    by = Grouping(len(creditor.pairs), cluster, whole, named)
    noted: list[Look] = []
    parts: list[Any] = []
    if looks:
        noted, parts = looks_of(log.engine, rows, outcomes, by, step)
    sums = pair_sums(log.engine, outcomes, by, parts)
    if by.pairs == 1 and named and cluster in ("user", "both"):  # here each impression is one outcome
        number, most = int(sums.kinds[0].number.sum()), int(sums.kinds[0].n.max())
        log.known["users", *rankers] = number, most
        users = largest_of(log.engine, rows, number, most, about["n"])
    else:
        users = users_of(log.engine, rows, about["n"])
    notes = forgotten_note(log.engine, rows)
    if log.bad.equal:
        notes.append(f"{log.bad.equal:,} rows equal an earlier row of their impression, and count once")
    return Summed(
        creditor, sums, policies, noted, about["n"], users, about["queries"], about["first"], about["last"], notes
    )


def users_of(engine: Engine, rows: Any, impressions: int) -> Users:
    """Count the users of a log."""
    if "user" not in rows.columns:
        return Users(0, "", 0)
    number, most = engine.rows(f"SELECT count(*) AS users, max(n) AS most FROM ({_EACH}) AS e", t=rows)[0].values()
    return largest_of(engine, rows, number, most or 0, impressions)


def forgotten_note(engine: Engine, rows: Any) -> list[str]:
    """Return a note if a live experiment has forgotten users, because a forgotten user who returns gets a new name."""
    if "policy" not in rows.columns or "user" not in rows.columns:
        return []
    sql = f'SELECT count(DISTINCT "user") AS n FROM t WHERE "user" LIKE \'{_FORGOTTEN}%\''
    forgotten = engine.rows(sql, t=rows)[0]["n"]
    counted = f"the live experiment has forgotten {forgotten:,} users (keep_days, live forget):"
    return [f"{counted} users who returned count as new users, so errors are too small"] if forgotten else []


def largest_of(engine: Engine, rows: Any, number: int, most: int, impressions: int) -> Users:
    """Return the number of users, and the user with the most impressions if this user's share is above `LARGE`."""
    if most <= LARGE * impressions:
        return Users(number, "", 0)
    (row,) = engine.rows(f'SELECT min("user") AS name FROM ({_EACH}) AS e WHERE n = {most}', t=rows)
    return Users(number, row["name"] or "", most)
