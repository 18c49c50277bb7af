"""``python -m tests.mutants [--count 200] [--only ltr_duel/bandits/policies/rucb.py]``: who survives, and a table.

The same mutants are drawn each time, as long as their lines stand: those with the smallest digests on each floor.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time

os.environ |= {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
os.environ.setdefault("LTR_DUEL_HOME", tempfile.mkdtemp(prefix="mutants-"))

from tests.mutants.equivalent import reason_of
from tests.mutants.making import Mutant, mutants
from tests.mutants.running import ROOT, Verdict, preload, run_tests
from tests.mutants.targets import FLOORS, mutated_files, tests_of

Outcome = tuple[Mutant, Verdict]


def draw(count: int, only: str, skip: int) -> list[Mutant]:
    """Return the mutants to run, floor by floor; ``only`` restricts them to paths that begin with it."""
    drawn = []
    for floor, share in FLOORS.items():
        paths = [path for path in mutated_files(floor) if path.startswith(only)]
        found = [mutant for path in paths for mutant in mutants(path, (ROOT / path).read_text())]
        found = one_a_line(sorted(found, key=lambda mutant: mutant.digest))
        wanted = count if only else round(share * count / sum(FLOORS.values()))
        drawn += sorted(found[skip : skip + wanted], key=lambda mutant: (mutant.path, mutant.number))
    return drawn


def one_a_line(found: list[Mutant]) -> list[Mutant]:
    """Return the first mutant of each line."""
    first: dict[tuple[str, int], Mutant] = {}
    for mutant in found:
        first.setdefault((mutant.path, mutant.number), mutant)
    return list(first.values())


def main() -> int:
    """Run the mutants; the exit status is 1 if one survived without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many mutants")
    parser.add_argument("--only", default="", metavar="PATH", help="only files whose path begins so")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of each floor: others are drawn")
    options = parser.parse_args()
    os.chdir(ROOT)
    preload()
    limits: dict[str, float] = {}
    outcomes: list[Outcome] = []
    start = time.monotonic()
    for mutant in draw(options.count, options.only, options.skip):
        tests, text = tests_of(mutant.path), (ROOT / mutant.path).read_text()
        selection = " ".join(tests)
        if selection not in limits:
            untouched = run_tests(tests, mutant.path, text, limit=600)
            if untouched.died:
                print(f"{mutant.path}: its tests fail without a change: {untouched.by}", flush=True)
            limits[selection] = 0 if untouched.died else 20 + 5 * untouched.seconds
        if not limits[selection]:
            continue
        verdict = run_tests(tests, mutant.path, mutant.of(text), limits[selection])
        outcomes.append((mutant, verdict))
        print(line(mutant, verdict), flush=True)
    print(f"\n{table(outcomes)}\n\n{time.monotonic() - start:.0f} s", flush=True)
    return int(any(not verdict.died and not reason_of(mutant) for mutant, verdict in outcomes))


def line(mutant: Mutant, verdict: Verdict) -> str:
    """Say what became of a mutant."""
    reason = reason_of(mutant)
    fate = "died" if verdict.died else "equivalent" if reason else "SURVIVED"
    where = f"{mutant.path}:{mutant.number}"
    if verdict.died:
        return f"{fate:10} {verdict.seconds:5.1f} s  {where}  {mutant.after.strip()}  <- {verdict.by}"
    return f"{fate:10} {verdict.seconds:5.1f} s  {where}  {mutant.before.strip()}  ->  {mutant.after.strip()}  {reason}"


def table(outcomes: list[Outcome]) -> str:
    """Return the counts of each floor, as Markdown."""
    rows = ["| floor | mutants | died | equivalent | survived |", "| --- | --- | --- | --- | --- |"]
    for floor in [*FLOORS, ""]:
        here = [(m, v) for m, v in outcomes if m.path.startswith(f"ltr_duel/{floor}")]
        died = sum(verdict.died for _, verdict in here)
        equal = sum(not verdict.died and bool(reason_of(mutant)) for mutant, verdict in here)
        counts = f"{len(here)} | {died} | {equal} | {len(here) - died - equal}"
        rows.append(f"| {floor or 'all'} | {counts} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
