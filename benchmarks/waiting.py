"""Waiting times of users: a command from start to end, and the first use after an import."""

from __future__ import annotations

import shutil

from benchmarks.row import Cost, Row, command, process, scratch

SIMULATE = ("--policy", "rucb", "--horizon", "1000", "--repetitions", "2")


def rows() -> list[Row]:
    """Return the rows: commands from the start of Python to its end, and a policy's first use without compiled code."""
    return [
        row("import", 'python -c "import ltr_duel"', lambda: lambda: process("-c", "import ltr_duel"), "quick"),
        row("version", "ltr-duel --version", lambda: lambda: command("--version")),
        row("policies", "ltr-duel list policies", lambda: lambda: command("list", "policies")),
        row("simulate", "ltr-duel simulate matrix.csv " + " ".join(SIMULATE), warm, "quick"),
        row("first-use", "the same, with nothing compiled yet", first_use),
        row("data-info", "ltr-duel data info FILE  # 13.6 million numbers", data_info),
    ]


def row(name: str, call: str, prepare, when: str = "usual") -> Row:
    """Return the row of one command."""
    return Row(name, call, 1, "times", prepare, {}, clock="wall", when=when)


def simulated(**environment: str) -> Cost:
    """Simulate a small matrix."""
    out = scratch() / "simulated"
    shutil.rmtree(out, ignore_errors=True)
    path = scratch() / "matrix.txt"
    path.write_text("0.5 0.6 0.7\n0.4 0.5 0.6\n0.3 0.4 0.5\n")
    return command("simulate", path, *SIMULATE, "--out", out, **environment)


def warm():
    """Compile before the measurement."""
    simulated()
    return simulated


def first_use():
    """Return a simulation that starts without compiled code."""

    def work() -> Cost:
        home = scratch() / "home"
        shutil.rmtree(home, ignore_errors=True)
        return simulated(LTR_DUEL_HOME=str(home))

    return work


def data_info():
    """Describe a feature file of 1,000 queries, which is read each time."""
    from benchmarks.files import made

    file, _ = made("dense")
    return lambda: command("data", "info", file)
