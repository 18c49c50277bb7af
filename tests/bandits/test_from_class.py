"""Policies from plain classes: run, checked, copied for late outcomes, replaced by a later version."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Learner, PolicyError, best_arm, check_policy
from ltr_duel.core import InputError, interpreted, kernel, sha256_file, stream
from ltr_duel.experiment.schedule import make_schedule
from ltr_duel.experiment.worker import execute
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import simulate
from tests.bandits.matrices import bradley_terry
from tests.experiment.conftest import matrix_spec
from tests.site.snippets import DOCS, python_code

FILE = python_code(DOCS / "own_policy.md")[0]
CLASS = FILE[FILE.index("class") : FILE.index("policy_from_class(E")]
MATRIX = PreferenceMatrix(bradley_terry(4))


@pytest.fixture(autouse=True)
def forget():
    """Remove the policies of a test from the registry."""
    names = set(POLICIES.names())
    yield
    for name in set(POLICIES.names()) - names:
        POLICIES.remove(name)


def cell(text):
    """Run the file of the tutorial, with a changed text, as a cell of a notebook; return its names."""
    names = {"__name__": "__main__"}
    exec(text, names)
    return names


def changed(old, new):
    assert old in FILE
    return FILE.replace(old, new)


def counts(results):
    return [(run.pulls.tobytes(), run.recommended.tobytes()) for run in results.runs]


def test_the_class_of_the_tutorial_keeps_the_contract():
    cell(FILE)
    check_policy("epsilon_greedy:epsilon=0.2")


@pytest.mark.parametrize("late", [{}, {"batch": 5, "delay": 3}])
def test_the_same_seed_gives_the_same_counts_with_any_number_of_workers(late):
    cell(FILE)
    one, three = (
        simulate(MATRIX, "epsilon_greedy", horizon=150, repetitions=4, jobs=jobs, seed=7, **late) for jobs in (1, 3)
    )
    assert counts(one) == counts(three)


def test_running_the_cell_again_replaces_the_class_but_no_policy_of_the_package():
    cell(FILE)
    first = simulate(MATRIX, "epsilon_greedy", horizon=50, repetitions=1)
    cell(changed("return (i if", "return (j if 1 else i if"))
    assert counts(simulate(MATRIX, "epsilon_greedy", horizon=50, repetitions=1)) != counts(first)
    with pytest.raises(InputError, match="a policy named 'rucb' already exists"):
        cell(FILE.replace("EpsilonGreedy", "RUCB"))


@pytest.mark.parametrize(
    "old, new, complaint",
    [
        ("best_arm(self.wins / self.duels, self.rng)", "-1", "chooses arm -1 of 5"),
        ("self.best()), j", "self.best()), j, j", r"ask\(\) must return two arms, not \("),
        ("self.duels[[i, j]]", "self.duel[[i, j]]", "tell of policy 'epsilon_greedy' fails with n_arms=5: Attr"),
        ("integers(len(self.wins), size=2)", "choice(len(self.wins), 2, replace=False)", "with n_arms=1: ValueError"),
    ],
)
def test_a_wrong_class_is_found_out_in_one_sentence(old, new, complaint):
    cell(changed(old, new))
    with pytest.raises(PolicyError, match=complaint) as caught:
        check_policy("epsilon_greedy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "old, new, complaint",
    [
        ("def best(", "def best_one(", r"class EpsilonGreedy has no method best\(\)"),
        ("n_arms, rng, ", "arms, rng, ", "needs the arguments n_arms and rng"),
        ("epsilon=0.1", "epsilon", "needs a number, a text or a boolean as default of the argument epsilon"),
    ],
)
def test_a_class_of_another_form_is_refused(old, new, complaint):
    with pytest.raises(PolicyError, match=complaint):
        cell(changed(old, new))


def test_checkpoints_do_not_change_choices_although_best_draws_random_numbers():
    cell(changed("self.wins / self.duels", "self.wins / self.duels + 0 * self.rng.random()"))
    few, many = (
        simulate(MATRIX, "epsilon_greedy", horizon=100, repetitions=1, checkpoints_per_decade=n) for n in (1, 50)
    )
    assert (few.runs[0].pulls[-1] == many.runs[0].pulls[-1]).all()


def test_the_horizon_is_given_to_a_class_that_names_it():
    text = changed("epsilon=0.1", "horizon").replace("rng, epsilon\n", "rng, 20 / horizon\n")
    cell(text.replace('limits={"epsilon": (0, 1)}', 'name="knows"'))
    cell(FILE)
    same = (Learner(name, 4, horizon=100, rng=stream(3, "a")).ask() for name in ("knows", "epsilon_greedy:epsilon=0.2"))
    assert next(same) == next(same)


def test_choices_while_one_is_pending_are_independent_and_leave_the_policy_as_it_was():
    cell(FILE)
    alone, ahead = (Learner("epsilon_greedy:epsilon=1", 8, rng=stream(1, "a"), others=stream(2, "b")) for _ in range(2))
    assert len(set(ahead.ask(20))) > 5
    for _ in range(30):
        chosen = alone.ask()
        assert ahead.ask(3)[:1] == chosen
        for learner in (alone, ahead):
            learner.tell([(chosen[0], () if chosen[0][0] == chosen[0][1] else [1])])
    assert alone.recommend() == ahead.recommend()
    with pytest.raises(InputError, match="'epsilon_greedy:epsilon=1' has no snapshot, because its state is an object"):
        alone.snapshot()


def test_a_study_runs_a_class_of_a_file_and_its_keys_hold_the_digest_of_the_file(tmp_path):
    file, spec = tmp_path / "mine.py", tmp_path / "spec.toml"
    spec.write_text(matrix_spec(["epsilon_greedy:epsilon=0.2"], repetitions=2, horizon=20))
    for text in (FILE, changed("epsilon=0.1", "epsilon=0.3")):
        file.write_text(text)
        schedule = make_schedule(spec, plugins=[file], jobs=1)
        (block,) = schedule.blocks(None)
        assert schedule.study.key(block.group)["source"] == sha256_file(file)
    outcomes, _ = execute(schedule.task(block.group, block.repetitions))
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert POLICIES["epsilon_greedy"].parameters == "epsilon=0.3", "the edited file replaced the policy"


def test_equal_arms_are_equally_likely_to_be_the_best():
    @kernel
    def compiled(values, rng):
        return best_arm(values, rng)

    values = np.array([1.0, 3.0, 2.0, 3.0, 3.0])
    found = [
        [best(values, stream(k, "ties")) for k in range(900)] for best in (compiled, best_arm, interpreted(best_arm))
    ]
    assert found[0] == found[1] == found[2]
    assert (np.abs(np.bincount(found[0], minlength=5) - [0, 300, 0, 300, 300]) < 5 * np.sqrt(900 * 2 / 9)).all()
