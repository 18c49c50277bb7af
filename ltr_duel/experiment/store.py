"""The store: a folder that contains every finished run completely or not at all.

DIR/studies/<digest>.json        a study that was started here: the spec, its problems, policies and groups of runs
DIR/problems/<digest>.parquet    the matrix by which regret is measured
DIR/runs/<sha256>.arrow          runs that were executed (`runs`); the name is the digest of the content
DIR/claims/<block>               a block of runs that a process is executing (`claims`), and files being written

Files are only added, and every name follows from the content, so stores of the parts of a study can be copied together.
This module does not import the simulation, because that takes longer than `ltr-duel status`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, arguments, files

_FORMAT = "ltr_duel.study/2"


class StoppedError(InputError):
    """Runs cannot be stored, or workers are lost: finished runs are kept, and the same command resumes."""


class Group(NamedTuple):
    """The repetitions of one policy on one problem at one horizon; ``digest`` is that of the key of repetition 0."""

    digest: str
    problem: int  # position of the problem in the study
    label: str
    horizon: int


class Study(NamedTuple):
    """Everything that a store contains about an experiment besides its runs and matrices.

    digest: SHA-256 of the names of all runs.
    record: values for JSON: name, spec, spec_path, regrets, late (a note on late outcomes), repetitions, problems (a
        list of `Problem.record`), policies (by label, fields of a run's key), key (fields that all runs share).
    """

    digest: str
    record: dict[str, Any]
    groups: list[Group]

    def key(self, group: Group) -> dict[str, Any]:
        """Return the fields of the keys of a group except the repetition."""
        own = {name: self.record["problems"][group.problem][name] for name in ("oracle", "measured_by")}
        return own | {"horizon": group.horizon} | self.record["policies"][group.label] | self.record["key"]


class Store:
    """A folder of runs; `prepare` makes it if it does not exist."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = arguments.as_path("a store of results", folder)
        self.studies, self.problems = self.folder / "studies", self.folder / "problems"
        self.runs, self.claims = self.folder / "runs", self.folder / "claims"

    def exists(self) -> bool:
        """Whether this is a store."""
        return self.studies.is_dir()

    def prepare(self) -> None:
        """Make the folders. Raises `InputError` if they cannot be made, or the folder contains other files."""
        folders = (self.studies, self.problems, self.runs, self.claims)
        others = set(self.folder.iterdir()) - {*folders} if self.folder.is_dir() else set()
        if others and not self.exists():  # another process may have made some of the folders
            raise InputError(f"{self.folder}: contains files that do not belong to an experiment; give an empty folder")
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"{folder}: cannot be made: {error.strerror}") from None

    def require(self) -> None:
        """Raise an error if the folder is not a store."""
        if not self.exists():
            alone = self.folder / "results.parquet"
            hint = f"; {alone}, written by 'ltr-duel simulate', is a table for pandas.read_parquet" * alone.is_file()
            raise InputError(f"{self.folder}: contains no results of 'ltr-duel run'{hint}")

    def keep_study(self, study: Study) -> None:
        """Write a study, in place of an earlier one with the same runs. Raises `InputError` if it cannot be written."""
        content = {"format": _FORMAT, "groups": study.groups} | study.record
        files.write_text(self.studies / f"{study.digest}.json", json.dumps(content, sort_keys=True))

    def read_studies(self) -> list[Study]:
        """Read all studies, sorted by digest. Raises `InputError` if a file is damaged or made by another version."""
        return [_read_study(path) for path in sorted(self.studies.glob("[!.]*.json"))]


def _read_study(path: Path) -> Study:
    try:
        record = json.loads(path.read_bytes())
        groups = [Group(*group) for group in record.pop("groups")]
        if record.pop("format") == _FORMAT:
            return Study(path.stem, record, groups)
        why = "made by another version"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        why = f"damaged ({type(error).__name__}: {error})"
    raise InputError(f"{path}: {why}; 'ltr-duel run' with the experiment's file writes it again")
