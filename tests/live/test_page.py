"""The status page, as a browser shows it."""

from __future__ import annotations

import html
import re

from ltr_duel.live.page import _facts, _lines, experiment_page
from tests.live.asgi import LISTS, Service, using

NASTY = ("<img src=https://example.com/x.png onerror=alert(1)>", "x" * 150, 'ranker & "quotes" \' {{ 7 * 7 }}')


async def used(service, users=60, rankers=tuple(LISTS)):
    """Show pages on which the last ranker wins; the last three are not seen. Return the answer at `/` and the state."""
    lists = {name: [f"{k}{document}" for document in "abcde"] for k, name in enumerate(rankers)}
    for k in range(users):
        page = await service.decide(f"u{k}", rankings=lists)
        if k < users - 3:
            clicks = [document for document in page["page"] if document[0] == str(len(rankers) - 1)]
            await service.report(page["token"], {"kind": "view"}, *({"kind": "click", "document": c} for c in clicks))
    state = service.state()
    return await service.call("/"), state


def text_of(page):
    """Return the text of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def test_the_live_page_shows_the_sentence_of_the_state(service):
    answer, state = using(service, used)
    text = text_of(answer.body.decode())
    assert state.sentence in text and answer.headers["refresh"] == "10"
    assert "pages shown 60" in text and "without any report 3 (5.0%)" in text
    assert "that count (an event was reported) 57 (95.0%)" in text
    assert f"of these, with the credited event (click) {state.clicked}" in text
    for k, name in enumerate(LISTS):
        exposure = f"{state.exposure[k]:,.1f}".removesuffix(".0")
        assert re.search(rf"{name} {exposure} \([0-9.]+%\)", text)
    assert f"{state.mean[0, 2]:+.3f} {state.low[0, 2]:+.2f} to {state.high[0, 2]:+.2f}" in text
    assert f"{state.first_wins[2, 0]} : {state.first_wins[0, 2]}, {state.first_ties[0, 2]} ties" in text
    assert "So far mixed leads: it beats all others with probability > 0.999." in text


def test_the_live_page_without_results_says_so(service):
    async def story(service):
        return await service.call("/"), service.state()

    answer, state = using(service, story)
    assert "No results yet" in text_of(answer.body.decode()) and state.leader == ""


def test_pages_that_count_as_shown_are_called_so(tmp_path):
    answer, state = using(Service(tmp_path, count="shown"), used)
    assert "that count (every page counts) 60 (100.0%)" in text_of(answer.body.decode()) and state.unseen == 3


def test_the_page_lists_the_uses_of_controls_with_their_operator(service):
    async def story(service):
        await service.call("/control", {"control": "share", "share": 0.5, "holdback": 0.25, "who": "Ann"})
        await service.call("/control", {"control": "drop", "ranker": "dense"})
        return await service.call("/")

    text = text_of(using(service, story).body.decode())
    assert "UTC share 0.5 holdback 0.25 (Ann)" in text and "UTC drop dense (HTTP)" in text
    assert "running, with 0.5 of the users; 0.25 held back; dropped: dense" in text


def test_html_in_names_is_escaped_on_the_live_page(tmp_path):
    async def story(service):
        return await used(service, 20, NASTY)

    answer, _ = using(Service(tmp_path, name=NASTY[0], rankers=NASTY), story)
    page = answer.body.decode()
    assert "<img" not in page and "<script" not in page
    assert all(name in text_of(page) for name in NASTY)
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_pages_to_go_are_given_with_the_share_of_new_users(service):
    state = using(service, used)[1]
    rest = state._replace(impressions_to_go=30.0, wins=3 * state.first_wins, ties=3 * state.first_ties)
    assert _facts(rest)["pages to go"] == "about 30 pages of several rankers, 10 of them for new users"
    assert _facts(state._replace(impressions_to_go=30.0))["pages to go"] == "about 30 pages of several rankers"
    assert _facts(state._replace(impressions_to_go=0.0))["pages to go"] == "none"
    assert _facts(state._replace(impressions_to_go=1e9))["pages to go"] == "unknown"


def test_a_note_of_the_state_is_on_the_page(service):
    state = using(service, used)[1]._replace(note="Forgotten users count as new users.")
    assert _lines(state)[-1] == state.note and state.note in experiment_page(state)


def test_of_many_rankers_the_matrix_has_the_twelve_that_were_shown_most(tmp_path):
    names = tuple(f"ranker {k:02}" for k in range(20))

    async def story(service):
        return await used(service, 40, names)

    text = text_of(using(Service(tmp_path, rankers=names), story)[0].body.decode())
    assert "The 8 rankers that were shown least are left out" in text
    assert all(name in text for name in names)
