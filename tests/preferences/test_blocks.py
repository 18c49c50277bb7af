"""The same comparisons give the same bytes for any distribution: workers, pieces, kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.estimate import sampling as work
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.io import save_preferences
from tests.conftest import random_rankings

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from tests.conftest import random_rankings
from ltr_duel.preferences.estimate import sampling as work
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.io import save_preferences
work._COMPARISONS_IN_A_PIECE = int(sys.argv[3])
matrix = estimate_preferences(random_rankings(5, 8, 12), comparisons=int(sys.argv[2]), seed=3, jobs=2,
                              variance_reduction=sys.argv[4], store=sys.argv[1] + ".parts")
save_preferences(matrix, sys.argv[1] + ".parquet")
"""


@pytest.fixture
def rankings():
    return random_rankings(5, 8, 12)


def data(matrix, tmp_path):
    return save_preferences(matrix, tmp_path / f"{time.monotonic_ns()}.parquet").read_bytes()


def test_workers_and_pieces_do_not_change_an_estimate(rankings, tmp_path, monkeypatch):
    one = estimate_preferences(rankings, comparisons=9000, jobs=1)
    expected = data(one, tmp_path)
    monkeypatch.setattr(work, "_COMPARISONS_IN_A_PIECE", 5000)
    assert data(estimate_preferences(rankings, comparisons=9000, jobs=2), tmp_path) == expected
    few = estimate_preferences(rankings[[1, 4]], comparisons=9000)
    assert few.p[0, 1] == one.p[1, 4] and few.comparisons[0, 1] == 9000
    row = estimate_preferences(rankings, comparisons=9000, against="ranker 2")
    assert (row.p[2] == one.p[2]).all() and (row.p[0, 1], row.comparisons[0, 1]) == (0.5, 0)
    assert np.isinf(row.standard_error[0, 1]) and row.condorcet_winner in (None, "ranker 2")


def test_stored_pieces_are_not_counted_again(rankings, tmp_path, monkeypatch):
    first = estimate_preferences(rankings, comparisons=4000, store=tmp_path / "parts")
    monkeypatch.setattr(work, "BlockWorker", None)  # would fail if called
    again = estimate_preferences(rankings, comparisons=4000, store=tmp_path / "parts")
    assert again.p.tobytes() == first.p.tobytes()
    with pytest.raises(TypeError):
        estimate_preferences(rankings, comparisons=4000, seed=1, store=tmp_path / "parts")


def test_a_damaged_piece_is_counted_again(rankings, tmp_path):
    first = estimate_preferences(rankings, comparisons=4000, store=tmp_path / "parts")
    (piece,) = (tmp_path / "parts").rglob("*.npy")
    for content in (b"", piece.read_bytes()[:-8], b"\x93NUMPY nonsense"):
        piece.write_bytes(content)
        again = estimate_preferences(rankings, comparisons=4000, store=tmp_path / "parts")
        assert again.p.tobytes() == first.p.tobytes()


def run_script(out, comparisons, piece, way="auto", **environment):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(out), str(comparisons), str(piece), way],
        cwd=ROOT, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize("way", ["none", "auto"])
def test_interpreted_and_compiled_give_the_same_bytes(tmp_path, way):
    for name, disabled in (("compiled", "0"), ("interpreted", "1")):
        assert run_script(tmp_path / name, 80, 1000, way, NUMBA_DISABLE_JIT=disabled).wait() == 0
    assert (tmp_path / "compiled.parquet").read_bytes() == (tmp_path / "interpreted.parquet").read_bytes()


def kill_and_resume(tmp_path, kills, comparisons, piece):
    assert run_script(tmp_path / "undisturbed", comparisons, piece).wait() == 0
    out, chance = tmp_path / "killed", random.Random(7)
    parts = tmp_path / "killed.parts"
    landed = 0
    for _ in range(kills):
        before = len(list(parts.rglob("*.npy")))
        process = run_script(out, comparisons, piece)
        while process.poll() is None and len(list(parts.rglob("*.npy"))) == before:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.05)
        landed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert run_script(out, comparisons, piece).wait() == 0
    assert out.with_suffix(".parquet").read_bytes() == (tmp_path / "undisturbed.parquet").read_bytes()
    return landed


def test_killed_and_resumed_is_undisturbed(tmp_path):
    assert kill_and_resume(tmp_path, 1, 100_000, 4000) == 1


@pytest.mark.long
def test_twenty_kills_at_random_moments_change_nothing(tmp_path):
    assert kill_and_resume(tmp_path, 20, 4_000_000, 12_000) == 20


def test_impossible_requests_are_refused(rankings):
    for sentence, arguments in {
        "no variance reduction 'stratified'.*auto, none": {"variance_reduction": "stratified"},
        "no ranker 'ranker 9'": {"against": "ranker 9"},
        "standard error must be between 1e-05 and 0.5, not 0": {"target_error": 0.0},
        "confidence must be between 0.5": {"until_winner": 1.5},
        "only one ranker": {"until_winner": 0.9, "against": "ranker 1"},
        "at most 1,073,741,824 comparisons": {"comparisons": 2**31},
    }.items():  # fmt: skip
        with pytest.raises(InputError, match=sentence):
            estimate_preferences(rankings, **{"comparisons": 100, **arguments})


@pytest.mark.parametrize(("comparisons", "strata"), [(19, False), (20, True)])
def test_by_default_strata_need_twice_as_many_comparisons_as_queries(comparisons, strata):
    matrix = estimate_preferences(random_rankings(2, 10, 5), comparisons=comparisons, jobs=1)
    assert ("stratified" in matrix.provenance["variance_reduction"]) == strata
