"""Read the outcomes in the log of earlier plans, and sort them by version, time and impression."""

from __future__ import annotations

from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError, IntVector, digest
from ltr_duel.live import Settings
from ltr_duel.logs import ClickLog, credited

ID = r"^([1-9][0-9]{0,8})-([0-9a-f]{16})$"
_MIX = np.uint64(0x9E3779B97F4A7C15)

Shown = tuple[tuple[int, ...], bytes]  # numbers of the rankers, and outcomes for `ltr_duel.bandits.Learner`


class Learned(NamedTuple):
    """The outcomes of each version of the plan, and a digest of all outcomes."""

    versions: dict[int, list[Shown]]
    rows: int
    digest: str


def outcomes_of(log: ClickLog, settings: Settings, before: float) -> Learned:
    """Credit the lists of a log that were shown before a time; a repeated impression counts once.

    Ties are broken by pseudorandom bits derived from the id of the impression.
    """
    found = credited(log, settings.rankers, columns=("impression", "rankers"))
    rows = log.engine.query("SELECT line, impression, time, rankers FROM t", t=found.rows)
    rows = rows.filter(pa.compute.less(rows["time"], before))
    names = rows["impression"].combine_chunks().to_pandas()
    parts = names.str.extract(ID)
    if parts[0].isna().any():
        at = int(np.flatnonzero(parts[0].isna())[0])
        place = log.find(rows["line"][at].as_py())
        raise InputError(f"{place}: impression '{names.iloc[at]}' belongs to no plan; valid: 3-0123456789abcdef")
    version = parts[0].to_numpy(np.int64)
    coins = np.array([int(one, 16) for one in parts[1]], np.uint64)
    table = log.engine.query("SELECT line, pair, y FROM t", t=found.outcomes)
    order = np.lexsort((coins, rows["time"].to_numpy(), version))
    lines, where = rows["line"].to_numpy(), np.argsort(table["line"].to_numpy(), kind="stable")
    ranked = table["line"].to_numpy()[where]
    begin, ends = (np.searchsorted(ranked, lines, side) for side in ("left", "right"))
    pair, y = table["pair"].to_numpy()[where], np.sign(table["y"].to_numpy()[where])
    given, sets = list(map(tuple, rows["rankers"].to_pylist())), dict[tuple[str, ...], _Set]()
    shown: list[tuple[int, Shown]] = []
    told = list[list[Any]]()
    for k in order.tolist():
        one = sets.get(given[k]) or sets.setdefault(given[k], _Set(found.creditor, settings, given[k]))
        signs = one.signs(pair[begin[k] : ends[k]], y[begin[k] : ends[k]], coins[k])
        shown.append((int(version[k]), (one.arms, signs)))
        told.append([names.iloc[k], one.arms, signs.hex()])
    versions = {v: [row for _, row in group] for v, group in groupby(shown, key=lambda row: row[0])}
    return Learned(versions, len(shown), digest.digest_of(told))


class _Set:
    """Rankers that were shown together, in the order of the log's row, and the indices of their pairs in the log."""

    def __init__(self, creditor: Any, settings: Settings, names: tuple[str, ...]) -> None:
        numbers = [creditor.names.index(name) for name in names]
        self.arms = tuple(settings.rankers.index(name) for name in names)
        known = [creditor.pair(a, b) for a, b in combinations(numbers, 2)]
        self._place = {number: place for place, (number, _) in enumerate(known)}
        self._sign = np.array([sign for _, sign in known], np.int64)

    def signs(self, pairs: IntVector, y: IntVector, coins: np.uint64) -> bytes:
        """Return one byte, +1 or -1, for each pair."""
        signs = np.zeros(len(self._sign), np.int64)
        signs[[self._place[one] for one in pairs.tolist()]] = y
        signs *= self._sign
        ties = np.flatnonzero(signs == 0)
        if len(ties):
            with np.errstate(over="ignore"):
                mixed = (np.full(len(ties), coins) ^ (ties.astype(np.uint64) + np.uint64(1))) * _MIX
            signs[ties] = 1 - 2 * (mixed >> np.uint64(63)).astype(np.int64)
        return signs.astype(np.int8).tobytes()
