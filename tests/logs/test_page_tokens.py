"""Pages read in batches equal pages read one by one; unusual texts are left to the reader of single pages."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import Page, interleave
from ltr_duel.logs.page_tokens import TokenReader
from ltr_duel.logs.table import ragged, texts_of

RANKERS = ("a", "bm 25", "ü")


def pages(number=40, seed=0):
    """Yield pages of different methods, lengths, rankers and ids."""
    rng = np.random.default_rng(seed)
    ids = [f"d{k}" for k in range(30)] + list(range(30, 50)) + [-7, "http://x.org/?q=1&r=[2]", "", "12"]
    for k in range(number):
        rankers = rng.permutation(RANKERS)[: 2 + k % 2].tolist()
        some = rng.permutation(len(ids))[: rng.integers(1, 14)]
        lists = {name: [ids[m] for m in rng.permutation(some)[: rng.integers(1, 14)]] for name in rankers}
        method, rule = (("team_draft", ""), ("sosm", ""), ("probabilistic:tau=1", "marginal_sign"))[k % 3]
        yield interleave(lists, method, outcome=rule, top=5, rng=rng)


def scanned(texts, shown):
    """Return the values read from each text, comparable with a page; None if the text is left to the other reader."""
    ids, ptr = ragged(pa.array(shown, pa.list_(pa.string())))
    numbers, owners = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int32)
    rows, found = np.arange(len(texts)), [None] * len(texts)
    for part in TokenReader().read(pa.array(texts), texts_of(ids), ptr, rows, numbers, owners):
        for n in np.flatnonzero(part.fit):
            shown_by = slice(ptr[part.rows[n]], ptr[part.rows[n] + 1])
            documents = slice(part.lists.query_ptr[n], part.lists.query_ptr[n + 1])
            order, rank = part.lists.order[:, documents], part.lists.rank[:, documents]
            assert (np.take_along_axis(rank, order.astype(int), 1) == np.arange(1, order.shape[1] + 1)).all()
            found[part.rows[n]] = (
                *part.heads[n],
                owners[shown_by].tolist(),
                numbers[shown_by].tolist(),
                order.tolist(),
            )
    return found


def said_by(page):
    owners = page._owner_positions()
    return page.method, page.outcome, page.rankers, owners, list(page.numbers), page.orders.tolist()


def test_what_is_written_is_read():
    made = list(pages(60))
    texts, shown = [page.to_json() for page in made], [[str(one) for one in page.shown] for page in made]
    assert scanned(texts, shown) == [said_by(page) for page in made]


def edits(text, shown, rng):
    """Yield texts that differ slightly from the text of a page, each with its claimed list."""
    letters = [*'0123456789,"[]{}:- .eE\\\n+tn', "\x7f", "é"]
    for _ in range(20):
        at, size = rng.integers(0, len(text) + 1), rng.integers(0, 3)
        yield text[:at] + "".join(rng.choice(letters, rng.integers(0, 3))) + text[at + size :], shown
    yield from ((text + more, shown) for more in (" ", "x", "}"))
    numbers = list(re.finditer(r"(?<=[\[,])-?\d+(?=[\],])", text))
    for number in rng.permutation(["0", "1", "2", "3", "4", "00", "01", "-0", "-1", "-01", "1.0", "65536", "true", ""]):
        found = numbers[rng.integers(0, len(numbers))]
        yield text[: found.start()] + str(number) + text[found.end() :], shown
    first = json.dumps(json.loads(text)["shown"][0])
    for raw in (
        "x",
        "\x01",
        "\\n",
        "\\u0041",
        '"',
        "é",
        "\x7f",
        "~ !",
        "0",
        "01",
        "-0",
        "-",
        "1.5",
        "1e5",
        "9" * 18,
        "9" * 19,
    ):
        for quote in ('"', ""):
            yield text.replace(f'"shown":[{first}', f'"shown":[{quote}{raw}{quote}'), [raw, *shown[1:]]


def test_an_edited_page_is_read_as_it_is_one_by_one_or_left_alone():
    rng = np.random.default_rng(1)
    read = refused = 0
    for page in pages(40, seed=2):
        texts, shown = zip(*edits(page.to_json(), [str(one) for one in page.shown], rng), strict=True)
        for text, ids, found in zip(texts, shown, scanned(texts, shown), strict=True):
            try:
                one = Page.from_json(text)
            except InputError:
                assert found is None, text
                refused += 1
                continue
            if found is not None:
                assert [str(document) for document in one.shown] == ids, text
                assert found == said_by(one), text
                read += 1
    assert read > 200 and refused > 500


@pytest.mark.parametrize(
    "rewrite",
    [
        json.dumps,
        lambda given: json.dumps(dict(reversed(given.items())), separators=(",", ":")),
        lambda given: json.dumps(given | {"shown": ["é", *given["shown"][1:]]}, separators=(",", ":")),
        lambda given: json.dumps(given | {"shown": [1.5, *given["shown"][1:]]}, separators=(",", ":")),
        lambda given: json.dumps(given | {"kept": [0.5]}, separators=(",", ":")),
        lambda given: json.dumps(given | {"outcome": "nonsense"}, separators=(",", ":")),
        lambda given: json.dumps(given | {"version": 2}, separators=(",", ":")),
        lambda given: json.dumps(given | {"rankers": ["a", "a"]}, separators=(",", ":")),
    ],
)
def test_pages_written_in_another_way_are_left_alone(rewrite):
    page = interleave({"a": ["x", "y"], "b": ["y", "x"]}, "team_draft", seed=1)
    given = json.loads(page.to_json())
    text = rewrite(given)
    assert scanned([text], [[str(one) for one in json.loads(text)["shown"]]]) == [None]
    assert scanned([page.to_json()], [list(page.shown)]) == [said_by(page)]


def test_pages_of_a_method_that_notes_something_are_left_alone():
    page = interleave({"a": ["x", "y"], "b": ["y", "x"]}, "probabilistic", outcome="marginal_bernoulli", seed=1)
    text = page.to_json()
    assert scanned([text, text.replace(str(list(page.kept)), "[]")], [list(page.shown)] * 2) == [None, None]
