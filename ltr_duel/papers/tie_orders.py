"""Who wins under other orders of tied documents: each order makes other rankers, and may have another winner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from ltr_duel.core import files
from ltr_duel.experiment import Plan, make_plan
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence

OTHERS: Mapping[str, Mapping[str, Any]] = {
    "seed-1": {"tie_seed": 1},
    "seed-2": {"tie_seed": 2},
    "resample": {"ties": "resample"},
}
_SURE = 0.95
_FEW_TIES = 0.01  # share of documents below which their order is not spoken of


def tie_order_sentences(plan: Plan, table: Mapping[str, Any], folder: Path, jobs: int) -> dict[str, str]:
    """Estimate the references of a study's corpora again, and name the winner of each order.

    plan: of the study.
    table: the study, as the TOML file says it.
    folder: where the studies with other orders are written; their estimates are kept in the cache.

    Returns a sentence for each problem whose users see documents that tie.
    """
    usual = {
        problem.name: problem.matrix
        for problem in plan.problems
        if problem.rankings is not None and problem.matrix.provenance.get("tied_share", 0.0) >= _FEW_TIES
    }
    if not usual:
        return {}
    found = {name: [_winner(matrix)] for name, matrix in usual.items()}
    for word, order in OTHERS.items():
        other = {**table, "corpora": [{**corpus, **order} for corpus in table["corpora"]]}
        other = {key: one for key, one in other.items() if key not in ("matrices", "utilities")}
        with files.replacing(folder / f"ties-{word}.toml") as temporary:
            temporary.write_text(tomli_w.dumps(other), encoding="utf-8")
        for problem in make_plan(folder / f"ties-{word}.toml", jobs=jobs).problems:
            if problem.name in found:
                found[problem.name].append(_winner(problem.matrix))
    return {name: f"Winner by the order of tied documents: {'; '.join(some)}." for name, some in found.items()}


def _winner(matrix: PreferenceMatrix) -> str:
    """Name the order and the Condorcet winner, or say that the estimate leaves it open, and how likely the first is."""
    sure = condorcet_confidence(matrix)
    best, none = int(sure.argmax()), max(0.0, 1 - float(sure.sum()))
    if none >= _SURE:
        return f"{matrix.tie_order}, none ({_chance(none)})"
    doubt = "" if sure[best] >= _SURE else "undecided, likeliest "
    return f"{matrix.tie_order}, {doubt}{matrix.names[best]} ({_chance(float(sure[best]))})"


def _chance(share: float) -> str:
    return "P > 0.999" if share > 0.999 else f"P = {share:.3f}"
