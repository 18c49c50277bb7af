"""Synthetic results for any claim: tables in which it is true, and tables in which it is false.

Everything follows from the claim's entry: the selected rows, the panels, and the numbers in range.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

REPETITIONS = 6
JITTER = np.array([-2, 2, -1, 1, -1, 1]) / 100  # jitter of six runs with mean 0, so that means are exact


def target(claim, truth):
    """Return a number well inside the range of the criterion, or well outside both the range and the weaker range."""
    low, high = claim.criterion
    if truth:
        if np.isfinite(low) and np.isfinite(high):
            return (low + high) / 2
        if np.isfinite(low):
            return low * 1.5 if low > 0 else 0.5
        return high / 2
    if claim.partly is not None:
        low, high = claim.partly
    if np.isfinite(low) and (low > 0 or claim.measure in ("growth", "value")):
        return low / 3 if low > 0 else low - 0.5
    return high * 2 + 0.3


def satisfying(condition, other=None):
    """Return values that match a condition of a selection."""
    if isinstance(condition, dict):
        low, high = condition.get("at_least"), condition.get("at_most")
        return [low, low * 2] if low is not None else [high / 2, high]
    if condition in ("greatest", "least"):
        return [100] if condition == "greatest" else [10]
    return condition if isinstance(condition, list) else [condition]


def as_selection(side):
    return {"policy": side} if isinstance(side, str) else dict(side)


def frames_for(claim, truth, source="real data"):
    """Return the tables that the claim needs."""
    made = BUILDERS[claim.measure](claim, target(claim, truth), truth)
    made["source"] = source
    if "figure" not in made:
        made["figure"] = claim.figure[0]
    for name in claim.figure:
        if name not in set(made["figure"]):
            made = pd.concat([made, made.assign(figure=name)], ignore_index=True)
    return {str(name): part.drop(columns="figure").reset_index(drop=True) for name, part in made.groupby("figure")}


def panel_facts(claim):
    """Yield the columns of each panel: values that match the claim's selection, and required values."""
    columns = {key: satisfying(one)[:1] for key, one in claim.rows.items()} | claim.panels
    for values in product(*columns.values()):
        yield dict(zip(columns, values, strict=True))


def runs(facts, policy, finals, *, end=1000, half=None, correct=1.0):
    """Return two checkpoints of each run of one policy on one problem."""
    named = {"problem": " ".join(map(str, facts.values())) or "one", "rankers": 50, "gamma": 1.3, "clicks": "perfect"}
    named |= {"policy": policy, "horizon": end} | facts
    rows = []
    for repetition, final in enumerate(np.broadcast_to(finals, REPETITIONS)):
        early = final / 2 if half is None else final * half
        for t, regret in ((end // 2, early), (end, final)):
            row = named | {"repetition": repetition, "t": t, "correct": correct}
            rows.append(row | {"regret_average": regret, "regret_utility": regret, "regret_ndcg": regret})
    return pd.DataFrame(rows)


def jittered(mean):
    return mean * (1 + JITTER)


def two_sides(claim, of, to):
    """Write the final regrets of the claim's two sides into each panel."""
    parts = []
    for facts in panel_facts(claim):
        for side, finals in ((claim.settings["of"], of), (claim.settings["to"], to)):
            here = facts | {key: satisfying(one)[0] for key, one in as_selection(side).items()}
            parts.append(runs({k: v for k, v in here.items() if k != "policy"}, here["policy"], finals))
    return pd.concat(parts, ignore_index=True)


def ratio(claim, number, truth):
    return two_sides(claim, jittered(100 * number), jittered(100))


def spread(claim, number, truth):
    return two_sides(claim, 1000 + 5000 * JITTER * number, 1000 + 5000 * JITTER)


def place(claim, number, truth):
    """Rank the policy among four others as claimed; if the claim is false, at the opposite end."""
    settings = claim.settings
    others = settings.get("among") or ["uniform", "self_sparring", "rmed2", "winner_stays"]
    standing = np.linspace(1000, 2000, len(others))
    from_least = settings.get("counted_from", "least") == "least"
    mine = 100 if from_least == truth else 9000
    parts = []
    for facts in panel_facts(claim):
        parts.append(runs(facts, settings["policy"], jittered(mine)))
        parts += [runs(facts, name, jittered(mean)) for name, mean in zip(others, standing, strict=True)]
    return pd.concat(parts, ignore_index=True)


def late(claim, number, truth):
    policy = claim.settings["policy"]
    parts = [runs(facts, policy, jittered(100), half=1 - min(number, 1)) for facts in panel_facts(claim)]
    return pd.concat(parts, ignore_index=True)


def along(claim, heights, points):
    """Write a curve of mean regrets into each panel: a multiple of the second policy's curve, if there is one."""
    settings, axis = claim.settings, claim.settings["along"]
    parts = []
    for facts in panel_facts(claim):
        for point, height in zip(points, heights, strict=True):
            here = {k: v for k, v in facts.items() if k != "policy"} | {axis: point}
            second = float(point) ** 0.7 if "to" in settings else 1.0
            parts.append(runs(here, facts.get("policy") or settings["policy"], jittered(height * second)))
            if "to" in settings:
                parts.append(runs(here, settings["to"], jittered(100 * second)))
    return pd.concat(parts, ignore_index=True)


def growth(claim, number, truth):
    points = np.array([1.4, 1.5, 1.7, 2.0]) if claim.settings["along"] == "gamma" else np.array([10, 20, 50, 100])
    return along(claim, 100 * points**number, points)


def transition(claim, number, truth):
    points = np.round(np.arange(1.0, 2.01, 0.1), 1)
    turn = number if truth else 1.75
    return along(claim, np.where(points < turn, 100, 1000), points)


def time_ratio(claim, number, truth):
    """One policy names the winner from step 1,000 on, the other policy later or earlier by the factor."""
    parts, settings = [], claim.settings
    steps = np.geomspace(1000, 1_000_000, 7)
    for facts in panel_facts(claim):
        for side, named in ((settings["of"], 1000.0), (settings["to"], 1000.0 / number)):
            for t in sorted({*steps, *(steps * (1000.0 / number) / 1000)}):
                part = runs(facts, side, 1.0, end=1_000_000, correct=float(t >= named))
                parts.append(part[part["t"] == 1_000_000].assign(t=int(t)))
    return pd.concat(parts, ignore_index=True)


def cells(claim, values, **more):
    parts = [
        pd.DataFrame([{"rankers": 64, "item": "an item"} | facts | more | {"value": values}])
        for facts in panel_facts(claim)
    ]
    return pd.concat(parts, ignore_index=True)


def value(claim, number, truth):
    exact = claim.criterion.at_least == claim.criterion.at_most
    return cells(claim, number, standard_error=0.0 if exact else 1e-4)


def against_printed(claim, number, truth):
    return cells(claim, 47.3 * number, standard_error=0.01, printed=47.3)


def cell_ratio(claim, number, truth):
    parts = [
        cells(claim, height, standard_error=0.1).assign(**claim.settings[side])
        for side, height in (("of", 10 * number), ("to", 10.0))
    ]
    return pd.concat(parts, ignore_index=True)


def valley(claim, number, truth):
    sizes = np.arange(1, 65)
    curve = np.abs(sizes - 20.0) if truth else -np.abs(sizes - 20.0)
    return pd.concat([cells(claim, height).assign(rankers=size) for size, height in zip(sizes, curve, strict=True)])


def reached(claim, number, truth):
    sizes = np.arange(1, 1000)
    curve = np.where(sizes < number, 1.0, 0.0)
    return pd.concat([cells(claim, height).assign(rankers=size) for size, height in zip(sizes, curve, strict=True)])


BUILDERS = {
    one.__name__: one
    for one in (
        ratio, spread, place, late, growth, transition, time_ratio,
        value, against_printed, cell_ratio, valley, reached,
    )
}  # fmt: skip
