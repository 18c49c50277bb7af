"""Shared fixtures: small corpora and rankings, and the real data if available."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core import kernel_cache
from ltr_duel.core.files import cache_home
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.rankers.rankings import Rankings, inverse
from ltr_duel.simulation.oracle import FromMatrix

HOME = cache_home()
kernel_cache.cache_home = lambda: HOME  # compiled code is shared even by tests with another home
gc.set_threshold(50_000, 20, 20)  # else scanning a million objects of libraries takes a tenth of the time

# The slowest files come first: started last, they would keep one process busy while the others are idle.
LONGEST = (
    "experiment/test_run.py",
    "bandits/test_check.py",
    "live/test_counting.py",
    "bandits/test_literal.py",
    "cli/test_plugin_files.py",
    "logs/test_exposures.py",
    "logs/test_warehouse.py",
    "interleaving/test_check.py",
    "bandits/test_plugins.py",
    "cli/test_logs_commands.py",
)


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist, the hook is unknown
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use one process more than there are cores, because some tests wait for clocks, disks and children."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first; keep the order of the other files, and the order within files."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data() -> Path:
    """Return the folder of real corpora, which cannot be part of the project."""
    if not REAL_DATA.is_dir():
        pytest.skip("needs real feature files in ../shared/data")
    return REAL_DATA


@pytest.fixture(scope="session")
def advice():
    """Return a small advice, simulated as plain Python: three rankers, two click models, four candidates."""
    from ltr_duel.advice import advise  # imported late, because few tests need it
    from ltr_duel.data import make_corpus
    from ltr_duel.rankers import feature_rankers

    candidates = ("random/team_draft", "mdb/sosm", "winner_stays_strong/team_draft", "double_thompson/team_draft")
    rankings = feature_rankers(make_corpus(queries=8, documents=4, features=3, dead=0, constant=0))
    given = {"budget": 120, "confidence": 0.6, "simulations": 10, "top": 3, "compiled": False, "jobs": 1}
    return advise(rankings, clicks=("perfect", "navigational"), candidates=candidates, incumbent="3", **given)


def make_rankings(orders, grades, relevance) -> Rankings:
    """Make rankings of a single query from lists of positions, best first."""
    order = np.array(orders, np.int16)
    ptr = np.array([0, order.shape[1]], np.int64)
    rank = np.stack([inverse(row, ptr) for row in order])
    names = tuple(f"ranker {k}" for k in range(len(order)))
    return Rankings(names, order, rank, np.array(relevance, np.int16), ptr, grades, {"corpus": "toy"})


def random_rankings(n_rankers, n_queries, n_docs, grades=5, seed=0) -> Rankings:
    """Make rankings that are random permutations, with random grades."""
    rng = np.random.default_rng(seed)
    ptr = np.arange(n_queries + 1, dtype=np.int64) * n_docs
    order = np.concatenate(
        [np.stack([rng.permutation(n_docs) for _ in range(n_rankers)]) for _ in range(n_queries)], axis=1
    ).astype(np.int16)
    rank = np.stack([inverse(row, ptr) for row in order])
    relevance = rng.integers(0, grades, n_queries * n_docs).astype(np.int16)
    names = tuple(f"ranker {k}" for k in range(n_rankers))
    return Rankings(names, order, rank, relevance, ptr, grades, {"corpus": "toy"})


def bradley_terry(n_arms, span=2.0) -> PreferenceMatrix:
    """Make a matrix from evenly spaced utilities; arm 0 is the Condorcet winner."""
    utility = np.linspace(span, 0, n_arms)
    return PreferenceMatrix(1 / (1 + np.exp(utility[None, :] - utility[:, None])))


def coins(matrix: PreferenceMatrix) -> FromMatrix:
    """Return an oracle with independent coins for the pairs of a set; policies of sets reject a plain matrix."""
    return FromMatrix(matrix, sets="independent_coins")


ROCK_PAPER_SCISSORS = PreferenceMatrix(np.array([[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]]))


def hear_interrupts() -> None:
    """Make a child process receive SIGINT, which is ignored if the tests run as a background job."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
