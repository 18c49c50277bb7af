"""Every command and all Python code of the pages run as printed, in the order of their page.

The commands of `docs/` assume some files of their readers; the fixture writes them. What no test runs as printed is
listed with a reason.
"""

from __future__ import annotations

import gzip
import re
import shlex

import click
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli.main import cli
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import plugins
from ltr_duel.data import load_dataset, make_corpus, write_svmlight
from ltr_duel.interleaving import METHODS
from ltr_duel.logs import simulate_log
from ltr_duel.preferences import arxiv, save_preferences
from ltr_duel.rankers import feature_rankers
from tests.site.snippets import DOCS, ROOT, run_command, run_page, steps

PAGES = sorted(page.name for page in DOCS.glob("*.md"))
QUICK = ("own_rankers.md", "winners.md")  # run in every test of the package
NOTHING_RUNS = (
    "architecture",
    "glossary",
    "index",
    "log_formats",
    "performance",
    "policies",
    "questions",
    "serving",
    "statistics",
)
ELSEWHERE = {  # beginnings of texts that are not run as printed, with the reason or the test that runs them
    # Python
    "from collections import defaultdict": "it needs runs of two months: tests/interleaving/test_plain.py",
    "from typing import NamedTuple": "a plug-in file: tests/cli/test_plugin_files.py",
    "import lightgbm": "a recipe: tests/rankers/test_recipes.py",
    "from ltr_duel import estimate_preferences\nfrom ltr_duel.rankers": "a recipe: tests/rankers/test_recipes.py",
    "from ltr_duel.rankers import evaluate_rankers, pool_runs": "a recipe: tests/rankers/test_recipes.py",
    "from pathlib import Path\n\nfrom judgements": "it needs a judge: tests/examples/test_judgements.py",
    "from ltr_duel.client import Client": "it needs a service: tests/live/test_client.py",
    "from ltr_duel.advice import advise": "it takes many minutes: tests/advice",
    "import ibis": "it needs Spark: tests/logs/test_warehouse.py",
    # commands that take long
    "ltr-duel advise MQ2008/Fold1 --rankers features:1,5,23,40": "it takes many minutes: README, tests/advice",
    "ltr-duel demo --data qrels": "as the line above it with a million steps: tests/rankers",
    "ltr-duel demo --out demo": "tools/release_check.py, and tests/cli",
    "ltr-duel sensitivity WEB30K": "it takes many minutes: tests/simulation/test_sensitivity.py",
    "python -m benchmarks": "it takes minutes: tests/test_benchmarks.py, tests/test_rank_policies.py",
    # commands whose requirements a test cannot meet
    "ltr-duel data fetch": "it asks to accept terms, then for an archive: tests/data/test_fetch.py",
    "ltr-duel live backup": "it needs that store: tests/live/test_store.py",
    "ltr-duel live check": "it needs that store: tests/live/test_store.py",
    "ltr-duel logs c": "it needs the tables of a reader: tests/cli/test_logs_commands.py, tests/logs/test_warehouse.py",
    "ltr-duel replay MQ2008": "it needs that corpus: tests/live",
    "ltr-duel run mine.toml": "it needs that machine: tests/experiment/test_cluster.py",
    "ltr-duel serve": "it does not end: tests/live/test_serve.py",
    "ltr-duel status /shared": "it needs that folder: tests/experiment/test_cluster.py",
    "dask ": "it needs these machines: tests/experiment/test_cluster.py",
    "export ": "settings of a cluster: tests/experiment/test_cluster.py",
    "sbatch ": "it needs Slurm: tests/experiment/test_cluster.py",
    "pip ": "it asks an index: tools/release_check.py",
    "python": "beside its file: tests/examples",
}


def left_out(step):
    """Return the reason for not running a step, or None; commands that print what they do always run."""
    return None if step.printed else next((why for text, why in ELSEWHERE.items() if step.text.startswith(text)), None)


@pytest.fixture
def desk(tmp_path, monkeypatch, real_data):
    """Write the files that the pages assume: a corpus, runs of two engines, a model, logs, plug-ins."""
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM, of the extra models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    monkeypatch.setattr(plugins, "_loaded", {})
    before = {registry: set(registry.names()) for registry in (POLICIES, METHODS, CLICK_MODELS)}
    (tmp_path / "corpora").mkdir()
    for name in ("MQ2008", "corpora/MSLR_excerpt"):
        (tmp_path / name).symlink_to(real_data / name.rpartition("/")[2])
    corpus = load_dataset("MQ2008/Fold1")
    train = lightgbm.Dataset(corpus.features, corpus.relevance, group=corpus.query_sizes)
    settings = {"objective": "lambdarank", "num_leaves": 4, "num_threads": 1, "verbose": -1}
    lightgbm.train(settings, train, 5).save_model("model.txt")
    run, judged, scores = [], [], ["query,document,old,new\n"]
    for query, name in enumerate(corpus.query_ids):
        for row in range(corpus.query_ptr[query], corpus.query_ptr[query + 1]):
            old, new = corpus.features[row, [24, 38]]
            run.append(f"{name} Q0 {corpus.doc_ids[row]} 0 {old} run\n")
            judged.append(f"{name} 0 {corpus.doc_ids[row]} {corpus.relevance[row]}\n")
            scores.append(f"{name},{corpus.doc_ids[row]},{old},{new}\n")
    for name, lines in {"scores.csv": scores, "qrels.txt": judged, "dense.trec": run, "bm25.run": run}.items():
        (tmp_path / name).write_text("".join(lines))
    for name in ("new.trec.gz", "bm25.trec.gz", "mine.run.gz"):
        (tmp_path / name).write_bytes(gzip.compress("".join(run).encode()))
    simulate_log(
        "clicks.parquet", feature_rankers(corpus, features=list(corpus.feature_names[:2])), horizon=2000, returning=300
    )
    save_preferences(arxiv(), "matrix.parquet")
    for file, page, marker in (
        ("mine.py", "own_policy.md", "def select"),
        ("coin_flip.py", "methods.md", "Coin flips"),
    ):
        (tmp_path / file).write_text(next(step.text for step in steps(DOCS / page) if marker in step.text))
    for fold in range(1, 6):
        for part, seed in {"train": 0, "vali": (fold - 2) % 5 + 1, "test": fold}.items():
            path = tmp_path / f"MSLR-WEB10K/Fold{fold}/{part}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_svmlight(make_corpus(queries=3, documents=4, features=136, seed=seed), path)
            path.write_text(path.read_text().replace("qid:", f"qid:{seed}"))
    run_command(shlex.split("prefs estimate MQ2008/Fold1 --comparisons 100 --out mq2008.parquet"))
    yield tmp_path
    for registry, names in before.items():
        for name in set(registry.names()) - names:
            registry.remove(name)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # a warning of Ibis's DuckDB backend
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[] if page in QUICK else pytest.mark.long) for page in PAGES]
)
def test_a_page_runs_as_printed(page, desk):
    written = re.findall(r"(?:estimate|simulate) .*--(?:out|log) (\S+[.]\w+)", (DOCS / page).read_text("utf-8"))
    for name in written:
        (desk / name).unlink(missing_ok=True)  # a file of the fixture
    assert (run_page(DOCS / page, left_out) > 0) == (page.removesuffix(".md") not in NOTHING_RUNS)


def test_what_no_test_runs_as_printed_is_named_with_a_reason():
    printed = [step for page in PAGES for step in steps(DOCS / page) if step.kind != "file"]
    assert [text for text in ELSEWHERE if not any(step.text.startswith(text) for step in printed)] == []


def options_of(words):
    """Return the options of the command at the start of the words, and the number of words of its name."""
    command, depth = cli, 0
    context = click.Context(cli)
    while isinstance(command, click.Group):
        command, depth = command.get_command(context, words[depth]), depth + 1
        assert command is not None, " ".join(words)
    return {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}, depth


def test_every_command_that_a_page_prints_exists_with_its_options():
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    printed = {step.text for page in pages for step in steps(page) if step.text.startswith("ltr-duel ")}
    printed |= {text for page in pages for text in re.findall(r"`(ltr-duel [a-z]+ [^`]*)`", page.read_text("utf-8"))}
    assert len(printed) > 60
    for command in sorted(printed - {"ltr-duel COMMAND --help"}):
        words = shlex.split(command)[1:]
        options, depth = options_of(words)
        unknown = [word for word in words[depth:] if re.match("--[a-z]", word) and word not in options]
        assert not unknown, f"{command}: {unknown}"


def test_a_command_that_prints_something_else_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    text = "`a.txt`:\n\n```text\nx\n```\n\nRun\n\n```console\n"
    text += "$ ltr-duel list policies rucb --bibtex  # a remark\n@inproceedings{...\n```\n"
    page.write_text(text)
    assert run_page(page) == 2 and (tmp_path / "a.txt").read_text() == "x\n"
    page.write_text(text.replace("@inproceedings", "@article"))
    with pytest.raises(AssertionError, match=r"page\.md:9: ltr-duel list policies rucb --bibtex"):
        run_page(page)
