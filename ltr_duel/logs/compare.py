"""Comparison of a log's rankers in one pass over the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, InputError, IntVector, digest, errors, statistics
from ltr_duel.logs.adaptive import adapted
from ltr_duel.logs.clusters import Kinds, Means, bootstrap_means, interval_ends
from ltr_duel.logs.history import History
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.looks import Look, drift_notes
from ltr_duel.logs.loose import uncounted
from ltr_duel.logs.summed import summed, warnings_of
from ltr_duel.logs.sums import CLUSTERS, PairSums, Sequences
from ltr_duel.preferences import PreferenceMatrix


@dataclass(frozen=True, eq=False)
class LogComparison:
    """Comparison of each pair of a log's rankers. Arrays have one entry per pair; a positive mean favours the first.

    Parameters
    ----------
    names : tuple of str
        Rankers, in their order of appearance in the log.
    pairs : ndarray of int64, shape (pairs, 2)
        Positions of the rankers.
    wins, losses, ties : ndarray of int64
        Impressions that the first ranker of the pair won, lost, or neither.
    means, cautious, naive : Means
        Mean outcome (credit, -1 to 1) over impressions, with standard error and degrees of freedom. ``means`` has
        cluster-robust errors; ``cautious``, for intervals, adds a won and a lost cluster, so that no error is 0;
        ``naive`` treats all impressions as independent.
    low, high : ndarray of float64
        Confidence interval of the mean outcome, from ``cautious``; it contains 0 unless ``p`` is below 1 - confidence.
    p, p_corrected : ndarray of float64
        p-value of the test that the mean is 0: the larger of Student's t and the exact sign test of clusters; and the
        p-value corrected for the number of pairs (Holm).
    bootstrap : ndarray of float64, shape (2, pairs)
        Bootstrap interval of the mean over clusters; NaN if clusters are single impressions, if all draws are equal,
        and for adjusted outcomes, whose slopes each draw would have to fit again.
    sequences : Sequences
        Sums for `stopping_decisions`.
    kinds : list of tuple
        For each pair, the kinds of its clusters: outcomes per cluster, and the share of all outcomes.
    half : list of float
        For each pair, the size such that clusters of this size or more have half of the outcomes.
    each : tuple of Means
        With both clusters, ``cautious`` by users alone and by queries alone; otherwise empty.
    looks : list of Look
        Development of the result over time.
    impressions : int
    confidence : float
        Confidence of the intervals.
    cluster : str
        The kind of cluster to which the errors are robust.
    provenance : dict
        Facts about the log, as JSON.
    warnings : list of str
        Cautions about the result.

    Examples
    --------
    >>> "p_corrected" in LogComparison.__dataclass_fields__
    True
    """

    names: tuple[str, ...]
    pairs: IntVector
    wins: IntVector
    losses: IntVector
    ties: IntVector
    means: Means
    cautious: Means
    naive: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector
    p_corrected: FloatVector
    bootstrap: FloatVector
    sequences: Sequences
    kinds: list[Kinds] = field(repr=False)
    half: list[float] = field(repr=False)
    each: tuple[Means, ...] = field(repr=False)
    looks: list[Look] = field(repr=False)
    impressions: int
    confidence: float
    cluster: str
    provenance: dict[str, Any] = field(repr=False)
    warnings: list[str] = field(repr=False)

    @property
    def counts(self) -> IntVector:
        """Outcomes of each pair."""
        return self.wins + self.losses + self.ties

    @property
    def tests(self) -> int:
        """Number of pairs that share the error of looking at any time: all pairs, including pairs not yet shown."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def adaptive(self) -> bool:
        """Whether a policy chose the rankers by earlier outcomes."""
        return "policies" in self.provenance

    @property
    def adjusted(self) -> bool:
        """Whether outcomes were adjusted by the coin of each list."""
        return "adjusted" in self.provenance

    @property
    def unit(self) -> str:
        """The unit that counts once: ``impression`` or ``user``."""
        return self.provenance.get("per", "impression")

    @property
    def preferences(self) -> PreferenceMatrix:
        """The matrix: a tie is half a win; no error is 0, and a pair that at most one user saw has an infinite one."""
        size = len(self.names)
        p, error = np.full((size, size), 0.5), np.full((size, size), np.inf)
        comparisons = np.zeros((size, size), np.int64)
        np.fill_diagonal(error, 0)
        first, second = self.pairs.T
        p[first, second] = (1 + self.means.mean) / 2
        p[second, first] = 1 - p[first, second]
        for matrix, values in ((error, self.cautious.error / 2), (comparisons, self.counts)):
            matrix[first, second] = values
            matrix[second, first] = values
        return PreferenceMatrix(p, self.names, error, comparisons, self.provenance | self._undecided())

    @property
    def better(self) -> list[str]:
        """The better ranker of each pair by a single look; "" if neither is shown to be better."""
        sure, side = self.p_corrected < 1 - self.confidence, np.where(self.means.mean >= 0, 0, 1)
        return [self.names[pair[k]] if one else "" for pair, k, one in zip(self.pairs, side, sure, strict=True)]

    @property
    def winner(self) -> str:
        """The ranker that is better than all others by a single look; "" if there is none."""
        better = self.better
        return next((name for name in self.names if better.count(name) == len(self.names) - 1), "")

    def _undecided(self) -> dict[str, Any]:
        """Return the note that the log decides nothing, for users of the matrix, whose probabilities are one-sided."""
        if self.winner:
            return {}
        by = f"p = {self.p_corrected[0]:.3g}"
        if len(self.pairs) > 1:
            decided = len(self.pairs) - self.better.count("")
            by = f"{decided} of {len(self.pairs)} pairs {'is' if decided == 1 else 'are'} decided"
        return {"rankers": len(self.names), "undecided": f"Not decided by the log: {by}"}

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row per pair, the smallest p first."""
        first, second = ([self.names[k] for k in side] for side in self.pairs.T)
        frame = pd.DataFrame(
            {
                "first": first,
                "second": second,
                f"{self.unit}s": self.counts,
                "wins": self.wins,
                "losses": self.losses,
                "ties": self.ties,
                "mean": self.means.mean,
                "standard_error": self.means.error,
                "naive_error": self.naive.error,
                "low": self.low,
                "high": self.high,
                "bootstrap_low": self.bootstrap[0],
                "bootstrap_high": self.bootstrap[1],
                "p": self.p,
                "p_corrected": self.p_corrected,
            }
        )
        return frame.sort_values(["p", "first", "second"], kind="stable", ignore_index=True)


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
    comparison = compared(
        sums,
        tuple(creditor.names),
        np.array(creditor.pairs),
        confidence=confidence,
        bootstrap=limits,
        looks=found.looks,
        impressions=found.impressions,
        provenance=provenance,
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


def compared(
    sums: PairSums,
    names: tuple[str, ...],
    pairs: IntVector,
    *,
    confidence: float,
    impressions: int,
    provenance: dict[str, Any],
    bootstrap: FloatVector | None = None,
    looks: Sequence[Look] = (),
) -> LogComparison:
    """Return the comparison from the sums of pairs, without warnings. A pair may occur repeatedly, once per slice."""
    cautious = sums.cautious()
    p: FloatVector = np.maximum(statistics.student_p(*cautious), sums.sign_p())
    return LogComparison(
        names,
        pairs,
        sums.wins,
        sums.losses,
        sums.ties,
        sums.means(),
        cautious,
        sums.naive(),
        *tested_ends(cautious, p, confidence),
        p,
        statistics.holm(p),
        np.full((2, len(pairs)), np.nan) if bootstrap is None else bootstrap,
        sums.sequences,
        sums.sizes(),
        sums.half(),
        sums.cautious_of_each(),
        list(looks),
        impressions,
        confidence,
        sums.cluster,
        provenance,
        [],
    )


def tested_ends(cautious: Means, p: FloatVector, confidence: float) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the intervals, widened to contain 0 unless the test rejects 0."""
    low, high = interval_ends(cautious, confidence)
    inside = p >= 1 - confidence
    return np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high)
