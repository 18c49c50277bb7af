"""Comparison of a log's rankers in one pass over the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from ltr_duel.core import InputError, digest, errors, statistics
from ltr_duel.logs.adaptive import adapted
from ltr_duel.logs.clusters import bootstrap_means
from ltr_duel.logs.comparison import LogComparison, compared
from ltr_duel.logs.history import History
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import drift_notes
from ltr_duel.logs.loose import uncounted
from ltr_duel.logs.summed import summed, warnings_of
from ltr_duel.logs.sums import CLUSTERS, PairSums


def compare_log(
    log: ClickLog,
    *,
    cluster: str = "",
    confidence: float = 0.95,
    rankers: Collection[str] = (),
    bootstrap: int = 1000,
    seed: int = 0,
    looks: bool = True,
    history: History | None = None,
    per: str = "impression",
) -> LogComparison:
    r"""Credit the clicks of a log, and compare each pair of rankers that it interleaved.

    If the log's column ``policy`` names a policy that reacts to outcomes, the means and intervals are valid for such a
    log (`ltr_duel.logs.adaptive`), and ``warnings`` has a note.

    An SQL engine reads the log, which may be larger than memory; sums are exact for each user and pair.

    Parameters
    ----------
    log : ClickLog
    cluster : {"", "user", "query", "both", "impression"}
        Groups within which outcomes may be correlated: users, queries, both at once, or none. By default users if the
        log has them, else queries.
    confidence : float
        Confidence of the intervals, above 0 and below 1.
    rankers : collection of str
        The only legal rankers; by default any.
    bootstrap : int
        Number of bootstrap draws; 0 for no bootstrap.
    seed : int
        Seed of the bootstrap.
    looks : bool
        Whether to record the development over time, for the plot; it takes longer.
    history : History, optional
        Remove from the outcomes the effect of the coin of position 1, alone and times the users' covariates: narrower
        intervals of the same means. Needs ``owners``, users, and no policy that reacts to outcomes.
    per : {"impression", "user"}
        The unit that counts once. A user is won by the ranker with more credit in all of the user's impressions: the
        mean is the net share of users. An impression without a user counts as a user. Valid for a single look, without
        ``history`` and without a policy that reacts to outcomes.

    Returns
    -------
    LogComparison

    Raises
    ------
    InputError
        For numbers out of range, an unknown cluster, a cluster by users if no impression has a user, more bad lines
        than may be skipped, or a log without a usable line.

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
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    errors.require_between("the number of bootstrap draws", bootstrap, 0)
    if cluster and cluster not in CLUSTERS:
        raise errors.unknown_name("kind of cluster", cluster, CLUSTERS)
    errors.require_one_of("unit that counts once", per, ("impression", "user"))
    if per == "user" and (cluster not in ("", "user") or history is not None):
        raise InputError("where each user counts once, errors are by user, and outcomes are not adjusted")
    cluster = cluster or "user" * (per == "user")
    found = summed(log, cluster, rankers, looks=looks and per == "impression", history=history)
    creditor, sums = found.creditor, found.sums
    if per == "user" and found.choices.policies:
        raise InputError(f"{log.path}: users count once where no policy reacts to outcomes")
    if cluster in ("user", "both") and not found.users.number:
        raise InputError(f"no impression of {log.path.name} names its user, so errors cannot be clustered by {cluster}")
    if per == "user":
        sums = sums.per_user()
        found.notes.append(
            "each user counts once, for the ranker with more credit in all of the user's impressions: the mean is the"
            " share of users who prefer the one less the share of those who prefer the other"
        )
    limits = np.full((2, len(creditor.pairs)), np.nan)
    if bootstrap and sums.cluster in ("user", "query") and history is None:
        drawn = bootstrap_means(*sums.drawn(seed), draws=bootstrap, seed=seed)
        limits = np.nanquantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        limits[:, limits[0] == limits[1]] = np.nan  # no interval from outcomes that are all equal
    named = [(creditor.names[i], creditor.names[j]) for i, j in creditor.pairs]
    provenance = {
        "source": "click log",
        "log": log.path.name,
        "sha256": digest.sha256_file(log.path) if log.path.is_file() else "",
        "events": log.outcome.name,
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
    if history is not None:
        provenance["adjusted"] = ["coin", *history.names]
    comparison = replace(
        compared(
            sums,
            tuple(creditor.names),
            np.array(creditor.pairs),
            confidence=confidence,
            impressions=found.impressions,
            provenance=provenance,
        ),
        bootstrap=limits,
        looks=found.looks,
    )
    comparison.warnings.extend([*warnings_of(found, comparison.means), *drift_notes(found.looks, named)])
    if said := uncounted(log):
        comparison.warnings.append(said)
    if sums.cluster == "query":
        comparison.warnings.extend(_these_queries(sums, comparison, named))
    return adapted(comparison, found.choices)


def _these_queries(sums: PairSums, found: LogComparison, names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a warning that lists the pairs that differ by impressions, but not by queries."""
    error = 1 - found.confidence
    alone = statistics.holm(statistics.student_p(*replace(sums, cluster="impression").cautious()))
    differ = [f"{a} and {b}" for (a, b), p, q in zip(names, alone, found.p_corrected, strict=True) if p < error <= q]
    if not differ:
        return []
    which = ", ".join([*differ[:3], *(["..."] if len(differ) > 3 else [])])
    return [
        f"{which}: no difference is shown for queries in general, as these are few or unlike each other; impressions"
        " show one for these queries alone: --cluster impression"
    ]
