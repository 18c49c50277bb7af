"""Undocumented features of numba and llvmlite are used only in `_machine`."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import numba
import pytest

from ltr_duel.core import ROOT
from ltr_duel.core._machine import options

ROOM = ROOT / "core" / "_machine"
PRIVATE = ("numba.core", "numba.cpython", "numba.np", "llvmlite")
# Underscore attributes and undocumented options of numba's objects, as versions 0.62 to 0.68 name them.
PARTS = {
    "_compiler", "_compiling_counter", "_cache", "_impl", "_build_impl", "_impl_cache", "_unboxers", "_boxers",
    "_nrt", "_numba_type_", "_type_cache", "_can_compile", "_make_finalizer", "_getvalue", "targetctx", "typingctx",
    "targetdescr", "overloads", "get_call_template", "get_overload", "check_cachable", "no_cpython_wrapper",
    "no_cfunc_wrapper",
}  # fmt: skip


def _imported(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{one.name}" for one in node.names]
    return names


def private_parts(text: str) -> list[str]:
    """Return the private modules that a file imports, and numba's private attributes and options that it names."""
    tree = ast.parse(text)
    imported = [name for name in _imported(tree) if any(f"{name}.".startswith(f"{one}.") for one in PRIVATE)]
    uses_numba = any(name.partition(".")[0] == "numba" for name in _imported(tree))
    attributes = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    options = [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg]
    return imported + [name for name in (*attributes, *options) if uses_numba and name in PARTS]


def test_only_one_room_touches_private_parts_of_the_compiler() -> None:
    assert private_parts("from numba import njit\nnjit(_nrt=False)") and private_parts("import llvmlite.ir as ir")
    files = [path for path in ROOT.rglob("*.py") if ROOM not in path.parents]
    assert not {path: parts for path in files if (parts := private_parts(path.read_text(encoding="utf-8")))}


def test_an_option_that_numba_does_not_have_is_left_out(monkeypatch) -> None:
    monkeypatch.setitem(options._UNDOCUMENTED, "no_such_option", (True, bool))
    assert not options.is_effective("no_such_option")


@pytest.mark.long
def test_the_compiler_that_is_in_use_is_named() -> None:
    script = "from ltr_duel.core import compiler; print(compiler())"

    def named(**settings: str) -> str:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "LTR_DUEL_COMPILER": "", **settings}
        return subprocess.check_output([sys.executable, "-c", script], env=environment, text=True).strip()

    assert named() == f"numba {numba.__version__}, _nrt, forceinline, no_cfunc_wrapper, no_cpython_wrapper"
    assert named(LTR_DUEL_COMPILER="plain") == f"numba {numba.__version__}, plain"
    assert named(NUMBA_DISABLE_JIT="1") == "interpreted"


@pytest.mark.long
@pytest.mark.skipif(numba.version_info.short < (0, 63), reason="numba 0.62 gives a function another text each time")
def test_functions_of_others_compile_to_the_same_code_with_and_without_this_package() -> None:
    script = (
        "import re, numba, numpy\n{}\n@numba.njit\ndef f(a, rng): return min(a, 2.5) + int(a) + rng.random()\n"
        "f(1, numpy.random.default_rng(1)); (code,) = f.inspect_llvm().values()\n"
        "noise = r'0x[0-9a-f]{{8,}}|B[0-9]+v[0-9]+|(?m:^@.*(missing|pickledata).*$)|pickle[a-z]+[.][0-9a-f]+'\n"
        "print(re.sub(noise, '', code))"
    )
    use = "from ltr_duel.core import random_below, stream; random_below(6, stream(0))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONHASHSEED": "0"}
    texts = {
        subprocess.check_output([sys.executable, "-c", script.format(line)], env=environment) for line in ("", use)
    }
    assert len(texts) == 1
