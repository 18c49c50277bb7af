"""A world that changes: weak and average regret against the winner of the moment, on three schedules.

Run ``python -m experiments.changing_world --out changing_world.png``. Eight arms of a Bradley-Terry model (utilities 0
to 3), 200,000 steps, 20 runs. Two schedules change at random to another order of the arms, 4 and 20 segments of equal
length; in the third, the utilities turn around slowly, in 50 stairs. The broad grey line has the same weak regret in
each segment, as Beat the Winner Reset has if its weak regret between two changes is bounded.
"""

import argparse

import numpy as np

from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromSchedule, dynamic_regret, simulate

HORIZON = 200_000
UTILITIES = np.linspace(0, 3, 8)
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255", "#777777"]
DASHES = ["-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (10, 2)), (0, (1, 4)), (0, (7, 1, 3, 1)), (0, (2, 1))]
POLICIES = [
    "beat_the_winner_reset",
    "monitored_rucb",
    "monitored_double_thompson",
    "double_thompson",
    "auto",
    "rucb",
    "versatile_db",
    "exp3_sparring",
    "winner_stays",
]


def bradley_terry(utilities):
    """Return the matrix of a Bradley-Terry model."""
    return PreferenceMatrix(1 / (1 + np.exp(utilities[None, :] - utilities[:, None])))


def schedule(matrices):
    """Return segments of equal length."""
    return FromSchedule(matrices, [HORIZON * k // len(matrices) for k in range(1, len(matrices))])


def schedules():
    """Return the three schedules, keyed by their titles."""
    rng = np.random.default_rng(0)
    orders = [bradley_terry(rng.permutation(UTILITIES)) for _ in range(24)]
    drift = [bradley_terry(UTILITIES * (1 - 2 * k / 49)) for k in range(50)]
    return {"4 orders": schedule(orders[:4]), "20 orders": schedule(orders[4:]), "slow drift": schedule(drift)}


def main():
    """Draw the figure, and print the regrets at the horizon."""
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="changing_world.png")
    parser.add_argument("--repetitions", type=int, default=20)
    given = parser.parse_args()
    figure, axes = plt.subplots(2, 3, figsize=(13, 7), sharex=True, constrained_layout=True)
    for column, (title, world) in zip(axes.T, schedules().items(), strict=True):
        segments = len(world.matrices)
        policies = [
            f"{name}:segments={segments},gap=0.8" if name.startswith("monitored") else name for name in POLICIES
        ]
        average = world.average(HORIZON)
        results = simulate(world, policies, horizon=HORIZON, repetitions=given.repetitions, preferences=average)
        for axis, kind in zip(column, ("weak", "average"), strict=True):
            axis.set_prop_cycle(color=COLOURS, linestyle=DASHES)
            means = dynamic_regret(results, world, kind).groupby(["policy", "t"], sort=False)["regret_dynamic"].mean()
            for policy, curve in means.groupby("policy", sort=False):
                axis.plot(curve.index.get_level_values("t"), curve, lw=1.5, label=policy.partition(":")[0])
            if kind == "weak":
                steps = np.array([0, *world.changes, HORIZON])
                line = means[policies[0]][HORIZON] * steps / HORIZON
                axis.plot(steps, line, "-", color="#6b6b6b", lw=3, alpha=0.5, label="the same in each segment")
            axis.set(title=title, ylabel=f"{kind} regret, winner of the moment", yscale="log", ylim=(50, None))
            axis.xaxis.set_major_formatter("{x:,.0f}")
            ends = means.groupby("policy", sort=False).last().round()
            print(title, kind, *(f"{policy} {value:.0f}" for policy, value in ends.items()), sep="\n  ")
        column[-1].set_xlabel("step")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    title = f"mean of {given.repetitions} runs"
    figure.legend(handles, labels, title=title, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(given.out, dpi=110)


if __name__ == "__main__":
    main()
