"""``ltr-duel live``: what the commands on a store print."""

from __future__ import annotations

import json

import pytest

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


def test_an_export_is_a_log_that_compare_reads_with_its_events_and_context(succeed, store, tmp_path):
    log, events = tmp_path / "log.parquet", tmp_path / "events.parquet"
    assert succeed("live", "export", store, "--out", log, "--events", events) == f"{log}: 30 impressions\n"
    assert "note: log.parquet: 30 impressions" in succeed("logs", "compare", log)
    words = ("--exposures", log, "--events", events, "--outcome", "sale", "--by", "device")
    shown = succeed("logs", "compare", *words)
    assert "phone" in shown and "desk" in shown


def test_an_export_before_any_page_counts_says_so(ltr_duel, tmp_path):
    with opened(tmp_path) as experiment:
        experiment.decide("user", "q", LISTS)
        answer = ltr_duel("live", "export", tmp_path / "shop.db", "--out", tmp_path / "log.csv")
    assert answer.code == 0 and "no page of several rankers counts yet" in answer.err


def test_a_copy_is_made_and_checked_while_the_experiment_runs(ltr_duel, succeed, refuse, store, tmp_path):
    copy = tmp_path / "copy.db"
    assert succeed("live", "backup", store, "--out", copy) == f"{copy}: 30 pages\n"
    assert succeed("live", "check", copy) == f"{copy}: no complaints\n"
    copy.write_text("no store" * 1000)
    refuse("is not a store of a live experiment", "live", "check", copy)


def test_forgetting_prints_the_number_of_pages(succeed, refuse, store):
    assert succeed("live", "forget", store, "user 7") == f"{store}: 1 page forgotten\n"
    assert "0 pages forgotten" in succeed("live", "forget", store, "user 7")
    assert "29 pages forgotten" in succeed("live", "forget", store, "--older-than", "0")
    refuse("name either a user or a number of days", "live", "forget", store)


def test_controls_print_the_state_and_the_record_of_uses(succeed, store):
    def control(*words):
        return succeed("live", "control", store, *words)

    assert control("pause").startswith(f"{store}: paused (a running service")
    assert "paused; 0.1 held back" in control("share", "0.3", "--holdback", "0.1")
    control("resume")
    assert "dropped: c" in control("drop", "c")
    state, *uses = control().splitlines()
    assert state == f"{store}: running, with 0.3 of the users; 0.1 held back; dropped: c"
    assert [json.loads(use)["action"] for use in uses] == ["pause", "share", "resume", "drop"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["drop"], "'drop' needs a value"), (["share", "half"], "'half' is not a valid float")],
)
def test_an_invalid_control_is_refused(refuse, store, words, sentence):
    refuse(sentence, "live", "control", store, *words)
