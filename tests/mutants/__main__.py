"""``python -m tests.mutants [--count 200] [--only ltr_duel/bandits/policies/rucb.py]``: run the tests on mutants.

The program prints the survivors and a table. The same mutants are sampled each time while their lines are unchanged:
the mutants with the smallest digests on each floor.
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
from tests.mutants.running import ROOT, OneModule, Verdict, preload, run_tests
from tests.mutants.targets import FLOORS, mutated_files, tests_of

Outcome = tuple[Mutant, Verdict]


def draw(count: int, only: str, skip: int) -> tuple[list[Mutant], list[Mutant]]:
    """Return the mutants to run, floor by floor, and the skipped equivalent mutants.

    ``only`` restricts the mutants to paths with this prefix; ``skip`` mutants are skipped on each floor.
    """
    drawn, passed_over = [], []
    for floor, share in FLOORS.items():
        paths = [path for path in mutated_files(floor) if path.startswith(only)]
        found = [mutant for path in paths for mutant in mutants(path, (ROOT / path).read_text())]
        found = one_a_line(sorted(found, key=lambda mutant: mutant.digest))
        tellable = [mutant for mutant in found if not reason_of(mutant)]
        wanted = tellable[skip : skip + (count if only else round(share * count / sum(FLOORS.values())))]
        drawn += sorted(wanted, key=lambda mutant: (mutant.path, mutant.number))
        passed_over += [m for m in found if reason_of(m) and wanted and m.digest < wanted[-1].digest]
    return drawn, passed_over


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
    outcomes: list[Outcome] = []
    start = time.monotonic()
    drawn, passed_over = draw(options.count, options.only, options.skip)
    for mutant in drawn:
        text = (ROOT / mutant.path).read_text()
        verdict = run_tests(tests_of(mutant.path), OneModule(mutant.path, mutant.of(text)))
        outcomes.append((mutant, verdict))
        print(line(mutant, verdict), flush=True)
    false = failing_anyway(outcomes)
    for mutant in passed_over:
        print(f"equivalent  {mutant.path}:{mutant.number}  {mutant.after.strip()}: {reason_of(mutant)}")
    print(f"\n{table(outcomes, passed_over)}\n\n{time.monotonic() - start:.0f} s", flush=True)
    for test in false:
        print(f"fails without any change, so what it says of mutants does not count: {test}")
    return int(bool(false) or not all(verdict.died for _, verdict in outcomes))


def failing_anyway(outcomes: list[Outcome]) -> tuple[str, ...]:
    """Run the tests that detected a mutant again without a mutant: none may fail."""
    tests = sorted({test for _, verdict in outcomes for test in verdict.by if "::" in test})
    return run_tests(tests, until_first_failure=False).by if tests else ()


def line(mutant: Mutant, verdict: Verdict) -> str:
    """Return the result of a mutant."""
    where = f"{verdict.seconds:5.1f} s  {mutant.path}:{mutant.number}"
    if verdict.died:
        return f"died      {where}  {mutant.after.strip()}  <- {', '.join(verdict.by)}"
    return f"SURVIVED  {where}  {mutant.before.strip()}  ->  {mutant.after.strip()}"


def table(outcomes: list[Outcome], passed_over: list[Mutant]) -> str:
    """Return the counts of each floor, as Markdown."""
    rows = ["| floor | mutants | died | survived | passed over as equivalent |", "| --- | --- | --- | --- | --- |"]
    for floor in [*FLOORS, ""]:
        here = [verdict.died for mutant, verdict in outcomes if mutant.path.startswith(f"ltr_duel/{floor}")]
        equal = sum(mutant.path.startswith(f"ltr_duel/{floor}") for mutant in passed_over)
        rows.append(f"| {floor or 'all'} | {len(here)} | {sum(here)} | {len(here) - sum(here)} | {equal} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
