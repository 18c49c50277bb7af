"""Credit the clicks of a log: compute the outcomes of each impression for its interleaved rankers.

A row is credited by its page token (the page as JSON, from `Page.to_json`). If it has no token, it is credited by its
rankings, and if it has no rankings either, by its owners. All rows of a log are credited by one method and outcome
rule, because outcomes of different methods or rules cannot be added up. Rows are credited together if they have
equally many rankers, whichever these are.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, InputError, IntMatrix, IntVector, errors
from ltr_duel.interleaving import METHODS, MOST_RANKERS, Lists, Method, Page
from ltr_duel.logs.kernel_credit import Clicked, Ranked, credit_rows, number_rows
from ltr_duel.logs.page_tokens import TokenRows, read_tokens
from ltr_duel.logs.table import NO_CREDIT, NO_RANKERS, Impressions, ragged, texts_of

ANOTHER_LIST = "the page token belongs to another list than 'shown'"
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
        """Credit the rows of a batch; return outcomes, and an error message for each row that cannot be credited."""
        table, n, wrong = batch.table, batch.table.num_rows, Wrong()
        have = {name: table.column(name) for name in table.schema.names if table.column(name).null_count < n}
        left = np.ones(n, np.bool_)
        forms: list[tuple[str, IntVector]] = []
        for form in ("page", "rankings", "owners"):
            if form in have:
                given = left & have[form].is_valid().to_numpy(zero_copy_only=False)
                left &= ~given
                if given.any():
                    forms.append((form, np.flatnonzero(given)))
        found: list[Outcomes] = []
        for form, rows in sorted(forms, key=lambda one: one[1][0]):  # the first row determines the method
            found += self._by_tokens(have, rows, wrong) if form == "page" else self._by_rankers(have, rows, form, wrong)
        for r in np.flatnonzero(left & self.needed):
            wrong[int(r)] = NO_CREDIT
        if not found:
            return Outcomes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)), wrong
        row, pair, y = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(found) > 1:
            order = np.argsort(row, kind="stable")
            row, pair, y = row[order], pair[order], y[order]
        return Outcomes(row, pair, y), wrong

    def _by_tokens(self, have: dict[str, Any], rows: IntVector, wrong: Wrong) -> list[Outcomes]:
        """Credit rows by their page tokens; tokens in the form of `Page.to_json` are credited together."""
        ids, ptr = ragged(have["shown"])
        places, click_ptr = ragged(have["clicks"])
        numbers, owners, kept = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int32), np.zeros(len(ptr) - 1)
        parts = read_tokens(have["page"], texts_of(ids), ptr, rows, numbers, owners, kept)
        together = [part for part in parts if part.fit.any()]
        read = np.concatenate([np.zeros(0, np.int64), *(part.rows[part.fit > 0] for part in together)])
        turns: list[tuple[int, TokenRows | None]] = [(int(part.rows[part.fit.argmax()]), part) for part in together]
        turns += [(int(row), None) for row in np.setdiff1d(rows, read)]
        found: list[Outcomes] = []
        for row, part in sorted(turns, key=lambda turn: turn[0]):  # rankers are numbered in their order of appearance
            try:
                if part is None:
                    found.append(self._token(have, row))
                    continue
                query = np.flatnonzero(part.fit)
                self._one_method(part.heads[0].method, part.heads[0].outcome)
                sets = [part.heads[k].rankers for k in query]
                component, params = METHODS.configure(part.heads[0].method)[1:]
            except InputError as error:
                same = [row] if part is None else part.rows[part.fit > 0].tolist()
                wrong.update(dict.fromkeys(same, str(error)))
                continue
            arms, good = self._arms(sets, part.rows[query], wrong)
            clicked = Clicked(part.rows[query][good], query[good], ptr, numbers, owners, click_ptr, places, kept)
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

    def _by_rankers(self, have: dict[str, Any], rows: IntVector, form: str, wrong: Wrong) -> list[Outcomes]:
        """Credit rows by the column ``rankers``, together if they have one method and equally many rankers."""
        if "rankers" not in have:
            wrong.update(dict.fromkeys(map(int, rows), NO_RANKERS))
            return []
        sets = have["rankers"].to_pylist()
        about = [have[name].to_pylist() if name in have else [None] * len(sets) for name in ("method", "outcome")]
        alike: dict[tuple[str | None, str | None, int], list[int]] = {}
        for row in rows.tolist():
            alike.setdefault((about[0][row], about[1][row], len(sets[row] or ())), []).append(row)
        ranked = Ranked.of(have["rankings"], ragged(have["shown"])[0]) if form == "rankings" else None
        found = []
        for (method, outcome, size), members in alike.items():
            try:
                component, params, rule = self.rules(form, method, outcome, size)
                if form == "rankings" and component.foreign and not _has_owners(have):
                    raise InputError(
                        f"method '{component.name}' may credit the ranker of a document: give the column 'owners' too,"
                        " with an entry for each shown document, or the page token"
                    )
            except InputError as error:
                wrong.update(dict.fromkeys(members, str(error)))
                continue
            arms, good = self._arms([sets[row] or () for row in members], np.array(members), wrong)
            clicked, lists, fit = self._clicked(have, np.array(members)[good], ranked, wrong, size, rule)
            if len(clicked.rows):
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

    def _clicked(
        self, have: dict[str, Any], rows: IntVector, ranked: Ranked | None, wrong: Wrong, rankers: int, rule: str
    ) -> tuple[Clicked, Lists, IntVector]:
        """Return the rows that can be credited, their lists, and their indices among ``rows``."""
        clicks, click_ptr = ragged(have["clicks"])
        if ranked is None:
            owners, ptr = ragged(have["owners"], -1)
            none = Lists(np.zeros((rankers, 0), np.int16), np.zeros((rankers, 0), np.int16), np.zeros(2, np.int64))
            query = np.zeros(len(rows), np.int64)
            clicked = Clicked(rows, query, ptr, owners.astype(np.int64), owners, click_ptr, clicks, np.zeros(0))
            return clicked, none, np.arange(len(rows))
        shown, ptr = ragged(have["shown"])
        owners = ragged(have["owners"], -1)[0] if _has_owners(have) else np.full(len(shown), -1, np.int32)
        if rule == "sampled":
            owned = [(owners[ptr[row] : ptr[row + 1]] >= 0).any() for row in rows]
            wrong |= {
                int(row): "the rule 'sampled' requires the column 'owners'" for row in rows[~np.array(owned, bool)]
            }
        lists, numbers, unfit = number_rows(ranked, rows, ptr, rankers, shown)
        wrong |= unfit
        fit = np.flatnonzero(~np.isin(rows, list(wrong)))
        return Clicked(rows[fit], fit, ptr, numbers, owners, click_ptr, clicks, np.zeros(0)), lists, fit

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


def _has_owners(have: dict[str, Any]) -> bool:
    """Return whether the column of owners has an entry for each shown document."""
    return "owners" in have and np.array_equal(ragged(have["owners"])[1], ragged(have["shown"])[1])
