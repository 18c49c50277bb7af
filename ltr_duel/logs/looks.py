"""How a comparison came about: its state at the end of each hour, day or week."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector
from ltr_duel.logs.clusters import Means, cautious_of_moments, naive_means, two_way
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import _KINDS, Sequences

_STEPS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400, 364 * 86400)  # seconds
_MOST = 64  # looks


class Look(NamedTuple):
    """The state of the comparison at a time; arrays have one entry for each pair of the log."""

    time: float
    impressions: int
    outcomes: FloatVector  # of each pair
    mean: FloatVector
    cautious: Means  # for intervals
    sequences: Sequences


def step_of(first: float, last: float) -> float:
    """Return the seconds between two looks: as few as give at most 64 of them."""
    return next((step for step in _STEPS if (last - first) / step < _MOST), max(last - first, 1.0) / (_MOST - 1))


def days_to_a_whole_week(days: float) -> float:
    """Return the days until two weeks or more end with a week, within a day; else 0: days of a week may differ."""
    over = days % 7
    return 7 - over if days >= 14 and 1 < over < 6 else 0.0


def looks_of(engine: Engine, rows: Any, outcomes: Any, pairs: int, cluster: str, step: float) -> list[Look]:
    """Return the state of a comparison at the end of each step of the clock (UTC).

    The errors are those of `cautious_of_moments`; the comparison itself corrects each cluster by its own size.
    """
    block = (rows.time / step).floor().cast("int64")
    seen = engine.run(
        rows.group_by(block=block).agg(n=rows.count(), last=rows.time.max()).order_by("block")
    ).to_pydict()
    number = {one: k for k, one in enumerate(seen["block"])}
    shape = (len(number), pairs)

    def running(found: Any, name: str) -> FloatVector:
        out = np.zeros(shape)
        at = [number[one] for one in found["block"].to_pylist()], found["pair"].to_numpy()
        np.add.at(out, at, found[name].to_numpy().astype(np.float64))
        return out.cumsum(axis=0)

    t = outcomes.mutate(block=(outcomes.time / step).floor().cast("int64"))
    kinds, sequences, n, total = [], None, np.empty(0), np.empty(0)
    for keys in _KINDS.get(cluster, ()):
        found = engine.run(_moments(t, keys))
        moments = [running(found, name) for name in ("n", "total", "squares", "nn", "nt", "tt")]
        kinds.append(cautious_of_moments(*moments))
        n, total = moments[:2]  # the same for each kind of cluster
        if sequences is None and keys == ("user",):
            sequences = [running(found, name) for name in Sequences._fields]
    if sequences is None:
        found = engine.run(t.group_by("pair", "block").agg(**_sequence(t.y, t.square), **_plain(t)))
        sequences = [running(found, name) for name in Sequences._fields]
        if not kinds:
            n, total, squares = (running(found, name) for name in ("n", "total", "squares"))
            kinds = [naive_means(n + 2, total, squares + 2)]
    mean = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    means = two_way(*kinds) if cluster == "both" else kinds[0]
    impressions = np.cumsum(seen["n"]).tolist()
    return [
        Look(
            seen["last"][k],
            impressions[k],
            n[k],
            mean[k],
            Means(*(part[k] for part in means)),
            Sequences(*(s[k] for s in sequences)),
        )
        for k in range(len(number))
    ]


def _plain(t: Any) -> dict[str, Any]:
    return {"n": t.count(), "total": t.y.sum().cast("float64") / UNIT, "squares": t.square.sum().cast("float64") / UNIT}


def _sequence(y: Any, square: Any, where: Any = True) -> dict[str, Any]:
    """Return the sums of a sequence, of the observations that are marked."""
    between = where & (y.abs() != UNIT) & (y != 0)
    sums = {"wins": where & (y == UNIT), "losses": where & (y == -UNIT), "ties": where & (y == 0), "others": between}
    sums = {name: mark.ifelse(1, 0) for name, mark in sums.items()}
    sums |= {"lead": between.ifelse(y, 0) / UNIT, "square": between.ifelse(square, 0) / UNIT}
    return {name: value.sum() for name, value in sums.items()}


def _moments(t: Any, keys: tuple[str, ...]) -> Any:
    """Return by how much sums over clusters grow in each block: of outcomes, and of products of clusters' sums."""
    import ibis

    own = {"own": t.user.isnull().ifelse(t.line, -1)} if "user" in keys else {}
    order = t.line * (4 * UNIT) + (t.y + UNIT)
    cells = t.group_by("pair", "block", *keys, **own).agg(
        n=t.count().cast("float64"),
        total=t.y.sum().cast("float64") / UNIT,
        squares=t.square.sum().cast("float64") / UNIT,
        begin=order.min(),
    )
    before = ibis.window(group_by=["pair", *keys, *own], order_by="block", preceding=None, following=0)
    cells = cells.mutate(all_n=cells.n.sum().over(before), all_total=cells.total.sum().over(before))
    n, total = cells.all_n - cells.n, cells.all_total - cells.total
    y = cells.begin % (4 * UNIT) - UNIT
    square = (y.cast("float64") / UNIT) ** 2 * UNIT
    cells = cells.mutate(
        nn=cells.all_n**2 - n**2,
        nt=cells.all_n * cells.all_total - n * total,
        tt=cells.all_total**2 - total**2,
        y0=y,
        square0=square,
        new=n == 0,
    )
    sums = {name: cells[name].sum() for name in ("n", "total", "squares", "nn", "nt", "tt")}
    return cells.group_by("pair", "block").agg(**sums, **_sequence(cells.y0, cells.square0, cells.new))
