"""The commands of click logs: simulate, check, compare."""

from __future__ import annotations

import json
import re

import click
import numpy as np
import pytest

from ltr_duel.logs import plan_impressions
from tests.logs.test_page import clear, text_of
from tests.logs.test_slices import drawn, written
from tests.logs.test_sources import event, exposure, parquet
from tests.site.snippets import DOCS


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Simulate only a few sequences for a plan, because these tests check only the text."""
    monkeypatch.setitem(plan_impressions.__kwdefaults__, "draws", 200)


@pytest.fixture
def log(ltr_duel, corpus, tmp_path):
    """Write the log of a simulation."""
    path = tmp_path / "clicks.parquet"
    simulate = [
        "simulate",
        "--live",
        corpus,
        "--rankers",
        "features:1,2",
        "--method",
        "team_draft",
        "--comparisons",
        50,
    ]
    simulate += ["--policy", "random", "--horizon", 4000, "--repetitions", 1, "--out", tmp_path / "sim"]
    answer = ltr_duel(*simulate, "--log", path, "--users", 1000)
    assert answer.code == 0, answer.err
    assert f"{path}: " in answer.out
    return path


def test_check_compare_and_power(ltr_duel, log, tmp_path):
    answer = ltr_duel("logs", "check", log)
    assert answer.code == 0
    assert "credit for " in answer.out and "is based on the owners" in answer.out
    matrix, page, picture = tmp_path / "m.parquet", tmp_path / "r.html", tmp_path / "p.png"
    words = ["logs", "compare", log, "--stop-at", 0.95, "--margin", 0.01]
    answer = ltr_duel(*words, "--out", matrix, "--report", page, "--plot", picture)
    assert answer.code == 0, answer.err
    assert "errors clustered by user: the answer is for users who ask these " in answer.out
    assert "  1 wins  " in answer.out and "\nstop: 1 wins." in answer.out
    assert "<script" not in page.read_text() and "Stop: 1 wins." in page.read_text()
    assert picture.stat().st_size > 10_000
    assert "Condorcet winner: 1." in ltr_duel("prefs", "show", matrix).out
    answer = ltr_duel("logs", "power", log, "--effect", 0.1)
    assert answer.code == 0 and "0.1  " in answer.out, answer.err


@pytest.mark.parametrize("column", ["user_id", "userId", "session"])
def test_a_column_of_users_of_another_name_is_pointed_out(ltr_duel, tmp_path, column):
    row = '{"impression": "%d", "time": %d, "query": "q", "%s": "u%d", "rankers": ["a", "b"], "shown": ["x", "y"], '
    rows = [(row + '"owners": [0, 1], "clicks": [1]}') % (k, k, column, k) for k in range(4)]
    (tmp_path / "clicks.jsonl").write_text("\n".join(rows))
    for command in ("compare", "check"):
        answer = ltr_duel("logs", command, tmp_path / "clicks.jsonl")
        assert f"rename the column '{column}' to 'user' in the file, or map it with --source" in answer.out, answer.err


def test_exposures_and_events_with_a_guardrail_and_a_failing_check(ltr_duel, tmp_path):
    exposures = [
        {
            "impression": f"i{k}",
            "time": k,
            "user": f"u{k}",
            "query": "q",
            "shown": ["a", "b"],
            "rankers": ["new", "old"],
        }
        | {"owners": [0, 1]}
        for k in range(50)
    ]
    events = [{"impression": f"i{k}", "item": "b" if k % 5 else "a", "kind": "buy", "time": k} for k in range(50)]
    events += [{"impression": f"i{k}", "item": "b", "kind": "click", "time": k} for k in range(50)]
    for name, rows in (("exposures", exposures), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--exposures", tmp_path / "exposures.jsonl", "--events", tmp_path / "events.jsonl", "--outcome", "buy"]
    answer = ltr_duel("logs", "compare", *words, "--guardrail", "click")
    assert answer.code == 0, answer.err
    row = next(line for line in answer.out.splitlines() if line.startswith("old > new"))
    assert row.split()[3:9] == ["no", "decision", "50", "40", "10", "0"]
    assert "fails: owners of position 1: new owns 100.00%" in answer.out
    assert "guardrail click holds: the mean of old against new is +1.0000" in answer.out
    answer = ltr_duel("logs", "check", *words)
    assert answer.code == 1 and "fails: owners of position 1" in answer.out
    answer = ltr_duel("logs", "check")
    assert answer.code == 2 and "give either a LOG, or --exposures with --events" in answer.err


def test_power_from_a_corpus(ltr_duel, corpus, tmp_path):
    words = ["logs", "power", "--live", corpus, "--rankers", "features:1,2", "--comparisons", 2000]
    answer = ltr_duel(*words, "--effect", 0.2, "--effect", 0.1, "--plot", tmp_path / "curve.png")
    assert answer.code == 0, answer.err
    assert len(answer.out.splitlines()) == 9 and (tmp_path / "curve.png").exists()


def test_a_plan_for_several_rankers_is_of_one_pair_and_has_one_for_a_winner(ltr_duel, corpus):
    words = ["logs", "power", "--live", corpus, "--rankers", "features:1,2,3", "--comparisons", 2000, "--effect", 0.1]
    answer = ltr_duel(*words)
    assert "To find a mean outcome of 0.1 of one pair with power 0.8" in answer.out, answer.err
    fixed = int(answer.out.split("plan for ")[1].split()[0].replace(",", ""))
    winner = answer.out.split(
        "To find one ranker ahead of each of the 2 others, if it beats each of them by this mean outcome: "
    )[1]
    pair = int(ltr_duel(*words, "--power", 0.9).out.split("plan for ")[1].split()[0].replace(",", ""))
    assert int(winner.split()[0].replace(",", "")) == pair > fixed  # 1 - .2 / 2
    two = ltr_duel(*words, "--effect", 0.05).out
    one_pair, winners = two.split("One pair, named beforehand:\n")[1].split(
        "One ranker ahead of each of the 2 others by this effect:\n"
    )
    effects, planned = ([line.split() for line in one.splitlines()[1:3]] for one in (one_pair, winners))
    assert [row[0] for row in effects] == [row[0] for row in planned] == ["0.1", "0.05"], two
    assert planned[0][1] == f"{pair:,}" and effects[0][1] == f"{fixed:,}"
    answer = ltr_duel(*words, "--effect", 0.99)
    assert answer.code == 2 and "an effect of 0.99 is impossible" in answer.err


def test_a_plan_by_query_counts_new_queries_and_says_what_those_of_the_log_cannot_show(ltr_duel, tmp_path):
    path = tmp_path / "clicks.jsonl"
    row = {"shown": ["a", "b"], "rankers": ["new", "old"], "owners": [0, 1]}
    rows = [
        row | {"impression": k, "time": k, "query": f"q{k % 40}", "clicks": [1 + (k % 40 % 3 == 0)]} for k in range(800)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    answer = ltr_duel("logs", "power", path, "--effect", 0.2)
    assert "plans are for new queries with about 20 impressions of the pair each" in answer.out, answer.err
    assert (
        "Plans are for other queries that come as often as these: with about 20 impressions of the pair each."
        in answer.out
    )
    path.write_text("".join(json.dumps(one | {"user": one["query"]}) + "\n" for one in rows))
    assert "new queries" not in ltr_duel("logs", "power", path, "--effect", 0.2).out
    assert "few clusters" not in answer.out
    path.write_text("".join(json.dumps(one | {"user": one["query"][:2]}) + "\n" for one in rows))
    assert "\nnote: the errors rest on few clusters (user)" in ltr_duel("logs", "power", path, "--effect", 0.2).out


def test_a_plan_names_no_leader_where_the_shrunk_mean_is_printed_as_0(ltr_duel, tmp_path):
    """The output named the first ranker as ahead even if its mean was below 0; a log without ties had a traceback."""
    path = tmp_path / "log.jsonl"
    written(path, [1, -1] * 19 + [-1, -1], range(40), [60 * k for k in range(40)])
    unclear = f"According to 40 impressions of {path}, no ranker is clearly ahead (the estimate shrinks to 0)"
    answer = ltr_duel("logs", "power", path)
    assert f"{unclear}, so the plan is for an effect of 0.1; name yours with --effect.\n" in answer.out
    assert "To find a mean outcome of 0.1 " in answer.out
    assert f"{unclear}.\n" in ltr_duel("logs", "power", path, "--effect", 0.2).out
    written(path, [1] * 30 + [0] * 10, range(40), [60 * k for k in range(40)])
    assert " is ahead of " in ltr_duel("logs", "power", path).out


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
        (["logs", "power"], "give either a LOG, or --live"),
        (["logs", "power", "arxiv.npy", "--visits", 3], "--visits, --heavy and --correlation require --live"),
        (["logs", "compare", "nowhere.jsonl"], "no such file"),
        (["simulate", "arxiv.npy", "--policy", "rucb", "--log", "x.parquet"], "--log requires --live and one policy"),
    ],
)
def test_what_cannot_be_done_is_said(ltr_duel, words, says):
    answer = ltr_duel(*words)
    assert answer.code == 2 and says in answer.err


def test_the_terminal_and_the_page_say_the_same(ltr_duel, tmp_path):
    written(tmp_path / "log.jsonl", *drawn())
    words = ["logs", "compare", tmp_path / "log.jsonl", "--stop-at", 0.95, "--by", "heavy"]
    answer = ltr_duel(*words, "--report", tmp_path / "page.html")
    assert answer.code == 0, answer.err
    text = re.sub(r"(?<=\d) to(?= [+-]\d)", "", text_of(tmp_path / "page.html"))  # intervals on pages have a "to"
    for line in answer.out.splitlines()[:-1]:
        whole = [words in text or words[0].upper() + words[1:] in text for words in re.split(r"\s{2,}", line) if words]
        assert all(whole), line


def test_parts_of_a_log_of_one_part_are_a_note_of_the_terminal(ltr_duel, tmp_path):
    """Users who come once all belong to one part, so the page shows no parts."""
    clear(tmp_path / "log.jsonl")
    answer = ltr_duel("logs", "compare", tmp_path / "log.jsonl", "--by", "heavy", "--report", tmp_path / "page.html")
    assert "--by heavy: the log has only one part" in answer.out
    assert "Users who come often" not in text_of(tmp_path / "page.html")


def test_several_outcomes_have_one_primary(ltr_duel, tmp_path):
    """All clicks favour b, and nearly all purchases a; the first outcome decides unless another outcome is named."""
    exposures = [
        {"impression": f"i{k}", "time": k, "user": f"u{k}", "query": "q", "shown": ["a", "b"]}
        | {"rankers": ["new", "old"], "owners": [0, 1] if k % 2 else [1, 0], "device": "phone" if k % 3 else "desk"}
        for k in range(60)
    ]
    events = [{"impression": f"i{k}", "item": "b", "kind": "click", "time": k} for k in range(0, 60, 2)]
    events += [{"impression": f"i{k}", "item": "b", "kind": "buy", "time": k} for k in range(1, 60, 2)]
    for name, rows in (("exposures", exposures), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["logs", "compare", "--exposures", tmp_path / "exposures.jsonl", "--events", tmp_path / "events.jsonl"]
    words += ["--outcome", "click", "--outcome", "buy"]
    answer = ltr_duel(*words, "--by", "device")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    clicked = ["new", ">", "old", "new", "wins", "60", "30", "0"]  # clicks on documents of new
    assert any(line.split()[:8] == clicked for line in lines)
    assert any(line.split()[:6] == ["buy", "new", ">", "old", "60", "-0.5000"] for line in lines)  # beside it
    assert any(line.split()[:6] == ["phone", "new", ">", "old", "40", "+0.5000"] for line in lines)
    assert "parts by device are not shown to differ" in answer.out
    (line,) = (line for line in lines if "Bonferroni" in line)  # the line is shared by both tables
    assert (
        line.startswith("In each table of parts or secondary outcomes, all intervals hold simultaneously with 95% ")
        and "Holm" in line
    )
    assert "Bonferroni" not in ltr_duel(*words[:-6]).out
    assert lines[-1].startswith("At this look new wins (p ")
    lines = ltr_duel(*words, "--primary", "buy").out.splitlines()
    assert any(line.split()[:8] == ["old", ">", "new", "old", "wins", "60", "30", "0"] for line in lines)
    assert any(line.split()[:6] == ["click", "old", ">", "new", "60", "-0.5000"] for line in lines)
    answer = ltr_duel(*words, "--primary", "cart")
    assert answer.code == 2 and "'cart'" in answer.err


def test_power_reads_exposures_and_events(ltr_duel, tmp_path):
    exposures, events = [], []
    for k in range(400):
        rankings = [["a", "b"], ["b", "a"]]
        shown = ["a", "b"] if k % 2 else ["b", "a"]
        about = {"impression": f"i{k}", "time": k, "user": f"u{k}", "query": "q", "shown": shown}
        exposures.append(about | {"rankers": ["new", "old"], "rankings": rankings, "method": "probabilistic:tau=1"})
        events.append({"impression": f"i{k}", "item": "b" if k % 4 else "a", "kind": "buy", "time": k})
    for name, rows in (("exposures", exposures), ("events", events)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--exposures", tmp_path / "exposures.jsonl", "--events", tmp_path / "events.jsonl", "--outcome", "buy"]
    answer = ltr_duel("logs", "power", *words, "--effect", 0.1)
    assert answer.code == 0 and "According to 400 impressions of " in answer.out, answer.err
    answer = ltr_duel("logs", "power", tmp_path / "exposures.jsonl", *words)
    assert answer.code == 2 and "give either a LOG, or --live with a corpus, or --exposures" in answer.err


def test_line_breaks_in_names_do_not_reach_the_terminal(ltr_duel, tmp_path):
    row = {"query": "q", "shown": ["a", "b"], "clicks": [1], "rankers": ["new", "old"], "owners": [0, 1], "\x1b[1m": 1}
    rows = [row | {"impression": f"i{k}", "time": k, "user": "x\r\ny\x1b[31m"} for k in range(30)]
    rows.append(rows[0] | {"impression": "\x1b[2m", "shown": ["\x1b[3m"] * 2, "time": 99})
    rows.append(rows[0] | {"rankers": ["\x1b[4m", "old"], "time": 100, "impression": "last"})
    path = tmp_path / "clicks.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    for words in (["check"], ["compare", "--skip-bad", 2]):
        answer = ltr_duel("logs", words[0], path, *words[1:])
        assert answer.out and not {"\x1b", "\r"} & {*answer.out}, answer.err
        assert "user 'x\\r\\ny\\x1b[31m' has 3" in answer.out
    answer = ltr_duel("logs", "compare", path, "--skip-bad", 1)
    assert answer.code == 2 and "clicks.jsonl:32: the name of a ranker must be one printable line" in answer.err


def test_a_log_by_a_rule_that_random_clicks_move_says_so_everywhere_and_the_documented_way_out_works(
    ltr_duel, corpus, tmp_path
):
    """On NP2004 the papers' rule named a winner under random clicks, and no output stated that this proves nothing."""
    path, page = tmp_path / "clicks.parquet", tmp_path / "page.html"
    simulate = ["simulate", "--live", corpus, "--rankers", "features:1,2", "--clicks", "random", "--comparisons", 50]
    simulate += ["--policy", "random", "--horizon", 400, "--repetitions", 1, "--log", path, "--users", 100]
    warning = "marginal_sign: under random clicks, the mean outcome is not 0, so the result does not show that"
    warning += " users prefer a ranker."
    answer = ltr_duel(*simulate, "--outcome", "marginal_sign")
    assert answer.code == 0 and f"note: {warning} Use --outcome sampled instead.\n" in answer.out
    assert warning in ltr_duel("logs", "check", path).out.splitlines()
    said = ltr_duel("logs", "compare", path, "--stop-at", 0.95, "--report", page).out
    assert f"note: {warning}" in said and said.splitlines()[-3] == warning, "above the decision"
    method = page.read_text().partition("Method and assumptions")[2].partition("Provenance")[0]
    assert warning in method
    text = (DOCS / "logs.md").read_text(encoding="utf-8").partition("### Another outcome rule")[2]
    (tmp_path / "expectation.toml").write_text(text.partition("```toml\n")[2].partition("```")[0])
    said = ltr_duel("logs", "compare", path, "--source", tmp_path / "expectation.toml").out
    assert "by probabilistic (expectation)" in said and "random clicks" not in said
    before = path.read_bytes()
    refused = ltr_duel(*simulate, "--outcome", "sampled")
    assert refused.code == 2 and f"{path}: already exists" in refused.err and path.read_bytes() == before
    answer = ltr_duel(*simulate, "--overwrite")  # by the default rule
    assert answer.code == 0 and "random clicks" not in answer.out + ltr_duel("logs", "compare", path).out
    answer = ltr_duel(*simulate, "--outcome", "marginal_bernoulli", "--overwrite")
    assert answer.code == 2 and "use 'sampled', which has the same mean" in answer.err
    answer = ltr_duel("simulate", "arxiv.npy", "--policy", "rucb", "--outcome", "sampled")
    assert answer.code == 2 and "--outcome requires --live" in answer.err


def test_files_are_written_before_anything_is_printed(ltr_duel, log, tmp_path, monkeypatch):
    """Regression: the command piped into head ended after the first lines and wrote no page."""
    page, matrix, picture = (tmp_path / name for name in ("page.html", "m.parquet", "p.svg"))
    there = []
    echo = click.echo
    monkeypatch.setattr("click.echo", lambda *said, **how: (there.append(page.exists()), echo(*said, **how)))
    answer = ltr_duel("logs", "compare", log, "--report", page, "--out", matrix, "--plot", picture)
    assert answer.code == 0 and there and all(there) and answer.out.endswith(f"{matrix}\n{page}\n{picture}\n")


def test_a_log_alone_leaves_no_folder(ltr_duel, log, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulate = ["simulate", "--live", corpus, "--rankers", "features:1,2", "--method", "team_draft", "--policy"]
    answer = ltr_duel(*simulate, "random", "--comparisons", 50, "--horizon", 50, "--repetitions", 1, "--log", "new.csv")
    assert answer.code == 0 and "results.parquet" not in answer.out
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} <= {"sim", "corpus"}


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
    """Regression: LOG was required, and only columns of a log could be mapped or used for slices."""
    searches, orders = ["search;moment;words;client;list;team;geraet"], ["client;item;moment"]
    for k in range(60):
        day = f"2026-10-05 08:{k:02d}:00"
        searches.append(f"s{k};{day};q;c{k};a|b;{'old|new' if k % 3 else 'new|old'};{['phone', 'desk'][k % 2]}")
        orders.append(f"c{k};a;{day}")
    for name, lines in (("searches", searches), ("orders", orders)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    mapping = tmp_path / "shop.toml"
    words = ["--source", mapping, "--outcome", "purchase", "--within", "1d"]
    mapping.write_text(SHOP.format(tmp_path, ""))
    answer = ltr_duel("logs", "check", *words)
    assert "60 impressions" in answer.out and "not read" not in answer.out, answer.err
    assert "According to 60 impressions of" in ltr_duel("logs", "power", *words, "--effect", 0.1).out
    answer = ltr_duel("logs", "compare", *words, "--by", "geraet")
    assert answer.code == 0 and re.search(r"^ *phone +old > new +30 ", answer.out, re.M), answer.err
    answer = ltr_duel("logs", "compare", *words, "--by", "colour")
    assert answer.code == 2 and "there is no column 'colour' to slice by" in answer.err
    mapping.write_text(SHOP.format(tmp_path, 'device = "upper(geraet)"'))
    answer = ltr_duel("logs", "compare", *words, "--by", "device")
    assert answer.code == 0 and re.search(r"^ *PHONE +old > new +30 ", answer.out, re.M), answer.err
    assert "not read: device\n" in ltr_duel("logs", "check", *words).out
    mapping.write_text(SHOP.format(tmp_path, "").replace("file =", "# file ="))
    answer = ltr_duel("logs", "check", *words)
    assert answer.code == 2 and f"{mapping}: give a LOG, or map the source of the exposures: file = '...'" in answer.err


def test_a_plan_from_few_users_says_what_its_factors_do_not_explain(ltr_duel, tmp_path):
    rng = np.random.default_rng(0)
    shown = [exposure(k, f"u{k % 12}", time=float(k)) for k in range(60)]
    events = [event(f"i{k}", "ab"[int(rng.random() < 0.2)]) for k in range(60)]
    words = [parquet(tmp_path, "shown", shown), "--events", parquet(tmp_path, "seen", events)]
    answer = ltr_duel("logs", "power", *words)
    fixed = float(re.search(r"plan for ([\d,]+) impressions and", answer.out)[1].replace(",", ""))
    said = re.search(r"By these factors alone, one look would need ([\d,]+) impressions", answer.out)
    assert said and fixed > 1.5 * float(said[1].replace(",", "")), answer.out
    assert "comes from the one won and one lost user that the test adds" in answer.out
    many = [exposure(k, f"u{k % 1000}", time=float(k)) for k in range(3000)]
    events = [event(f"i{k}", "ab"[int(rng.random() < 0.4)]) for k in range(3000)]
    words = [parquet(tmp_path, "shown", many), "--events", parquet(tmp_path, "seen", events)]
    assert "By these factors alone" not in ltr_duel("logs", "power", *words, "--effect", 0.02).out
