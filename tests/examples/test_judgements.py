"""The example of judgements: the next pairs, the winner, and a file as the only state."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies.judgements import figure, judged, studied, summary
from examples.judgements import judgements as example
from examples.judgements.judgements import Judgements, find_best, read_judgements
from ltr_duel.core import InputError
from ltr_duel.preferences import arxiv
from tests.site.snippets import DOCS, steps

NAMES = ("gpt", "mistral", "llama")


@pytest.fixture
def judge():
    """Prefer the name that comes first in the alphabet in seven of ten cases, with one tie in ten."""
    rng = np.random.default_rng(5)
    return lambda *pair: str(rng.choice([min(pair), max(pair), "tie"], p=[0.65, 0.25, 0.1]))


@pytest.mark.parametrize("runs", [6, pytest.param(100, marks=pytest.mark.long)])
def test_the_named_winner_is_right_in_95_percent_of_runs(runs):
    right = [judged(arxiv(), "double_thompson", seed, 2000).winner() == "A" for seed in range(runs)]
    assert np.mean(right) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)


def test_a_file_always_gives_the_same_standing_and_the_same_next_pairs(judge, tmp_path):
    path = tmp_path / "judgements.csv"
    for most in (20, 50, 80):
        find_best(Judgements(NAMES), judge, path, most=most)
        first, second = Judgements(NAMES), Judgements(NAMES)
        for judgements in (first, second):
            judgements.tell(read_judgements(path))
        assert first.wins.tolist() == second.wins.tolist() and len(first) == most
        assert first.standing().equals(second.standing()) and first.ask(9) == second.ask(9)


def test_the_same_object_called_again_counts_no_judgement_twice_and_loses_none(tmp_path):
    """The judge is interrupted at its 31st answer, which is in the second batch of 20."""
    path, judgements, answers = tmp_path / "j.csv", Judgements(NAMES), iter(["tie"] * 30)

    def judge(first, second):
        answer = next(answers, None)
        if answer is None:
            raise KeyboardInterrupt
        return answer

    with pytest.raises(KeyboardInterrupt):
        find_best(judgements, judge, path)
    assert len(read_judgements(path)) == 30
    find_best(judgements, lambda *pair: "tie", path, most=45)
    find_best(judgements, judge, path, most=45)
    assert len(judgements) == len(read_judgements(path)) == 45 and judgements.ties.sum() == 2 * 45


def test_an_invalid_answer_is_refused_and_the_earlier_ones_are_kept(tmp_path):
    answers = iter(["tie", "tie", "Tie"])
    with pytest.raises(InputError, match=r"^judgement 3, "):
        find_best(Judgements(NAMES), lambda *pair: next(answers), tmp_path / "j.csv")
    assert len(read_judgements(tmp_path / "j.csv")) == 2


def test_a_file_from_elsewhere_is_continued_or_refused(tmp_path):
    path = tmp_path / "j.csv"
    path.write_text("\ufefffirst,second,winner\ngpt,llama,tie", encoding="utf-8")  # no line end
    find_best(Judgements(NAMES), lambda *pair: "tie", path, most=3)
    assert len(read_judgements(path)) == 3
    for text in ("gpt,llama,tie\n", "first,second,winner,time\ngpt,llama,tie,7\n", "first,second,winner\ngpt,llama\n"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"j.csv: the first line must be first,second,winner"):
            find_best(Judgements(NAMES), lambda *pair: "tie", path)


def test_a_policy_that_does_not_only_count_outcomes_is_refused():
    with pytest.raises(InputError, match=r"policy 'rmed1' does not only count outcomes; policies that do: .*rucb"):
        Judgements(NAMES, policy="rmed1")


def test_the_best_item_is_found_and_written_with_all_judgements(judge, tmp_path):
    path, judgements = tmp_path / "judgements.csv", Judgements(NAMES)
    assert find_best(judgements, judge, path) == "gpt" == judgements.standing().ranker[0]
    assert len(read_judgements(path)) == len(judgements) == (judgements.wins + judgements.ties / 2).sum()


def test_ties_alone_never_name_a_winner():
    judgements = Judgements(NAMES)
    judgements.tell([(first, second, "tie") for first in NAMES for second in NAMES if first != second] * 500)
    assert judgements.winner() is None and judgements.standing().borda.tolist() == [0.5] * 3


def test_a_champion_that_needs_no_choice_meets_the_rival_with_the_weakest_evidence():
    judgements = Judgements(NAMES)
    judgements.tell([("gpt", "mistral", "gpt")] * 3000 + [("gpt", "llama", "gpt")] * 2)
    pairs = judgements.ask(100)
    kinds = [frozenset(pair) for pair in pairs]
    assert kinds.count(frozenset(("gpt", "llama"))) > 90 and frozenset(("gpt", "mistral")) not in kinds
    assert 30 < sum(first == "gpt" for first, _ in pairs) < 70  # shown first by a coin


@pytest.mark.parametrize(
    "row", [("gpt", "opt", "gpt"), ("gpt", "gpt", "tie"), ("gpt", "llama", "mistral"), ("gpt", "llama", "")]
)
def test_a_judgement_that_names_no_pair_of_the_items_is_refused_whole(row):
    judgements = Judgements(NAMES)
    with pytest.raises(InputError, match=r"^judgement 2, 'gpt,.*must be two of gpt, mistral, llama, and"):
        judgements.tell([("gpt", "llama", "gpt"), row])
    assert len(judgements) == 0 and not judgements.wins.any()


def test_the_command_prints_the_standing_and_the_next_pairs(tmp_path, monkeypatch, capsys):
    (tmp_path / "j.csv").write_text("first,second,winner\ngpt,llama,llama\nllama,gpt,gpt\nllama,mistral,tie\n")
    monkeypatch.setattr(sys, "argv", ["judgements.py", str(tmp_path / "j.csv"), "--names", ",".join(NAMES), "--next=2"])
    example.main()
    standing, pairs = capsys.readouterr().out.split("\n\nfirst,second\n")
    assert standing.startswith("3 judgements; best: not certain yet\n")
    assert [len(set(pair.split(",")) & set(NAMES)) for pair in pairs.splitlines()] == [2, 2]


@pytest.mark.parametrize(
    ("text", "options", "error"),
    [
        ("", ["--next=-1"], "must be at least 0, not -1"),
        ("a,b,a\n", [], "the first line must be first,second,winner"),
        ("first,second,winner\ngpt,opt,gpt\n", [], "judgement 1, 'gpt,opt,gpt', must be two of"),
    ],
)
def test_the_command_refuses_input_with_one_sentence(text, options, error, tmp_path, monkeypatch, capsys):
    (tmp_path / "j.csv").write_text(text)
    monkeypatch.setattr(sys, "argv", ["judgements.py", str(tmp_path / "j.csv"), "--names", ",".join(NAMES), *options])
    with pytest.raises(SystemExit, match="2"):
        example.main()
    assert error in capsys.readouterr().err


def test_the_page_runs_as_printed(judge, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(example.__file__).parent))
    code = next(step.text for step in steps(DOCS / "own_policy.md") if "from judgements" in step.text)
    exec(code, {"judge": judge})
    assert capsys.readouterr().out.startswith("gpt ")


def test_the_study_has_a_row_and_a_curve_for_each_way_to_choose_pairs():
    table = studied("double_thompson", 2, 5000)
    assert summary(table)["runs"].tolist() == ["2"]
    assert len(figure(table).lines) == 1
