"""From what a spec names to problems: read corpora and matrices, estimate what has to be estimated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core.errors import InputError
from ltr_duel.core.home import cache_home
from ltr_duel.experiment.fields import located
from ltr_duel.experiment.manifest import sources_digest
from ltr_duel.experiment.problem import Problem
from ltr_duel.experiment.spec import CorpusSpec, MatrixSpec, SpecFile, UtilitySpec
from ltr_duel.experiment.subsets import draw_subset, submatrix
from ltr_duel.preferences.estimate import estimate_preferences
from ltr_duel.preferences.files import load_preferences, save_preferences
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.simulation.live import Live
from ltr_duel.simulation.utility import MULTI_DUELING_UTILITIES, FromUtilities, NormalScores


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
    if spec.p is not None:
        yield _from_matrix(PreferenceMatrix(np.array(spec.p)), spec.name)
    for file in spec.file:
        stem = Path(file).name.partition(".")[0]
        name = spec.name if spec.name and len(spec.file) == 1 else f"{spec.name} {stem}".strip()
        yield _from_matrix(load_preferences(folder / file), name)


def _from_matrix(matrix: PreferenceMatrix, name: str) -> Problem:
    return Problem(name, {"source": "matrix", "rankers": len(matrix)}, canonical(matrix), {"kind": "matrix"})


def canonical(matrix: PreferenceMatrix) -> PreferenceMatrix:
    """Return the matrix as a file holds it: below the diagonal, exactly 1 less what stands above."""
    p = matrix.p.copy()
    lower = np.tril_indices(len(p), -1)
    p[lower] = 1 - p.T[lower]
    np.fill_diagonal(p, 0.5)
    return PreferenceMatrix(p, matrix.names, matrix.standard_error, matrix.comparisons, matrix.provenance)


def _of_utilities(spec: UtilitySpec, folder: Path, jobs: int) -> Iterator[Problem]:
    sets = {name: MULTI_DUELING_UTILITIES[name].tolist() for name in spec.set} or {spec.name: list(spec.means)}
    for (name, means), model in product(sets.items(), spec.model):
        oracle = NormalScores(means) if model == "normal" else FromUtilities(means, link=model)
        full = f"{name} {model}" if len(spec.model) > 1 else name
        facts = {"source": "utilities", "rankers": len(means), "model": model}
        answers = {"kind": "utilities", "model": model, "means": means}
        yield Problem(full, facts, canonical(oracle.preferences()), answers)


def _of_corpus(spec: CorpusSpec, folder: Path, jobs: int) -> Iterator[Problem]:
    for path in spec.path or (None,):
        rankings = _rankings(spec, folder / path if path else None, jobs)
        name = str(rankings.provenance.get("corpus", path))
        for clicks, method, outcome, top in product(spec.clicks, spec.method, spec.outcome, spec.top):
            settings = {"clicks": clicks, "method": method, "outcome": outcome, "top": top}
            varied = [str(settings[key]) for key in settings if len(getattr(spec, key)) > 1 or key == "clicks"]
            for answers in spec.answers:
                if answers == "live":  # refuse what does not fit before hours of estimating
                    Live(rankings, clicks, pairs=method, outcome=outcome, slates=spec.slates, top=top)
            matrix = estimated(rankings, settings, spec.comparisons, spec.seed, jobs)
            for words, picks in _chosen(spec, matrix):
                for answers in spec.answers:
                    full = [name, *varied, *words, *([answers] if len(spec.answers) > 1 else [])]
                    facts = {"source": "corpus", "corpus": name, "rankers": len(picks), **settings, "answers": answers}
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
    part = submatrix(matrix, picks)
    if answers == "matrix":
        return Problem(name, facts, part, {"kind": "matrix"})
    how = {"kind": "live", "clicks": settings["clicks"], "pairs": settings["method"], "slates": slates}
    how |= {"outcome": settings["outcome"], "top": settings["top"]}
    return Problem(name, facts, part, how, rankings if len(picks) == len(rankings) else rankings[picks])


def _chosen(spec: CorpusSpec, matrix: PreferenceMatrix) -> Iterator[tuple[list[str], list[int]]]:
    """Yield, for each set of rankers wanted, the words that name it and the positions."""
    if spec.subsets is None:
        yield [], list(range(len(matrix)))
        return
    for size, number in product(spec.subsets.size, range(spec.subsets.count)):
        words = [f"K={size}", *([f"#{number + 1}"] if spec.subsets.count > 1 else [])]
        yield words, draw_subset(matrix, size, number, spec.subsets.seed, condorcet=spec.subsets.condorcet)


def _rankings(spec: CorpusSpec, path: Path | None, jobs: int) -> Rankings:
    from ltr_duel.data.svmlight import load_dataset
    from ltr_duel.data.synthetic import make_corpus
    from ltr_duel.rankers.features import feature_rankers

    made = spec.synthetic
    if path is None and made is not None:
        dataset = make_corpus(
            queries=made.queries, documents=made.documents, features=made.features, grades=made.grades, seed=made.seed
        )
    elif path is not None:
        dataset = load_dataset(path, split=spec.split, fold=spec.fold, jobs=jobs)
    else:
        raise InputError("give either 'path' or 'synthetic'")
    return feature_rankers(
        dataset,
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
