"""``ltr-duel --version``; with ``--json``, the versions and the facts about the machine for a bug report."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
from typing import Any

import click

from ltr_duel import core
from ltr_duel.core import InputError, machine

_EXTRAS = ("cluster", "models", "serve", "warehouse")
_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT",
    "LTR_DUEL_COMPILER", "LTR_DUEL_HOME", "LTR_DUEL_PROGRESS",
)  # fmt: skip


def version_option(command: Any) -> Any:
    """Add ``--version`` and its ``--json`` to the top-level command."""
    # --json is eager, so click processes it before --version, whose callback prints and exits.
    as_json = click.option("--json", "as_json", is_flag=True, is_eager=True, help="With --version: a full report.")
    version = click.option(
        "--version", is_flag=True, expose_value=False, callback=_answer, help="Print the version and exit."
    )
    return version(as_json(command))


def about() -> dict[str, Any]:
    """Return versions, machine, cache, threads and variables; only the path of the cache may contain a user name."""
    return {
        "ltr-duel": machine.own_version(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "libraries": machine.versions_of(_libraries()),
        "compiler": core.compiler(),
        "system": core.host.system(),
        "processor": core.host.processor(),
        "cores": os.cpu_count(),
        "threads": core.parallel.checked_jobs(-1),
        "cache": _cache(),
        "environment": {name: os.environ.get(name) for name in _VARIABLES},
    }


def _cache() -> dict[str, Any] | None:
    try:
        home = core.cache_home()
    except InputError:
        return None
    above = next(path for path in (home, *home.absolute().parents) if path.exists())
    return {"folder": str(home), "exists": home.exists(), "writable": os.access(above, os.W_OK)}


def _answer(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    as_json = context.params.get("as_json", False)
    if asked and not context.resilient_parsing:
        machine.plain_compiler_wanted()  # rejects an invalid LTR_DUEL_COMPILER, as all commands that compile do
        click.echo(json.dumps(about(), indent=1) if as_json else f"ltr-duel, version {machine.own_version()}")
        context.exit()
    if as_json:
        raise InputError("--json before a command requires --version; the --json of a command follows its name")


def _libraries() -> list[str]:
    """Return the names of the required libraries, the libraries of the extras for users, and llvmlite."""
    try:
        required = importlib.metadata.requires("ltr-duel") or []
    except importlib.metadata.PackageNotFoundError:  # a checkout that was never installed
        required = ["numpy", "numba", "scipy"]
    wanted = [
        one for one in required if "extra ==" not in one or re.search(rf"extra == ['\"]({'|'.join(_EXTRAS)})['\"]", one)
    ]
    names = {found[0] for one in wanted if (found := re.match(r"[\w.-]+", one))}
    return sorted(names | {"llvmlite"})
