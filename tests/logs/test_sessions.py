"""Logs as sessions for click models."""

from __future__ import annotations

import json

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog


def opened(folder, *rows, skip_bad=0):
    """Return the log of rows (query, shown documents, clicks, further columns)."""
    path = folder / "clicks.jsonl"
    lines = [
        {"impression": n, "time": n, "query": query, "shown": list(shown), "clicks": clicks} | dict(*more)
        for n, (query, shown, clicks, *more) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return ClickLog(path, skip_bad=skip_bad)


def test_items_are_grades_or_the_documents_of_each_query(tmp_path):
    three = (
        ("q", "abc", [3, 1], {"grades": [2, 0, 1]}), ("p", "ab", [], {"grades": [1, 1]}),
        ("q", "ba", [2, 2], {"grades": [0, 2]}),
    )  # fmt: skip
    graded = opened(tmp_path, *three).sessions()
    assert graded.graded and graded.items == 3 and graded.item.tolist() == [2, 0, 1, 1, 1, 0, 2]
    assert graded.click.tolist() == [True, False, True, False, False, False, True]
    assert graded.ptr.tolist() == [0, 3, 5, 7] and graded.query.tolist() == [0, 1, 0] and graded.user is None
    documents = opened(tmp_path, *three).sessions("document")
    (qa, qb, qc, pa, pb, again_b, again_a), items = documents.item.tolist(), documents.items
    assert not documents.graded and {qa, qb, qc, pa, pb} == set(range(items)) == {0, 1, 2, 3, 4}
    assert (again_a, again_b) == (qa, qb)


def test_without_all_grades_items_are_documents(tmp_path):
    mixed = opened(tmp_path, ("q", "ab", [1], {"grades": [1, 0]}), ("q", "ab", [1]))
    assert not mixed.sessions().graded
    with pytest.raises(InputError, match=r"clicks.jsonl:2: no grades"):
        mixed.sessions("grade")
    with pytest.raises(InputError, match="no kind of items 'grades'; did you mean 'grade'"):
        mixed.sessions("grades")


def test_users_have_numbers_and_an_unknown_user_has_minus_one(tmp_path):
    rows = [("q", "ab", [1], {"user": user}) for user in "aba"]
    assert opened(tmp_path, *rows, ("q", "ab", [2])).sessions().user.tolist()[2:] == [0, -1]
    first, second, third = opened(tmp_path, *rows).sessions().user
    assert first == third != second >= 0
