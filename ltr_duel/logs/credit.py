"""Credit the clicks of a log: compute the outcomes of each impression for its interleaved rankers.

A row is credited by its page token (the page as JSON, from `Page.to_json`). If it has no token, it is credited by its
rankings here, and if it has no rankings either, by its owners in `ltr_duel.logs.outcomes`. All rows of a log are
credited by one method and outcome rule, because outcomes of different methods or rules cannot be added up. Rows are
credited together if they have equally many rankers, whichever these are.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, InputError, IntMatrix, IntVector, errors
from ltr_duel.interleaving import METHODS, MOST_RANKERS, Lists, Method, Page
from ltr_duel.logs.kernel_credit import Clicked, credit_rows, number_rows
from ltr_duel.logs.page_tokens import Pages, read_tokens
from ltr_duel.logs.table import NO_RANKERS, Impressions, marks_of, ragged

ANOTHER_LIST = "the page token belongs to another list than 'shown'"
_RULE = ("method", "outcome", "rankers")
_SHAPE = (MOST_RANKERS, MOST_RANKERS)
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
        self._number = np.full(_SHAPE, -1)  # index of each pair

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The two rankers of each pair."""
        return [(self.names[a], self.names[b]) for a, b in self.pairs]

    @property
    def caution(self) -> str:
        """A caution about the outcome rule; empty for most rules."""
        return METHODS.configure(self.method).component.caution(self.outcome) if self.method else ""

    def __call__(self, batch: Impressions) -> tuple[Outcomes, Wrong]:
        """Credit rows with page tokens or rankings; return outcomes, and a message for each row that has none."""
        table, wrong = batch.table, Wrong()
        have = {name: table.column(name) for name in table.schema.names if table.column(name).null_count < len(table)}
        tokens, ranked = marks_of(table, "page"), marks_of(table, "rankings")
        forms = [(np.flatnonzero(tokens), self._by_tokens), (np.flatnonzero(ranked & ~tokens), self._by_rankings)]
        found: list[Outcomes] = []
        for rows, credit in sorted((form for form in forms if len(form[0])), key=lambda form: form[0][0]):
            found += credit(have, rows, wrong)  # the first row determines the method
        if not found:
            return Outcomes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)), wrong
        row, pair, y = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(row, kind="stable")
        return Outcomes(row[order], pair[order], y[order]), wrong

    def _by_tokens(self, have: dict[str, Any], rows: IntVector, wrong: Wrong) -> list[Outcomes]:
        """Credit rows by their page tokens; tokens in the form of `Page.to_json` are credited together."""
        ids, ptr = ragged(have["shown"])
        places, click_ptr = ragged(have["clicks"])
        numbers, owners, kept = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int32), np.zeros(len(ptr) - 1)
        parts = read_tokens(have["page"], have["shown"], rows, numbers, owners, kept)
        read = np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)])
        turns: list[tuple[int, Pages | None]] = [(int(part.rows[0]), part) for part in parts]
        turns += [(int(row), None) for row in np.setdiff1d(rows, read)]
        found: list[Outcomes] = []
        for row, part in sorted(turns, key=lambda turn: turn[0]):  # rankers are numbered in their order of appearance
            try:
                if part is None:
                    found.append(self._token(have, row))
                    continue
                self._one_method(part.heads[0].method, part.heads[0].outcome)
                component, params = METHODS.configure(part.heads[0].method)[1:]
            except InputError as error:
                wrong.update(dict.fromkeys([row] if part is None else part.rows.tolist(), str(error)))
                continue
            arms, good = self._arms([head.rankers for head in part.heads], part.rows, wrong)
            clicked = Clicked(part.rows[good], part.query[good], ptr, numbers, owners, click_ptr, places, kept)
            found.append(self._credited(component, params, part.heads[0].outcome, part.lists, clicked, arms))
        return found

    def _token(self, have: dict[str, Any], row: int) -> Outcomes:
        page = Page.from_json(have["page"][row].as_py())
        self._one_method(str(page.method), page.outcome)
        if [str(document) for document in page.shown] != have["shown"][row].as_py():
            raise InputError(ANOTHER_LIST)
        outcomes = page.credit([page.shown[place - 1] for place in have["clicks"][row].as_py()])
        arms = np.array([[self._ranker(name) for name in page.rankers]])
        pair, sign = self.pairs_of(arms)
        return Outcomes(np.full(pair.size, row), pair.ravel(), np.array(list(outcomes.values())) * sign.ravel())

    def _by_rankings(self, have: dict[str, Any], rows: IntVector, wrong: Wrong) -> list[Outcomes]:
        """Credit rows by their rankings, together if they have one method and equally many rankers."""
        alike: dict[tuple[Any, ...], list[int]] = {}
        labels = [have[name].to_pylist() if name in have else [None] * len(have["shown"]) for name in _RULE]
        for row in rows.tolist():
            method, outcome, names = (label[row] for label in labels)
            alike.setdefault((method, outcome, len(names or ())), []).append(row)
        shown, ptr = ragged(have["shown"])
        owned = "owners" in have and np.array_equal(ragged(have["owners"])[1], ptr)  # an entry for each document
        owners = ragged(have["owners"], -1)[0] if owned else np.full(len(shown), -1, np.int32)
        places, click_ptr = ragged(have["clicks"])
        found = []
        for (label, named, size), members in alike.items():
            try:
                component, params, rule = self.rules("rankings", label, named, size)
                if component.foreign and not owned:
                    raise InputError(
                        f"method '{component.name}' may credit the ranker of a document: give the column 'owners' too,"
                        " with an entry for each shown document, or the page token"
                    )
            except InputError as error:
                wrong.update(dict.fromkeys(members, str(error)))
                continue
            if rule == "sampled":
                none = [row for row in members if not (owners[ptr[row] : ptr[row + 1]] >= 0).any()]
                wrong |= dict.fromkeys(none, "the rule 'sampled' requires the column 'owners'")
            arms, good = self._arms([labels[-1][row] for row in members], np.array(members), wrong)
            some = np.array(members)[good]
            lists, numbers, unfit = number_rows(have["rankings"], some, shown, ptr, size)
            wrong |= {row: sentence for row, sentence in unfit.items() if row not in wrong}
            fit = np.flatnonzero(~np.isin(some, list(wrong)))
            if len(fit):
                clicked = Clicked(some[fit], fit, ptr, numbers, owners, click_ptr, places, np.zeros(0))
                found.append(self._credited(component, params, rule, lists, clicked, arms[fit]))
        return found

    def _credited(
        self, component: Method, params: Any, rule: str, lists: Lists, clicked: Clicked, arms: IntMatrix
    ) -> Outcomes:
        pair, sign = self.pairs_of(arms)
        y = credit_rows(component, params, rule, lists, clicked, arms.shape[1])
        return Outcomes(np.repeat(clicked.rows, pair.shape[1]), pair.ravel(), (y * sign).ravel())

    def rules(self, form: str, method: str | None, outcome: str | None, size: int) -> tuple[Method, Any, str]:
        """Return method, parameters and outcome rule of rows with `size` rankers, or raise `InputError`."""
        label, component, params = METHODS.configure(method or "team_draft")
        rule = outcome or (*component.posterior, *component.outcomes)[0]  # which needs neither coin nor owners
        if rule not in component.outcomes:
            raise errors.unknown_name(f"outcome rule of {component.name} called", rule, component.outcomes)
        if size > 1 and not (component.slates or (component.pairs and size == 2)):
            raise InputError(f"method '{label}' compares two rankers, not {size}")
        if form == "owners" and component.name != "team_draft" and rule != "sampled":
            raise InputError(f"'{label}' ({rule}) cannot credit by owners: give rankings, or the page token")
        if rule == "marginal_bernoulli":
            raise InputError(f"the rule '{rule}' of '{label}' needs the coin of the list: give the page token")
        self._one_method(label, rule)
        return component, params, rule

    def _arms(self, sets: list[Any], rows: IntVector, wrong: Wrong) -> tuple[IntMatrix, IntVector]:
        """Return the numbers of the rankers of each row that names them correctly, and the indices of these rows."""
        known: dict[tuple[str, ...], list[int] | str] = {}
        arms, good = [], []
        for k, names in enumerate(map(tuple, sets)):
            if names not in known:
                try:
                    known[names] = self.arms_of(names)
                except InputError as error:
                    known[names] = str(error)
            if isinstance(one := known[names], str):
                wrong[int(rows[k])] = one
            else:
                arms.append(one)
                good.append(k)
        return np.array(arms, np.int64).reshape(len(good), -1), np.array(good, np.int64)

    def arms_of(self, names: Collection[str] | None) -> list[int]:
        """Return the numbers of the rankers of a row; raise `InputError` if they cannot be compared."""
        if not names:
            raise InputError(NO_RANKERS)
        if not 2 <= len(names) <= MOST_RANKERS or len(set(names)) < len(names) or not all(names):
            raise InputError(f"'rankers' must name from 2 to {MOST_RANKERS} different rankers, not {list(names)}")
        return [self._ranker(name) for name in names]

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

    def pairs_of(self, arms: IntMatrix) -> tuple[IntMatrix, IntMatrix]:
        """Return the index of each pair of the rankers of rows, shape (rows, pairs), and +1 or -1.

        The sign is +1 if the pair's first ranker comes first in the row.
        """
        first, second = np.triu_indices(arms.shape[1], 1)
        a, b = arms[:, first], arms[:, second]
        low, high = np.minimum(a, b), np.maximum(a, b)
        if (new := self._number[low, high] < 0).any():
            keys = (low * MOST_RANKERS + high)[new]
            for key in keys[np.sort(np.unique(keys, return_index=True)[1])].tolist():
                self._number[divmod(key, MOST_RANKERS)] = len(self.pairs)
                self.pairs.append(divmod(key, MOST_RANKERS))
        return self._number[low, high], np.where(a < b, 1, -1)

    def pair(self, a: int, b: int) -> tuple[int, int]:
        """Return the index of a pair, and +1 if the pair's first ranker is ``a``, -1 if the first ranker is ``b``."""
        pair, sign = self.pairs_of(np.array([[a, b]]))
        return int(pair[0, 0]), int(sign[0, 0])
