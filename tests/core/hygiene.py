"""A script that prints, as JSON, the changes by ltr_duel that affect other users of numba in the process.

With the argument ``texts`` it prints the LLVM text of foreign functions that are compiled after using ltr_duel.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
from foreign import llvm_texts
from numba.core import datamodel, imputils, pythonapi
from numba.core.registry import cpu_target
from numba.core.typing import templates, typeof

PAGE = '''
"""Always the first two arms."""
from typing import NamedTuple
import numpy as np
from ltr_duel.bandits import register
from ltr_duel.core import NoParams

class State(NamedTuple):
    wins: np.ndarray

def init(n_arms: int, horizon: int, params: NoParams) -> State:
    return State(np.zeros(n_arms, np.int64))

def select(state, params, t, rng):
    return 0, min(1, state.wins.shape[0] - 1)

def update(state, params, t, first, second, outcome, rng):
    state.wins[first] += 1

def recommend(state, params):
    return 0

register(__name__, assumes="nothing", regret="linear in T", cost="O(1)", where="a test")
'''


def use_ltr_duel() -> None:
    """Load a corpus, estimate a matrix, simulate a built-in policy and a custom policy, and interleave."""
    import ltr_duel

    with TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.txt")
        lines = [f"{i % 3} qid:{i // 6} 1:{i % 5} 2:{i % 7 / 2} 3:{-i}" for i in range(60)]
        corpus.write_text("\n".join(lines) + "\n", encoding="utf-8")
        rankers = ltr_duel.feature_rankers(ltr_duel.load_dataset(corpus))
        matrix = ltr_duel.estimate_preferences(rankers, method="team_draft", clicks="perfect", comparisons=50, jobs=1)
        Path(folder, "mine_alone.py").write_text(PAGE, encoding="utf-8")
        sys.path.insert(0, folder)
        __import__("mine_alone")
        ltr_duel.simulate(matrix, ["rucb", "mine_alone"], horizon=100, repetitions=1, jobs=1)
        ltr_duel.interleave({"a": [1, 2], "b": [2, 3]}, seed=1).credit([2])


class Tables:
    """A snapshot of the settings of numba, and of its objects for typing, lowering, boxing and caching."""

    def __init__(self) -> None:
        self.lists = {(i, name): (table, list(table)) for i, name, table in _lists()}
        self.tables = {name: dict(table) for name, table in _dictionaries()}
        self.code = dict(_code())
        self.settings = {name: getattr(numba.config, name) for name in dir(numba.config) if name.isupper()}
        self.builtins = {function: _templates(function) for function in (min, max, int, float, abs, len)}

    def changed(self) -> Iterator[str]:
        """Yield each difference to a snapshot, except table entries for ltr_duel's functions and classes."""
        for (_, name), (table, before) in self.lists.items():
            after = list(table)
            yield from (f"{name}: {old!r}" for old, new in zip(before, after, strict=False) if old is not new)
            yield from (f"{name}: added {one!r}" for one in after[len(before) :] if not _is_ours(one))
            if len(after) < len(before):
                yield f"{name}: shorter"
        for name, table in _dictionaries():
            before = self.tables[name]
            yield from (f"{name}: {key!r}" for key, value in before.items() if table.get(key) is not value)
            yield from (f"{name}: added {key!r}" for key in table if key not in before and not _is_ours(key))
        after = dict(_code())
        yield from (f"{name} is another" for name, value in self.code.items() if after.get(name) is not value)
        for name, value in self.settings.items():
            if getattr(numba.config, name) != value:
                yield f"numba.config.{name} was {value!r}"
        for function, before in self.builtins.items():
            if _templates(function) != before:
                yield f"the templates of {function!r}"


def _lists() -> Iterator[tuple[int, str, list[Any]]]:
    for one in _EVERYTHING:
        if type(one) in (templates.Registry, imputils.Registry):
            for name, table in vars(one).items():
                if isinstance(table, list):
                    yield id(one), f"{type(one).__module__} {name}", table


def _dictionaries() -> Iterator[tuple[str, dict[Any, Any]]]:
    for name in ("_boxers", "_unboxers", "_reflectors"):
        yield name, getattr(pythonapi, name).functions
    yield "typeof", typeof.typeof_impl.registry
    yield "data models", datamodel.default_manager._handlers


def _code() -> Iterator[tuple[str, Any]]:
    """Yield all functions and classes of numba's modules, and the members of the classes."""
    for module in _MODULES:
        for name, value in list(vars(module).items()):
            if callable(value):
                yield f"{module.__name__}.{name}", value
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner, member in list(vars(value).items()):
                    if callable(member) or isinstance(member, property | staticmethod | classmethod):
                        yield f"{module.__name__}.{name}.{inner}", member


def _templates(function: Any) -> list[Any]:
    cpu_target.typing_context.refresh()
    return list(cpu_target.typing_context.resolve_value_type(function).templates)


def _is_ours(entry: Any) -> bool:
    """Return whether the key of a table entry belongs to ltr_duel."""
    if isinstance(entry, tuple):  # (function, its type), or (lowering, function or (class, method), types of arguments)
        entry = entry[0] if isinstance(entry[1], numba.types.Type) else entry[1]
        entry = entry[0] if isinstance(entry, tuple) else entry
    is_type = isinstance(entry, type) and issubclass(entry, numba.types.Type)
    key = entry if is_type else getattr(entry, "key", entry)
    return str(getattr(key, "__module__", key)).partition(".")[0] == "ltr_duel"


class OtherThread(threading.Thread):
    """A thread that decorates a cached function repeatedly, and collects the folders of its cache."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.folders: set[str] = set()
        self.number = 0
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            self.folders.add(numba.njit(cache=True)(_is_ours).stats.cache_path)
            self.number += 1
            time.sleep(0.001)  # without it, this thread takes half of the processor time


if __name__ == "__main__":
    if sys.argv[1:]:
        use_ltr_duel()
        json.dump(llvm_texts(), sys.stdout)
        sys.exit()
    texts = llvm_texts()  # load the parts of numba that are loaded on first use
    for numbers in ((1, 2), (1.0, 2.0)):  # numba stores a function for each type of number, as below
        numba.njit(lambda a, b: (min(a, b), max(a, b), int(numba.uint64(a))))(*numbers)
    _EVERYTHING = gc.get_objects()
    _MODULES = [sys.modules[name] for name in sorted(sys.modules) if name.partition(".")[0] in ("numba", "llvmlite")]
    before, other = Tables(), OtherThread()
    sys.setswitchinterval(1e-5)
    other.start()
    use_ltr_duel()
    other.stop.set()
    other.join()
    found = {"changed": sorted(before.changed()), "folders": sorted(other.folders), "decorated": other.number}
    json.dump({**found, "texts": texts}, sys.stdout, indent=1)
