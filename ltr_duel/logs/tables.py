"""The tables of a comparison as people read them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd

from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.slices import Beside
from ltr_duel.logs.stopping import StoppingDecision

ROWS = 40  # pairs on a page


def comparison_table(found: LogComparison, rows: int = ROWS) -> pd.DataFrame:
    """Return the table of the pairs as people read it, the clearest first.

    Parameters
    ----------
    found : LogComparison
    rows : int
        At most so many pairs.

    Returns
    -------
    pandas.DataFrame
        Of texts.

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(comparison_table)
    True
    """
    table = []
    frame = found.to_frame().head(rows)
    for row in (SimpleNamespace(**dict(zip(map(str, frame), values, strict=True))) for values in frame.to_numpy()):
        ahead = f"{row.first} > {row.second}" if row.mean >= 0 else f"{row.second} > {row.first}"
        sign = 1 if row.mean >= 0 else -1
        ends = sorted((sign * row.low, sign * row.high))
        drawn = sorted((sign * row.bootstrap_low, sign * row.bootstrap_high))
        won = (row.wins, row.losses) if sign > 0 else (row.losses, row.wins)
        table.append(
            {
                "pair": ahead,
                "impressions": f"{row.impressions:,}",
                "wins": f"{won[0]:,}",
                "losses": f"{won[1]:,}",
                "ties": f"{row.ties:,}",
                "mean": f"{sign * row.mean:+.4f}",
                "interval": f"{ends[0]:+.4f} {ends[1]:+.4f}",
                **({} if math.isnan(drawn[0]) else {"bootstrap": f"{drawn[0]:+.4f} {drawn[1]:+.4f}"}),
                "p": _p(row.p),
                "p, corrected": _p(row.p_corrected),
            }
        )
    return pd.DataFrame(table)


def stopping_table(found: LogComparison, decisions: list[StoppingDecision], rows: int = ROWS) -> pd.DataFrame:
    """Return the table of the pairs with what may be decided at any time, the clearest first.

    Parameters
    ----------
    found : LogComparison
    decisions : list of StoppingDecision
        Of this comparison.
    rows : int
        At most so many pairs.

    Returns
    -------
    pandas.DataFrame
        Of texts. The ranker that is ahead comes first. The mean is over impressions, or over users' first ones.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> decision = StoppingDecision("old", "new", "stop", "new", 900, -0.3, -0.4, -0.2, 1e9, 0.0)
    >>> found = SimpleNamespace(counts=[900], wins=[100], losses=[370], ties=[430], cluster="user", adaptive=False)
    >>> stopping_table(found, [decision])[["pair", "verdict", "mean"]].to_numpy().tolist()
    [['new > old', 'stop: new', '+0.3000']]
    """
    order = sorted(range(len(decisions)), key=lambda k: -decisions[k].e_value)[:rows]
    return pd.DataFrame([_row(found, k, decisions[k]) for k in order])


def _row(found: LogComparison, k: int, one: StoppingDecision) -> dict[str, str]:
    sign = 1 if one.mean >= 0 else -1
    won, lost = (found.wins[k], found.losses[k])[::sign]
    both = not math.isnan(one.per_user)
    once = found.adaptive and found.cluster in ("user", "both")
    name = "mean per impression" if both else "mean, first impressions" if once else "mean"
    row = {
        "pair": " > ".join((one.first, one.second)[::sign]),
        "verdict": _verdict(one),
        name: f"{sign * one.mean:+.4f}",
        "always within": _ends(sign, one.low, one.high),
        "impressions": f"{found.counts[k]:,}",
        "wins": f"{won:,}",
        "losses": f"{lost:,}",
        "ties": f"{found.ties[k]:,}",
    }
    if both:
        row |= {"per user": f"{sign * one.per_user:+.4f}", "within": _ends(sign, one.per_user_low, one.per_user_high)}
    return row | {
        "e-value": f"{one.e_value:.3g}",
        "impressions to go": "-" if one.verdict != "go on" else _amount(one.more),
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


def _verdict(one: StoppingDecision) -> str:
    if one.winner or not one.ahead:
        return one.verdict + (f": {one.winner}" if one.winner else "")
    return f"{one.verdict}, ahead: {one.ahead}"  # enough for a winner against all, not for each pair


def _amount(value: float) -> str:
    return "more than 1e9" if value > 1e9 else f"{value:,.0f}"
