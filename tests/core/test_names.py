"""Unknown names are answered with the name that is meant."""

import pytest

from ltr_duel.core import errors

LEGAL = ("rucb", "merge_rucb", "double_thompson", "team_draft", "navigational", "navigational_fit", "MAP")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("RUCB", "rucb"),
        ("MergeRUCB", "merge_rucb"),
        ("D-TS", "double_thompson"),
        ("TeamDraft", "team_draft"),
        ("TDI", "team_draft"),
        ("nav", "navigational"),
        ("map", "MAP"),
        ("teamdarft", "team_draft"),
    ],
)
def test_names_of_the_literature_are_answered_with_the_name_here(typed, meant):
    assert f"no thing '{typed}'; did you mean '{meant}'? (" in str(errors.unknown_name("thing", typed, LEGAL))


@pytest.mark.parametrize("typed", ["", "-", "xyz", "PI"])
def test_names_without_a_meaning_among_these_have_no_answer(typed):
    assert "did you mean" not in str(errors.unknown_name("thing", typed, LEGAL))
