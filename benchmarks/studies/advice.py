"""Check the claimed probability and the quality of advice on forty problems, each tried with new simulated users.

    python -m benchmarks.studies.advice DATA study.jsonl   # DATA contains MQ2008, NP2004, OHSUMED, MSLR_excerpt
    python -m benchmarks.studies.advice --report study.jsonl --picture docs/advice_reliability.png

The number of a problem determines its rankers, users, and budget. Problems in the file are skipped, so the study can be
interrupted. The claimed probability is checked by `simulate` with `SimulatedUsers`, which shares neither random numbers
nor oracles with `advise`. The loss of the advised candidate is compared with that of the best candidate in hindsight:
all candidates get `FEW` runs with other users, the four with the least loss get `MANY` more, and the best of them and
the advised one are compared in `JUDGE` further runs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.advice import advise
from ltr_duel.analysis import markdown_table, save_figure
from ltr_duel.core import statistics, stream
from ltr_duel.data import Dataset, load_dataset, make_corpus
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings, feature_rankers, measure_by_query
from ltr_duel.simulation import SimulatedUsers, simulate

PROBLEMS = 40
DEFAULT = "rucb/team_draft"  # the choice of a user without advice
OTHERS = (DEFAULT, "self_sparring/team_draft", "double_thompson/probabilistic")
SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20)
BUDGETS = (4_000, 8_000, 12_000)
LONG = ("NP2004", "long lists")  # hundreds of documents per query, so only the smallest budget
USERS = (
    ("perfect",),
    ("navigational",),
    ("informational",),
    ("navigational",),
    ("perfect", "navigational", "informational"),
)
CORPORA = ("MQ2008", "NP2004", "OHSUMED", "MSLR_excerpt", "few queries", "many grades", "long lists", "like MSLR")
SHAPES = {
    "few queries": {"queries": 25, "documents": 30, "features": 40, "grades": 3},
    "many grades": {"queries": 200, "documents": 15, "features": 60, "grades": 5},
    "long lists": {"queries": 80, "documents": 150, "features": 50, "grades": 2},
    "like MSLR": {"queries": 300, "documents": 60, "features": 136, "grades": 5},
}
FRESH = 200  # runs of the advised candidate to check the claimed probability
FEW, MANY, JUDGE, FINALISTS = 24, 120, 200, 4
MARGIN, CONFIDENCE = 0.01, 0.95
WITHIN, FLOOR = 0.1, 0.1 * MARGIN  # differences below this share of the best loss, plus the floor, do not count


def problem(number: int, data: Path) -> tuple[Rankings, tuple[str, ...], int]:
    """Return the rankers, the users, and the budget of a problem."""
    rng = stream(17, "advice study", number)
    corpus = CORPORA[number % len(CORPORA)]
    rankings = feature_rankers(corpus_named(corpus, data))
    size = SIZES[int(rng.random() * len(SIZES))]
    chosen = sorted(rng.permutation(len(rankings))[:size].tolist())
    budget = BUDGETS[0 if corpus in LONG else int(rng.random() * len(BUDGETS))]
    return rankings[chosen], USERS[number // len(CORPORA)], budget


def corpus_named(name: str, data: Path) -> Dataset:
    """Return a real corpus, or a synthetic corpus with a shape of `SHAPES`."""
    if name in SHAPES:
        return make_corpus(**SHAPES[name], seed=17, name=name)
    return load_dataset(data / name / "Fold1")


def study(number: int, data: Path, jobs: int) -> dict:
    """Compute the advice for a problem, and evaluate it with new runs."""
    rankings, users, budget = problem(number, data)
    given = {"budget": budget, "clicks": users, "margin": MARGIN, "jobs": jobs}
    began = time.process_time()
    advice = advise(rankings, confidence=CONFIDENCE, seed=number, **given)
    row = {
        "number": number, "corpus": CORPORA[number % len(CORPORA)], "users": users, "rankers": len(rankings),
        "budget": budget, "cpu": time.process_time() - began, "verdict": advice.verdict,
    }  # fmt: skip
    if advice.deploy is None:
        return row
    advised = advice.deploy.candidate
    row |= {"advised": advised, "claims": [list(world.right) for world in advice.deploy.worlds]}
    row["observed"] = [fresh_hits(rankings, one, advice.live, budget, 1000 + number, jobs) for one in users]
    names = [result.candidate for result in advice.screening]
    everything = losses(rankings, (*names, *OTHERS), FEW, 2000 + number, given)
    nearest = sorted(everything, key=lambda name: everything[name][0])[:FINALISTS]
    again = losses(rankings, tuple(nearest), MANY, 3000 + number, given)
    row["best"] = min(again, key=lambda name: again[name][0])
    row["judged"] = losses(rankings, (advised, row["best"], DEFAULT), JUDGE, 4000 + number, given)
    return row


def losses(rankings: Rankings, names: tuple[str, ...], runs: int, seed: int, given: dict) -> dict:
    """Return the mean loss of each candidate for the users with whom it is highest, and its standard error."""
    found, different = {}, list(dict.fromkeys(names))
    for first in range(0, len(different), 3):  # advice has fresh runs of three candidates
        three = different[first : first + 3]
        advice = advise(rankings, candidates=three, confidence=0.5, simulations=runs, seed=seed, **given)
        level = 1 - 0.5 / (len(three) * len(given["clicks"]))
        quantile = statistics.student_quantile((1 + level) / 2, runs - 1)
        for result in advice.candidates:
            loss = result.highest_loss.loss
            found[result.candidate] = (loss.value, float((loss.value - loss.low) / quantile))
    return found


def fresh_hits(rankings: Rankings, users: str, live: dict, budget: int, seed: int, jobs: int) -> int:
    """Return the number of new runs of the ordinary simulation that name a right ranker."""
    pairs = {"pairs": live["method"], "outcome": live["outcome"]} if live["outcome"] else {"slates": live["method"]}
    ndcg = measure_by_query(rankings, "NDCG@10").mean(axis=1)
    p = 0.5 + 0.5 * (ndcg[:, None] - ndcg)  # `simulate` requires a matrix for regret, which is not used here
    given = {"horizon": budget, "repetitions": FRESH, "seed": seed, "jobs": jobs}
    matrix = PreferenceMatrix(p, rankings.names)
    runs = simulate(SimulatedUsers(rankings, users, **pairs), live["policy"], preferences=matrix, **given).runs
    return int(sum(ndcg[run.recommended[-1]] >= ndcg.max() - MARGIN - 1e-12 for run in runs))


def main() -> None:
    """Run the problems that are missing in the file, or report on the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    lines = given.file.read_text(encoding="utf-8").splitlines() if given.file.exists() else []
    rows = {row["number"]: row for row in map(json.loads, lines)}
    if given.report:
        report([rows[number] for number in sorted(rows)], given.picture)
        return
    for number in ((13 * k) % PROBLEMS for k in range(PROBLEMS)):  # an order that covers all kinds early
        if number not in rows:
            row = study(number, given.data, given.jobs)
            with given.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(number, row["corpus"], row["rankers"], row["budget"], row.get("advised"), flush=True)


def report(rows: list[dict], picture: Path | None) -> None:
    """Print the counts and the table, and draw claimed against observed shares."""
    table, claims = [], []
    for row in (row for row in rows if "advised" in row):
        claims += [(claim, hits / FRESH) for claim, hits in zip(row["claims"], row["observed"], strict=True)]
        own, least, default = (row["judged"][name] for name in (row["advised"], row["best"], DEFAULT))
        excess = own[0] - least[0] - WITHIN * abs(least[0])
        worst = min(zip(row["claims"], row["observed"], strict=True))
        table.append(
            {
                "problem": f"{row['corpus']}, K = {row['rankers']}",
                "users": row["users"][0] if len(row["users"]) == 1 else "all three",
                "budget": f"{row['budget']:,}",
                "advised": row["advised"],
                "claimed": "{:.2f} ({:.2f} to {:.2f})".format(*worst[0]),
                "observed": f"{worst[1] / FRESH:.2f}",
                "loss": f"{own[0]:.4f}",
                "best in hindsight": f"{least[0]:.4f} ({row['best']})"
                if row["best"] != row["advised"]
                else "the advised",
                "default": f"{default[0]:.4f}",
                "within": excess <= FLOOR,
                "within without floor": excess <= 0,
                "refuted": excess - FLOOR > 2 * np.hypot(own[1], least[1]),
                "worse than default": own[0] > default[0],
            }
        )
    frame = pd.DataFrame(table)
    low, high = statistics.clopper_pearson([round(FRESH * share) for _, share in claims], FRESH, CONFIDENCE)
    overlap = sum(claim[1] <= up and down <= claim[2] for (claim, _), down, up in zip(claims, low, high, strict=True))
    print(
        f"problems: {len(rows)}, with an advised candidate: {len(frame)}; CPU {sum(row['cpu'] for row in rows):.0f} s"
    )
    print(f"claims: {len(claims)}; compatible with the fresh runs: {overlap};", end=" ")
    print(f"containing the observed share: {sum(claim[1] <= share <= claim[2] for claim, share in claims)}")
    for name in ("within", "within without floor", "refuted", "worse than default"):
        print(f"{name}: {frame.pop(name).sum()} of {len(frame)}")
    print(markdown_table(frame))
    if picture:
        draw(claims, picture)


def draw(claims: list, picture: Path) -> None:
    """Draw the claims with their intervals against the observed shares of new runs."""
    ax = Figure(figsize=(5, 5), dpi=150, layout="constrained").add_subplot()
    for (value, low, high), observed in claims:
        ax.plot([low, high], [observed, observed], color="#0072B2", lw=0.8, alpha=0.6)
        ax.plot(value, observed, "o", color="#0072B2", ms=4)
    ax.plot([0, 1], [0, 1], color="#6b6b6b", lw=0.8, ls=":")
    ax.set_xlabel("claimed probability, with its interval")
    ax.set_ylabel(f"share right in {FRESH} fresh runs")
    save_figure(ax, picture)


if __name__ == "__main__":
    main()
