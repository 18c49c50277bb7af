"""The tables of the answer, for readers."""

from __future__ import annotations

import pandas as pd

from ltr_duel.advice.answer import Advice
from ltr_duel.advice.numbers import impressions, ndcg, percent, plain

CHANGES = {
    "as simulated": "as simulated",
    "noisier": "noisier clicks",
    "closer": "the best two closer",
    "cycle": "no winner by clicks",
}


def candidates_table(advice: Advice) -> pd.DataFrame:
    """Return the candidates, the advised one first, each under the click model in which it is least often right."""
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
    """Return the rounds with the dropped candidates; the last row includes the runs behind the claims."""
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
