"""An output path is tested before the work begins, and no command replaces a result without --overwrite."""

from __future__ import annotations

import re

import click
import pytest

from ltr_duel.cli._options import Place
from ltr_duel.cli.main import cli

# Folders and files that their command continues, each with its own check of what is there.
CONTINUED = {
    "run --out", "prefs estimate --store", "reproduce --out", "replay --out",
    "live plan --out", "merge --out", "rank-policies --out",
}  # fmt: skip
INPUTS = r"--(users|data|plugin|source|history|config|keys|experiments|api-key-file|user-key-file|archive|folder)"


def outputs(command=cli, words=()):
    """Yield the words and the option of each path that a command writes."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from outputs(command.get_command(click.Context(command), name), (*words, name))
        return
    for param in command.params:
        name = " ".join((*words, param.opts[-1]))
        if isinstance(param, click.Option) and isinstance(param.type, click.Path) and not re.search(INPUTS, name):
            yield pytest.param(command, words, param, id=name)


def existing(param, folder):
    """Write a result where a command would write its own; return the path for the option, and the result."""
    if not param.type._results:
        ending = (*param.type._endings, ".parquet")[0]
        (folder / f"out{ending}").write_text("years of work")
        return folder / f"out{ending}", folder / f"out{ending}"
    (folder / "out").mkdir()
    there = folder / "out" / param.type._results[0].replace("*", "a")
    there.write_text("years of work")
    return folder / "out", there


@pytest.mark.parametrize(("command", "words", "param"), list(outputs()))
def test_existing_results_are_refused_before_the_work_and_replaced_with_one_word(
    ltr_duel, tmp_path, command, words, param
):
    assert isinstance(param.type, Place), "the path is tested before the work begins"
    if " ".join((*words, param.opts[-1])) in CONTINUED:
        assert not param.type.refuses
        return
    inputs = ["absent"] * sum(isinstance(one, click.Argument) and one.required for one in command.params)
    inputs += ["--data", "absent"] * (words == ("demo",))  # whose own corpus is made
    path, there = existing(param, tmp_path)
    refused = ltr_duel(*words, *inputs, param.opts[-1], path)
    assert refused.code == 2 and refused.err == (
        f"ltr-duel: {there}: already exists; give another name, or --overwrite to replace it\n"
    )
    assert "already exists" not in ltr_duel(*words, *inputs, param.opts[-1], path, "--overwrite").err
    assert there.read_text() == "years of work", "the input is missing, so nothing was written"
    unwritable = ltr_duel(*words, *inputs, param.opts[-1], there / path.name)
    assert unwritable.code == 2 and "cannot be written" in unwritable.err
    assert "Replace existing results." in " ".join(ltr_duel(*words, "--help").out.split())


def test_a_folder_with_other_files_is_used(ltr_duel, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    words = ("simulate", "arxiv", "--policy", "rucb", "--horizon", "10", "--repetitions", "1", "--out", tmp_path)
    assert ltr_duel(*words).code == 0
    results = tmp_path / "results.parquet"
    refused = ltr_duel(*words, "--policy", "rcs")
    assert refused.code == 2 and f"{results}: already exists" in refused.err
    before = results.read_bytes()
    assert ltr_duel(*words, "--policy", "random", "--overwrite").code == 0 and results.read_bytes() != before


def test_the_default_folder_is_refused_too(ltr_duel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "simulation").mkdir()
    (tmp_path / "simulation" / "runs.json").write_text("years of work")
    assert "runs.json: already exists" in ltr_duel("simulate", "arxiv", "--horizon", "10").err


SPEC = """
name = "{}"
policies = ["random"]
horizon = {}
repetitions = 1
utilities = [{{ set = "1good5poor" }}]
"""


def test_an_experiment_continues_its_own_folder_and_refuses_that_of_another(ltr_duel, tmp_path):
    (tmp_path / "mine.toml").write_text(SPEC.format("mine", 10))
    (tmp_path / "other.toml").write_text(SPEC.format("other", 10))
    out = tmp_path / "out"
    assert "1 done now" in ltr_duel("run", tmp_path / "mine.toml", "--out", out, "--jobs", 1).out
    (tmp_path / "mine.toml").write_text(SPEC.format("mine", [10, 20]))
    assert "1 done now, 1 already done" in ltr_duel("run", tmp_path / "mine.toml", "--out", out, "--jobs", 1).out
    refused = ltr_duel("run", tmp_path / "other.toml", "--out", out, "--jobs", 1)
    assert refused.code == 2 and refused.err == (
        f"ltr-duel: {out}: contains the results of the experiment mine, not of other; give another folder\n"
    )
