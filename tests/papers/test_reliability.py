"""How reliable criteria are: the worlds match their description, and wrong criteria are detected."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.cli.reproduce import _try_criteria
from ltr_duel.core.errors import InputError
from ltr_duel.papers import reliability
from ltr_duel.papers.claim_measures import MEASURES, Group, Sample
from ltr_duel.papers.claims import check_claims, gather
from ltr_duel.papers.measures.properties import _gammas_of_subsets
from ltr_duel.papers.reliability import inside, judge_worlds, outside, read_tried, redraw, try_criteria
from ltr_duel.papers.verdicts import Criterion
from tests.conftest import bradley_terry
from tests.papers.claim_tables import frames_for
from tests.papers.synthetic_tables import about
from tests.papers.test_claims_file import CLAIMS, FILE

BY_ID = {one.id: one for one in CLAIMS}
ONE_OF_EACH = {one.measure: one for one in reversed(CLAIMS)}


def one_group(*, runs=20, spread=0.2, columns=2):
    """Return runs of several policies with mean 100, equal relative spread, and half of the variance in common."""
    rng = np.random.default_rng(3)
    luck = rng.standard_normal((runs, columns)) + rng.standard_normal((runs, 1))
    luck = (luck - luck.mean(axis=0)) / luck.std(axis=0, ddof=1)
    return Group(100 * (1 + spread * luck), np.zeros(runs, np.int64), drawn=False)


def test_worlds_have_the_means_spreads_and_correlations_of_the_sample():
    group = one_group()
    drawn = redraw(Sample((group,)), 4000, np.random.default_rng(1)).groups[0].values
    assert drawn.shape == (20, 2, 4000) and drawn.min() > 0
    first, second = np.moveaxis(drawn, 1, 0).reshape(2, -1)
    assert first.mean() == pytest.approx(100, rel=0.01) and first.std() == pytest.approx(20, rel=0.03)
    wanted = np.corrcoef(group.values.T)[0, 1]
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(wanted, abs=0.05)


def test_problems_that_are_draws_are_drawn_anew():
    """Ten problems near 100 and ten near 300, with nearly no noise: means of twenty have an error of 23."""
    values = np.repeat([100.0, 300.0], 20)[:, None] * (1 + 1e-6 * np.tile([-1, 1], 20))[:, None]
    for drawn, error in ((True, 100 / np.sqrt(20)), (False, 0)):
        group = Group(values, np.repeat(np.arange(20), 2), drawn)
        means = redraw(Sample((group,)), 2000, np.random.default_rng(1)).groups[0].values.mean(axis=0)
        assert means.std() == pytest.approx(error, rel=0.15, abs=1e-3)


@pytest.mark.parametrize("claim", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_a_world_has_the_number_that_it_is_made_for(claim, monkeypatch):
    """A large sample of the distribution is moved to the given number, and the measure finds this number."""
    monkeypatch.setattr(reliability, "_POPULATION", 60)
    sample = next(iter(gather(claim, frames_for(claim, truth=True)).samples.values()))
    population = reliability._population(sample, np.random.default_rng(0))
    measure = MEASURES[claim.measure]
    for target, true in ((inside(claim), True), *((one, False) for one in outside(claim))):
        made = measure.aim(population, population, target, **claim.settings)
        found = measure.find(made, **claim.settings).value
        if claim.measure in ("place", "transition", "valley"):  # these have no exact number
            assert (claim.criterion.at_least <= found <= claim.criterion.at_most) or not true
        else:
            assert found == pytest.approx(target, rel=1e-9)
        assert true == (claim.criterion.at_least <= target <= claim.criterion.at_most)


@pytest.mark.parametrize("name", ["wolf-rcs-preference", "wolf-savage-worst", "btm-if-decrease", "mdb-synthetic-flat"])
def test_a_false_claim_is_seldom_called_true_and_a_true_one_is_found(name, monkeypatch):
    monkeypatch.setattr(reliability, "WORLDS", 60)
    claim = BY_ID[name]
    (panel,) = gather(claim, frames_for(claim, truth=True)).samples.values()
    groups = tuple(
        one_group(spread=0.05, columns=group.values.shape[1])._replace(problem=np.zeros(20, np.int64))
        for group in panel.groups
    )
    called, found = judge_worlds(claim, [panel._replace(groups=groups)])
    assert called <= 6 and found >= 48


def test_what_cannot_be_told_is_said(monkeypatch):
    """Highly variable runs do not show a factor of 1.5; results about one criterion imply nothing about others."""
    monkeypatch.setattr(reliability, "WORLDS", 60)
    claim = BY_ID["wolf-rcs-preference"]
    frames = frames_for(claim, truth=True)
    abouts = {name: {"scale": "paper"} for name in frames}
    calm = try_criteria([claim], frames, abouts)
    assert bool(calm["reliable"].item()) and calm["found"].item() == 60 and calm["runs"].item() == 6
    wild = {name: frame.copy() for name, frame in frames.items()}
    for frame in wild.values():
        frame["regret_average"] *= np.where((frame["repetition"] == 0) & (frame["policy"] == "rcs"), 20, 1)
    tried = try_criteria([claim], wild, abouts)
    assert not tried["reliable"].item() and tried["found"].item() < 48
    assert "these data cannot decide the claim" in check_claims([claim], wild, abouts, tried)["reliability"].item()
    assert check_claims([replace(claim, criterion=Criterion(2))], wild, abouts, tried)["reliability"].item() == ""


def test_several_panels_are_false_in_turn():
    """If one of two panels has a wrong number, a claim about both is false, even if the other panel is clear."""
    claim = BY_ID["wolf-rcs-large"]
    panels = [Sample((one_group(),)), Sample((one_group(spread=0.01),))]
    called, found = judge_worlds(claim, panels)
    assert called <= 10 and found >= 160


def test_gamma_of_matrices_without_a_violation_is_one():
    """Bradley-Terry matrices are strongly transitive, although gamma over all ordered pairs always exceeds 1."""
    btm, rucb = _gammas_of_subsets(bradley_terry(12), 6, 60, 0, 1)
    assert rucb.min() > 1.001 and btm == pytest.approx(np.ones(60))


def test_the_command_leaves_the_table_for_the_ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(reliability, "WORLDS", 40)
    claim = BY_ID["wolf-rcs-preference"]
    (name,) = claim.figure
    (tmp_path / "out" / name).mkdir(parents=True)
    frames_for(claim, truth=True)[name].to_parquet(tmp_path / "out" / name / "data.parquet")
    (tmp_path / "out" / name / "about.json").write_text(json.dumps(about(name=name)))
    _try_criteria(FILE.parent, tmp_path / "out")
    table = read_tried(tmp_path / "out" / "reliability.csv")
    assert table["claim"].tolist() == [claim.id] and table["found"].item() == table["worlds"].item() == 40
    assert "| 40 of 40 |" in (tmp_path / "out" / "reliability.md").read_text()
    (tmp_path / "out" / "reliability.csv").write_text("no,table\n")
    with pytest.raises(InputError, match=r"reliability.csv: damaged .*; remove it, or"):
        read_tried(tmp_path / "out" / "reliability.csv")
    assert read_tried(tmp_path / "none.csv").empty and try_criteria([claim], {}, {})["reliable"].empty


@pytest.mark.long
def test_every_criterion_is_reliable_on_quiet_tables():
    """Six runs differ by a hundredth: every true claim is found, and intervals of six runs err slightly too often.

    Six runs do not determine ratios of spreads.
    """
    wrong = []
    for claim in CLAIMS:
        tried = try_criteria([claim], frames_for(claim, truth=True), {}).iloc[0]
        if tried.called > 20 or (tried.found < 160 and claim.measure != "spread"):
            wrong.append((claim.id, int(tried.called), int(tried.found)))
    assert not wrong
