"""Draw the small figures of the reference, one for each component.

Two simulations measure the regret of all policies and of all methods. The figure of a click model shows how far down a
list users look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import ltr_duel
from ltr_duel import PreferenceMatrix, SimulatedUsers, estimate_preferences, feature_rankers, plot_regret, simulate
from ltr_duel.analysis import COLOURS, DASHES, save_figure
from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import ClickFamily, click_model
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import METHODS
from ltr_duel.simulation import FromMatrix, averaged

ARMS, HORIZON, RUNS = 10, 30_000, 10
METHOD_HORIZON, METHOD_RUNS = 3_000, 3
_OTHERS = "#cfcfcf"


def policy_runs() -> pd.DataFrame:
    """Run every policy on ten arms with evenly spaced utilities (Bradley and Terry's model)."""
    utility = np.linspace(1.6, 0, ARMS)
    matrix = PreferenceMatrix(1 / (1 + np.exp(utility[None, :] - utility[:, None])))
    coins = FromMatrix(matrix, sets="independent_coins")
    return simulate(coins, POLICIES.names(), horizon=HORIZON, repetitions=RUNS).to_frame()


def method_runs() -> pd.DataFrame:
    """Run RUCB (MDB for methods of sets) with simulated users, once with each method."""
    rankings = feature_rankers(make_corpus(queries=40, documents=10, features=3))
    matrix = estimate_preferences(rankings, clicks="navigational", comparisons=4000)
    runs = []
    for method in METHODS:
        users = SimulatedUsers(rankings, "navigational", **{"pairs" if method.pairs else "slates": method.name})
        policy = "rucb" if method.pairs else "mdb"
        found = simulate(users, policy, horizon=METHOD_HORIZON, repetitions=METHOD_RUNS, preferences=matrix)
        runs.append(found.to_frame().assign(policy=method.name))
    return pd.concat(runs, ignore_index=True)


def draw(frame: pd.DataFrame, name: str, path: Path) -> None:
    """Draw the regret of one policy or method, with all others in grey behind it."""
    ax = Figure(figsize=(5.4, 3.4), dpi=150, layout="constrained").add_subplot()
    means = averaged(frame[frame["policy"] != name], ["policy", "t"], "regret_average", "none")
    for _, other in means[means["t"] >= 100].groupby("policy"):
        ax.plot(other["t"], other["mean"], color=_OTHERS, lw=0.8, zorder=1)
    plot_regret(frame[frame["policy"] == name], ax, legend=False)
    save_figure(ax, path)


def draw_attention(family: ClickFamily, path: Path) -> None:
    """Draw the probability that a user examines each position of a list of one grade, with a line for each grade."""
    grades, places = max(family.tables), np.arange(1, 11)
    model = click_model(family, grades)
    ax = Figure(figsize=(5.4, 2.8), dpi=150, layout="constrained").add_subplot()
    for grade in range(grades):
        look = {"color": COLOURS[grade], "linestyle": DASHES[grade], "marker": "o^sDv"[grade], "markersize": 3}
        ax.plot(places, model.examination([grade] * len(places)), label=f"grade {grade}", **look)
    ax.set(xlabel="position", ylabel="probability of examination", xticks=places, ylim=(-0.03, 1.03))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    save_figure(ax, path)


def sources() -> str:
    """Return a digest of all dependencies of the curves: the package, and this file."""
    found = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(Path(ltr_duel.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def drawn(folder: Path, runs: Callable[[], pd.DataFrame]) -> None:
    """Draw one figure for each policy of a table, unless the existing figures have the same sources."""
    noted = folder / "curves.sha256"
    if noted.is_file() and noted.read_text(encoding="utf-8") == sources():
        return
    frame = runs()
    for name in frame["policy"].unique():
        draw(frame, name, folder / f"{name}.svg")
    noted.write_text(sources(), encoding="utf-8")
