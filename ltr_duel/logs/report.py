"""Show a comparison and its decision as tables, as lines of text, or as an HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ltr_duel.core import files, several
from ltr_duel.logs.comparison import Comparison
from ltr_duel.logs.decision import Decision, leader
from ltr_duel.logs.findings import Finding, check_counts, finding_lines
from ltr_duel.logs.subgroup import DAY, SubgroupTable
from ltr_duel.logs.table import date_words

ROWS = 40  # maximum number of pairs on a page
_PAIRS = {"day": 1, "week": 1, "outcome": ROWS}  # number of pairs (the clearest) in a table of parts; by default 3
_TEMPLATE = Path(__file__).parent / "templates" / "log.html"
_HEADINGS = {
    "outcome": "Secondary outcomes",
    "day": "Day by day",
    "week": "Week by week",
}
_WHOSE = {"impression": "{}", "user": "users who ask {}", "query": "queries like these"}


def usual_subgroups(first: float, last: float) -> list[str]:
    """Return how a report divides a log: by "day" if it has 2 to 62 days, by "week" if it has at least 13."""
    days = (last - first) / DAY
    return ["day"] * (2 <= days <= 62) + ["week"] * (days >= 13)


def comparison_table(comparison: Comparison, decision: Decision, rows: int = ROWS) -> pd.DataFrame:
    """Return the pairs with their verdicts as formatted strings. The better ranker of a pair comes first."""
    return pd.DataFrame([_row(comparison, decision, k) for k in comparison.clearest[:rows]])


def _row(comparison: Comparison, decision: Decision, k: int) -> dict[str, str]:
    pair, sign = decision.pairs[k], comparison.signs[k]
    won, lost = (comparison.wins[k], comparison.losses[k])[::sign]
    row = {"pair": " > ".join(pair[:2][::sign]), "verdict": decision.labels[k]}
    row["impressions"] = f"{comparison.counts[k]:,}"
    if comparison.first_impressions:
        row["first impressions"] = f"{pair.observations:,}"
    else:
        row |= {"wins": f"{won:,}", "losses": f"{lost:,}", "ties": f"{comparison.ties[k]:,}"}
    if comparison.ratio:
        row[comparison.provenance["denominator"]] = f"{comparison.denominator[k]:,.0f}"
    row["mean, first impressions" if comparison.first_impressions else "mean"] = f"{sign * pair.mean:+z.4f}"
    row |= {"interval": _ends(*sorted((sign * pair.low, sign * pair.high))), "p, corrected": _p(pair.p)}
    return row


def _ends(low: float, high: float) -> str:
    return f"{low:+z.4f} to {high:+z.4f}"


def _p(value: float) -> str:
    return "< 1e-12" if value < 1e-12 else f"{value:.3g}"


def standing_lines(comparison: Comparison, decision: Decision) -> tuple[str, str]:
    """Return who leads several rankers, and the row of the leader and its strongest rival, or of two rankers."""
    names, pairs, standing, k = comparison.names, decision.pairs, "", 0
    if len(names) > 2:
        others, first = f"against each of the {len(names) - 1} others", leader(names, pairs)
        decided, shown = sum(pair.verdict != "go on" for pair in pairs), math.comb(len(names), 2)
        which = f"; {decided:,} of {shown:,} pairs are decided" if decision.verdict != "no decision" else ""
        if not first:
            return f"no ranker leads {others}{which} (--explain lists them).", ""
        k = min((k for k, pair in enumerate(pairs) if first in pair[:2]), key=lambda k: abs(pairs[k].mean))
        rival = pairs[k].second if pairs[k].first == first else pairs[k].first
        standing = f"{first} leads {others}{which}. Its strongest rival is {rival}."
    row = _row(comparison, decision, k)
    ordered = [*list(row)[-3:], *list(row)[2:-3]]
    return standing, f"{row['pair']}: " + ", ".join(f"{name} {row[name]}" for name in ordered)


def column_notes(comparison: Comparison, decision: Decision) -> list[str]:
    """Return a note on how the error is divided among several pairs."""
    when = "is ever wrong, at any number of looks" if decision.every_look else "is wrong at this look"
    note = f"With probability {decision.confidence:.4g} no interval, verdict or winner {when}: all {comparison.tests}"
    return [f"{note} pairs share the error (Bonferroni)."] * (comparison.tests > 1)


def subgroup_table(part: SubgroupTable, pairs: int = ROWS) -> pd.DataFrame:
    """Return a table of subgroups as formatted strings."""
    frame = part.shown(pairs)
    columns = {
        part.by: frame[part.by],
        "pair": frame["pair"],
        "impressions": [f"{n:,}" for n in frame["impressions"]],
        ", ".join(filter(None, ["mean", part.unit])): [f"{mean:+z.4f}" for mean in frame["mean"]],
        "interval": list(map(_ends, frame["low"], frame["high"])),
        "p, corrected": list(map(_p, frame["p_corrected"])),
    }
    return pd.DataFrame(columns)


def subgroup_note(confidence: float) -> str:
    """Return a note on how intervals and p are corrected in a table of subgroups."""
    return (
        f"In each table of parts or secondary outcomes, all intervals hold simultaneously with {confidence:.0%}"
        " confidence, and p is corrected for the table's rows (Bonferroni)."
    )


def comparison_lines(comparison: Comparison, findings: Sequence[Finding] = ()) -> list[str]:
    """Return sentences about data, settings and the number of checks."""
    facts, cluster = comparison.provenance, comparison.cluster
    robust = "as if all impressions were independent" if cluster == "impression" else f"clustered by {cluster}"
    users = several(facts["users"], "user") if facts["users"] else "no values in 'user'"
    notes = [*filter(None, [facts.get("caution")]), *comparison.warnings]
    return [
        f"{facts['log']}: {several(comparison.impressions, 'impression')}, {len(comparison.names)} rankers,"
        f" {several(len(comparison.pairs), 'pair')}, by {facts['method']} ({facts['outcome']})"
        + f"; {check_counts(findings)}"
        * bool(findings),
        f"from {date_words(facts['first'])} to {date_words(facts['last'])}, {several(facts['queries'], 'query')},"
        f" {users}",
        f"the answer is for {_whose(comparison)}: intervals of {comparison.confidence:.0%}, errors {robust}",
        *[f"bad lines that were skipped: {facts['bad_lines']:,}"] * (facts["bad_lines"] > 0),
        *(f"note: {note}" for note in notes),
    ]


def _whose(comparison: Comparison) -> str:
    queries = comparison.provenance["queries"]
    these = "this query" if queries == 1 else f"these {queries:,} queries"
    return _WHOSE[comparison.cluster].format(these)


def save_comparison(
    comparison: Comparison, decision: Decision, path: str | Path, *, parts: Sequence[SubgroupTable] = ()
) -> None:
    """Write a decision and its evidence as one self-contained HTML page."""
    from ltr_duel.analysis import png_bytes, render_page  # imports matplotlib, which text reports do not need

    facts, table, lines = comparison.provenance, comparison_table(comparison, decision), comparison_lines(comparison)
    names = list(dict.fromkeys([*" > ".join(table["pair"]).split(" > "), *comparison.names]))
    headline, _, rest = decision.sentence.partition(". ")
    picture = b""
    if comparison.looks:
        stop_at = decision.confidence if decision.every_look else None
        picture = png_bytes(comparison.plot(stop_at=stop_at, margin=decision.margin))
    page = render_page(
        _TEMPLATE,
        title=f"Comparison of {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}",
        facts=[line for line in lines if not line.startswith("note: ")],
        notes=[line.removeprefix("note: ") for line in lines if line.startswith("note: ")],
        headline=headline[:1].upper() + headline[1:] + "." * bool(rest),
        answer=[*filter(None, [rest]), *filter(None, standing_lines(comparison, decision)[:1]), *decision.notes],
        comparison=comparison,
        decision=decision,
        failed=sum(finding.verdict == "fails" for finding in decision.findings or ()),
        counts=check_counts(decision.findings or ()),
        findings=finding_lines(decision.findings or ()),
        table=table,
        columns=column_notes(comparison, decision),
        guards=list(map(str, decision.guardrails)),
        tables=[
            (_HEADINGS.get(part.by, f"By {part.by}"), subgroup_table(part, pairs), part.lines(pairs))
            for part, pairs in ((part, _PAIRS.get(part.by, 3)) for part in parts)
        ],
        picture=picture,
        whose=_whose(comparison),
        correction=subgroup_note(decision.confidence),
        settings=facts | {name: date_words(facts[name]) for name in ("first", "last")},
    )
    with files.replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
