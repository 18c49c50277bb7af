"""Compare the rankers of a log: credit its clicks, sum the outcomes, and test each pair."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import InputError, digest, errors, statistics
from ltr_duel.logs.adaptive import adaptive_means, adaptive_note
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.compare import Summed, summed
from ltr_duel.logs.comparison import Comparison, compared
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import drift_notes
from ltr_duel.logs.loose import outside, uncounted
from ltr_duel.logs.soundness import check_log
from ltr_duel.logs.sums import CLUSTERS, PairSums


def compare_log(
    log: ClickLog | Any,
    *,
    cluster: str = "",
    confidence: float = 0.95,
    rankers: Collection[str] = (),
    looks: bool = True,
    per: str = "impression",
    outcome: str = "",
) -> Comparison:
    r"""Credit the clicks of a log, and compare each pair of interleaved rankers.

    ``comparison.decision`` is the decision that ``logs compare`` prints. If the log's column ``policy`` names a policy
    that reacts to outcomes, means and intervals are those of a confidence sequence, so that they stay valid, and
    ``warnings`` has a note.

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
    Comparison

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
    comparison = replace(
        compared(
            sums,
            tuple(creditor.names),
            np.array(creditor.pairs),
            confidence=confidence,
            impressions=found.impressions,
            provenance=_provenance(log, found, sums)
            | ({"events": outcome} if outcome else {})
            | ({"per": per} if per == "user" else {}),
        ),
        looks=found.looks,
        check=lambda: check_log(log, rankers),
    )
    comparison.warnings.extend([*_warnings(found, comparison.means), *drift_notes(found.looks, creditor.named_pairs)])
    comparison.warnings.extend(filter(None, (uncounted(log), outside(log)[2])))
    if sums.cluster == "query":
        comparison.warnings.extend(_only_these_queries(sums, comparison))
    return _adapted(comparison, found.policies) if found.policies else comparison


def _provenance(log: ClickLog, found: Summed, sums: PairSums) -> dict[str, Any]:
    events, creditor = log.loaded.events_file, found.creditor
    return {
        "source": "click log",
        "log": log.path.name,
        "sha256": _digest(log.path),
        **({"events_sha256": _digest(events)} if events else {}),
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


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or "" for a folder, several files or a table."""
    return digest.sha256_file(path) if path.is_file() else ""


def _warnings(found: Summed, means: Means) -> list[str]:
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


def _only_these_queries(sums: PairSums, found: Comparison) -> list[str]:
    """Return a warning on the pairs that differ if each impression is a cluster, but not if each query is."""
    error = (1 - found.confidence) / found.tests
    alone = statistics.student_p(*replace(sums, cluster="impression").cautious())
    pairs = zip(found.named_pairs, alone, found.p, strict=True)
    differ = [f"{a} and {b}" for (a, b), p, q in pairs if p < error <= q]
    if not differ:
        return []
    which = ", ".join([*differ[:3], *(["..."] if len(differ) > 3 else [])])
    return [
        f"{which}: no difference is shown for queries in general, because queries are few or differ from each other;"
        " --cluster impression shows a difference, which holds only for the queries of this log"
    ]


def _adapted(found: Comparison, policies: list[str]) -> Comparison:
    """Replace means and intervals by those of the confidence sequence, and add a note."""
    means, low, high, p = adaptive_means(found.sequences, found.confidence, found.tests)
    return replace(
        found,
        means=means,
        cautious=means,
        low=low,
        high=high,
        p=p,
        p_corrected=np.minimum(found.tests * p, 1.0),
        provenance=found.provenance | {"policies": policies},
        warnings=[adaptive_note(policies, found.cluster), *found.warnings],
    )
