"""The ledger: from numbers to verdicts, missing data, and the output."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.papers.claim_measures.measure import Reading
from ltr_duel.papers.claims import _briefly, check_claims
from ltr_duel.papers.claims_file import Claim, read_claims
from ltr_duel.papers.ledger import ledger_json, ledger_markdown, ledger_text, save_ledger
from ltr_duel.papers.verdicts import (
    FAILS,
    HOLDS,
    INCOMPLETE,
    MIXED,
    NEEDS_DATA,
    NEEDS_SCALE,
    NOT_MADE,
    UNDECIDED,
    WEAKLY,
    Criterion,
    answer,
    hardest,
    verdict,
)
from tests.papers.claim_tables import jittered, runs

FIVE = Criterion(at_least=5)
CLAIM = Claim(
    "a", "rucb", "Figure 4", "five | times less", ("rucb_figure_4",), "ratio", FIVE,
    panels={"problem": ["small"]}, settings={"of": "savage", "to": "rucb"},
)  # fmt: skip


def table(**ratios):
    """Return results in which savage has the given multiple of rucb's regret, by problem."""
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


@pytest.mark.parametrize(
    "answers, expected",
    [
        (["yes", "yes"], HOLDS), (["weaker"], WEAKLY), (["yes", "weaker"], WEAKLY), (["open"], UNDECIDED),
        (["yes", "open"], UNDECIDED), (["weaker", "open"], MIXED), (["no"], FAILS), (["no", "no"], FAILS),
        (["yes", "no"], MIXED), (["no", "no", "yes"], MIXED), (["no", "open"], MIXED), (["weaker", "no"], MIXED),
    ],
)  # fmt: skip
def test_the_verdict_follows_the_panels(answers, expected):
    assert verdict(answers) == expected


def test_the_ledger_shows_the_panel_furthest_from_the_claim():
    readings = {"a": Reading(7, 6, 8), "b": Reading(12, 11, 13), "c": Reading(4.5, 4, 5)}
    assert hardest(readings, Criterion(5, 10)) == readings["b"]


def test_the_ledger_shows_a_panel_that_the_verdict_follows_from():
    first = Criterion(1, 1)
    assert hardest({"a": Reading(1, 1, 1), "b": Reading(1, 1, 2), "c": Reading(1, 1, 3)}, first) == Reading(1, 1, 3)
    three = {"yes": Reading(5, 5, 6), "open": Reading(6, 4, 8), "weaker": Reading(4.9, 4.8, 4.95)}
    assert hardest(three, Criterion(5), Criterion(4)) == three["weaker"]
    assert hardest({name: three[name] for name in ("yes", "open")}, Criterion(5)) == three["open"]


def test_the_weaker_form_is_printed():
    claim = replace(CLAIM, criterion=Criterion(5), partly=Criterion(2))
    assert judge(table(small=3.0), claim).reason == "the weaker form: at least 2"
    row = judge(table(small=8.0, large=3.0), claim)
    assert (row.verdict, row.reason) == (WEAKLY, "holds: small; only a weaker form holds (at least 2): large")
    assert judge(table(small=8.0), claim).reason == ""


def test_the_panels_where_a_claim_holds_are_named():
    row = judge(table(small=8.0, large=3.0))
    assert row.verdict == MIXED
    assert row.reason == "holds: small; does not hold: large"
    assert row.measured == pytest.approx(3, rel=1e-9) and row.low < 3 < row.high


def test_an_interval_across_the_end_decides_nothing():
    row = judge(table(small=5.0))
    assert row.low < 5 < row.high and (row.verdict, row.reason) == (UNDECIDED, "")


def test_without_a_policy_a_claim_is_incomplete():
    frame = table(small=8.0)
    row = judge(frame[frame["policy"] == "savage"])
    assert row.verdict == INCOMPLETE and "rucb" in row.reason and np.isnan(row.measured)


def test_without_a_column_a_claim_is_incomplete():
    assert judge(table(small=8.0).drop(columns="regret_average")).verdict == INCOMPLETE
    assert judge(table(small=8.0).drop(columns="problem")).verdict == INCOMPLETE


def test_regret_without_a_winner_is_no_evidence():
    reason = judge(table(small=8.0).assign(regret_average=np.nan)).reason
    assert reason == "small: average regret is not defined: no Condorcet winner"


def test_a_panel_that_cannot_be_measured_keeps_a_claim_from_holding():
    frame = table(small=8.0, large=8.0)
    row = judge(frame[(frame["problem"] == "small") | (frame["policy"] == "savage")])
    assert (row.verdict, row.panels[:6]) == (INCOMPLETE, "small:")
    assert row.reason == "large: there are no rows with policy rucb"


def test_a_panel_that_must_be_there_is_missed():
    row = judge(table(small=8.0), Claim(**(vars(CLAIM) | {"panels": {"problem": ["large", "small"]}})))
    assert (row.verdict, row.reason) == (INCOMPLETE, "large: there are no rows with problem large")
    assert row.measured == pytest.approx(8)


def test_every_combination_of_panels_must_be_there():
    """Sizes in addition to the required sizes count, and must then exist for every family."""
    parts = [table(small=8.0).assign(family=family, rankers=size) for family, size in (("a", 5), ("a", 9), ("b", 5))]
    panels = {"family": ["a", "b"], "rankers": [5]}
    row = judge(pd.concat(parts), Claim(**(vars(CLAIM) | {"panels": panels})))
    assert (row.verdict, row.reason) == (INCOMPLETE, "family b, rankers 9: there are no rows with rankers 9")
    assert judge(pd.concat(parts[::2]), Claim(**(vars(CLAIM) | {"panels": panels}))).verdict == HOLDS


def test_runs_of_different_length_are_not_compared():
    frame = table(small=8.0)
    longer = frame["policy"] == "savage"
    frame.loc[longer, ["t", "horizon"]] *= 2
    assert "runs have different horizons" in judge(frame).reason


def test_two_variants_of_a_policy_are_not_mixed():
    frame = table(small=8.0)
    more = frame[frame["policy"] != "savage"].assign(policy="rucb:alpha=0.7")
    assert "more than one policy fits" in judge(pd.concat([frame, more])).reason


def test_one_repetition_has_no_error():
    frame = table(small=8.0)
    assert judge(frame[frame["repetition"] == 0]).reason == "small: one repetition is not enough to estimate an error"


def test_source_and_scale_come_from_the_table_and_about():
    about = {"scale": "quick", "sources": [{"problem": "small", "source": "surrogate", "note": "of the same shape"}]}
    row = judge(table(small=8.0), about=about)
    assert (row.source, row.scale) == ("surrogate (of the same shape)", "quick")


def test_one_surrogate_among_the_problems_is_too_many():
    claim = Claim(**(vars(CLAIM) | {"needs": ("real data",)}))
    frame = table(small=8.0, large=8.0)
    frame["source"] = np.where(frame["problem"] == "small", "real data", "surrogate")
    assert judge(frame, claim).reason == "surrogate (large): cannot decide this"
    together = Claim(**(vars(claim) | {"panels": {}}))
    assert judge(frame, together).reason == "surrogate: cannot decide this"


def test_a_note_on_the_data_does_not_stand_beside_the_number_of_other_data():
    claim = Claim(**(vars(CLAIM) | {"needs": ("real data",), "note": "Changed.", "data_note": "As printed."}))
    frame = table(small=8.0)
    assert judge(frame, claim).note == "Changed."
    assert judge(frame.assign(source="published matrix"), claim).note == "Changed. As printed."


def test_one_figure_with_shorter_runs_is_too_many():
    claim = Claim(**(vars(CLAIM) | {"needs": ("paper scale",), "figure": ("one", "two")}))
    frames = {"one": table(small=8.0), "two": table(large=8.0)}
    for scales, expected in ((("paper", "quick"), NEEDS_SCALE), (("paper", "paper"), HOLDS)):
        abouts = {name: {"scale": scale} for name, scale in zip(frames, scales, strict=True)}
        assert check_claims([claim], frames, abouts).iloc[0].verdict == expected


@pytest.mark.parametrize("kind", ["excerpt", "another corpus", "surrogate", "made by a rule"])
def test_only_the_corpus_itself_is_evidence_about_it(kind):
    claim = Claim(**(vars(CLAIM) | {"needs": ("real data", "paper scale")}))
    assert judge(table(small=8.0).assign(source="real data"), claim, {"scale": "paper"}).verdict == HOLDS
    row = judge(table(small=8.0).assign(source=kind), claim, {"scale": "paper"})
    assert (row.verdict, row.reason) == (NEEDS_DATA, f"{kind} (small): cannot decide this")
    assert row.measured == pytest.approx(8), "the number is shown beside"
    assert judge(table(small=8.0), claim, {"scale": "quick"}).verdict == NEEDS_DATA, "more runs would not help"


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
        (GOOD.replace("at_least = 5", "at_least = 5, at_most = 4"), "no number can be 5 to 4"),
        (GOOD.replace("says", "# says"), "'says' is missing"),
        (GOOD.replace('"rucb"\nw', '"rubc"\nw'), "did you mean 'rucb'"),
        (GOOD + GOOD, "two claims are called 'a'"),
        (GOOD + "needs = 'luck'", "no need 'luck'"),
        (GOOD + "panels = ['rankers']", "panels: write { rankers ="),
        ("[rucb.figure_4.a]\nverdict = 'holds'", "no key 'verdict'"),
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
    assert claim.figure == ("rucb_figure_4",) and claim.criterion == FIVE and claim.panels == {}


def test_what_claims_share_stands_once(tmp_path):
    grouped = """
[rucb]
needs = "real data"
[rucb.figure_4]
where = "Figure 4"
[rucb.figure_4.a]
says = "less"
measure.ratio = { of = "savage", to = "rucb" }
criterion = { at_least = 5 }
[rucb.figure_4.b]
where = "Section 6"
says = "much less"
needs = []
measure.ratio = { of = "savage", to = "rucb" }
criterion = { at_least = 50 }
"""
    (tmp_path / "alone.toml").write_text(GOOD + 'needs = "real data"')
    (tmp_path / "grouped.toml").write_text(grouped)
    (alone,) = read_claims(tmp_path / "alone.toml")
    one, other = read_claims(tmp_path / "grouped.toml")
    assert one == alone
    assert (other.id, other.where, other.needs, other.figure) == ("b", "Section 6", (), alone.figure)


@pytest.mark.parametrize(
    "text", ["verdict = 'holds'", "[rucb]\nverdict = 'holds'", "[rucb.figure_4]\nverdict = 'holds'"]
)
def test_what_is_neither_shared_nor_a_claim_is_refused(tmp_path, text):
    (tmp_path / "claims.toml").write_text(text)
    with pytest.raises(InputError, match=r"claims.toml: .*verdict: neither a key of claims nor a table"):
        read_claims(tmp_path / "claims.toml")


def test_the_ledger_is_written_for_people_and_programs(tmp_path):
    about = {"rucb_figure_4": {"scale": "quick", "machine": "two cores", "date": "2026-11-21", "seconds": 120}}
    frames = {"rucb_figure_4": table(small=8.0, large=3.0)}
    ledger = check_claims([CLAIM, Claim(**(vars(CLAIM) | {"id": "b", "figure": ("none",)}))], frames, about)
    text = ledger_text(ledger)
    said = " ".join(text.split())  # lines are wrapped
    assert "five | times less [Figure 4]" in said and "small: 8 (" in said and "none" not in said
    assert "1 claim, 1 judged: mixed 1. About figures that were not made: 1." in text
    page = ledger_markdown(ledger, about)
    assert "five \\| times less" in page and "two cores" in page and "2026-11-21" in page and "2 minutes" in page
    rows = json.loads(ledger_json(ledger))
    assert rows[0]["measured"] == pytest.approx(3) and rows[1]["measured"] is None
    save_ledger(ledger, about, tmp_path)
    assert pd.read_csv(tmp_path / "claims.csv")["verdict"].tolist() == [MIXED, NOT_MADE]
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
