"""The tables of a comparison as people read them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.slices import Beside
from ltr_duel.logs.stopping import FEWEST, StoppingDecision
from ltr_duel.logs.verdict import Evidence, decision_of

ROWS = 40  # pairs on a page


def comparison_table(evidence: Evidence, rows: int = ROWS) -> pd.DataFrame:
    """Return the table of the pairs as people read it, the clearest first, with what is decided of each.

    Parameters
    ----------
    evidence : Evidence
        Its decisions at any time, if there are any, else the test of one look.
    rows : int
        At most so many pairs.

    Returns
    -------
    pandas.DataFrame
        Of texts. The ranker that is ahead comes first. The mean is over impressions, or over users' first ones.
    """
    found, decisions, verdicts = evidence.found, evidence.decisions, decision_of(evidence).pairs
    names = [tuple(found.names[k] for k in pair) for pair in found.pairs]
    if decisions is None:
        order = sorted(range(len(names)), key=lambda k: (found.p[k], names[k]))[:rows]
        return pd.DataFrame([_head(found, k, found.means.mean[k], verdicts[k]) | _one_look(found, k) for k in order])
    order = sorted(range(len(names)), key=lambda k: -decisions[k].e_value)[:rows]
    return pd.DataFrame(
        [_head(found, k, decisions[k].mean, verdicts[k]) | _any_time(found, decisions[k], verdicts[k]) for k in order]
    )


def column_notes(evidence: Evidence) -> list[str]:
    """Return what columns of `comparison_table` mean that its heads do not say."""
    found, decisions, notes = evidence.found, evidence.decisions, list[str]()
    if decisions is None and len(found.pairs) > 1:
        notes.append("interval: each holds for its pair alone; verdicts are by p, corrected for all pairs.")
    if decisions is not None and found.tests > 1:
        notes.append(
            f"always within: all {found.tests} pairs share the error, so with a chance of {evidence.confidence:.4g}"
            " none of these intervals is ever wrong, no verdict, and no winner, who wins each of its pairs."
        )
    if any(not math.isnan(one.per_user) for one in decisions or ()):
        notes.append(
            "per impression: each impression so far counts once; the decision is by this mean."
            " per user: each user counts once, by the first impression. Both intervals hold at every look."
        )
    return notes


def _head(found: LogComparison, k: int, mean: float, verdict: str) -> dict[str, str]:
    """Return what rows begin with."""
    sign = 1 if mean >= 0 else -1
    won, lost = (found.wins[k], found.losses[k])[::sign]
    return {
        "pair": " > ".join([found.names[one] for one in found.pairs[k]][::sign]),
        "verdict": verdict,
        "impressions": f"{found.counts[k]:,}",
        "wins": f"{won:,}",
        "losses": f"{lost:,}",
        "ties": f"{found.ties[k]:,}",
    }


def _one_look(found: LogComparison, k: int) -> dict[str, str]:
    sign = 1 if found.means.mean[k] >= 0 else -1
    drawn = found.bootstrap[:, k]
    return {
        "mean": f"{sign * found.means.mean[k]:+.4f}",
        "interval": _ends(sign, found.low[k], found.high[k]),
        **({} if np.isnan(drawn[0]) else {"bootstrap": _ends(sign, *drawn)}),
        "p": _p(found.p[k]),
        "p, corrected": _p(found.p_corrected[k]),
    }


def _any_time(found: LogComparison, one: StoppingDecision, verdict: str) -> dict[str, str]:
    sign = 1 if one.mean >= 0 else -1
    both = not math.isnan(one.per_user)
    once = found.adaptive and found.cluster in ("user", "both")
    name = "mean per impression" if both else "mean, first impressions" if once else "mean"
    row = {name: f"{sign * one.mean:+.4f}", "always within": _ends(sign, one.low, one.high)}
    if both:
        ends = _ends(sign, one.per_user_low, one.per_user_high)
        row |= {"mean per user": f"{sign * one.per_user:+.4f}", "per user within": ends}
    return row | {
        "e-value": f"{one.e_value:.3g}",
        "impressions to go": _to_go(one) if verdict == "open" else "-",
    }


def beside_table(beside: Beside, pairs: int = ROWS) -> pd.DataFrame:
    """Return the table of parts of a log, or of secondary outcomes.

    Parameters
    ----------
    beside : Beside
    pairs : int
        At most so many pairs of rankers.

    Returns
    -------
    pandas.DataFrame
        Of texts.

    Examples
    --------
    >>> row = {"day": ["2026-03-01"], "first": ["new"], "second": ["old"], "impressions": [20], "mean": [0.25]}
    >>> frame = pd.DataFrame(row | {"low": [0.1], "high": [0.4], "p_corrected": [0.01]})
    >>> beside_table(Beside("day", frame, [])).columns.tolist()
    ['day', 'pair', 'impressions', 'mean', 'interval', 'p, corrected']
    """
    pair = beside.frame["first"] + " > " + beside.frame["second"]
    chosen = pair.isin(pair.drop_duplicates()[:pairs])
    frame, pair = beside.frame[chosen], pair[chosen]
    counts = [name for name in ("impressions", "users", "first seen") if name in frame]
    ends = zip(frame["low"], frame["high"], strict=True)
    return pd.DataFrame(
        {
            beside.by: frame[beside.by],
            "pair": pair,
            **{name: [f"{n:,}" for n in frame[name]] for name in counts},
            "mean": [f"{mean:+.4f}" for mean in frame["mean"]],
            "interval": [_ends(1, *both) for both in ends],
            "p, corrected": [_p(p) for p in frame["p_corrected"]],
        }
    )


def _ends(sign: int, *ends: float) -> str:
    low, high = sorted(sign * end for end in ends)
    return f"{low:+.4f} {high:+.4f}"


def _p(value: float) -> str:
    return "< 1e-12" if value < 1e-12 else f"{value:.3g}"


def _to_go(one: StoppingDecision) -> str:
    if one.independent < FEWEST:
        return "too few to say"
    return "more than 1e9" if one.more > 1e9 else f"{one.more:,.0f}"
