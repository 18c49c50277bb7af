"""Named looks as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ltr_duel.logs.findings import Finding
from ltr_duel.logs.named_looks import NamedLook
from ltr_duel.logs.stopping import never_shown
from ltr_duel.logs.verdict import failed_checks


def named_looks_table(looks: Sequence[NamedLook], findings: Sequence[Finding] = ()) -> pd.DataFrame:
    """Return the looks as people read them.

    Parameters
    ----------
    looks : sequence of NamedLook
    findings : sequence of Finding
        Of the checks of the experiment. Where one fails, nothing is decided.

    Returns
    -------
    pandas.DataFrame
        Of texts. The ranker that is ahead at the last look comes first. The first look that has a winner decides the
        pair.

    Examples
    --------
    >>> look = NamedLook("old", "new", 7.0, 900, -0.1, -0.25, 0.05, -2.1, 3.7, "")
    >>> named_looks_table([look])[["pair", "deviations", "boundary"]].to_numpy().tolist()
    [['new against old', '+2.10', '3.70']]
    """
    last = {(one.first, one.second): one for one in looks}
    turned = [_turned(one, last[one.first, one.second].mean) for one in looks]
    deciding, failed = _deciding(looks), failed_checks(findings)
    verdicts = ["no decision" if failed else _verdict(one, deciding.get(one[:2])) for one in looks]
    rows = [
        {
            "pair": f"{one.first} against {one.second}",
            "day": f"{one.day:g}",
            "verdict": verdict,
            "impressions": f"{one.impressions:,}",
            "mean": f"{one.mean:+.4f}",
            "at all looks within": f"{one.low:+.4f} {one.high:+.4f}",
            "deviations": f"{one.deviations:+.2f}",
            "boundary": f"{one.boundary:.2f}",
        }
        for one, verdict in zip(turned, verdicts, strict=True)
    ]
    return pd.DataFrame(rows)


def _deciding(looks: Sequence[NamedLook]) -> dict[tuple[str, ...], NamedLook]:
    """Return the first look of each pair that has a winner."""
    found: dict[tuple[str, ...], NamedLook] = {}
    for look in sorted(looks, key=lambda one: one.day):
        if look.winner:
            found.setdefault(look[:2], look)
    return found


def _verdict(one: NamedLook, deciding: NamedLook | None) -> str:
    if deciding is None or one.day < deciding.day:
        return "open"
    return f"{one.winner} wins" if one.day == deciding.day else f"decided at day {deciding.day:g}"


def _turned(one: NamedLook, sign: float) -> NamedLook:
    """Return a look with the ranker first that has the sign."""
    if sign >= 0:
        return one
    one = one._replace(first=one.second, second=one.first, mean=-one.mean)
    return one._replace(low=-one.high, high=-one.low, deviations=-one.deviations)


def named_looks_sentence(
    looks: Sequence[NamedLook], days: Sequence[float], rankers: Sequence[str], findings: Sequence[Finding] = ()
) -> str:
    """Say whether the experiment stops by the looks that have been.

    The first look at which a pair has a winner decides the pair; a later one that differs is named.

    Parameters
    ----------
    looks : sequence of NamedLook
        From `look_at_days`.
    days : sequence of float
        All looks that were named.
    rankers : sequence of str
    findings : sequence of Finding
        Of the checks of the experiment. One that fails comes before any winner.

    Returns
    -------
    str

    Examples
    --------
    >>> look = NamedLook("old", "new", 7.0, 900, -0.3, -0.4, -0.2, -9.1, 3.7, "new")
    >>> named_looks_sentence([look], [7, 14], ["old", "new"])
    'stop: new wins, by the look at day 7 of looks at days 7, 14.'
    >>> named_looks_sentence([look._replace(winner="")], [7, 14], ["old", "new"])
    'go on until the look at day 14, which is made once, when the log reaches that day, on what came before.'
    """
    said, failed = _by_looks(looks, days, rankers), failed_checks(findings)
    return f"no decision: {failed}. The outcomes alone: {said}" if failed else said


def _by_looks(looks: Sequence[NamedLook], days: Sequence[float], rankers: Sequence[str]) -> str:
    named, several = ", ".join(f"{day:g}" for day in days), len(rankers) > 2
    for ranker in rankers:
        own = [one for one in _deciding(looks).values() if one.winner == ranker]
        if len(own) == len(rankers) - 1:
            others = f" against each of the {len(own)} others" if several else ""
            by = f"by the look at day {max(one.day for one in own):g} of looks at days {named}"
            return " ".join([f"stop: {ranker} wins{others}, {by}.", *_contradictions(looks, own)])
    unseen = never_shown(rankers, [(one.first, one.second) for one in looks if one.impressions]) if looks else ""
    been = max((one.day for one in looks), default=0.0)
    if been == days[-1]:
        over = f"the looks at days {named} are over, and no ranker wins{' against all others' * several}."
    else:
        next_one = min(day for day in days if day > been)
        over = (
            f"go on until the look at day {next_one:g}, which is made once, when the log reaches that day, on what came"
            " before."
        )
    return " ".join(filter(None, [over, unseen]))


def _contradictions(looks: Sequence[NamedLook], own: Sequence[NamedLook]) -> list[str]:
    """Name for each pair that the winner decided the last look with a mean on the other side."""
    said = []
    for one in own:
        side = 1 if one.winner == one.first else -1
        later = [look for look in looks if look[:2] == one[:2] and look.day > one.day and side * look.mean < 0]
        if later:
            look = max(later, key=lambda look: (bool(look.winner), look.day))
            does = "contradicts it" if look.winner else "does not confirm it"
            said.append(
                f"A later look {does}: at day {look.day:g} the mean outcome of {one.winner} against"
                f" {one.second if side > 0 else one.first} is {side * look.mean:+.4f}"
                f" ({side * look.deviations:+.2f} deviations, boundary {look.boundary:.2f})."
            )
    return said
