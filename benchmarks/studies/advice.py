"""Check the claimed probability and the quality of advice on forty problems, each tried with new simulated users.

    python -m benchmarks.studies.advice DATA study.jsonl   # DATA contains MQ2008, NP2004, OHSUMED, MSLR_excerpt
    python -m benchmarks.studies.advice --report study.jsonl --picture docs/advice_reliability.png

The number of a problem determines its rankers, users, and budget, so each problem can be run alone. Problems in the
file are skipped. The claimed probability is checked by `simulate` with `Live`, which shares neither random numbers nor
oracles with `advise`. `try_candidates` runs the other candidates with other users: the candidates with the least loss
in `HINDSIGHT` runs, and the advised candidate, are compared in `JUDGE` further runs. Losses can be near zero or
negative, so a difference below a tenth of the best loss plus a tenth of the margin does not count.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ltr_duel.advice import advise, try_candidates
from ltr_duel.analysis import markdown_table, save_figure
from ltr_duel.core import statistics, stream
from ltr_duel.data import Dataset, load_dataset, make_corpus
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings, feature_rankers, measure_by_query
from ltr_duel.simulation import Live, simulate

PROBLEMS = 40
SETS = ("mdb", "multi_self_sparring")
OTHERS = (  # candidates in addition to the usual candidates
    "rucb/team_draft",
    "self_sparring/team_draft",
    "double_thompson/probabilistic",
)
DEFAULT = "rucb/team_draft"  # the choice of a user without advice
SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20)
BUDGETS = (4_000, 8_000, 12_000)
LONG = ("NP2004", "long lists")  # hundreds of documents per query, so only the smallest budget
USERS = (
    ["perfect"],
    ["navigational"],
    ["informational"],
    ["navigational"],
    ["perfect", "navigational", "informational"],
)
CORPORA = ("MQ2008", "NP2004", "OHSUMED", "MSLR_excerpt", "few queries", "many grades", "long lists", "like MSLR")
SHAPES = {
    "few queries": {"queries": 25, "documents": 30, "features": 40, "grades": 3},
    "many grades": {"queries": 200, "documents": 15, "features": 60, "grades": 5},
    "long lists": {"queries": 80, "documents": 150, "features": 50, "grades": 2},
    "like MSLR": {"queries": 300, "documents": 60, "features": 136, "grades": 5},
}
FRESH = 200  # runs of the advised candidate to check the claimed probability
SIEVE, HINDSIGHT, JUDGE = 10, 60, 200  # runs of each candidate, of candidates near the best, of the finalists
NEAR = 0.25
WITHIN, FLOOR = 0.1, 0.1  # shares of the best loss and of the margin: smaller differences do not count
MARGIN, CONFIDENCE = 0.01, 0.95


def problem(number: int, data: Path) -> tuple[Rankings, list[str], int]:
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


def study(number: int, data: Path) -> dict:
    """Compute the advice for a problem, and evaluate it with new runs."""
    rankings, users, budget = problem(number, data)
    common = {"budget": budget, "clicks": users, "margin": MARGIN, "confidence": CONFIDENCE, "jobs": 1}
    began = time.perf_counter()
    advice = advise(rankings, seed=number, **common)
    seconds = time.perf_counter() - began
    row = {
        "number": number, "corpus": CORPORA[number % len(CORPORA)], "users": users, "rankers": len(rankings),
        "budget": budget, "seconds": seconds, "verdict": advice.verdict,
    }  # fmt: skip
    if advice.deploy is None:
        return row
    advised = advice.deploy
    row |= {"advised": advised.candidate, "claims": [list(one.right) for one in advised.worlds]}
    row |= {"claim": list(advised.worst.right), "runs": advised.worst.runs, "names": list(advice.names)}
    row["seen"] = [fresh_hits(rankings, one, advised.candidate, budget, 1000 + number) for one in users]
    hindsight(rankings, advice.names, advised.candidate, number, row, common)
    judged = judge(rankings, rivals(row), number, common)
    row["best"], row["judged"] = min(judged, key=lambda name: judged[name]["loss"]), judged
    return row


def judge(rankings: Rankings, names: list[str], number: int, common: dict) -> dict:
    """Run the remaining candidates `JUDGE` times."""
    found = try_candidates(rankings, names, simulations=JUDGE, seed=4000 + number, **common)
    return {one.candidate: summary(one) for one in found}


def rivals(row: dict) -> list[str]:
    """Return the advised candidate, and all candidates that are within 10 % of the best in hindsight."""
    found = row["hindsight"]
    least = min(one["loss"] for one in found.values())
    limit = least + WITHIN * abs(least) + FLOOR * MARGIN
    return [name for name, one in found.items() if one["loss"] <= limit or name == row["advised"]]


def hindsight(rankings: Rankings, names, advised: str, number: int, row: dict, common: dict) -> None:
    """Run all candidates a few times, and the candidates near the least loss more often."""
    everything = tuple(dict.fromkeys((*names, *OTHERS)))
    first = try_candidates(rankings, everything, simulations=SIEVE, seed=2000 + number, **common)
    least = min(summary(one)["loss"] for one in first)
    limit = least + NEAR * abs(least) + 2 * FLOOR * MARGIN
    near = [
        row.candidate
        for row in first
        if max(one.loss.low for one in row.worlds) <= limit or row.candidate in (advised, DEFAULT)
    ]
    row["sieved"] = {one.candidate: summary(one) for one in first if one.candidate not in near}
    found = try_candidates(rankings, near, simulations=HINDSIGHT, seed=3000 + number, **common)
    row["hindsight"] = {one.candidate: summary(one) for one in found}


def summary(row) -> dict:
    """Return each number of a candidate in its worst click model."""
    loss = max((one.loss for one in row.worlds), key=lambda found: found.value)
    lost = max(one.lost.value for one in row.worlds)
    return {"right": row.worst.right.value, "loss": loss.value, "reach": (loss.high - loss.low) / 2, "lost": lost}


def fresh_hits(rankings: Rankings, users: str, candidate: str, budget: int, seed: int) -> int:
    """Return the number of new runs of the ordinary simulation that name a right ranker."""
    policy, method = candidate.split("/")
    slates, pairs = (method, "team_draft") if policy in SETS else ("sosm", method)
    ndcg = measure_by_query(rankings, "NDCG@10").mean(axis=1)
    p = 0.5 + 0.5 * (ndcg[:, None] - ndcg)  # `simulate` requires a matrix for regret, which is not used here
    matrix = PreferenceMatrix(p, rankings.names)
    live = Live(rankings, users, pairs=pairs, slates=slates)
    runs = simulate(live, policy, horizon=budget, repetitions=FRESH, seed=seed, jobs=1, preferences=matrix).runs
    right = ndcg >= ndcg.max() - MARGIN - 1e-12
    return int(sum(right[run.recommended[-1]] for run in runs))


def compatible(claim: list[float], hits: int) -> bool:
    """Return whether the interval of the claim and the interval of the new runs overlap."""
    low, high = statistics.clopper_pearson(hits, FRESH, CONFIDENCE)
    return bool(claim[1] <= high and low <= claim[2])


def main() -> None:
    """Run the problems that are missing in the file, or report on the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--only", type=int, nargs="*")
    given = parser.parse_args()
    rows = rows_in(given.file)
    if given.report:
        report(rows, given.picture)
        return
    for number in given.only or spread():
        if number not in numbers_in(given.file):
            row = study(number, given.data)
            with given.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(
                number, row["corpus"], row["rankers"], row["budget"], row.get("advised"), row.get("claim"), flush=True
            )


def rows_in(file: Path) -> list[dict]:
    """Return the results, each problem once; several processes may append to the file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return list({row["number"]: row for row in map(json.loads, lines)}.values())


def numbers_in(file: Path) -> set[int]:
    """Return the finished problems."""
    return {row["number"] for row in rows_in(file)}


def spread() -> list[int]:
    """Return the problems in an order that covers all kinds early."""
    return [(13 * k) % PROBLEMS for k in range(PROBLEMS)]


def report(rows: list[dict], picture: Path | None) -> None:
    """Print the tables, and draw claimed against observed shares."""
    import pandas as pd

    rows = sorted(rows, key=lambda row: row["number"])
    table, claims, covered = [], [], []
    for row in rows:
        if "advised" not in row:
            continue
        for claim, hits in zip(row["claims"], row["seen"], strict=True):
            claims.append((claim, hits / FRESH))
            covered.append(compatible(claim, hits))
        best = row["judged"][row["best"]]
        own, default = row["judged"][row["advised"]], row["hindsight"][DEFAULT]
        more, noise = own["loss"] - best["loss"], np.hypot(own["reach"], best["reach"])
        tenth = WITHIN * abs(best["loss"])
        table.append(
            {
                "problem": f"{row['corpus']}, K = {row['rankers']}",
                "users": row["users"][0] if len(row["users"]) == 1 else "all three",
                "budget": f"{row['budget']:,}",
                "advised": row["advised"],
                "claimed": "{:.2f} ({:.2f} to {:.2f})".format(*row["claim"]),
                "seen": f"{min(row['seen']) / FRESH:.2f}",
                "loss": f"{own['loss']:.4f}",
                "best in hindsight": f"{best['loss']:.4f} ({row['best']})" if best is not own else "the advised",
                "default": f"{default['loss']:.4f}",
                "tenth": more <= tenth,
                "tenth or floor": more <= tenth + FLOOR * MARGIN,
                "refuted": more - noise > tenth + FLOOR * MARGIN,
                "against default": own["loss"] - default["loss"],
                "noise": own["reach"] + default["reach"],
            }
        )
    frame = pd.DataFrame(table)
    worse = frame[frame["against default"] > frame["noise"]]
    print(f"problems: {len(rows)}, of which {len(rows) - len(frame)} have no advised candidate")
    print(f"claims: {len(covered)}, compatible with the fresh runs: {sum(covered)} ({np.mean(covered):.1%})")
    inside = [claim[1] <= seen <= claim[2] for claim, seen in claims]
    print(f"claims whose interval contains the observed share: {sum(inside)} ({np.mean(inside):.1%})")
    print(
        f"within 10 % of the best in hindsight: {frame['tenth'].sum()} of {len(frame)};"
        f" within 10 % plus {FLOOR * MARGIN:g}: {frame['tenth or floor'].sum()};"
        f" outside by more than the noise: {frame['refuted'].sum()}"
    )
    print(f"worse than '{DEFAULT}': {(frame['against default'] > 0).sum()}, by more than the noise {len(worse)}\n")
    print(markdown_table(frame.drop(columns=["against default", "noise", "tenth", "tenth or floor", "refuted"])))
    if picture:
        draw(claims, picture)


def draw(claims: list, picture: Path) -> None:
    """Draw the claims with their intervals against the observed shares of new runs."""
    ax = Figure(figsize=(5, 5), dpi=150, layout="constrained").add_subplot()
    for (value, low, high), seen in claims:
        ax.plot([low, high], [seen, seen], color="#0072B2", lw=0.8, alpha=0.6)
        ax.plot(value, seen, "o", color="#0072B2", ms=4)
    ax.plot([0, 1], [0, 1], color="#6b6b6b", lw=0.8, ls=":")
    ax.set_xlabel("claimed probability, with its interval")
    ax.set_ylabel(f"share right in {FRESH} fresh runs")
    save_figure(ax, picture)


if __name__ == "__main__":
    main()
