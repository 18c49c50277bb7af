"""``ltr-duel data info``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ltr_duel.cli.data import command
from ltr_duel.core.errors import InputError


def test_info_prints_the_facts(tmp_path: Path) -> None:
    file = tmp_path / "tiny.txt"
    file.write_text("0 qid:1 1:1 2:0 3:5 4:1\n1 qid:1 1:2 2:0 3:5 4:2\n0 qid:2 1:2 2:0 3:6 4:2\n")
    text = CliRunner().invoke(command, ["info", str(file)]).output
    facts = dict(line.split(None, 1) if " in " not in line else line.rsplit(None, 1) for line in text.splitlines())
    assert facts["queries"].startswith("2, 1 of them without")
    assert facts["documents"].startswith("3; for each query 1 to 2")
    assert "zero everywhere      2\n" in text
    assert "constant in queries  3\n" in text
    assert "exact twins          1 = 4\n" in text


def test_info_of_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        CliRunner().invoke(command, ["info", str(tmp_path / "no")], catch_exceptions=False)
