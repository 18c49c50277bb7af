"""Find the feature files of a path: a file, the train, vali and test parts in a folder, or five folds with parts.

In corpora with five folds, the test parts together contain each document once. The vali part of fold k is the test part
of fold k - 1, and the train part of fold k consists of the test parts of the other three folds. Therefore only the five
test parts are read, not all fifteen files.
"""

from __future__ import annotations

import re
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors, places

PARTS = ("train", "vali", "test")
FOLDS = (1, 2, 3, 4, 5)

_WORDS = {
    "train": "train|training|trainingset|learning",
    "vali": "vali|valid|validation|validationset|dev",
    "test": "test|testset",
}
_SUFFIX = r"(\.txt|\.dat|\.svm|\.svmlight|\.libsvm)?(\.gz|\.bz2|\.xz)?"
_LOOKED_FOR = "train.txt, vali.txt, test.txt (also .gz; trainingset, validationset, testset, valid, learning)"


def feature_files(path: Path, split: str | None = None, fold: int | None = None) -> list[Path]:
    """Return the feature files of a path, in the order of the corpus, or only the files of a split or fold.

    The path is a feature file, a folder with some of the three parts, a folder with Fold1 to Fold5, or the common
    beginning of the names of the parts: ``ltrc/set1`` for set1.train.txt, set1.valid.txt and set1.test.txt.
    """
    if split is not None:
        errors.require_one_of("split", split, PARTS)
    path = arguments.as_path("a corpus", path)
    exists = places.is_there(path)
    if not exists and path.parent.is_dir() and _by_prefix(path):
        return [file for part, file in _by_prefix(path).items() if split in (None, part)]
    if not exists:
        raise InputError(f"{path}: there is no such file or folder; 'ltr-duel data list' prints corpora to download")
    if path.is_file():
        if split is not None or fold is not None:
            raise InputError(f"{path}: a split or a fold requires a folder, but this is a file")
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: this is neither a file nor a folder; save its data in a file")
    if any((path / f"Fold{k}").is_dir() for k in FOLDS):
        return _of_folds(path, split, fold)
    if fold is not None:
        raise InputError(f"{path}: there are no folds; looked for Fold1, Fold2, Fold3, Fold4, Fold5")
    files = [file for part in PARTS if split in (None, part) and (file := _part(path, part))]
    if not files:
        wanted = f"no '{split}' part" if split else "no feature file"
        raise InputError(f"{path}: {wanted} in this folder; looked for {_LOOKED_FOR}")
    return files


def is_pipe(path: Path) -> bool:
    """Return whether the path is a named pipe, or the pipe that a shell creates for ``<(...)``."""
    try:
        return path.is_fifo()
    except OSError:  # the name is too long, or the folder may not be read
        return False


def default_name(path: Path, split: str | None = None, fold: int | None = None) -> str:
    """Return a readable name: the name of the folder, or of the file without suffixes, then the fold and the split."""
    path = path.resolve()
    stem = (
        path.name
        if path.is_dir()
        else re.sub(r"(\.txt|\.csv|\.tsv|\.parquet|\.arrow)?(\.gz|\.bz2|\.xz)?$", "", path.name)
    )
    if stem.lower().startswith(("fold", "train", "vali", "test")) and path.parent.name:
        stem = f"{path.parent.name}/{stem}"
    chosen = [f"Fold{fold}"] * (fold is not None) + [split or ""] * (split is not None)
    return "/".join([stem, *chosen])


def _of_folds(path: Path, split: str | None, fold: int | None) -> list[Path]:
    if fold is not None and fold not in FOLDS:
        raise InputError(f"{path}: no fold {fold}; folds are 1, 2, 3, 4, 5")
    if split is not None and fold is None:
        raise InputError(f"{path}: each fold has its own splits; choose a fold, 1 to 5")
    tests = {k: _part(path / f"Fold{k}", "test") if (path / f"Fold{k}").is_dir() else None for k in FOLDS}
    absent = [f"Fold{k}" for k in FOLDS if tests[k] is None]
    if absent:
        raise InputError(
            f"{path}: the whole corpus needs five test parts, but there is no test part in {', '.join(absent)};"
            " to read one fold, give its folder"
        )
    _check_rotation(path, tests)
    if fold is None:
        numbers = list(FOLDS)
    else:
        members = {"train": (fold, fold + 1, fold + 2), "vali": (fold - 2,), "test": (fold - 1,)}
        numbers = [k % 5 + 1 for part in PARTS if split in (None, part) for k in members[part]]
    return [file for k in numbers if (file := tests[k])]


def _check_rotation(path: Path, tests: dict[int, Path | None]) -> None:
    """Raise `InputError` if a vali part and the test part of the previous fold differ in length."""
    for k in FOLDS:
        vali, test = _part(path / f"Fold{k}", "vali"), tests[(k - 2) % 5 + 1]
        if not vali or not test or vali.suffix != test.suffix or vali.suffix == ".gz":
            continue
        if vali.stat().st_size != test.stat().st_size:
            raise InputError(f"{path}: {vali} differs from {test}; read each fold alone, by the path of its folder")


def _by_prefix(path: Path) -> dict[str, Path]:
    """Return the parts whose names begin with the last component of the path and a dot."""
    found = {part: _part(path.parent, part, path.name + ".") for part in PARTS}
    return {part: file for part, file in found.items() if file}


def _part(folder: Path, part: str, prefix: str = "") -> Path | None:
    start = re.escape(prefix) if prefix else "(.*[._-])?"
    files: list[Path] = []
    for rest in ("", "[_-][^.]*"):  # train.txt, or if it is missing, train_sample.txt
        pattern = re.compile(rf"{start}({_WORDS[part]}){rest}{_SUFFIX}", re.IGNORECASE)
        files = files or sorted(f for f in folder.iterdir() if f.is_file() and pattern.fullmatch(f.name))
    if len(files) > 1:
        names = ", ".join(f.name for f in files)
        raise InputError(f"{folder}: more than one {part} file ({names}); give the path of one file")
    return files[0] if files else None
