"""From what a spec names to problems: read corpora and matrices, estimate what has to be estimated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import InputError, cache_home, sources_digest, stream
from ltr_duel.data import Dataset
from ltr_duel.experiment.problem import Problem
from ltr_duel.experiment.schema import located
from ltr_duel.experiment.spec import CorpusSpec, MatrixSpec, SpecFile, Subsets, Synthetic, UtilitySpec
from ltr_duel.preferences import (
    UTILITY_FAMILIES,
    UTILITY_SETS,
    PreferenceMatrix,
    draw_winner_set,
    estimate_preferences,
    load_preferences,
    members,
    save_preferences,
)
from ltr_duel.rankers import Rankings, column_means
from ltr_duel.simulation import FromUtilities, Live, NormalScores


def build_problems(file: SpecFile, *, jobs: int = -1) -> list[Problem]:
    """Build all problems of an experiment, in the order of the file.

    Raises
    ------
    InputError
        If something cannot be read, or does not fit together; the sentence begins with file and key.
    """
    problems: list[Problem] = []
    for kind, build in (("matrices", _of_matrices), ("corpora", _of_corpus), ("utilities", _of_utilities)):
        for number, part in enumerate(getattr(file.spec, kind)):
            with located(f"{file.path}: {kind}[{number}]"):
                problems += list(build(part, file.path.parent, jobs))
    names: dict[str, str] = {}
    for problem in problems:
        if problem.name in names:
            raise InputError(f"{file.path}: two problems are called '{problem.name}'")
        names[problem.name] = problem.digest
    return problems


def _of_matrices(spec: MatrixSpec, folder: Path, jobs: int) -> Iterator[Problem]:
    for name, facts, matrix in _matrices(spec, folder):
        for words, more, picks in _chosen(spec.subsets, matrix):
            part = matrix if len(picks) == len(matrix) else matrix[picks]
            for kind in spec.answers:
                full = [name, *words, *([kind] if len(spec.answers) > 1 else [])]
                about = {"source": "matrix", "rankers": len(picks), "answers": kind, **facts, **more, **_origin(spec)}
                about |= {"clicks": spec.clicks} if spec.clicks else {}
                yield Problem(" ".join(full), about, canonical(part), {"kind": kind})


def _matrices(spec: MatrixSpec, folder: Path) -> Iterator[tuple[str, dict[str, Any], PreferenceMatrix]]:
    """Yield each whole matrix with its name and what the tidy table says of it."""
    if spec.p is not None:
        yield spec.name, {}, PreferenceMatrix(np.array(spec.p))
    for file in spec.file:
        stem = Path(file).name.partition(".")[0]
        name = spec.name if spec.name and len(spec.file) == 1 else f"{spec.name} {stem}".strip()
        yield name, {}, load_preferences(folder / file)
    for family in spec.family:
        varied = members(family, size=spec.size, gamma=spec.gamma, gap=spec.gap, draws=spec.draws)
        for words, facts, matrix in varied:
            name = spec.name if spec.name and len(spec.family) == 1 else f"{spec.name} {family}".strip()
            yield " ".join([name, *words]), {"family": family, **facts}, matrix


def _origin(spec: MatrixSpec | CorpusSpec | UtilitySpec) -> dict[str, str]:
    """Return what the file says of where a problem comes from."""
    return {key: text for key, text in (("source", spec.source), ("note", spec.note)) if text}


def canonical(matrix: PreferenceMatrix) -> PreferenceMatrix:
    """Return the matrix as a file holds it: below the diagonal, exactly 1 less what stands above."""
    p = matrix.p.copy()
    lower = np.tril_indices(len(p), -1)
    p[lower] = 1 - p.T[lower]
    np.fill_diagonal(p, 0.5)
    return PreferenceMatrix(p, matrix.names, matrix.standard_error, matrix.comparisons, matrix.provenance)


def _of_utilities(spec: UtilitySpec, folder: Path, jobs: int) -> Iterator[Problem]:
    for (name, facts, means), model in product(_means(spec, folder, jobs), spec.model):
        oracle = NormalScores(means) if model == "normal" else FromUtilities(means, link=model)
        full = f"{name} {model}" if len(spec.model) > 1 else name
        about = {"source": "utilities", "rankers": len(means), "model": model, **facts, **_origin(spec)}
        answers = {"kind": "utilities", "model": model, "means": means}
        yield Problem(full, about, canonical(oracle.preferences()), answers)


def _means(spec: UtilitySpec, folder: Path, jobs: int) -> Iterator[tuple[str, dict[str, Any], list[float]]]:
    """Yield the name and the mean utilities of each set of arms."""
    if spec.means:
        yield spec.name, {}, list(spec.means)
    for name in spec.set:
        yield name, {}, list(UTILITY_SETS[name])
    for family, size in product(spec.family, spec.size):
        name = spec.name if spec.name and len(spec.family) == 1 else f"{spec.name} {family}".strip()
        yield f"{name} K={size}", {"family": family, "size": size}, UTILITY_FAMILIES[family](size).tolist()
    if spec.path or spec.synthetic:
        dataset = _dataset(folder / spec.path if spec.path else None, spec.synthetic, jobs)
        means = column_means(dataset)
        for size in spec.size:
            if size > len(means):
                raise InputError(f"size: {dataset.name} has {len(means)} features, not {size}")
            yield f"{spec.name} K={size}", {"corpus": spec.name, "size": size}, means[:size].tolist()


def _of_corpus(spec: CorpusSpec, folder: Path, jobs: int) -> Iterator[Problem]:
    for path in spec.path or (None,):
        rankings = _rankings(spec, folder / path if path else None, jobs)
        name = spec.name if spec.name and len(spec.path) < 2 else str(rankings.provenance.get("corpus", path))
        for clicks, method, outcome, top in product(spec.clicks, spec.method, spec.outcome, spec.top):
            settings = {"clicks": clicks, "method": method, "outcome": outcome, "top": top}
            always = () if spec.name else ("clicks",)
            varied = [str(settings[key]) for key in settings if len(getattr(spec, key)) > 1 or key in always]
            for answers in spec.answers:
                if answers == "live":  # refuse what does not fit before hours of estimating
                    Live(rankings, clicks, pairs=method, outcome=outcome, slates=spec.slates, top=top)
            matrix = estimated(rankings, settings, spec.comparisons, spec.seed, jobs)
            for words, more, picks in _chosen(spec.subsets, matrix):
                for answers in spec.answers:
                    full = [name, *varied, *words, *([answers] if len(spec.answers) > 1 else [])]
                    facts = {"source": "corpus", "corpus": name, "rankers": len(picks), **settings, "answers": answers}
                    facts |= more | _origin(spec)
                    yield _part(" ".join(full), facts, matrix, rankings, picks, settings, answers, spec.slates)


def _part(
    name: str,
    facts: dict[str, Any],
    matrix: PreferenceMatrix,
    rankings: Rankings,
    picks: list[int],
    settings: dict[str, Any],
    answers: str,
    slates: str,
) -> Problem:
    part = matrix[picks]
    if answers != "live":
        return Problem(name, facts, part, {"kind": answers})
    how = {"kind": "live", "clicks": settings["clicks"], "pairs": settings["method"], "slates": slates}
    how |= {"outcome": settings["outcome"], "top": settings["top"]}
    return Problem(name, facts, part, how, rankings if len(picks) == len(rankings) else rankings[picks])


def _chosen(subsets: Subsets | None, matrix: PreferenceMatrix) -> Iterator[tuple[list[str], dict[str, Any], list[int]]]:
    """Yield, for each set of rankers wanted, the words that name it, the same as facts, and the positions."""
    if subsets is None:
        yield [], {}, list(range(len(matrix)))
        return
    for size, number in product(subsets.size, range(subsets.count)):
        words = [f"K={size}", *([f"#{number + 1}"] if subsets.count > 1 else [])]
        picks = _subset(matrix, size, number, subsets)
        yield words, {"size": size, "subset": number + 1}, picks


def _subset(matrix: PreferenceMatrix, size: int, number: int, subsets: Subsets) -> list[int]:
    """Draw subset ``number`` of a size, ascending; it depends on these two and the seed, and on no other subset."""
    if size > len(matrix):
        raise InputError(f"a subset of {size} rankers cannot be drawn from {len(matrix)}")
    rng = stream(subsets.seed, "subset", size, number)
    if subsets.condorcet:
        picks = draw_winner_set(matrix, size, rng)
        if not picks.size:
            raise InputError(f"no subset of {size} rankers has a Condorcet winner")
    else:
        picks = np.argsort(rng.random(len(matrix)), kind="stable")[:size]
    return [int(pick) for pick in np.sort(picks)]


def _dataset(
    path: Path | None, made: Synthetic | None, jobs: int, split: str | None = None, fold: int | None = None
) -> Dataset:
    from ltr_duel.data import load_dataset, make_corpus

    if path is not None:
        return load_dataset(path, split=split, fold=fold, jobs=jobs)
    if made is None:
        raise InputError("give either 'path' or 'synthetic'")
    return make_corpus(
        queries=made.queries, documents=made.documents, features=made.features, grades=made.grades, seed=made.seed
    )


def _rankings(spec: CorpusSpec, path: Path | None, jobs: int) -> Rankings:
    from ltr_duel.rankers import feature_rankers

    return feature_rankers(
        _dataset(path, spec.synthetic, jobs, spec.split, spec.fold),
        features=spec.rankers or None,
        ties=spec.ties,  # type: ignore[arg-type]  # checked by the spec
        seed=spec.seed,
        drop_constant=spec.drop_constant,
        jobs=jobs,
    )


def estimated(rankings: Rankings, settings: dict[str, Any], comparisons: int, seed: int, jobs: int) -> PreferenceMatrix:
    """Estimate the preferences of all rankers, or open what was estimated before from the same by the same program."""
    about = [rankings.provenance, rankings.names, settings, comparisons, seed, sources_digest()]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    path = cache_home() / "preferences" / f"{digest}.parquet"
    if not path.is_file():
        matrix = estimate_preferences(
            rankings,
            clicks=settings["clicks"],
            method=settings["method"],
            outcome=settings["outcome"],
            top=settings["top"],
            comparisons=comparisons,
            seed=seed,
            jobs=jobs,
        )
        save_preferences(matrix, path)
    return load_preferences(path)
