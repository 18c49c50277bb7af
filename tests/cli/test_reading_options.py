"""Every command that reads a corpus takes the same reading options, and they reach the reader."""

from __future__ import annotations

import pytest

from ltr_duel.cli.main import cli
from ltr_duel.core import InputError
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.spec import read_spec

OPTIONS = {
    "--split", "--fold", "--dialect", "--features", "--first-id", "--fill", "--labels", "--unlabelled",
    "--omitted", "--no-cache",
}  # fmt: skip
READERS = {
    "data info", "data fetch", "prefs estimate", "simulate", "demo",
    "sensitivity", "evaluate", "power", "advise", "replay",
}  # fmt: skip

NULLS = "".join(
    f"{grade} qid:{query} 1:{'NULL' if grade == 1 else grade + query} 2:{document} 3:{5 - grade}\n"
    for query in (1, 2, 3)
    for document, grade in enumerate((0, 2, 1, 0.5))
)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))


@pytest.fixture
def odd(tmp_path):
    """Write a folder that can be read only with three options; return the folder and the options."""
    (tmp_path / "odd").mkdir()
    for part in ("train", "test"):
        (tmp_path / "odd" / f"{part}.txt").write_text(NULLS)
    return (
        tmp_path / "odd",
        ("--fill", "min", "--labels", "round", "--split", "test"),
    )


def commands(group, before=""):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield from commands(command, f"{name} ") if hasattr(command, "list_commands") else [(before + name, command)]


def test_every_command_that_reads_a_corpus_takes_all_of_them():
    taken = {name: {word for one in command.params for word in one.opts} & OPTIONS for name, command in commands(cli)}
    assert {name: words for name, words in taken.items() if words} == dict.fromkeys(READERS, OPTIONS)


def test_the_data_command_reads_as_it_is_told(ltr_duel, odd):
    path, options = odd
    assert ltr_duel("data", "info", path).code != 0
    answer = ltr_duel("data", "info", path, *options)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("prefs", "estimate", "PATH", "--out", "o.parquet"),
        ("evaluate", "PATH"),
        ("simulate", "--users", "PATH", "--policy", "random"),
        ("demo", "--data", "PATH"),
        ("sensitivity", "PATH"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_options_reach_the_reader(ltr_duel, odd, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)  # where no earlier demo lies

    def reader(path, **options):
        seen.update(options, path=path)
        raise InputError("seen")

    seen = {}
    monkeypatch.setattr("ltr_duel.data.load_dataset", reader)
    path, options = odd
    answer = ltr_duel(*(path if word == "PATH" else word for word in words), *options, "--features", 5, "--first-id", 0)
    assert answer.err == "ltr-duel: seen\n"
    given = {"fill": "min", "labels": "round", "features": 5, "first_id": 0}
    assert seen == {"path": path, "split": "test", "fold": None, "cache": True, **given}


def test_a_specification_takes_the_same_keys(odd, tmp_path):
    spec = """
    policies = ["random"]
    corpora = [{ path = "odd", comparisons = 20 }]
    utilities = [{ path = "odd", name = "means", size = 3 }]
    """
    with pytest.raises(InputError, match=r"corpora\[0\]: .*(fill|labels) = "):
        build_problems(read_spec(tmp_path / "e.toml", spec), jobs=1)
    keys = 'path = "odd", fill = "min", labels = "round", split = "test", features = 4'
    spec = spec.replace('path = "odd"', keys)
    problems = build_problems(read_spec(tmp_path / "e.toml", spec), jobs=1)
    assert [len(problem.matrix) for problem in problems] == [3, 3]


@pytest.mark.parametrize(
    "keys, what",
    [
        ('path = "a", fill = "mean"', r"corpora\[0\]: no fill 'mean'"),
        ('path = "a", first_id = 3', r"corpora\[0\]\.first_id: the value must be between 0 and 1, not 3"),
        ('path = "a", labels = "rounded"', "did you mean 'round'"),
        ("synthetic = {}, fill = 0", r"corpora\[0\]: 'fill' requires 'path'"),
        ('synthetic = {}, split = "train"', r"corpora\[0\]: 'split' requires 'path'"),
    ],
)
def test_a_specification_refuses_options_that_are_not_legal(keys, what):
    with pytest.raises(InputError, match=what):
        read_spec("e.toml", f'policies = ["random"]\ncorpora = [{{ {keys} }}]')


def test_options_that_nothing_is_read_with_are_refused(ltr_duel, tmp_path):
    assert "require --data" in ltr_duel("demo", "--fill", "min", "--out", tmp_path / "d").err
    assert "require --users" in ltr_duel("simulate", "m.csv", "--policy", "random", "--fill", "0").err
    refused = ltr_duel("evaluate", "qrels:q", "--rankers", "run:r", "--split", "train")
    assert "judgements are not feature files" in refused.err
    assert not (tmp_path / "d").exists()


def test_no_cache_reads_the_text(ltr_duel, odd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where no earlier demo lies

    def reader(path, **options):
        raise InputError(f"cache {options['cache']}")

    path, options = odd
    monkeypatch.setattr("ltr_duel.data.load_dataset", reader)
    assert ltr_duel("data", "info", path, "--no-cache", *options).err == "ltr-duel: cache False\n"
    assert ltr_duel("data", "info", path, *options).err == "ltr-duel: cache True\n"
    assert "require --data" in ltr_duel("demo", "--no-cache").err
