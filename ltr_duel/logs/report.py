"""The comparison in words and as one page."""

from __future__ import annotations

from pathlib import Path

from ltr_duel.core import files, several
from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.findings import finding_lines
from ltr_duel.logs.guardrail import guardrail_lines
from ltr_duel.logs.method_words import method_lines, whose
from ltr_duel.logs.table import date_words
from ltr_duel.logs.tables import ROWS, beside_table, column_notes, comparison_table
from ltr_duel.logs.verdict import Evidence, decision_of

_PAIRS = {"day": 1, "week": 1, "outcome": ROWS}  # pairs in a table of parts, the clearest first; else 3
_TEMPLATE = Path(__file__).parent / "templates" / "log.html"
_HEADINGS = {
    "outcome": "Secondary outcomes",
    "day": "Day by day",
    "week": "Week by week",
    "new": "New users: their first 24 hours, and later",
    "heavy": "Users who come often",
}


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
    pairs = several(len(found.pairs), "pair")
    lines = [
        f"{about['log']}: {several(found.impressions, 'impression')}, {len(found.names)} rankers, {pairs},"
        f" by {about['method']} ({about['outcome']})",
        f"from {date_words(about['first'])} to {date_words(about['last'])}, {several(about['queries'], 'query')}"
        + (f", {several(about['users'], 'user')}" if about["users"] else ", no values in 'user'"),
        f"intervals of {found.confidence:.0%}, errors {_robust(found.cluster)}" + f": the answer is for {whose(found)}",
    ]
    if about["bad_lines"]:
        lines.append(f"bad lines that were skipped: {about['bad_lines']:,}")
    notes = [about["caution"]] if "caution" in about else []
    return lines + [f"note: {one}" for one in (*notes, *found.warnings)]


def _robust(cluster: str) -> str:
    if cluster == "impression":
        return "as if all impressions were independent"
    return f"clustered by {'user and query' if cluster == 'both' else cluster}"


def save_comparison(evidence: Evidence, path: str | Path, *, title: str = "") -> None:
    """Write a decision, and all that it rests on, as one self-contained HTML page.

    Parameters
    ----------
    evidence : Evidence
    path : path
    title : str

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(save_comparison)
    True
    """
    from ltr_duel.analysis import png_bytes, render_page  # with matplotlib, which the terminal does not need
    from ltr_duel.logs.picture import plot_comparison, plot_parts

    found = evidence.found
    always = evidence.confidence if evidence.decisions is not None else None
    *answer, headline = decision_of(evidence).lines
    headline, _, rest = headline.partition(". ")
    page = render_page(
        _TEMPLATE,
        title=title or f"Comparison of {', '.join(found.names[:4])}{' ...' if len(found.names) > 4 else ''}",
        lines=comparison_lines(found),
        headline=headline + "." * bool(rest),
        answer=[*filter(None, [rest]), *answer],
        findings=None if evidence.findings is None else finding_lines(list(evidence.findings)),
        primary=found.provenance["events"],
        table=comparison_table(evidence),
        columns=column_notes(evidence),
        guards=guardrail_lines(list(evidence.guards)),
        beside=[
            (_HEADINGS.get(one.by, f"By {one.by}"), beside_table(one, _PAIRS.get(one.by, 3)), one.notes[:3])
            for one in evidence.beside
        ],
        days=[png_bytes(plot_parts(one)) for one in evidence.beside if one.by == "day"],
        picture=png_bytes(plot_comparison(found, confidence=always, margin=evidence.margin)),
        method=method_lines(evidence),
        settings=found.provenance,
    )
    with files.replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
