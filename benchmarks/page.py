"""``python -m benchmarks.page [FILE]`` writes the results into docs/performance.md and README.md.

Tables stand between ``<!-- measured: NAME -->`` and ``<!-- end of measured -->``; all their numbers are generated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import readme_table
from benchmarks.peers import Peer, cell, of_comparison, of_policy, sentences
from benchmarks.picture import draw
from benchmarks.record import FILE, ROOT, Found, read
from benchmarks.words import number, seconds, steps

PAGES = (ROOT / "docs" / "performance.md", ROOT / "README.md")
PICTURE = ROOT / "docs" / "performance_growth.png"
_PLACE = re.compile(r"(<!-- measured: ([\w -]+) -->\n).*?(<!-- end of measured -->)", re.S)

Rows = dict[str, Found]


def markdown(header: list[str], lines: list[list[str]]) -> str:
    """Return a table, or a sentence if there are no lines."""
    if not lines:
        return "\nNot measured.\n\n"
    every = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(one)} |\n" for one in every)


def of(rows: Rows, subject: str, *, refused: bool = False) -> list[Found]:
    """Return the rows of a subject, on request with the refused rows."""
    return [row for row in rows.values() if row["subject"] == subject and (refused or "rate" in row)]


def memory(row: Found) -> str:
    """Write the largest memory of a process in megabytes."""
    return f"{row['peak']:,.0f}"


def time(row: Found) -> str:
    """Write the elapsed time."""
    return seconds(row["wall"])


def work(row: Found) -> str:
    """Write the processor time, summed over all cores."""
    return seconds(row["cpu"])


def rate(row: Found) -> str:
    """Write the rate per second."""
    return number(row["rate"])


def amount(row: Found) -> str:
    """Write the amount with its unit."""
    return f"{row['amount']:,.0f} {row['unit']}"


def call(row: Found) -> str:
    """Write the call as code, or as plain text if the row has a description instead of a call."""
    return row["call"] if row["name"].startswith(("first-use", "http-")) else f"`{row['call']}`"


def kept(row: Found) -> str:
    """Write the files and megabytes that an experiment stores in its folder."""
    return f"{row['files']:,.0f} files, {row['MB on disk']:,.0f} MB" if "files" in row else ""


def plain(subject: str, columns: dict[str, Callable[[Found], str]]) -> Callable[[Rows], str]:
    """Return a function that makes a table with a line for each row of a subject."""
    return lambda rows: markdown(list(columns), [[cell(row) for cell in columns.values()] for row in of(rows, subject)])


def machine(rows: Rows) -> str:
    """List the machines, versions, and dates of the measurements."""
    told = dict.fromkeys(
        f"{row['machine']}; Python {row['python']}, numpy {row['numpy']}, numba {row['numba']};"
        f" ltr_duel {row['version']} ({row['git']}); {row['date']}"
        for row in rows.values()
    )
    return "".join(f"- {one}\n" for one in told)


def bandits(rows: Rows, size: int) -> str:
    """Make the table of one size of matrix: two horizons and the best other program."""
    found: dict[str, dict[int, Found]] = {}
    for row in of(rows, "bandits"):
        if row["K"] == size:
            found.setdefault(row["policy"], {})[row["T"]] = row
    lines, peers = [], list[Peer]()
    for policy, runs in found.items():
        peer = of_policy(policy, size)
        peers += [peer] * bool(peer)
        line = [f"`{policy}`"]
        for horizon in (100_000, 1_000_000):
            row = runs.get(horizon)
            line += [number(row["rate"]), seconds(row["cpu"]), memory(row)] if row else ["", "", ""]
        lines.append([*line, cell(peer, number(peer.rate) if peer else ""), peer.name if peer else ""])
    header = ["policy", "T = 10^5: steps/s", "CPU", "MB", "T = 10^6: steps/s", "CPU", "MB", "best other", "program"]
    where = "".join(sorted({f" ({row['matrix']})" for row in of(rows, "bandits") if row["K"] == size}))
    return f"\nMatrix of {size} rankers{where}:\n\n" + markdown(header, lines) + said(peers)


def said(peers: list[Peer]) -> str:
    """Describe below a table how the other programs were measured."""
    return "".join(f"\n{sentence}\n" for sentence in sentences(peers))


def comparisons(rows: Rows) -> str:
    """Make the table of methods."""
    lines, peers = [], list[Peer]()
    for row in of(rows, "comparisons"):
        peer = of_comparison(row["name"])
        peers += [peer] * bool(peer)
        own = [row["method"], str(row["rankers"]), str(row["documents"]), number(row["rate"])]
        lines.append([*own, memory(row), cell(peer, number(peer.rate) if peer else ""), peer.name if peer else ""])
    header = ["method", "rankers", "documents", "per second", "MB", "best other", "program"]
    return markdown(header, lines) + said(peers)


def growth(rows: Rows) -> str:
    """Make a table of policies by K."""
    found = of(rows, "growth", refused=True)
    sizes = sorted({row["K"] for row in found})
    lines = []
    for policy in dict.fromkeys(row["policy"] for row in found):
        mine = {row["K"]: row for row in found if row["policy"] == policy}
        lines.append([f"`{policy}`", *(step(mine[size]) if size in mine else "" for size in sizes)])
    return markdown(["policy", *(f"K = {size:,}" for size in sizes)], lines)


def refusals(rows: Rows) -> str:
    """List the refused rows with the reasons."""
    found = [row for row in of(rows, "growth", refused=True) if "refused" in row]
    lines = "".join(f"- `{row['policy']}`, K = {row['K']:,}: {row['refused']}\n" for row in found)
    return f"\nRefused:\n\n{lines}" if found else ""


def step(row: Found) -> str:
    """Write the time of a step and the number of measured steps."""
    return "refused" if "refused" in row else f"{seconds(1 / row['rate'])} ({steps(row['T'])})"


def full(rows: Rows) -> str:
    """Make the tables of all stages at full size: the first time, and from the cache."""
    tables, found = "", of(rows, "full")
    for name, share in dict.fromkeys((row["corpus"], row["share"]) for row in found):
        here = [row for row in found if (row["corpus"], row["share"]) == (name, share)]
        stages: dict[str, list[Found]] = {}
        for row in here:
            stages.setdefault(row["call"], []).append(row)
        size = f"{here[0]['documents']:,} documents, {here[0]['queries']:,} queries, {here[0]['features']} features"
        lines = []
        for typed, both in stages.items():
            times = {row["time"]: [time(row), memory(row)] for row in both}
            nothing = ["", ""]
            lines.append([f"`{typed}`", *times.get("first", times.get("", nothing)), *times.get("second", nothing)])
        header = ["call", "first time", "MB", "second time", "MB"]
        tables += f"\n`{name}`{'' if share == 1 else f', {share:g} of it'}: {size}\n\n{markdown(header, lines)}"
    return tables or markdown([], [])


BLOCKS: dict[str, Callable[[Rows], str]] = {
    "machine": machine,
    "full": full,
    "waiting": plain("waiting", {"task": call, "time": time, "CPU, all cores": work, "MB": memory}),
    "bandits 64": lambda rows: bandits(rows, 64),
    "bandits 500": lambda rows: bandits(rows, 500),
    "comparisons": comparisons,
    "matrices": plain(
        "matrices",
        {
            "comparisons a pair": lambda row: f"{row['comparisons a pair']:,}",
            "variance reduction": lambda row: row["variance reduction"],
            "time": time,
            "CPU, all cores": work,
            "comparisons/s": rate,
            "MB": memory,
        },
    ),
    "files": plain(
        "files",
        {
            "text": lambda row: row["text"],
            "call": call,
            "file": amount,
            "MB/s": rate,
            "time": time,
            "MB of memory": memory,
        },
    ),
    "logs": plain(
        "logs",
        {
            "basis of credit": lambda row: row["credit by"],
            "impressions": lambda row: f"{row['impressions']:,}",
            "time": time,
            "CPU, all cores": work,
            "impressions/s": rate,
            "MB": memory,
        },
    ),
    "live": plain("live", {"task": call, "amount": amount, "per second": rate, "CPU": work, "MB": memory}),
    "store": plain(
        "store",
        {
            "call": call,
            "runs": lambda row: f"{row['runs']:,}",
            "CPU": work,
            "per run": lambda row: seconds(row["cpu"] / row["amount"]),
            "MB": memory,
            "stored": kept,
        },
    ),
    "growth time": lambda rows: growth(rows) + refusals(rows),
    "readme": readme_table.table,
}


def renewed(page: str, rows: Rows) -> str:
    """Return the text of a page with current tables."""
    return _PLACE.sub(lambda place: place[1] + BLOCKS[place[2]](rows) + place[3], page)


def outdated(rows: Rows) -> Iterator[tuple[Path, str]]:
    """Yield each outdated page with its current text."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if renewed(page, rows) != page:
            yield path, renewed(page, rows)


def main() -> None:
    """Update the pages and the picture."""
    rows = read(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)
    for path, page in outdated(rows):
        path.write_text(page, encoding="utf-8")
        print(path)
    if found := of(rows, "growth"):
        print(draw(found, PICTURE))


if __name__ == "__main__":
    main()
