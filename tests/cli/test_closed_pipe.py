"""If the reader of a pipe stops early, as ``head`` does, the command ends silently, like other commands."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", [["list", "policies"], ["run", "--help"]])
def test_a_closed_pipe_ends_a_command_quietly(words: list[str]) -> None:
    command = [sys.executable, "-m", "ltr_duel.cli.main", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, "")
