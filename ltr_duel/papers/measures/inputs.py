"""The inputs of measures: a real or synthetic corpus, or a matrix that is published or estimated on a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ltr_duel.core import InputError, stream
from ltr_duel.data import Dataset, load_dataset, make_corpus
from ltr_duel.papers.expand import Found
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences, load_preferences
from ltr_duel.rankers import feature_rankers


def load_corpus(found: Found, *, jobs: int) -> Dataset:
    """Load or make the corpus that was found."""
    if "path" in found.entry:
        return load_dataset(found.entry["path"], jobs=jobs, **found.reading)
    if "synthetic" in found.entry:
        return make_corpus(**found.entry["synthetic"])
    raise InputError("this measure needs a corpus: feature files, or the shape of a surrogate")


def load_matrix(found: Found, *, clicks: str, comparisons: int, seed: int, jobs: int) -> PreferenceMatrix:
    """Return the published matrix that was found. If a corpus was found, estimate a matrix for its feature rankers.

    The estimate follows the papers: it uses the sign of the marginal outcome, without variance reduction.
    """
    if "file" in found.entry:
        return load_preferences(found.entry["file"])
    rankings = feature_rankers(load_corpus(found, jobs=jobs), drop_constant=False, jobs=jobs)
    return estimate_preferences(
        rankings,
        clicks=clicks,
        outcome="marginal_sign",
        comparisons=comparisons,
        variance_reduction="none",
        seed=seed,
        jobs=jobs,
    )


def around(matrix: PreferenceMatrix, *, comparisons: int, seed: int, draws: int = 400) -> Iterator[PreferenceMatrix]:
    """Yield noisy copies of a matrix. If it has no standard errors, assume ``comparisons`` comparisons of each pair."""
    rng, upper = stream(seed, "around an estimate"), np.triu_indices(len(matrix), 1)
    noise = matrix.standard_error if matrix.standard_error.any() else np.sqrt(matrix.p * (1 - matrix.p) / comparisons)
    for _ in range(draws):
        p = matrix.p.copy()
        p[upper] = np.clip(p[upper] + noise[upper] * rng.standard_normal(len(upper[0])), 0, 1)
        p.T[upper] = 1 - p[upper]
        yield PreferenceMatrix(p, matrix.names)
