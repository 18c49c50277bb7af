"""Logs that are data frames or Ibis tables."""

from __future__ import annotations

from pathlib import Path

import ibis
import pandas as pd
import pyarrow as pa
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, compare_log
from tests.logs.test_places import impression, write

ROWS = [impression(n, user=f"u{n}", clicks=[1 + (n % 4 == 0)]) for n in range(12)]  # the first ranker wins 9 of 12


@pytest.mark.parametrize(
    "made", [pd.DataFrame, pa.Table.from_pylist, lambda rows: ibis.memtable(pa.Table.from_pylist(rows))]
)
@pytest.mark.filterwarnings("default")  # a warning of Ibis
def test_a_frame_is_compared_like_the_file_with_its_rows(tmp_path, made):
    write(tmp_path / "log.parquet", ROWS)
    for source in (made(ROWS), tmp_path / "log.parquet", str(tmp_path)):
        found = compare_log(source)
        assert (found.wins[0], found.losses[0], found.ties[0]) == (9, 3, 0)


def test_the_stored_frame_is_removed_with_its_log():
    log = ClickLog(pd.DataFrame(ROWS))
    path = Path(log.path)
    assert compare_log(log).impressions == 12 and path.exists()
    del log
    assert not path.exists()


@pytest.mark.parametrize(("source", "kind"), [([1, 2], "list"), (5, "int"), ({"a": [1]}, "dict")])
def test_a_value_of_another_type_is_one_sentence(source, kind):
    with pytest.raises(InputError, match=f"^a log is a path, a folder, a data frame .*, not a value of type {kind}$"):
        compare_log(source)


def test_a_bad_row_of_a_frame_has_its_number():
    rows = [*ROWS[:2], ROWS[2] | {"clicks": [9]}]
    with pytest.raises(InputError, match=r"frame.parquet:3: a click at position 9 is not on the list"):
        compare_log(pd.DataFrame(rows))
