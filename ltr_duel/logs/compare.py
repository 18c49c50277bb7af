"""Compare the rankers of a log: credit its events, sum the outcomes of each pair and cluster, and test each pair.

An adaptive policy shows losing rankers less often. How many outcomes a pair has therefore depends on these outcomes, so
their mean is biased (Nie, Tian, Taylor, Zou, AISTATS 2018). A confidence sequence remains valid: the policy chooses
pairs by past outcomes only, so the expectation of a new user's outcome is the pair's mean, and a bet that this mean is
higher or lower has no expected gain (`ltr_duel.logs.sequential`). The interval is valid at any time, including the end
of the log. It assumes that each impression has a new user, and holds only for the queries of the log.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ltr_duel.core import InputError, digest, errors, progress, statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import Comparison, compared
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import drift_notes, looks_of, step_of
from ltr_duel.logs.loose import all_have_events, outside, uncounted
from ltr_duel.logs.ratio import (
    AnyOutcome,
    Ratio,
    credited_outcome,
    outcome_name,
    outcome_sums,
    ratio_in,
    single_outcomes,
)
from ltr_duel.logs.sequential import confidence_sequence
from ltr_duel.logs.soundness import check_log, policies_of
from ltr_duel.logs.sums import CLUSTERS, Grouping, PairSums

_FORGOTTEN = "forgotten-"  # prefix of the names that `ltr_duel.live` gives to forgotten users
_LARGE = 0.05  # users with more than this share of the impressions are reported
_FEW = 20  # number of equal clusters below which intervals are rough
_PER_USER = (
    "each user counts once, for the ranker with the larger sum of outcomes of the user's impressions: the mean is the"
    " share of users who prefer the first ranker minus the share of users who prefer the second"
)


class Users(NamedTuple):
    """The users of a log."""

    number: int  # number of different users; 0 if no row has a user
    largest: str  # the user with the most impressions if this user's share is above 5 %, else ""
    impressions: int  # impressions of the largest user; 0 if ``largest`` is empty


def compare_log(
    log: ClickLog | Any,
    outcomes: AnyOutcome | Sequence[AnyOutcome] = (),
    guardrails: Mapping[str, float] | None = None,
    *,
    cluster: str = "",
    confidence: float = 0.95,
    rankers: Collection[str] = (),
    looks: bool = True,
    per: str = "impression",
) -> Comparison:
    """Credit the events of a log, and compare each pair of interleaved rankers by one or more outcomes.

    ``comparison.decision`` is the decision that ``logs compare`` prints. If the log's column ``policy`` names a policy
    that reacts to outcomes, means and intervals are those of a confidence sequence, so that they stay valid, and
    ``warnings`` has a note.

    The log is read by an SQL engine and may be larger than memory; sums are exact for each user and pair.

    Parameters
    ----------
    log : ClickLog, path, data frame or Ibis table
        A log, or what `ClickLog` opens with its default settings.
    outcomes : str, Outcome, Ratio, or a sequence of them
        The first outcome decides; the others are ``comparison.secondary``. By default, the outcomes of the log that are
        no guardrails; of a path or table, ``click``. A `ClickLog` must be opened with ``outcome=`` of all outcomes and
        guardrails (of ratios, both).
    guardrails : mapping of str to float
        Outcomes (or ratios) that must not get worse, with the largest accepted loss: above 0, of outcomes at most 1.
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

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If a number is out of range, or the cluster or an outcome is unknown; if clusters are users but no impression
        has a user; if more lines are bad than may be skipped; or if the log has no usable line.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"time": 0, "query": "q", "shown": ["x", "y"], "clicks": [2], "rankers": ["old", "new"], "owners": [0, 1]}
    >>> comparison = compare_log(pd.DataFrame([row | {"impression": k, "user": k // 2} for k in range(10)]))
    >>> comparison.names, comparison.losses.tolist(), comparison.preferences.condorcet_winner
    (('old', 'new'), [10], 'new')
    """
    margins, outcomes = dict(guardrails or {}), [outcomes] if isinstance(outcomes, AnyOutcome) else outcomes
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    for name, margin in margins.items():
        most = 1e9 if isinstance(ratio_in(name), Ratio) else 1
        errors.require_between("the margin of a guardrail", margin, 1e-9, most)
    if cluster and cluster not in CLUSTERS:
        raise errors.unknown_name("kind of cluster", cluster, CLUSTERS)
    errors.require_one_of("unit that counts once", per, ("impression", "user"))
    if per == "user" and cluster not in ("", "user"):
        raise InputError("if each user counts once, clusters must be users")
    if not isinstance(log, ClickLog):
        outcomes = outcomes or ("click",)
        log = ClickLog(log, outcome=single_outcomes([*outcomes, *margins]))
    names = [outcome.name for outcome in log.outcomes]
    chosen = [ratio_in(name, names) for name in outcomes or (name for name in names if name not in margins)]
    if not chosen:
        raise InputError("every outcome of the log is a guardrail; name the outcome that decides")
    primary, *secondary = dict.fromkeys(chosen)
    others = {outcome_name(one): one for one in secondary} | {name: ratio_in(name, names) for name in margins}
    cluster, beside = cluster or "user" * (per == "user"), dict[str, Comparison]()
    with progress.progress_bar(total=len(others) + 1, desc="outcomes", delay=progress.QUICK, leave=False) as bar:
        comparison, sums, rows = _compared(log, primary, cluster, rankers, confidence, per=per, looks=looks)
        bar.update()
        for name, outcome in others.items():
            beside[name] = _compared(log, outcome, comparison.cluster, rankers, confidence, per=per)[0]
            bar.update()
    return replace(
        _with_users(log, rows, comparison, sums),
        secondary={outcome_name(one): beside[outcome_name(one)] for one in secondary},
        guarded={name: beside[name] for name in margins},
        margins=margins,
        check=lambda: check_log(log, rankers),
    )


def _compared(
    log: ClickLog,
    outcome: AnyOutcome,
    cluster: str,
    rankers: Collection[str],
    confidence: float,
    *,
    per: str,
    looks: bool = False,
) -> tuple[Comparison, PairSums, Any]:
    """Return the comparison by one outcome, without users and warnings, its sums, and the credited rows.

    If a policy reacts to outcomes, the clusters "query" and "both" are replaced by users, or by impressions if no row
    has a user.
    """
    outcomes, rows, creditor, whole, facts = credited_outcome(log, outcome, rankers)
    policies, engine = policies_of(log.engine, rows), log.engine
    cluster = cluster or ("user" if facts["named"] else "query")
    if policies and cluster in ("query", "both"):
        cluster = "user" if facts["named"] else "impression"  # unit of the confidence sequence of an adaptive log
    ratio = isinstance(outcome, Ratio)
    if policies and (per == "user" or ratio):
        what = f"the ratio '{outcome_name(outcome)}' can be compared" if ratio else "each user can count once"
        raise InputError(f"{log.path}: {what} only if no policy reacts to outcomes")
    if per == "user" and ratio:
        raise InputError(f"'{outcome_name(outcome)}' is a ratio, so each user cannot count once")
    if cluster in ("user", "both") and not facts["named"]:
        raise InputError(f"no impression of {log.path.name} has a user, so errors cannot be clustered by {cluster}")
    grouping = Grouping(len(creditor.pairs), cluster, whole, facts["named"] == facts["n"])
    step = step_of(facts["first"], facts["last"]) if looks and per == "impression" and not ratio else 0.0
    sums, parts = outcome_sums(engine, outcomes, grouping, step)
    interim = looks_of(engine, rows, parts, grouping, step) if step else []
    events = log.loaded.events_file
    provenance = {
        "source": "click log",
        "log": log.path.name,
        "sha256": _digest(log.path),
        **({"events_sha256": _digest(events)} if events else {}),
        "events": outcome_name(outcome),
        **({"denominator": outcome.denominator} if isinstance(outcome, Ratio) else {}),
        "method": creditor.method,
        "outcome": creditor.outcome,
        **({"caution": creditor.caution} if creditor.caution else {}),
        "cluster": cluster,
        "impressions": facts["n"],
        "users": 0,
        "queries": facts["queries"],
        "first": facts["first"],
        "last": facts["last"],
        "bad_lines": log.bad.count,
        **({"per": per} if per == "user" else {}),
        **({"policies": policies} if policies else {}),
    }
    sums = sums.per_user() if per == "user" else sums
    comparison = compared(
        sums, tuple(creditor.names), np.array(creditor.pairs),
        confidence=confidence, impressions=facts["n"], provenance=provenance,
    )  # fmt: skip
    drift = drift_notes(interim, creditor.named_pairs)
    comparison = _adapted(comparison, confidence) if policies else comparison
    return replace(comparison, looks=interim, warnings=drift), sums, rows


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or "" for a folder, several files or a table."""
    return digest.sha256_file(path) if path.is_file() else ""


def _adapted(comparison: Comparison, confidence: float) -> Comparison:
    """Replace means and intervals by those of the confidence sequence."""
    tests = comparison.tests
    low, high, log_e = confidence_sequence(*comparison.sequences, confidence=confidence, tests=tests)
    error = (high - low) / 2 / float(special.ndtri(1 - (1 - confidence) / tests / 2))  # normal, of the same width
    means = Means(comparison.sequences.mean, error, comparison.sequences.n - 1)
    p = np.minimum(np.exp(-log_e), 1.0)
    return replace(comparison, means=means, cautious=means, low=low, high=high, p=p)


def _with_users(log: ClickLog, rows: Any, comparison: Comparison, sums: PairSums) -> Comparison:
    """Return the comparison with the number of users, and with warnings about the validity of the errors."""
    users, heaviest, most = users_of(log.engine, rows, comparison.impressions)
    warnings: list[str] = []
    if comparison.adaptive:
        names = " and ".join(f"'{name}'" for name in comparison.provenance["policies"])
        what, holds = "users' first impressions", "if users return, the results are approximate"
        if comparison.cluster == "impression":
            what, holds = "impressions", "the results assume that impressions are independent of each other"
        reason = f"because {names} chose the rankers by earlier outcomes, so that the plain mean of a pair that was"
        warnings.append(f"the table has a confidence sequence of {what}, {reason} dropped early is biased; {holds}")
    warnings += _forgotten(log.engine, rows)
    if log.bad.equal:
        warnings.append(f"{log.bad.equal:,} rows equal an earlier row of their impression, and count once")
    if comparison.unit == "user":
        warnings.append(_PER_USER)
    if not users:
        how = "no impression has a 'user' (a column, or user = ... in a mapping)"
        warnings.append(f"{how}: if users return, the errors are too small")
    if most:
        share = f"{most:,} of {comparison.impressions:,} impressions ({most / comparison.impressions:.0%})"
        warnings.append(errors.in_one_line(f"user '{heaviest}' has {share}"))
    fewest = sums.means().freedom.min()
    if comparison.cluster != "impression" and fewest < _FEW:
        warnings.append(
            f"the errors rest on few clusters ({comparison.cluster}): equivalent to {fewest + 1:.1f} equal clusters;"
            f" intervals from fewer than about {_FEW} clusters are rough"
        )
    warnings += [
        *comparison.warnings,
        *filter(None, (uncounted(log), outside(log)[2], all_have_events(log, rows, comparison.impressions))),
    ]
    if comparison.cluster == "query":
        warnings += _only_these_queries(sums, comparison)
    return replace(comparison, warnings=warnings, provenance=comparison.provenance | {"users": users})


def users_of(engine: Any, rows: Any, impressions: int) -> Users:
    """Count the users of a log."""
    if "user" not in rows.columns:
        return Users(0, "", 0)
    each = 'SELECT "user", count(*) AS n FROM impressions WHERE "user" IS NOT NULL GROUP BY "user"'
    ranked = f'(SELECT "user", n, max(n) OVER () AS most FROM ({each}) AS u) AS r'
    heaviest = 'min(CASE WHEN n = most THEN "user" END) AS heaviest'
    sql = f"SELECT count(*) AS users, max(n) AS most, {heaviest} FROM {ranked}"
    number, most, largest = engine.query(sql, impressions=rows).to_pylist()[0].values()
    return Users(number, largest, most) if (most or 0) > _LARGE * impressions else Users(number, "", 0)


def _forgotten(engine: Any, rows: Any) -> list[str]:
    """Return a note if a live experiment has forgotten users, because a forgotten user who returns gets a new name."""
    if "policy" not in rows.columns or "user" not in rows.columns:
        return []
    sql = f"""SELECT count(DISTINCT "user") AS n FROM impressions WHERE "user" LIKE '{_FORGOTTEN}%'"""
    number = engine.query(sql, impressions=rows)["n"][0].as_py()
    reason = f"because the live experiment has forgotten {number:,} users (live forget)"
    return [f"errors are too small if users returned, {reason}, who count as new users"] * bool(number)


def _only_these_queries(sums: PairSums, comparison: Comparison) -> list[str]:
    """Return a warning on the pairs that differ if each impression is a cluster, but not if each query is."""
    error = (1 - comparison.confidence) / comparison.tests
    alone = statistics.student_p(*replace(sums, cluster="impression").cautious())
    pairs = zip(comparison.named_pairs, alone, comparison.p, strict=True)
    differ = [f"{a} and {b}" for (a, b), p, q in pairs if p < error <= q]
    if not differ:
        return []
    which = ", ".join([*differ[:3], *(["..."] if len(differ) > 3 else [])])
    return [
        f"{which}: no difference is shown for queries in general, because queries are few or differ from each other;"
        " --cluster impression shows a difference, which holds only for the queries of this log"
    ]
