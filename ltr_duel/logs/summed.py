"""Sums of a log: its outcomes are credited and summed by the engine for each pair of rankers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, errors
from ltr_duel.logs.adaptive import Choices, choices_of, policies_of
from ltr_duel.logs.clusters import Means, fewer_degrees
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.history import History, adjusted, combined, require_few_columns, saving_note
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import Look, looks_of, step_of
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.sums import Grouping, PairSums, pair_sums

_FORGOTTEN = "forgotten-"  # prefix of the names that `ltr_duel.live` gives to forgotten users
LARGE = 0.05  # share of the impressions above which a user is reported


class Users(NamedTuple):
    """The users of a log."""

    number: int  # number of different users; 0 without user names
    largest: str  # a user with a share of the log that must be reported, else ""
    impressions: int  # impressions of that user


class Summed(NamedTuple):
    """The sums of a log, and facts about it."""

    creditor: Creditor  # names, pairs, method and outcome rule
    sums: PairSums
    choices: Choices  # policies and propensities of the rankers
    looks: list[Look]
    impressions: int
    users: Users
    queries: int
    first: float  # time of the first impression
    last: float
    notes: list[str]  # on adjustments of the outcomes


def summed(
    log: ClickLog,
    cluster: str = "",
    rankers: Collection[str] = (),
    *,
    looks: bool = True,
    history: History | None = None,
) -> Summed:
    """Credit a log and sum its outcomes, clustered by users if any row has one, else by queries, by default.

    If a policy reacts to outcomes, queries cannot be clusters and are replaced by users, or by impressions.
    """
    outcomes, rows, creditor, whole = credited(log, rankers)
    about = log.facts(rows, rankers)
    cluster = cluster or ("user" if about["named"] else "query")
    if cluster in ("query", "both") and policies_of(log.engine, rows)[1]:
        cluster = "user" if about["named"] else "impression"  # the unit of the sequence of an adaptive log
    named = about["named"] == about["n"]
    step = step_of(about["first"], about["last"])
    by = Grouping(len(creditor.pairs), cluster, whole, named, about.get("users"))
    noted, classes = looks_of(log.engine, rows, outcomes, by, step) if looks and history is None else ([], [])
    sums = pair_sums(log.engine, outcomes, by, classes)
    if by.pairs == 1 and named and cluster in ("user", "both"):  # then each impression is an outcome
        number, most = int(sums.kinds[0].number.sum()), int(sums.kinds[0].n.max())
        log.known["users", *rankers] = number, most
        users = largest_of(log.engine, rows, number, most, about["n"])
    else:
        users = users_of(log.engine, rows, about["n"])
    choices, notes = choices_of(log.engine, rows, outcomes, len(creditor.pairs)), forgotten_note(log.engine, rows)
    if history is not None:
        if choices.policies or cluster not in ("user", "both"):
            raise InputError(f"{log.path}: outcomes are adjusted where users are known, and no policy reacts to them")
        require_few_columns(log.path, history, int(np.bincount(sums.kinds[0].pair, sums.kinds[0].number).max()))
        sets = [(creditor.names[a], creditor.names[b]) for a, b in creditor.pairs]
        by = by._replace(whole=False)  # adjusted outcomes are neither 1, -1 nor 0
        flipped = adjusted(log, rows, outcomes, sets, history, intercept=False)
        outcomes = adjusted(log, rows, outcomes, sets, history)
        less, signs = (pair_sums(log.engine, one, by) for one in (outcomes, flipped))
        less = combined(sums, less, signs, history)
        notes, sums = [*notes, saving_note(sums, less, history)], less
        noted = looks_of(log.engine, rows, outcomes, by, step)[0] if looks else []
        noted = [look._replace(cautious=fewer_degrees(look.cautious, sums.slopes)) for look in noted]
    return Summed(
        creditor, sums, choices, noted, about["n"], users, about["queries"], about["first"], about["last"], notes
    )


def users_of(engine: Engine, rows: Any, impressions: int) -> Users:
    """Count the users of a log."""
    if "user" not in rows.columns:
        return Users(0, "", 0)
    each = rows.filter(rows.user.notnull()).group_by("user").agg(n=lambda t: t.count())
    number, most = engine.run(each.aggregate(users=each.count(), most=each.n.max())).to_pylist()[0].values()
    return largest_of(engine, rows, number, most or 0, impressions)


def forgotten_note(engine: Engine, rows: Any) -> list[str]:
    """Return a note if a live experiment has forgotten users, because a forgotten user who returns has two names."""
    if "policy" not in rows.columns or "user" not in rows.columns:
        return []
    forgotten = engine.value(rows.filter(rows.user.startswith(_FORGOTTEN)).user.nunique())
    counted = f"{forgotten:,} users are names of users whom the live experiment has forgotten (keep_days, live forget):"
    return [f"{counted} who came back counts as a new user, so errors are too small"] if forgotten else []


def largest_of(engine: Engine, rows: Any, number: int, most: int, impressions: int) -> Users:
    """Return the users, with the name of a user with many of the impressions, if there is one."""
    if most <= LARGE * impressions:
        return Users(number, "", 0)
    each = rows.filter(rows.user.notnull()).group_by("user").agg(n=lambda t: t.count())
    return Users(number, engine.value(each.filter(each.n == most).user.min()) or "", most)


def warnings_of(found: Summed, means: Means) -> list[str]:
    """Return warnings about the validity of the errors."""
    warnings = list(found.notes)
    number, name, most = found.users
    if not number:
        warnings.append("no user is known: if users return, the errors are too small")
    if most:
        share = f"{most:,} of {found.impressions:,} impressions ({most / found.impressions:.0%})"
        warnings.append(errors.in_one_line(f"user '{name}' has {share}"))
    fewest = means.freedom.min()
    if found.sums.cluster != "impression" and fewest < 20:
        warnings.append(
            f"the errors rest on few clusters ({found.sums.cluster}): equivalent to {fewest + 1:.1f} equal clusters;"
            " intervals from fewer than about 20 are rough"
        )
    return warnings
