"""The ledger: what the papers claim, tested against results.

A claim is an entry of a TOML file; it names a figure, a measure (`ltr_duel.papers.checks`) and the range in which
the number must lie, and never a verdict (`ltr_duel.papers.verdicts`).
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import InputError, unknown_name
from ltr_duel.core import columns as col
from ltr_duel.papers.bibliography import PAPERS
from ltr_duel.papers.checks import MEASURES, Missing, Reading, format_value, in_words, select
from ltr_duel.papers.verdicts import NEEDS_DATA, Criterion, answer, hardest, verdict

NEEDS = ("real data", "paper scale")
REAL = ("real data", "published matrix", "as in the paper")
_MOST_NAMED = 6  # panels that one answer names
_COLUMNS = (
    "claim", "paper", "where", "says", "figure", "measure", "measured", "low", "high", "criterion", "verdict",
    "panels", "reason", "source", "scale",
)  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """One claim of one paper.

    Parameters
    ----------
    id, paper, where, says : str
        A name; the paper; section and figure; the claim in our words.
    figure : tuple of str
        Names of the figures whose tables it is tested on; if there are several, the column ``figure`` tells them apart.
    measure : str
        Name of a registered measure.
    criterion : Criterion
        Where the number must lie.
    partly : Criterion, optional
        The weaker range, see `ltr_duel.papers.verdicts`.
    rows : dict
        The selection of rows that the claim is about (`ltr_duel.papers.checks.rows`).
    panels : tuple of str
        Columns; each combination of their values is measured on its own. Without them all rows are one panel.
    settings : dict
        Of the measure.
    needs : tuple of {"real data", "paper scale"}
        What the claim cannot be decided without.
    """

    id: str
    paper: str
    where: str
    says: str
    figure: tuple[str, ...]
    measure: str
    criterion: Criterion
    partly: Criterion | None = None
    rows: dict[str, Any] = field(default_factory=dict)
    panels: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


def read_claims(path: str | Path) -> list[Claim]:
    """Read a file of claims.

    Raises
    ------
    InputError
        If the file cannot be read or an entry is not legal; the sentence names the claim and the key.
    """
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    claims = [
        _claim(entry, f"{path}: claim {number} ({entry.get('id', 'without id')})")
        for number, entry in enumerate(_entries(given, path), 1)
    ]
    known: set[str] = set()
    for claim in claims:
        if claim.id in known:
            raise InputError(f"{path}: two claims are called '{claim.id}'")
        known.add(claim.id)
    return claims


def _entries(given: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield each claim as a table that says all of it: [[claim]], or [paper.figure.id] with what its parents share."""
    yield from given.get("claim", [])
    for paper, figures, of_paper in _tables({key: given[key] for key in given if key != "claim"}, f"{path}: "):
        for figure, claims, of_figure in _tables(figures, f"{path}: {paper}."):
            for name, unknown, own in _tables(claims, f"{path}: {paper}.{figure}."):
                entry = {"paper": paper, "figure": f"{paper}_{figure}", "id": name} | of_paper | of_figure | own
                entry |= unknown
                if isinstance(measure := entry.get("measure"), dict) and len(measure) == 1:
                    ((entry["measure"], entry["settings"]),) = measure.items()
                yield entry


def _tables(given: dict[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield the tables in a table: name, the tables in it, and its keys of claims, which hold for all claims in it."""
    keys = {one.name for one in fields(Claim)}
    for name, table in given.items():
        if not isinstance(table, dict):
            raise InputError(f"{where}{name}: neither a key of claims nor a table [paper.figure.id]")
        inside = {key: one for key, one in table.items() if key not in keys}
        yield name, inside, {key: one for key, one in table.items() if key in keys}


def _claim(entry: dict[str, Any], where: str) -> Claim:
    legal = [one.name for one in fields(Claim)]
    for key in entry:
        if key not in legal:
            raise InputError(f"{where}: {unknown_name('key', key, legal)}")
    required = {"id", "paper", "where", "says", "figure", "measure", "criterion"}
    if missing := sorted(required - set(entry)):
        raise InputError(f"{where}: '{missing[0]}' is missing")
    if entry["paper"] not in PAPERS:
        raise InputError(f"{where}: {unknown_name('paper', entry['paper'], PAPERS)}")
    given = dict(entry)
    for key in ("figure", "panels", "needs"):
        value = given.get(key, ())
        given[key] = (value,) if isinstance(value, str) else tuple(value)
    for need in given["needs"]:
        if need not in NEEDS:
            raise InputError(f"{where}: {unknown_name('need', need, NEEDS)}")
    for key in ("criterion", "partly"):
        if key in given:
            given[key] = _criterion(given[key], f"{where}: {key}")
    _check_settings(given["measure"], given.get("settings", {}), where)
    return Claim(**given)


def _criterion(given: Any, where: str) -> Criterion:
    if not isinstance(given, dict) or not given or not set(given) <= set(Criterion._fields):
        raise InputError(f"{where}: write {{ at_least = 5 }}, {{ at_most = 10 }} or both")
    made = Criterion(**{key: float(value) for key, value in given.items()})
    if not made.at_least <= made.at_most:
        raise InputError(f"{where}: no number is {made}")
    return made


def _check_settings(measure: str, settings: dict[str, Any], where: str) -> None:
    if measure not in MEASURES:
        raise InputError(f"{where}: {unknown_name('measure', measure, MEASURES)}")
    try:
        inspect.signature(MEASURES[measure].run).bind(None, **settings)
    except TypeError as error:
        raise InputError(f"{where}: measure '{measure}': {error}") from None


class _Judged(NamedTuple):
    """The result of testing one claim."""

    readings: dict[str, Reading]
    verdict: str
    reason: str
    source: str


def check_claims(
    claims: list[Claim], frames: Mapping[str, pd.DataFrame], abouts: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Measure every claim and return the ledger.

    Parameters
    ----------
    claims : list of Claim
    frames : mapping of str to DataFrame
        The tidy tables of the figures that were made, by name.
    abouts : mapping of str to mapping
        What their ``about.json`` says: ``scale`` is copied into the ledger, ``sources`` is where a note comes from.

    Returns
    -------
    DataFrame
        One row for each claim: claim (id), paper, where, says, figure, measure (in words), measured, low, high (of the
        panel that is furthest from what is claimed; NaN where nothing was measured), criterion, verdict, panels (every
        panel with its number), reason (why not more than this verdict), source, scale.
    """
    rows = []
    for claim in claims:
        judged = _judge(claim, frames, abouts)
        worst = hardest(judged.readings, claim.criterion) if judged.readings else Reading(np.nan, np.nan, np.nan)
        panels = [f"{name}: {_number(one)}" if name else _number(one) for name, one in judged.readings.items()]
        scales = dict.fromkeys(str(abouts[name]["scale"]) for name in claim.figure if "scale" in abouts.get(name, {}))
        rows.append(
            (
                claim.id, claim.paper, claim.where, claim.says, ", ".join(claim.figure), _how(claim), *worst,
                str(claim.criterion), judged.verdict, "; ".join(panels), judged.reason, judged.source,
                ", ".join(scales),
            )
        )  # fmt: skip
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _how(claim: Claim) -> str:
    words = in_words(claim.measure, claim.settings)
    if claim.rows:
        words += f"; where {format_value(claim.rows).removeprefix('at ')}"
    return f"{words}; by {', '.join(claim.panels)}" if claim.panels else words


def _judge(claim: Claim, frames: Mapping[str, pd.DataFrame], abouts: Mapping[str, Mapping[str, Any]]) -> _Judged:
    absent = [name for name in claim.figure if name not in frames]
    if absent:
        return _Judged({}, NEEDS_DATA, f"not made: {', '.join(absent)}", "")
    table = pd.concat([frames[name].assign(figure=name) for name in claim.figure], ignore_index=True)
    try:
        table = select(table, claim.rows)
        panels = _panels(table, claim.panels)
    except Missing as missing:
        return _Judged({}, NEEDS_DATA, str(missing), "")
    readings, gaps = {}, {}
    for name, panel in panels.items():
        try:
            readings[name] = MEASURES[claim.measure].run(panel, **claim.settings)
        except Missing as missing:
            gaps[name] = str(missing)
    notes = _notes(table, [abouts.get(name, {}) for name in claim.figure])
    names = list(table[col.SOURCE].dropna().unique()) if col.SOURCE in table else []
    source = ", ".join(map(str, names)) + (f" ({'; '.join(notes)})" if notes else "")
    unmeasured = "; ".join(f"{name}: {why}" if name else why for name, why in gaps.items())
    if not readings:
        return _Judged({}, NEEDS_DATA, unmeasured, source)
    unfit = [_unfit(panels, notes) if "real data" in claim.needs else ""]
    if "paper scale" in claim.needs and any(abouts.get(name, {}).get("scale") != "paper" for name in claim.figure):
        unfit.append("runs shorter than printed cannot decide this")
    if any(unfit):
        return _Judged(readings, NEEDS_DATA, "; ".join(filter(None, unfit)), source)
    answers = {name: answer(readings.get(name), claim.criterion, claim.partly) for name in panels}
    return _Judged(readings, verdict(list(answers.values())), _reason(answers, unmeasured), source)


def _panels(table: pd.DataFrame, by: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    for column in by:
        if column not in table:
            raise Missing(f"there is no column '{column}'")
    if not by:
        return {"": table}
    found = {}
    for values, part in table.groupby(list(by), sort=False):
        words = [
            format_value(one) if column == col.PROBLEM else f"{column} {format_value(one)}"
            for column, one in zip(by, values, strict=True)
        ]
        found[", ".join(words)] = part
    return found


def _unfit(panels: Mapping[str, pd.DataFrame], notes: list[str]) -> str:
    """Say what is no evidence for a claim about real data: panels from surrogates, or an excerpt of a corpus."""
    if any(col.SOURCE not in part for part in panels.values()):
        return "nothing says whether the data are real"
    poor = [name for name, part in panels.items() if not part[col.SOURCE].isin(REAL).all()]
    if not poor:
        return next((f"{note} cannot decide this" for note in notes if "excerpt" in note), "")
    return "a surrogate cannot decide this" + (f" ({', '.join(poor)})" if poor != [""] else "")


def _notes(table: pd.DataFrame, abouts: list[Mapping[str, Any]]) -> list[str]:
    """Return the notes on the sources of these rows."""
    problems, sources = (set(table[name].unique()) if name in table else set() for name in (col.PROBLEM, col.SOURCE))
    return list(
        dict.fromkeys(
            one["note"]
            for about in abouts
            for one in about.get("sources", ())
            if one.get("note")
            and one.get("source") in sources
            and (not problems or one.get("problem") in {"", *problems})
        )
    )


def _reason(answers: Mapping[str, str], unmeasured: str) -> str:
    if set(answers.values()) in ({"yes"}, {"no"}):
        return ""  # the verdict says it
    words = {"yes": "holds", "weaker": "holds in a weaker form", "no": "does not hold", "open": "undecided"}
    named = {word: [name for name, one in answers.items() if one == word] for word in words}
    parts = [
        words[word] if names == [""] else f"{words[word]}: {_briefly(names, answers)}"
        for word, names in named.items()
        if names
    ]
    return "; ".join([*parts, *([f"not measured ({unmeasured})"] if unmeasured else [])])


def _briefly(names: list[str], panels: Iterable[str]) -> str:
    """Name panels by what all panels of a value have in common ("family equal_gaps"), the others by count if many."""
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
