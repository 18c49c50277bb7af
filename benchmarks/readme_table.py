"""The table of measured numbers in the README; each number is a row of the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.record import Found
from benchmarks.words import number, seconds

Rows = dict[str, Found]


def table(rows: Rows) -> str:
    """Return the sentence on the machines, and the table without lines that were not measured."""
    machines = dict.fromkeys(f"{row['machine']}, {row['date']}" for row in rows.values())
    told = f"One core unless stated ({'; '.join(machines)}). `make bench` measures [all tables](docs/performance.md)."
    return told + "\n\n| | |\n| --- | --- |\n" + "".join(f"| {what} | {figure} |\n" for what, figure in lines(rows))


def lines(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield a description and its measured number."""
    rows = {name: row for name, row in rows.items() if "rate" in row}
    published = all(row["matrix"] == "published" for row in rows.values() if row.get("K") in (64, 136))
    where = f"{'published ' * published}matrices of 64 and 136 rankers, and one of 500"
    if figure := "; ".join(filter(None, (_road(rows, name) for name in ("msl30k", "yahoo1", "istella")))):
        told = "time at the first reading, time from the cache, largest memory (all cores)"
        yield f"feature text to the matrix of all features: {told}", figure
    if rates := _rates(rows, [f"bandits:rucb-{size}-1e6" for size in (64, 136, 500)]):
        yield f"RUCB: `simulate` from the first step, a million steps, {where}", f"{rates} steps a second"
    if rates := _rates(rows, [f"comparisons:probabilistic-2-{documents}" for documents in (10, 100)]):
        yield "probabilistic interleave, clicks and exact credit, 10 / 100 documents", f"{rates} comparisons a second"
    if (plain := rows.get("matrices:519-4000")) and (fewer := rows.get("matrices:519-324-variance")):
        title = (
            "all pairs of 519 rankers, 4,000 comparisons each, or 324 with variance reduction and the same standard"
            " error (all cores)"
        )
        yield title, f"{seconds(plain['wall'])} / {seconds(fewer['wall'])}"
    if (first := rows.get("waiting:first-use")) and (later := rows.get("waiting:simulate")):
        figure = f"{seconds(first['wall'])}, then {seconds(later['wall'])}"
        yield "`ltr-duel simulate` on a small matrix: first use of a policy, then each time", figure


def _road(rows: Rows, name: str) -> str:
    first, later = (rows.get(f"full:{name}-matrix-{time}") for time in ("first", "second"))
    if not first or not later:
        return ""
    size = f"{first['documents'] / 1e6:.3g} M documents x {first['features']}"
    return f"{size}: {seconds(first['wall'])}, {seconds(later['wall'])}, {first['peak'] / 1e3:.2g} GB"


def _rates(rows: Rows, names: list[str]) -> str:
    if not all(name in rows for name in names):
        return ""
    return " / ".join(number(rows[name]["rate"]) for name in names)
