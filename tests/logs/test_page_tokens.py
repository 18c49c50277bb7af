"""Page tokens of a log, which are parsed many at once, are credited as by `Page`, or refused as by `Page`."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import Page, interleave
from ltr_duel.logs import ClickLog, compare_log

RULES = ("team_draft", ""), ("sosm", ""), ("probabilistic:tau=1", "marginal_sign"), ("probabilistic", "")
DOCUMENTS = [*(f"d{k}" for k in range(9)), *range(30, 39), -7, "http://x.org/?q=1&r=[2]", "", "12", "ü", 'a "b"']
CHANGES = (
    {"shown": [1.5]}, {"kept": [0.5]}, {"kept": []}, {"outcome": "nonsense"}, {"version": 2}, {"rankers": ["a", "a"]},
    {"numbers": [0, 0]}, {"owners": [2, 0]}, {"orders": [[0, 0], [1, 0]]}, {"orders": [[0], [0]]},
)  # fmt: skip
LETTERS = [*'0123456789,"[]{}:- .eE\\\n+tn', "\x7f", "é"]
IDS = ["x", "\x01", "\\n", "\\u0041", '"', "é", "~ !", "0", "01", "-0", "-", "1.5", "1e5", "9" * 18, "9" * 19]
NUMBERS = ["0", "1", "2", "00", "-0", "-1", "-01", "1.0", "65536", "9" * 19, "0.5", "0.", ".5", "1e-05", "true", ""]


def pages(method, rule, number, rng):
    """Yield pages of lists of different lengths, rankers and ids."""
    for k in range(number):
        some = rng.permutation(len(DOCUMENTS))[: rng.integers(1, 14)]
        names = rng.permutation(["a", "bm 25", "ü"])[: 3 if method == "sosm" else 2].tolist()
        lists = {name: [DOCUMENTS[m] for m in rng.permutation(some)[: rng.integers(1, 14)]] for name in names}
        yield interleave(lists, method, outcome=rule, top=5 + k % 2, rng=rng)


def edits(text, shown, rng):
    """Yield texts that differ slightly from the text of a page, each with its claimed list."""
    head = text.index('"shown"')
    for _ in range(15):
        at, size = rng.integers(head, len(text) + 1), rng.integers(0, 3)
        yield text[:at] + "".join(rng.choice(LETTERS, rng.integers(0, 3))) + text[at + size :], shown
    for number in NUMBERS:
        place = rng.choice(list(re.finditer(r"(?<=[\[,])-?[\d.]+(?=[\],])", text)))
        yield text[: place.start()] + number + text[place.end() :], shown
    given = json.loads(text)
    yield from ((json.dumps(given | change, separators=(",", ":")), shown) for change in CHANGES)
    yield json.dumps(dict(reversed(given.items())), separators=(",", ":")), shown
    first = json.dumps(given["shown"][0])
    for raw in IDS:
        for quote in ('"', ""):
            yield text.replace(f'"shown":[{first}', f'"shown":[{quote}{raw}{quote}'), [raw, *shown[1:]]


@pytest.mark.parametrize(("method", "rule"), RULES)
def test_tokens_are_credited_or_refused_as_by_page(tmp_path, method, rule):
    rng = np.random.default_rng(len(method))
    made = [(page.to_json(), [str(one) for one in page.shown]) for page in pages(method, rule, 30, rng)]
    tokens = [*made, *(edit for text, shown in made[:8] for edit in edits(text, shown, rng))]
    rows, outcomes, refused = [], {}, 0
    for k, (text, shown) in enumerate(tokens):
        clicks = [n for n in range(1, len(shown) + 1) if rng.random() < 0.4]
        rows.append({"impression": k, "time": k, "query": "q", "shown": shown, "clicks": clicks, "page": text})
        try:
            page = Page.from_json(text)
            if [str(one) for one in page.shown] != shown:
                raise InputError("another list")
            won = page.credit([page.shown[n - 1] for n in clicks])
        except InputError:
            refused += 1
            continue
        for (a, b), y in won.items():
            outcomes.setdefault((min(a, b), max(a, b)), []).append(y if a < b else -y)
    path = tmp_path / "clicks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    comparison = compare_log(ClickLog(path, skip_bad=len(rows)))
    assert comparison.provenance["bad_lines"] == refused > 100
    for (a, b), mean, n in zip(comparison.pairs, comparison.means.mean, comparison.counts, strict=True):
        first, second = comparison.names[a], comparison.names[b]
        y = outcomes[min(first, second), max(first, second)]
        assert n == len(y) and mean == pytest.approx(np.mean(y) if first < second else -np.mean(y), abs=1e-9)
