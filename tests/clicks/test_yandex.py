"""The session logs of the Yandex challenges are read as sessions for click models."""

from __future__ import annotations

import gzip

import pytest

from ltr_duel.clicks import read_yandex
from ltr_duel.core import InputError

FIRST = ("8 0 Q 7 213 a b c", "8 4 C b", "8 5 C advertisement", "8 9 Q 7 213 c b", "8 11 C b", "9 0 Q 6 213 a b")
SECOND = (
    "5 M 23 777",
    "5 0 Q 0 92 48,38 a,1 b,2",
    "5 3 T 1 93 48 b,2 a,1",
    "5 9 C 0 b",
    "6 M 23 778",
    "6 0 Q 0 92 48 b,2",
)


def written(folder, lines, name="sessions"):
    text = "".join(line.replace(" ", "\t") + "\n" for line in lines)
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder / name


def test_a_click_counts_for_the_last_list_of_its_session_with_the_document(tmp_path):
    for name in ("sessions", "sessions.gz"):
        sessions = read_yandex(written(tmp_path, FIRST, name))
        assert sessions.ptr.tolist() == [0, 3, 5, 7] and sessions.query.tolist() == [0, 0, 1] and sessions.user is None
        assert sessions.click.tolist() == [False, True, False, False, True, False, False]
        a, b, c, again_c, again_b, other_a, other_b = sessions.item
        assert (again_c, again_b) == (c, b) and len({a, b, c, other_a, other_b}) == sessions.items == 5


def test_a_click_of_the_second_challenge_counts_for_its_page(tmp_path):
    sessions = read_yandex(written(tmp_path, SECOND))
    assert sessions.click.tolist() == [False, True, False, False, False]  # page 0, not the later page 1
    assert sessions.user.tolist() == [0, 0, 1] and sessions.query.tolist() == [0, 1, 0]
    assert sessions.item[1] == sessions.item[4]  # domains are not part of a document


def test_a_malformed_yandex_line_is_named(tmp_path):
    with pytest.raises(InputError, match=r"sessions:2: neither a query \(Q\), a click \(C\) nor a session \(M\)"):
        read_yandex(written(tmp_path, [FIRST[0], "what"]))
    path = written(tmp_path, FIRST, "sessions.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"sessions.gz: cannot be read"):
        read_yandex(path)
