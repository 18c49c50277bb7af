"""Find the feature files of a corpus: a single file, or a folder with train, vali and test parts, or with five folds.

In a corpus with five folds, each document is in exactly one test part, so the test parts together are the corpus.
"""

from __future__ import annotations

import re
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors

_PARTS = {
    "train": "train|training|trainingset|learning",
    "vali": "vali|valid|validation|validationset|dev",
    "test": "test|testset",
}
_ENDING = r"(\.txt|\.dat|\.svm|\.svmlight|\.libsvm)(\.gz|\.bz2|\.xz)?"
_SUFFIX = rf"({_ENDING}|\.gz|\.bz2|\.xz)?"


def feature_files(path: Path, split: str | None = None, fold: int | None = None) -> list[Path]:
    """Return the feature files of a corpus, or of one part (split) or fold of the corpus.

    The path may also be the common beginning of file names. For example, ``ltrc/set1`` stands for set1.train.txt,
    set1.valid.txt and set1.test.txt.
    """
    if split is not None:
        errors.require_one_of("split", split, _PARTS)
    path = arguments.as_path("a corpus", path)
    if path.is_file():
        if split is not None or fold is not None:
            raise InputError(f"{path}: a split or a fold requires a folder, but this is a file")
        return [path]
    if not path.is_dir():
        if path.exists():
            raise InputError(f"{path}: this is neither a file nor a folder; save its data in a file")
        files = _parts(path.parent, split, path.name + ".") if path.parent.is_dir() else []
        if not files:
            raise InputError(f"{path}: there is no such file or folder; 'ltr-duel list corpora' prints corpora to get")
        return files
    folds = sorted(path.glob("Fold[1-5]"))
    if fold is not None:
        if path / f"Fold{fold}" not in folds:
            raise InputError(f"{path}: there is no fold {fold}; looked for Fold1, Fold2, Fold3, Fold4, Fold5")
        path, folds = path / f"Fold{fold}", []
    if folds and split is not None:
        raise InputError(f"{path}: each fold has its own splits; choose a fold, 1 to 5")
    if folds:
        files = [file for folder in folds for file in _parts(folder, "test")]
        if len(files) < 5:
            names = ", ".join(str(file.relative_to(path)) for file in files)
            has = f"; there are {names or 'none'}"
            raise InputError(
                f"{path}: the whole corpus needs the test parts of five folds{has}; or choose a fold, 1 to 5"
            )
        return files
    files = _parts(path, split)
    if not files:
        wanted = f"no '{split}' part" if split else "no feature file"
        names = "train.txt, vali.txt, test.txt (also .gz; trainingset, validationset, testset, valid, learning)"
        raise InputError(f"{path}: {wanted} in this folder; looked for {names}")
    return files


def default_name(path: Path, split: str | None = None, fold: int | None = None) -> str:
    """Return a readable name for a corpus: the name of its folder or file, followed by the fold and the split."""
    path = path.resolve()
    suffixes = r"(\.txt|\.csv|\.tsv|\.parquet|\.arrow)?(\.gz|\.bz2|\.xz)?$"
    stem = path.name if path.is_dir() else re.sub(suffixes, "", path.name)
    if stem.lower().startswith(("fold", "train", "vali", "test")) and path.parent.name:
        stem = f"{path.parent.name}/{stem}"
    return "/".join([stem, *([] if fold is None else [f"Fold{fold}"]), *([] if split is None else [split])])


def _parts(folder: Path, split: str | None, prefix: str = "") -> list[Path]:
    start = f"({re.escape(prefix)})" if prefix else "(|.*[._-])"
    present, found, unclear = sorted(file for file in folder.glob("[!.]*") if file.is_file()), dict[Path, str](), []
    parts = {part: rf"{start}({_PARTS[part]})" for part in (_PARTS if split is None else (split,))}
    for part, name in parts.items():
        whole = {file: named for file in present if (named := _matched(f"{name}{_SUFFIX}", file))}
        if len(whole) > 1:
            names = ", ".join(file.name for file in whole)
            raise InputError(f"{folder}: more than one {part} file ({names}); give the path of one file")
        found |= {file: named[1].lower() for file, named in whole.items()}
        if not whole:  # such as corpus_vali_head.txt, which may be another corpus
            unclear += [file for file in present if _matched(rf"{name}[._-].*{_ENDING}", file)]
    unclear = [file for file in unclear if file not in found]
    if unclear or len(set(found.values())) > 1:
        names = ", ".join(file.name for file in dict.fromkeys([*found, *unclear]))
        raise InputError(
            f"{folder}: the names do not say that these files are parts of one corpus: {names}; give the path of one"
            " file, or name the parts alike (train.txt, vali.txt, test.txt)"
        )
    return list(found)


def _matched(pattern: str, file: Path) -> re.Match[str] | None:
    return re.fullmatch(pattern, file.name, re.IGNORECASE)
