"""The value of a step: policies of pairs and of sets, on the coins of a matrix and with simulated users.

    nice -n 15 python -m benchmarks.studies.sets --data DATA study.jsonl   # DATA contains MQ2008, OHSUMED, MSLR_excerpt
    python -m benchmarks.studies.sets --page study.jsonl                  # writes the tables of the explanation

On a matrix, the outcomes of the pairs of a set are independent coins. Users see one list, made by a method of
`METHODS_FOR_SETS`. A line of the file contains the results of a policy with one corpus, one click model, and one source
of outcomes; lines in the file are not computed again. Regret is average regret by a matrix that is estimated with
variance reduction, or Copeland regret if the matrix has no Condorcet winner.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ltr_duel import Live, PreferenceMatrix, estimate_preferences, feature_rankers, load_dataset, simulate
from ltr_duel.analysis import markdown_table
from ltr_duel.preferences import matrix_properties
from ltr_duel.simulation import FromMatrix

CORPORA = {"MQ2008": 40_000, "OHSUMED": 40_000, "MSLR_excerpt": 8_000}  # comparisons of each pair for the reference
LESS_VARIANCE = ("integrated", "antithetic", "control")
CLICKS = ("perfect", "navigational", "informational")
PAIRS = ("rucb", "rmed1", "double_thompson")
SIZES = (2, 3, 5, 10, 20)
SETS = ("mdb", *(f"multi_self_sparring:size={size}" for size in SIZES))
METHODS_FOR_SETS = ("sosm", "probabilistic")
COINS = "coins"
HEADINGS = ("independent coins", "users, SOSM", "users, probabilistic")
RATIOS = (
    "Mean regret with users divided by mean regret with independent coins: the geometric mean over {problems} problems,"
    " and the range from the smallest to the largest ratio. Outcomes per step are means over all problems and sources"
    " of outcomes; a set may contain a ranker twice, and such a pair has no outcome.\n\n"
)
RULES = ("outcome", "ties", "tie_seed")  # keys of the provenance of the reference
PAGE = Path(__file__).parents[2] / "docs" / "explanations" / "what_a_step_is_worth.md"
_PLACE = re.compile(r"(<!-- measured: sets -->\n).*?(<!-- end of measured -->)", re.S)


def study(data: Path, kept: Path, *, quick: bool, runs: int, horizon: int) -> None:
    """Run the missing lines of the file, by corpus and click model."""
    done = {one["name"] for one in read(kept)} if kept.exists() else set()
    for corpus, comparisons in CORPORA.items():
        rankings = feature_rankers(load_dataset(data / corpus / "Fold1"))
        for clicks in CLICKS:
            wanted = [one for one in cells() if f"{corpus} {clicks} {' '.join(one)}" not in done]
            if not wanted:
                continue
            began = time.process_time()
            lists = 200 if quick else comparisons
            options = {"clicks": clicks, "comparisons": lists, "variance_reduction": LESS_VARIANCE, "jobs": 1}
            matrix = estimate_preferences(rankings, **options)
            problem = {"corpus": corpus, "clicks": clicks, "lists": lists, **about(matrix)}
            problem |= {key: matrix.provenance[key] for key in RULES}
            problem["seconds"] = round(time.process_time() - began, 1)
            for answers, policy in wanted:
                users = Live(rankings, clicks, slates=answers if answers in METHODS_FOR_SETS else "sosm")
                source = FromMatrix(matrix, sets="independent_coins") if answers == COINS else users
                began = time.process_time()
                row = {"name": f"{corpus} {clicks} {answers} {policy}", "answers": answers, "policy": policy, **problem}
                row |= measure(source, policy, matrix, runs, horizon)
                with kept.open("a") as file:
                    file.write(json.dumps(row | {"simulated": round(time.process_time() - began, 1)}) + "\n")


def cells() -> Iterator[tuple[str, str]]:
    """Yield the source of outcomes and the policy; policies of pairs need no method for sets."""
    for answers in (COINS, *METHODS_FOR_SETS):
        for policy in (*PAIRS, *SETS) if answers in (COINS, METHODS_FOR_SETS[0]) else SETS:
            yield answers, policy


def about(matrix: PreferenceMatrix) -> dict[str, object]:
    """Describe the reference: the winner with its probability, its smallest gap, and the largest error."""
    sure = matrix_properties(matrix).condorcet_confidence
    likeliest = max(sure, key=sure.__getitem__)
    best = matrix.names.index(likeliest)
    return {
        "rankers": len(matrix),
        "winner": matrix.condorcet_winner,
        "sure": float(sure[likeliest]),
        "gap": float(np.delete(matrix.p[best], best).min() - 0.5),
        "error": float(np.max(matrix.standard_error)),
    }


def measure(
    source: FromMatrix | Live, policy: str, matrix: PreferenceMatrix, runs: int, horizon: int
) -> dict[str, object]:
    """Return mean regret, its standard error, outcomes per step, and the share of runs that name the winner."""
    made = simulate(source, policy, horizon=horizon, repetitions=runs, jobs=1, preferences=matrix).to_frame()
    regret = "average" if matrix.condorcet_winner else "copeland"
    last = made[made["t"] == horizon]
    values = last[f"regret_{regret}"]
    return {
        "horizon": horizon,
        "runs": runs,
        "regret": regret,
        "mean": float(values.mean()),
        "error_of_mean": float(values.sem()),
        "outcomes": float(last["outcomes"].mean() / horizon),
        "right": float((last["recommended"] == matrix.condorcet_winner).mean()) if matrix.condorcet_winner else None,
    }


def read(kept: Path) -> list[dict]:
    """Read the lines of the file."""
    return [json.loads(line) for line in kept.read_text().splitlines()]


def page(rows: Sequence[dict]) -> str:
    """Write the tables: the references of regret, the means over all problems, and a table for each corpus."""
    by_name = {row["name"]: row for row in rows}
    one = rows[0]
    sentence = (
        f"{one['horizon']:,} steps; means of {one['runs']} runs, ± the standard error of the mean; in brackets the"
        " share of runs that name the winner at the end, unless all runs do."
        f" Outcome rule: {_only(rows, 'outcome')}; documents with equal scores: {_only(rows, 'ties')}, tie seed"
        f" {_only(rows, 'tie_seed')}."
    )
    parts = [sentence, problems(rows), means(by_name), best_sizes(by_name)]
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        parts.append(f"### {corpus}")
        parts.append(of_corpus(corpus, by_name))
    return "\n\n".join(parts)


def _only(rows: Sequence[dict], key: str) -> str:
    """Return the value of a key that all references share; runs under different rules cannot share a table."""
    found = {str(row[key]) for row in rows}
    if len(found) > 1:
        raise SystemExit(f"the references differ in '{key}': {', '.join(sorted(found))}; begin a new file")
    return found.pop()


def problems(rows: Sequence[dict]) -> str:
    """Write the table of the references by which regret is measured."""
    found = {(row["corpus"], row["clicks"]): row for row in rows}
    return table(
        ["corpus", "clicks", "rankers", "lists of each pair", "winner", "P(it beats all)", "margin", "largest error"],
        [
            [
                corpus, clicks, str(row["rankers"]), f"{row['lists']:,}", row["winner"] or "none (Copeland regret)",
                "> 0.999" if row["sure"] > 0.9995 else f"{row['sure']:.3f}", f"{row['gap']:.4f}", f"{row['error']:.4f}",
            ]
            for (corpus, clicks), row in found.items()
        ],
    )  # fmt: skip


def means(rows: dict[str, dict]) -> str:
    """Write the ratio of a policy's regret with users to its regret on the matrix, over all problems."""
    lines = []
    for policy in (*PAIRS, *SETS):
        line = [f"`{policy}`", f"{np.mean([one['outcomes'] for one in rows.values() if one['policy'] == policy]):.1f}"]
        for answers in METHODS_FOR_SETS:
            ratios = [
                one["mean"] / rows[name.replace(f" {answers} ", f" {COINS} ")]["mean"]
                for name, one in rows.items()
                if one["policy"] == policy and one["answers"] == answers
            ]
            line.append(
                f"{np.exp(np.mean(np.log(ratios))):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
            )
        lines.append(line)
    return RATIOS.format(problems=len({(one["corpus"], one["clicks"]) for one in rows.values()})) + table(
        ["policy", "outcomes per step (mean)", "users, SOSM / coins", "users, probabilistic / coins"], lines
    )


def best_sizes(rows: dict[str, dict]) -> str:
    """Write the number of problems in which each size of Self-Sparring's sets has the least regret."""
    ways, problems = (COINS, *METHODS_FOR_SETS), {(one["corpus"], one["clicks"]) for one in rows.values()}
    sets = SETS[1:]
    counts = {policy: dict.fromkeys(ways, 0) for policy in sets}
    for corpus, clicks in problems:
        for way in ways:
            regret = {policy: rows[f"{corpus} {clicks} {way} {policy}"]["mean"] for policy in sets}
            counts[min(sets, key=regret.__getitem__)][way] += 1
    lines = [[f"`{policy}`", *(str(found[way]) for way in ways)] for policy, found in counts.items()]
    header = [f"number of the {len(problems)} problems with the least regret of the five sizes", *HEADINGS]
    return table(header, lines)


def of_corpus(corpus: str, rows: dict[str, dict]) -> str:
    """Write the regret of each policy under each click model."""
    lines = []
    for clicks in CLICKS:
        for policy in (*PAIRS, *SETS):
            found = [rows.get(f"{corpus} {clicks} {answers} {policy}") for answers in (COINS, *METHODS_FOR_SETS)]
            lines.append([clicks, f"`{policy}`", *map(cell, found)])
    return table(["clicks", "policy", *HEADINGS], lines)


def cell(row: dict | None) -> str:
    """Write a mean with its error, and the share of right runs."""
    if row is None:
        return ""
    digits = 0 if row["mean"] >= 100 else 1
    share = "" if row["right"] in (None, 1) else f" ({row['right']:.0%})"
    return f"{row['mean']:,.{digits}f} ± {row['error_of_mean']:,.{digits}f}{share}"


def table(header: list[str], lines: list[list[str]]) -> str:
    """Write a table in Markdown."""
    return markdown_table(pd.DataFrame(lines, columns=header))


def main() -> None:
    """Run the study, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kept", type=Path, help="the file of results, one line per result")
    parser.add_argument("--data", type=Path, help="the folder of the corpora")
    parser.add_argument("--quick", action="store_true", help="3 runs of 2,000 steps, with a rough matrix")
    parser.add_argument("--page", action="store_true", help="write the tables into the page")
    given = parser.parse_args()
    if given.data:
        size = {"runs": 3, "horizon": 2_000} if given.quick else {"runs": 10, "horizon": 50_000}
        study(given.data, given.kept, quick=given.quick, **size)
    text = f"\n{page(read(given.kept))}\n\n"
    if given.page:
        PAGE.write_text(_PLACE.sub(lambda found: found[1] + text + found[2], PAGE.read_text()))
    else:
        print(text)


if __name__ == "__main__":
    main()
