"""All stages (text, orders, matrix, bandits) at the size of well-known corpora, the first time and from the cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.row import Cost, Row, command, scratch
from benchmarks.surrogates import SHAPES, Shape, write_surrogate

COMPARISONS = {"msl30k": 400, "yahoo1": 400, "istella": 100}  # comparisons of each pair
KEPT = ("corpora", "arrays")  # parts of the cache that the second time reads
FOLDER = (
    "LTR_DUEL_BENCHMARK_SURROGATES"  # a folder that keeps surrogates; by default they are deleted after the measurement
)


def rows() -> list[Row]:
    """Return the stages of each corpus; with ``--quick``, of a tenth of each corpus."""
    return [row for share in (1.0, 0.1) for name in SHAPES for row in stages(name, share)]


def stages(name: str, share: float) -> list[Row]:
    """Return the rows of a corpus: all stages as one command, each stage alone, and the two kinds of simulation."""
    comparisons, part = COMPARISONS[name], "" if share == 1 else "tenth-"
    estimate = f"estimate_preferences(rankers, comparisons={comparisons})"
    calls = [
        ("matrix", f"ltr-duel prefs estimate FILE --comparisons {comparisons} --out MATRIX", True),
        ("read", "load_dataset(file)", True),
        ("order", "feature_rankers(dataset)", True),
        ("estimate", estimate, False),
        ("rucb", "ltr-duel simulate MATRIX --policy rucb --horizon 1e6 --repetitions 1", False),
        ("live", "ltr-duel simulate --users FILE --policy rucb --horizon 1e5 --repetitions 1", True),
    ]
    made, shape = [], SHAPES[name].part(share)
    for stage, call, is_cached in calls:
        for time in ("first", "second") if is_cached else ("",):
            facts = {"corpus": name, "share": share, "stage": stage, "time": time, **counts(shape)}
            prepare = partial(prepared, name, share, stage, first=time == "first")
            title = "-".join(filter(None, (f"{name}-{part}{stage}", time)))
            when = "full" if share == 1 else "tenth"
            made.append(Row(title, call, shape.documents, "documents", prepare, facts, "wall", when, tries=1))
    return made


def counts(shape: Shape) -> dict[str, int]:
    """Return the size of a corpus."""
    return {"queries": shape.queries, "documents": shape.documents, "features": shape.features}


def prepared(name: str, share: float, stage: str, *, first: bool):
    """Write the text and compile; then empty the cache for the first time, or fill it for the second time."""
    file, home = surrogate(name, share), scratch() / "road"
    small = surrogate(name, 0.001)
    compiled = home / f"{name} is compiled"
    if not compiled.exists():
        for one in ("order", "estimate", "rucb", "live"):
            done(one, name, small, home)
        compiled.touch()
    if first:
        for kept in KEPT:
            shutil.rmtree(home / kept, ignore_errors=True)
    else:
        done("order", name, file, home)
    return lambda: done(stage, name, file, home)


def surrogate(name: str, share: float) -> Path:
    """Return the text file of a corpus; write the file if it does not exist."""
    folder = Path(os.environ.get(FOLDER) or scratch())
    file = folder / f"{name}-{share:g}.txt"
    return file if file.exists() else write_surrogate(name, file, share)


def done(stage: str, name: str, file: Path, home: Path) -> Cost:
    """Run a stage in a separate process, with a separate cache."""
    matrix, out = home / f"{file.stem}.parquet", home / "runs"
    shutil.rmtree(out, ignore_errors=True)
    simulated = ("--policy", "rucb", "--repetitions", "1", "--out", out)
    comparisons = str(COMPARISONS[name])
    if stage == "matrix" or (stage == "rucb" and not matrix.exists()):
        words = ("prefs", "estimate", file, "--comparisons", comparisons, "--out", matrix, "--overwrite")
        cost = command(*words, LTR_DUEL_HOME=str(home))
        if stage == "matrix":
            return cost
    if stage == "rucb":
        return command("simulate", matrix, "--horizon", "1e6", *simulated, LTR_DUEL_HOME=str(home))
    if stage == "live":
        return command("simulate", "--users", file, "--horizon", "1e5", *simulated, LTR_DUEL_HOME=str(home))
    words = [sys.executable, "-m", "benchmarks.road", stage, file, *[comparisons] * (stage == "estimate")]
    answer = subprocess.run(words, stdout=subprocess.PIPE, env={**os.environ, "LTR_DUEL_HOME": str(home)}, check=True)
    return Cost(*json.loads(answer.stdout))
