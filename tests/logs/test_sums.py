"""Sums of outcomes by pair, cluster and time, in DuckDB and through a connection."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import ibis
import numpy as np
import pytest

from ltr_duel.logs.clusters import naive_means
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.looks import looks_of
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import Grouping, pair_sums
from ltr_duel.logs.warehouse import Warehouse


def drawn(unit, n=600):
    """Return outcomes of which two belong to each line, for two of three pairs; the last line is the earliest."""
    rng, line = np.random.default_rng(4), (n - 1 - np.arange(n)) // 2
    users = [None if k % 3 == 0 else f"u{k}" for k in rng.integers(0, 80, n // 2)]
    y, pair = rng.integers(-1, 2, n) * unit, (rng.integers(0, 3, n // 2)[line] + np.arange(n) % 2) % 3
    columns = {"line": line, "time": np.arange(n) * 1.0, "user": [users[k] for k in line], "query": line % 7}
    columns["query"] = [f"q{k}" for k in columns["query"]]
    return columns | {"pair": pair, "y": y, "square": abs(y) * abs(y) // UNIT}


@pytest.mark.parametrize("open_engine", [partial(Engine, Path("log")), lambda: Warehouse(ibis.duckdb.connect())])
@pytest.mark.parametrize(("cluster", "unit"), [("user", UNIT // 4), ("query", UNIT)])
@pytest.mark.filterwarnings("default")  # a warning of Ibis
def test_each_look_has_the_sums_of_all_outcomes_until_then(open_engine, cluster, unit):
    engine, columns = open_engine(), drawn(unit)
    outcomes = engine.small({name: list(values) for name, values in columns.items()})
    sums, *courses = pair_sums(engine, outcomes, Grouping(3, cluster), 60.0)
    looks = looks_of(engine, outcomes, sums, courses, 60.0)
    assert [look.impressions for look in looks] == list(range(60, 601, 60))
    for look, stop in zip(looks, range(60, 601, 60), strict=True):
        for pair in range(3):
            here = [k for k in range(stop) if columns["pair"][k] == pair]
            y = columns["y"][here] / UNIT
            keys = [columns["user"][k] or k for k in here]
            first = y[[keys.index(name) for name in dict.fromkeys(keys)]] if cluster == "user" else y
            assert (look.outcomes[pair], look.mean[pair]) == (len(y), pytest.approx(y.mean()))
            sequences = look.sequences
            counts = [(first == value).sum() for value in (1, -1, 0)]
            assert [sequences.wins[pair], sequences.losses[pair], sequences.ties[pair]] == counts
            others = first[~np.isin(first, [1, -1, 0])]
            assert [sequences.lead[pair], sequences.square[pair]] == [others.sum(), np.square(others).sum()]
    plain, end = naive_means(sums.counts() + 2, sums.sum, sums.square + 2), sums.cautious()
    assert looks[-1].cautious.error == pytest.approx(np.maximum(plain.error, end.error))
    assert looks[-1].cautious.freedom == pytest.approx(end.freedom)
    assert (looks[2].cautious.error > 1.5 * end.error).all()  # of 180 of 600 impressions
