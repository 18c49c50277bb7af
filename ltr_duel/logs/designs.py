"""Find which rankers each list of a log interleaves, and compute the weights that compare two target rankers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from ltr_duel.core import FloatVector, InputError, IntVector
from ltr_duel.interleaving import METHODS, Lists, Size
from ltr_duel.logs.adaptive import policies_of
from ltr_duel.logs.bad import refused
from ltr_duel.logs.crediting import Clicked, credit_rows
from ltr_duel.logs.doubly_robust import Rows
from ltr_duel.logs.hashing import HashVector, hash_texts, hash_users
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.mixtures import Mixtures, chances_of, weights_of
from ltr_duel.logs.targets import PageTargets, RankedTargets, Weighable, rows_with

_UNLIKELY = 1e-3  # probability of rejecting a log for repeated lists although its lists are independent
_COLUMNS = (
    "impression", "time", "query", "user", "shown", "clicks", "page", "rankers", "rankings", "method", "outcome",
)  # fmt: skip


class Repeats:
    """How many lists equal the previous list with the same cell (query, length) and rankers: observed and expected.

    A list that is sampled independently equals the previous list with a known probability. No other check detects
    cached lists, because averaged over queries they are unbiased. But a hundred impressions of one cached list are a
    single sample.
    """

    def __init__(self) -> None:
        self.seen, self.expected = 0, 0.0
        self._before: dict[tuple[int, tuple[str, ...]], tuple[bytes, float]] = {}

    def add(self, rankers: tuple[str, ...], cell: IntVector, lists: list[IntVector], chance: FloatVector) -> None:
        """Count rows whose lists interleave these rankers."""
        for c, shown, here in zip(cell.tolist(), lists, chance.tolist(), strict=True):
            known = self._before.get((c, rankers))
            if known is not None:
                self.seen += known[0] == shown.tobytes()
                self.expected += known[1]
            self._before[c, rankers] = shown.tobytes(), here

    def refusal(self) -> str:
        """Return an error message if lists repeat more often than a Poisson distribution allows, else ""."""
        if self.seen == 0 or special.gammainc(self.seen, self.expected) >= _UNLIKELY:
            return ""
        return (
            f"{self.seen:,} lists equal the previous list for their query and rankers, but {self.expected:,.1f} are"
            " expected: lists were reused (by a cache?) instead of being sampled again for each impression"
        )


class Used(NamedTuple):
    """Rows of a batch that contribute to the estimate."""

    users: HashVector
    cell: IntVector
    begin: IntVector  # start of each row's list in ``found.clicked.numbers``
    found: Weighable


def learnt(log: ClickLog, names: tuple[str, str]) -> tuple[RankedTargets, PageTargets]:
    """Read how each ranker orders the documents of each query."""
    targets = RankedTargets(), PageTargets()
    for batch in log.batches(_COLUMNS):
        if not any(rows.any() for rows in rows_with(batch.table).values()) and batch.table.num_rows:
            raise InputError(f"{log.path}: weights need the columns 'rankers' and 'rankings', or page tokens")
        for one in targets:
            one.learn(batch.table)
    for name in names:
        if not any(name in ranks for one in targets for ranks in one.known.values()):
            raise InputError(f"{log.path}: no row has a ranking by '{name}'")
    for one in targets:
        one.keep(names)
    return targets


class Design:
    """The shown lists and their interleaved rankers, which determine the weights."""

    def __init__(self, log: ClickLog, names: tuple[str, str]) -> None:
        self._log, self._targets, self._only = log, learnt(log, names), ("", "")
        self.repeats = Repeats()
        rows = log.rows((*_COLUMNS, "policy"))
        self.policies = policies_of(log.engine, rows)[1]
        about = log.engine.run(rows.aggregate(rows=rows.count(), queries=rows.query.nunique())).to_pylist()[0]
        self.log_rows, self.log_queries = int(about["rows"]), int(about["queries"])
        shown: dict[tuple[int, int, int], Counter[tuple[str, ...]]] = {}  # source, query, length -> rankers
        for part, _, found in self._found():
            lengths = np.diff(found.clicked.ptr)[found.clicked.rows]
            keys, counts = np.unique(np.stack([found.queries, lengths.astype(np.uint64)]), axis=1, return_counts=True)
            for query, length, n in zip(*keys.tolist(), counts.tolist(), strict=True):
                shown.setdefault((part, query, length), Counter())[tuple(sorted(found.rankers))] += n
        if not shown:
            path, (first, second) = log.path, names
            raise InputError(f"{path}: the log has no query that both '{first}' and '{second}' rank")
        label, self.method, self.params = METHODS.configure(self._only[0])
        if self.method.name != "probabilistic":
            raise InputError(
                f"{log.path}: weights need lists of 'probabilistic', which have known probabilities, not '{label}'"
            )
        # Every other outcome rule has the same mean outcome as `expectation`.
        self.rule = "marginal_sign" if self._only[1] == "marginal_sign" else "expectation"
        self._cells = {key: c for c, key in enumerate(sorted(shown))}
        self.mixtures = self._mixtures(shown, names)
        longest = int(np.diff(self.mixtures.lists.query_ptr).max())
        self.state = self.method.init(Size(int(self.mixtures.length.max()), longest, 2), self.params, self.rule)

    def _found(self) -> Iterator[tuple[int, HashVector, Weighable]]:
        """Yield for each batch: source (0: rankings, 1: tokens), users, and rows of queries that both targets rank."""
        log = self._log
        for batch in log.batches(_COLUMNS):
            table, wrong = batch.table, dict[int, str]()
            users = hash_users(table, hash_texts(table.column("impression")))
            for part, targets in enumerate(self._targets):
                try:
                    rows = list(targets.weighable(table, wrong))
                except InputError as error:
                    raise InputError(f"{log.path}: {error}") from None
                for found in rows:
                    if not len(found.queries):
                        continue
                    self._only = self._only if self._only[0] else (found.method, found.outcome)
                    if (found.method, found.outcome) != self._only:
                        raise InputError(
                            f"{log.path}: weights need one method in the whole log, not {[self._only[0], found.method]}"
                        )
                    yield part, users, found
            log.bad.add(refused({int(batch.lines[row]): sentence for row, sentence in wrong.items()}))

    def _mixtures(
        self, shown: dict[tuple[int, int, int], Counter[tuple[str, ...]]], names: tuple[str, str]
    ) -> Mixtures:
        queries = {key: q for q, key in enumerate(dict.fromkeys((part, query) for part, query, _ in sorted(shown)))}
        known = [self._targets[part].known[query] for part, query in queries]
        arms = {name: a for a, name in enumerate(sorted({name for ranks in known for name in ranks}))}
        self._arms = arms
        ptr = np.cumsum([0, *(len(ranks[names[0]]) for ranks in known)])
        order, rank = np.zeros((2, len(arms), int(ptr[-1])), np.int16)
        for start, stop, ranks in zip(ptr[:-1], ptr[1:], known, strict=True):
            for name, values in ranks.items():
                rank[arms[name], start:stop] = values
                order[arms[name], start + values - 1] = np.arange(stop - start)
        cells = [shown[key] for key in sorted(shown)]
        sets = [[arms[name] for name in rankers] for cell in cells for rankers in cell]
        rows = np.array([cell.total() for cell in cells], np.float64)
        return Mixtures(
            Lists(order, rank, ptr),
            np.concatenate([[0.0], np.arange(1.0, np.diff(ptr).max() + 1) ** -self.params.tau]),
            np.array([arms[name] for name in names]),
            np.array([queries[key[:2]] for key in sorted(shown)]),
            np.array([key[2] for key in sorted(shown)]),
            rows,
            np.cumsum([0, *map(len, cells)]),
            np.array([n / cell.total() for cell in cells for n in cell.values()]),
            np.cumsum([0, *map(len, sets)]),
            np.concatenate([np.array(one, np.int64) for one in sets]),
        )

    def rows(self) -> Iterator[Used]:
        """Read the log again, and yield the rows with their cells."""
        for part, users, found in self._found():
            clicked = found.clicked
            lengths = np.diff(clicked.ptr)[clicked.rows].tolist()
            cell = [self._cells[part, *one] for one in zip(found.queries.tolist(), lengths, strict=True)]
            yield Used(users[clicked.rows], np.array(cell, np.int64), clicked.ptr[clicked.rows], found)

    def weighed(self, used: Used) -> tuple[FloatVector, FloatVector]:
        """Return the weights of rows, and the outcomes that their clicks give the targets; count repeated lists."""
        clicked, rankers = used.found.clicked, tuple(sorted(used.found.rankers))
        arms = np.array([self._arms[name] for name in rankers])
        chance = chances_of(self.mixtures, arms, used.cell, used.begin, clicked.numbers)
        ends = used.begin + self.mixtures.length[used.cell]
        lists = [clicked.numbers[start:end] for start, end in zip(used.begin, ends, strict=True)]
        self.repeats.add(rankers, used.cell, lists, chance)
        return weights_of(self.mixtures, used.cell, used.begin, clicked.numbers), self.credit(clicked, used.cell)

    def credit(self, clicked: Clicked, cell: IntVector) -> FloatVector:
        """Return the outcomes of rows for the two target rankers."""
        two, lists = self.mixtures.wanted, self.mixtures.lists
        wanted = Lists(lists.order[two], lists.rank[two], lists.query_ptr)
        part = clicked._replace(query=self.mixtures.query[cell])
        return credit_rows(self.method, self.params, self.rule, wanted, part, 2)[:, 0]


def rows_of(used: Used, weights: FloatVector, y: FloatVector) -> Rows:
    """Convert rows to the form to which click models are fitted."""
    clicked = used.found.clicked
    sizes = np.diff(clicked.ptr)[clicked.rows]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    entries = np.repeat(used.begin - ptr[:-1], sizes) + np.arange(ptr[-1])
    click = np.zeros(ptr[-1], np.bool_)
    for_row = np.diff(clicked.click_ptr)[clicked.rows]
    first = np.concatenate([[0], np.cumsum(for_row)])
    places = np.repeat(clicked.click_ptr[clicked.rows] - first[:-1], for_row) + np.arange(first[-1])
    click[np.repeat(ptr[:-1], for_row) + clicked.clicks[places] - 1] = True
    return Rows(used.users, used.cell, weights, y, ptr, clicked.numbers[entries], click)
