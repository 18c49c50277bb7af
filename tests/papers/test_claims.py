"""The ledger: from numbers to verdicts, what is missing, and how it is written."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.papers.checks.measure import Reading
from ltr_duel.papers.claims import Claim, _briefly, check_claims, read_claims
from ltr_duel.papers.ledger import ledger_json, ledger_markdown, ledger_text, save_ledger
from ltr_duel.papers.verdicts import FAILS, HOLDS, IN_PART, NEEDS_DATA, Criterion, answer, hardest, verdict
from tests.papers.claim_tables import jittered, runs

FIVE = Criterion(at_least=5)
CLAIM = Claim(
    "a", "rucb", "Figure 4", "five | times less", ("rucb_figure_4",), "ratio", FIVE,
    panels=("problem",), settings={"of": "savage", "to": "rucb"},
)  # fmt: skip


def table(**ratios):
    """Make results in which savage pays that many times the regret of rucb, by problem."""
    parts = []
    for problem, ratio in ratios.items():
        parts += [runs({"problem": problem}, "savage", ratio * jittered(100))]
        parts += [runs({"problem": problem}, "rucb:alpha=0.51", jittered(100)[::-1])]
    return pd.concat(parts, ignore_index=True).assign(source="surrogate")


def judge(frame, claim=CLAIM, about=None):
    return check_claims([claim], {"rucb_figure_4": frame}, {"rucb_figure_4": about or {}}).iloc[0]


@pytest.mark.parametrize(
    "low, high, said", [(5.0, 6, "yes"), (5.1, 6, "yes"), (4, 6, "open"), (4, 5.0, "open"), (4, 4.9, "no")]
)
def test_a_panel_answers_with_its_whole_interval(low, high, said):
    assert answer(Reading((low + high) / 2, low, high), FIVE) == said


@pytest.mark.parametrize(
    "low, high, said", [(5, 10, "yes"), (4, 6, "open"), (9, 11, "open"), (11, 12, "no"), (1, 4, "no")]
)
def test_a_range_has_two_ends(low, high, said):
    assert answer(Reading((low + high) / 2, low, high), Criterion(5, 10)) == said


def test_the_weaker_criterion_softens_a_no_and_nothing_else():
    weaker = Criterion(at_least=2)
    assert answer(Reading(3, 2.5, 4), FIVE, weaker) == "weaker"
    assert answer(Reading(2, 1.5, 4), FIVE, weaker) == "no"
    assert answer(Reading(5, 1, 6), FIVE, weaker) == "open"
    assert answer(None, FIVE, weaker) == "open"


@pytest.mark.parametrize(
    "answers, expected",
    [
        (["yes", "yes"], HOLDS), (["yes", "open"], IN_PART), (["yes", "no"], IN_PART), (["open"], IN_PART),
        (["weaker"], IN_PART), (["no"], FAILS), (["no", "no", "yes"], FAILS), (["no", "no", "yes", "open"], IN_PART),
    ],
)  # fmt: skip
def test_the_verdict_follows_the_panels(answers, expected):
    assert verdict(answers) == expected


def test_the_ledger_shows_the_panel_furthest_from_the_claim():
    readings = {"a": Reading(7, 6, 8), "b": Reading(12, 11, 13), "c": Reading(4.5, 4, 5)}
    assert hardest(readings, Criterion(5, 10)) == readings["b"]


def test_the_panels_where_a_claim_holds_are_named():
    row = judge(table(small=8.0, large=3.0))
    assert row.verdict == IN_PART
    assert row.reason == "holds: small; does not hold: large"
    assert row.measured == pytest.approx(3, rel=1e-9) and row.low < 3 < row.high


def test_an_interval_across_the_end_decides_nothing():
    row = judge(table(small=5.0))
    assert row.low < 5 < row.high and row.verdict == IN_PART and row.reason == "undecided: small"


def test_without_a_policy_a_claim_needs_data():
    frame = table(small=8.0)
    row = judge(frame[frame["policy"] == "savage"])
    assert row.verdict == NEEDS_DATA and "rucb" in row.reason and np.isnan(row.measured)


def test_without_a_column_a_claim_needs_data():
    assert judge(table(small=8.0).drop(columns="regret_average")).verdict == NEEDS_DATA
    assert judge(table(small=8.0).drop(columns="problem")).verdict == NEEDS_DATA


def test_regret_without_a_winner_is_no_evidence():
    assert "no best ranker" in judge(table(small=8.0).assign(regret_average=np.nan)).reason


def test_a_panel_that_cannot_be_measured_keeps_a_claim_from_holding():
    frame = table(small=8.0, large=8.0)
    row = judge(frame[(frame["problem"] == "small") | (frame["policy"] == "savage")])
    assert row.verdict == IN_PART and "large: there are no rows with policy rucb" in row.reason


def test_runs_of_different_length_are_not_compared():
    frame = table(small=8.0)
    longer = frame["policy"] == "savage"
    frame.loc[longer, ["t", "horizon"]] *= 2
    assert "not run equally far" in judge(frame).reason


def test_two_variants_of_a_policy_are_not_mixed():
    frame = table(small=8.0)
    more = frame[frame["policy"] != "savage"].assign(policy="rucb:alpha=0.7")
    assert "more than one policy fits" in judge(pd.concat([frame, more])).reason


def test_one_repetition_has_no_error():
    frame = table(small=8.0)
    assert judge(frame[frame["repetition"] == 0]).reason == "small: one repetition gives no error"


def test_source_and_scale_come_from_the_table_and_about():
    about = {"scale": "quick", "sources": [{"problem": "small", "source": "surrogate", "note": "of the same shape"}]}
    row = judge(table(small=8.0), about=about)
    assert (row.source, row.scale) == ("surrogate (of the same shape)", "quick")


def test_one_surrogate_among_the_problems_is_too_many():
    claim = Claim(**(vars(CLAIM) | {"needs": ("real data",)}))
    frame = table(small=8.0, large=8.0)
    frame["source"] = np.where(frame["problem"] == "small", "real data", "surrogate")
    assert judge(frame, claim).reason == "a surrogate cannot decide this (large)"
    together = Claim(**(vars(claim) | {"panels": ()}))
    assert judge(frame, together).reason == "a surrogate cannot decide this"


def test_one_figure_with_shorter_runs_is_too_many():
    claim = Claim(**(vars(CLAIM) | {"needs": ("paper scale",), "figure": ("one", "two")}))
    frames = {"one": table(small=8.0), "two": table(large=8.0)}
    for scales, expected in ((("paper", "quick"), NEEDS_DATA), (("paper", "paper"), HOLDS)):
        abouts = {name: {"scale": scale} for name, scale in zip(frames, scales, strict=True)}
        assert check_claims([claim], frames, abouts).iloc[0].verdict == expected


def test_an_excerpt_of_a_corpus_is_no_evidence_for_the_corpus():
    about = {"sources": [{"problem": "small", "source": "real data", "note": "an excerpt of 18 queries"}]}
    claim = Claim(**(vars(CLAIM) | {"needs": ("real data",)}))
    real = table(small=8.0).assign(source="real data")
    assert judge(real, claim).verdict == HOLDS
    row = judge(real, claim, about)
    assert (row.verdict, row.reason) == (NEEDS_DATA, "an excerpt of 18 queries cannot decide this")
    assert row.measured == pytest.approx(8)


def test_pairs_have_less_error_than_strangers():
    luck = np.linspace(-20, 20, 6)
    frame = table(small=1.0)
    for policy, level in (("savage", 500.0), ("rucb:alpha=0.51", 100.0)):
        mine = frame["policy"] == policy
        frame.loc[mine, "regret_average"] = level * (1 + luck[frame.loc[mine, "repetition"]] / 100)
    row = judge(frame)
    assert row.measured == pytest.approx(5) and row.high - row.low < 1e-9


def test_the_same_table_gives_the_same_ledger():
    pd.testing.assert_series_equal(judge(table(a=5.0, b=8.0)), judge(table(a=5.0, b=8.0)))


GOOD = """
[[claim]]
id = "a"
paper = "rucb"
where = "Figure 4"
says = "less"
figure = "rucb_figure_4"
measure = "ratio"
settings = { of = "savage", to = "rucb" }
criterion = { at_least = 5 }
"""


@pytest.mark.parametrize(
    "text, message",
    [
        (GOOD.replace("ratio", "ratoi"), "did you mean 'ratio'"),
        (GOOD.replace("of =", "off ="), "unexpected keyword argument 'off'|missing a required"),
        (GOOD.replace("[[claim]]", "[[claim]]\nverdict = 'holds'"), "no key 'verdict'"),
        (GOOD.replace("at_least = 5", "at_leats = 5"), "criterion: write"),
        (GOOD.replace("at_least = 5", "at_least = 5, at_most = 4"), "no number is 5 to 4"),
        (GOOD.replace("says", "# says"), "'says' is missing"),
        (GOOD.replace('"rucb"\nw', '"rubc"\nw'), "did you mean 'rucb'"),
        (GOOD + GOOD, "two claims are called 'a'"),
        (GOOD + "needs = 'luck'", "no need 'luck'"),
        ("[[claim", "not TOML"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path, text, message):
    (tmp_path / "claims.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_claims(tmp_path / "claims.toml")


def test_a_file_is_read(tmp_path):
    (tmp_path / "claims.toml").write_text(GOOD)
    (claim,) = read_claims(tmp_path / "claims.toml")
    assert claim.figure == ("rucb_figure_4",) and claim.criterion == FIVE and claim.panels == ()


def test_the_ledger_is_written_for_people_and_programs(tmp_path):
    about = {"rucb_figure_4": {"scale": "quick", "machine": "two cores", "date": "2026-11-21", "seconds": 120}}
    frames = {"rucb_figure_4": table(small=8.0, large=3.0)}
    ledger = check_claims([CLAIM, Claim(**(vars(CLAIM) | {"id": "b", "figure": ("none",)}))], frames, about)
    text = ledger_text(ledger)
    assert "holds in part five | times less [Figure 4]" in text and "small: 8 (" in text
    assert "2 claims: holds 0, holds in part 1, does not hold 0, needs data 1." in text
    page = ledger_markdown(ledger, about)
    assert "five \\| times less" in page and "two cores" in page and "2026-11-21" in page and "2 minutes" in page
    rows = json.loads(ledger_json(ledger))
    assert rows[0]["measured"] == pytest.approx(3) and rows[1]["measured"] is None
    save_ledger(ledger, about, tmp_path)
    assert pd.read_csv(tmp_path / "claims.csv")["verdict"].tolist() == [IN_PART, NEEDS_DATA]
    assert (tmp_path / "claims.json").read_text(encoding="utf-8") == ledger_json(ledger)
    assert (tmp_path / "claims.md").read_text(encoding="utf-8") == page


def test_many_panels_of_one_answer_are_named_by_what_they_share():
    panels = [f"family {family}, rankers {size}" for family in ("a", "b") for size in range(10)]
    assert _briefly(panels[:10], panels) == "family a"
    assert _briefly([*panels[:10], panels[12]], panels) == "family a, rankers 2"
    assert _briefly(["family a, rankers 3", "family b, rankers 3"], panels) == "rankers 3"
    assert _briefly([*panels[:4], *panels[11:14]], panels) == ("rankers 1, rankers 2, rankers 3, (family a, rankers 0)")
    assert _briefly(panels[1:9], panels) == "8 panels"
    assert _briefly(["small"], ["small", "large"]) == "small"
