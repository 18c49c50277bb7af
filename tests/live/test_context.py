"""Further attributes of a search are stored, exported, and available as parts of the comparison."""

import json
import sqlite3
from contextlib import closing

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Decide, check_store, export_log, forget
from ltr_duel.logs import ClickLog
from tests.live.shop import RANKINGS, Clock, opened, settings

LISTS = {name: RANKINGS[name] for name in "ab"}
GIVEN = settings(rankers=("a", "b"), policy="random", context=("device", "locale"))


def filled(folder):
    with opened(folder, GIVEN) as experiment:
        for k in range(12):
            context = [{"device": "phone", "locale": "de"}, {"device": "desk"}, {}][k % 3]
            page = experiment.decide("q", LISTS, user=f"u{k}", context=context)
            experiment.record(page.token, page.shown[: k % 2])
    return folder / "shop.db"


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_context_is_a_column_of_the_exported_log(tmp_path, suffix):
    store, log = filled(tmp_path), tmp_path / f"log{suffix}"
    rows = export_log(store, log)
    assert rows == 12
    if suffix == ".jsonl":
        found = [json.loads(line) for line in log.read_text().splitlines()]
        assert [one.get("device") for one in found[:3]] == ["phone", "desk", None]
        assert [one.get("locale") for one in found[:3]] == ["de", None, None]
    if suffix == ".parquet":
        table = ClickLog(log, context=("device",)).table
        assert "device" in table.columns


def test_a_log_without_a_context_has_no_further_column(tmp_path):
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random")) as experiment:
        experiment.record(experiment.decide("q", LISTS).token, [])
    export_log(tmp_path / "shop.db", tmp_path / "log.csv")
    head = (tmp_path / "log.csv").read_text().splitlines()[0]
    assert head == "impression,time,query,user,shown,clicks,page,policy,propensity"


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"colour": "red"}, "define no context 'colour' \\(device, locale\\)"),
        ({"device": 5}, "must be a string"),
        ({"device": "x" * 101}, "at most 100 characters"),
        ({"device": "\ud800"}, "an unpaired surrogate"),
        ("phone", "is a mapping"),
    ],
)
def test_a_context_that_there_cannot_be_is_refused(tmp_path, wrong, sentence):
    with opened(tmp_path, GIVEN) as experiment:
        with pytest.raises(InputError, match=sentence):
            experiment.decide("q", LISTS, context=wrong)
        assert experiment.pages == 0


def test_names_may_be_added_and_are_those_of_no_column_of_a_log(tmp_path):
    filled(tmp_path)
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random", context=("device", "branch"))) as experiment:
        assert isinstance(experiment.answer([Decide("q", LISTS, context={"locale": "de"})])[0], InputError)
        experiment.decide("q", LISTS, context={"branch": "north"})
    for wrong in (["user"], ["clicks"], ["Device"], [""], ["a b"], "device", [5]):
        with pytest.raises(InputError, match="context"):
            settings(context=wrong)


def test_a_context_is_forgotten_with_its_user(tmp_path):
    store, clock = filled(tmp_path), Clock()
    assert forget(store, older_than=0, now=clock.now + 1) == 12
    export_log(store, tmp_path / "log.jsonl")
    assert "phone" not in (tmp_path / "log.jsonl").read_text() and b"phone" not in store.read_bytes()


@pytest.mark.parametrize("damage", ["'no JSON'", "'5'", "'[1]'", "x'ff'"])
def test_a_damaged_context_is_a_complaint_and_named_by_the_export(tmp_path, damage):
    store = filled(tmp_path)
    with closing(sqlite3.connect(store)) as db, db:
        db.execute(f"UPDATE pages SET context = {damage} WHERE page = 3")
    assert check_store(store) == ["1 contexts are damaged"]
    with pytest.raises(InputError, match="page 3 is damaged"):
        export_log(store, tmp_path / "log.jsonl")
    assert not (tmp_path / "log.jsonl").exists()
