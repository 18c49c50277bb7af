"""Reader of page tokens; tokens in the form that `Page.to_json` writes are read for many rows at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import IntVector
from ltr_duel.interleaving import Head, Listed, Lists, head_ends, read_head, scan_pages
from ltr_duel.logs.crediting import Clicked
from ltr_duel.logs.hashing import Spans, first_alike, table_for
from ltr_duel.logs.table import ragged, texts_of

_REMEMBERED = 1 << 14  # maximum number of cached heads
ANOTHER_LIST = "the page token belongs to another list than 'shown'"


class Pages(NamedTuple):
    """Rows whose tokens have the same head: method, outcome rule and rankers."""

    head: Head
    lists: Lists
    clicked: Clicked


class PageReader:
    """Reads page tokens batch by batch; parsed heads are cached."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head | None] = {}

    def read(self, tokens: Any, shown: Any, clicks: Any, rows: IntVector) -> tuple[list[Pages], IntVector]:
        """Return the rows that can be read together, and the rows that must be read one by one."""
        ids, ptr = ragged(shown)
        places, click_ptr = ragged(clicks)
        texts, documents = texts_of(tokens), texts_of(ids)
        begin, stop = texts.ptr[rows], texts.ptr[rows + 1]
        ends = np.empty(len(rows), np.int64)
        head_ends(texts.data, begin, stop, ends)
        cut = np.flatnonzero(ends >= 0)
        head = np.empty(len(cut), np.int64)
        first_alike(Spans(begin[cut], ends[cut], texts.data), table_for(len(cut)), head)
        numbers, owners = np.zeros(len(documents.ptr) - 1, np.int64), np.zeros(len(documents.ptr) - 1, np.int32)
        together, fit = [], np.zeros(len(rows), np.bool_)
        order = np.argsort(head, kind="stable")
        for same in np.split(cut[order], np.flatnonzero(np.diff(head[order])) + 1) if len(cut) else ():
            known = self._head(texts.data[begin[same[0]] : ends[same[0]]].tobytes())
            if known is None:
                continue
            part = rows[same]
            listed = Listed(*documents, ptr[part], ptr[part + 1])
            found = scan_pages(texts.data, ends[same], stop[same], len(known.rankers), listed, numbers, owners)
            query = np.flatnonzero(found.fit)
            if len(query):
                clicked = Clicked(part[query], query, ptr, numbers, owners, click_ptr, places)
                together.append(Pages(known, found.lists, clicked))
                fit[same[query]] = True
        return together, rows[~fit]

    def _head(self, text: bytes) -> Head | None:
        if text not in self._heads:
            if len(self._heads) >= _REMEMBERED:
                self._heads.clear()
            self._heads[text] = read_head(text)
        return self._heads[text]
