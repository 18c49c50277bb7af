"""Stores of experiments, and folders of figures, that are damaged or of another version."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np

from ltr_duel.experiment import StudyResults, make_schedule, read_spec, read_status, run_experiment
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from tests.hostile.case import Case

SPEC = """
policies = "mdb"
horizon = 20
repetitions = 2
matrices = [{ name = "m", answers = "independent_coins", p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]] }]
"""
DEEP = "[" * 100_000 + "]" * 100_000


@functools.cache
def sound() -> Path:
    """Return a store of two runs."""
    folder = Path(tempfile.mkdtemp(prefix="ltr-duel-store-")) / "store"
    run_experiment(make_schedule(read_spec("spec.toml", SPEC), jobs=1), folder)
    return folder


def store(damage=lambda folder: None):
    """Return a function that copies the store to a path and damages the copy."""

    def write(path):
        shutil.copytree(sound(), path)
        damage(path)

    return write


def content(kind, data):
    """Replace the file of a kind by the given text."""

    def damage(folder):
        (path,) = (folder / kind).iterdir()
        path.write_text(data)

    return damage


def other_matrix(folder):
    (path,) = (folder / "problems").iterdir()
    save_preferences(PreferenceMatrix(np.array([[0.5, 0.9], [0.1, 0.5]])), path)


STUDY = r"store/studies/[0-9a-f]{64}\.json: damaged \(.*'ltr-duel run' with the experiment's file writes it again"
STUDIES = {"empty": "", "of a list": "[1, 2]", "of null": "null", "of no JSON": "{", "without groups": "{}"}
READERS = ("status", "results")

CASES = [
    *(
        Case(f"{word}: a study {name}", (word, "store"), None, {"store": store(content("studies", text))}, STUDY)
        for name, text in STUDIES.items()
        for word in READERS
    ),
    Case(
        "results: other runs", ("results", "store"), None, {"store": store(content("runs", "x"))}, "no run is done yet"
    ),
    Case(
        "results: another matrix",
        ("results", "store"),
        None,
        {"store": store(other_matrix)},
        r"problems/.*: missing, or another matrix; 'ltr-duel run' with the experiment's file writes it",
    ),
    *(
        Case(f"{word}: a {name}", (word, "store"), None, {"store": writer}, "contains no results of 'ltr-duel run'")
        for word in READERS
        for name, writer in (
            ("file in place of a store", "text"),
            ("empty folder", Path.mkdir),
            ("store without studies", store(lambda folder: shutil.rmtree(folder / "studies"))),
        )
    ),
    Case(
        "run: into a folder of letters",
        ("run", "spec.toml", "--out", "letters"),
        None,
        {"spec.toml": SPEC, "letters/a.txt": "dear"},
        "letters: contains files that do not belong to an experiment",
    ),
    Case(
        "run: into a file",
        ("run", "spec.toml", "--out", "letter"),
        None,
        {"spec.toml": SPEC, "letter": "dear"},
        "letter",
    ),
    Case("read_status: no store", None, lambda: read_status("absent"), {}, "absent: contains no results"),
    Case("StudyResults: no store", None, lambda: StudyResults("absent"), {}, "absent: contains no results"),
    Case(
        "StudyResults: a horizon that nobody ran",
        None,
        lambda: StudyResults("store").results("m", 21),
        {"store": store()},
        "no runs on 'm' with horizon 21",
    ),
    Case(
        "StudyResults: a problem that nobody ran",
        None,
        lambda: StudyResults("store").results("n"),
        {"store": store()},
        "no problem 'n'",
    ),
]
