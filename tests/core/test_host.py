"""A process is identified by its machine, its number and its start, with and without the files of Linux."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ltr_duel.core.host as host
from ltr_duel.core import process_identity, still_runs


@pytest.fixture(params=["with /proc", "without"], autouse=True)
def files(request, monkeypatch):
    if request.param == "without":
        monkeypatch.setattr(host, "PROC", Path("nowhere"))
    host._machine.cache_clear()
    yield
    host._machine.cache_clear()


def test_a_process_runs_until_it_ends_though_its_parent_has_not_waited_for_it():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = process_identity(child.pid)
        assert still_runs(identity) and not still_runs(identity | {"start": "0"})
        assert child.stdin is not None
        child.stdin.close()
        while still_runs(identity):  # until it is a zombie
            pass
    assert process_identity(child.pid)["start"] is None and not still_runs(identity)


@pytest.mark.parametrize("pid", [-1, 0, 999_999_999, 10**30])
def test_a_number_that_no_process_can_have_is_that_of_none_that_runs(pid):
    assert not still_runs(process_identity(1) | {"pid": pid})


def test_of_another_machine_nothing_is_known():
    assert still_runs(process_identity(1) | {"machine": "elsewhere"}) is None
