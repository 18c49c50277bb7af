"""Simulated users of a live experiment in this process."""

from __future__ import annotations

import json

import pytest

from ltr_duel.cli.main import main
from ltr_duel.core import InputError, stream
from ltr_duel.live import Experiment, Settings
from ltr_duel.replay import SimulatedUsers, replay
from tests.conftest import random_rankings


def users(seed=0):
    return SimulatedUsers(random_rankings(2, n_queries=5, n_docs=6, grades=3), "perfect", top=3, seed=seed)


class Recording:
    """An experiment whose calls are recorded."""

    def __init__(self, experiment):
        self.experiment, self.calls, self.answers = experiment, [], []

    def answer(self, calls):
        self.calls.append(calls)
        self.answers.append(self.experiment.answer(calls))
        return self.answers[-1]


@pytest.fixture
def experiment(tmp_path):
    made = Settings(name="test", rankers=("ranker 0", "ranker 1"), policy="random", top=3, seed=0)
    with Experiment.open(tmp_path / "live.db", made) as opened:
        yield Recording(opened)


def test_users_click_on_what_they_were_shown(experiment):
    found = replay(users(), experiment, steps=20)
    shown = [answers[0].shown for answers in experiment.answers[::2]]
    reports = [calls[0] for calls in experiment.calls[1::2]]
    assert len(shown) == len(reports) == found.pages == 20
    assert all(set(report.clicks) <= set(page) for report, page in zip(reports, shown, strict=True))
    assert found.clicked == sum(bool(report.clicks) for report in reports) == experiment.experiment.state().clicked > 0
    assert len({calls[0].query for calls in experiment.calls[::2]}) > 1
    assert all(sorted(calls[0].rankings["ranker 1"]) == list(range(6)) for calls in experiment.calls[::2])


def test_simultaneous_users_are_shown_their_pages_before_the_first_report(experiment):
    found = replay(users(), experiment, steps=10, concurrency=4)
    assert [len(calls) for calls in experiment.calls] == [4, 4, 4, 4, 2, 2] and found.pages == 10


def test_the_query_of_a_page_of_one_ranker_comes_again(experiment, monkeypatch):
    """After two pages of a single ranker, the first query is answered by both rankers."""
    alone, answer = iter([True, True, False, False]), experiment.answer

    def shown(calls):
        answers = answer(calls)
        if hasattr(answers[0], "shown") and next(alone):
            return [answers[0]._replace(rankers=("ranker 0",))]
        return answers

    monkeypatch.setattr(experiment, "answer", shown)
    found = replay(users(), experiment, steps=4)
    drawn = stream(0, 0, "queries")
    expected = [str(int(drawn.random() * 5)) for _ in range(2)]
    assert [calls[0].query for calls in experiment.calls[::2]] == [expected[0]] * 3 + [expected[1]]
    assert found.plain == 2 and experiment.calls[1][0].clicks == []


def test_some_pages_are_never_reported(experiment):
    found = replay(users(), experiment, steps=200, lost=0.3)
    assert experiment.experiment.open_pages == found.lost and 30 < found.lost < 90


def test_what_the_experiment_refuses_ends_the_replay(experiment):
    others = SimulatedUsers(random_rankings(3, n_queries=5, n_docs=6, grades=3), top=3)
    with pytest.raises(InputError, match="ranker 2"):
        replay(others, experiment, steps=1)


@pytest.fixture
def corpus(tmp_path):
    lines = [f"{(q + d) % 3} qid:{q} 1:{d} 2:{(7 * d + q) % 5}" for q in range(1, 6) for d in range(8)]
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "live.toml").write_text('[experiment]\nname = "x"\nrankers = ["1", "2"]\npolicy = "random"\n')
    return tmp_path


def test_the_command_runs_an_experiment_in_a_new_store(corpus, capsys):
    words = ["replay", str(corpus / "corpus.txt"), "--config", str(corpus / "live.toml"), "--steps", "30"]
    store = corpus / "try.db"
    with pytest.raises(SystemExit) as ended:
        main(*words, "--store", str(store), "--concurrency", "8")
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "pages: 30; " in said and f"{store}: " in said
    with Experiment.open(store) as experiment:
        assert experiment.pages == 30
        assert json.loads(json.dumps(experiment.state().to_json()))["open"] == 0
    before = store.read_bytes()
    for wrong, sentence in (
        (["--store", str(store)], "exists already; simulated users would be counted as its users; give another name"),
        ([], "either --store (a new store) or --plan"),
        (["--store", str(corpus / "b.db"), "--plan", str(corpus / "plans")], "either --store"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(*words, *wrong)
        assert ended.value.code == 2 and sentence in capsys.readouterr().err
    assert store.read_bytes() == before
