"""The decision that follows from a comparison: for each pair, and for the whole experiment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, errors
from ltr_duel.logs import sentences
from ltr_duel.logs.looks import days_to_a_whole_week
from ltr_duel.logs.sequential import BettingTest, ClusteredTest

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import Comparison
    from ltr_duel.logs.findings import Finding
    from ltr_duel.logs.guardrail import Guardrail

FEWEST = 20.0  # minimum effective number of observations for a projection


class PairDecision(NamedTuple):
    """The decision on a pair of rankers."""

    first: str
    second: str
    verdict: str  # "stop", "no difference" or "go on"
    winner: str  # winner if the verdict is "stop", else ""
    observations: int  # impressions, or users' first impressions in the log of a policy
    mean: float  # mean outcome of the first ranker against the second
    low: float  # interval of the mean; the intervals of all pairs hold together (Bonferroni)
    high: float
    p: float  # p-value of "the mean is 0", corrected for all pairs (Bonferroni); valid at every look if `e_value` is
    e_value: float = np.nan  # e-value against "the mean is 0"; NaN for a decision at a single look
    more: float = np.nan  # further impressions of the log until a decision, if the mean persists; inf: never
    more_to_win: float = np.nan  # like `more`, but until the ranker with the higher mean wins
    effective: float = np.nan  # effective number of independent observations


class Decision(NamedTuple):
    """The decision on an experiment, as printed by ``logs compare``.

    Examples
    --------
    >>> Decision._fields[:3]
    ('verdict', 'winner', 'sentence')
    """

    verdict: str  # "stop", "no difference", "go on", "wait", or "no decision" if a check or guardrail fails
    winner: str  # the ranker that wins against all others by the primary outcome alone; "" if none
    sentence: str  # the verdict with its reason
    notes: tuple[str, ...]  # what limits the sentence: guardrails, changes of users or rankers
    pairs: tuple[PairDecision, ...]  # in the order of the comparison's pairs
    labels: tuple[str, ...]  # for each pair, its verdict in the table
    confidence: float  # confidence of the decision
    every_look: bool  # whether the decision is valid at every look (else at one planned look)
    margin: float
    findings: tuple[Finding, ...] | None  # None if nothing was checked
    guardrails: tuple[Guardrail, ...]


def decide(
    comparison: Comparison,
    stop_at: float | None = None,
    *,
    margin: float = 0.0,
    guardrails: Collection[Guardrail] = (),
    checks: bool = True,
) -> Decision:
    r"""Decide from the checks of the log, the primary outcome, the guardrails, and whether the week is complete.

    Parameters
    ----------
    comparison : Comparison
    stop_at : float, optional
        Confidence that holds for all looks at the growing log together; above 0 and below 1. By default the decision
        is for one planned look, at the confidence of the comparison.
    margin : float
        With ``stop_at``: the largest absolute mean outcome that does not matter. A pair is decided as "no difference"
        once its absolute mean is shown to be smaller.
    guardrails : collection of Guardrail
        See `guardrails`. Nothing is decided for a winner whose guardrail is broken.
    checks : bool
        Whether the log is checked as by `check_log`. Nothing is decided if a check fails.

    Returns
    -------
    Decision

    Raises
    ------
    InputError
        For numbers out of range, or for looks at a comparison in which each user counts once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.logs import ClickLog, compare_log
    >>> row = '{"impression": %d, "time": 0, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    >>> row += ' "rankers": ["old", "new"], "owners": ["old", "new"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text("\n".join(row % (k, k) for k in range(1000)))
    ...     decision = decide(compare_log(ClickLog(path)), 0.95, checks=False)
    >>> decision.verdict, decision.winner
    ('stop', 'new')
    """
    confidence = comparison.confidence if stop_at is None else stop_at
    pairs = _at_one_look(comparison) if stop_at is None else _at_every_look(comparison, confidence, margin)
    projected = projection(comparison.names, pairs)
    winner = projected[1] if projected[0] == 0 else ""
    findings = tuple(comparison.findings) if checks else None
    failed = [one.name for one in findings or () if one.verdict == "fails"]
    of_winner = [one for one in guardrails if one.ahead == winner]
    broken = [one for one in of_winner if not one.holds]
    wait = 0.0 if stop_at is None else _days_to_wait(comparison)
    sentence = (
        sentences.one_look(comparison, pairs, winner)
        if stop_at is None
        else sentences.every_look(comparison, pairs, margin, projected, too_few=too_few(projected[1], pairs))
    )
    verdict = pairs_verdict(pairs, winner)
    if stop_at is not None and wait and verdict != "go on":
        verdict, sentence = "wait", sentences.waiting(wait, sentence)
    notes = [*sentences.changes(comparison), *filter(None, (comparison.provenance.get("caution"),))]
    if of_winner and not broken:
        notes.append(sentences.guardrails_hold(len(of_winner), winner))
    if failed or broken:
        notes.append(f"By the primary outcome alone, the result would be: {sentence}")
        verdict, sentence = "no decision", sentences.no_decision(failed, broken, winner)
    harmed = {frozenset((one.ahead, one.behind)) for one in guardrails if not one.holds}
    labels = tuple(
        "no decision" if verdict == "no decision" else _label(one, wait > 0, frozenset(one[:2]) in harmed)
        for one in pairs
    )
    return Decision(
        verdict, winner, sentence, tuple(notes), tuple(pairs), labels, confidence, stop_at is not None, margin,
        findings, tuple(guardrails),
    )  # fmt: skip


def pairs_verdict(pairs: Sequence[PairDecision], winner: str) -> str:
    """Return the verdict on all pairs together: "stop", "no difference" or "go on"."""
    if winner or all(one.verdict == "stop" for one in pairs):
        return "stop"
    if all(one.verdict == "no difference" for one in pairs):
        return "no difference"
    return "go on" if any(one.verdict == "go on" for one in pairs) else "stop"


def _label(one: PairDecision, waits: bool, harmed: bool) -> str:
    """Return the verdict of a pair in the table."""
    if one.verdict == "go on":
        return "open"
    if one.winner and harmed:
        return "no decision"
    if waits:
        return f"wait: {one.winner} ahead" if one.winner else "wait: no difference"
    return f"{one.winner} wins" if one.winner else "no difference"


def sequential_test(comparison: Comparison) -> ClusteredTest | BettingTest:
    """Return the sequential test of a log: clustered, but for logs of policies and for independent impressions."""
    if comparison.cluster == "impression" or comparison.adaptive:
        return BettingTest(comparison.sequences)
    counts = comparison.counts.astype(np.float64)
    return ClusteredTest(comparison.cautious, comparison.p, counts, comparison.means.mean)


def _at_one_look(found: Comparison) -> list[PairDecision]:
    decided = found.p_corrected < 1 - found.confidence
    n = found.sequences.n if found.adaptive else found.counts
    pairs = []
    for k, pair in enumerate(found.named_pairs):
        verdict, winner = ("stop", pair[0 if found.means.mean[k] >= 0 else 1]) if decided[k] else ("go on", "")
        mean, low, high, p = (float(part[k]) for part in (found.means.mean, found.low, found.high, found.p_corrected))
        more = 0.0 if decided[k] else np.inf
        one = PairDecision(*pair, verdict, winner, int(n[k]), mean, low, high, p, more=more, more_to_win=more)
        pairs.append(one)
    return pairs


def _at_every_look(found: Comparison, confidence: float, margin: float) -> list[PairDecision]:
    if found.unit == "user":
        raise InputError("a comparison in which each user counts once is valid for one look only")
    return pair_decisions(
        sequential_test(found), found.named_pairs, found.tests, found.impressions, confidence=confidence, margin=margin
    )


def pair_decisions(
    test: ClusteredTest | BettingTest,
    named_pairs: Sequence[tuple[str, str]],
    tests: int,
    impressions: int,
    *,
    confidence: float,
    margin: float = 0.0,
) -> list[PairDecision]:
    """Decide for each pair whether to stop; the error bound holds for any number of looks.

    With probability ``confidence``, all intervals hold at all times, so that no decision on a pair, and no winner
    against all others, is ever wrong. The error is divided among ``tests`` pairs; ``impressions`` are those of all.
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    errors.require_between("the margin", margin, 0, 1)
    now = test.sequence(confidence, tests)
    won, lost = now.low > 0, now.high < 0
    same = ~(won | lost) & (-margin < now.low) & (now.high < margin)

    def further(asked: NDArray[np.bool_], margin: float) -> FloatVector:
        rows, more = np.flatnonzero(asked), np.zeros(len(asked))
        more[rows] = (test.of(rows).growth(confidence, tests, margin) - 1) * max(impressions, 1)
        return more

    more = further(~(won | lost | same), margin)
    to_win = further(~(won | lost), 0.0) if margin > 0 else more
    e_value = np.exp(np.minimum(now.log_e, 700.0))
    p = np.minimum(tests / np.maximum(e_value, 1e-300), 1.0)
    verdict = np.select([won | lost, same], ["stop", "no difference"], "go on").tolist()
    side = np.where(won, 0, np.where(lost, 1, 2)).tolist()
    columns = test.n.astype(np.int64), test.mean, now.low, now.high, p, e_value, more, to_win, test.effective
    return [
        PairDecision(*pair, verdict[k], (*pair, "")[side[k]], *(column[k].item() for column in columns))
        for k, pair in enumerate(named_pairs)
    ]


def projection(names: Sequence[str], pairs: Sequence[PairDecision]) -> tuple[float, str]:
    """Return the number of further impressions until the experiment may stop, and its winner, if means persist.

    The experiment may stop once a ranker wins against all others, or every pair is decided; pairs that were never shown
    are never decided.
    """
    shown_all = len(pairs) == len(names) * (len(names) - 1) // 2
    ways = [(max((one.more for one in pairs), default=np.inf) if shown_all else np.inf, "")]
    for name in names:
        own = [one for one in pairs if name in one[:2]]
        leads = all((one.first if one.mean > 0 else one.second) == name and one.mean != 0 for one in own)
        if len(own) == len(names) - 1 and leads:
            ways.append((max((one.more_to_win for one in own), default=np.inf), name))
    return min(ways, key=lambda way: (way[0], not way[1]))


def too_few(winner: str, pairs: Sequence[PairDecision]) -> bool:
    """Return whether an open pair on which the decision depends has too few observations for a projection."""
    needed = [one for one in pairs if one.verdict == "go on" and (not winner or winner in one[:2])]
    return any(one.effective < FEWEST for one in needed)


def running_sentence(names: Sequence[str], pairs: Sequence[PairDecision], margin: float, impressions: int) -> str:
    """Return whether to stop a live experiment, whose closed pages of several rankers are ``impressions``."""
    projected, unit = projection(names, pairs), "pages of several rankers"
    few = f"too few {unit} so far to project how many more are needed." * too_few(projected[1], pairs)
    return sentences.running(names, pairs, margin, projected, impressions, unit, few=few)


def impressions_to_go(names: Sequence[str], pairs: Sequence[PairDecision]) -> float:
    """Return the further impressions of `projection`, or infinity if there are too few observations to project."""
    further, winner = projection(names, pairs)
    return np.inf if further and too_few(winner, pairs) else further


def _days_to_wait(found: Comparison) -> float:
    """Return the number of days until the week is complete; 0 if no wait is required."""
    return days_to_a_whole_week((found.provenance["last"] - found.provenance["first"]) / 86_400)
