"""`logs compare --looks`."""

from __future__ import annotations

from tests.logs.written import drawn, log_of


def test_the_command_tells_what_the_looks_decide(ltr_duel, tmp_path):
    log_of(tmp_path / "log.jsonl", *drawn(3000, 8, -0.2))
    answer = ltr_duel("logs", "compare", tmp_path / "log.jsonl", "--stop-at", ".95", "--looks", "7,14")
    assert "stop: new wins, by the look at day 7 of looks at days 7, 14." in answer.out
    for given, says in (
        (["--looks", "7"], "--looks requires --stop-at"),
        (["--stop-at", ".95", "--looks", "x"], "not 'x'"),
        (["--stop-at", ".95", "--looks", "nan"], "above 0 and increasing"),
        (["--stop-at", ".95", "--looks", "7,17"], "day 17 is not: choose day 14 or 21, or give --any-time"),
        (["--stop-at", ".95", "--looks", "7", "--cluster", "both"], "user, query or impression, not both"),
    ):
        answer = ltr_duel("logs", "compare", tmp_path / "nowhere.jsonl", *given)  # before anything is read
        assert answer.code == 2 and says in answer.err


def test_a_log_that_a_bandit_collected_has_no_named_looks(ltr_duel, tmp_path):
    y, time, user = drawn(300, 8)
    log_of(tmp_path / "log.jsonl", y, time, user)
    path = tmp_path / "adaptive.jsonl"
    path.write_text((tmp_path / "log.jsonl").read_text().replace('"query"', '"policy": "rucb", "query"'))
    answer = ltr_duel("logs", "compare", path, "--stop-at", ".95", "--looks", "7")
    assert answer.code == 2 and "chosen independently of outcomes" in answer.err


def test_a_check_that_fails_comes_before_the_winner_of_a_look(ltr_duel, tmp_path):
    """The ranker old always owns position 1."""
    log_of(tmp_path / "log.jsonl", *drawn(3000, 8, -0.2))
    words = ["logs", "compare", tmp_path / "log.jsonl", "--stop-at", ".95", "--looks", "7"]
    last = ltr_duel(*words).out.splitlines()[-1]
    assert last.startswith("no decision: ") and "The outcomes alone: stop: new wins" in last
    assert ltr_duel(*words, "--no-checks").out.splitlines()[-1].startswith("stop: new wins")


def test_a_look_at_a_whole_week_decides_though_the_log_goes_on_within_one(ltr_duel, tmp_path):
    """Seventeen days: without planned looks the decision waits; with planned looks it is the decision of day 14."""
    log_of(tmp_path / "log.jsonl", *drawn(3000, 17, -0.2))
    words = ["logs", "compare", tmp_path / "log.jsonl", "--no-checks", "--stop-at", ".95"]
    assert ltr_duel(*words).out.splitlines()[-1].startswith("wait 4 days until the week is complete")
    for given, by in ((["--looks", "14"], "day 14"), (["--looks", "10,21"], "day 10"), (["--looks", "17"], "")):
        answer = ltr_duel(*words, *given)
        assert (answer.code == 2) if not by else f"stop: new wins, by the look at {by} " in answer.out, given
    assert "stop: new wins, by the look at day 17 " in ltr_duel(*words, "--looks", "17", "--any-time").out
