"""Read many page tokens at once, which is much faster than `Page.from_json` for each token.

A page token is the text that `Page.to_json` returns. DuckDB parses all tokens that have exactly the form of this text.
Other tokens are left to the caller, who reads them with `Page.from_json`. They may have spaces, or be invalid.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import FloatVector, InputError, IntVector, MarkVector, kernel
from ltr_duel.interleaving import LONGEST_TEXT, MOST_PLACES, MOST_SHOWN, Lists, Page
from ltr_duel.logs.table import ragged

_LIST = r"\[{0}(?:,{0})*\]".format
_TEXT = r'"[ !#-\[\]-~]*"'
_NAME = r'"(?:[ !#-\[\]-~]|\\["\\bfnrt]|\\u(?:[0-9a-ce-f][0-9a-f]|d[0-7])[0-9a-f]{2})*"'
_ID = rf"(?:{_TEXT}|0|-?[1-9][0-9]{{0,17}})"
_NUMBER = "(?:-1|0|[1-9][0-9]{0,3})"  # all such numbers are less than `MOST_DOCUMENTS`
_KEPT = r"\[(?:0\.[0-9]+)?\]"  # nothing, or one number that needs no exponent
_TO_SHOWN = '],"shown":'
_FORM = (
    rf'^\{{"version":1,"method":{_NAME},"outcome":{_NAME},"rankers":{_LIST(_NAME)},"shown":{_LIST(_ID)},'
    rf'"owners":{_LIST(_NUMBER)},"numbers":{_LIST(_NUMBER)},"orders":{_LIST(_LIST(_NUMBER))},"kept":{_KEPT}\}}$'
)
_TYPES = {
    "shown": ["VARCHAR"],
    "owners": ["INTEGER"],
    "numbers": ["BIGINT"],
    "orders": [["SMALLINT"]],
    "kept": ["DOUBLE"],
}
_SQL = f"""
    SELECT row, split_part(token, '{_TO_SHOWN}', 1) AS head, page.owners, page.numbers, page.orders, page.kept,
        page.shown = shown AND len(page.owners) = len(shown) AND len(page.numbers) = len(shown)
            AND len(shown) <= {MOST_SHOWN} AND len(page.orders) * len(page.orders[1]) <= {MOST_PLACES} AS fit
    FROM (SELECT *, from_json(token, '{json.dumps(_TYPES)}') AS page FROM tokens)"""
_REMEMBERED = 1 << 14  # maximum number of cached heads


class Head(NamedTuple):
    """The first part of a page token, before the documents."""

    method: str  # method with parameters
    outcome: str
    rankers: tuple[str, ...]
    keeps: int  # number of values that the method stores with a list, 0 or 1


class Pages(NamedTuple):
    """Pages with the same method, outcome rule and number of rankers."""

    rows: IntVector  # row of each page in the batch
    query: IntVector  # index of the page's query in the lists
    heads: list[Head]
    lists: Lists


class Parsed(NamedTuple):
    """The documents and the rankers' lists of parsed tokens."""

    owners: Any
    numbers: IntVector
    ptr: IntVector  # token k shows the documents ptr[k]:ptr[k + 1]
    orders: Any
    order_ptr: IntVector  # list j has the entries order_ptr[j]:order_ptr[j + 1] of orders
    first: IntVector  # token k has the lists first[k]:first[k + 1]


def read_tokens(tokens: Any, shown: Any, numbers: IntVector, owners: Any, kept: FloatVector) -> list[Pages]:
    """Read the tokens of a batch. A token must list the documents ``shown``.

    numbers, owners: outputs, with an entry for each shown document of the batch.
    kept: output, with an entry for each row of the batch.
    """
    import duckdb

    batch = pa.table({"row": np.arange(len(tokens)), "token": tokens, "shown": shown})
    in_form = pc.match_substring_regex(batch["token"], _FORM)
    short = pc.less_equal(pc.binary_length(batch["token"]), LONGEST_TEXT)
    with duckdb.connect() as engine:
        engine.register("tokens", batch.filter(pc.and_(in_form, short)))
        table = engine.sql(_SQL).to_arrow_table()
    if not len(table := table.filter(table["fit"]).combine_chunks()):
        return []
    column = {name: table[name].chunk(0) for name in table.column_names}
    orders, first = ragged(column["orders"])
    (values, stored), (own, ptr) = ragged(column["kept"]), ragged(column["numbers"])
    parsed = Parsed(ragged(column["owners"])[0], own, ptr, *ragged(orders), first)
    heads = column["head"].dictionary_encode()
    contents, code = [read_head(text) for text in heads.dictionary.to_pylist()], heads.indices.to_numpy()
    kinds = [head and (head.method, head.outcome, len(head.rankers), head.keeps) for head in contents]
    pages, row, start = [], column["row"].to_numpy(), ragged(shown)[1]
    for kind in dict.fromkeys(filter(None, kinds)):
        *_, rankers, keeps = kind
        members = [k for k, other in enumerate(kinds) if other == kind]
        some = np.flatnonzero(np.isin(code, members) & (np.diff(first) == rankers) & (np.diff(stored) == keeps))
        query_ptr = np.concatenate([[0], np.cumsum(np.diff(parsed.order_ptr)[first[some]])])
        order, rank = (np.zeros((rankers, query_ptr[-1]), np.int16) for _ in range(2))
        lists, marks = Lists(order, rank, query_ptr), np.zeros(len(some), np.uint8)
        fill_lists(parsed, some, lists, marks, start[row[some]], numbers, owners)
        query = np.flatnonzero(marks)
        at = some[query]
        if keeps:
            kept[row[at]] = values[stored[at]]
        if len(at):
            pages.append(Pages(row[at], query, [head for k in code[at] if (head := contents[k])], lists))
    return pages


@lru_cache(_REMEMBERED)
def read_head(text: str) -> Head | None:
    """Return the content of the first part of a token; None if `Page.from_json` must read the token."""
    try:
        orders = ",".join(["[0]"] * len(json.loads(text + "]}")["rankers"]))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    for kept in ("", "0.5"):
        token = f'{text}{_TO_SHOWN}[0],"owners":[-1],"numbers":[0],"orders":[{orders}],"kept":[{kept}]}}'
        with suppress(InputError):
            if (page := Page.from_json(token)).to_json() == token:
                return Head(str(page.method), page.outcome, page.rankers, len(page.kept))
    return None


@kernel
def fill_lists(
    parsed: Parsed, some: IntVector, lists: Lists, marks: MarkVector, start: IntVector, numbers: IntVector, owners: Any
) -> None:
    """Copy the content of tokens to the outputs, and mark the tokens that are valid pages."""
    rankers = lists.order.shape[0]
    for n, k in enumerate(some):
        base, right = lists.query_ptr[n], True
        size = lists.query_ptr[n + 1] - base
        for a in range(rankers):
            begin, end = parsed.order_ptr[parsed.first[k] + a], parsed.order_ptr[parsed.first[k] + a + 1]
            right = right and end - begin == size
            for r in range(size if right else 0):
                d = parsed.orders[begin + r]
                right = right and 0 <= d < size and lists.rank[a, base + d] == 0
                if right:
                    lists.order[a, base + r] = d
                    lists.rank[a, base + d] = r + 1
        for p in range(parsed.ptr[k], parsed.ptr[k + 1]):
            number, owner, to = parsed.numbers[p], parsed.owners[p], start[n] + p - parsed.ptr[k]
            right = right and 0 <= number < size and -1 <= owner < rankers
            for q in range(parsed.ptr[k], p):
                right = right and parsed.numbers[q] != number
            numbers[to], owners[to] = number, owner
        marks[n] = right
