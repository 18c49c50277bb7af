"""A spec: its meaning, and one sentence with the key path for every error."""

from __future__ import annotations

import os

import pytest

from ltr_duel.core.digest import sha256_file
from ltr_duel.core.errors import InputError
from ltr_duel.experiment import make_schedule, read_spec
from tests.experiment.conftest import SMALL, matrix_spec, schedule_of

MATRIX = '[[matrices]]\nname = "m"\nanswers = "independent_coins"\np = [[0.5, 0.6], [0.4, 0.5]]\n'


def test_lists_in_a_spec_mean_a_product(spec_file):
    text = 'policies = ["rucb", {name = "mdb", alpha = [0.5, 1.0], beta = [1.5, 2]}]\nhorizon = [1e3, 2000]\n' + MATRIX
    spec = read_spec(spec_file(text)).spec
    assert spec.labels == (
        "rucb", "mdb:alpha=0.5,beta=1.5", "mdb:alpha=0.5,beta=2", "mdb:alpha=1.0,beta=1.5", "mdb:alpha=1.0,beta=2",
    )  # fmt: skip
    schedule = schedule_of(spec_file(text))
    assert spec.horizon == (1000, 2000) and len(schedule) == 1 * 5 * 2 * 20
    assert len({group.digest for group in schedule.study.groups}) == 1 * 5 * 2


def test_a_corpus_gives_one_problem_for_each_combination(spec_file):
    text = SMALL.replace('clicks = "perfect"', 'clicks = ["perfect", "navigational"]\nsubsets = {size = [2, 3]}')
    names = [problem.name for problem in schedule_of(spec_file(text)).problems]
    assert len(names) == 1 + 2 * 2 * 2 and names[0] == "three arms"
    assert names[1] == "synthetic perfect K=2 independent_coins" and names[-1] == "synthetic navigational K=3 users"


def test_sets_on_a_matrix_need_a_word_that_changes_no_key(spec_file):
    text = SMALL.replace('"users"]', '"matrix"]').replace('"independent_coins"\n\n', '"matrix"\n\n')
    with pytest.raises(
        InputError, match=r"problem 'three arms': policy 'mdb' compares sets .* \"users\".*independent_coins"
    ):
        make_schedule(spec_file(text))
    pairs = schedule_of(spec_file(text.replace('"mdb"', '"rmed1"')))
    coins = schedule_of(spec_file(SMALL.replace('"mdb"', '"rmed1"').replace(', "users"', "")))
    kinds = [problem.facts["answers"] for problem in pairs.problems]
    assert kinds == ["matrix", "independent_coins", "matrix"]
    assert [problem.facts["answers"] for problem in coins.problems] == ["independent_coins"] * 2
    assert coins.study.groups == pairs.study.groups[: len(coins.study.groups)]


def test_subsets_depend_on_their_seed_and_number_only(spec_file):
    def sets(more):
        text = SMALL.replace('answers = ["independent_coins", "users"]', f"subsets = {{size = [3, 4], {more}}}")
        text = text.replace('"mdb"', '"rmed1"')
        return [problem.matrix.names for problem in schedule_of(spec_file(text)).problems[1:]]

    assert sets("count = 2")[::2] == sets("count = 1")
    assert sets("count = 2") != sets("count = 2, seed = 1")
    condorcet = SMALL.replace(
        'answers = ["independent_coins", "users"]', "subsets = {size = 3, count = 5, condorcet = true}"
    ).replace('"mdb"', '"rmed1"')
    assert all(problem.matrix.condorcet_winner for problem in schedule_of(spec_file(condorcet)).problems[1:])


def test_the_matrix_of_a_corpus_is_estimated_with_the_reductions_that_the_spec_names(spec_file):
    def matrix(more):
        return schedule_of(spec_file(SMALL.replace("comparisons = 40", f"comparisons = 40\n{more}"))).problems[1].matrix

    usual, plain = matrix(""), matrix('variance_reduction = "none"')
    assert usual.provenance["variance_reduction"] == ["antithetic", "control", "integrated", "stratified"]
    assert "variance_reduction" not in plain.provenance


ERRORS = [
    ("horizon =", "horizonz =", "no key 'horizonz'; did you mean 'horizon'?"),
    ("horizon = [50, 300]", "horizon = [50, 0]", "horizon[1]: the value must be between 1 and"),
    ("horizon = [50, 300]", "horizon = nan", "horizon: the value must be a whole number"),
    ("horizon = [50, 300]", "horizon = [50, 50]", "horizon[1]: 50 is given twice"),
    ('"rucb"', '"rubc"', "policies[0]: no policy 'rubc'; did you mean 'rucb'?"),
    ('"rucb"', '"rucb:alpha=0.001"', "alpha must be at least 0.01"),
    ('"rucb"', '{name = "rucb", alfa = 1}', "'alfa'; did you mean 'alpha'?"),
    ('"rucb"', '"rucb:alpha=1", {name = "rucb", alpha = [1, 2]}', "policies: 'rucb:alpha=1' is given twice"),
    ('policies = ["rucb", "mdb"]\n', "", "the key 'policies' is missing; for example: policies = ["),
    ('clicks = "perfect"', "subsets = {count = 2}", "corpora[0].subsets: the key 'size' is missing; for exam"),
    ('clicks = "perfect"', 'slates = "sosn"', "corpora[0].slates: no comparison method 'sosn'; did you mean"),
    ('clicks = "perfect"', 'clicks = ["perfect", "navigationl"]', "corpora[0].clicks[1]: no click model"),
    ('clicks = "perfect"', "subsets = {size = 9}", "corpora[0]: a subset of 9 rankers cannot be drawn"),
    ('clicks = "perfect"', 'path = "x.txt"', "corpora[0]: give either 'path' or 'synthetic'"),
    ('clicks = "perfect"', 'fill = "min"', "corpora[0]: 'fill' requires 'path'"),
    ("[[corpora]]\nsynthetic", "[[corpora]]\npath = 'nowhere.txt'\n#", "nowhere.txt"),
    ("p = [[0.5,", "p = [[0.6,", "matrices[0]: p['0', '0'] + p['0', '0'] must be 1"),
    ("p = [[0.5, 0.6, 0.7]", "p = [[0.5, 0.6]", "matrices[0].p: must be a square of numbers"),
    ("[[matrices]]", "[matrices]", "matrices: must be written as [[matrices]]"),
    ("[[matrices]]", "[[utilities]]\nmeans = [0.1, 0.2]\n[[matrices]]", "utilities[0]: 'means', and means"),
    ("seed = 7", 'regrets = "averag"', "regrets: no regret 'averag'; did you mean 'average'?"),
    ("comparisons =", 'variance_reduction = "non"\ncomparisons =', "no variance reduction 'non'; did"),
]


@pytest.mark.parametrize("old, new, message", ERRORS)
def test_every_error_is_one_sentence_with_the_key_path(spec_file, old, new, message):
    path = spec_file(SMALL.replace(old, new))
    with pytest.raises(InputError) as error:
        schedule_of(path)
    assert str(error.value).startswith(f"{path}:") and "\n" not in str(error.value)
    assert message in str(error.value)


def test_a_spec_names_plugins_by_paths_from_its_folder(spec_file, awkward, tmp_path):
    path = spec_file(f'plugins = ["{os.path.relpath(awkward, tmp_path)}"]\n' + matrix_spec(["slow"]))
    schedule = schedule_of(path)
    assert [plugin.sha256 for plugin in schedule.file.plugins] == [sha256_file(awkward)]
    assert schedule.study.digest == schedule_of(spec_file(matrix_spec(["slow"]), "other.toml"), awkward).study.digest
    assert schedule_of(path, awkward).file.plugins == schedule.file.plugins, "named twice, it is loaded once"
    path.write_text(path.read_text().replace("awkward.py", "yours.py"))
    with pytest.raises(InputError, match=r"spec.toml: plugins: .*yours.py: there is no such"):
        schedule_of(path)
