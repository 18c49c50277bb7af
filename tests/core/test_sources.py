"""The source files on which compiled code depends."""

from __future__ import annotations

from pathlib import Path

import pytest

from ltr_duel.core import sources
from ltr_duel.core.sources import ROOT, kernel_digest


def test_what_a_file_imports_is_a_module_or_the_file_that_a_package_takes_the_name_from(tmp_path):
    page = tmp_path / "page.py"
    page.write_text("from ltr_duel.core import (\n    coin as toss,  # a kernel\n    places,\n)\n"
                    "from ltr_duel.core.errors import InputError\nfrom numpy import pi\n")  # fmt: skip
    core = ROOT / "core"
    assert list(map(Path, sources._imported(str(page)))) == [core / "random.py", core / "places.py", core / "errors.py"]


@pytest.mark.parametrize(("module", "all_of_them"), [("core.draws", False), ("bandits.loop", True)])
def test_whatever_implements_a_stub_counts_only_for_what_calls_one(module, all_of_them, monkeypatch):
    asked = []
    monkeypatch.setattr(sources, "_implementing", lambda: asked.append(True) or ())
    kernel_digest.__wrapped__(frozenset({f"ltr_duel.{module}"}), "")
    assert bool(asked) == all_of_them


def test_files_that_register_what_a_stub_dispatches_are_found():
    found = {sources.ROOT.joinpath(file).relative_to(sources.ROOT).as_posix() for file in sources._implementing()}
    assert {"interleaving/methods/team_draft.py", "bandits/policies/rucb.py"} <= found
