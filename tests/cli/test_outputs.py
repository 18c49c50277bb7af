"""An output path is tested before the work begins, and no command replaces a result without --overwrite."""

from __future__ import annotations

import re

import click
import pytest

from ltr_duel.cli._options import OutputPath
from ltr_duel.cli.main import cli
from ltr_duel.core.files import sole_writer

INPUTS = r"--(users|data|plugin|source|config|keys|experiments|archive|folder)"


def outputs(command=cli, words=()):
    """Yield the words and the option of each path that a command writes."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from outputs(command.get_command(click.Context(command), name), (*words, name))
        return
    for param in command.params:
        name = " ".join((*words, param.opts[-1]))
        if isinstance(param, click.Option) and isinstance(param.type, click.Path) and not re.search(INPUTS, name):
            yield command, words, param


def test_every_path_that_a_command_writes_is_an_output_path_and_some_are_continued():
    continued = {" ".join(words) for _, words, param in outputs() if not param.type.refuses}
    assert continued == {"run", "reproduce", "replay", "live plan"}
    assert all(isinstance(param.type, OutputPath) for _, _, param in outputs())


@pytest.mark.parametrize(
    ("command", "words", "param"),
    [pytest.param(*row, id=" ".join((*row[1], row[2].opts[-1]))) for row in outputs() if row[2].type.refuses],
)
def test_existing_results_are_refused_before_the_work(ltr_duel, refuse, tmp_path, command, words, param):
    inputs = ["absent"] * sum(isinstance(one, click.Argument) and one.required for one in command.params)
    inputs += ["--data", "absent"] * (words == ("demo",))  # whose own corpus is made
    out = existing = tmp_path / "out.parquet"
    if param.type.results:
        existing = out / param.type.results[0].replace("*", "a")
        out.mkdir()
    existing.write_text("years of work")
    refuse(f"{existing}: already exists; give another name, or --overwrite", *words, *inputs, param.opts[-1], out)
    assert "already exists" not in ltr_duel(*words, *inputs, param.opts[-1], out, "--overwrite").err
    assert existing.read_text() == "years of work", "the input is missing, so nothing was written"


def test_a_folder_with_other_files_is_used_and_results_are_replaced_with_overwrite(succeed, refuse, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    words = ("simulate", "arxiv", "--policy", "rucb", "--horizon", "10", "--repetitions", "1", "--out", tmp_path)
    succeed(*words)
    before = (tmp_path / "results.parquet").read_bytes()
    refuse("results.parquet: already exists", *words, "--policy", "rcs")
    assert (tmp_path / "results.parquet").read_bytes() == before
    succeed(*words, "--policy", "random", "--overwrite")
    assert (tmp_path / "results.parquet").read_bytes() != before


def test_a_second_process_is_told_that_a_path_is_in_use(refuse, corpus, tmp_path):
    words = ("simulate", "arxiv", "--horizon", "10", "--out", tmp_path / "out")
    with sole_writer(tmp_path / "out"):
        refuse("another process is writing there; wait until it is done", *words)


def test_a_link_to_itself_is_refused_as_an_output(refuse, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    refuse("loop: cannot be written", "simulate", "arxiv", "--horizon", "10", "--out", tmp_path / "loop")
