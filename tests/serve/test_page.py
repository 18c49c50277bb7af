"""The page at ``/``, as shown in browsers."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from ltr_duel.serve.page import _facts, _lines
from tests.papers.browser import look_at
from tests.serve.asgi import RANKERS, Service, using

NASTY = ("<img src=https://example.com/x.png onerror=alert(1)>", "x" * 150, 'ranker & "quotes" \' {{ 7 * 7 }}')


async def used(service, pages=60):
    """Make the last ranker win on all pages except the last three, which stay open."""
    lists = {name: [f"{name}{k}" for k in range(5)] for name in service.experiment.settings.rankers}
    best = service.experiment.settings.rankers[-1]
    for k in range(pages):
        page = await service.decide(lists=lists)
        if k < pages - 3:
            await service.clicks(page["token"], [one for one in page["page"] if one.startswith(best)])


def page_of(folder, *, pages=60, **settings):
    """Return the answer, and the displayed state."""

    async def story(service):
        await used(service, pages)
        return await service.call("GET", "/"), service.experiment.state()

    return using(Service(folder, **settings), story)


def test_the_page_says_what_the_state_is(tmp_path):
    said, state = page_of(tmp_path)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", said.body.decode()))
    assert f"pages shown {state.pages}" in text and f"open {state.open}" in text
    assert state.sentence in text
    for k, name in enumerate(RANKERS):
        shown = f"{state.exposure[k]:,.1f}".removesuffix(".0")
        assert re.search(rf"{name} {shown} \([0-9.]+%\) {state.pulls[k]} ", text)
    low, high = state.low[0, 2], state.high[0, 2]
    assert "share of the pages" in text and "a page of two rankers counts half for each" in text
    assert "does not react" not in text
    assert f"{state.mean[0, 2]:+.3f} {low:+.2f} to {high:+.2f}" in text
    assert f"{state.first_wins[2, 0]} : {state.first_wins[0, 2]}, {state.first_ties[0, 2]} ties" in text


def test_after_a_drop_the_page_says_of_which_policy_the_steps_are(tmp_path):
    """This also holds if all closed pages belong to the dropped ranker, so that the new policy has no step yet."""
    last = RANKERS[-1]

    async def story(service):
        for _ in range(20):
            page = await service.decide()
            if last in page["rankers"]:
                await service.clicks(page["token"], [])
        service.experiment.switch("drop", ranker=last)
        return await service.call("GET", "/"), service.experiment.state()

    said, state = using(Service(tmp_path, policy="random"), story)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", said.body.decode()))
    assert state.steps == 0 < state.compared and state.sentence in text and "No results yet" not in text
    assert "steps of the policy 0 (of a new policy, see Pulls)" in text
    assert f"A new policy started when {last} was dropped." in text


def test_the_page_says_how_many_pages_are_to_go(tmp_path):
    _, state = page_of(tmp_path, pages=4)
    state = state._replace(pages=1000, plain=900, compared=50, impressions_to_go=20.0, note="Users came back.", steps=9)
    facts = _facts(state)
    assert facts["pages to go"] == "about 20 pages of several rankers; at the present rate, 400 pages in all"
    alone = _facts(state._replace(pages=50, plain=0))["pages to go"]
    assert alone == "about 20 pages of several rankers", "the number and the unit of the headline"
    assert facts["of a single ranker (nothing compared)"] == "900 (90.0%)" and _lines(state)[-1] == state.note


def test_of_pages_of_users_who_return_only_those_that_count_are_to_go_by_new_users(tmp_path):
    """Two thirds of the pages are repeats, so the page requires a third as many first pages as comparing pages."""

    async def story(service):
        search = {"query": "shoes", "rankings": {"a": ["a1", "a2"], "b": ["b1", "b2"]}}
        for k in range(90):
            page = (await service.call("POST", "/decide", {**search, "user": f"u{k // 3}"})).json
            best = "ab"[k % 9 >= 6]
            await service.clicks(page["token"], [one for one in page["page"] if one.startswith(best)])
        return await service.call("GET", "/"), service.experiment.state()

    said, state = using(Service(tmp_path, policy="random", rankers=("a", "b")), story)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", said.body.decode()))
    assert state.first_wins.sum() + state.first_ties.sum() / 2 == 30 and 0 < state.compared <= 90
    assert np.isfinite(state.impressions_to_go)
    assert state.decisions[0].observations == 30
    new, pages = state.impressions_to_go * 30 / state.compared, state.impressions_to_go * state.pages / state.compared
    to_go = f"about {state.impressions_to_go:,.0f}"
    assert f"{to_go} further pages of several rankers, if" in state.sentence
    to_go = f"pages to go {to_go} pages of several rankers, {new:,.0f} of them for new users"
    assert to_go + (f"; at the present rate, {pages:,.0f} pages in all" if state.pages > state.compared else "") in text
    assert re.search(r"regret at most [\d.]+ wins, [\d.]+ a page", text)
    assert "logs compare counts all pages, because policy random does not react to outcomes" in text


def test_a_page_gives_no_number_of_pages_to_go_where_its_sentence_gives_none(tmp_path):
    said, state = page_of(tmp_path, pages=20)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", said.body.decode()))
    assert "so far to project how many more are needed" in text and "pages to go unknown" in text
    assert state.to_json()["impressions_to_go"] is None
    far = state._replace(
        pages=50, compared=50, impressions_to_go=50_001.0
    )  # "more than 1,000 times the present number"
    assert _facts(far)["pages to go"] == "unknown"


def test_a_probability_of_one_look_is_told_from_intervals_of_every_look(tmp_path):
    said, state = page_of(tmp_path, pages=20)
    assert state.probability.max() > 0.9 and (state.high[state.low < state.high] == 1).all()
    assert "This probability holds for a single look." in said.body.decode()
    assert "single look" not in "".join(_lines(state._replace(impressions_to_go=0.0))), "decided: both say the same"


def test_a_page_loads_nothing_runs_nothing_and_comes_again(tmp_path):
    said, _ = page_of(tmp_path, pages=4)
    text = said.body.decode()
    assert said.headers["refresh"] == "10"
    assert said.headers["content-security-policy"].startswith("default-src 'none'")
    assert "script-src" not in said.headers["content-security-policy"]
    assert "<script" not in text and not re.search(r"(src|href)=\"(?!data:)", text)


def test_names_are_shown_as_they_are_and_never_run(tmp_path):
    said, _ = page_of(tmp_path, rankers=NASTY, name="</title><script>alert(1)</script>", pages=6)
    text = said.body.decode()
    assert "<img" not in text and "<script" not in text and "{{ 7 * 7 }}" in text


@pytest.mark.parametrize(("pages", "rankers", "width"), [(30, NASTY, 390), (30, NASTY, 1200), (0, RANKERS, 390)])
def test_a_browser_shows_the_page(tmp_path, pages, rankers, width):
    async def story(service):
        await used(service, pages)
        return await service.call("GET", "/")

    (tmp_path / "store").mkdir()
    text = using(Service(tmp_path / "store", rankers=rankers), story).body.decode()
    seen = look_at(text, tmp_path, width)
    assert seen["console"] == [] and seen["outside"] == seen["loaded"] == seen["cut"] == []
    assert seen["page"] <= seen["width"] == width


@pytest.mark.parametrize("chances, line", [((0.25, 0.25, 0.25), "no ranker leads."), ((0.2, 0.5, 0.3), "b leads: it ")])
def test_a_ranker_leads_only_if_its_probability_is_above_all_others(chances, line):
    known = {
        "compared": 9,
        "probability": np.array(chances),
        "rankers": ("a", "b", "c"),
        "winner": "b",
        "recommended": "b",
        "note": "",
        "impressions_to_go": 0,
    }
    assert _lines(SimpleNamespace(**known))[0].startswith(f"So far {line}")
