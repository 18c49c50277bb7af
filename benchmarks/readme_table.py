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
    if (first := rows.get("full:msl30k-matrix-first")) and (later := rows.get("full:msl30k-matrix-second")):
        read = f"{first['features']} features, read from the text of {first['documents'] / 1e6:.3g} M documents"
        figure = f"{seconds(first['wall'])}, then {seconds(later['wall'])}"
        yield f"preference matrix of {read} (all cores): first run, later runs from the cache", figure
    if row := rows.get("bandits:rucb-64-1e6"):
        yield "RUCB on 64 rankers, a million steps", f"{number(row['rate'])} steps a second"
    if row := rows.get("comparisons:probabilistic-2-10"):
        yield (
            "probabilistic interleave of 10 documents, clicks and credit",
            f"{number(row['rate'])} comparisons a second",
        )
    if row := rows.get("matrices:519-324-variance"):
        yield (
            "all 134,421 pairs of 519 rankers, with a standard error of .007 each (all cores)",
            seconds(row["wall"]),
        )
    if row := rows.get("waiting:simulate"):
        yield "`ltr-duel simulate` on a small matrix", seconds(row["wall"])
