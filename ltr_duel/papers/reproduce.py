"""Reproduce the numbers of a figure: find its data, execute the missing runs, and write one table.

OUT/store/                         the runs of all figures
OUT/NAME/study-1.toml ...          the experiments, which ``ltr-duel run`` can run
OUT/NAME/data.csv, data.parquet    the table
OUT/NAME/about.json                the figure, the scale, the sources of the data, the duration
"""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import tomli_w

from ltr_duel.analysis import drawn_bound
from ltr_duel.core import InputError, columns, errors, files
from ltr_duel.experiment import Backend, Schedule, StudyResults, environment, make_schedule, run_experiment
from ltr_duel.papers.declaration import DEFINED, SCALES, Figure, Problem, Source, Study


class NoDataError(InputError):
    """None of the sources of a figure's data exists."""


class Found(NamedTuple):
    """The source of data that is used."""

    entry: dict[str, Any]  # its settings with the absolute path; {} if the paper defines the problem
    source: str  # the kind of the source
    note: str


@dataclass(frozen=True, eq=False)
class Made:
    """A reproduced figure."""

    folder: Path
    frame: pd.DataFrame  # the numbers
    facts: dict[str, Any]  # the content of about.json


def make_figure(figure: Figure, out: Path, *, scale: str, root: Path | None, jobs: int = -1) -> Made:
    """Execute the runs or measurements of a figure, and write its table into a folder below ``out``.

    Finished runs are kept, so the same call continues after an error or Ctrl-C. ``root`` is the user's folder of data.

    Raises `NoDataError` if the figure has no data, and `InputError` if runs failed.
    """
    errors.require_one_of("scale", scale, SCALES)
    folder, began = out / figure.name, time.monotonic()
    if figure.measures:
        frame, sources, runs = *_measure(figure, scale, root, jobs), 0
    else:
        frame, sources, runs = _run(figure, out, scale, root, jobs)
    running = environment()
    facts = {
        "name": figure.name,
        "figure": figure.facts,
        "scale": scale,
        "shortened": scale == "quick" and figure.shortened,
        "sources": sources,
        "runs": runs,
        "seconds": round(time.monotonic() - began, 1),
        "machine": f"{running['processor']}, {os.cpu_count()} cores",
        "date": datetime.date.today().isoformat(),
        "versions": running["versions"] | {"python": running["python"]},
    }
    with files.replacing(folder / "data.parquet") as temporary:
        frame.to_parquet(temporary, index=False, compression="zstd")
    with files.replacing(folder / "data.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")
    # about.json is written last, because it marks a complete figure.
    files.write_text(folder / "about.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    return Made(folder, frame, facts)


def read_made(out: Path) -> dict[str, Made]:
    """Return all reproduced figures in the folder ``out``, by name."""
    figures = {}
    for path in sorted(out.glob("*/about.json")):
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            figures[str(facts["name"])] = Made(path.parent, pd.read_parquet(path.parent / "data.parquet"), facts)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path.parent}: not a reproduced figure ({error}); remove the folder") from None
    return figures


def first_present(sources: Sequence[Source], root: Path | None) -> Found:
    """Return the first source that exists below the folder ``root``. Raise `NoDataError` if none exists."""
    for source in sources:
        for name in source.paths:
            for path in (root / name, root / f"{name}.gz") if root else ():
                if path.exists():
                    return Found({**source.settings, source.key: str(path.resolve())}, source.kind, source.note)
    if not sources:
        return Found({}, DEFINED, "")
    names = ", ".join(name for source in sources for name in source.paths)
    raise NoDataError(f"none of {names} is in {root or 'a folder of data'}; name the folder with --data")


def _run(figure: Figure, out: Path, scale: str, root: Path | None, jobs: int) -> tuple[pd.DataFrame, list[Any], int]:
    schedules, planned = [], 0
    for number, part in enumerate(figure.studies, 1):
        if (scale == "quick" and not part.in_quick) or not (problems := _problems(part, scale, root)):
            continue
        path = out / figure.name / f"study-{number}.toml"
        named = {"name": f"{figure.name} ({scale})", "policies": list(part.policies)}
        files.write_text(path, tomli_w.dumps(named | part.at(scale) | problems))
        schedule = make_schedule(path, jobs=jobs)
        report = run_experiment(schedule, out / "store", backend=Backend(jobs=jobs))
        if report.interrupted:
            raise KeyboardInterrupt
        if report.failed:
            raise InputError(
                f"{figure.name}: {report.failed:,} of {report.planned:,} runs failed; 'ltr-duel status {out / 'store'}'"
                f" explains why, and 'ltr-duel run {path} --out {out / 'store'} --retry' repeats them"
            )
        schedules.append((number, schedule))
        planned += report.planned
    if not schedules:
        raise NoDataError(f"{figure.name}: none of its data is in {root or 'a folder of data'}; name it with --data")
    facts = {problem.name: problem.facts for _, schedule in schedules for problem in schedule.problems}
    sources = [{"problem": key, "source": row["source"], "note": row.get("note", "")} for key, row in facts.items()]
    parts = [_table(out / "store", number, schedule) for number, schedule in schedules]
    return pd.concat(parts, ignore_index=True), sources, planned


def _problems(part: Study, scale: str, root: Path | None) -> dict[str, list[dict[str, Any]]]:
    entries: dict[str, list[dict[str, Any]]] = {}
    for problem in part.problems:
        try:
            data = first_present(problem.sources, root)
        except NoDataError:
            if not problem.optional:
                raise
        else:
            entries.setdefault(problem.kind, []).append(_entry(problem, data, scale))
    return entries


def _entry(problem: Problem, data: Found, scale: str) -> dict[str, Any]:
    note = {"note": data.note} if data.note else {}
    return {**problem.at(scale), **data.entry, "source": data.source, **note}


def _table(store: Path, number: int, schedule: Schedule) -> pd.DataFrame:
    # Without a Condorcet winner, average regret is not defined. The table then also has Copeland regret.
    declared = schedule.file.spec.regrets
    undecided = "average" in declared and any(problem.matrix.condorcet_winner is None for problem in schedule.problems)
    regrets = tuple(dict.fromkeys((*declared, "copeland") if undecided else declared))
    frame = StudyResults(store, studies=[schedule.study.digest]).to_frame(regrets).drop(columns="note", errors="ignore")
    frame.insert(0, columns.STUDY, number)
    bounds = {problem.name: drawn_bound(problem.matrix) for problem in schedule.problems}
    return frame.assign(**{columns.LOWER_BOUND: frame[columns.PROBLEM].map(bounds)})


def _measure(figure: Figure, scale: str, root: Path | None, jobs: int) -> tuple[pd.DataFrame, list[Any]]:
    frames, sources = [], []
    for part in figure.measures:
        try:
            data = first_present(part.sources, root)
        except NoDataError:
            if not part.optional:
                raise
            continue
        frames.append(part.measure(entry=data.entry, jobs=jobs, **part.at(scale)).assign(source=data.source))
        sources.append({"problem": "", "source": data.source, "note": data.note})
    if not frames:
        raise NoDataError(f"{figure.name}: none of its data is in {root or 'a folder of data'}; name it with --data")
    return pd.concat(frames, ignore_index=True), sources
