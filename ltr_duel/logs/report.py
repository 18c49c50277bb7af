"""A comparison and its decision as tables, as lines of text, and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ltr_duel.core import files, several
from ltr_duel.logs.comparison import Comparison
from ltr_duel.logs.decision import FEWEST, Decision, PairDecision
from ltr_duel.logs.findings import finding_lines
from ltr_duel.logs.guardrail import guardrail_lines
from ltr_duel.logs.looks import CHANGED
from ltr_duel.logs.sentences import unit_to_go
from ltr_duel.logs.subgroup import DAY, SubgroupTable
from ltr_duel.logs.table import date_words

ROWS = 40  # maximum number of pairs on a page
_PAIRS = {"day": 1, "week": 1, "outcome": ROWS}  # number of pairs (the clearest) in a table of parts; by default 3
_TEMPLATE = Path(__file__).parent / "templates" / "log.html"
_HEADINGS = {
    "outcome": "Secondary outcomes",
    "day": "Day by day",
    "week": "Week by week",
    "new": "New users: their first 24 hours, and later",
}
_WHOSE = {
    "impression": "{}",
    "user": "users who ask {}",
    "query": "queries like these",
    "both": "users and queries like these",
}


def usual_subgroups(first: float, last: float) -> list[str]:
    """Return the default parts of a report: days (2 to 62), weeks (13 days or more), and new users."""
    days = (last - first) / DAY
    return ["day"] * (2 <= days <= 62) + ["week"] * (days >= 13) + ["new"]


def comparison_table(found: Comparison, decision: Decision, rows: int = ROWS) -> pd.DataFrame:
    """Return the pairs with their verdicts, as formatted strings; the clearest pair and leading rankers come first."""
    return pd.DataFrame([_row(found, decision, k) for k in _clearest(found, decision)[:rows]])


def _clearest(found: Comparison, decision: Decision) -> list[int]:
    """Return the pairs, the clearest first."""
    pairs, names = decision.pairs, found.named_pairs
    if decision.every_look:
        return sorted(range(len(pairs)), key=lambda k: -pairs[k].e_value)
    return sorted(range(len(pairs)), key=lambda k: (found.p[k], names[k]))


def _row(found: Comparison, decision: Decision, k: int) -> dict[str, str]:
    """Return the cells of a pair; wins, losses and ties only if they determine the mean."""
    pair = decision.pairs[k]
    sign = 1 if pair.mean >= 0 else -1
    won, lost = (found.wins[k], found.losses[k])[::sign]
    row = {"pair": " > ".join(pair[:2][::sign]), "verdict": decision.labels[k]}
    row[f"{found.unit}s"] = f"{found.counts[k]:,}"
    if found.first_impressions:
        row["first impressions"] = f"{pair.observations:,}"
    else:
        row |= {"wins": f"{won:,}", "losses": f"{lost:,}", "ties": f"{found.ties[k]:,}"}
    row["mean, first impressions" if found.first_impressions else "mean"] = f"{sign * pair.mean:+z.4f}"
    row |= {"interval": _ends(sign, pair.low, pair.high), "p, corrected": _p(pair.p)}
    if decision.every_look:
        unit, each = unit_to_go(found)
        row[f"{unit.partition(' ')[0]} to go"] = _to_go(pair, each)
    return row


def _ends(sign: int, *ends: float) -> str:
    low, high = sorted(sign * end for end in ends)
    return f"{low:+z.4f} {high:+z.4f}"


def _p(value: float) -> str:
    return "< 1e-12" if value < 1e-12 else f"{value:.3g}"


def _to_go(pair: PairDecision, each: float) -> str:
    if pair.verdict != "go on":
        return "-"
    if pair.effective < FEWEST:
        return "too few to say"
    return "more than 1e9" if pair.more > 1e9 else f"{pair.more * each:,.0f}"


def column_notes(found: Comparison, decision: Decision) -> list[str]:
    """Return a note on the error that several pairs share."""
    if found.tests < 2:
        return []
    when = "is ever wrong, at any number of looks" if decision.every_look else "is wrong at this look"
    return [
        f"interval, p: all {found.tests} pairs share the error (Bonferroni), so with probability"
        f" {decision.confidence:.4g} no interval, verdict or winner {when}."
    ]


def subgroup_table(part: SubgroupTable, pairs: int = ROWS) -> pd.DataFrame:
    """Return the table of parts of a log, or of secondary outcomes, as formatted strings."""
    frame = part.shown(pairs)
    return pd.DataFrame(
        {
            part.by: frame[part.by],
            "pair": frame["pair"],
            "impressions": [f"{n:,}" for n in frame["impressions"]],
            ", ".join(filter(None, ["mean", part.unit])): [f"{mean:+z.4f}" for mean in frame["mean"]],
            "interval": [_ends(1, *both) for both in zip(frame["low"], frame["high"], strict=True)],
            "p, corrected": [_p(p) for p in frame["p_corrected"]],
        }
    )


def subgroup_note(confidence: float) -> str:
    """Return a note on the correction of intervals and p in a table of parts or of secondary outcomes."""
    return (
        f"In each table of parts or secondary outcomes, all intervals hold simultaneously with {confidence:.0%}"
        " confidence, and p is corrected for the table's rows (Bonferroni)."
    )


def comparison_lines(found: Comparison) -> list[str]:
    """Return sentences about data and settings; changes over time belong to the decision."""
    about = found.provenance
    lines = [
        f"{about['log']}: {several(found.impressions, 'impression')}, {len(found.names)} rankers,"
        f" {several(len(found.pairs), 'pair')}, by {about['method']} ({about['outcome']})",
        f"from {date_words(about['first'])} to {date_words(about['last'])}, {several(about['queries'], 'query')}"
        + (f", {several(about['users'], 'user')}" if about["users"] else ", no values in 'user'"),
        f"intervals of {found.confidence:.0%}, errors {_robust(found.cluster)}: the answer is for {whose(found)}",
    ]
    if about["bad_lines"]:
        lines.append(f"bad lines that were skipped: {about['bad_lines']:,}")
    notes = [about["caution"]] if "caution" in about else []
    return lines + [f"note: {one}" for one in [*notes, *found.warnings] if not one.endswith(CHANGED)]


def _robust(cluster: str) -> str:
    if cluster == "impression":
        return "as if all impressions were independent"
    return f"clustered by {'user and query' if cluster == 'both' else cluster}"


def whose(found: Comparison) -> str:
    """Return the users and queries for which the answer is valid, which depend on the clusters of the errors."""
    queries = found.provenance["queries"]
    return _WHOSE[found.cluster].format("this query" if queries == 1 else f"these {queries:,} queries")


def decision_lines(decision: Decision) -> list[str]:
    """Return the decision as printed: what limits it, and then the decision."""
    return [*decision.notes, decision.sentence]


def save_comparison(
    found: Comparison, decision: Decision, path: str | Path, *, parts: Sequence[SubgroupTable] = (), title: str = ""
) -> None:
    """Write a decision and its evidence as one self-contained HTML page."""
    from ltr_duel.analysis import png_bytes, render_page  # imports matplotlib, which text reports do not need
    from ltr_duel.logs.plots import plot_comparison, plot_subgroups

    stop_at = decision.confidence if decision.every_look else None
    names, about = _in_table(found, decision), found.provenance
    headline, _, rest = decision.sentence.partition(". ")
    omitted = f"The {ROWS} clearest of {len(found.pairs):,} pairs are shown; the error is divided among all pairs."
    findings, lines = None, finding_lines(decision.findings or ())
    if decision.findings is not None:
        findings = {"failed": [one for one in lines if one.startswith("fails")]}
        findings["others"] = lines[len(findings["failed"]) :]
    page = render_page(
        _TEMPLATE,
        title=title or f"Comparison of {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}",
        lines=comparison_lines(found),
        headline=_capital(headline, found.names) + "." * bool(rest),
        answer=[*filter(None, [rest]), *decision.notes],
        findings=findings,
        passed=_passed(decision),
        primary=about["events"],
        table=comparison_table(found, decision),
        columns=[*[omitted] * (len(found.pairs) > ROWS), *column_notes(found, decision)],
        guards=guardrail_lines(decision.guardrails),
        tables=[
            (
                _HEADINGS.get(one.by, f"By {one.by}"),
                subgroup_table(one, _PAIRS.get(one.by, 3)),
                one.lines(_PAIRS.get(one.by, 3)),
                png_bytes(plot_subgroups(one, pairs=1)) if one.by == "day" else None,
            )
            for one in parts
        ],
        picture=png_bytes(plot_comparison(found, stop_at=stop_at, margin=decision.margin)) if found.looks else None,
        caption=picture_caption(found, decision),
        method=method_lines(found, decision, bool(parts)),
        settings=about | {name: date_words(about[name]) for name in ("first", "last")},
    )
    with files.replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _in_table(found: Comparison, decision: Decision) -> list[str]:
    """Return the rankers in their order of appearance in `comparison_table`."""
    pairs = [decision.pairs[k] for k in _clearest(found, decision)]
    return list(
        dict.fromkeys([*(one for pair in pairs for one in pair[:2][:: 1 if pair.mean >= 0 else -1]), *found.names])
    )


def _passed(decision: Decision) -> str:
    """Return one line on the checks that did not fail."""
    verdicts = [one.verdict for one in decision.findings or ()]
    sound, left = verdicts.count("sound"), verdicts.count("not checked")
    return f"{several(sound, 'check')} passed" + f", {left} could not be made" * bool(left)


def _capital(sentence: str, names: Sequence[str]) -> str:
    """Capitalise a headline, unless it begins with the name of a ranker."""
    return sentence if sentence.startswith(tuple(names)) else sentence[:1].upper() + sentence[1:]


def picture_caption(found: Comparison, decision: Decision, most: int = 4) -> str:
    """Return the caption of the plot over time."""
    pairs = len(found.pairs)
    of = "users' first impressions of a pair" if found.first_impressions else "all impressions of a pair"
    which = f"For the {most} clearest of {pairs:,} pairs, the" if pairs > most else "The"
    margin = f" The grey band is the margin, {decision.margin:g} on either side of 0." if decision.margin > 0 else ""
    return f"{which} mean outcome of {of} up to each time, with the interval by which the decision is made.{margin}"


def method_lines(found: Comparison, decision: Decision, parts: bool = False) -> list[str]:
    """Return lines on the estimand, the error probability and the assumptions."""
    about = found.provenance
    lines = [
        f"Outcome: {about['events']}, credited by {about['method']} ({about['outcome']}). The mean outcome is from"
        " -1 to 1: the share of impressions won minus the share lost; with fractional credit, the mean credit.",
        *([about["caution"]] if "caution" in about else []),
        f"{_estimand(found, decision)} The answer is for {whose(found)}.",
        _error(found, decision),
    ]
    if decision.guardrails:
        lines.append(
            f"Guardrails: one-sided tests that the ranker ahead is not worse by more than the margin. Each test has an"
            f" error of {1 - decision.confidence:.2g}; a decision requires all of them, so they need no correction."
        )
    if parts:
        lines.append(
            "Secondary outcomes and parts of the log are explanations, on which no decision is based."
            f" {subgroup_note(decision.confidence)} Days and weeks are in UTC; because a past day does not change, the"
            " intervals of days and weeks are for one look. A user is new for 24 hours from the first impression in"
            " the log."
        )
    if decision.findings is not None:
        lines.append("Checks: each test fails for at most one sound log in a hundred.")
    who = {"user": "users are", "query": "queries are", "both": "users are, and queries are,"}.get(found.cluster)
    within = f"Assumed: {who} independent of each other; outcomes within each may be correlated."
    return [*lines, within if who else "Assumed: impressions are independent of each other."]


def _estimand(found: Comparison, decision: Decision) -> str:
    if found.adaptive:
        names = " and ".join(found.provenance["policies"])
        once = "users' first impressions of a pair" if found.cluster == "user" else "the impressions of a pair"
        return (
            f"The estimand is the mean outcome over {once}, in the order in which {names} showed them: {names} chose"
            " the rankers by earlier outcomes, so plain means are biased. The intervals form a confidence sequence,"
            " which is valid for any choice of pairs as long as the next user is new."
        )
    return f"The estimand is the mean outcome over the impressions{' so far' * decision.every_look}."


def _error(found: Comparison, decision: Decision) -> str:
    error, pairs = f"{1 - decision.confidence:.2g}", found.tests
    shared = f" of the {pairs} pairs" if pairs > 1 else ""
    if not decision.every_look:
        return f"Error: at one planned look, the probability that any decision{shared} is wrong is at most {error}."
    named = " A winner against all others wins each of its pairs, so this also applies to winners." * (pairs > 1)
    return (
        f"Error: the probability that any decision{shared} is ever wrong, at any number of looks, is at most"
        f" {error}.{named} Intervals and p-values are valid at every look as well, except those of days, weeks, checks"
        ' and drift, and the tests marked "one look".'
    )
