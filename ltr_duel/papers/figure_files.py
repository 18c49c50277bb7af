"""Import the folder of figure files: a Python module for each paper, with a function for each figure (see `figure`).

A module imports the vocabulary from ``ltr_duel.papers``, and may import from other modules of the folder:
``from .problems import MSLR``.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ltr_duel.core import InputError
from ltr_duel.papers.declaration import PAPERS, Figure

_PACKAGE = "ltr_duel_figure_files"  # package name of the imported folder


def figures_folder() -> Path:
    """Return the folder of figure files: inside the package if it is installed, otherwise beside the package."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent / "experiments"


def list_figures(folder: Path) -> dict[str, Figure]:
    """Run the files of a folder, and return the declared figures by name; Figure 2 is sorted before Figure 10.

    Raises `InputError` if a file fails (the message names the line), if two figures have the same name, or if there are
    no figures.
    """
    figures: dict[str, Figure] = {}
    for path, module in _imported(folder.resolve()):
        for figure in vars(module).values():
            if isinstance(figure, Figure) and figures.setdefault(figure.name, figure) is not figure:
                raise InputError(f"{path}: two figures are called '{figure.name}'")
    if not figures:
        raise InputError(f"{folder}: no figure files (*.py with functions under @figure(...)) are here")

    def place(figure: Figure) -> tuple[int, list[str]]:
        return list(PAPERS).index(figure.about["paper"]), [part.zfill(9) for part in figure.name.split("_")]

    return {figure.name: figure for figure in sorted(figures.values(), key=place)}


def _imported(folder: Path) -> list[tuple[Path, ModuleType]]:
    """Import the modules of a folder as one package, from their current text and without writing compiled files."""
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package
    importlib.invalidate_caches()
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return [(path, _import(path)) for path in sorted(folder.glob("*.py"))]
    finally:
        sys.dont_write_bytecode = writes


def _import(path: Path) -> ModuleType:
    try:
        return importlib.import_module(f"{_PACKAGE}.{path.stem}")
    except SyntaxError as error:
        raise InputError(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename).parent == path.parent]
        place = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else path
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise InputError(f"{place}: {kind}{error}") from None
