"""Rankers from TREC run files (see `run_files` for the format and what of it counts).

A document of the corpus that a run does not retrieve comes after all that it does, by the tie rule; so a run that
retrieves nothing is its tie rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.run_files import Run
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule


def run_rankers(
    dataset: Dataset,
    runs: Sequence[Run] | Mapping[str, Run],
    *,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    jobs: int = -1,
) -> Rankings:
    """Build one ranker for each run.

    Parameters
    ----------
    dataset : Dataset
    runs : sequence of Run, or mapping of str to Run
        From `read_runs`, on the same corpus. Without names of your own, rankers are called as their files, without
        ``.gz`` and one more ending.
    ties : str
        See `ltr_duel.rankers.ties`.
    seed : int
        Of the tie rule.
    jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Rankings
        Its provenance tells what each run did not know.

    Raises
    ------
    InputError
        For runs read for another corpus, two of the same name, or none at all.
    """
    named = list(runs.items() if isinstance(runs, Mapping) else ((_name(run.path), run) for run in runs))
    for name, run in named:
        if len(run.scores) != dataset.n_docs:
            raise InputError(
                f"run '{name}' was read for a corpus of {len(run.scores):,}, not {dataset.n_docs:,} documents"
            )
    rankings = rankings_from_scores(
        dataset,
        tuple(name for name, _ in named),
        lambda k: named[k][1].scores,
        ties=ties,
        seed=seed,
        jobs=jobs,
    )
    told = {
        name: {
            "sha256": run.sha256,
            "retrieved": run.retrieved,
            "unknown_queries": run.unknown_queries,
            "unknown_documents": run.unknown_documents,
        }
        for name, run in named
    }
    return replace(rankings, provenance={**rankings.provenance, "runs": told})


def _name(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem
