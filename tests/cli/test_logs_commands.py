"""Commands on click logs: simulate --log, logs, power."""

from __future__ import annotations

import json
import re

import click
import pytest

from ltr_duel.interleaving import interleave
from tests.logs.written import log_of

SHOWN = {"query": "q", "shown": ["a", "b"], "rankers": ["new", "old"], "owners": [0, 1], "clicks": [1]}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def simulated(corpus, tmp_path):
    """Return the words that simulate a log, and its path."""
    words = ["simulate", "--users", corpus, "--rankers", "features:1,2", "--comparisons", 50, "--policy", "random"]
    words += ["--repetitions", 1, "--log", tmp_path / "clicks.parquet", "--returning", 500, "--horizon"]
    return words, tmp_path / "clicks.parquet"


@pytest.fixture
def shop(tmp_path):
    """Write impressions in which all clicks favour old, on one half of them, and all purchases new, on the other."""
    exposures, events = [], []
    for k in range(60):
        exposures.append(SHOWN | {"impression": f"i{k}", "time": 1.7e9 + k, "user": f"u{k}"})
        exposures[-1] |= {"owners": [0, 1] if k % 4 < 2 else [1, 0], "device": "phone" if k % 3 else "desk"}
        del exposures[-1]["clicks"]
        item, kind = "ab"[(k % 4 < 2) == (k % 2 == 0)], ["click", "buy"][k % 2]
        events.append({"impression": f"i{k}", "item": item, "kind": kind, "time": 1.7e9 + k})
    files = write(tmp_path / "exposures.jsonl", exposures), write(tmp_path / "events.jsonl", events)
    return ["logs", "compare", "--exposures", files[0], "--events", files[1]]


def test_a_simulated_log_is_checked_compared_and_planned_with(succeed, simulated, tmp_path, monkeypatch):
    words, log = simulated
    assert succeed(*words, 3000, "--method", "team_draft").startswith(f"{log}: ")
    assert "is based on the owners" in succeed("logs", "check", log)
    matrix, page, existed = tmp_path / "m.parquet", tmp_path / "r.html", []
    with monkeypatch.context() as patch:  # files come first, because a pipe into head ends the command
        echo = click.echo
        patch.setattr("click.echo", lambda *text, **how: (existed.append(page.exists()), echo(*text, **how)))
        answer, clearest, note, files = succeed(
            "logs", "compare", log, "--stop-at", 0.95, "--margin", 0.01, "--out", matrix, "--report", page
        ).splitlines()
    assert all(existed) and files == f"{matrix}, {page}"
    assert answer.startswith("stop: ranker 1 wins.") and clearest.startswith("1 > 2: mean +")
    assert ", impressions 3,000, " in clearest
    assert note.startswith("note: clicks.parquet: 3,000 impressions") and note.endswith(" more with --explain)")
    assert "; 8 checks passed, 2 could not be made (" in note
    assert "<script" not in page.read_text() and "Stop: ranker 1 wins." in page.read_text()
    assert succeed("prefs", "show", matrix).startswith("Condorcet winner: 1.")
    answer, basis, _ = succeed("power", log, "--effect", 0.1).splitlines()
    assert "show which of two rankers is better, if the mean outcome is 0.1" in answer
    assert basis.startswith("According to 3,000 impressions of clicks.parquet, 1 is ahead of 2 by 0.")


def test_a_simulated_log_is_credited_by_owners_and_replaced_only_with_overwrite(succeed, refuse, simulated):
    words, path = simulated
    refuse("a simulated log is credited by owners", *words, 100, "--outcome", "marginal_sign")
    succeed(*words, 100)
    before = path.read_bytes()
    refuse(f"{path}: already exists", *words, 200)
    assert path.read_bytes() == before
    succeed(*words, 200, "--overwrite")
    assert path.read_bytes() != before


def test_explain_lists_the_data_and_all_pairs(succeed, shop):
    short, long = succeed(*shop), succeed(*shop, "--explain")
    assert len(short.splitlines()) == 3 < len(long.splitlines())
    assert "note: the answer is for users who ask this query: intervals of 95%, errors clustered by user" in long
    row = next(line.split() for line in long.splitlines() if line.startswith("old > new  "))
    assert row[:8] == ["old", ">", "new", "old", "wins", "60", "30", "0"]


def test_a_bad_line_is_named_and_may_be_skipped(ltr_duel, refuse, tmp_path):
    row = {"impression": 1, "time": 0, "query": "q", "shown": ["a"], "clicks": [2]}
    path = write(tmp_path / "clicks.jsonl", [row])
    refuse(":1: a click at position 2 is not on the list of 1", "logs", "check", path)
    write(path, [row, row | {"impression": 2, "clicks": [1]}])
    answer = ltr_duel("logs", "check", path)
    assert answer.code == 1 and "1 line cannot be used" in answer.out
    refuse("2 bad lines; 1 may be skipped", "logs", "compare", path, "--skip-bad", 1)
    refuse("on the list of 1 (1 is the top) (1 bad line; --skip-bad 100 skips up to 100)", "clicks", "fit", path)


def test_control_characters_in_names_do_not_reach_the_terminal(succeed, ltr_duel, tmp_path):
    row = SHOWN | {"user": "x\r\ny\x1b[31m", "\x1b[1m": 1}
    rows = [row | {"impression": f"i{k}", "time": k} for k in range(30)]
    rows.append(row | {"impression": "\x1b[2m", "shown": ["\x1b[3m"] * 2, "time": 99})
    path = write(tmp_path / "clicks.jsonl", rows)
    shown = succeed("logs", "compare", path, "--skip-bad", 2, "--explain") + ltr_duel("logs", "check", path).out
    assert not {"\x1b", "\r"} & {*shown}


def test_a_rule_that_random_clicks_move_is_said_in_every_output(succeed, ltr_duel, tmp_path):
    rows = []
    for k in range(40):
        lists = {"old": ["a", "b", "c"], "new": ["c", "a", "b"]}
        page = interleave(lists, "probabilistic", outcome="marginal_sign", seed=k)
        row = {"impression": k, "time": k, "query": "q", "user": k, "shown": page.shown, "clicks": [1 + k % 3]}
        rows.append(row | {"page": page.to_json()})
    path, report = write(tmp_path / "clicks.jsonl", rows), tmp_path / "page.html"
    warning = "marginal_sign: under random clicks, the mean outcome is not 0, so the result does not show that"
    warning += " users prefer a ranker."
    assert warning in ltr_duel("logs", "check", path).out
    assert f"note: {warning} (" in succeed("logs", "compare", path, "--stop-at", 0.95, "--report", report)
    assert warning in report.read_text().partition("Method and assumptions")[2].partition("Provenance")[0]


SHOP = """[exposures]
file = "{0}/searches.csv"
impression = "search"
time = "moment"
query = "words"
user = "client"
shown = "string_split(list, '|')"
owners = "string_split(team, '|')"
rankers = ["old", "new"]
device = "upper(geraet)"
[events]
file = "{0}/orders.csv"
user = "client"
item = "item"
kind = "'purchase'"
time = "moment"
"""


def test_a_mapping_says_where_the_rows_are_and_any_column_divides(succeed, refuse, tmp_path):
    searches, orders = ["search;moment;words;client;list;team;geraet"], ["client;item;moment"]
    for k in range(60):
        day = f"2026-10-05 08:{k:02d}:00"
        searches.append(f"s{k};{day};q;c{k};a|b;{'old|new' if k % 3 else 'new|old'};{['phone', 'desk'][k % 2]}")
        orders.append(f"c{k};a;{day}")
    for name, lines in (("searches", searches), ("orders", orders)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "shop.toml").write_text(SHOP.format(tmp_path))
    words = ["--source", tmp_path / "shop.toml", "--outcome", "purchase", "--within", "1d"]
    assert "60 impressions" in succeed("logs", "check", *words)
    for column, part in (("geraet", "phone"), ("device", "PHONE")):
        shown = succeed("logs", "compare", *words, "--by", column)
        assert re.search(rf"^ *{part} +old > new +30 ", shown, re.M), shown
    refuse("there is no column 'colour' to slice by", "logs", "compare", *words, "--by", "colour")


def test_the_first_outcome_decides_and_the_others_are_beside_it(succeed, shop):
    more = ["--outcome", "click", "--outcome", "buy", "--guardrail", "buy:0.9", "--by", "device"]
    shown = succeed(*shop, *more)
    assert shown.startswith("ranker old wins (p ") and succeed(*shop, *more, "--stop-at", 0.95).startswith(
        "stop: ranker old wins."
    )
    lines = [line.split() for line in shown.splitlines()]
    assert any(line[:6] == ["buy", "old", ">", "new", "60", "-0.5000"] for line in lines)
    assert any(line[:5] == ["phone", "old", ">", "new", "40"] for line in lines)
    assert "guardrail buy holds: the mean of old against new is -0.5000" in shown
    assert shown.endswith("p is corrected for the table's rows (Bonferroni).\n")
    reverse = succeed(*shop, "--outcome", "buy", "--guardrail", "click")
    assert reverse.startswith("no decision: new is ahead, but the log does not show that its guardrails hold")


def test_a_ratio_may_decide_and_guard(succeed, refuse, shop, tmp_path):
    """Purchases decide 30 impressions and clicks 30, so that the ratio is 1; users come once."""
    shown = succeed(*shop, "--outcome", "buy/click", "--guardrail", "click/buy:2")
    assert "new > old: " in shown and "mean +1.0000" in shown
    assert "guardrail click/buy" in shown and "the mean of new against old is -1.0000" in shown
    refuse("'buy/click' is a ratio", *shop, "--outcome", "buy/click", "--out", tmp_path / "m.csv")


def test_a_failing_check_and_a_change_of_users_are_in_the_answer(ltr_duel, succeed, tmp_path):
    path = log_of(tmp_path / "log.jsonl", [1, -1, 0, 1] * 20).path  # old is on top of every list
    answer, _, note = succeed("logs", "compare", path).splitlines()
    assert answer.startswith("no decision: checks of the experiment fail (")
    assert note.startswith("note: fails: owners of position 1: old owns 100.00%")
    assert ltr_duel("logs", "check", path).code == 1
    path = log_of(tmp_path / "log.jsonl", [1] * 200 + [1, -1] * 100).path
    changed = " Users or rankers changed, so do not trust that the means stay as they are."
    assert succeed("logs", "compare", path, "--no-checks").splitlines()[0].endswith(changed)


@pytest.mark.parametrize(("words", "sentence"), [
    (["--guardrail", "buy:few"], "'few' is not a valid float"),
    (["--outcome", "clik"], "did you mean 'click'"),
    (["--margin", 0.05], "--margin requires --stop-at"),
])  # fmt: skip
def test_impossible_options_of_compare_are_refused(refuse, shop, words, sentence):
    refuse(sentence, *shop, *words)


def test_power_of_an_effect_alone_depends_on_the_share_that_is_decided(succeed, refuse):
    """z = 1.96 + .84: (2.8 / .1)^2 times .1 to 1 is 78 to 785 impressions, and a little more for the sign test."""
    rows = [line.split() for line in succeed("power", "--effect", 0.1).splitlines() if line[:1].isdigit()]
    assert [row[0] for row in rows] == ["10%", "30%", "60%", "100%"] and 780 < float(rows[-1][2]) < 830
    refuse("or an --effect, a mean outcome above 0 and at most 1", "power", "--effect", 2)
    refuse("give a LOG, or --users with a corpus", "power")


def test_power_from_simulated_users_is_for_a_winner_against_all_others(succeed, refuse, corpus):
    words = ["power", "--users", corpus, "--rankers", "features:3,2,1", "--effect", 0.1]
    answer, basis, _ = succeed(*words).splitlines()
    assert "ahead of 2 others, if the mean outcome against the strongest is 0.1, with power 0.8" in answer
    assert ", 1 is ahead of its strongest rival, 2, by 0." in basis
    many, few = (line.split() for line in succeed(*words, "--effect", 0.2).splitlines()[-2:])
    one_look, any_time = (int(cell.replace(",", "")) for cell in many[1:])
    assert one_look < any_time and int(few[1].replace(",", "")) < one_look
    refuse("an effect of 0.99 is impossible", *words, "--effect", 0.99)
    assert len({succeed(*words, "--seed", seed).splitlines()[-1] for seed in (0, 0, 1)}) == 2


def test_power_from_a_log_counts_returning_users(succeed, refuse, tmp_path):
    path, y = tmp_path / "clicks.jsonl", [1 if k % 40 % 3 else -1 for k in range(800)]
    log_of(path, y, user=[k % 40 for k in range(800)])
    assert "a user or query has about 20 impressions of a pair" in succeed("power", path, "--effect", 0.2)
    log_of(path, y, user=[k % 6 for k in range(800)])
    shown = succeed("power", path, "--effect", 0.1, "--explain")
    assert "at least " in shown and "note: the errors rest on few clusters (user)" in shown
    log_of(path, [1, -1] * 20)
    assert "no ranker is clearly ahead (the estimate shrinks to 0)" in succeed("power", path)
    refuse("not for a ratio", "power", path, "--outcome", "buy/click")
