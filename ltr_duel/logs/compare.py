"""Compare the rankers of a log: credit its clicks, sum the outcomes, and test each pair."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, digest, errors, statistics
from ltr_duel.logs.adaptive import adapted, policies_of
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import LogComparison, compared
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import Look, drift_notes, looks_of, step_of
from ltr_duel.logs.loose import outside, uncounted
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.sums import CLUSTERS, Grouping, PairSums, pair_sums

_FORGOTTEN = "forgotten-"  # prefix of the names that `ltr_duel.live` gives to forgotten users
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
        whole_log = log.loaded.exposures if log.loaded.exposures is not None and not log.bad.removed else rows
        noted, parts = looks_of(log.engine, whole_log.select("time"), outcomes, by, step)
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
    each = rows.filter(rows.user.notnull()).group_by("user").agg(n=lambda t: t.count())
    number, most = engine.run(each.aggregate(users=each.count(), most=each.n.max())).to_pylist()[0].values()
    return largest_of(engine, rows, number, most or 0, impressions)


def forgotten_note(engine: Engine, rows: Any) -> list[str]:
    """Return a note if a live experiment has forgotten users, because a forgotten user who returns gets a new name."""
    if "policy" not in rows.columns or "user" not in rows.columns:
        return []
    forgotten = engine.value(rows.filter(rows.user.startswith(_FORGOTTEN)).user.nunique())
    counted = f"the live experiment has forgotten {forgotten:,} users (keep_days, live forget):"
    return [f"{counted} users who returned count as new users, so errors are too small"] if forgotten else []


def largest_of(engine: Engine, rows: Any, number: int, most: int, impressions: int) -> Users:
    """Return the number of users, and the user with the most impressions if this user's share is above `LARGE`."""
    if most <= LARGE * impressions:
        return Users(number, "", 0)
    each = rows.filter(rows.user.notnull()).group_by("user").agg(n=lambda t: t.count())
    return Users(number, engine.value(each.filter(each.n == most).user.min()) or "", most)


def warnings_of(found: Summed, means: Means) -> list[str]:
    """Return warnings about the validity of the errors."""
    warnings = list(found.notes)
    number, name, most = found.users
    if not number:
        warnings.append("the log has no user ids: if users return, the errors are too small")
    if most:
        share = f"{most:,} of {found.impressions:,} impressions ({most / found.impressions:.0%})"
        warnings.append(errors.in_one_line(f"user '{name}' has {share}"))
    fewest = means.freedom.min()
    if found.sums.cluster != "impression" and fewest < 20:
        warnings.append(
            f"the errors rest on few clusters ({found.sums.cluster}): equivalent to {fewest + 1:.1f} equal clusters;"
            " intervals from fewer than about 20 clusters are rough"
        )
    return warnings


def compare_log(
    log: ClickLog | Any,
    *,
    cluster: str = "",
    confidence: float = 0.95,
    rankers: Collection[str] = (),
    looks: bool = True,
    per: str = "impression",
    outcome: str = "",
) -> LogComparison:
    r"""Credit the clicks of a log, and compare each pair of interleaved rankers.

    If the log's column ``policy`` names a policy that reacts to outcomes, means and intervals are computed by
    `ltr_duel.logs.adaptive`, so that they stay valid, and ``warnings`` has a note.

    The log is read by an SQL engine and may be larger than memory; sums are exact for each user and pair.

    Parameters
    ----------
    log : ClickLog, path, data frame or Ibis table
        A log, or what `ClickLog` opens with its default settings.
    cluster : {"", "user", "query", "both", "impression"}
        Groups within which outcomes may be correlated: users, queries, both at once, or none. The default is users if
        the log has users, else queries.
    confidence : float
        Confidence of the intervals, above 0 and below 1.
    rankers : collection of str
        The permitted rankers; by default, all rankers are permitted.
    looks : bool
        Whether to record the development over time, which the plot requires; this takes longer.
    per : {"impression", "user"}
        The unit that counts once. With "user", the ranker that has more credit in all impressions of a user together
        wins this user, and the mean is the share of users won minus the share lost. An impression without a user counts
        as a separate user. Results per user are valid for a single look, and only if no policy reacts to outcomes.
    outcome : str
        The name of one of the log's outcomes; by default the first.

    Returns
    -------
    LogComparison

    Raises
    ------
    InputError
        If a number is out of range or the cluster is unknown; if clusters are users but no impression has a user; if
        more lines are bad than may be skipped; or if the log has no usable line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = '{"impression": %d, "time": 0, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    >>> row += ' "rankers": ["old", "new"], "owners": ["old", "new"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text("\n".join(row % (k, k // 2) for k in range(10)))
    ...     found = compare_log(ClickLog(path))
    >>> found.names, found.losses.tolist(), found.preferences.condorcet_winner
    (('old', 'new'), [10], 'new')
    """
    log = log if isinstance(log, ClickLog) else ClickLog(log)
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if cluster and cluster not in CLUSTERS:
        raise errors.unknown_name("kind of cluster", cluster, CLUSTERS)
    errors.require_one_of("unit that counts once", per, ("impression", "user"))
    if per == "user" and cluster not in ("", "user"):
        raise InputError("if each user counts once, clusters must be users")
    cluster = cluster or "user" * (per == "user")
    found = summed(log, cluster, rankers, looks=looks and per == "impression", outcome=outcome)
    creditor, sums = found.creditor, found.sums
    if per == "user" and found.policies:
        raise InputError(f"{log.path}: each user can count once only if no policy reacts to outcomes")
    if cluster in ("user", "both") and not found.users.number:
        raise InputError(f"no impression of {log.path.name} has a user, so errors cannot be clustered by {cluster}")
    if per == "user":
        sums = sums.per_user()
        found.notes.append(
            "each user counts once, for the ranker with the larger sum of outcomes of the user's impressions: the mean"
            " is the share of users who prefer the first ranker minus the share of users who prefer the second"
        )
    provenance = {
        "source": "click log",
        "log": log.path.name,
        "sha256": _digest(log.path),
        **({"events_sha256": _digest(events)} if (events := log.loaded.events_file) else {}),
        "events": outcome or log.outcome.name,
        "method": creditor.method,
        "outcome": creditor.outcome,
        **({"caution": creditor.caution} if creditor.caution else {}),
        "cluster": sums.cluster,
        "impressions": found.impressions,
        "users": found.users.number,
        "queries": found.queries,
        "first": found.first,
        "last": found.last,
        "bad_lines": log.bad.count,
    }
    if per == "user":
        provenance["per"] = per
    comparison = replace(
        compared(
            sums,
            tuple(creditor.names),
            np.array(creditor.pairs),
            confidence=confidence,
            impressions=found.impressions,
            provenance=provenance,
        ),
        looks=found.looks,
    )
    comparison.warnings.extend([*warnings_of(found, comparison.means), *drift_notes(found.looks, creditor.named_pairs)])
    comparison.warnings.extend(filter(None, (uncounted(log), outside(log)[2])))
    if sums.cluster == "query":
        comparison.warnings.extend(_these_queries(sums, comparison))
    return adapted(comparison, found.policies)


def _these_queries(sums: PairSums, found: LogComparison) -> list[str]:
    """Return a warning on the pairs that differ if each impression is a cluster, but not if each query is."""
    error = 1 - found.confidence
    alone = statistics.holm(statistics.student_p(*replace(sums, cluster="impression").cautious()))
    pairs = zip(found.named_pairs, alone, found.p_corrected, strict=True)
    differ = [f"{a} and {b}" for (a, b), p, q in pairs if p < error <= q]
    if not differ:
        return []
    which = ", ".join([*differ[:3], *(["..."] if len(differ) > 3 else [])])
    return [
        f"{which}: no difference is shown for queries in general, because queries are few or differ from each other;"
        " --cluster impression shows a difference, which holds only for the queries of this log"
    ]


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or "" for a folder, several files or a table."""
    return digest.sha256_file(path) if path.is_file() else ""
