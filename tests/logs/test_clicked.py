"""Logs as sessions for click models."""

from __future__ import annotations

import json

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, sessions_in_log


def row(n, query, shown, clicks, **more):
    return {"impression": n, "time": n, "query": query, "shown": shown, "clicks": clicks, **more}


def log_of(folder, rows, name="clicks.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_documents_are_told_apart_by_query_and_clicks_come_in_any_order(tmp_path):
    rows = [
        row(1, "q", ["a", "b", "c"], [3, 1], grades=[2, 0, 1]),
        row(2, "p", ["a", "b"], [], grades=[1, 1]),
        row(3, "q", ["b", "a"], [2, 2], grades=[0, 2]),
    ]
    log = ClickLog(log_of(tmp_path, rows))
    graded = sessions_in_log(log)
    assert graded.graded and graded.items == 3 and graded.item.tolist() == [2, 0, 1, 1, 1, 0, 2]
    assert graded.click.tolist() == [True, False, True, False, False, False, True]
    assert graded.ptr.tolist() == [0, 3, 5, 7] and graded.query[0] == graded.query[2] != graded.query[1]
    item = sessions_in_log(log, "document").item
    assert len(set(item.tolist())) == 5 and item[0] == item[6] != item[3] and item[1] == item[5] != item[4]


def test_without_all_grades_items_are_documents(tmp_path):
    rows = [row(1, "q", ["a", "b"], [1], grades=[1, 0]), row(2, "q", ["a", "b"], [1])]
    log = ClickLog(log_of(tmp_path, rows))
    assert not sessions_in_log(log).graded
    with pytest.raises(InputError, match=r"clicks.jsonl:2: no grades"):
        sessions_in_log(log, "grade")
    with pytest.raises(InputError, match="no kind of items 'grades'; did you mean 'grade'"):
        sessions_in_log(log, "grades")


def test_bad_lines_are_passed_over_and_an_empty_log_is_refused(tmp_path):
    rows = [row(1, "q", ["a", "b"], [3]), row(2, "q", ["a", "b"], [1])]
    assert sessions_in_log(ClickLog(log_of(tmp_path, rows), skip_bad=1)).number == 1
    with pytest.raises(InputError, match="no impression that can be used"):
        sessions_in_log(ClickLog(log_of(tmp_path, [], "empty.jsonl")))


def test_yandex_sessions_are_read(tmp_path):
    path = tmp_path / "sessions.txt"
    path.write_text("0\t0\tQ\t8\t1\t11\t12\t13\n0\t5\tC\t12\n1\t0\tQ\t8\t1\t12\t11\t13\n")
    sessions = sessions_in_log(ClickLog(path, format="yandex"))
    assert sessions.click.tolist() == [False, True, False, False, False, False]
    assert sessions.item[0] == sessions.item[4] and sessions.item[1] == sessions.item[3]


def test_users_are_numbered_and_unknown_ones_are_told(tmp_path):
    rows = [row(n, "q", ["a", "b"], [1], user=user) for n, user in enumerate("aba")]
    sessions = sessions_in_log(ClickLog(log_of(tmp_path, rows)))
    assert sessions.user[0] == sessions.user[2] != sessions.user[1] and sessions.user.min() >= 0
    sessions = sessions_in_log(ClickLog(log_of(tmp_path, [*rows, row(3, "q", ["a", "b"], [2])])))
    assert sessions.user[0] == sessions.user[2] >= 0 and sessions.user[3] == -1
    assert sessions_in_log(ClickLog(log_of(tmp_path, [row(1, "q", ["a", "b"], [2])]))).user is None
