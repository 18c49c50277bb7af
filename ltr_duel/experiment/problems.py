"""Build the problems of an experiment: read corpora and matrices, and estimate matrices that are missing.

If keys of the file list several values, each combination of the values becomes a problem.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, cache_home, columns, kernel_cache, schema, stream
from ltr_duel.core import digest as core_digest
from ltr_duel.data import Dataset
from ltr_duel.experiment.problem import Problem, users_oracle
from ltr_duel.experiment.spec import (
    READING,
    CorpusSpec,
    MatrixSpec,
    ProblemSpec,
    SpecFile,
    Subsets,
    Synthetic,
    UtilitySpec,
)
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import (
    FEW,
    MANY,
    UTILITY_FAMILIES,
    UTILITY_SETS,
    PreferenceMatrix,
    draw_winner_set,
    estimate_preferences,
    load_preferences,
    members,
    save_preferences,
)
from ltr_duel.rankers import Rankings, column_means, pool_named, rankers_named
from ltr_duel.simulation import FromUtilities

_OPTION = re.compile(rf"(?<!\S)--({'|'.join(sorted(READING))})(?![\w-])".replace("_", "-"))
TO_ESTIMATE = "to_estimate"  # key in the provenance of a placeholder for a matrix that is not estimated yet


class Choice(NamedTuple):
    """One of the values that a key of the experiment's file lists."""

    words: list[str]  # parts of the problem's name
    facts: dict[str, Any]  # columns of the tables of results
    content: Any


class Reading(NamedTuple):
    """How the data of an experiment are read."""

    folder: Path  # the folder to which paths are relative
    jobs: int  # number of threads
    estimate: bool  # whether matrices that are missing are estimated


def build_problems(file: SpecFile, *, jobs: int = -1, estimate: bool = True) -> list[Problem]:
    """Build all problems of an experiment, in the order of its file.

    With ``estimate=False``, a placeholder replaces each matrix that would have to be estimated.

    Raises `InputError` if a file cannot be read or values are inconsistent. The message names the file and the key.
    """
    problems: list[Problem] = []
    reading = Reading(file.path.parent, jobs, estimate)
    kinds = (("matrices", _matrix_problems), ("corpora", _corpus_problems), ("utilities", _utility_problems))
    for kind, expand in kinds:
        for number, spec in enumerate(getattr(file.spec, kind)):
            with schema.located(f"{file.path}: {kind}[{number}]"), _as_keys():
                problems += expand(spec, reading)
    names = Counter(problem.name for problem in problems)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise InputError(f"{file.path}: two problems are called '{repeated[0]}'")
    return problems


@contextmanager
def _as_keys() -> Iterator[None]:
    """Write keys of the file for options of commands in error messages: ``first_id = 0`` for ``--first-id 0``."""
    try:
        yield
    except InputError as error:
        raise InputError(_OPTION.sub(lambda match: match[1].replace("-", "_") + " =", str(error))) from None


def _matrix_problems(spec: MatrixSpec, reading: Reading) -> Iterator[Problem]:
    for whole in _matrices(spec, reading.folder):
        for part in _subsets(spec.subsets, whole.content):
            matrix = _canonical(whole.content[part.content])
            facts = {columns.SOURCE: "matrix", columns.RANKERS: len(matrix), **whole.facts, **part.facts, **spec.origin}
            facts |= {columns.CLICKS: spec.clicks} if spec.clicks else {}
            for kind in spec.answers:
                name = _name(*whole.words, *part.words, _if_several(kind, spec.answers))
                yield Problem(name, facts | {columns.ANSWERS: kind}, matrix, {"kind": kind})


def _matrices(spec: MatrixSpec, folder: Path) -> Iterator[Choice]:
    if spec.p is not None:
        yield Choice([spec.name], {}, PreferenceMatrix(np.array(spec.p)))
    for file in spec.file:
        own = Path(file).name.partition(".")[0]
        matrix = load_preferences(folder / file, comparisons=spec.comparisons)
        yield Choice([_given_name(spec, own, spec.file)], {}, matrix)
    for family in spec.family:
        for words, facts, matrix in members(family, size=spec.size, gamma=spec.gamma, gap=spec.gap, draws=spec.draws):
            yield Choice([_given_name(spec, family, spec.family), *words], {columns.FAMILY: family, **facts}, matrix)


def _utility_problems(spec: UtilitySpec, reading: Reading) -> Iterator[Problem]:
    for arms, model in product(_means(spec, reading), spec.model):
        whole = _canonical(FromUtilities(arms.content, model).preferences())
        for part in _subsets(spec.subsets, whole):
            matrix, means = whole[part.content], [arms.content[k] for k in part.content]
            facts = {columns.SOURCE: "utilities", columns.RANKERS: len(matrix), columns.MODEL: model}
            name = _name(*arms.words, *part.words, _if_several(model, spec.model))
            answers = {"kind": "utilities", "model": model, "means": means}
            yield Problem(name, facts | arms.facts | part.facts | spec.origin, matrix, answers)


def _means(spec: UtilitySpec, reading: Reading) -> Iterator[Choice]:
    if spec.means:
        yield Choice([spec.name], {}, list(spec.means))
    for name in spec.set:
        yield Choice([name], {}, list(UTILITY_SETS[name]))
    for family, size in product(spec.family, spec.size):
        words = [_given_name(spec, family, spec.family), f"K={size}"]
        yield Choice(words, {columns.FAMILY: family, columns.SIZE: size}, UTILITY_FAMILIES[family](size).tolist())
    if spec.path or spec.synthetic:
        dataset = _dataset(spec, spec.path, reading)
        means = column_means(dataset)
        for size in spec.size or (len(means),):
            if size > len(means):
                raise InputError(f"size: {dataset.name} has {len(means)} features, not {size}")
            facts = {columns.CORPUS: spec.name, columns.SIZE: size}
            yield Choice([spec.name, f"K={size}" * bool(spec.size)], facts, means[:size].tolist())


def _corpus_problems(spec: CorpusSpec, reading: Reading) -> Iterator[Problem]:
    for path in spec.path or ("",):
        rankings = _rankings(spec, path, reading)
        corpus = spec.name if spec.name and len(spec.path) < 2 else str(rankings.provenance.get("corpus", path))
        for clicks, method, outcome, top in product(spec.clicks, spec.method, spec.outcome, spec.top):
            rule = outcome or METHODS.configure(method).component.default_outcome()
            settings: dict[str, Any] = {"clicks": clicks, "method": method, "outcome": rule, "top": top}
            words = [_if_several(value, getattr(spec, key)) for key, value in settings.items()]
            words[0] = words[0] if spec.name else clicks
            users = {"kind": "users", "clicks": clicks, "pairs": method, "outcome": rule, "top": top}
            users["slates"] = spec.slates
            if "users" in spec.answers:
                users_oracle(users, rankings)  # refuses inconsistent settings before hours of estimating
            matrix = _estimate(rankings, spec, settings, reading)
            for part in _subsets(spec.subsets, matrix):
                rows = part.content
                facts = {columns.SOURCE: "corpus", columns.CORPUS: corpus, columns.RANKERS: len(rows), **settings}
                facts |= part.facts | spec.origin
                for kind in spec.answers:
                    name = _name(corpus, *words, *part.words, _if_several(kind, spec.answers))
                    answers = users if kind == "users" else {"kind": kind}
                    lists = (rankings if len(rows) == len(rankings) else rankings[rows]) if kind == "users" else None
                    yield Problem(name, facts | {columns.ANSWERS: kind}, matrix[rows], answers, lists, path)


def _name(*words: str) -> str:
    return " ".join(filter(None, words))


def _if_several(value: object, listed: Sequence[object]) -> str:
    return str(value) if len(listed) > 1 else ""


def _given_name(spec: ProblemSpec, own: str, listed: Sequence[str]) -> str:
    return spec.name if spec.name and len(listed) == 1 else _name(spec.name, own)


def _subsets(subsets: Subsets | None, matrix: PreferenceMatrix) -> Iterator[Choice]:
    if subsets is None:
        yield Choice([], {}, list(range(len(matrix))))
        return
    for size, number in product(subsets.size, range(subsets.count)):
        words = [f"K={size}", f"#{number + 1}" if subsets.count > 1 else ""]
        yield Choice(words, {columns.SIZE: size, columns.SUBSET: number + 1}, _draw(matrix, size, number, subsets))


def _draw(matrix: PreferenceMatrix, size: int, number: int, subsets: Subsets) -> list[int]:
    """Draw a subset of the rankers. The random stream depends only on size, number and seed."""
    if size > len(matrix):
        raise InputError(f"a subset of {size} rankers cannot be drawn from {len(matrix)}")
    rng = stream(subsets.seed, "subset", size, number)
    if not subsets.condorcet:
        rows = np.argsort(rng.random(len(matrix)), kind="stable")[:size]
    elif not (rows := draw_winner_set(matrix, size, rng)).size:
        raise InputError(f"no subset of {size} rankers has a Condorcet winner")
    return np.sort(rows).tolist()


def _canonical(matrix: PreferenceMatrix) -> PreferenceMatrix:
    """Return the matrix as a file would give it: below the diagonal, p[j, i] is exactly 1 - p[i, j]."""
    p = matrix.p.copy()
    lower = np.tril_indices(len(p), -1)
    p[lower] = 1 - p.T[lower]
    np.fill_diagonal(p, 0.5)
    return PreferenceMatrix(p, matrix.names, matrix.standard_error, matrix.comparisons, matrix.provenance)


def _dataset(spec: CorpusSpec | UtilitySpec, path: str, reading: Reading) -> Dataset:
    from ltr_duel.data import load_dataset, make_corpus

    if path:
        return load_dataset(reading.folder / path, jobs=reading.jobs, **spec.reading)
    return make_corpus(**vars(spec.synthetic or Synthetic()))


def _rankings(spec: CorpusSpec, path: str, reading: Reading) -> Rankings:
    pool = pool_named(path, spec.rankers, folder=reading.folder, reading=bool(spec.reading))
    dataset = pool.dataset if pool else _dataset(spec, path, reading)
    return rankers_named(
        dataset.with_relevant() if spec.queries == "with_relevant" else dataset,
        spec.rankers,
        folder=reading.folder,
        ties=spec.ties,  # type: ignore[arg-type]  # checked by the spec
        seed=spec.tie_seed,
        drop_constant=spec.drop_constant,
        jobs=reading.jobs,
    )


def _estimate(rankings: Rankings, spec: CorpusSpec, settings: dict[str, Any], reading: Reading) -> PreferenceMatrix:
    """Estimate the preferences of all rankers, or read them from the cache."""
    settings = settings | {"variance_reduction": spec.variance_reduction}
    plain = spec.ties == "redraw_at_inference" or spec.variance_reduction == "none"
    comparisons = spec.comparisons or (MANY if plain else FEW)
    inputs = [rankings.provenance, rankings.names, settings, comparisons, spec.seed, kernel_cache.sources_digest()]
    path, size = cache_home() / "preferences" / f"{core_digest.digest_of(inputs)}.parquet", len(rankings)
    if not path.is_file() and not reading.estimate:
        ordered = 0.5 + 0.1 * np.sign(np.arange(size) - np.arange(size)[:, None])
        cost = {path.stem: comparisons * size * (size - 1) // 2}
        return PreferenceMatrix(ordered, rankings.names, provenance={TO_ESTIMATE: cost})
    if not path.is_file():
        matrix = estimate_preferences(rankings, **settings, comparisons=comparisons, seed=spec.seed, jobs=reading.jobs)
        save_preferences(matrix, path)
    return load_preferences(path)
