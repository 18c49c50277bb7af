"""``ltr-duel live``: what the commands on a store print, and their errors."""

import json

import pytest
from click.testing import CliRunner

from ltr_duel.cli.live import command
from ltr_duel.core import InputError
from tests.live.shop import LISTS, Clock, click, learn, opened, settings


@pytest.fixture
def store(tmp_path):
    """A store with 30 pages that count, of an experiment that is running."""
    clock = Clock()
    with opened(tmp_path, settings(context=["device"]), clock=clock) as experiment:
        for k in range(30):
            clock.now += 1
            page = experiment.decide(f"user {k}", "q", LISTS, context={"device": ["phone", "desk"][k % 2]})
            experiment.report(*click(page))
            experiment.report(page.token, [{"kind": "sale", "document": page.page[0], "value": 5}])
        clock.now += 100
        learn(experiment)
        yield tmp_path / "shop.db"


def run(*words):
    answer = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=True)
    if isinstance(answer.exception, InputError):
        return 2, str(answer.exception)
    return answer.exit_code, answer.output


def test_an_export_is_a_log_that_compare_reads_with_its_events_and_context(ltr_duel, store, tmp_path):
    log, events = tmp_path / "log.parquet", tmp_path / "events.parquet"
    assert run("export", store, "--out", log, "--events", events) == (0, f"{log}: 30 impressions\n")
    assert "30 impressions" in ltr_duel("logs", "compare", log).out
    found = ltr_duel("logs", "compare", "--exposures", log, "--events", events, "--outcome", "sale", "--by", "device")
    assert found.code == 0 and "phone" in found.out and "desk" in found.out, found.err


def test_an_export_before_any_page_counts_says_so(tmp_path):
    with opened(tmp_path) as experiment:
        experiment.decide("user", "q", LISTS)
        done = CliRunner().invoke(command, ["export", str(tmp_path / "shop.db"), "--out", str(tmp_path / "log.csv")])
    assert done.exit_code == 0 and "no page of several rankers counts yet" in done.stderr


def test_an_export_without_a_name_is_named_after_its_store(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("export", "shop.db") == (0, "shop.parquet: 30 impressions\n")
    code, said = run("export", "shop.db")
    assert code == 2 and "shop.parquet: already exists" in said


def test_a_copy_is_made_and_checked_while_the_experiment_runs(store, tmp_path):
    copy = tmp_path / "copy.db"
    assert run("backup", store, copy) == (0, f"{copy}: 30 pages\n")
    assert run("check", copy) == (0, f"{copy}: no complaints\n")
    assert run("backup", store, copy)[0] == 2
    copy.write_text("no store" * 1000)
    assert run("check", copy) == (2, f"{copy}: is not a store of a live experiment")


def test_forgetting_prints_the_number_of_pages(store):
    assert run("forget", store, "user 7") == (0, f"{store}: 1 page forgotten\n")
    assert "0 pages forgotten: no page belongs to user 'user 7'" in run("forget", store, "user 7")[1]
    assert "29 pages forgotten" in run("forget", store, "--older-than", "0")[1]
    assert run("forget", store) == (2, "name either a user or a number of days")


def test_controls_print_the_state_and_the_record_of_uses(store):
    assert run("control", store, "pause")[1].startswith(f"{store}: paused (a running service")
    assert "paused; 0.1 held back" in run("control", store, "share", "0.3", "--holdback", "0.1")[1]
    assert run("control", store, "resume")[0] == 0
    assert "dropped: c" in run("control", store, "drop", "c")[1]
    state, *uses = run("control", store)[1].splitlines()
    assert state == f"{store}: running, with 0.3 of the users; 0.1 held back; dropped: c"
    assert [json.loads(use)["what"] for use in uses] == ["pause", "share", "resume", "drop"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["stop"], "no control 'stop'"),
        (["drop"], "'drop' needs a value"),
        (["pause", "b"], "'pause' takes no value"),
        (["share", "half"], "a share is a number"),
        (["winner", "z"], "no ranker 'z'"),
        (["resume"], "changes nothing"),
    ],
)
def test_an_invalid_control_is_one_sentence(store, words, said):
    code, sentence = run("control", store, *words)
    assert code == 2 and said in sentence
