"""One problem: who answers comparisons, and the matrix that regret is measured by. Kept as files, opened memory-mapped.

A problem lies in a folder of the cache, named by its digest: ``problem.json``, ``p.npy`` and, where simulated users
answer, the arrays of the rankings. Tasks carry the name of the folder, never the arrays.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import socket
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, InputError, IntVector, cache_home, replacing_folder
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings, ndcg
from ltr_duel.simulation import FromMatrix, FromUtilities, Live, NormalScores, OracleSource, places

_MOST_OPEN = 4  # problems that one process keeps open; runs come sorted by problem


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem in memory, while an experiment is planned.

    Parameters
    ----------
    name : str
        For people; different for each problem of an experiment.
    facts : dict
        What the tidy table says of it: corpus, clicks, method, rankers and so on.
    matrix : PreferenceMatrix
    answers : dict
        How an oracle is made: ``{"kind": "matrix"}``, ``{"kind": "sweeps"}`` (the same coins, whole sweeps at once),
        ``{"kind": "live", ...}`` or ``{"kind": "utilities", ...}``.
    rankings : Rankings, optional
        For live answers.
    """

    name: str
    facts: dict[str, Any]
    matrix: PreferenceMatrix
    answers: dict[str, Any]
    rankings: Rankings | None = None

    @functools.cached_property
    def oracle(self) -> OracleSource:
        """Who answers."""
        return _oracle(self.answers, self.matrix, self.rankings)

    @property
    def measured_by(self) -> str:
        """The digest of the matrix, where the answers do not come from it."""
        return "" if self.answers["kind"] in ("matrix", "sweeps") else self.matrix.digest

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of all that determines the answers and the regret."""
        text = json.dumps([self.oracle.provenance, self.matrix.digest], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def values(self, regrets: Collection[str]) -> dict[str, FloatVector]:
        """Return what some regrets need beside the matrix: the utilities; the NDCG@10, where users are simulated."""
        means, found = self.answers.get("means"), {}
        if means is not None:
            found["utility"] = np.asarray(means, np.float64)
        if "ndcg" in regrets and self.rankings is not None:
            found["ndcg"] = ndcg(self.rankings)
        return found

    def save(self) -> Path:
        """Put the problem into the cache, unless it is there; return its folder."""
        folder = cache_home() / "problems" / self.digest
        if folder.is_dir():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(folder) as temporary:
            about: dict[str, Any] = {
                "names": list(self.matrix.names),
                "answers": self.answers,
                "provenance": self.matrix.provenance,
                "rankings": {},
            }
            np.save(temporary / "p.npy", self.matrix.p)
            if self.rankings is not None:
                for field in dataclasses.fields(self.rankings):
                    content = getattr(self.rankings, field.name)
                    if isinstance(content, np.ndarray):
                        np.save(temporary / f"{field.name}.npy", np.ascontiguousarray(content))
                    else:
                        about["rankings"][field.name] = content
            (temporary / "problem.json").write_text(json.dumps(about, sort_keys=True), encoding="utf-8")
        return folder


class OpenProblem(NamedTuple):
    """A problem as a worker sees it."""

    oracle: OracleSource
    matrix: PreferenceMatrix
    place: IntVector


@functools.lru_cache(maxsize=_MOST_OPEN)
def open_problem(folder: str) -> OpenProblem:
    """Open a problem of the cache; its arrays are mapped, not read.

    Raises
    ------
    InputError
        If this machine does not see the folder.
    """
    path = Path(folder)
    if not (path / "problem.json").is_file():
        raise InputError(
            f"{path}: not to be seen on {socket.gethostname()}; all machines must share the cache (LTR_DUEL_HOME)"
        )
    about = json.loads((path / "problem.json").read_text(encoding="utf-8"))
    matrix = PreferenceMatrix(_mapped(path / "p.npy"), tuple(about["names"]), provenance=about["provenance"])
    rankings = None
    if about["rankings"]:
        texts = about["rankings"] | {"names": tuple(about["rankings"]["names"])}
        arrays = {file.stem: _mapped(file) for file in sorted(path.glob("*.npy")) if file.stem != "p"}
        rankings = Rankings(**texts, **arrays)
    return OpenProblem(_oracle(about["answers"], matrix, rankings), matrix, places(matrix))


def _mapped(path: Path) -> Any:
    """Map an array copy-on-write: nothing is written, and kernels see the type that they are compiled for."""
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))


def _oracle(answers: dict[str, Any], matrix: PreferenceMatrix, rankings: Rankings | None) -> OracleSource:
    kind = answers["kind"]
    if kind in ("matrix", "sweeps"):
        return FromMatrix(matrix, in_sweeps=kind == "sweeps")
    if kind == "utilities":
        if answers["model"] == "normal":
            return NormalScores(answers["means"], matrix.names)
        return FromUtilities(answers["means"], link=answers["model"], names=matrix.names)
    if rankings is None:
        raise ValueError("live answers need rankings")
    options = {name: answers[name] for name in ("pairs", "outcome", "slates", "top")}
    return Live(rankings, answers["clicks"], **options)
