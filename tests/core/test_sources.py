"""The source files on which compiled code depends."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ltr_duel.core import sources
from ltr_duel.core.sources import FLOORS, ROOT, kernel_digest


def test_floors_with_kernels_are_listed_in_the_order_of_the_layers():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [floor.strip() for layer in reversed(layers) for floor in layer.split("|")]
    marks = re.compile(r"^@(kernel|inlined|outlined|dispatched)", re.M)
    found = {file.relative_to(ROOT).parts[0] for file in ROOT.rglob("*.py") if marks.search(file.read_text("utf-8"))}
    assert list(FLOORS) == sorted(found, key=order.index)


def changed_by(path, monkeypatch):
    """Return which digests an edit of a file changes: those of a kernel of core, and of two policies' loops."""
    kernels = ("core.vector",), ("bandits.loop", "bandits.policies.rucb"), ("bandits.loop", "bandits.policies.rcs")
    read, found = sources._read, []
    for edited in ("", str(ROOT / path)):
        monkeypatch.setattr(sources, "_read", lambda file, edited=edited: read(file) + b"#" * (file == edited))
        sources._floor_digest.cache_clear()
        found.append(
            [kernel_digest.__wrapped__(frozenset(f"ltr_duel.{one}" for one in names), "") for names in kernels]
        )
    sources._floor_digest.cache_clear()
    return [before != after for before, after in zip(*found, strict=True)]


def test_a_digest_covers_the_floors_below_its_own_policy_and_what_that_one_imports(monkeypatch):
    assert changed_by("core/random.py", monkeypatch) == [True, True, True]
    assert changed_by("bandits/recorder.py", monkeypatch) == [False, True, True]
    assert changed_by("clicks/model.py", monkeypatch) == [False, False, False]
    assert changed_by("bandits/policies/rcs.py", monkeypatch) == [False, False, True]
    assert changed_by("bandits/policies/rucb.py", monkeypatch) == [False, True, True]  # rcs imports from rucb
    assert changed_by("bandits/policies/savage.py", monkeypatch) == [False, False, False]
