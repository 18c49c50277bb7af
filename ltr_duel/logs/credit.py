"""Credit the clicks of a log: compute the outcomes of each impression for its interleaved rankers.

A row is credited by its page token (the page as JSON, from `Page.to_json`). If it has no token, it is credited by its
rankings, and if it has no rankings either, by its owners. All rows of a log are credited by one method and outcome
rule, because outcomes of different methods or rules cannot be added up.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, InputError, IntVector, errors
from ltr_duel.interleaving import METHODS, Lists, Method, Page
from ltr_duel.logs.crediting import MOST_RANKERS, Clicked, credit_rows, number_rows, ranked, wrong_rows
from ltr_duel.logs.hashing import hash_rows, hash_texts
from ltr_duel.logs.pages import ANOTHER_LIST, PageReader, Pages
from ltr_duel.logs.table import NO_CREDIT, NO_RANKERS, Impressions, ragged

Wrong = dict[int, str]


class Outcomes(NamedTuple):
    """Outcomes of a batch, in the order of its rows."""

    row: IntVector
    pair: IntVector  # indices in `Creditor.pairs`
    y: FloatVector  # +1: the first ranker of the pair won; -1: the second ranker won


class Creditor:
    """Credits a log batch by batch; rankers and pairs are numbered in their order of appearance."""

    columns = ("impression", "time", "clicks", "shown", "page", "rankers", "owners", "rankings", "method", "outcome")

    def __init__(self, rankers: Collection[str] = (), *, needed: bool = True) -> None:
        self.names: list[str] = list(rankers)
        self.pairs: list[tuple[int, int]] = []  # numbers of two rankers, the smaller number first
        self.method = self.outcome = ""  # method and rule of the first credited row
        self._closed, self.needed = bool(rankers), needed
        self._number: dict[tuple[int, int], int] = {}
        self._pages = PageReader()

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The two rankers of each pair."""
        return [(self.names[a], self.names[b]) for a, b in self.pairs]

    @property
    def caution(self) -> str:
        """A caution about the outcome rule; empty for most rules."""
        return METHODS.configure(self.method).component.caution(self.outcome) if self.method else ""

    def __call__(self, batch: Impressions) -> tuple[Outcomes, Wrong]:
        """Credit the rows of a batch; return outcomes, and an error message for each row that cannot be credited."""
        table, n, wrong = batch.table, batch.table.num_rows, Wrong()
        have = {name: table.column(name) for name in table.schema.names if table.column(name).null_count < n}
        left = np.ones(n, np.bool_)
        rests: list[tuple[str, IntVector]] = []
        for form in ("page", "rankings", "owners"):
            if form in have:
                given = left & have[form].is_valid().to_numpy(zero_copy_only=False)
                left &= ~given
                if given.any():
                    rests.append((form, np.flatnonzero(given)))
        found: list[Outcomes] = []
        for form, rows in sorted(rests, key=lambda one: one[1][0]):  # the first row determines the method
            found += self._tokens(have, rows, wrong) if form == "page" else self._rows(have, rows, form, wrong)
        for r in np.flatnonzero(left & self.needed):
            wrong[int(r)] = NO_CREDIT
        if not found:
            return Outcomes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)), wrong
        row, pair, y = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(found) > 1:
            order = np.argsort(row, kind="stable")
            row, pair, y = row[order], pair[order], y[order]
        return Outcomes(row, pair, y), wrong

    def _tokens(self, have: dict[str, Any], rows: IntVector, wrong: Wrong) -> list[Outcomes]:
        """Credit rows by their page tokens; tokens in the form of `Page.to_json` are credited together."""
        together, alone = self._pages.read(have["page"], have["shown"], have["clicks"], rows)
        turns: list[tuple[int, Pages | None]] = [(int(one.clicked.rows[0]), one) for one in together]
        turns += [(int(row), None) for row in alone]
        found = []
        for row, pages in sorted(turns, key=lambda turn: turn[0]):  # rankers are numbered in their order of appearance
            try:
                found += self._token(have, row) if pages is None else self._pages_of_one_head(pages)
            except InputError as error:
                same = [row] if pages is None else pages.clicked.rows.tolist()
                wrong.update(dict.fromkeys(same, str(error)))
        return found

    def _token(self, have: dict[str, Any], row: int) -> list[Outcomes]:
        shown = have["shown"][row].as_py()
        page = Page.from_json(have["page"][row].as_py())
        self._one_method(str(page.method), page.outcome)
        if [str(document) for document in page.shown] != shown:
            raise InputError(ANOTHER_LIST)
        outcomes = page.credit([page.shown[place - 1] for place in have["clicks"][row].as_py()])
        numbers = [self._ranker(name) for name in page.rankers]
        return self._outcomes(np.array([row]), numbers, np.array([list(outcomes.values())], np.float64))

    def _pages_of_one_head(self, pages: Pages) -> list[Outcomes]:
        head = pages.head
        self._one_method(head.method, head.outcome)
        numbers = [self._ranker(name) for name in head.rankers]
        y = credit_rows(head.component, head.params, head.outcome, pages.lists, pages.clicked, len(numbers))
        return self._outcomes(pages.clicked.rows, numbers, y)

    def _outcomes(self, rows: IntVector, numbers: list[int], y: FloatMatrix) -> list[Outcomes]:
        """Return outcomes of rows with the rankers ``numbers``; column c of ``y`` belongs to the c-th pair."""
        pairs, signs = zip(*(self.pair(a, b) for a, b in combinations(numbers, 2)), strict=True)
        return [Outcomes(np.repeat(rows, len(pairs)), np.tile(pairs, len(rows)), (y * np.array(signs)).ravel())]

    def _rows(self, have: dict[str, Any], rows: IntVector, form: str, wrong: Wrong) -> list[Outcomes]:
        """Credit rows by the column ``rankers``; rows with the same rankers and method are credited together."""
        if "rankers" not in have:
            wrong.update(dict.fromkeys(map(int, rows), NO_RANKERS))
            return []
        texts, ptr = ragged(have["rankers"])
        names = ("method", "outcome")
        keys = [hash_rows(hash_texts(texts), ptr), *(hash_texts(have[name]) for name in names if name in have)]
        key = hash_rows(np.stack(keys, axis=1).ravel(), np.arange(len(ptr)) * len(keys))[rows]
        found = []
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        for g in np.argsort(first):
            f = int(rows[first[g]])
            about = {name: have[name][f].as_py() if name in have else None for name in ("rankers", *names)}
            members = rows[group == g]
            try:
                found += self._group(have, members, form, wrong, **about)
            except InputError as error:
                wrong.update(dict.fromkeys(map(int, members), str(error)))
        return found

    def _group(
        self,
        have: dict[str, Any],
        rows: IntVector,
        form: str,
        wrong: Wrong,
        rankers: list[str] | None,
        method: str | None,
        outcome: str | None,
    ) -> list[Outcomes]:
        component, params, rule, numbers = self.rules(form, rankers, method, outcome)
        if form == "rankings" and component.foreign and not _has_owners(have):
            raise InputError(
                f"method '{component.name}' may credit the ranker of a document: give the column 'owners' too, with an"
                " entry for each shown document, or the page token"
            )
        clicked, lists, rows = self._clicked(have, rows, form, wrong, len(numbers), rule)
        y = credit_rows(component, params, rule, lists, clicked, len(numbers))
        return self._outcomes(rows, numbers, y)

    def rules(
        self, form: str, rankers: list[str] | None, method: str | None, outcome: str | None
    ) -> tuple[Method, Any, str, list[int]]:
        """Return method, parameters, outcome rule and numbers of the rankers; raise `InputError` if inconsistent."""
        label, component, params = METHODS.configure(method or "team_draft")
        rule = outcome or (*component.posterior, *component.outcomes)[0]  # which needs neither coin nor owners
        if rule not in component.outcomes:
            raise errors.unknown_name(f"outcome rule of {component.name} called", rule, component.outcomes)
        if rankers is None:
            raise InputError(NO_RANKERS)
        names = rankers
        if not 2 <= len(names) <= MOST_RANKERS or len(set(names)) < len(names) or not all(names):
            raise InputError(f"'rankers' must name from 2 to {MOST_RANKERS} different rankers, not {names}")
        if not (component.slates or (component.pairs and len(names) == 2)):
            raise InputError(f"method '{label}' compares two rankers, not {len(names)}")
        if form == "owners" and component.name != "team_draft" and rule != "sampled":
            raise InputError(f"'{label}' ({rule}) cannot credit by owners: give rankings, or the page token")
        if rule == "marginal_bernoulli":
            raise InputError(f"the rule '{rule}' of '{label}' needs the coin of the list: give the page token")
        self._one_method(label, rule)
        numbers = [self._ranker(name) for name in names]
        return component, params, rule, numbers

    def _clicked(
        self, have: dict[str, Any], rows: IntVector, form: str, wrong: Wrong, rankers: int, rule: str
    ) -> tuple[Clicked, Lists, IntVector]:
        clicks, click_ptr = ragged(have["clicks"])
        if form == "owners":
            owners, ptr = ragged(have["owners"], -1)
            none = Lists(np.zeros((rankers, 0), np.int16), np.zeros((rankers, 0), np.int16), np.zeros(2, np.int64))
            query = np.zeros(len(rows), np.int64)
            return Clicked(rows, query, ptr, owners.astype(np.int64), owners, click_ptr, clicks), none, rows
        shown, ptr = ragged(have["shown"])
        owners = ragged(have["owners"], -1)[0] if _has_owners(have) else np.full(len(shown), -1, np.int32)
        if (owners[ptr[rows[0]] : ptr[rows[0] + 1]] < 0).all() and rule in ("sampled",):
            raise InputError(f"the rule '{rule}' requires the column 'owners'")
        lists = ranked(have["rankings"], shown).of(rows)
        found = number_rows(lists, rankers, ptr[rows], ptr[rows + 1])
        unfit = wrong_rows(found, rows, lists.stop - lists.ptr, rankers, shown)
        wrong |= unfit
        query = np.flatnonzero(~np.isin(rows, list(unfit))) if unfit else np.arange(len(rows))
        rows = rows[query]
        return Clicked(rows, query, ptr, found.numbers, owners, click_ptr, clicks), found.lists, rows

    def _one_method(self, label: str, rule: str) -> None:
        """Raise `InputError` unless method and rule are those of the first credited row."""
        if not self.method:
            self.method, self.outcome = label, rule
        if (label, rule) != (self.method, self.outcome):
            raise InputError(
                f"method '{label}' ({rule}), but the log began with '{self.method}' ({self.outcome}): outcomes of"
                " different methods cannot be added up"
            )

    def _ranker(self, name: str) -> int:
        if name not in self.names:
            if self._closed:
                raise InputError(f"'{name}' is not a ranker of this experiment ({', '.join(self.names)})")
            if errors.in_one_line(name) != name:
                raise InputError(f"the name of a ranker must be one printable line, not {name!r}")
            if len(self.names) >= MOST_RANKERS:
                raise InputError(f"more than {MOST_RANKERS} rankers in one log")
            self.names.append(name)
        return self.names.index(name)

    def pair(self, a: int, b: int) -> tuple[int, int]:
        """Return the index of a pair, and +1 if the pair's first ranker is ``a``, -1 if the first ranker is ``b``."""
        key = (min(a, b), max(a, b))
        if key not in self._number:
            self._number[key] = len(self.pairs)
            self.pairs.append(key)
        return self._number[key], 1 if a < b else -1


def _has_owners(have: dict[str, Any]) -> bool:
    """Return whether the column of owners has an entry for each shown document."""
    return "owners" in have and np.array_equal(ragged(have["owners"])[1], ragged(have["shown"])[1])
