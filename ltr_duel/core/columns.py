"""The columns of the table of results, which has one row for each run and checkpoint.

Simulations, experiments, reports and figures use the names and meanings that are declared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """The type and the meaning of a column."""

    dtype: str
    meaning: str


COLUMNS: Final[dict[str, Column]] = {}


def _column(name: str, dtype: str, meaning: str) -> str:
    COLUMNS[name] = Column(dtype, meaning)
    return name


# Columns of every table of runs.
POLICY: Final = _column("policy", "str", "label of the policy, with the parameters that were given")
REPETITION: Final = _column("repetition", "int64", "number of the run, from 0; equal numbers share random streams")
T: Final = _column("t", "int64", "steps (impressions) so far")
RECOMMENDED: Final = _column("recommended", "str", "the ranker that the policy would choose at t")
OUTCOMES: Final = _column(
    "outcomes",
    "float64",
    "outcomes received so far, one for each compared pair of different rankers; NaN if outcomes were not counted",
)

# Columns of tables that join several problems or horizons.
STUDY: Final = _column("study", "int64", "number of the study within a figure, from 1")
PROBLEM: Final = _column("problem", "str", "name of the problem")
HORIZON: Final = _column("horizon", "int64", "steps of the whole run")
CORRECT: Final = _column("correct", "float64", "1 if the Condorcet winner is recommended, else 0; NaN if there is none")
IDENTIFIED_AT: Final = _column(
    "identified_at",
    "float64",
    "identification time: first checkpoint from which the winner is recommended to the end; inf if there is none",
)
LOWER_BOUND: Final = _column("lower_bound", "float64", "constant c of the asymptotic lower bound c ln t on the regret")

# Facts of a problem; a table contains such a column if at least one of its problems has a value for the column.
RANKERS: Final = _column("rankers", "int64", "number of rankers (arms), K")
SOURCE: Final = _column("source", "str", "origin of the data: real data, published matrix, excerpt ...")
NOTE: Final = _column("note", "str", "remark on the source")
CORPUS: Final = _column("corpus", "str", "name of the corpus")
CLICKS: Final = _column("clicks", "str", "click model")
METHOD: Final = _column("method", "str", "comparison method; for a policy that compares sets, the method for sets")
OUTCOME: Final = _column("outcome", "str", "rule that converts clicks to an outcome")
TOP: Final = _column("top", "int64", "number of documents shown")
ANSWERS: Final = _column("answers", "str", "origin of the outcomes of duels")
MODEL: Final = _column("model", "str", "function that converts utilities to probabilities")
FAMILY: Final = _column("family", "str", "family of synthetic matrices")
SIZE: Final = _column("size", "int64", "number of rankers in a matrix of a family")
GAMMA: Final = _column("gamma", "float64", "degree to which transitivity is relaxed")
GAP: Final = _column("gap", "float64", "parameter of a family of synthetic matrices")
DRAW: Final = _column("draw", "int64", "number of the random matrix within a family")
SUBSET: Final = _column("subset", "int64", "number of the random subset of rankers")

_REGRET = "regret_"
_SPELT = {"copeland": "Copeland regret", "borda": "Borda regret", "ndcg": "NDCG regret"}


def regret_column(name: str) -> str:
    """Return the column of a regret: ``regret_average`` for ``average``."""
    return f"{_REGRET}{name}"


def regret_name(column: str) -> str:
    """Return the name of the regret in a column: ``average`` for ``regret_average``."""
    return column.removeprefix(_REGRET)


def regret_label(column: str) -> str:
    """Return the name of a regret for texts and axes, for example ``Copeland regret`` for ``regret_copeland``."""
    name = regret_name(column)
    return _SPELT.get(name, f"{name.replace('_', ' ')} regret")


REGRET: Final = regret_column("average")
REFERENCE_ERROR: Final = "reference_error"  # in summaries: what errors of an estimated matrix add to the standard error
SLATES: Final = "slates"  # in figures: the method with which users compare the sets of a policy
COPELAND: Final = regret_column("copeland")
NOBODY: Final = "no ranker is shown to beat all others"  # there is no Condorcet winner, or it is undecided


def defined_regret(rows: pd.DataFrame, column: str) -> str:
    """Return ``column``, or the column of Copeland regret if ``column`` has no value and Copeland regret has some."""
    known = COPELAND in rows and rows[COPELAND].notna().any()
    return COPELAND if known and rows[column].isna().all() else column
