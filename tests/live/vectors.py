"""Writes `clients/vectors.json`: pages of plans, for clients in other languages. ``python -m tests.live.vectors``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from ltr_duel.live import Keys, LivePlan

FILE = Path(__file__).resolve().parents[2] / "clients" / "vectors.json"
ABOUT = """\
Vector n (from 0) is a page of plan n mod the number of plans, at time n. To generate its search, start with x = n + 1.
draw(m) sets x to x * 48271 mod 2147483647 and returns x mod m; word() returns words[draw(number of words)].
In this order: user = word() + n in decimal; query = word() + word(); kind = draw(3); pool = 20 + 20 draw(3).
Then for each ranker: length = 1 + draw(20); deck = [0, ..., pool - 1]; for k = 0, ..., length - 1, swap deck[k] and
deck[k + draw(pool - k)]. If draw(3) is 0, replace deck by the list of the first ranker (which keeps its own deck). The
list of the ranker is deck, cut after 'length' documents. The id of document d is the integer d; but if kind = 1, it is
the string 'd' + d, and if kind = 2 and d is odd, it is the string words[d mod number of words] + d.
A vector contains the numbers of the documents shown, a colon, and the first 8 hexadecimal digits of the SHA-256 of
these lines in UTF-8, joined by line feeds: impression, time, query, user, shown (joined by tabs), rankers (joined by
tabs), method, outcome, policy, propensity * draws as an integer, and page or, if the record has none, owners (joined
by spaces). If there is no record, the lines are rankers and served.
'rare' contains further vectors by n, whose pages contain a number that Python writes with an exponent."""
KEYS = Keys({"vectors": bytes(range(32))})
RANKERS = ["bm25", "dense", "naïve", "文", "z\u007f🙂"]
WORDS = ["", "red shoes", "é", "e\u0301", "文書", "🙂", "\u2028", 'a"\\b', "\t\u007f", "ß\ufeff"]
PAIRS = [((0, 1), 5), ((1, 0), 2), ((2, 3), 3), ((4, 0), 1), ((1,), 1)]
SETS = [((0, 1, 2, 3, 4), 6), ((4, 2, 0, 3, 1), 2), ((3, 1, 4), 2), ((2, 4), 2), ((3,), 1)]
MADE = [
    ("team_draft", "credit", PAIRS, 10),
    ("probabilistic", "marginal_bernoulli", PAIRS, 10),
    ("team_draft", "credit", SETS, 10),
    ("probabilistic", "marginal_sign", SETS, 10),
    ("team_draft:prefix_credit=1", "credit", PAIRS, 4),
    ("probabilistic:tau=1", "marginal_sign", PAIRS, 10),
    ("team_draft:prefix_credit=1", "credit", SETS, 25),
    ("probabilistic:tau=0.5", "marginal_bernoulli", PAIRS, 5),
    ("probabilistic", "sampled", PAIRS, 3),
    ("probabilistic:tau=10", "expectation", PAIRS, 30),
    ("probabilistic:tau=0", "sampled", SETS, 7),
    ("team_draft", "credit", PAIRS, 10),
]
CHANGES = {2: {"share": 0.7, "holdback": 0.2}, 11: {"mode": "winner", "winner": "文", "holdback": 0.25}}
COUNT, RARE = 500, (73_351, 251_863)


def plans() -> list[LivePlan]:
    """Return the plans, each with a different salt; some have no or few users in the experiment."""
    return [
        LivePlan(experiment="vectors", version=k + 1, policy="rucb", method=method, outcome=outcome, top=top,
                 salt=hashlib.sha256(bytes([k])).hexdigest()[:32], recommended="bm25", incumbent="dense",
                 sets=tuple((tuple(RANKERS[one] for one in some), count) for some, count in sets), **CHANGES.get(k, {}))
        for k, (method, outcome, sets, top) in enumerate(MADE)
    ]  # fmt: skip


def search(n: int) -> tuple[str, str, dict[str, list[int | str]], Callable[[int], int | str]]:
    """Return user, query and lists of a vector, and the function that makes the id of a document."""
    x = n + 1

    def draw(m: int) -> int:
        nonlocal x
        x = x * 48271 % 2147483647
        return x % m

    user = WORDS[draw(len(WORDS))] + str(n)
    query = WORDS[draw(len(WORDS))] + WORDS[draw(len(WORDS))]
    kind = draw(3)
    pool = 20 + 20 * draw(3)

    def name(d: int) -> int | str:
        return f"d{d}" if kind == 1 else f"{WORDS[d % len(WORDS)]}{d}" if kind == 2 and d % 2 else d

    lists: dict[str, list[int]] = {}
    for ranker in RANKERS:
        length, deck = 1 + draw(20), list(range(pool))
        for k in range(length):
            other = k + draw(pool - k)
            deck[k], deck[other] = deck[other], deck[k]
        lists[ranker] = (lists.get(RANKERS[0], deck) if draw(3) == 0 else deck)[:length]
    return user, query, {ranker: [name(d) for d in some] for ranker, some in lists.items()}, name


def vector(plan: LivePlan, n: int) -> str:
    """Return the content of a vector."""
    user, query, lists, name = search(n)
    decided, number = plan.decide(user, query, lists, now=n), {name(d): d for d in range(60)}
    told = ["\t".join(decided.rankers)]
    if (record := decided.record) is None:
        told.append(decided.served)
    else:
        told = [record["impression"], str(record["time"]), record["query"], record["user"], "\t".join(record["shown"]),
                *told, record["method"], record["outcome"], record["policy"],
                str(round(record["propensity"] * plan.draws)),
                record["page"] if "page" in record else " ".join(map(str, record["owners"]))]  # fmt: skip
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]
    return f"{' '.join(str(number[one]) for one in decided.page)}:{digest}"


def text() -> str:
    """Return the file."""
    made = plans()
    content = {
        "about": ABOUT.split("\n"),
        "keys": {name: secret.hex() for name, secret in KEYS.items()},
        "rankers": RANKERS,
        "words": WORDS,
        "plans": [json.loads(plan.to_json(KEYS)) for plan in made],
        "rare": {str(n): vector(made[n % len(made)], n) for n in RARE},
    }
    vectors = ",\n".join(f'"{vector(made[n % len(made)], n)}"' for n in range(COUNT))
    head = ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in content.items())
    return f'{{{head},\n"vectors": [\n{vectors}\n]}}\n'


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
