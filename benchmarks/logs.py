"""Click logs: ``ltr-duel logs compare`` on Parquet files with each form of credit, and on exposures with events."""

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
    "page tokens": ("page",),
}


def write_large_log(path: Path, impressions: int, form: str) -> None:
    """Write a log of two rankers: ten of twenty documents shown, up to two clicks, five impressions per user.

    The pages are sampled from 20,000 different pages, made by team draft for logs with owners and otherwise by
    probabilistic interleaving.
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
    """Return columns of different pages: the query, the shown list, and the columns from which credit is computed."""
    rows = []
    for number in range(_POOL):
        ids = [str(document) for document in rng.choice(10**6, _DOCUMENTS, replace=False)]
        rankings = {name: [ids[k] for k in rng.permutation(_DOCUMENTS)] for name in ("old", "new")}
        page = interleave(rankings, method, top=_SHOWN, rng=rng)
        owners = [-1 if owner is None else page.rankers.index(owner) for owner in page.owners]
        rows.append((str(number), page.shown, page.rankers, owners, page.to_json()))
    names = ("query", "shown", "rankers", "owners", "page")
    made = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {name: pa.array(made[name], LOG_COLUMNS[name].kind) for name in ("query", "shown", *columns)}


def write_tables(folder: Path, exposures: int) -> list[str | Path]:
    """Write exposures of two rankers, ten documents each, and as many events; return the options for both files.

    Ids are strings whose order differs from the order of time. Each user has five exposures on average. In long logs,
    several exposures have the same time.
    """
    rng, seconds = np.random.default_rng(0), 28 * 86400 / exposures
    half = np.array([[k for _ in range(5) for k in rng.permutation(2)] for _ in range(1000)], np.int32)
    drafts = np.concatenate([half, 1 - half])
    files = [folder / "exposures.parquet", folder / "events.parquet"]
    with (
        write_log(files[0], ("impression", "time", "user", "query", "rankers", "owners")) as shown,
        write_log(files[1], ("impression", "time", "position")) as seen,
    ):
        for start in range(0, exposures, 1 << 20):
            n = min(1 << 20, exposures - start)
            time, owners = (
                1.77e9 + np.arange(start, start + n) * seconds // 0.01 / 100,
                drafts[rng.integers(0, 2000, n)],
            )
            impression = _ids(np.arange(start, start + n), 0x9E3779B97F4B, 48)
            at = np.sort(rng.integers(0, n, n))
            place = rng.integers(0, 10, n)
            place = np.where((owners[at, place] == 1) | (rng.random(n) < 0.98), place, 0)
            rankers = pa.array(["old", "new"]).take(pa.array(np.tile([0, 1], n)))
            shown.write(
                {
                    "impression": impression,
                    "time": pa.array(time),
                    "user": _ids(rng.integers(0, max(exposures // 5, 1), n), 0x9E3779B1, 32),
                    "query": pa.array((100_000 * rng.random(n) ** 3).astype(np.int64)).cast(pa.string()),
                    "rankers": pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32) * 2), rankers),
                    "owners": pa.ListArray.from_arrays(
                        pa.array(np.arange(n + 1, dtype=np.int32) * 10), pa.array(owners.ravel())
                    ),
                }
            )
            late = time[at] + rng.exponential(30, n) // 0.01 / 100
            events = {"impression": impression.take(pa.array(at)), "time": pa.array(late)}
            seen.write(events | {"position": pa.array(place.astype(np.int32) + 1)})
    return ["--exposures", files[0], "--events", files[1]]


def _ids(numbers: np.ndarray, factor: int, bits: int) -> pa.Array:
    """Return distinct strings of a fixed length for the numbers, in a different order."""
    shuffled = numbers.astype(np.uint64) * np.uint64(factor) & np.uint64(2**bits - 1)
    digits = shuffled[:, None] >> np.arange(bits - 4, -4, -4).astype(np.uint64) & np.uint64(15)
    data = np.frombuffer(b"0123456789abcdef", np.uint8)[digits.astype(np.intp)]
    ends = np.arange(len(numbers) + 1, dtype=np.int32) * (bits // 4)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(data.ravel()))


def rows() -> list[Row]:
    """Return the rows: a million impressions of each form and of exposures; ten and a hundred million if requested."""
    made = []
    for impressions, when in ((1_000_000, "usual"), (10_000_000, "asked"), (100_000_000, "asked")):
        made.append(
            Row(
                f"tables-1e{len(str(impressions)) - 1}",
                "ltr-duel logs compare --exposures exposures.parquet --events events.parquet",
                impressions,
                "impressions",
                partial(prepare_tables, impressions),
                {"credit by": "owners, with as many events", "impressions": impressions},
                clock="wall",
                when=when,
            )
        )
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


def prepare_tables(impressions: int):
    """Write exposures and events."""
    options = write_tables(scratch(), impressions)
    return lambda: command("logs", "compare", *options)


def prepare(form: str, impressions: int):
    """Write the log, and run the command once so that its kernels are compiled."""
    path, small = scratch() / "clicks.parquet", scratch() / "few.parquet"
    write_large_log(small, 1000, form)
    command("logs", "compare", small, "--stop-at", "0.95")
    write_large_log(path, impressions, form)
    return lambda: command("logs", "compare", path, "--stop-at", "0.95")
