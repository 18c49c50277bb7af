"""Compare the rankers of a log: credit its events, add up the outcomes of each pair of rankers, and test each pair.

In some experiments, a policy chooses the rankers of each impression, and shows a ranker less often after it has lost.
The plain mean of a pair is then biased (Nie, Tian, Taylor, Zou, AISTATS 2018). For the log of a policy,
`ltr_duel.logs.sequential.confidence_sequence` computes intervals that are valid in spite of the policy. These intervals
hold only for the queries of the log.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ltr_duel.core import InputError, digest, errors, progress
from ltr_duel.logs.checks import EQUAL
from ltr_duel.logs.comparison import Comparison, compared
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import drift_notes, looks_of, step_of
from ltr_duel.logs.outcomes import AnyOutcome, Ratio, credited_outcome, outcome_name, ratio_in, single_outcomes
from ltr_duel.logs.soundness import check_log, event_notes, policies_of
from ltr_duel.logs.sums import CLUSTERS, Grouping, pair_sums

_FORGOTTEN = "forgotten-"  # prefix of the names that `ltr_duel.live` gives to forgotten users
_FEW = 20  # number of equal clusters below which intervals are rough


def compare_log(
    log: ClickLog | Any,
    outcomes: AnyOutcome | Sequence[AnyOutcome] = (),
    guardrails: Mapping[str, float] | None = None,
    *,
    cluster: str = "",
    confidence: float = 0.95,
    rankers: Collection[str] = (),
) -> Comparison:
    """Compare each pair of interleaved rankers in a log, by one or more outcomes.

    The result has the property ``decision``, which says which ranker wins. If a policy chose the rankers by earlier
    outcomes, the intervals are valid however often you look at the experiment, and the result has a warning.

    Parameters
    ----------
    log : ClickLog, path, data frame or Ibis table
        The log. A path or a table is opened with the default settings of `ClickLog`.
    outcomes : str, Outcome, Ratio, or a sequence of them
        The outcomes by which the rankers are compared. The first outcome decides. The attribute ``secondary`` of the
        result has the comparisons by the other outcomes. By default, a path or a table is compared by ``click``, and a
        `ClickLog` by all of its outcomes that are not guardrails. If you open a `ClickLog` yourself, name all outcomes
        and guardrails there.
    guardrails : mapping of str to float
        Outcomes or ratios that the winner must not harm. Give the largest loss that you accept for each of them.
    cluster : {"", "user", "query", "impression"}
        The groups of impressions whose outcomes may be correlated. By default, a group has all impressions of a user,
        or of a query if the log has no users.
    confidence : float
        Confidence of the intervals, above 0 and below 1.
    rankers : collection of str
        The names of the rankers of the experiment. A row with another ranker is unusable. By default, all rankers are
        permitted.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If an argument is invalid, if the log has no usable line, or if it has more unusable lines than may be skipped.

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
    errors.require_one_of("kind of cluster", cluster or "user", CLUSTERS)
    if not isinstance(log, ClickLog):
        outcomes = outcomes or ("click",)
        log = ClickLog(log, outcome=single_outcomes([*outcomes, *margins]))
    names = [outcome.name for outcome in log.outcomes]
    guarded = {name: ratio_in(name, names) for name in margins}
    for name, margin in margins.items():
        most = 1e9 if isinstance(guarded[name], Ratio) else 1
        errors.require_between("the margin of a guardrail", margin, 1e-9, most)
    chosen = [ratio_in(name, names) for name in outcomes or (name for name in names if name not in margins)]
    if not chosen:
        raise InputError("every outcome of the log is a guardrail; name the outcome that decides")
    every = {outcome_name(outcome): outcome for outcome in chosen} | guarded
    results, first = dict[str, Comparison](), outcome_name(chosen[0])
    with progress.progress_bar(total=len(every), desc="outcomes", delay=progress.QUICK, leave=False) as bar:
        for name, outcome in every.items():
            unit = results[first].cluster if results else cluster
            results[name] = _compared(log, outcome, unit, rankers, confidence, primary=results.get(first))
            bar.update()
    return replace(
        results[first],
        secondary={name: results[name] for name in map(outcome_name, chosen) if name != first},
        guarded={name: results[name] for name in margins},
        margins=margins,
        check=lambda: check_log(log, rankers),
    )


def _compared(
    log: ClickLog, outcome: AnyOutcome, cluster: str, rankers: Collection[str], confidence: float,
    primary: Comparison | None,
) -> Comparison:  # fmt: skip
    outcomes, rows, creditor, facts = credited_outcome(log, outcome, rankers)
    policies, name = policies_of(log.engine, rows), outcome_name(outcome)
    cluster = cluster or ("user" if facts["named"] else "query")
    if policies and cluster == "query":  # a confidence sequence does not allow for correlated outcomes of a query
        cluster = "user" if facts["named"] else "impression"
    if policies and isinstance(outcome, Ratio):
        raise InputError(f"{log.path}: the ratio '{name}' can be compared only if no policy reacts to outcomes")
    if cluster == "user" and not facts["named"]:
        raise InputError(f"no impression of {log.path.name} has a user, so errors cannot be clustered by user")
    step = 0.0 if primary or isinstance(outcome, Ratio) else step_of(facts["first"], facts["last"])
    grouping = Grouping(len(creditor.pairs), cluster, facts["named"] == facts["n"])
    sums, *courses = pair_sums(log.engine, outcomes, grouping, step)
    users, forgotten = (primary.provenance["users"], 0) if primary else _users(log.engine, rows)
    own, events = (
        digest.sha256_file(path) if path and path.is_file() else "" for path in (log.path, log.loaded.events_file)
    )  # a folder, several files or a table have no digest
    optional = {
        "events_sha256": events, "denominator": getattr(outcome, "denominator", ""), "caution": creditor.caution,
        "policies": policies,
    }  # fmt: skip
    provenance = {
        "source": "click log", "log": log.path.name, "sha256": own, "events": name, "method": creditor.method,
        "outcome": creditor.outcome, "cluster": cluster, "impressions": facts["n"], "users": users,
        "queries": facts["queries"], "first": facts["first"], "last": facts["last"], "bad_lines": log.bad.count,
    } | {key: value for key, value in optional.items() if value}  # fmt: skip
    names, pairs = tuple(creditor.names), np.array(creditor.pairs)
    comparison = compared(sums, names, pairs, confidence=confidence, impressions=facts["n"], provenance=provenance)
    if primary:  # the comparison by the first outcome has the looks and the warnings
        return comparison
    interim = looks_of(log.engine, rows, sums, courses, step) if step else []
    warnings = [*_warnings(log, comparison, forgotten), *event_notes(log, rows, comparison.impressions)]
    return replace(comparison, looks=interim, warnings=warnings + drift_notes(interim, creditor.named_pairs))


def _users(engine: Any, rows: Any) -> tuple[int, int]:
    if "user" not in rows.columns:
        return 0, 0
    forgotten = f"count(CASE WHEN name LIKE '{_FORGOTTEN}%' THEN 1 END) AS forgotten"
    names = '(SELECT "user" AS name FROM impressions WHERE "user" IS NOT NULL GROUP BY "user") AS u'
    (row,) = engine.rows(f"SELECT count(*) AS users, {forgotten} FROM {names}", impressions=rows)
    return row["users"], row["forgotten"]


def _warnings(log: ClickLog, comparison: Comparison, forgotten: int) -> list[str]:
    warnings, cluster, provenance = list[str](), comparison.cluster, comparison.provenance
    if comparison.adaptive:
        names = " and ".join(f"'{name}'" for name in provenance["policies"])
        units, limits = "users' first impressions", "if users return, the results are approximate"
        if cluster == "impression":
            units, limits = "impressions", "the results assume that impressions are independent of each other"
        reason = f"because {names} chose the rankers by earlier outcomes, so that the plain mean of a pair that was"
        warnings.append(f"the table has a confidence sequence of {units}, {reason} dropped early is biased; {limits}")
    if forgotten:  # a forgotten user who returns gets a new name
        reason = f"because the live experiment has forgotten {forgotten:,} users (live forget)"
        warnings.append(f"errors are too small if users returned, {reason}, who count as new users")
    if log.bad.equal:
        warnings.append(EQUAL.format(log.bad.equal))
    if not provenance["users"]:
        how = "no impression has a 'user' (a column, or user = ... in a mapping)"
        warnings.append(f"{how}: if users return, the errors are too small")
    fewest = comparison.means.freedom.min()
    if cluster != "impression" and fewest < _FEW:
        warnings.append(
            f"the errors rest on few clusters ({cluster}): equivalent to {fewest + 1:.1f} equal clusters;"
            f" intervals from fewer than about {_FEW} clusters are rough"
            + "; --cluster impression is for the queries of this log only"
            * (cluster == "query")
        )
    return warnings
