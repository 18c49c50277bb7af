"""A corpus used for a paper's corpus is read according to its declaration."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.papers.declaration import real
from ltr_duel.papers.expand import first_present
from ltr_duel.papers.measures.inputs import load_corpus

LEARNING = "0.5 1:0.5 245:1 # 7\n2.2 1:0.25 # 7\n"


def test_a_source_says_how_its_corpus_is_read(tmp_path):
    (tmp_path / "learning.txt").write_text(LEARNING)
    found = first_present([real("learning.txt", labels="round", drop_constant=False)], "quick", tmp_path)
    assert found.reading == {"labels": "round"}
    assert load_corpus(found, jobs=1).relevance.tolist() == [1, 2]
    with pytest.raises(InputError, match="--labels round"):
        load_corpus(first_present([real("learning.txt")], "quick", tmp_path), jobs=1)


def test_the_corpus_of_yandex_is_read_with_rounded_labels(tmp_path, monkeypatch):
    """This also holds for the text form; a corpus that was fetched under its name has the same declaration."""
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    (tmp_path / "IMAT2009").mkdir()
    (tmp_path / "IMAT2009" / "imat2009_learning.txt").write_text(LEARNING)
    yandex = runpy.run_path(str(Path(__file__).resolve().parents[2] / "experiments" / "problems.py"))["YANDEX"]
    assert load_corpus(first_present(yandex.sources, "quick", tmp_path), jobs=1).relevance.tolist() == [1, 2]
