"""Find the feature files of a path: a file, the train, vali and test parts in a folder, or five folds with parts.

In corpora with five folds, the test parts together contain each document once, so the whole corpus is their sum.
"""

from __future__ import annotations

import re
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors

PARTS = ("train", "vali", "test")
FOLDS = (1, 2, 3, 4, 5)

_WORDS = {
    "train": "train|training|trainingset|learning",
    "vali": "vali|valid|validation|validationset|dev",
    "test": "test|testset",
}
_SUFFIX = r"(\.txt|\.dat|\.svm|\.svmlight|\.libsvm)?(\.gz|\.bz2|\.xz)?"


def feature_files(path: Path, split: str | None = None, fold: int | None = None) -> list[Path]:
    """Return the feature files of a path, in the order of the corpus, or only the files of a split or fold.

    The path is a feature file, a folder with some of the three parts, a folder with Fold1 to Fold5, or the common
    beginning of the names of the parts: ``ltrc/set1`` for set1.train.txt, set1.valid.txt and set1.test.txt.
    """
    if split is not None:
        errors.require_one_of("split", split, PARTS)
    path = arguments.as_path("a corpus", path)
    if not path.exists():
        files = _parts(path.parent, split, path.name + ".") if path.parent.is_dir() else []
        if not files:
            advice = "'ltr-duel list corpora' prints corpora to download"
            raise InputError(f"{path}: there is no such file or folder; {advice}")
        return files
    if path.is_file():
        if split is not None or fold is not None:
            raise InputError(f"{path}: a split or a fold requires a folder, but this is a file")
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: this is neither a file nor a folder; save its data in a file")
    folds = [k for k in FOLDS if (path / f"Fold{k}").is_dir()]
    if fold is not None:
        if fold not in folds:
            raise InputError(f"{path}: there is no fold {fold}; looked for Fold1, Fold2, Fold3, Fold4, Fold5")
        path, folds = path / f"Fold{fold}", []
    if folds and split is not None:
        raise InputError(f"{path}: each fold has its own splits; choose a fold, 1 to 5")
    if folds:
        return _test_parts(path)
    files = _parts(path, split)
    if not files:
        wanted = f"no '{split}' part" if split else "no feature file"
        names = "train.txt, vali.txt, test.txt (also .gz; trainingset, validationset, testset, valid, learning)"
        raise InputError(f"{path}: {wanted} in this folder; looked for {names}")
    return files


def default_name(path: Path, split: str | None = None, fold: int | None = None) -> str:
    """Return a readable name: the name of the folder, or of the file without suffixes, then the fold and the split."""
    path = path.resolve()
    suffixes = r"(\.txt|\.csv|\.tsv|\.parquet|\.arrow)?(\.gz|\.bz2|\.xz)?$"
    stem = path.name if path.is_dir() else re.sub(suffixes, "", path.name)
    if stem.lower().startswith(("fold", "train", "vali", "test")) and path.parent.name:
        stem = f"{path.parent.name}/{stem}"
    chosen = [f"Fold{fold}"] * (fold is not None) + [split or ""] * (split is not None)
    return "/".join([stem, *chosen])


def _test_parts(path: Path) -> list[Path]:
    tests = {k: _parts(path / f"Fold{k}", "test") if (path / f"Fold{k}").is_dir() else [] for k in FOLDS}
    if absent := [f"Fold{k}" for k in FOLDS if not tests[k]]:
        raise InputError(
            f"{path}: the whole corpus needs five test parts, but there is no test part in {', '.join(absent)};"
            " to read one fold, give its folder"
        )
    return [tests[k][0] for k in FOLDS]


def _parts(folder: Path, split: str | None, prefix: str = "") -> list[Path]:
    """Return the files of the parts, or of one part, in a folder; ``prefix`` is the beginning of their names."""
    files = []
    start = re.escape(prefix) if prefix else "(.*[._-])?"
    for part in PARTS if split is None else (split,):
        same: list[Path] = []
        for rest in ("", "[_-][^.]*"):  # train.txt, or if it is missing, train_sample.txt
            pattern = re.compile(rf"{start}({_WORDS[part]}){rest}{_SUFFIX}", re.IGNORECASE)
            same = same or sorted(f for f in folder.iterdir() if f.is_file() and pattern.fullmatch(f.name))
        if len(same) > 1:
            names = ", ".join(f.name for f in same)
            raise InputError(f"{folder}: more than one {part} file ({names}); give the path of one file")
        files += same
    return files
