"""The tidy table matches its declaration."""

from __future__ import annotations

import numpy as np

from ltr_duel.core.columns import COLUMNS, CORRECT, IDENTIFIED_AT, regret_column, regret_label, regret_name
from ltr_duel.simulation.run import simulate
from ltr_duel.simulation.statistics import identified, with_correct
from tests.conftest import bradley_terry, coins


def test_the_columns_of_a_table_of_runs_are_declared_with_their_types():
    frame = simulate(coins(bradley_terry(4)), ["rucb", "mdb"], horizon=100, repetitions=2).to_frame()
    final = identified(with_correct(frame, "0"), "0")
    assert {CORRECT, IDENTIFIED_AT} <= set(final.columns)
    for name in final:
        if name.startswith("regret_"):
            assert regret_column(regret_name(name)) == name and final[name].dtype == np.float64
        elif COLUMNS[name].dtype == "str":
            assert final[name].map(type).eq(str).all()
        else:
            assert final[name].dtype == COLUMNS[name].dtype


def test_a_regret_is_labelled_by_its_name():
    columns = ("regret_average", "regret_ndcg", "regret_copeland")
    assert [regret_label(column) for column in columns] == ["average regret", "NDCG regret", "Copeland regret"]
