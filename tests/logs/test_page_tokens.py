"""Pages read in batches equal pages read one by one; unusual texts are left to the reader of single pages."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.interleaving import Page, interleave
from ltr_duel.logs.page_tokens import read_tokens
from ltr_duel.logs.table import ragged

RULES = (("team_draft", ""), ("sosm", ""), ("probabilistic:tau=1", "marginal_sign"), ("probabilistic", ""))
CHANGES = (
    {"shown": [1.5]}, {"kept": [0.5]}, {"kept": []}, {"outcome": "nonsense"}, {"version": 2}, {"rankers": ["a", "a"]},
    {"numbers": [0, 0]}, {"owners": [2, 0]}, {"orders": [[0, 0], [1, 0]]}, {"orders": [[0], [0]]},
)  # fmt: skip
LETTERS = [*'0123456789,"[]{}:- .eE\\\n+tn', "\x7f", "é"]
IDS = ["x", "\x01", "\\n", "\\u0041", '"', "é", "~ !", "0", "01", "-0", "-", "1.5", "1e5", "9" * 18, "9" * 19]
NUMBERS = ["0", "1", "2", "00", "-0", "-1", "-01", "1.0", "65536", "9" * 19, "0.5", "0.", ".5", "1e-05", "true", ""]


def pages(number, seed=0):
    """Yield pages of different methods, lengths, rankers and ids."""
    rng = np.random.default_rng(seed)
    ids = [f"d{k}" for k in range(30)] + list(range(30, 50)) + [-7, "http://x.org/?q=1&r=[2]", "", "12"]
    for k in range(number):
        method, rule = RULES[k % 4]
        some = rng.permutation(len(ids))[: rng.integers(1, 14)]
        names = rng.permutation(["a", "bm 25", "ü"])[: 2 + (k % 8 > 4 and rule == "")].tolist()
        lists = {name: [ids[m] for m in rng.permutation(some)[: rng.integers(1, 14)]] for name in names}
        rule = "sampled" if len(lists) > 2 and method == "probabilistic" else rule
        yield interleave(lists, method, outcome=rule, top=5, rng=rng)


def read(texts, shown):
    """Return what is read from each text; None for a text that is left to the reader of single pages."""
    ids, ptr = ragged(pa.array(shown, pa.list_(pa.string())))
    numbers, owners, kept = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int32), np.full(len(texts), -1.0)
    found = [None] * len(texts)
    parts = read_tokens(
        pa.array(texts), pa.array(shown, pa.list_(pa.string())), np.arange(len(texts)), numbers, owners, kept
    )
    for part in parts:
        for row, n, head in zip(part.rows, part.query, part.heads, strict=True):
            order, rank, query_ptr = part.lists
            here, documents = slice(ptr[row], ptr[row + 1]), slice(query_ptr[n], query_ptr[n + 1])
            ranks = np.take_along_axis(rank[:, documents], order[:, documents].astype(int), 1)
            assert (ranks == np.arange(1, ranks.shape[1] + 1)).all()
            values = (kept[row],) * head.keeps
            found[row] = *head[:3], owners[here].tolist(), numbers[here].tolist(), order[:, documents].tolist(), values
    return found


def content(page):
    owners = page._owner_positions()
    return page.method, page.outcome, page.rankers, owners, list(page.numbers), page.orders.tolist(), page.kept


def test_each_page_is_read_as_it_was_written():
    made = list(pages(80))
    found = read([page.to_json() for page in made], [[str(one) for one in page.shown] for page in made])
    assert sum(len(page.kept) for page in made) > 5
    assert found == [content(page) if not page.kept or page.kept[0] >= 1e-4 else None for page in made]


def edits(text, shown, rng):
    """Yield texts that differ slightly from the text of a page, each with its claimed list."""
    for _ in range(20):
        at, size = rng.integers(0, len(text) + 1), rng.integers(0, 3)
        yield text[:at] + "".join(rng.choice(LETTERS, rng.integers(0, 3))) + text[at + size :], shown
    for number in NUMBERS:
        found = rng.choice(list(re.finditer(r"(?<=[\[,])-?[\d.]+(?=[\],])", text)))
        yield text[: found.start()] + number + text[found.end() :], shown
    given = json.loads(text)
    yield from ((json.dumps(given | change, separators=(",", ":")), shown) for change in CHANGES)
    yield json.dumps(dict(reversed(given.items())), separators=(",", ":")), shown
    first = json.dumps(given["shown"][0])
    for raw in IDS:
        for quote in ('"', ""):
            yield text.replace(f'"shown":[{first}', f'"shown":[{quote}{raw}{quote}'), [raw, *shown[1:]]


def test_an_edited_page_is_read_as_one_by_one_or_left_alone():
    rng = np.random.default_rng(1)
    accepted = refused = 0
    for page in pages(48, seed=2):
        texts, shown = zip(*edits(page.to_json(), [str(one) for one in page.shown], rng), strict=True)
        for text, ids, found in zip(texts, shown, read(texts, shown), strict=True):
            try:
                one = Page.from_json(text)
            except InputError:
                assert found is None, text
                refused += 1
                continue
            if found is not None:
                assert (found, ids) == (content(one), [str(document) for document in one.shown]), text
                accepted += 1
    assert accepted > 200 and refused > 500
