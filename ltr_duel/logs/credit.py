"""Find out which ranker won each impression of a log, from the impression's clicks and its page token.

A page token is the text that `Page.to_json` returns. It says how the list of a page was made, so that the comparison
method can decide from the clicks which ranker won. For rows without a page token, see `ltr_duel.logs.outcomes`. All
rows of a log must have the same method and outcome rule, because outcomes of different methods cannot be added up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    InputError,
    IntMatrix,
    IntVector,
    SignMatrix,
    errors,
    interpreted,
    kernel,
)
from ltr_duel.interleaving import (
    METHODS,
    MOST_RANKERS,
    Lists,
    Method,
    Page,
    Shown,
    Size,
    credit_pair,
    credit_slate,
    room_for,
)
from ltr_duel.logs.page_tokens import Pages, read_tokens
from ltr_duel.logs.table import NO_RANKERS, Impressions, ragged

ANOTHER_LIST = "the page token belongs to another list than 'shown'"
Wrong = dict[int, str]


class Outcomes(NamedTuple):
    """The outcomes of a batch of rows. There is one entry for each row and each pair of the row's rankers."""

    row: IntVector
    pair: IntVector  # indices in `Creditor.pairs`
    y: FloatVector  # +1: the first ranker of the pair won; -1: the second ranker won


class Creditor:
    """Computes the outcomes of a log, one batch of rows after the other.

    Rankers and pairs get numbers in the order in which they appear in the log.
    """

    columns = ("impression", "time", "clicks", "shown", "page", "rankers", "owners", "method", "outcome")

    def __init__(self, rankers: Collection[str] = (), *, needed: bool = True) -> None:
        self.names: list[str] = list(rankers)
        self._arm = {name: arm for arm, name in enumerate(rankers)}
        self.pairs: list[tuple[int, int]] = []  # numbers of two rankers, the smaller number first
        self.method = self.outcome = ""  # method and rule of the first credited row
        self._startable: set[tuple[str | None, str | None]] = set()  # methods and rules that credit by owners
        self._closed, self.needed = bool(rankers), needed
        self._number = np.full((MOST_RANKERS, MOST_RANKERS), -1)  # index of each pair

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The two rankers of each pair."""
        return [(self.names[a], self.names[b]) for a, b in self.pairs]

    @property
    def caution(self) -> str:
        """A warning about the outcome rule, or an empty text if there is none."""
        return METHODS.configure(self.method).component.caution(self.outcome) if self.method else ""

    def __call__(self, batch: Impressions) -> tuple[Outcomes, Wrong]:
        """Compute the outcomes of rows with page tokens and sorted clicks. Also return messages on refused rows."""
        wrong, have = Wrong(), {name: batch.table.column(name) for name in ("page", "shown", "clicks")}
        ids, ptr = ragged(have["shown"])
        places, click_ptr = ragged(have["clicks"])
        numbers, owners, kept = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int32), np.zeros(len(ptr) - 1)
        parts: list[tuple[IntVector, Pages | None]] = [
            (part.rows, part) for part in read_tokens(have["page"], have["shown"], numbers, owners, kept)
        ]
        read = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in parts)])
        parts += [(np.array([row]), None) for row in np.setdiff1d(np.arange(len(ptr) - 1), read)]
        credits = [Outcomes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for rows, part in sorted(parts, key=lambda part: int(part[0][0])):  # rankers in their order of appearance
            try:
                if part is None:
                    credits.append(self._token(have, int(rows[0])))
                    continue
                head = part.heads[0]
                self._one_method(head.method, head.outcome)
            except InputError as error:
                wrong.update(dict.fromkeys(rows.tolist(), str(error)))
                continue
            arms, good = self._arms([head.rankers for head in part.heads], rows, wrong)
            clicked = Clicked(rows[good], part.query[good], ptr, numbers, owners, click_ptr, places, kept)
            pair, sign = self.pairs_of(arms)
            _, component, params = METHODS.configure(head.method)
            y = credit_rows(component, params, head.outcome, part.lists, clicked, arms.shape[1])
            credits.append(Outcomes(np.repeat(clicked.rows, pair.shape[1]), pair.ravel(), (y * sign).ravel()))
        return Outcomes(*map(np.concatenate, zip(*credits, strict=True))), wrong

    def _token(self, have: dict[str, Any], row: int) -> Outcomes:
        page = Page.from_json(have["page"][row].as_py())
        self._one_method(str(page.method), page.outcome)
        if [str(document) for document in page.shown] != have["shown"][row].as_py():
            raise InputError(ANOTHER_LIST)
        outcomes = page.credit([page.shown[place - 1] for place in have["clicks"][row].as_py()])
        pair, sign = self.pairs_of(np.array([[self._ranker(name) for name in page.rankers]]))
        return Outcomes(np.full(pair.size, row), pair.ravel(), np.array(list(outcomes.values())) * sign.ravel())

    def start_owners(self, method: str | None, outcome: str | None) -> None:
        """Raise `InputError` if the outcome rule needs more than the owners of the clicked documents."""
        if (method, outcome) in self._startable:
            return
        label, component, _ = METHODS.configure(method or "team_draft")
        rule = outcome or component.default_outcome()
        if rule not in component.outcomes:
            raise errors.unknown_name(f"outcome rule of {component.name} called", rule, component.outcomes)
        if component.name != "team_draft" and rule != "sampled":
            raise InputError(f"'{label}' ({rule}) cannot credit by owners: give the page token")
        self._one_method(label, rule)
        self._startable.add((method, outcome))

    def _arms(self, sets: Sequence[tuple[str, ...]], rows: IntVector, wrong: Wrong) -> tuple[IntMatrix, IntVector]:
        arms: dict[tuple[str, ...], list[int]] = {}
        refused: dict[tuple[str, ...], str] = {}
        for names in dict.fromkeys(sets):
            try:
                arms[names] = self.arms_of(names)
            except InputError as error:
                refused[names] = str(error)
        wrong.update({int(rows[k]): refused[names] for k, names in enumerate(sets) if names in refused})
        good = [k for k, names in enumerate(sets) if names in arms]
        return np.array([arms[sets[k]] for k in good], np.int64).reshape(len(good), -1), np.array(good, np.int64)

    def arms_of(self, names: Collection[str] | None) -> list[int]:
        """Convert the names of a row's rankers to numbers. Raises `InputError` if they cannot be compared."""
        if not names:
            raise InputError(NO_RANKERS)
        if not 2 <= len(names) <= MOST_RANKERS or len(set(names)) < len(names) or not all(names):
            raise InputError(f"'rankers' must name from 2 to {MOST_RANKERS} different rankers, not {list(names)}")
        return [self._ranker(name) for name in names]

    def _one_method(self, label: str, rule: str) -> None:
        if not self.method:
            self.method, self.outcome = label, rule
        if (label, rule) != (self.method, self.outcome):
            raise InputError(
                f"method '{label}' ({rule}), but the log began with '{self.method}' ({self.outcome}): outcomes of"
                " different methods cannot be added up"
            )

    def _ranker(self, name: str) -> int:
        if name not in self._arm:
            if self._closed:
                raise InputError(f"'{name}' is not a ranker of this experiment ({', '.join(self.names)})")
            if errors.in_one_line(name) != name:
                raise InputError(f"the name of a ranker must be one printable line, not {name!r}")
            if len(self.names) >= MOST_RANKERS:
                raise InputError(f"more than {MOST_RANKERS} rankers in one log")
            self._arm[name] = len(self.names)
            self.names.append(name)
        return self._arm[name]

    def pairs_of(self, arms: IntMatrix) -> tuple[IntMatrix, IntMatrix]:
        """Return two arrays of shape (rows, pairs): the index of each pair of a row's rankers, and a sign.

        The sign is +1 if the first ranker of the pair also comes first in the row, and otherwise -1.
        """
        first, second = np.triu_indices(arms.shape[1], 1)
        a, b = arms[:, first], arms[:, second]
        low, high = np.minimum(a, b), np.maximum(a, b)
        new = self._number[low, high] < 0
        for pair in dict.fromkeys(zip(low[new].tolist(), high[new].tolist(), strict=True)):
            self._number[pair] = len(self.pairs)
            self.pairs.append(pair)
        return self._number[low, high], np.where(a < b, 1, -1)


class Clicked(NamedTuple):
    """The rows of a batch whose outcomes are computed together, with the documents and clicks of the whole batch."""

    rows: IntVector
    query: IntVector  # (rows,) index of the row's query in the lists
    ptr: IntVector  # row r shows the entries ptr[r]:ptr[r + 1] of numbers and owners
    numbers: IntVector  # numbers of the shown documents
    owners: NDArray[np.int32]
    click_ptr: IntVector
    clicks: NDArray[np.int32]  # different positions from 1, in ascending order
    kept: FloatVector  # value that the method stored with each list of the batch; empty if it stores none


def credit_rows(method: Method, params: Any, outcome: str, lists: Lists, clicked: Clicked, rankers: int) -> FloatMatrix:
    """Return the outcomes of rows, in an array with a row for each impression and a column for each pair of rankers."""
    out = np.zeros((len(clicked.rows), rankers * (rankers - 1) // 2))
    some = np.flatnonzero(np.diff(clicked.click_ptr)[clicked.rows])
    tops, sizes = np.diff(clicked.ptr)[clicked.rows[some]], np.diff(lists.query_ptr)[clicked.query[some]]
    rooms = np.array([room_for(size) for size in range(int(sizes.max(initial=0)) + 1)])[sizes]
    by_pair = rankers == 2 and method.pairs
    run: Any = credit_pairs if by_pair else credit_slates
    run = run if method.compiled else interpreted(run)
    for top, room in np.unique(np.stack([tops, rooms]), axis=1).T.tolist():
        same = some[(tops == top) & (rooms == room)]
        part = clicked._replace(rows=clicked.rows[same], query=clicked.query[same])
        state = method.init(Size(top, room, rankers), params, outcome)
        page = Shown(*(np.zeros(top, np.int64) for _ in Shown._fields))
        kept = getattr(state, "kept", clicked.kept) if len(clicked.kept) else clicked.kept
        y = np.zeros((len(same), out.shape[1]))
        more = () if by_pair else (np.arange(rankers), np.zeros((rankers, rankers), np.int8))
        run(state, kept, lists, page, part, y, *more)
        out[same] = y
    return out


@kernel
def fill_page(clicked: Clicked, row: int, page: Shown, kept: FloatVector) -> int:
    """Copy a row of ``clicked`` into ``page`` and ``kept``, and return the row's number of clicks."""
    start, first = clicked.ptr[row], clicked.click_ptr[row]
    for k in range(clicked.ptr[row + 1] - start):
        page.shown[k], page.owner[k] = clicked.numbers[start + k], clicked.owners[start + k]
    n_clicks = clicked.click_ptr[row + 1] - first
    for k in range(n_clicks):
        page.clicks[k] = clicked.clicks[first + k] - 1
    for k in range(kept.shape[0]):
        kept[k] = clicked.kept[row]
    return int(n_clicks)


@kernel
def credit_pairs(state: Any, kept: FloatVector, lists: Lists, page: Shown, clicked: Clicked, out: FloatMatrix) -> None:
    """Compute the outcomes of rows that have two rankers."""
    for n in range(clicked.rows.shape[0]):
        row = clicked.rows[n]
        n_clicks = fill_page(clicked, row, page, kept)
        length = clicked.ptr[row + 1] - clicked.ptr[row]
        out[n, 0] = credit_pair(state, lists, clicked.query[n], 0, 1, page, length, n_clicks)


@kernel
def credit_slates(
    state: Any, kept: FloatVector, lists: Lists, page: Shown, clicked: Clicked, out: FloatMatrix, slate: IntVector,
    won: SignMatrix,
) -> None:  # fmt: skip
    """Compute the outcomes of rows that have a set of rankers."""
    for n in range(clicked.rows.shape[0]):
        row, c = clicked.rows[n], 0
        n_clicks = fill_page(clicked, row, page, kept)
        length = clicked.ptr[row + 1] - clicked.ptr[row]
        credit_slate(state, lists, clicked.query[n], slate, slate.shape[0], page, length, n_clicks, won)
        for a in range(slate.shape[0]):
            for b in range(a + 1, slate.shape[0]):
                out[n, c] = won[a, b]
                c += 1
