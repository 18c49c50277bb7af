"""The page, the tables and the figures of a comparison, in the words of the terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import check_log, compare_log, comparison_table, decide, save_comparison, subgroups, usual_subgroups
from tests.browser import look_at
from tests.logs.written import DAY, drawn, log_of, text_of

CLEAR = np.random.default_rng(0).permutation(np.repeat([1, -1, 0], [300, 100, 200]))
LONG = ("LM Jelinek-Mercer title+abstract", "covered_term_ratio document")


def fair(path, y=CLEAR, **more):
    """Write a log in which either ranker has the first position on half of the lists."""
    swap = np.arange(len(y)) % 2 == 1
    owners = [[1, 0] if one else [0, 1] for one in swap]
    return log_of(path, np.where(swap, -np.asarray(y), y), owners=owners, **more)


def saved(tmp_path, found, stop_at=None, **more):
    decision = decide(found, stop_at)
    save_comparison(found, decision, tmp_path / "page.html", **more)
    return text_of(tmp_path / "page.html"), decision


def test_the_page_begins_with_the_verdict_and_folds_the_checks_that_passed(tmp_path):
    found = compare_log(fair(tmp_path / "log.jsonl"))
    text, decision = saved(tmp_path, found, 0.95)
    order = list(map(text.index, ("Stop: ranker old wins.", "log.jsonl: 600 impressions", "Is the experiment sound?")))
    assert order == sorted(order)
    verdicts = [one.verdict for one in check_log(fair(tmp_path / "log.jsonl"))]
    passed, left = verdicts.count("sound"), verdicts.count("not checked")
    assert passed + left == 10 and f"Is the experiment sound? {passed} checks passed, {left} could not be made" in text
    page = (tmp_path / "page.html").read_text()
    assert page.index("<details><summary>") < page.index("sound: owners of position 1") and page.count("<img") == 1
    for pair, verdict in zip(*(comparison_table(found, decision)[name] for name in ("pair", "verdict")), strict=True):
        assert f"{pair} {verdict} " in text


def test_a_failed_check_and_a_change_of_users_stand_beside_the_verdict(tmp_path):
    y = np.where(np.arange(4000) < 1000, 1, np.where(np.arange(4000) % 2, 1, -1))
    text, decision = saved(tmp_path, compare_log(log_of(tmp_path / "log.jsonl", y)))
    assert decision.verdict == "no decision" and "fails: owners of position 1" in text
    assert text.index("No decision: ") < text.index("Users or rankers changed") < text.index("Is the experiment sound?")


def test_a_page_of_a_log_of_hours_has_no_days(tmp_path):
    assert usual_subgroups(0, 5 * 3600) == []
    assert usual_subgroups(0, 14 * DAY) == ["day", "week"] and usual_subgroups(0, 90 * DAY) == ["week"]
    log = log_of(tmp_path / "log.jsonl", *drawn(days=4))
    found = replace(compare_log(log), looks=[])  # as by a ratio
    text, _ = saved(tmp_path, found, parts=[subgroups(log, found, way) for way in ("day",)])
    assert "Day by day" in text and "(one look, p = " in text
    assert "<img" not in (tmp_path / "page.html").read_text()


def test_the_figure_is_scaled_to_its_interval(tmp_path):
    """600 impressions with a mean of 1/3: after the first quarter, the interval is within 0 to .8."""
    found = compare_log(fair(tmp_path / "log.jsonl"))
    axes = found.plot(stop_at=0.95, margin=0.02)
    bottom, top = axes.get_ylim()
    low, high = decide(found, 0.95, checks=False).pairs[0][6:8]
    assert -0.5 < bottom < 0 < low < high < top
    assert "margin" in axes.get_legend_handles_labels()[1]
    with pytest.raises(InputError, match="has no development over time"):
        replace(found, looks=[]).plot()
    few = compare_log(log_of(tmp_path / "few.jsonl", CLEAR[:3]))
    assert not few.plot().collections[0].get_paths() and few.plot().get_ylim()[1] > 1


def test_a_browser_shows_every_cell_of_the_page(tmp_path, width=390, stop_at=0.95):
    found = compare_log(log_of(tmp_path / "log.jsonl", CLEAR, user=np.arange(600) % 250, rankers=[LONG] * 600))
    saved(tmp_path, found, stop_at)
    seen = look_at((tmp_path / "page.html").read_text(encoding="utf-8"), tmp_path, width)
    assert seen["cut"] == seen["outside"] == seen["loaded"] == [] and seen["page"] <= seen["width"] == width
