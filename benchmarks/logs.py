"""Click logs: ``ltr-duel logs compare`` with intervals and a look each hour, from Parquet, in each form of credit."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.row import Row, command, scratch
from ltr_duel.interleaving import interleave
from ltr_duel.logs import LOG_COLUMNS, write_log

_AT_ONCE = 1 << 16
_POOL, _DOCUMENTS, _SHOWN = 20_000, 20, 10
FORMS = {
    "owners": ("rankers", "owners"),
    "rankings": ("rankers", "rankings", "method"),
    "page tokens": ("page",),
}


def write_large_log(path: Path, impressions: int, form: str) -> None:
    """Write a log of two rankers: ten of twenty documents shown, up to two clicks, five impressions a user.

    The pages are drawn from 20,000 different ones, made by team draft for logs with owners, else by probabilistic
    interleaving.
    """
    rng = np.random.default_rng(0)
    columns = _pages("team_draft" if form == "owners" else "probabilistic", FORMS[form], rng)
    with write_log(path, ("impression", "time", "user", "clicks", *columns)) as log:
        for start in range(0, impressions, _AT_ONCE):
            n = min(_AT_ONCE, impressions - start)
            clicks, drawn = rng.integers(0, 3, n), pa.array(rng.integers(0, _POOL, n))
            ends = np.concatenate([[0], np.cumsum(clicks)]).astype(np.int32)
            places = rng.integers(1, _SHOWN + 1, clicks.sum()).astype(np.int32)
            log.write(
                {
                    "impression": pa.array(np.arange(start, start + n)).cast(pa.string()),
                    "time": pa.array(np.arange(start, start + n) / 10),
                    "user": pa.array(rng.integers(0, max(impressions // 5, 1), n)).cast(pa.string()),
                    "clicks": pa.ListArray.from_arrays(pa.array(ends), pa.array(places)),
                    **{name: column.take(drawn) for name, column in columns.items()},
                }
            )


def _pages(method: str, columns: tuple[str, ...], rng: np.random.Generator) -> dict[str, pa.Array]:
    """Return query, list and what credit rests on of different pages."""
    rows = []
    for number in range(_POOL):
        ids = [str(document) for document in rng.choice(10**6, _DOCUMENTS, replace=False)]
        rankings = {name: [ids[k] for k in rng.permutation(_DOCUMENTS)] for name in ("old", "new")}
        page = interleave(rankings, method, top=_SHOWN, rng=rng)
        owners = [-1 if owner is None else page.rankers.index(owner) for owner in page.owners]
        rows.append((str(number), page.shown, page.rankers, owners, list(rankings.values()), page.method))
        rows[-1] += (page.to_json(),)
    names = ("query", "shown", "rankers", "owners", "rankings", "method", "page")
    made = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {name: pa.array(made[name], LOG_COLUMNS[name].kind) for name in ("query", "shown", *columns)}


def rows() -> list[Row]:
    """A million impressions of each form; ten millions, if they are asked for."""
    made = []
    for form in FORMS:
        for impressions, when in ((1_000_000, "usual"), (10_000_000, "asked")):
            made.append(
                Row(
                    f"{form.replace(' ', '-')}-1e{len(str(impressions)) - 1}",
                    "ltr-duel logs compare clicks.parquet --stop-at 0.95",
                    impressions,
                    "impressions",
                    partial(prepare, form, impressions),
                    {"credit by": form, "impressions": impressions},
                    clock="wall",
                    when=when,
                )
            )
    return made


def prepare(form: str, impressions: int):
    """Write the log, and let the command compile what it needs."""
    path, small = scratch() / "clicks.parquet", scratch() / "few.parquet"
    write_large_log(small, 1000, form)
    command("logs", "compare", small, "--stop-at", "0.95")
    write_large_log(path, impressions, form)
    return lambda: command("logs", "compare", path, "--stop-at", "0.95")
