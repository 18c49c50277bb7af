"""Plans of one store whose runs a table could not distinguish are refused, unless one is chosen."""

from __future__ import annotations

import pytest

from ltr_duel.cli.main import main
from ltr_duel.core import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from tests.experiment.conftest import matrix_spec, plan_of

ONE = Backend(jobs=1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("horizon = 5", "horizon = 5\nseed = 8", "both contain results of 'rucb', but with different seed"),
        ("horizon = 5", "horizon = 5\nbatch = 2", "both contain results of .rucb., but with different batch"),
        ("0.7], [0.4", "0.8], [0.4", "the problem 'm' is not the same in the plans"),
    ],
)
def test_two_plans_that_a_table_could_not_distinguish_are_refused(spec_file, tmp_path, old, new, says):
    """Regression: a traceback for another seed, and the results of the older matrix for another matrix."""
    text, out = matrix_spec(["rucb"]), tmp_path / "out"
    changed = text.replace(old, new).replace("[0.3, 0.4", "[0.2, 0.4" if "0.8" in new else "[0.3, 0.4")
    assert changed != text
    plans = [plan_of(spec_file(one, f"{k}.toml")) for k, one in enumerate((text, changed))]
    for plan in plans:
        run_experiment(plan, out, backend=ONE)
    with pytest.raises(InputError, match=says) as error:
        StudyResults(out)
    for plan in plans:
        assert f"{plan.digest[:8]} ({plan.file.path})" in str(error.value)
        assert len(StudyResults(out, [plan.digest[:8]]).final()) == 4
        with pytest.raises(SystemExit) as end:
            main("results", str(out), "--plan", plan.digest[:8])
        assert end.value.code == 0
    with pytest.raises(InputError, match="no plan abc; it contains"):
        StudyResults(out, ["abc"])


def test_a_plan_that_contains_another_is_no_conflict(spec_file, tmp_path):
    for k, repetitions in enumerate((2, 4)):
        run_experiment(
            plan_of(spec_file(matrix_spec(["rucb"], repetitions), f"{k}.toml")), tmp_path / "out", backend=ONE
        )
    assert len(StudyResults(tmp_path / "out").final()) == 4
