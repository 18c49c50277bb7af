"""The commands of click logs: simulate, check, compare."""

from __future__ import annotations

import json
import re

import click
import pytest

from ltr_duel.interleaving import interleave
from tests.logs.written import drawn, log_of, text_of


@pytest.fixture
def log(ltr_duel, corpus, tmp_path):
    """Write the log of a simulation."""
    path = tmp_path / "clicks.parquet"
    simulate = ["simulate", "--users", corpus, "--rankers", "features:1,2", "--method", "team_draft"]
    simulate += ["--comparisons", 50, "--policy", "random", "--horizon", 4000, "--repetitions", 1]
    answer = ltr_duel(*simulate, "--out", tmp_path / "sim", "--log", path, "--returning", 1000)
    assert answer.code == 0 and f"{path}: " in answer.out, answer.err
    return path


def test_check_compare_and_power(ltr_duel, log, tmp_path, monkeypatch):
    answer = ltr_duel("logs", "check", log)
    assert answer.code == 0 and "credit for " in answer.out and "is based on the owners" in answer.out
    matrix, page, there = tmp_path / "m.parquet", tmp_path / "r.html", []
    with monkeypatch.context() as patch:  # files come first, because a pipe into head ends the command
        echo = click.echo
        patch.setattr("click.echo", lambda *said, **how: (there.append(page.exists()), echo(*said, **how)))
        words = ["logs", "compare", log, "--stop-at", 0.95, "--margin", 0.01, "--out", matrix, "--report", page]
        answer = ltr_duel(*words)
    assert answer.code == 0 and all(there), answer.err
    assert "the answer is for users who ask these " in answer.out and "errors clustered by user" in answer.out
    assert "  1 wins  " in answer.out and "\nstop: 1 wins." in answer.out and answer.out.endswith(f"{matrix}\n{page}\n")
    assert "<script" not in page.read_text() and "Stop: 1 wins." in page.read_text()
    assert "Condorcet winner: 1." in ltr_duel("prefs", "show", matrix).out
    answer = ltr_duel("power", log, "--effect", 0.1)
    assert answer.code == 0 and "\n0.1  " in answer.out, answer.err


def test_the_commands_have_few_options(ltr_duel):
    for words, most in ((["logs", "compare"], 22), (["power"], 18)):
        text = ltr_duel(*words, "--help").out
        text = re.sub(r"(?s)(How feature files are read|Documents with equal scores):.*?(?=\n\n|$)", "", text)
        options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M)) - {"--help", "--help-all", "--rankers"}
        assert len(options) <= most, sorted(options)


def test_a_bad_log_is_told_by_line(ltr_duel, tmp_path):
    path = tmp_path / "clicks.jsonl"
    row = {"impression": 1, "time": 0, "query": "q", "shown": ["a"], "clicks": [2]}
    path.write_text(json.dumps(row))
    answer = ltr_duel("logs", "check", path)
    assert answer.code == 2 and ":1: a click at position 2 is not on the list of 1" in answer.err
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"impression": 2, "clicks": [1]}))
    answer = ltr_duel("logs", "check", path)
    assert answer.code == 1 and "1 line cannot be used" in answer.out
    answer = ltr_duel("logs", "compare", path, "--skip-bad", 1)
    assert answer.code == 2 and "2 bad lines; 1 may be skipped" in answer.err
    assert ltr_duel("logs", "columns").out.startswith("impression  required")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["power"], "give a LOG, or --users with a corpus, or --exposures with --events, or an --effect"),
        (["logs", "compare", "log.jsonl", "--guardrail", "buy:few"], "'few' is not a number"),
        (["logs", "compare", "nowhere.jsonl"], "no such file"),
        (["simulate", "arxiv.npy", "--policy", "rucb", "--log", "x.parquet"], "--log requires --users and one policy"),
    ],
)
def test_what_cannot_be_done_is_said(ltr_duel, words, says):
    answer = ltr_duel(*words)
    assert answer.code == 2 and says in answer.err


def test_line_breaks_in_names_do_not_reach_the_terminal(ltr_duel, tmp_path):
    row = {"query": "q", "shown": ["a", "b"], "clicks": [1], "rankers": ["new", "old"], "owners": [0, 1], "\x1b[1m": 1}
    rows = [row | {"impression": f"i{k}", "time": k, "user": "x\r\ny\x1b[31m"} for k in range(30)]
    rows.append(rows[0] | {"impression": "\x1b[2m", "shown": ["\x1b[3m"] * 2, "time": 99})
    rows.append(rows[0] | {"rankers": ["\x1b[4m", "old"], "time": 100, "impression": "last"})
    path = tmp_path / "clicks.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    for words in (["compare", "--skip-bad", 2], ["check"]):
        answer = ltr_duel("logs", words[0], path, *words[1:])
        assert answer.out and not {"\x1b", "\r"} & {*answer.out}, answer.err
    assert "user 'x\\r\\ny\\x1b[31m' has 100.0% of the impressions" in answer.out
    answer = ltr_duel("logs", "compare", path, "--skip-bad", 0)
    assert answer.code == 2 and "clicks.jsonl:32: the name of a ranker must be one printable line" in answer.err


def test_a_rule_that_random_clicks_move_is_said_in_every_output(ltr_duel, tmp_path):
    path, report, rows = tmp_path / "clicks.jsonl", tmp_path / "page.html", []
    for k in range(40):
        lists = {"old": ["a", "b", "c"], "new": ["c", "a", "b"]}
        page = interleave(lists, "probabilistic", outcome="marginal_sign", seed=k)
        row = {"impression": k, "time": k, "query": "q", "user": k, "shown": page.shown, "clicks": [1 + k % 3]}
        rows.append(json.dumps(row | {"page": page.to_json()}) + "\n")
    path.write_text("".join(rows))
    warning = "marginal_sign: under random clicks, the mean outcome is not 0, so the result does not show that"
    warning += " users prefer a ranker."
    assert warning in ltr_duel("logs", "check", path).out.splitlines()
    said = ltr_duel("logs", "compare", path, "--stop-at", 0.95, "--report", report).out
    assert f"note: {warning}" in said and said.splitlines()[-3] == warning, "above the decision"
    assert warning in report.read_text().partition("Method and assumptions")[2].partition("Provenance")[0]


def test_a_simulated_log_is_credited_by_owners_and_replaced_only_with_overwrite(ltr_duel, corpus, tmp_path):
    path = tmp_path / "clicks.parquet"
    simulate = ["simulate", "--users", corpus, "--rankers", "features:1,2", "--clicks", "random", "--comparisons", 50]
    simulate += ["--policy", "random", "--horizon", 400, "--repetitions", 1, "--log", path, "--returning", 100]
    refused = ltr_duel(*simulate, "--outcome", "marginal_sign")
    assert refused.code == 2 and "a simulated log is credited by owners" in refused.err and not path.exists()
    assert ltr_duel(*simulate).code == 0
    refused, before = ltr_duel(*simulate), path.read_bytes()
    assert refused.code == 2 and f"{path}: already exists" in refused.err and path.read_bytes() == before
    assert ltr_duel(*simulate, "--overwrite").code == 0
    assert "random clicks" not in ltr_duel("logs", "compare", path).out


SHOP = """[exposures]
file = "{0}/searches.csv"
impression = "search"
time = "moment"
query = "words"
user = "client"
shown = "string_split(list, '|')"
owners = "string_split(team, '|')"
rankers = ["old", "new"]
{1}
[events]
file = "{0}/orders.csv"
user = "client"
item = "item"
kind = "'purchase'"
time = "moment"
"""


def test_a_mapping_says_where_the_rows_are_and_any_column_slices(ltr_duel, tmp_path):
    searches, orders = ["search;moment;words;client;list;team;geraet"], ["client;item;moment"]
    for k in range(60):
        day = f"2026-10-05 08:{k:02d}:00"
        searches.append(f"s{k};{day};q;c{k};a|b;{'old|new' if k % 3 else 'new|old'};{['phone', 'desk'][k % 2]}")
        orders.append(f"c{k};a;{day}")
    for name, lines in (("searches", searches), ("orders", orders)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    mapping = tmp_path / "shop.toml"
    words = ["--source", mapping, "--outcome", "purchase", "--within", "1d"]
    mapping.write_text(SHOP.format(tmp_path, 'device = "upper(geraet)"'))
    answer = ltr_duel("logs", "check", *words)
    assert "60 impressions" in answer.out and "not read: device\n" in answer.out, answer.err
    assert "According to 60 impressions of" in ltr_duel("power", *words, "--effect", 0.1).out
    for column, part in (("geraet", "phone"), ("device", "PHONE")):
        answer = ltr_duel("logs", "compare", *words, "--by", column)
        assert answer.code == 0 and re.search(rf"^ *{part} +old > new +30 ", answer.out, re.M), answer.err
    answer = ltr_duel("logs", "compare", *words, "--by", "colour")
    assert answer.code == 2 and "there is no column 'colour' to slice by" in answer.err
    mapping.write_text(SHOP.format(tmp_path, "").replace("file =", "# file ="))
    answer = ltr_duel("logs", "check", *words)
    assert answer.code == 2 and f"{mapping}: give a LOG, or map the source of the exposures: file = '...'" in answer.err


@pytest.fixture
def shop(tmp_path):
    """Write impressions in which all clicks favour old, on one half of them, and all purchases new, on the other."""
    both = {"query": "q", "shown": ["a", "b"], "rankers": ["new", "old"]}
    exposures, events = [], []
    for k in range(60):
        exposures.append(both | {"impression": f"i{k}", "time": 1.7e9 + k, "user": f"u{k}"})
        exposures[-1] |= {"owners": [0, 1] if k % 4 < 2 else [1, 0], "device": "phone" if k % 3 else "desk"}
        item, kind = "ab"[(k % 4 < 2) == (k % 2 == 0)], ["click", "buy"][k % 2]
        events.append({"impression": f"i{k}", "item": item, "kind": kind, "time": 1.7e9 + k})
    for name, rows in (("exposures", exposures), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["logs", "compare", "--exposures", tmp_path / "exposures.jsonl", "--events", tmp_path / "events.jsonl"]


def test_the_first_outcome_decides_and_the_others_are_beside_it(ltr_duel, shop):
    more = ["--outcome", "click", "--outcome", "buy", "--guardrail", "buy:0.9", "--by", "device"]
    answer = ltr_duel(*shop, *more)
    assert answer.code == 0, answer.err
    lines = [line.split() for line in answer.out.splitlines()]
    assert any(line[:8] == ["old", ">", "new", "old", "wins", "60", "30", "0"] for line in lines), answer.out
    assert any(line[:6] == ["buy", "old", ">", "new", "60", "-0.5000"] for line in lines)
    assert any(line[:5] == ["phone", "old", ">", "new", "40"] for line in lines)
    assert "guardrail buy holds: the mean of old against new is -0.5000" in answer.out
    assert "p is corrected for the table's rows (Bonferroni)." in answer.out
    assert answer.out.splitlines()[-1].startswith("old wins (p ")
    assert f"{ltr_duel(*shop, *more, '--stop-at', 0.95).out.splitlines()[-1]}".startswith("stop: old wins.")
    answer = ltr_duel(*shop, "--outcome", "buy", "--guardrail", "click")
    assert answer.out.splitlines()[-1].startswith(
        "no decision: new is ahead, but the log does not show that its guardrails hold"
    )


@pytest.mark.parametrize("stop", [[], ["--stop-at", 0.95]])
def test_a_ratio_may_decide_and_guard(ltr_duel, shop, tmp_path, stop):
    """Purchases decide 30 impressions and clicks 30, so that the ratio is 1; users come once."""
    page = tmp_path / "page.html"
    answer = ltr_duel(*shop, "--outcome", "buy/click", "--guardrail", "click/buy:2", "--report", page, *stop)
    assert answer.code == 0, answer.err
    row = next(line.split() for line in answer.out.splitlines() if line.startswith("new > old"))
    assert "+1.0000" in row and "30" in row
    assert "guardrail click/buy" in answer.out and "the mean of new against old is -1.0000" in answer.out
    assert "It is a ratio" in page.read_text() and "<img" not in page.read_text()
    answer = ltr_duel(*shop, "--outcome", "buy/click", "--out", tmp_path / "m.csv")
    assert answer.code == 2 and "'buy/click' is a ratio" in answer.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--by", "day"], 0, "--by day: the log has only one part"),
        (["--by", "devcie"], 2, "there is no column 'devcie' to slice by"),
        (["--outcome", "clik"], 2, "did you mean 'click'"),
        (["--margin", 0.05], 2, "--margin requires --stop-at"),
        (["--events", "more.csv"], 2, "--events is given 2 times; a folder or glob selects several files"),
    ],
)
def test_what_an_option_cannot_do_is_said(ltr_duel, shop, words, code, says):
    answer = ltr_duel(*shop, *words)
    assert answer.code == code and says in answer.out + answer.err, answer.err


def test_a_failing_check_is_above_the_table_and_the_exit_code_of_check(ltr_duel, tmp_path):
    path = log_of(tmp_path / "log.jsonl", [1, -1, 0, 1] * 20).path  # old is on top of every list
    answer = ltr_duel("logs", "compare", path)
    assert answer.out.index("fails: owners of position 1: old owns 100.00%") < answer.out.index("no decision  ")
    answer = ltr_duel("logs", "check", path)
    assert answer.code == 1 and "fails: owners of position 1" in answer.out
    answer = ltr_duel("logs", "check")
    assert answer.code == 2 and "give either a LOG, or --exposures with --events" in answer.err


def test_the_terminal_and_the_page_say_the_same(ltr_duel, tmp_path):
    log_of(tmp_path / "log.jsonl", *drawn())
    words = ["logs", "compare", tmp_path / "log.jsonl", "--stop-at", 0.95, "--by", "day", "--no-checks"]
    answer = ltr_duel(*words, "--report", tmp_path / "page.html")
    assert answer.code == 0, answer.err
    text = re.sub(r"(?<=\d) to(?= [+-]\d)", "", text_of(tmp_path / "page.html"))  # intervals on pages have a "to"
    for line in answer.out.splitlines()[:-1]:
        parts = [part for part in re.split(r"\s{2,}|(?<=\.) (?=[A-Z])", line.removesuffix(".")) if part]
        assert all(part in text or part[0].upper() + part[1:] in text for part in parts), line


def test_power_of_an_effect_alone_depends_on_the_share_that_is_decided(ltr_duel):
    """z = 1.96 + .84: (2.8 / .1)^2 times .1 to 1 is 78 to 785 impressions, and a little more for the sign test."""
    answer = ltr_duel("power", "--effect", 0.1, "--per-day", 100)
    rows = [line.split() for line in answer.out.splitlines() if line[:1].isdigit()]
    assert [row[0] for row in rows] == ["10%", "30%", "60%", "100%"] and answer.code == 0, answer.err
    assert 780 < float(rows[-1][2]) < 830 and rows[-1][3] == "(9"
    assert ltr_duel("power", "--effect", 2).code == 2


def test_power_from_simulated_users_has_a_plan_of_a_pair_and_of_a_winner(ltr_duel, corpus):
    words = ["power", "--users", corpus, "--rankers", "features:1,2,3", "--effect", 0.1, "--effect", 0.05]
    answer = ltr_duel(*words, "--per-day", 1000)
    assert answer.code == 0, answer.err
    assert "find a mean outcome of 0.05 of one pair with power 0.8 at confidence 0.95, shared by 3 pairs." in answer.out
    assert "find one ranker ahead of each of the 2 others" in answer.out
    row = next(line for line in answer.out.splitlines() if line.startswith("0.1 "))
    numbers = [int(one.replace(",", "")) for one in re.findall(r"([\d,]+) \(", row)]
    assert numbers[0] < numbers[1] and numbers[0] < numbers[2] < numbers[3]
    answer = ltr_duel(*words, "--effect", 0.99)
    assert answer.code == 2 and "an effect of 0.99 is impossible" in answer.err


def test_power_from_a_log_says_for_whom_it_is(ltr_duel, tmp_path):
    path, y = tmp_path / "clicks.jsonl", [1 if k % 40 % 3 else -1 for k in range(800)]
    log_of(path, y, user=[k % 40 for k in range(800)])
    answer = ltr_duel("power", path, "--effect", 0.2)
    assert "Plans are for other users as frequent as these: about 20 impressions of the pair each." in answer.out
    log_of(path, y, user=[None] * 800, query=[f"q{k % 40}" for k in range(800)])
    answer = ltr_duel("power", path, "--effect", 0.2)
    assert "Plans are for other queries as frequent as these: about 20 impressions of the pair each." in answer.out
    log_of(path, y, user=[k % 6 for k in range(800)])
    answer = ltr_duel("power", path, "--effect", 0.1, "--pair", "new", "old")
    assert "at least " in answer.out and "note: the errors rest on few clusters (user)" in answer.out
    assert "no such pair with outcomes (there are old new)" in ltr_duel("power", path, "--pair", "a", "b").err
    log_of(path, [1, -1] * 20)
    answer = ltr_duel("power", path)
    assert "no ranker is clearly ahead (the estimate shrinks to 0)" in answer.out and " find a mean" not in answer.out
    assert "no plan for a ratio" in ltr_duel("power", path, "--outcome", "buy/click").err
