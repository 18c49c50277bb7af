"""Who beats the Condorcet winner when whole sets of rankers are multileaved (Multi-Dueling Bandits, Table 3).

One corpus at a time; see `ltr_duel.simulation.distortion`.

Brost, Seldin, Cox, Lioma. Multi-Dueling Bandits and Their Application to Online Ranker Evaluation. CIKM 2016,
section 4.2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ltr_duel.papers.measures import MEASURES
from ltr_duel.papers.measures.inputs import corpus_of
from ltr_duel.rankers import constant_features, feature_rankers
from ltr_duel.simulation import distortion_table, measure_distortion

if TYPE_CHECKING:
    from ltr_duel.papers.find_data import Found


def distortion(settings: dict[str, Any], *, found: Found, jobs: int) -> pd.DataFrame:
    """Return the percentage of rankers that beat the Condorcet winner in sets of several sizes.

    Parameters
    ----------
    settings : dict
        ``corpus``: what it is called in the table. ``clicks``, ``sizes``, ``multileavings``, ``repetitions``,
        ``comparisons``, ``seed``: see `measure_distortion`. ``printed``: the paper's percentages for each click model,
        one for each size. ``without``: the position (from 0) of a feature that is left out.
    found : Found
        A corpus.
    jobs : int

    Returns
    -------
    DataFrame
        ``corpus``, ``of`` (rankers of the corpus), ``rankers`` (in a set), ``clicks``, ``value`` (percent),
        ``standard_error`` (over sets), ``clear`` (percent that beat the winner by more than two standard errors of
        a fair coin), ``printed`` (NaN where the paper does not say) and ``source``. Sizes that the corpus has not
        rankers enough for are left out.
    """
    seed = settings.get("seed", 0)
    dataset = corpus_of(found, jobs=jobs)
    left_out = set(constant_features(dataset))
    if "without" in settings:
        left_out.add(dataset.feature_names[settings["without"]])
    kept = [name for name in dataset.feature_names if name not in left_out]
    rankings = feature_rankers(dataset, features=kept, seed=seed, jobs=jobs)
    sizes = [size for size in settings["sizes"] if size <= len(rankings)]
    frame = measure_distortion(
        rankings,
        clicks=settings["clicks"],
        methods=["sosm"],
        sizes=sizes,
        multileavings=settings["multileavings"],
        repetitions=settings["repetitions"],
        comparisons=settings["comparisons"],
        seed=seed,
        jobs=jobs,
    )
    table = distortion_table(frame)
    said = {
        (clicks, size): percent
        for clicks, percents in settings.get("printed", {}).items()
        for size, percent in zip(settings["sizes"], percents, strict=True)
    }
    cells = zip(table["clicks"], table["rankers"], strict=True)
    return pd.DataFrame(
        {
            "corpus": settings["corpus"],
            "of": len(rankings),
            "rankers": table["rankers"],
            "clicks": table["clicks"],
            "value": table["percent"],
            "standard_error": table["standard_error"],
            "clear": table["percent_clear"],
            "printed": [float(said.get(cell, np.nan)) for cell in cells],
            "source": found.source,
        }
    )


MEASURES.add("distortion", distortion)
