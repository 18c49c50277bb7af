"""Reading ahead: the same items, the errors of whoever makes them, and an end in time."""

from __future__ import annotations

import threading

import pytest

from ltr_duel.core import one_ahead


def numbers(log, fails_at=99):
    try:
        for k in range(5):
            if k == fails_at:
                raise ValueError("no more")
            log.append((k, threading.current_thread() is threading.main_thread()))
            yield k
    finally:
        log.append("closed")


def test_all_items_come_in_order_from_another_thread():
    log = []
    assert list(one_ahead(numbers(log))) == [0, 1, 2, 3, 4]
    assert log == [*((k, False) for k in range(5)), "closed"]


def test_an_error_is_raised_where_the_items_are_used():
    ahead = one_ahead(numbers([], fails_at=2))
    assert [next(ahead), next(ahead)] == [0, 1]
    with pytest.raises(ValueError, match="no more"):
        next(ahead)


def test_whoever_stops_early_leaves_nothing_open():
    log = []
    ahead = one_ahead(numbers(log))
    assert next(ahead) == 0
    ahead.close()
    assert log[-1] == "closed" and len(log) <= 3
