"""The runs of a store, together with its plans, which contain the keys of the runs."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.experiment.counts import decode_run
from ltr_duel.experiment.plan_file import StoredPlan
from ltr_duel.experiment.runs_file import SCHEMA
from ltr_duel.experiment.store import Store
from ltr_duel.preferences import PreferenceMatrix, load_preferences
from ltr_duel.simulation import RunKey, RunResult, key_fields


class Planned(NamedTuple):
    """A run in a plan."""

    plan: int  # number of the plan
    label: str
    problem: int  # number of the problem in the plan
    horizon: int
    repetition: int


class StoredRuns:
    """Reads runs of a store."""

    def __init__(self, store: Store, plans: Sequence[StoredPlan]) -> None:
        self.store, self.plans, self.index = store, plans, store.scan()
        self._origin = functools.cache(store.origin)
        self._groups: dict[tuple[int, str, int, int], tuple[dict[str, Any], Callable[[int], str]]] = {}

    @functools.cached_property
    def planned(self) -> dict[str, Planned]:
        """The planned runs by digest; a run that several plans contain is listed with the first of these plans."""
        found: dict[str, Planned] = {}
        for number, plan in enumerate(self.plans):
            digests, *columns = (plan.runs[name].to_pylist() for name in ("digest", *Planned._fields[1:]))
            for digest, *run in zip(digests, *columns, strict=True):
                found.setdefault(digest, Planned(number, *run))
        return found

    def where(self, digest: str) -> str:
        """Return the file and the digest of a run, for a message."""
        return f"{self.store.runs / self.index.done[digest].file}: run {digest}"

    def batches(
        self, digests: Iterable[str], columns: Sequence[str] = tuple(SCHEMA.names)
    ) -> Iterator[tuple[list[str], pa.RecordBatch]]:
        """Yield runs in the order of the files: digests and their rows.

        Raises `InputError`, with a complete message, if a batch cannot be read.
        """
        for names, rows in self.index.batches(digests, columns):
            if isinstance(rows, InputError):
                self.refuse_run(names[0], str(rows))
            yield names, rows

    def refuse_run(self, digest: str, why: str) -> NoReturn:
        """Raise an error about one run."""
        self.refuse(f"{self.where(digest)}: damaged: {why}")

    def refuse(self, wrong: str) -> NoReturn:
        """Raise an error about damage that `verify_store` repairs."""
        raise InputError(f"{wrong}; 'ltr-duel verify --repair {self.store.folder}' repairs it")

    def wrong_with(self, digests: Iterable[str]) -> dict[str, str]:
        """Check runs, their digests and their origins; return a message for each digest, "" if the run is sound.

        A run that no plan contains is sound if its checksum matches. Runs with the same damaged origin have the same
        message.
        """
        wrong = {}
        for names, rows in self.index.batches(digests):
            for k, digest in enumerate(names):
                try:
                    if isinstance(rows, InputError):
                        raise rows
                    if digest in self.planned:
                        self.result(digest, rows.slice(k, 1))
                except InputError as error:
                    wrong[digest] = f"{self.where(digest)}: damaged: {error}"
                else:
                    wrong[digest] = self._wrong_origin(rows, k) if digest in self.planned else ""
        return wrong

    def _wrong_origin(self, rows: pa.RecordBatch, k: int) -> str:
        """Return the error of the origin of a run, or "" if the origin is sound."""
        try:
            self._origin(rows["origin"][k].as_py())
        except InputError as error:
            return str(error)
        return ""

    def result(self, digest: str, row: pa.RecordBatch) -> RunResult:
        """Return a planned run from its row.

        Raises `InputError`, whose message is a part of a sentence, if the row is damaged or belongs to another run.
        """
        planned, (repetition,) = self.planned[digest], row["repetition"].to_pylist()
        key, digest_of = self._group(planned)
        if (own := digest_of(repetition)) != digest:
            raise InputError(f"it belongs to another run, {own}")
        return decode_run(row, RunKey(**key, repetition=repetition), planned.label)

    def matrix(self, problem: str) -> PreferenceMatrix:
        """Return the matrix of a problem, given the digest of the problem. Raises `InputError` if it is damaged."""
        try:
            return read_matrix(self.store.problem_path(problem))
        except InputError as error:
            self.refuse(str(error))

    def matrix_of(self, planned: Planned) -> str:
        """Return the digest of the matrix by which the regret of a planned run is measured."""
        key = self._group(planned)[0]
        return str(key["measured_by"] or key["oracle"].get("matrix"))

    def digest_of(self, planned: Planned, repetition: int) -> str:
        """Return the digest of another repetition of a planned run."""
        return self._group(planned)[1](repetition)

    def row(self, digest: str) -> pa.RecordBatch:
        """Return the row of a run. Raises `InputError` if the run is damaged or not finished."""
        if digest not in self.index.done:
            raise InputError(f"{self.store.folder}: the run {digest} is not finished")
        ((_, row),) = self.batches([digest])
        return row

    def manifest(self, digest: str) -> dict[str, Any]:
        """Return the origin and the cost of a run. Raises `InputError` for a damaged, unplanned or unfinished run."""
        if digest not in self.planned:
            raise InputError(f"{self.store.folder}: no plan here contains the run {digest}")
        planned, (row,) = self.planned[digest], self.row(digest).select(_FACTS).to_pylist()
        about = self.plans[planned.plan].about
        if not 0 <= row["finished"] < _FUTURE:
            self.refuse_run(digest, "its time is impossible")
        problem, seconds, decisions = about["problems"][planned.problem], row["seconds"], row["decisions"]
        return {
            "run": digest,
            **self._origin(row["origin"]),
            **{name: problem[name] for name in ("data_sha256", "matrix_sha256")},
            "policy": planned.label,
            "problem": problem["name"],
            "horizon": planned.horizon,
            "seed": about["key"]["seed"],
            "repetition": row["repetition"],
            "seconds": seconds,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row["finished"])),
            "decisions": decisions,
            "steps_per_second": planned.horizon / max(seconds, 1e-9),
            "duels_per_second": decisions / max(seconds, 1e-9),
        }

    def _group(self, planned: Planned) -> tuple[dict[str, Any], Callable[[int], str]]:
        """Return the key fields that all repetitions of a run share, and a function from a repetition to its digest."""
        name = planned[:-1]
        if name not in self._groups:
            key = self.plans[planned.plan].key(planned.label, planned.problem, planned.horizon)
            self._groups[name] = key, digests(key)
        return self._groups[name]


_FUTURE = 1e11  # seconds since 1970
_FACTS = ["repetition", "seconds", "finished", "origin", "decisions"]


def digests(key: dict[str, Any]) -> Callable[[int], str]:
    """Return a function from a repetition to its `RunKey.digest`; the rest of the key is encoded only once."""
    whole = key_fields(RunKey(**key, repetition=0))
    before, after = (
        json.dumps({name: one for name, one in whole.items() if early(name)}, sort_keys=True)
        for early in ("repetition".__gt__, "repetition".__lt__)
    )
    begun, end = hashlib.sha256(f'{before[:-1]}, "repetition": '.encode()), f", {after[1:]}".encode()

    def digest(repetition: int) -> str:
        one = begun.copy()
        one.update(b"%d" % repetition + end)
        return one.hexdigest()

    return digest


def read_matrix(path: Path) -> PreferenceMatrix:
    """Return the matrix of a problem. Raises `InputError` if the file is missing or damaged."""
    if not path.is_file():
        raise InputError(f"{path}: missing, or not an ordinary file")
    return load_preferences(path)


def wrong_with_problem(path: Path, digest: str) -> str:
    """Compare the matrix of a problem with its digest; return an error message, or "" if the matrix is sound."""
    try:
        found = read_matrix(path).digest
    except InputError as error:
        return str(error)
    return "" if found == digest else f"{path}: damaged: its runs were measured by another matrix"
