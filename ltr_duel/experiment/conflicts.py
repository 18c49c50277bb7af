"""Find runs that a table could not distinguish, in different plans of one store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ltr_duel.core import InputError
from ltr_duel.experiment.plan_file import StoredPlan

_SHORT = 8  # digits of a plan's digest in a message
_HOW = "choose one with --plan"
_SAME = ["name", "label", "horizon", "repetition"]  # columns that identify a row of a table of results


def chosen_plans(folder: str | Path, plans: Sequence[StoredPlan], wanted: Sequence[str]) -> list[StoredPlan]:
    """Return the plans whose digests begin with one of the given texts; all plans if no text is given.

    Raises `InputError` if there is no plan, or no plan has such a digest.
    """
    if not plans:
        raise InputError(f"{folder}: contains no plan; 'ltr-duel run' with the experiment's file writes it")
    chosen = [plan for plan in plans if not wanted or plan.path.stem.startswith(tuple(wanted))]
    if not chosen:
        raise InputError(f"{folder}: no plan {' or '.join(wanted)}; it contains {_listed(plans)}")
    return chosen


def refuse_conflicts(folder: str | Path, plans: Sequence[StoredPlan], runs: pd.DataFrame) -> None:
    """Raise an error if two plans use one name for different problems, or contain two results for one row of a table.

    runs: finished runs, with the columns ``plan`` (position of the plan), ``name`` (of the problem),
        ``problem_digest``, ``label``, ``horizon`` and ``repetition``.
    """
    problems = runs.drop_duplicates(["name", "problem_digest"])
    if (twice := problems[problems.duplicated("name", keep=False)]).size:
        name = twice["name"].iat[0]
        two = [plans[number] for number in twice.loc[twice["name"] == name, "plan"].iloc[:2]]
        raise InputError(f"{folder}: the problem '{name}' is not the same in the plans {_listed(two)}; {_HOW}")
    if (again := runs[runs.duplicated(_SAME, keep=False)]).size:
        same = again[(again[_SAME] == again[_SAME].iloc[0]).all(axis=1)]
        two, label = [plans[number] for number in same["plan"].iloc[:2]], str(same["label"].iat[0])
        differ = _differences(two[0].about, two[1].about, label)
        raise InputError(
            f"{folder}: the plans {_listed(two)} both contain results of '{label}', but with different {differ}; {_HOW}"
        )


def _differences(one: dict[str, Any], other: dict[str, Any], label: str) -> str:
    """Return the names of the key fields in which the runs of a policy differ between two plans."""
    first, second = (about["key"] | about["policies"].get(label, {}) for about in (one, other))
    return " and ".join(name for name in first if first[name] != second.get(name)) or "keys"


def _listed(plans: Sequence[StoredPlan]) -> str:
    return " and ".join(f"{plan.path.stem[:_SHORT]} ({plan.about['spec_path']})" for plan in plans)
