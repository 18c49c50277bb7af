"""Turn an error of the compiler into one sentence with the line in the user's file and the cause."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ltr_duel.core.jit import interpreted

_PLACE = re.compile(r'File "([^"]+)", line (\d+)|at (\S+\.py) \((\d+)\)')
_NOISE = re.compile(r"^(Failed in nopython|- Resolution failure|During:|File |There (is|are) \d+ candidate|\s|$)")
_MODULES = re.compile(r"(?:[\w<>]+\.)+(?=[A-Z]\w*\()")  # before the name of a class
_CAUSES = {
    re.compile(r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'function'>"): (
        "it calls {}, which is plain Python; decorate that function with ltr_duel.core.kernel"
    ),
    re.compile("NRT required"): (
        "it allocates memory (an array, a list, a dictionary); loop over arrays that init allocates instead"
    ),
    re.compile(r"No implementation of function .*?\n\s*\n?\s*>>> (.*\S)"): "there is no compiled form of {}",
}


def compile_error(function: Callable[..., Any], error: Exception) -> str:
    """Return ``file:line: cause`` for a function that numba could not compile."""
    code, text = interpreted(function).__code__, str(error)
    lines = [match for match in _PLACE.finditer(text) if Path(match[1] or match[3]).name == Path(code.co_filename).name]
    line = lines[0][2] or lines[0][4] if lines else code.co_firstlineno
    causes = [cause.format(*match.groups()) for pattern, cause in _CAUSES.items() for match in pattern.finditer(text)]
    others = (line.strip() for line in text.splitlines() if not _NOISE.match(line))
    cause = causes[0] if causes else _MODULES.sub("", next(others, "the compiler gives no reason")).rstrip(".")
    return f"{code.co_filename}:{line}: {cause}"
