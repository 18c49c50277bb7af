"""Named looks as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ltr_duel.logs.named_looks import NamedLook


def named_looks_table(looks: Sequence[NamedLook]) -> pd.DataFrame:
    """Return the looks as people read them.

    Parameters
    ----------
    looks : sequence of NamedLook

    Returns
    -------
    pandas.DataFrame
        Of texts.

    Examples
    --------
    >>> look = NamedLook("old", "new", 7.0, 900, -0.1, -0.25, 0.05, 2.1, 3.7, "")
    >>> named_looks_table([look])["boundary"].tolist()
    ['3.70']
    """
    rows = [
        {
            "pair": f"{one.first} against {one.second}",
            "day": f"{one.day:g}",
            "verdict": f"stop: {one.winner}" if one.winner else "go on",
            "impressions": f"{one.impressions:,}",
            "mean": f"{one.mean:+.4f}",
            "at all looks within": f"{one.low:+.4f} {one.high:+.4f}",
            "deviations": f"{one.deviations:.2f}",
            "boundary": f"{one.boundary:.2f}",
        }
        for one in looks
    ]
    return pd.DataFrame(rows)


def named_looks_sentence(looks: Sequence[NamedLook], days: Sequence[float], rankers: Sequence[str]) -> str:
    """Say whether the experiment stops by the looks that have been.

    Parameters
    ----------
    looks : sequence of NamedLook
        From `look_at_days`.
    days : sequence of float
        All looks that were named.
    rankers : sequence of str

    Returns
    -------
    str

    Examples
    --------
    >>> look = NamedLook("old", "new", 7.0, 900, -0.3, -0.4, -0.2, 9.1, 3.7, "new")
    >>> named_looks_sentence([look], [7, 14], ["old", "new"])
    'stop: new wins, by the look at day 7 of looks at days 7, 14.'
    >>> named_looks_sentence([look._replace(winner="")], [7, 14], ["old", "new"])
    'go on until the look at day 14.'
    """
    named = ", ".join(f"{day:g}" for day in days)
    for day in dict.fromkeys(one.day for one in looks):
        won = [one.winner for one in looks if one.day == day]
        for ranker in rankers:
            if won.count(ranker) == len(rankers) - 1:
                others = f" against each of the {len(rankers) - 1} others" if len(rankers) > 2 else ""
                return f"stop: {ranker} wins{others}, by the look at day {day:g} of looks at days {named}."
    been = max((one.day for one in looks), default=0.0)
    if been == days[-1]:
        return f"the looks at days {named} are over, and no ranker wins{' against all others' * (len(rankers) > 2)}."
    return f"go on until the look at day {min(day for day in days if day > been):g}."
