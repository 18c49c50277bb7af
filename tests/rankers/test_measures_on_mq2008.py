"""`evaluate` on real judgements, compared with ir-measures: each query, and the means."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import ERR

from ltr_duel.cli.main import main
from ltr_duel.data import load_dataset
from ltr_duel.rankers import measure_by_query, rankers_named
from tests.rankers.test_measures import FIVE_DIGITS, THEIRS, as_trec, plain_err

MEASURES = {**THEIRS, "ERR@10": ERR @ 10, "ERR@20": ERR @ 20}
FEATURES = (1, 5, 6, 25, 46)  # 6 is zero everywhere: nothing but ties


@pytest.fixture
def part(real_data):
    return real_data / "MQ2008" / "Fold1" / "test.txt.gz"


@pytest.fixture
def rankings(part):
    corpus = load_dataset(part)
    assert (corpus.features[:, 5] == 0).all()
    assert (np.add.reduceat(corpus.relevance, corpus.query_ptr[:-1]) == 0).any()
    return rankers_named(corpus, [f"features:{','.join(map(str, FEATURES))}"])


def test_the_command_gives_what_ir_measures_gives_and_so_does_each_query(part, rankings, tmp_path, capsys):
    words = ["--rankers", f"features:{','.join(map(str, FEATURES))}"]
    named = [word for name in MEASURES for word in ("--measure", name)]
    with pytest.raises(SystemExit) as stop:
        main("evaluate", str(part), *words, *named, "--out", str(tmp_path))
    assert stop.value.code == 0, capsys.readouterr().err
    means = pd.read_parquet(tmp_path / "measures.parquet").set_index(["measure", "ranker"])["mean"]
    assert len(means) == len(MEASURES) * len(FEATURES)
    for ranker, label in enumerate(rankings.names):
        qrels, run = as_trec(rankings, ranker)
        aggregate = ir_measures.calc_aggregate(MEASURES.values(), qrels, run)
        calculated = ir_measures.iter_calc(MEASURES.values(), qrels, run)
        by_query = {(one.measure, one.query_id): one.value for one in calculated}
        for name, measure in MEASURES.items():
            assert means[name, label] == pytest.approx(aggregate[measure], rel=0, abs=1e-6), (name, label)
            expected = [by_query[measure, str(query)] for query in range(rankings.n_queries)]
            near = FIVE_DIGITS if name.startswith("ERR") else 1e-6
            assert measure_by_query(rankings, name)[ranker] == pytest.approx(expected, rel=0, abs=near), (name, label)


@pytest.mark.parametrize("k", [1, 10, 1000])
def test_err_is_its_definition_to_the_last_digits(rankings, k):
    ours = measure_by_query(rankings, f"ERR@{k}")
    for query, (start, stop) in enumerate(zip(rankings.query_ptr, rankings.query_ptr[1:], strict=False)):
        for ranker in range(len(rankings)):
            shown = rankings.relevance[start:stop][rankings.order[ranker, start:stop]]
            assert abs(ours[ranker, query] - plain_err(shown.tolist(), k)) < 1e-12
