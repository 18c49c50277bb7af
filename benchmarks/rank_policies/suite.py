"""The problems on which policies are ranked, in families; each problem belongs to one half of the suite.

Each family is split before any policy is tuned: its members, sorted by the digests of their names, alternate between
the halves. So the split depends neither on properties of a problem nor on the available data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, stream
from ltr_duel.data import load_dataset, make_corpus
from ltr_duel.preferences import (
    FAMILIES,
    PreferenceMatrix,
    arxiv,
    condorcet_confidence,
    load_preferences,
    synthetic_preferences,
)
from ltr_duel.rankers import Rankings, feature_rankers

Half = Literal["tune", "judge"]
CORPORA = "real corpora"
SURE = 0.95  # a matrix is left out if the probability of its winner is lower


class Problem(NamedTuple):
    """A problem: a matrix, or rankers with simulated users."""

    family: str
    name: str
    make: Callable[[], PreferenceMatrix | Rankings]
    clicks: str = ""  # click model of simulated users
    data: str = ""  # path of data that are not part of the package

    @property
    def half(self) -> Half:
        """The half of the suite to which the problem belongs; real corpora belong to neither, and are in both."""
        return _halves().get((self.family, self.name), "judge")

    @property
    def panel(self) -> str:
        """The league to which the problem belongs."""
        return "users" if self.clicks else "no winner" if self.family == "no winner" else "winner"

    @property
    def column(self) -> str:
        """The column of its league: its name where there are few problems, otherwise its family."""
        return self.name if self.family in ("no winner", CORPORA) else self.family


def suite(data: Path | None = None) -> list[Problem]:
    """Return all problems whose data are available.

    data: folder of the data that are not part of the package; by default, the problems that need them are omitted.
    """
    return [one for one in _problems(data) if not one.data or (data is not None and (data / one.data).exists())]


def digest_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def winner_probability(matrix: PreferenceMatrix) -> float:
    """Return the probability of the likeliest Condorcet winner; 1 for a matrix that is known exactly."""
    return float(condorcet_confidence(matrix).max()) if matrix.standard_error.any() else 1.0


@cache
def _halves() -> dict[tuple[str, str], Half]:
    families: dict[str, list[str]] = {}
    for one in _problems(None):
        if one.family == CORPORA:
            continue
        families.setdefault(one.family, []).append(one.name)
    halves: dict[tuple[str, str], Half] = {}
    for family, names in families.items():
        begin = int(digest_of(family), 16) % 2
        for place, name in enumerate(sorted(names, key=lambda name: digest_of([family, name]))):
            halves[family, name] = "judge" if (begin + place) % 2 else "tune"
    return halves


def _problems(data: Path | None) -> Iterator[Problem]:
    yield Problem("published", "arxiv", arxiv)
    for name in ("arithmetic", "1good5poor", "1good50poor", "1good200poor", "arith51", "geom51"):
        yield Problem("published", name, partial(synthetic_preferences, name))
    for name, file, comparisons in (
        ("sushi", "zwcao_sushi16.npy", 5_000),  # rankings of sixteen kinds by 5,000 people
        ("NP2004", "wolfenfeld_PMat_64.npy", 6_248),  # every entry is a multiple of 1 / 6,248
        ("MSLR perfect", "MergeDTS_MSLR-Perfect.txt.gz", 414_600),
        ("MSLR navigational", "MergeDTS_MSLR-Nabigational.txt.gz", 414_600),
    ):
        path = f"preference_matrices/{file}"
        make = partial(_estimated, (data or Path()) / path, comparisons)
        yield Problem("published", name, make, data=path)
    for size, spread in ((6, 1.0), (10, 0.5), (16, 2.0), (32, 1.0), (64, 1.0), (100, 0.5), (200, 1.0), (500, 1.0)):
        yield _matrix("bradley-terry", f"BT {size}, spread {spread:g}", _bradley_terry, size, spread)
    for name, size, close in (("two", 8, 0.06), ("two", 40, 0.03), ("four", 16, 0.04), ("ten", 64, 0.02)):
        number = {"two": 2, "four": 4, "ten": 10}[name]
        yield _matrix("near ties", f"{name} of {size}", _near_ties, size, number, close)
    yield _matrix("near ties", "faint 16", FAMILIES["arithmetic"], 16, gap=0.003)
    yield _matrix("near ties", "faint BT 32", _bradley_terry, 32, 0.1)
    for size, top, gap in ((4, 3, 0.1), (5, 3, 0.2), (20, 3, 0.1), (9, 5, 0.1), (40, 5, 0.2)):
        yield _matrix("no winner", f"circle of {top} in {size}, {gap:g}", _circle_on_top, size, top, gap)
    for size in (8, 16, 32):
        yield _matrix("no winner", f"random {size}", FAMILIES["random"], size, condorcet=False, seed=size)
    for size, best, circle in ((4, 0.6, 0.9), (15, 0.6, 0.9), (16, 0.55, 0.7), (51, 0.6, 0.7), (101, 0.7, 0.9)):
        make = FAMILIES["cyclic"]
        yield _matrix("circles", f"circle {size}, {best:g}, {circle:g}", make, size, best=best, circle=circle)
    for size in (10, 30, 100):
        yield _matrix("circles", f"random {size}", FAMILIES["random"], size, seed=size)
    for size, copies, of in ((12, 2, 0), (10, 4, 1), (16, 8, 8), (40, 3, 1), (64, 2, 2), (30, 2, 0)):
        yield _matrix("clones", f"{copies} of arm {of} in {size}", _clones, size, copies, of)
    for name in ("equal_gaps", "linear_list", "one_strong_arm", "arith201", "geometric", "strong_neighbours"):
        yield Problem("transitive", name, partial(synthetic_preferences, name))
    for size in (8, 20, 64, 150):
        yield _matrix("transitive", f"any gaps {size}", _any_gaps, size)
    for size, second in ((10, 0.3), (30, 0.4)):
        yield _matrix("transitive", f"beaten favourite {size}", _beaten_favourite, size, second)
    for size in (5, 10, 20, 50, 100):
        for clicks in ("perfect", "navigational", "informational") if size < 50 else ("perfect", "navigational"):
            yield Problem("live, made", f"{size} rankers, {clicks}", partial(_made, size), clicks)
    for file in ("NP2004", "MQ2008", "OHSUMED", "MSLR_excerpt"):
        read = partial(_corpus, (data or Path()) / file / "Fold1")
        yield Problem(CORPORA, file.partition("_")[0], read, "navigational", f"{file}/Fold1")


def _estimated(path: Path, comparisons: int) -> PreferenceMatrix:
    """Return a published matrix with the standard errors of its number of comparisons of each pair."""
    p = load_preferences(path).p
    error = np.sqrt(p * p.T / comparisons)  # p.T is 1 - p
    np.fill_diagonal(error, 0)
    return PreferenceMatrix(p, standard_error=error)


def _matrix(family: str, name: str, make: Callable[..., Any], *args: Any, **options: Any) -> Problem:
    def made() -> PreferenceMatrix:
        p = make(*args, **options)
        return p if isinstance(p, PreferenceMatrix) else PreferenceMatrix(p)

    return Problem(family, name, made)


def _logistic(utilities: Any) -> FloatMatrix:
    u = np.asarray(utilities, float)
    return np.asarray(1 / (1 + np.exp(u[None, :] - u[:, None])))


def _utilities(size: int, spread: float) -> FloatMatrix:
    return np.sort(stream(1, "rank-policies", size).standard_normal(size))[::-1] * spread


def _bradley_terry(size: int, spread: float) -> FloatMatrix:
    return _logistic(_utilities(size, spread))


def _near_ties(size: int, number: int, close: float) -> FloatMatrix:
    """Return a Bradley-Terry matrix; utilities of the best arms are ``close`` apart, and about 1 above the others."""
    u = _utilities(size, 1.0)
    u[:number] = u[number:].max() + 1 - close * np.arange(number)
    return _logistic(u)


def _circle_on_top(size: int, top: int, gap: float) -> FloatMatrix:
    """Return a Bradley-Terry matrix whose ``top`` best arms form a circle.

    Each of them beats, by ``gap``, the half of the others that follows it in the circle.
    """
    u = _utilities(size, 1.0)
    u[:top] = u[0] + 0.5
    p, place = _logistic(u), np.arange(top)
    ahead = (place[None, :] - place[:, None]) % top
    p[:top, :top] = np.where(ahead == 0, 0.5, np.where(2 * ahead < top, 0.5 + gap, 0.5 - gap))
    return p


def _clones(size: int, copies: int, of: int) -> FloatMatrix:
    """Return a Bradley-Terry matrix in which ``copies`` consecutive arms, from arm ``of`` on, are identical."""
    u = _utilities(size, 1.0)
    u[of : of + copies] = u[of]
    return _logistic(u)


def _any_gaps(size: int) -> FloatMatrix:
    """Return a matrix with a total order but random gaps, which is therefore only weakly transitive."""
    above = np.triu(stream(2, "rank-policies", size).uniform(0.01, 0.4, (size, size)), 1)
    return np.asarray(0.5 + above - above.T)


def _beaten_favourite(size: int, second: float) -> FloatMatrix:
    """Return a matrix in which the winner has small gaps to all arms, and the second arm large gaps to the others."""
    above = np.triu(np.full((size, size), 0.1), 1)
    above[0], above[1, 2:] = 0.05, second
    above[0, 0] = 0.0
    return np.asarray(0.5 + above - above.T)


def _made(size: int) -> Rankings:
    return feature_rankers(make_corpus(queries=100, documents=30, features=size, seed=size, dead=0, constant=0))


def _corpus(folder: Path) -> Rankings:
    return feature_rankers(load_dataset(folder))
