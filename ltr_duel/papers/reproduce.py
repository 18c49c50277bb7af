"""Reproduce the data of a figure: expand its declaration, execute the missing runs, and write one tidy table.

OUT/NAME/study-1.toml ...          the experiments, which ``ltr-duel run`` can run
OUT/NAME/store/                    the runs; OUT/STORE/store/ if the figure declares the folder ``store``
OUT/NAME/data.parquet, data.csv    the table
OUT/NAME/about.json                the figure, the scale, the sources of the data, the duration
"""

from __future__ import annotations

import datetime
import inspect
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w
from pyarrow.fs import LocalFileSystem

from ltr_duel.core import InputError, columns, errors, files
from ltr_duel.experiment import Backend, Schedule, StudyResults, environment, make_schedule, run_experiment
from ltr_duel.papers.declaration import SCALES, Figure
from ltr_duel.papers.expand import NoDataError, expand, first_present
from ltr_duel.papers.reference import reference_of, tie_order_sentences
from ltr_duel.preferences import lower_bound

_Work = tuple[pd.DataFrame, dict[str, Any], int]  # the table; sources, runs and horizon; number of new runs


_ABOUT: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "figure": dict,
    "scale": str,
    "sources": list,
    "runs": int,
    "seconds": (int, float),
    "date": str,
}


@dataclass(frozen=True, eq=False)
class Made:
    """The data of a reproduced figure."""

    folder: Path
    frame: pd.DataFrame
    about: dict[str, Any]


def make_figure(figure: Figure, out: Path, *, scale: str, root: Path | None, jobs: int = -1) -> Made:
    """Execute the missing runs of a figure, or its measurements, and write its table below ``out``.

    Finished runs are stored, so the same call resumes after an error or Ctrl-C. ``root`` is the user's folder of data.
    """
    errors.require_one_of("scale", scale, SCALES)
    folder, began = out / figure.name, time.monotonic()
    frame, facts, new = (_measure if figure.measures else _run)(figure, out, scale, root, jobs)
    running = environment()
    about = {
        "name": figure.name,
        "figure": figure.about,
        "scale": scale,
        **facts,
        "seconds": round(time.monotonic() - began, 1),
        "machine": f"{running['processor']}, {os.cpu_count()} cores",
        "date": datetime.date.today().isoformat(),
        "versions": running["versions"] | {"python": running["python"]},
    }
    earlier = _about(folder) if (folder / "about.json").is_file() else {}
    if earlier.get("scale") == scale and earlier["runs"] == facts["runs"] and not new:
        about |= {key: earlier[key] for key in ("seconds", "date")}  # no result is new, so the earlier time is kept
    with files.replacing(folder / "data.parquet") as temporary:
        frame.to_parquet(temporary, index=False, compression="zstd")
    with files.replacing(folder / "data.csv") as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    # Written last, because the existence of about.json marks a complete figure.
    files.write_text(folder / "about.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return Made(folder, frame, about)


def scale_made(folder: Path) -> str:
    """Return the scale of the figure in a folder; empty if it is not complete."""
    return str(_about(folder)["scale"]) if (folder / "about.json").is_file() else ""


def read_made(out: Path) -> dict[str, Made]:
    """Return all figures in the folder ``out``, keyed by name."""
    made = {}
    for path in sorted(out.glob("*/about.json")):
        about = _about(path.parent)
        try:
            frame = pd.read_parquet(path.parent / "data.parquet", filesystem=LocalFileSystem())
        except (OSError, ValueError) as error:  # pyarrow's errors are subclasses of these
            raise _damaged(path.parent / "data.parquet", str(error)) from None
        made[path.parent.name] = Made(path.parent, frame, about)
    if not made:
        raise InputError(f"{out}: no reproduced figures are here; create them with 'ltr-duel reproduce all'")
    return made


def _about(folder: Path) -> dict[str, Any]:
    """Read and check the ``about.json`` of a reproduced figure."""
    path = folder / "about.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    missing = [key for key in _ABOUT if not isinstance(about, dict) or not isinstance(about.get(key), _ABOUT[key])]
    if missing:
        raise _damaged(path, f"'{missing[0]}' is missing or has a wrong type")
    return dict(about)


def _damaged(path: Path, why: str) -> InputError:
    first = (why.strip().splitlines() or [""])[0]
    return InputError(f"{path}: damaged ({first}); remove the file, and reproduce the figure again")


def _run(figure: Figure, out: Path, scale: str, root: Path | None, jobs: int) -> _Work:
    """Execute the runs of a figure that are not in its store."""
    folder, store = out / figure.name, out / figure.about.get("store", figure.name) / "store"
    schedules, planned, new = [], 0, 0
    orders: dict[str, str] = {}
    for number, table in enumerate(expand(figure, scale, root), 1):
        path = folder / f"study-{number}.toml"
        files.write_text(path, tomli_w.dumps(table))
        schedule = make_schedule(path, jobs=jobs)
        report = run_experiment(schedule, store, backend=Backend(jobs=jobs))
        if report.interrupted:
            raise KeyboardInterrupt
        if report.failed:
            raise InputError(
                f"{figure.name}: {report.failed:,} of {report.planned:,} runs failed; 'ltr-duel status {store}'"
                f" explains why, and 'ltr-duel run {path} --out {store} --retry' repeats them"
            )
        schedules.append(schedule)
        if figure.about["paper"] == "state_of_the_art":
            orders |= tie_order_sentences(schedule, table, folder, jobs)
        planned, new = planned + report.planned, new + report.done
    if not schedules:
        raise NoDataError(f"{figure.name}: none of its data is in {root or 'the cache'}; name the folder with --data")
    origins = {
        problem.name: {"source": problem.facts["source"], "note": problem.facts.get("note", "")}
        for schedule in schedules
        for problem in schedule.problems
    }
    sources = [{"problem": name, **origin} for name, origin in origins.items()]
    references = {
        problem.name: reference_of(
            problem.matrix,
            str(problem.facts["source"]),
            problem.values(schedule.file.spec.regrets).get("ndcg"),
            problem.rankings,
        )
        for schedule in schedules
        for problem in schedule.problems
    }
    for name, sentence in orders.items():
        references[name]["text"] += f" {sentence}"
    facts = {
        "sources": sources,
        "runs": planned,
        "horizon": max(max(schedule.file.spec.horizon) for schedule in schedules),
    }
    facts |= {"references": references, "notes": _without_winner(figure, references)}
    return _table(store, schedules, references), facts, new


def _without_winner(figure: Figure, references: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """If the figure shows average regret, return a note on the problems for which average regret is undefined."""
    undecided = [name for name, one in references.items() if one["winner"] is None]
    if not undecided or figure.about.get("options", {}).get("column", columns.REGRET) != columns.REGRET:
        return []
    left_out = figure.about["drawing"] == "frontier"  # all cells of a frontier must be ratios of the same regret
    instead = "these problems are omitted" if left_out else "the regret is Copeland regret"
    return [f"no Condorcet winner, so {instead}: {', '.join(undecided)}"]


def _table(store: Path, schedules: Sequence[Schedule], references: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Join the tables of the studies. The column ``study`` contains the number of the study, from 1.

    ``lower_bound`` is the constant c of the bound c ln t. ``reference_error`` is the standard error that the errors of
    the matrix cause in a policy's mean average regret at the horizon. ``winner_probability`` is copied from
    ``references``, and ``best_by_ndcg`` is computed from them.
    """
    parts = []
    for number, schedule in enumerate(schedules, 1):
        results, one_mean = StudyResults(store, studies=[schedule.study.digest]), ["problem", "policy", "horizon"]
        asked = schedule.file.spec.regrets
        undecided = "average" in asked and any(one.matrix.condorcet_winner is None for one in schedule.problems)
        # Copeland regret is added for problems whose average regret is undefined.
        regrets = dict.fromkeys((*asked, "copeland") if undecided else asked)
        frame = results.to_frame(tuple(regrets)).drop(columns="note", errors="ignore")
        if "average" in schedule.file.spec.regrets:
            frame = frame.merge(results.summary()[[*one_mean, "reference_error"]], "left", one_mean)
        frame.insert(0, "study", number)
        bounds = {problem.name: lower_bound(problem.matrix) for problem in schedule.problems}
        frame[columns.LOWER_BOUND] = frame["problem"].map(bounds).astype(float)
        known = {name: references[name] for name in bounds}
        frame[columns.WINNER_PROBABILITY] = frame["problem"].map(
            {name: one["probability"] for name, one in known.items()}
        )
        best = {(name, ranker) for name, one in known.items() for ranker in one["best"] or ()}
        named = pd.MultiIndex.from_frame(frame[["problem", "recommended"]]).isin(best)
        measured = frame["problem"].map({name: one["best"] is not None for name, one in known.items()})
        frame[columns.BEST_BY_NDCG] = pd.Series(named, frame.index).astype(float).where(measured)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def _measure(figure: Figure, out: Path, scale: str, root: Path | None, jobs: int) -> _Work:
    """Execute all measurements of a figure; results of earlier calls are not reused."""
    from ltr_duel.papers.measures import MEASURES

    frames, sources = [], []
    for part in figure.measures:
        errors.require_one_of("measure", part.measure, MEASURES)
        settings, found = part.at(scale), first_present(part.sources, scale, root)
        measure = MEASURES[part.measure]
        try:
            inspect.signature(measure).bind(found=found, jobs=jobs, **settings)
        except TypeError as error:
            raise InputError(f"{figure.name}: measure '{part.measure}': {error}") from None
        frames.append(measure(found=found, jobs=jobs, **settings))
        sources.append({"problem": settings.get("corpus", ""), "source": found.source, "note": found.note})
    return pd.concat(frames, ignore_index=True), {"sources": sources, "runs": 0, "horizon": 0}, len(frames)
