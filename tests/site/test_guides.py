"""The commands of the guides run as printed, page by page, on real feature files if at hand.

Their Python texts are run by the tests of their subject (`tests/rankers/test_recipes.py`, `tests/interleaving`,
...), and the README by `tests/cli/test_readme.py`.
"""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

import click
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli.main import cli
from ltr_duel.core import plugins
from ltr_duel.data import load_dataset
from ltr_duel.interleaving import METHODS
from ltr_duel.logs import simulate_log
from ltr_duel.rankers import feature_rankers
from tests.site.snippets import DOCS, run_command

ROOT = DOCS.parent
PAGES = tuple(f"docs/{name}.md" for name in ("experiments", "logs", "methods", "policies", "preferences", "rankers"))
ELSEWHERE = {  # commands that a page of a test cannot run as printed, and who runs them
    "ltr-duel sensitivity MQ2008/Fold1 --plugin": "a method in plain Python takes many minutes: tests/cli",
    "ltr-duel serve": "it does not end: tests/serve",
    "ltr-duel replay": "it needs a service: tests/serve",
    "ltr-duel live": "it needs the store of an experiment: tests/live",
    "ltr-duel reproduce": "it takes many minutes: tests/papers",
    "ltr-duel advise": "it takes many minutes: tests/advice",
    "ltr-duel data fetch": "it needs an archive that is not free: tests/data_scripts",
    "ltr-duel logs weigh": "it needs a log of rankers of that name: tests/logs",
    "ltr-duel run study.toml": "the file is the reader's: the tutorial of a study",
    "ltr-duel demo --data qrels": "as below with a million steps: tests/rankers",
}


def commands_of(page):
    """Yield the commands of a page's blocks that are not Python, with continued lines joined."""
    for kind, text in re.findall(r"^```(.*?)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S):
        if kind not in ("", "console"):
            continue
        for line in re.sub(r"\\\n\s*", "", text).splitlines():
            found = re.match(r"(?:\$ )?(ltr-duel [^:].*)", line)
            if found and not line.startswith("ltr-duel: "):
                yield found[1].partition("  #")[0].partition("   ")[0].strip()


def example(page, marker):
    """Return the Python text of a page that holds a marker."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S)
    return next(block for block in blocks if marker in block)


@pytest.fixture
def desk(tmp_path, monkeypatch, real_data):
    """Lay out what the pages take for given: a corpus, runs of two engines, a model, a log, two plug-ins."""
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM, of the extra models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    monkeypatch.setattr(plugins, "_loaded", {})
    known = {registry: set(registry.names()) for registry in (POLICIES, METHODS)}
    for name, target in {"MQ2008": real_data / "MQ2008", "experiments": ROOT / "experiments"}.items():
        (tmp_path / name).symlink_to(target)
    corpus = load_dataset("MQ2008/Fold1")
    train = lightgbm.Dataset(corpus.features, corpus.relevance, group=corpus.query_sizes)
    settings = {"objective": "lambdarank", "num_leaves": 4, "num_threads": 1, "verbose": -1}
    lightgbm.train(settings, train, 5).save_model("model.txt")
    run, judged = [], []
    for query, name in enumerate(corpus.query_ids):
        for row in range(corpus.query_ptr[query], corpus.query_ptr[query + 1]):
            run.append(f"{name} Q0 {corpus.doc_ids[row]} 0 {corpus.features[row, 24]} run\n")
            judged.append(f"{name} 0 {corpus.doc_ids[row]} {corpus.relevance[row]}\n")
    Path("qrels.txt").write_text("".join(judged))
    Path("dense.trec").write_text("".join(run))
    for name in ("new.trec.gz", "bm25.trec.gz"):
        Path(name).write_bytes(gzip.compress("".join(run).encode()))
    rankings = feature_rankers(corpus, features=list(corpus.feature_names[:2]))
    for name in ("clicks.jsonl", "clicks.parquet"):
        simulate_log(name, rankings, pairs="team_draft", horizon=2000, users=300)
    Path("mine.py").write_text(example("policies.md", "def select"))
    Path("coin_flip.py").write_text(example("methods.md", "Coin flips"))
    assert (
        run_command(shlex.split("ltr-duel prefs estimate MQ2008/Fold1 --comparisons 100 --out mq2008.parquet")[1:])[0]
        == 0
    )
    yield tmp_path
    for registry, names in known.items():
        for name in set(registry.names()) - names:
            registry.remove(name)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_guide_run_as_printed(page, desk):
    if page == "docs/preferences.md":
        (desk / "mq2008.parquet").unlink()  # its first command makes it
    done = 0
    for command in commands_of(page):
        if any(command.startswith(words) for words in ELSEWHERE):
            continue
        code, printed = run_command(shlex.split(command)[1:])
        assert code == 0, f"{page}: {command}\n{printed}"
        done += 1
    assert done >= 2


def options_of(words):
    """Return the options of the command that some words begin with, and how many words its name has."""
    command, depth = cli, 0
    context = click.Context(cli)
    while isinstance(command, click.Group):
        command, depth = command.get_command(context, words[depth]), depth + 1
        assert command is not None, " ".join(words)
    return {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}, depth


def test_every_command_that_a_page_prints_exists_with_its_options():
    pages = [page for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")] if "generated" not in page.parts]
    printed = {command for page in pages for command in commands_of(page.relative_to(ROOT))}
    assert len(printed) > 60
    for command in sorted(printed):
        words = shlex.split(command)[1:]
        options, depth = options_of(words)
        unknown = [word for word in words[depth:] if re.match("--[a-z]", word) and word not in options]
        assert not unknown, f"{command}: {unknown}"
