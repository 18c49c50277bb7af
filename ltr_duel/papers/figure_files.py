"""Read the declarations of figures from a folder with a Python file for each paper."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ltr_duel.core import InputError
from ltr_duel.papers.declaration import PAPERS, Figure

_PACKAGE = "ltr_duel_figure_files"  # the folder is imported under this name, so that its files can import each other


def figures_folder() -> Path:
    """Return the folder of the declarations: inside an installed package, or beside the package in its sources."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent / "experiments"


def list_figures(folder: Path) -> dict[str, Figure]:
    """Run the files of a folder, and return the figures that they declare, by name.

    Raises `InputError` if there are no figures, or if a file fails. The message names the line.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    package = sys.modules[_PACKAGE] = ModuleType(_PACKAGE)
    package.__path__ = [str(folder.resolve())]
    importlib.invalidate_caches()
    modules = [_module(path) for path in sorted(folder.resolve().glob("*.py"))]
    figures = [figure for module in modules for figure in vars(module).values() if isinstance(figure, Figure)]
    if not figures:
        raise InputError(f"{folder}: no figure files (*.py with functions under @figure(...)) are here")

    def order(figure: Figure) -> tuple[int, list[str]]:
        return list(PAPERS).index(figure.facts["paper"]), [part.zfill(9) for part in figure.name.split("_")]

    return {figure.name: figure for figure in sorted(figures, key=order)}


def _module(path: Path) -> ModuleType:
    try:
        return importlib.import_module(f"{_PACKAGE}.{path.stem}")
    except SyntaxError as error:
        raise InputError(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
        line = f"{path}, line {frames[-1].lineno}" if frames else path
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise InputError(f"{line}: {kind}{error}") from None
