"""Sums of outcomes by pair, cluster and time, in DuckDB and through a connection."""

from __future__ import annotations

from functools import partial

import ibis
import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs.clusters import cautious_of_moments
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.looks import looks_of
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import Grouping, pair_sums
from ltr_duel.logs.warehouse import Warehouse


def drawn(pairs, unit, some_unknown, n=600):
    rng = np.random.default_rng(4)
    users = [None if some_unknown and k % 3 == 0 else f"u{k}" for k in rng.integers(0, 80, n)]
    y = rng.integers(-1, 2, n) * unit
    columns = {"line": range(n), "time": np.arange(n) * 1.0, "user": users, "query": [f"q{k % 7}" for k in range(n)]}
    return columns | {"pair": rng.integers(0, pairs, n), "y": y, "square": abs(y) * abs(y) // UNIT}


@pytest.mark.parametrize(
    ("open_engine", "passes"),
    [(partial(Engine, InputError), 1), (partial(Engine, InputError), 3), (lambda: Warehouse(ibis.duckdb.connect()), 1)],
)
@pytest.mark.parametrize("unit", [UNIT, UNIT // 4], ids=["wins", "parts of wins"])
@pytest.mark.parametrize(("cluster", "some_unknown"), [("user", True), ("user", False), ("query", False)])
@pytest.mark.parametrize("pairs", [1, 3])
@pytest.mark.filterwarnings("default")  # a warning of Ibis
def test_each_look_has_the_sums_of_all_outcomes_until_then(open_engine, passes, cluster, some_unknown, pairs, unit):
    engine, columns = open_engine(), drawn(pairs, unit, some_unknown)
    outcomes = engine.small({name: list(values) for name, values in columns.items()})
    grouping = Grouping(pairs, cluster, whole=unit == UNIT, named=not some_unknown)
    engine.passes = passes
    sums, parts = pair_sums(engine, outcomes, grouping, 60.0)
    looks = looks_of(engine, outcomes, parts, grouping, 60.0)
    assert [look.impressions for look in looks] == list(range(60, 601, 60))
    for look, stop in zip(looks, range(60, 601, 60), strict=True):
        for pair in range(pairs):
            here = [k for k in range(stop) if columns["pair"][k] == pair]
            y = columns["y"][here] / UNIT
            keys = [columns[cluster][k] or k for k in here]
            names = list(dict.fromkeys(keys))
            n, total = np.zeros((2, len(names)))
            for key, value in zip(keys, y, strict=True):
                n[names.index(key)] += 1
                total[names.index(key)] += value
            moments = n.sum(), total.sum(), np.square(y).sum(), n @ n, n @ total, total @ total
            expected = cautious_of_moments(*(np.array([one]) for one in moments))
            assert (look.outcomes[pair], look.mean[pair]) == (n.sum(), pytest.approx(y.mean()))
            assert look.cautious.error[pair] == pytest.approx(expected.error[0], rel=1e-9)
            first = y[[keys.index(name) for name in names]] if cluster == "user" else y
            sequences = look.sequences
            counts = [(first == value).sum() for value in (1, -1, 0)]
            assert [sequences.wins[pair], sequences.losses[pair], sequences.ties[pair]] == counts
            others = first[~np.isin(first, [1, -1, 0])]
            assert [sequences.lead[pair], sequences.square[pair]] == [others.sum(), np.square(others).sum()]
    whole, _ = pair_sums(engine, outcomes, grouping)
    for name, values in vars(whole).items():
        np.testing.assert_equal(getattr(sums, name), values, name)
