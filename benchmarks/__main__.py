"""Run the named benchmarks, or all: each module here with a ``main`` is one. ``logs:1e7`` is ``logs``, and so large."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks.timing import machine


def names() -> list[str]:
    modules = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return [name for name in modules if name not in ("__main__", "timing", "advice_study")]


def run() -> None:
    wanted = sys.argv[1:] or names()
    unknown = [name for name in wanted if name.partition(":")[0] not in names()]
    if unknown:
        sys.exit(f"no benchmark '{unknown[0]}' ({', '.join(names())})")
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    print(machine(), "\n")
    for name in wanted:
        module, _, size = name.partition(":")
        importlib.import_module(f"benchmarks.{module}").main(*[size] * bool(size))
        print()


if __name__ == "__main__":
    run()
