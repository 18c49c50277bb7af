"""A problem of an experiment: what decides comparisons, and the matrix that measures regret.

A problem is written to a folder of the cache, with ``problem.json``, ``p.npy`` and, for simulated users, the arrays of
their rankings. Workers get only the path of this folder.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import socket
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.bandits import Policy
from ltr_duel.core import FloatVector, InputError, IntVector, cache_home, columns, components, files
from ltr_duel.core import digest as core_digest
from ltr_duel.experiment.spec import MATRIX_ANSWERS
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings, measure_by_query
from ltr_duel.simulation import (
    INDEPENDENT_COINS,
    FromMatrix,
    FromUtilities,
    OracleSource,
    SimulatedUsers,
    arm_ranks,
    as_run,
)

_MOST_OPEN = 4  # number of problems that a process keeps open; a few suffice, because runs are sorted by problem


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem with its data in memory."""

    name: str  # unique in an experiment
    facts: dict[str, Any]  # what describes the problem in tables: corpus, clicks, method, rankers and so on
    matrix: PreferenceMatrix
    answers: dict[str, Any]  # settings of the oracle; "kind" is matrix, independent_coins, users or utilities
    rankings: Rankings | None = None  # required for simulated users
    path: str = ""  # of the corpus, as the file of the experiment writes it

    @functools.cached_property
    def oracle(self) -> OracleSource:
        """What decides comparisons: the coins of a matrix, utilities, or simulated users."""
        return _oracle(self.answers, self.matrix, self.rankings)

    @property
    def measured_by(self) -> str:
        """The SHA-256 of the matrix that measures regret; empty if the same matrix decides comparisons."""
        return "" if self.answers["kind"] in MATRIX_ANSWERS else self.matrix.digest

    def comparison_of_sets(self, configured: components.Configured[Policy]) -> dict[str, str]:
        """Return the policy that ``configured`` runs as, and how users compare its sets; empty if it compares pairs."""
        policy = as_run(configured, self.oracle).component
        if policy.feedback != "slate":
            return {}
        slates = self.answers.get("slates")  # None if sets are not compared by users
        rule = slates and METHODS.configure(slates).component.default_outcome(sets=True)
        return {"runs_as": policy.name} | ({columns.METHOD: slates, columns.OUTCOME: rule} if slates else {})

    @functools.cached_property
    def digest(self) -> str:
        """A SHA-256 of everything that determines the outcomes and the regret."""
        return core_digest.digest_of([self.oracle.provenance, self.matrix.digest])

    def values(self, regrets: Collection[str]) -> dict[str, FloatVector]:
        """Return the numbers from which some regrets are computed: utilities of the arms, or their NDCG@10."""
        values = {}
        if "means" in self.answers:
            values["utility"] = np.asarray(self.answers["means"], np.float64)
        if "ndcg" in regrets and self.rankings is not None:
            values["ndcg"] = measure_by_query(self.rankings, "NDCG@10").mean(axis=1)
        return values

    def record(self, regrets: Collection[str]) -> dict[str, Any]:
        """Return a description of the problem for the store, with values that JSON can hold."""
        return {
            "name": self.name,
            "digest": self.digest,
            "facts": self.facts,
            "values": {name: list(values) for name, values in self.values(regrets).items()},
            "oracle": self.oracle.provenance,
            "measured_by": self.measured_by,
            "matrix_sha256": self.matrix.digest,
            "data": f"{self.path}/{self.matrix.provenance.get('corpus', '')}",  # ``facts`` may have the user's name
            "data_sha256": self.matrix.provenance.get("corpus_sha256"),
        }

    @functools.cached_property
    def folder(self) -> Path:
        """The folder of the problem in the cache, which is written on first use."""
        folder = cache_home() / "problems" / self.digest
        if folder.is_dir():
            return folder
        fields = {}
        if self.rankings is not None:
            fields = {field.name: getattr(self.rankings, field.name) for field in dataclasses.fields(self.rankings)}
        arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
        content = {
            "names": self.matrix.names,
            "answers": self.answers,
            "provenance": self.matrix.provenance,
            "rankings": {name: value for name, value in fields.items() if name not in arrays},
        }
        with files.replacing_folder(folder) as temporary:
            for name, array in {"p": self.matrix.p, **arrays}.items():
                np.save(temporary / f"{name}.npy", np.ascontiguousarray(array))
            (temporary / "problem.json").write_text(json.dumps(content, sort_keys=True), encoding="utf-8")
        return folder


@functools.lru_cache(maxsize=_MOST_OPEN)
def open_problem(folder: str) -> tuple[OracleSource, IntVector]:
    """Read a problem from the cache; return what decides comparisons, and the ranks of the arms.

    Raises `InputError` if the folder is not accessible on this machine or cannot be read.
    """
    path = Path(folder)
    try:
        content = json.loads((path / "problem.json").read_text(encoding="utf-8"))
        arrays: dict[str, Any] = {file.stem: np.asarray(np.load(file, mmap_mode="r")) for file in path.glob("*.npy")}
        matrix = PreferenceMatrix(arrays.pop("p"), tuple(content["names"]), provenance=content["provenance"])
        texts, rankings = content["rankings"], None
        if texts:
            rankings = Rankings(**texts | {"names": tuple(texts["names"])}, **arrays)
        return _oracle(content["answers"], matrix, rankings), arm_ranks(matrix)
    except FileNotFoundError:
        why = f"not accessible from {socket.gethostname()}; all machines must share the cache (LTR_DUEL_HOME)"
    except (OSError, ValueError, TypeError, KeyError) as error:
        why = f"damaged, or made by another version ({type(error).__name__}: {error}); remove it"
    raise InputError(f"{path}: {why}")


def _oracle(answers: dict[str, Any], matrix: PreferenceMatrix, rankings: Rankings | None) -> OracleSource:
    if rankings is not None:
        return users_oracle(answers, rankings)
    if answers["kind"] == "utilities":
        return FromUtilities(answers["means"], answers["model"], matrix.names)
    return FromMatrix(matrix, sets=INDEPENDENT_COINS if answers["kind"] == INDEPENDENT_COINS else "")


def users_oracle(answers: dict[str, Any], rankings: Rankings) -> SimulatedUsers:
    """Return simulated users with some settings. Raise `InputError` if the settings are inconsistent."""
    options = {name: answers[name] for name in ("pairs", "outcome", "slates", "top")}
    return SimulatedUsers(rankings, answers["clicks"], **options)
