"""Several outcomes of one log, also those that a user declares."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, Outcome, compare_log
from tests.logs.test_sources import event, exposure, parquet


def test_outcomes_of_one_log_are_credited_from_one_join(tmp_path):
    """Impression 0: one click each, order on a; 1: click on b, two orders on b, of 5 and 3, and one of 20 on a."""
    events = [event("i0", "a"), event("i0", "b"), event("i0", "a", "order", value=2.0), event("i1", "b")]
    events += [event("i1", item, "order", value=value) for item, value in (("b", 5.0), ("b", 3.0), ("a", 20.0))]
    outcomes = [
        "click",
        Outcome("orders", where="kind = 'order'"),
        Outcome("revenue", where="kind = 'order' AND value < 10", value="value"),
        Outcome("late orders", where="kind = 'order'", within="1d"),
    ]
    late = [event(None, "b", "order", value=1.0, time=9.0)]  # of the last exposure of its user and item: 1
    paths = [
        parquet(tmp_path, "x", [exposure(n, time=float(n)) for n in range(2)]),
        parquet(tmp_path, "e", events + late),
    ]
    log = ClickLog(paths[0], events=paths[1], outcome=outcomes)
    expected = {"click": (0, 1, 1), "orders": (1, 0, 1), "revenue": (1, 1, 0), "late orders": (1, 0, 1)}
    for name, numbers in expected.items():
        found = compare_log(log, [name])
        assert (found.wins[0], found.losses[0], found.ties[0]) == numbers, name
        alone = compare_log(ClickLog(paths[0], events=paths[1], outcome=outcomes[list(expected).index(name)]))
        assert (alone.wins[0], alone.losses[0], alone.ties[0]) == numbers, name
    with pytest.raises(InputError, match="no outcome of this log 'clicks'; did you mean 'click'"):
        compare_log(log, ["clicks"])


def test_a_window_that_is_no_duration_is_refused_where_it_is_written():
    with pytest.raises(InputError, match="'soon' is not a duration: write 30m, 12h or 7d"):
        Outcome("orders", within="soon")
