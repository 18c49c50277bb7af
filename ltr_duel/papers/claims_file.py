"""The file of claims: each claim of a paper, the measure that tests it, and the range in which it holds."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.papers.claim_measures import MEASURES
from ltr_duel.papers.declaration import PAPERS
from ltr_duel.papers.verdicts import Criterion

NEEDS = ("real data", "paper scale")


@dataclass(frozen=True)
class Claim:
    """One claim of one paper.

    rows: the selection of rows for the claim (`ltr_duel.papers.claim_measures.rows`).
    panels: columns and the required values of each column; every combination of values is a panel, which is measured
        separately. Further values in the table form panels, too. If no columns are given, all rows are one panel.
    """

    id: str
    paper: str
    where: str  # section, figure or table of the paper
    says: str  # the claim in a sentence
    figure: tuple[str, ...]
    measure: str  # name of a registered measure
    criterion: Criterion  # required range of the number
    partly: Criterion | None = None  # the weaker range, see `ltr_duel.papers.verdicts`
    rows: dict[str, Any] = field(default_factory=dict)
    panels: dict[str, list[Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)  # settings of the measure
    needs: tuple[str, ...] = ()  # requirements for deciding the claim, see `NEEDS`
    note: str = ""  # remark for readers of the verdict, for example why the criterion was changed
    data_note: str = ""  # remark on the data of the claim; omitted if the verdict is `needs data`


def read_claims(path: str | Path) -> list[Claim]:
    """Read a file of claims; the message of an `InputError` names the claim and the key."""
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    claims: dict[str, Claim] = {}
    for entry in _entries(given, path):
        where = f"{path}: claim {len(claims) + 1} ({entry.get('id', 'without id')})"
        if claims.setdefault(entry.get("id", ""), claim := _claim(entry, where)) is not claim:
            raise InputError(f"{path}: two claims are called '{claim.id}'")
    return list(claims.values())


def _entries(given: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield each claim as a complete table: [[claim]], or [paper.figure.id] with keys added from its parent tables."""
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
    """For each entry of a table, yield its name, its nested tables, and its keys, which apply to all nested claims."""
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
            raise InputError(f"{where}: {errors.unknown_name('key', key, legal)}")
    required = {"id", "paper", "where", "says", "figure", "measure", "criterion"}
    if missing := sorted(required - set(entry)):
        raise InputError(f"{where}: '{missing[0]}' is missing")
    if entry["paper"] not in PAPERS:
        raise InputError(f"{where}: {errors.unknown_name('paper', entry['paper'], PAPERS)}")
    given = dict(entry)
    for key in ("figure", "needs"):
        value = given.get(key, ())
        given[key] = (value,) if isinstance(value, str) else tuple(value)
    for need in given["needs"]:
        if need not in NEEDS:
            raise InputError(f"{where}: {errors.unknown_name('need', need, NEEDS)}")
    panels = given.get("panels", {})
    if not isinstance(panels, dict) or not all(isinstance(one, list) and one for one in panels.values()):
        raise InputError(f"{where}: panels: write {{ rankers = [16, 32] }}, the columns with their required values")
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
        raise InputError(f"{where}: no number can be {made}")
    return made


def _check_settings(measure: str, settings: dict[str, Any], where: str) -> None:
    if measure not in MEASURES:
        raise InputError(f"{where}: {errors.unknown_name('measure', measure, MEASURES)}")
    try:
        inspect.signature(MEASURES[measure].gather).bind(None, **settings)
    except TypeError as error:
        raise InputError(f"{where}: measure '{measure}': {error}") from None
