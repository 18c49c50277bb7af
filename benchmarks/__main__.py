"""Measure the named rows, or the usual rows; print the results and write them to the file of results."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from benchmarks.record import FILE, ROOT, Found, circumstances, read, write
from benchmarks.row import Row
from benchmarks.words import number, seconds
from ltr_duel.core import cache_home

SUBJECTS = (
    "full",
    "waiting",
    "bandits",
    "comparisons",
    "lists",
    "matrices",
    "files",
    "logs",
    "live",
    "store",
    "growth",
)
USUAL = "usual"
_TOO_LONG = 2.0  # seconds: if a smaller row takes longer, the larger row is not measured


def main() -> None:
    """Parse the command line and measure the chosen rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"SUBJECT, SUBJECT:PART, or {USUAL}; {', '.join(SUBJECTS)}"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a few rows of each subject, about a minute; the subject full runs at a tenth of its size",
    )
    parser.add_argument("--data", type=Path, help="folder with published matrices (see benchmarks/published.py)")
    parser.add_argument("--out", type=Path, default=FILE, help="the file of results, which is updated")
    parser.add_argument("--list", action="store_true", help="list the rows without measuring")
    given = parser.parse_args()
    if given.data:
        os.environ["LTR_DUEL_BENCHMARK_DATA"] = str(given.data.resolve())
    chosen = [(subject, row) for subject, row in every() if wanted(subject, row, given.names, quick=given.quick)]
    if not chosen:
        parser.error(f"no row has such a name: {' '.join(given.names)}")
    if given.list:
        print("\n".join(f"{subject}:{row.name:32} {row.call}" for subject, row in chosen))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LTR_DUEL_BENCHMARK_SCRATCH"] = folder
        os.environ["LTR_DUEL_HOME"] = str(cache_home().resolve())
        measure(chosen, given.out)


def every() -> list[tuple[str, Row]]:
    """Return the rows of all subjects, in the order of the page."""
    return [(subject, row) for subject in SUBJECTS for row in import_module(f"benchmarks.{subject}").rows()]


def wanted(subject: str, row: Row, names: list[str], *, quick: bool) -> bool:
    """Return whether a row was requested."""
    if not {USUAL, subject}.isdisjoint(names or [USUAL]) and (
        row.when == "quick" or (row.when == "usual" and not quick)
    ):
        return True
    sized = row.when in ("full", "tenth")
    parts = [name.partition(":") for name in names]
    named = any(
        one == subject and (re.search(rf"{re.escape(part)}(?!\d)", row.name) if part else sized)
        for one, _, part in parts
    )
    return named and row.when != ("full" if quick else "tenth")


def measure(chosen: list[tuple[str, Row]], out: Path) -> None:
    """Measure the rows in turn; update the file of results after each row, so that an interruption loses only one."""
    known, where, began = read(out), circumstances(), time.monotonic()
    print(f"{where['machine']}; Python {where['python']}, numpy {where['numpy']}, numba {where['numba']}\n")
    order = [f"{subject}:{row.name}" for subject, row in every()]
    taken: dict[str, float] = {}
    for subject, row in chosen:
        if row.after and taken.get(f"{subject}:{row.after}", 0.0) > _TOO_LONG:
            taken[f"{subject}:{row.name}"] = 10 * _TOO_LONG
            known.pop(f"{subject}:{row.name}", None)
            continue
        found = apart(subject, row)
        taken[f"{subject}:{row.name}"] = float(found.get("cpu", 0.0))
        about = {"subject": subject, "name": row.name, "call": row.call, "unit": row.unit, **row.facts}
        known[f"{subject}:{row.name}"] = about | found | where
        print(line(subject, row, found), flush=True)
        write({name: known[name] for name in order if name in known}, out)
    print(f"\n{seconds(time.monotonic() - began)} in all; {out}")


def apart(subject: str, row: Row) -> Found:
    """Measure a row in a separate process; if that process had to compile, measure again in a second process."""
    words = [sys.executable, "-m", "benchmarks.child", subject, row.name]
    for _ in range(2):
        child = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
        if child.returncode:
            why = (child.stderr.strip().splitlines() or [f"ended with {child.returncode}"])[-1]
            return {"refused": why.partition("InputError: ")[2] or why}
        found: Found = json.loads(child.stdout.splitlines()[-1])
        if not found.pop("compiled"):
            break
    return found


def line(subject: str, row: Row, found: Found) -> str:
    """Return the printed line of a result."""
    title = f"{subject}:{row.name}".ljust(44)
    if "refused" in found:
        return f"{title} {found['refused']}"
    rate = f"{number(found['rate'])} {row.unit}/s"
    return f"{title} {rate:>28} {seconds(found['cpu']):>9} of CPU {found['peak']:>7,.0f} MB"


if __name__ == "__main__":
    main()
