"""What measures work on: a corpus, real or made here; a matrix, published or estimated on such a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, load_dataset, make_corpus
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences, load_preferences
from ltr_duel.rankers import feature_rankers

if TYPE_CHECKING:
    from ltr_duel.papers.find_data import Found


def corpus_of(found: Found, *, jobs: int) -> Dataset:
    """Return the corpus that was found.

    Raises
    ------
    InputError
        If what was found is no corpus.
    """
    if "path" in found.entry:
        return load_dataset(found.entry["path"], jobs=jobs)
    if "synthetic" in found.entry:
        return make_corpus(**found.entry["synthetic"])
    raise InputError("this measure needs a corpus: a feature file, a folder of them, or the shape of a stand-in")


def matrix_of(found: Found, settings: Mapping[str, Any], *, jobs: int) -> PreferenceMatrix:
    """Return the matrix that was found, or estimate that of the feature rankers of the corpus that was found.

    Parameters
    ----------
    found : Found
    settings : mapping
        ``clicks``, ``comparisons`` and ``seed`` are for the estimate.
    jobs : int
    """
    if "file" in found.entry:
        return load_preferences(found.entry["file"])
    seed = settings.get("seed", 0)
    rankings = feature_rankers(corpus_of(found, jobs=jobs), seed=seed, jobs=jobs)
    return estimate_preferences(
        rankings,
        clicks=settings.get("clicks", "informational"),
        comparisons=settings.get("comparisons", 4000),
        seed=seed,
        jobs=jobs,
    )
