"""``ltr-duel advise`` prints the answer and writes its files, or fails with one sentence."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ltr_duel.advice import api
from ltr_duel.advice.answer import Reached
from ltr_duel.cli.advise import _in_days


@pytest.fixture
def plain(monkeypatch):
    """Run simulations as plain Python, so that nothing has to be compiled."""
    simulator = api.Simulator
    monkeypatch.setattr(api, "Simulator", lambda *given, **kept: simulator(*given, **{**kept, "compiled": False}))


def test_advice_is_printed_and_saved(ltr_duel, corpus, tmp_path, plain):
    out = tmp_path / "advice"
    words = ("--rankers", "features:1,2", "--rankers", "features:3", "--budget", "100", "--clicks", "perfect")
    few = ("--candidate", "random/team_draft", "--candidate", "mdb/sosm", "--simulations", "10", "--top", "2")
    answer = ltr_duel("advise", corpus, *words, *few, "--jobs", "1", "--per-day", "30", "--out", out)
    assert answer.code == 0, answer.err
    assert "\nAt 30 impressions a day the budget lasts 3.3 days" in answer.out
    assert "eploy " in answer.out and "Runner-up: " in answer.out and str(out / "live.toml") in answer.out
    assert sorted(path.name for path in out.iterdir()) == ["advice.html", "advice.json", "advice.png", "live.toml"]


@pytest.mark.parametrize(
    ("high", "said"), [(None, "95% confidence takes 1.5 days or longer."), (70, "95% confidence takes 1.5 days.")]
)
def test_days_without_an_upper_end_are_named_so(high, said):
    row = SimpleNamespace(worst=SimpleNamespace(sure_at=Reached(value=45, low=30, high=high)))
    advice = SimpleNamespace(deploy=row, settings={"confidence": 0.95, "budget": 120})
    assert _in_days(advice, 30).endswith(said)
    assert "the budget lasts 4.3 days" in _in_days(advice, 28)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--budget", "10"), "the budget must be between 100 and 1e+09, not 10"),
        (("--budget", "1000", "--incumbent", "9"), "no ranker '9'"),
        (("--budget", "1000", "--rankers", "features:1"), "advice is for 2 to 200 rankers, not 1"),
    ],
)
def test_bad_words_end_with_a_sentence_and_leave_nothing(ltr_duel, corpus, tmp_path, words, sentence):
    answer = ltr_duel("advise", corpus, *words, "--out", tmp_path / "advice")
    assert answer.code == 2 and sentence in answer.err and not (tmp_path / "advice").exists()
