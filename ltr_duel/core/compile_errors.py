"""Summarise a compiler's error in one sentence: the line in the user's file, and the cause."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ltr_duel.core.jit import interpreted

_PLACE = re.compile(r'File "([^"]+)", line (\d+)|at (\S+\.py) \((\d+)\)')
_NOISE = re.compile(r"^(Failed in nopython|- Resolution failure|During:|File |There (is|are) \d+ candidate|\s|$)")
_PLAIN = re.compile(r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'function'>")
_QUALIFIED = re.compile(r"(?:[\w<>]+\.)+(?=[A-Z]\w*\()")  # the modules before a class name
_MISSING = re.compile(r"No implementation of function .*?\n\s*\n?\s*>>> (.*)")


def compile_error(function: Callable[..., Any], error: Exception) -> str:
    """Return ``file:line: cause`` for a function that numba could not compile."""
    code = interpreted(function).__code__
    return f"{code.co_filename}:{_line(code, str(error))}: {_missed(str(error))}"


def _line(code: Any, text: str) -> int:
    """Return the first line number that the error text gives for the function's file, or the function's first line."""
    for match in _PLACE.finditer(text):
        if Path(match[1] or match[3]).name == Path(code.co_filename).name:
            return int(match[2] or match[4])
    return int(code.co_firstlineno)


def _missed(text: str) -> str:
    plain = _PLAIN.search(text)
    if plain:
        return f"it calls {plain[1]}, which is plain Python; decorate that function with ltr_duel.core.kernel"
    if "NRT required" in text:
        return "it allocates memory (an array, a list, a dictionary); loop over arrays that init allocates instead"
    missing = _MISSING.search(text)
    if missing:
        return f"there is no compiled form of {missing[1].strip()}"
    lines = (line.strip() for line in text.splitlines() if not _NOISE.match(line))
    return _QUALIFIED.sub("", next(lines, "the compiler gives no reason")).rstrip(".")
