"""The numbers of an answer with their intervals, and the tables of an answer, formatted for readers."""

from __future__ import annotations

import math

import pandas as pd

from ltr_duel.advice.answer import Advice, Reached
from ltr_duel.advice.bounds import Estimate
from ltr_duel.core import errors

METHOD_WORDS = {"a/b": "a plain A/B test"}


def named(candidate: str) -> str:
    """Return the name of a candidate in a sentence: 'mdb with sosm'."""
    return METHOD_WORDS.get(candidate, " with ".join(candidate.split("/")))


def percent(found: Estimate) -> str:
    """Format a probability: '97% (93 to 99)'."""
    return f"{percent_of(found.value)}% ({percent_of(found.low)} to {percent_of(found.high)})"


def ndcg(found: Estimate) -> str:
    """Format a difference of NDCG: '0.0123 (0.0119 to 0.0127)'."""
    return f"{plain(found.value)} ({plain(found.low)} to {plain(found.high)})"


def plain(value: float) -> str:
    """Format a number between -1 and 1: '0.0123', '-0.0004'."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:.4f}"
    return "0" if float(text) == 0 else text


def impressions(found: Reached) -> str:
    """Format the impressions at which a condition is reached: '23,000 (18,000 to 40,000)'."""
    if found.value is None:
        return "not by then" if found.low is None else f"not by then ({found.low:,} at the earliest)"
    end = "or later" if found.high is None else f"to {found.high:,}"
    return f"{found.value:,} ({found.low:,} {end})"


def listed(names: tuple[str, ...] | list[str], most: int = 6) -> str:
    """Format a list of names."""
    quoted = [f"'{name}'" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(quoted)} and {len(names) - most} more"
    return errors.listed(quoted)


def percent_of(value: float) -> str:
    """Format a share without the percent sign: '97.4', '100'."""
    share = 100 * value
    return f"{share:.1f}" if 0.05 <= share < 99.95 else f"{share:.0f}"


CHANGES = {
    "as simulated": "as simulated",
    "noisier": "noisier clicks",
    "closer": "the best two closer",
    "cycle": "no winner by clicks",
}


def candidates_table(advice: Advice) -> pd.DataFrame:
    """Return the candidates, the advised one first, each for the click model with its lowest share of right runs."""
    rows = [
        {
            "candidate": row.candidate,
            "users": row.worst.users,
            "right": percent(row.worst.right),
            "sure from": impressions(row.worst.sure_at),
            f"{advice.settings['measure']} lost on the way": ndcg(row.worst.lost),
            "regret": ndcg(row.worst.regret),
            "lost after": ndcg(row.worst.after),
            "largest loss": ndcg(row.dearest.loss) + ("" if row.dearest is row.worst else f", {row.dearest.users}"),
            "runs": f"{row.worst.runs}" + ("" if row.fresh else " (race)"),
        }
        for row in advice.rows
    ]
    return pd.DataFrame(rows)


def users_table(advice: Advice) -> pd.DataFrame:
    """Return the candidates with fresh runs under each click model."""
    rows = [
        {
            "users": one.users,
            "candidate": row.candidate,
            "right": percent(one.right),
            "sure from": impressions(one.sure_at),
            "lost on the way": ndcg(one.lost),
            "loss": ndcg(one.loss),
        }
        for m in range(len(advice.settings["clicks"]))
        for row in advice.rows
        if row.fresh
        for one in (row.worlds[m],)
    ]
    return pd.DataFrame(rows)


def what_if_table(advice: Advice) -> pd.DataFrame:
    """Return the results of the advised candidate and the runner-up in harder worlds."""
    rows = [
        {
            "candidate": one.candidate,
            "what if": CHANGES[one.change],
            "right": percent(one.right),
            "lost on the way": ndcg(one.lost),
            "runs": f"{one.runs}",
        }
        for one in advice.what_if
    ]
    return pd.DataFrame(rows)


def rankers_table(advice: Advice) -> pd.DataFrame:
    """Return the rankers, the best first."""
    best, margin = advice.ndcg[advice.best], advice.settings["margin"]
    rows = [
        {
            "ranker": name,
            advice.settings["measure"]: plain(value),
            "below the best": plain(best - value),
            "": "the best" if name == advice.best
            else "within the margin" if best - value <= margin + 1e-12
            else "not settled by the queries" if name in advice.unsure
            else "",
        }
        for name, value in sorted(advice.ndcg.items(), key=lambda item: -item[1])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def race_table(advice: Advice) -> pd.DataFrame:
    """Return the rounds with the dropped candidates; the last row includes the fresh runs of the advised candidate."""
    *_, last = advice.rounds
    rows = [
        {
            "runs of each": f"{one.runs}",
            "candidates tried": ", ".join(advice.names[k] for k in one.tried)
            + (", with the runs behind its claims" if one is last else "")
            if len(one.tried) < len(advice.names) or one is last
            else "all",
            "shown to be worse": ", ".join(advice.names[k] for k in one.dropped) or "none",
            "left": f"{len(one.left)}",
        }
        for one in advice.rounds
    ]
    return pd.DataFrame(rows)
