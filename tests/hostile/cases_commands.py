"""Hostile input to the commands that list, simulate, run and reproduce."""

from __future__ import annotations

from tests.hostile.case import Case

CASES = [
    Case("no such command", ("simulat",), says="no command 'simulat'; did you mean 'simulate'"),
]
