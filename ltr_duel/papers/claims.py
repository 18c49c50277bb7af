"""Make the ledger: test the claims of the papers on the results of reproduced figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import columns as col
from ltr_duel.papers.claim_measures import MEASURES, Missing, Reading, Sample, format_value, in_words, select
from ltr_duel.papers.claims_file import Claim
from ltr_duel.papers.declaration import ORIGINAL
from ltr_duel.papers.verdicts import INCOMPLETE, NEEDS_DATA, NEEDS_SCALE, NOT_MADE, Criterion, answer, hardest, verdict

_MOST_NAMED = 6  # largest number of panels named for one answer

_COLUMNS = [
    *("claim", "paper", "where", "says", "figure", "measure", *Reading._fields, "criterion", "verdict", "panels"),
    *("reason", "source", "scale", "note"),
]  # columns of the ledger, even if there are no claims


class Gathered(NamedTuple):
    """The data for one claim: the numbers of each panel, and the reasons why other panels cannot be measured."""

    samples: dict[str, Sample]
    gaps: dict[str, str]  # reasons why panels cannot be measured
    rows: dict[str, pd.DataFrame]  # rows of the panels that exist


class _Judged(NamedTuple):
    """The result of testing one claim."""

    readings: dict[str, Reading]
    verdict: str
    reason: str
    source: str


def check_claims(
    claims: list[Claim],
    frames: Mapping[str, pd.DataFrame],
    abouts: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Measure every claim on the tables of the reproduced figures, and return the ledger, with one row for each claim.

    abouts: content of the ``about.json`` of each figure; its ``scale`` and the notes of ``sources`` enter the ledger.

    Columns: claim (id), paper, where, says, figure, measure (in words), measured, low, high (number and interval of the
    panel that is furthest from the claim; NaN if nothing was measured), criterion, verdict, panels (every panel with
    its number), reason (why the verdict is not better), source, scale, note.
    """
    rows = []
    for claim in claims:
        judged = _judge(claim, frames, abouts)
        nothing = Reading(np.nan, np.nan, np.nan)
        worst = hardest(judged.readings, claim.criterion, claim.partly) if judged.readings else nothing
        panels = [f"{name}: {_number(one)}" if name else _number(one) for name, one in judged.readings.items()]
        scales = dict.fromkeys(str(abouts[name]["scale"]) for name in claim.figure if "scale" in abouts.get(name, {}))
        row = {"claim": claim.id, "paper": claim.paper, "where": claim.where, "says": claim.says}
        row |= {"figure": ", ".join(claim.figure), "measure": _how(claim), **worst._asdict()}
        row |= {"criterion": str(claim.criterion), "verdict": judged.verdict, "panels": "; ".join(panels)}
        row |= {"reason": judged.reason, "source": judged.source, "scale": ", ".join(scales)}
        row["note"] = " ".join(filter(None, [claim.note, claim.data_note * (judged.verdict != NEEDS_DATA)]))
        rows.append(row)
    return pd.DataFrame(rows, columns=_COLUMNS).rename(columns={"value": "measured"})


def _how(claim: Claim) -> str:
    words = in_words(claim.measure, claim.settings)
    if claim.rows:
        words += f"; where {format_value(claim.rows).removeprefix('at ')}"
    return f"{words}; by {', '.join(claim.panels)}" if claim.panels else words


def gather(claim: Claim, frames: Mapping[str, pd.DataFrame]) -> Gathered:
    """Select the numbers for a claim from the tables of its figures, all of which must exist."""
    table = pd.concat([frames[name].assign(figure=name) for name in claim.figure], ignore_index=True)
    found = Gathered({}, {}, {})
    try:
        table = select(table, claim.rows)
        columns = [_values(table, column, values) for column, values in claim.panels.items()]
    except Missing as missing:
        return found._replace(gaps={"": str(missing)})
    for values in product(*columns):
        wanted = dict(zip(claim.panels, values, strict=True))
        name = ", ".join(
            format_value(one) if key == col.PROBLEM else f"{key} {format_value(one)}" for key, one in wanted.items()
        )
        try:
            found.rows[name] = select(table, wanted)
            found.samples[name] = MEASURES[claim.measure].gather(found.rows[name], **claim.settings)
        except Missing as missing:
            found.gaps[name] = str(missing)
    return found


def _values(table: pd.DataFrame, column: str, wanted: list[Any]) -> list[Any]:
    """Return the values of a column that each form a panel: first the required values, then all others in the table."""
    if column not in table:
        raise Missing(f"there is no column '{column}'")
    others = table[column].dropna()
    for one in wanted:
        try:
            others = others.drop(select(table, {column: one}).index, errors="ignore")
        except Missing:
            continue  # `gather` reports the missing value as a missing panel
    return [*wanted, *others.unique()]


def _judge(claim: Claim, frames: Mapping[str, pd.DataFrame], abouts: Mapping[str, Mapping[str, Any]]) -> _Judged:
    absent = [name for name in claim.figure if name not in frames]
    if absent:
        return _Judged({}, NOT_MADE, ", ".join(absent), "")
    found = gather(claim, frames)
    readings = {}
    for name, sample in found.samples.items():
        try:
            readings[name] = MEASURES[claim.measure].read(sample, **claim.settings)
        except Missing as missing:
            found.gaps[name] = str(missing)
    source = _source(found.rows.values(), [abouts.get(name, {}) for name in claim.figure])
    unfit = _unfit(found.rows) if "real data" in claim.needs and found.rows else ""
    short = "paper scale" in claim.needs and any(abouts.get(name, {}).get("scale") != "paper" for name in claim.figure)
    reasons = ["; ".join(f"{name}: {why}" if name else why for name, why in found.gaps.items()), unfit]
    reasons += ["runs that are shorter than the printed ones cannot decide this"] if short else []
    if any(reasons):
        word = INCOMPLETE if found.gaps else NEEDS_DATA if unfit else NEEDS_SCALE
        return _Judged(readings, word, "; ".join(filter(None, reasons)), source)
    answers = {name: answer(one, claim.criterion, claim.partly) for name, one in readings.items()}
    return _Judged(readings, verdict(answers.values()), _reason(answers, claim.partly), source)


def _unfit(panels: Mapping[str, pd.DataFrame]) -> str:
    """Return the panels that cannot decide a claim about a corpus, because their data are not from this corpus."""
    if any(col.SOURCE not in part for part in panels.values()):
        return "the table does not state whether the data are real"
    kinds: dict[str, list[str]] = {}
    for name, part in panels.items():
        for kind in part[col.SOURCE].unique():
            if kind not in ORIGINAL:
                kinds.setdefault(str(kind), []).append(name)
    parts = [kind if names == [""] else f"{kind} ({_briefly(names, panels)})" for kind, names in kinds.items()]
    return f"{' and '.join(parts)}: cannot decide this" if parts else ""


def _source(panels: Iterable[pd.DataFrame], abouts: list[Mapping[str, Any]]) -> str:
    """Return the sources of the panels' rows, with the notes on the sources."""
    rows = [part for part in panels if col.SOURCE in part]
    kinds = dict.fromkeys(str(one) for part in rows for one in part[col.SOURCE].dropna().unique())
    problems = {one for part in rows if col.PROBLEM in part for one in part[col.PROBLEM].unique()}
    notes = dict.fromkeys(
        one["note"]
        for about in abouts
        for one in about.get("sources", ())
        if one.get("note") and one.get("source") in kinds and (not problems or one.get("problem") in {"", *problems})
    )
    return ", ".join(kinds) + (f" ({'; '.join(notes)})" if notes else "")


def _reason(answers: Mapping[str, str], partly: Criterion | None) -> str:
    """Name the panels with each answer. If all panels have the same answer, return the weaker range if it applies."""
    if len(set(answers.values())) == 1:
        return f"the weaker form: {partly}" if "weaker" in answers.values() else ""
    words = {"yes": "holds", "weaker": f"only a weaker form holds ({partly})", "no": "does not hold"}
    words |= {"open": "undecided"}
    named = {word: [name for name, one in answers.items() if one == word] for word in words}
    return "; ".join(f"{words[word]}: {_briefly(names, answers)}" for word, names in named.items() if names)


def _briefly(names: list[str], panels: Iterable[str]) -> str:
    """Name groups of panels by a common value ("family equal_gaps"); if many others remain, give only their number."""
    left, common = list(names), []
    for piece in dict.fromkeys(piece for name in names for piece in name.split(", ")):
        alike = [name for name in panels if piece in name.split(", ")]
        if len(alike) > 1 and set(alike) <= set(names) and set(alike) & set(left):
            common.append(piece)
            left = [name for name in left if name not in alike]
    rest = [f"({name})" if ", " in name else name for name in left]
    return ", ".join([*common, *(rest if len(rest) <= _MOST_NAMED else [f"{len(rest)} panels"])])


def _number(found: Reading) -> str:
    if found.low == found.value == found.high:
        return f"{found.value:.4g}"
    return f"{found.value:.3g} ({found.low:.3g} to {found.high:.3g})"
