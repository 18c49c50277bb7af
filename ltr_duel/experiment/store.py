"""The store: the folder that keeps the results of experiments. It contains a run completely or not at all.

DIR/studies/<digest>.json        an experiment that was started here: its file, problems, policies and groups of runs
DIR/problems/<digest>.parquet    a matrix that measures regret
DIR/runs/<sha256>.arrow          results of runs (`runs`); the name is the digest of the content
DIR/claims/<block>               a block of runs that a process has claimed (`claims`), and unfinished files

The names of files follow from their contents. You can therefore copy the stores of several machines into one folder.
This module does not import the simulation, so that `ltr-duel status` is quick.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, arguments, files

_FORMAT = "ltr_duel.study/2"


class StoppedError(InputError):
    """Runs cannot be stored, or workers are lost. Finished runs are kept, and the same command does the other runs."""


class Group(NamedTuple):
    """All repetitions of one policy on one problem at one horizon."""

    digest: str  # digest of the key of repetition 0, which identifies the group
    problem: int  # position of the problem in the study
    label: str
    horizon: int


class Study(NamedTuple):
    """What a store contains about an experiment besides its runs and matrices."""

    digest: str  # identifies the experiment by its runs
    record: dict[str, Any]  # values for JSON, see `Schedule.study`
    groups: list[Group]

    def key(self, group: Group) -> dict[str, Any]:
        """Return the fields of `RunKey` for the runs of a group, without the repetition."""
        own = {name: self.record["problems"][group.problem][name] for name in ("oracle", "measured_by")}
        return own | {"horizon": group.horizon} | self.record["policies"][group.label] | self.record["key"]


class Store:
    """The folder of a store."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = arguments.as_path("a store of results", folder)
        self.studies, self.problems = self.folder / "studies", self.folder / "problems"
        self.runs, self.claims = self.folder / "runs", self.folder / "claims"

    def exists(self) -> bool:
        """Whether the folder is a store."""
        return self.studies.is_dir()

    def prepare(self) -> None:
        """Make the store if it is missing. Raise `InputError` if this fails, or if the folder contains other files."""
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
        """Write a study, which replaces an earlier study with the same runs."""
        content = {"format": _FORMAT, "groups": study.groups} | study.record
        files.write_text(self.studies / f"{study.digest}.json", json.dumps(content, sort_keys=True))

    def read_studies(self) -> list[Study]:
        """Read all studies, sorted by digest. Raise `InputError` if a file is damaged or made by another version."""
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
