"""The guides run as printed, page by page, on real feature files if available: commands and Python code.

Code that no test runs as printed is listed here with a reason, for all pages.
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
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import plugins
from ltr_duel.data import load_dataset, make_corpus, write_svmlight
from ltr_duel.interleaving import METHODS
from ltr_duel.logs import simulate_log
from ltr_duel.preferences import arxiv
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import simulate
from tests.site.snippets import DOCS, blocks, run_command

ROOT = DOCS.parent
WHOLE = {  # pages that are run completely, and the tests that run them
    "README.md": "tests/cli/test_readme.py",
    **{f"docs/{page}": "tests/site/test_snippets.py" for page in ("howto.md", "gallery.md")},
    **{
        page.relative_to(ROOT).as_posix(): "tests/site/test_snippets.py"
        for folder in ("tutorials", "explanations", "notebooks")
        for page in (DOCS / folder).glob("*.md")
    },
}
PAGES = tuple(
    f"docs/{name}.md"
    for name in (
        "cluster",
        "data",
        "experiments",
        "live",
        "logs",
        "methods",
        "plans",
        "policies",
        "preferences",
        "rankers",
    )
)
ELSEWHERE = {  # beginnings of texts that are not run as printed, with the reason or the test that runs them
    # Python
    '"""The arm with the best win rate against a random one."""': "a plug-in file: tests/cli/test_plugin_files.py",
    "from typing import NamedTuple": "a plug-in file: tests/cli/test_plugin_files.py",
    "from collections import defaultdict": "it needs runs of two months: tests/interleaving/test_plain.py",
    "import lightgbm": "a recipe: tests/rankers/test_recipes.py",
    "from ltr_duel import estimate_preferences\nfrom ltr_duel.rankers": "a recipe: tests/rankers/test_recipes.py",
    "from ltr_duel.rankers import evaluate_rankers, pool_runs": "a recipe: tests/rankers/test_recipes.py",
    "from pathlib import Path\n\nfrom judgements": "it needs a judge: tests/examples/test_judgements.py",
    "python judgements.py": "beside its file: tests/examples/test_judgements.py",
    "python -m benchmarks": "it takes minutes: tests/test_benchmarks.py, tests/test_rank_policies.py",
    "from ltr_duel.client import Client": "it needs a service: tests/live/test_client.py",
    "from ltr_duel.advice import advise": "it takes many minutes: tests/advice",
    # slow blocks
    "python -m benchmarks.rank_policies": "it takes ten minutes: tests/test_rank_policies.py",
    "ltr-duel advise MQ2008/Fold1 --rankers features:1,5,23,40": "it takes many minutes: README, tests/advice",
    "ltr-duel demo --data qrels": "as the line above it with a million steps: tests/rankers",
    "ltr-duel reproduce": "it takes hours: tests/papers",
    "ltr-duel sensitivity WEB30K": "it takes many minutes: tests/simulation/test_sensitivity.py",
    # blocks with requirements that a test cannot meet
    "ltr-duel data fetch mslr-web10k": "it asks to accept terms, then for an archive: tests/data/test_fetch.py",
    "ltr-duel data fetch istella-s": "it downloads an archive that is not free: tests/data/test_fetch.py",
    "ltr-duel data info corpora/MSLR-WEB10K": "it needs a corpus that is not free: tests/data",
    "ltr-duel live backup": "it needs that store: tests/live/test_store.py",
    "ltr-duel live check": "it needs that store: tests/live/test_store.py",
    "ltr-duel logs compare --exposures": "it needs the tables of a reader: tests/cli/test_logs_commands.py",
    "ltr-duel power clicks.parquet --pair old new": "it needs a log of rankers of that name: tests/cli",
    "ltr-duel replay MQ2008": "it needs that corpus: tests/live",
    "ltr-duel run mine.toml --out mine --backend dask": "it needs that machine: tests/experiment/test_cluster.py",
    "ltr-duel run study.toml": "the file is the reader's: docs/tutorials/study_on_a_cluster.md",
    "ltr-duel serve": "it does not end: tests/live/test_serve.py",
    "ltr-duel status /shared": "it needs that folder: tests/experiment/test_cluster.py",
    "dask ": "it needs these machines: tests/experiment/test_cluster.py",
    "export ": "settings of a cluster: tests/experiment/test_cluster.py",
    "sbatch ": "it needs Slurm: tests/experiment/test_cluster.py",
    'eval "$(_LTR_DUEL_COMPLETE': "it is for a shell at work: tests/cli/test_words.py",
    # set-up and test blocks
    "make ": "a target of the Makefile",
    "pip download": "it asks an index",
    "pip install": "it asks an index: tools/release_check.py",
    "ltr-duel demo --out demo": "tools/release_check.py, and tests/cli",
}
_PROGRAM = re.compile(r"(?:\$ )?((?:ltr-duel [^:]|python |pip |dask |sbatch |export |make |eval ).*)")


def steps_of(page):
    """Yield the runnable parts of a page in order: files, Python code, commands."""
    for block in blocks(ROOT / page):
        if block.file:
            yield "file", (block.file, block.text)
        elif block.kind == "python":
            yield "python", block.text
        elif block.kind in ("", "console", "sh"):
            for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
                if found := _PROGRAM.match(line):
                    yield "command", found[1].partition("  #")[0].partition("   ")[0].strip()


def said_why(text):
    """Return the reason for not running a block of its page, or None."""
    return next((why for begin, why in ELSEWHERE.items() if text.startswith(begin)), None)


def example(page, marker):
    """Return the Python block of a page that contains a marker."""
    return next(block.text for block in blocks(page) if marker in block.text)


@pytest.fixture
def desk(tmp_path, monkeypatch, real_data):
    """Write the files that the pages assume: a corpus, runs of two engines, a model, a log, two plug-ins."""
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM, of the extra models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    monkeypatch.setattr(plugins, "_loaded", {})
    known = {registry: set(registry.names()) for registry in (POLICIES, METHODS, CLICK_MODELS)}
    for name, target in {"MQ2008": real_data / "MQ2008", "experiments": ROOT / "experiments"}.items():
        (tmp_path / name).symlink_to(target)
    corpus = load_dataset("MQ2008/Fold1")
    train = lightgbm.Dataset(corpus.features, corpus.relevance, group=corpus.query_sizes)
    settings = {"objective": "lambdarank", "num_leaves": 4, "num_threads": 1, "verbose": -1}
    lightgbm.train(settings, train, 5).save_model("model.txt")
    run, judged, scores = [], [], ["query,document,old,new\n"]
    for query, name in enumerate(corpus.query_ids):
        for row in range(corpus.query_ptr[query], corpus.query_ptr[query + 1]):
            run.append(f"{name} Q0 {corpus.doc_ids[row]} 0 {corpus.features[row, 24]} run\n")
            judged.append(f"{name} 0 {corpus.doc_ids[row]} {corpus.relevance[row]}\n")
            scores.append(f"{name},{corpus.doc_ids[row]},{corpus.features[row, 24]},{corpus.features[row, 38]}\n")
    Path("scores.csv").write_text("".join(scores))
    Path("qrels.txt").write_text("".join(judged))
    Path("dense.trec").write_text("".join(run))
    Path("bm25.run").write_text("".join(run))
    for name in ("new.trec.gz", "bm25.trec.gz", "mine.run.gz"):
        Path(name).write_bytes(gzip.compress("".join(run).encode()))
    rankings = feature_rankers(corpus, features=list(corpus.feature_names[:2]))
    for name in ("clicks.jsonl", "clicks.parquet"):
        simulate_log(name, rankings, pairs="team_draft", horizon=2000, returning=300)
    simulate(arxiv(), "rucb", horizon=100, repetitions=2).to_frame().to_csv("table.csv", index=False)
    Path("mine.py").write_text(example("policies.md", "def select"))
    Path("mine.toml").write_text(example("tutorials/study_on_a_cluster.md", "a small study"))
    Path("keys").write_text("2026 " + 32 * "5a")
    for fold in range(1, 6):
        Path(f"MSLR-WEB10K/Fold{fold}").mkdir(parents=True)
        for part, seed in {"train": 0, "vali": (fold - 2) % 5 + 1, "test": fold}.items():
            path = Path(f"MSLR-WEB10K/Fold{fold}/{part}.txt")
            write_svmlight(make_corpus(queries=3, documents=4, features=136, seed=seed), path)
            path.write_text(path.read_text().replace("qid:", f"qid:{seed}"))
    assert (
        run_command(shlex.split("ltr-duel prefs estimate MQ2008/Fold1 --comparisons 100 --out mq2008.parquet")[1:])[0]
        == 0
    )
    yield tmp_path
    for registry, names in known.items():
        for name in set(registry.names()) - names:
            registry.remove(name)


def as_a_shell(word):
    """Return the files that match a pattern, otherwise the word."""
    return sorted(map(str, Path().glob(word))) if "*" in word else [word]


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_a_guide_runs_as_printed(page, desk, capsys):
    names, done = {"__name__": "__main__"}, 0
    for kind, step in steps_of(page):
        if kind == "file":
            Path(step[0]).write_text(step[1], encoding="utf-8")
            continue
        if said_why(step):
            continue
        if kind == "python":
            exec(compile(step, page, "exec"), names)
        else:
            for word in re.findall(r"(?:estimate|simulate) .*--(?:out|log) (\S+[.]\w+)", step):
                (desk / word).unlink(missing_ok=True)  # a file of the fixture, or of another page
            code, printed = run_command([word for one in shlex.split(step)[1:] for word in as_a_shell(one)])
            assert code == 0, f"{page}: {step}\n{printed}"
        done += 1
    assert done >= 2


def test_what_no_test_runs_as_printed_is_named_with_a_reason():
    pages = [*(page.name for page in ROOT.glob("*.md")), *(f"docs/{page.name}" for page in DOCS.glob("*.md")), *WHOLE]
    unused = set(ELSEWHERE)
    for page in dict.fromkeys(pages):
        for kind, step in steps_of(page):
            why = said_why(step) if kind != "file" else None
            unused -= {begin for begin in ELSEWHERE if kind != "file" and step.startswith(begin)}
            shell = kind == "command" and not step.startswith("ltr-duel ")
            run = page in PAGES or (page in WHOLE and not shell)
            assert kind == "file" or why or run, f"{page}: nobody runs\n{step}"
    assert not unused, "no page prints these"


def options_of(words):
    """Return the options of the command at the start of the words, and the number of words of its name."""
    command, depth = cli, 0
    context = click.Context(cli)
    while isinstance(command, click.Group):
        command, depth = command.get_command(context, words[depth]), depth + 1
        assert command is not None, " ".join(words)
    return {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}, depth


def test_every_command_that_a_page_prints_exists_with_its_options():
    pages = [page for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")] if "generated" not in page.parts]
    printed = {step for page in pages for kind, step in steps_of(page.relative_to(ROOT)) if kind == "command"}
    printed = {command for command in printed if command.startswith("ltr-duel ")}
    assert len(printed) > 60
    for command in sorted(printed):
        words = shlex.split(command)[1:]
        options, depth = options_of(words)
        unknown = [word for word in words[depth:] if re.match("--[a-z]", word) and word not in options]
        assert not unknown, f"{command}: {unknown}"


def test_no_page_links_into_the_folder_that_only_the_built_site_has():
    pages = [page for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")] if "generated" not in page.parts]
    assert [str(page) for page in pages if re.search(r"\]\((\.\./)*(docs/)?generated/", page.read_text())] == []
