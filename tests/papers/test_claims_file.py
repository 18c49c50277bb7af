"""Every claim of the ledger, tested on synthetic results on both sides of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ltr_duel.papers.claim_measures import MEASURES
from ltr_duel.papers.claims import check_claims
from ltr_duel.papers.claims_file import read_claims
from ltr_duel.papers.declaration import PAPERS
from ltr_duel.papers.figure_files import list_figures
from ltr_duel.papers.verdicts import FAILS, HOLDS, NEEDS_DATA, NEEDS_SCALE, NOT_MADE
from tests.papers.claim_tables import BUILDERS, frames_for

FILE = Path(__file__).resolve().parents[2] / "experiments" / "claims.toml"
CLAIMS = read_claims(FILE)
FIGURES = list_figures(FILE.parent)
claims = pytest.mark.parametrize("claim", CLAIMS, ids=[one.id for one in CLAIMS])


def judged(claim, frames, scale="paper"):
    return check_claims([claim], frames, {name: {"scale": scale} for name in frames}).iloc[0]


@claims
def test_a_claim_holds_where_it_is_true(claim):
    row = judged(claim, frames_for(claim, truth=True))
    assert row.verdict == HOLDS, (row.panels, row.reason)


@claims
def test_a_claim_does_not_hold_where_it_is_false(claim):
    row = judged(claim, frames_for(claim, truth=False))
    assert row.verdict == FAILS, (row.panels, row.reason)


@claims
def test_a_claim_needs_its_figure(claim):
    assert judged(claim, {}).verdict == NOT_MADE


@claims
def test_a_claim_names_figures_that_there_are(claim):
    assert all(FIGURES[name].about["paper"] == claim.paper for name in claim.figure)


@claims
def test_only_real_data_decide_what_is_about_real_data(claim):
    row = judged(claim, frames_for(claim, truth=True, source="surrogate"))
    assert row.verdict == (NEEDS_DATA if "real data" in claim.needs else HOLDS)
    assert row.low <= row.measured <= row.high


@claims
def test_only_the_printed_horizon_decides_what_is_about_it(claim):
    row = judged(claim, frames_for(claim, truth=False), scale="quick")
    assert row.verdict == (NEEDS_SCALE if "paper scale" in claim.needs else FAILS)
    assert row.low <= row.measured <= row.high


def test_what_is_said_of_the_rankers_of_np2004_needs_their_matrix():
    on_its_order = [one for one in CLAIMS if {"rucb_figure_5", "rucb_gammas", "rucb_own_matrix"} & set(one.figure)]
    assert len(on_its_order) >= 7 and all("real data" in one.needs for one in on_its_order)
    assert all("real data" in one.needs for one in CLAIMS if one.data_note)


def test_there_are_claims_of_all_papers_in_numbers():
    papers = [one.paper for one in CLAIMS]
    assert all(papers.count(paper) >= 8 for paper in ("beat_the_mean", "rucb", "multi_dueling", "wolfenfeld"))


def test_every_figure_of_a_paper_has_a_claim():
    """Exceptions: a table of settings, a figure that the text does not discuss, and figures from no paper."""
    figures = {name for name, figure in FIGURES.items() if figure.about["paper"] in PAPERS}
    claimed = {name for one in CLAIMS for name in one.figure}
    assert figures - claimed == {"multi_dueling_table_1", "wolfenfeld_figure_9", "state_of_the_art", "real_corpora"}


def test_every_measure_is_used_and_has_a_builder():
    assert set(MEASURES) == {one.measure for one in CLAIMS} == set(BUILDERS)


def test_a_claim_about_a_corpus_is_put_to_whatever_stands_in_for_it():
    """A replacement may have another name; rows are selected by name."""
    checked = 0
    for claim in CLAIMS:
        wanted = claim.rows.get("corpus")
        names = wanted if isinstance(wanted, list) else [wanted] if wanted else []
        for figure in claim.figure if names else ():
            for problem in (one for study in FIGURES[figure].studies for one in study.problems):
                given = {one.settings.get("name", problem.settings.get("name")) for one in problem.sources}
                if given & set(names):
                    checked += 1
                    assert given <= set(names), f"{claim.id}: {figure} may call it {sorted(given - set(names))}"
    assert checked > 10
