"""The comparison in words, tables and one page."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from ltr_duel.analysis import png_bytes, render_page
from ltr_duel.core import files
from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.describe import date_words
from ltr_duel.logs.picture import plot_comparison
from ltr_duel.logs.stopping import StoppingDecision, stopping_decisions, stopping_sentence

_TEMPLATE = Path(__file__).parent / "templates" / "log.html"
_ROWS = 40  # pairs on a page


def comparison_lines(found: LogComparison) -> list[str]:
    """Say in sentences what a comparison rests on.

    Parameters
    ----------
    found : LogComparison

    Returns
    -------
    list of str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> about = {"method": "team_draft", "outcome": "credit", "users": 5, "queries": 2, "first": 0, "last": 60}
    >>> about |= {"bad_lines": 0, "log": "clicks.jsonl"}
    >>> found = SimpleNamespace(impressions=10, names=("old", "new"), pairs=[(0, 1)], cluster="user", provenance=about)
    >>> found.confidence, found.warnings = 0.95, []
    >>> comparison_lines(found)[0]
    'clicks.jsonl: 10 impressions, 2 rankers, 1 pair, by team_draft (credit)'
    """
    about = found.provenance
    pairs = f"{len(found.pairs):,} pair{'s' if len(found.pairs) > 1 else ''}"
    lines = [
        f"{about['log']}: {found.impressions:,} impressions, {len(found.names)} rankers, {pairs},"
        f" by {about['method']} ({about['outcome']})",
        f"from {date_words(about['first'])} to {date_words(about['last'])}, {about['queries']:,} queries"
        + (f", {about['users']:,} users" if about["users"] else ", users not known"),
        f"intervals of {found.confidence:.0%}, errors {_robust(found.cluster)}",
    ]
    if about["bad_lines"]:
        lines.append(f"{about['bad_lines']:,} bad lines were skipped")
    return lines + [f"note: {warning}" for warning in found.warnings]


def _robust(cluster: str) -> str:
    if cluster == "impression":
        return "as if all impressions were independent"
    return f"clustered by {'user and query' if cluster == 'both' else cluster}"


def comparison_table(found: LogComparison, rows: int = _ROWS) -> pd.DataFrame:
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
                "bootstrap": "-" if math.isnan(drawn[0]) else f"{drawn[0]:+.4f} {drawn[1]:+.4f}",
                "p": _p(row.p),
                "p, corrected": _p(row.p_corrected),
            }
        )
    return pd.DataFrame(table)


def stopping_table(decisions: list[StoppingDecision], rows: int = _ROWS) -> pd.DataFrame:
    """Return the table of what may be decided, the clearest pairs first.

    Parameters
    ----------
    decisions : list of StoppingDecision
    rows : int
        At most so many pairs.

    Returns
    -------
    pandas.DataFrame
        Of texts.

    Examples
    --------
    >>> decision = StoppingDecision("old", "new", "stop", "new", 900, -0.3, -0.4, -0.2, 1e9, 0.0)
    >>> stopping_table([decision])["verdict"].tolist()
    ['stop: new']
    """
    ordered = sorted(decisions, key=lambda one: -one.e_value)[:rows]
    if all(math.isnan(one.per_user) for one in decisions):
        return pd.DataFrame([_row(one, "mean") for one in ordered])
    return pd.DataFrame([_row(one, "mean per impression") | _per_user(one) for one in ordered])


def _row(one: StoppingDecision, mean: str) -> dict[str, str]:
    return {
        "pair": f"{one.first} against {one.second}",
        "verdict": _verdict(one),
        "observations": f"{one.observations:,}",
        mean: f"{one.mean:+.4f}",
        "always within": f"{one.low:+.4f} {one.high:+.4f}",
        "e-value": f"{one.e_value:.3g}",
        "impressions to go": "-" if one.verdict != "go on" else _amount(one.more),
    }


def _per_user(one: StoppingDecision) -> dict[str, str]:
    return {"per user": f"{one.per_user:+.4f}", "within": f"{one.per_user_low:+.4f} {one.per_user_high:+.4f}"}


def save_comparison(
    found: LogComparison,
    path: str | Path,
    *,
    confidence: float = 0.95,
    margin: float = 0.0,
    title: str = "",
    any_time: bool = False,
) -> None:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    found : LogComparison
    path : path
    confidence, margin : float
        Of the decision, see `stopping_decisions`.
    title : str
    any_time : bool
        See `stopping_sentence`.

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(save_comparison)
    True
    """
    decisions = stopping_decisions(found, confidence, margin=margin)
    page = render_page(
        _TEMPLATE,
        title=title or f"Comparison of {', '.join(found.names[:4])}{' ...' if len(found.names) > 4 else ''}",
        lines=comparison_lines(found),
        answer=stopping_sentence(found, decisions, margin, any_time=any_time),
        table=comparison_table(found),
        stopping=stopping_table(decisions),
        confidence=f"{confidence:.0%}",
        picture=png_bytes(plot_comparison(found, confidence=confidence, margin=margin)),
        settings=found.provenance,
    )
    with files.replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _p(value: float) -> str:
    return "< 1e-12" if value < 1e-12 else f"{value:.3g}"


def _verdict(one: StoppingDecision) -> str:
    if one.winner or not one.ahead:
        return one.verdict + (f": {one.winner}" if one.winner else "")
    return f"{one.verdict}, ahead: {one.ahead}"  # enough for a winner against all, not for each pair


def _amount(value: float) -> str:
    return "more than 1e9" if value > 1e9 else f"{value:,.0f}"
