"""The comparison as text and as one HTML page: the estimates, the error probability, and the assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ltr_duel.core import files, several
from ltr_duel.logs.adaptive import first_impressions
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.findings import finding_lines
from ltr_duel.logs.limits import guardrail_lines
from ltr_duel.logs.table import date_words
from ltr_duel.logs.tables import ROWS, beside_table, column_notes, comparison_table, rankers_in_table, two_tests
from ltr_duel.logs.verdict import Evidence, decision_of

_PAIRS = {"day": 1, "week": 1, "outcome": ROWS}  # number of pairs (the clearest) in a table of parts; by default 3
_TEMPLATE = Path(__file__).parent / "templates" / "log.html"
_HEADINGS = {
    "outcome": "Secondary outcomes",
    "day": "Day by day",
    "week": "Week by week",
    "new": "New users: their first 24 hours, and later",
    "heavy": "Users who come often",
}
_WHOSE = {
    "impression": "{}",
    "user": "users who ask {}",
    "query": "queries like these",
    "both": "users and queries like these",
}


def comparison_lines(found: LogComparison) -> list[str]:
    """Return sentences about data and settings."""
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
    return lines + [f"note: {one}" for one in [*notes, *found.warnings]]


def _robust(cluster: str) -> str:
    if cluster == "impression":
        return "as if all impressions were independent"
    return f"clustered by {'user and query' if cluster == 'both' else cluster}"


def save_comparison(evidence: Evidence, path: str | Path, *, title: str = "") -> None:
    """Write a decision and its evidence as one self-contained HTML page."""
    from ltr_duel.analysis import png_bytes, render_page  # imports matplotlib, which text reports do not need
    from ltr_duel.logs.picture import plot_comparison, plot_parts

    found = evidence.found
    always = evidence.confidence if evidence.decisions is not None else None
    names, about = rankers_in_table(evidence), found.provenance
    *answer, headline = decision_of(evidence).lines
    headline, _, rest = headline.partition(". ")
    omitted = f"The {ROWS} clearest of {len(found.pairs):,} pairs are shown; the error is divided among all pairs."
    page = render_page(
        _TEMPLATE,
        title=title or f"Comparison of {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}",
        lines=comparison_lines(found),
        headline=_capital(headline, found.names) + "." * bool(rest),
        answer=[*filter(None, [rest]), *answer],
        findings=None if evidence.findings is None else finding_lines(list(evidence.findings)),
        primary=found.provenance["events"],
        table=comparison_table(evidence),
        columns=[*[omitted] * (len(found.pairs) > ROWS), *column_notes(evidence)],
        guards=guardrail_lines(list(evidence.guards)),
        beside=[
            (_HEADINGS.get(one.by, f"By {one.by}"), beside_table(one, pairs), one.lines(pairs))
            for one, pairs in ((one, _PAIRS.get(one.by, 3)) for one in evidence.beside)
        ],
        days=[png_bytes(plot_parts(one, pairs=_PAIRS["day"])) for one in evidence.beside if one.by == "day"],
        picture=png_bytes(plot_comparison(found, confidence=always, margin=evidence.margin)),
        caption=picture_caption(evidence),
        method=method_lines(evidence),
        settings=about | {name: date_words(about[name]) for name in ("first", "last")},
    )
    with files.replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _capital(sentence: str, names: Sequence[str]) -> str:
    """Capitalise a headline, unless it begins with the name of a ranker."""
    return sentence if sentence.startswith(tuple(names)) else sentence[:1].upper() + sentence[1:]


def whose(found: LogComparison) -> str:
    """Return the users and queries for which the answer is valid, which depend on the clusters of the errors."""
    queries = found.provenance["queries"]
    return _WHOSE[found.cluster].format("this query" if queries == 1 else f"these {queries:,} queries")


def picture_caption(evidence: Evidence, most: int = 4) -> str:
    """Return the caption of the plot over time."""
    found, pairs = evidence.found, len(evidence.found.pairs)
    of = "users' first impressions of a pair" if first_impressions(found) else "all impressions of a pair"
    which = f"For the {most} clearest of {pairs:,} pairs, the" if pairs > most else "The"
    margin = f" The grey band is the margin, {evidence.margin:g} on either side of 0." if evidence.margin > 0 else ""
    drawn = "with the interval by which the decision is made; intervals that cover -1 to 1 are not drawn"
    return f"{which} mean outcome of {of} up to each time, {drawn}.{margin}"


def beside_note(confidence: float) -> str:
    """Return a note on the correction of intervals and p in a table of parts or of secondary outcomes."""
    return (
        f"In each table of parts or secondary outcomes, all intervals hold simultaneously with {confidence:.0%}"
        " confidence (Bonferroni). p is corrected for the table's rows by Holm's rule, which is less conservative, so"
        " an interval may contain 0 although p is small."
    )


def method_lines(evidence: Evidence) -> list[str]:
    """Return lines on the estimand, the error probability and the assumptions."""
    about = evidence.found.provenance
    lines = [
        f"Outcome: {about['events']}, credited by {about['method']} ({about['outcome']}). The mean outcome is from"
        " -1 to 1: the share of impressions won minus the share lost; with fractional credit, the mean credit.",
        *([about["caution"]] if "caution" in about else []),
        f"{_estimand(evidence)} The answer is for {whose(evidence.found)}.",
        _family(evidence),
    ]
    if evidence.guards:
        lines.append(
            f"Guardrails: one-sided tests that the ranker ahead is not worse by more than the margin. Each test has an"
            f" error of {1 - evidence.confidence:.2g}; a decision requires all of them, so they need no correction."
        )
    if evidence.beside:
        lines.append(
            "Secondary outcomes and parts of the log are explanations, on which no decision is based."
            f" {beside_note(evidence.confidence)} Days and weeks are in UTC; because a past day does not change, the"
            " intervals of days and weeks are for one look."
            " A user is new for 24 hours from the first impression in the log."
        )
    if evidence.findings is not None:
        lines.append("Checks: each test fails for at most one sound log in a hundred.")
    return [*lines, _assumptions(evidence.found)]


def _estimand(evidence: Evidence) -> str:
    found = evidence.found
    if found.adaptive:
        names = " and ".join(found.provenance["policies"])
        once = "users' first impressions of a pair" if found.cluster == "user" else "the impressions of a pair"
        return (
            f"The estimand is the mean outcome over {once}, in the order in which {names} showed them: {names} chose"
            " the rankers by earlier outcomes, so plain means are biased. The intervals form a confidence sequence,"
            f" which is valid for any choice of pairs as long as the next user is new."
        )
    if any(not np.isnan(one.per_user) for one in evidence.decisions or ()):
        return (
            "The estimand of the decision is the mean outcome over the impressions so far; the mean over users, by"
            " their first impressions, is estimated too."
        )
    so_far = "" if evidence.decisions is None else " so far"
    return f"The estimand is the mean outcome over the impressions{so_far}."


def _family(evidence: Evidence) -> str:
    error, pairs = f"{1 - evidence.confidence:.2g}", evidence.found.tests
    if evidence.decisions is None:
        pairs = len(evidence.found.pairs)  # pairs that were shown
        corrected = f" p is corrected for the {pairs} pairs (Holm); each interval is for its pair alone." * (pairs > 1)
        return f"Error: at one planned look, a pair is decided wrongly with probability at most {error}.{corrected}"
    shared = f" of the {pairs} pairs" if pairs > 1 else ""
    twice = f" ({2 - 2 * evidence.confidence:.2g} with looks by both tests, see below the table)"
    twice *= bool(two_tests(evidence.found))
    named = " A winner against all others wins each of its pairs, so this also applies to winners." * (pairs > 1)
    return (
        f"Error: the probability that any decision{shared} is ever wrong, at any number of looks, is at most"
        f" {error}{twice}.{named}"
        " Intervals and p-values are valid at every look as well, except those of days, weeks, checks and drift, and"
        ' the tests marked "one look".'
    )


def _assumptions(found: LogComparison) -> str:
    who = {"user": "users are", "query": "queries are", "both": "users are, and queries are,"}
    if found.cluster not in who:
        return "Assumed: impressions are independent of each other."
    return f"Assumed: {who[found.cluster]} independent of each other; outcomes within each may be correlated."
