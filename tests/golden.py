"""Digests of the numbers of every sampler, at sizes that are feasible in plain Python.

A row is a name and a function that returns the arrays of a result. Their bytes are hashed, not their text.
The table also contains the numbers versions above 1 in the provenance of the result.
``python -m tests.golden`` renews ``tests/golden.toml``, and refuses a row whose digest changed while its versions did
not.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import tomli_w

from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS, FORMS, ClickModel, Sessions, fit_clicks
from ltr_duel.data import Dataset
from ltr_duel.experiment import Backend, StudyResults, make_schedule, run_experiment
from ltr_duel.interleaving import METHODS
from ltr_duel.logs import simulate_log
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences
from ltr_duel.rankers import Rankings, feature_rankers
from ltr_duel.rankers.ties import TIE_RULES
from ltr_duel.simulation import FromMatrix, FromUtilities, RunKey, SimulatedUsers, simulate

TABLE = Path(__file__).with_name("golden.toml")
PLAIN = {"outcome": "marginal_sign", "variance_reduction": "none"}
SMALL = {"comparisons": 120, "top": 5, "seed": 3, "jobs": 1, **PLAIN}  # settings of an estimate

FREE = ("fit", "log")  # rows of results that are never resumed, and have no version

STUDY = """
policies = ["rucb", "mdb"]
horizon = [40, 200]
repetitions = 2
seed = 7

[[matrices]]
name = "three arms"
p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
answers = "independent_coins"

[[corpora]]
synthetic = { queries = 4, documents = 6, features = 4, grades = 2 }
comparisons = 40
clicks = "perfect"
outcome = "marginal_sign"
variance_reduction = "none"
answers = ["independent_coins", "users"]
"""

Made = dict[str, Any]  # arrays and texts, keyed by meaning
VERSIONS = "numbers"  # key of the entry that is not hashed


def line_of(made: Made) -> str:
    """Return the SHA-256 of arrays with their names, types and shapes, equal on all machines, and the versions."""
    digest, versions = hashlib.sha256(), made.pop(VERSIONS, "")
    for name, value in made.items():
        if not isinstance(value, bytes):
            array = np.asarray(value)
            array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            value = f"{array.dtype.kind}{array.dtype.itemsize} {array.shape} ".encode() + array.tobytes()
        digest.update(f"{name} {len(value)} ".encode() + value)
    return f"{digest.hexdigest()} {versions}".strip()


def seven_arms() -> PreferenceMatrix:
    """Return a matrix with a Condorcet winner in the middle and two identical arms."""
    worth = np.array([3, 0, 5, 6, 1, 1, 4])
    return PreferenceMatrix(0.5 + (worth[:, None] - worth) / 16)


def corpus(grades: int) -> Dataset:
    """Return 6 queries with 10 documents; all five features except the last order the documents without ties."""
    document, query = np.tile(np.arange(10), 6), np.repeat(np.arange(6), 10)
    columns = [(document * (2 * k + 3) + 5 * query * (k + 1)) % 13 for k in range(4)]
    features = np.asfortranarray(np.stack([*columns, document % 3], axis=1).astype(np.float32))
    relevance = ((document * document + query) % grades).astype(np.int16)
    names = tuple("abcde")
    ids = np.array([str(q) for q in range(6)])
    return Dataset(features, relevance, np.arange(7) * 10, ids, None, "toy", grades, "0" * 64, names)


@cache
def rankings(grades: int = 3, ties: Any = "fixed_random") -> Rankings:
    """Return the feature rankers of the corpus."""
    return feature_rankers(corpus(grades), ties=ties, seed=1, jobs=1)


def ranked(ties: Any) -> Made:
    """Return the orders under a tie rule."""
    made = rankings(3, ties)
    return {"order": made.order, "tied": made.tied, VERSIONS: " ".join(_words(made.provenance))}


def users() -> ClickModel:
    """Return a click model with every parameter that a fitted table may contain."""
    return ClickModel(
        "fitted", (0.0625, 0.5, 0.875), (0.125, 0.25, 0.75), p_leave=(0.0625, 0.125, 0.25), p_notice=(1.0, 0.75, 0.5)
    )


def runs(source: Any, *policies: str, horizon: int = 2000, repetitions: int = 2) -> Made:
    """Return the arrays of runs, keyed by label and repetition, and the numbers versions."""
    if isinstance(source, PreferenceMatrix):
        source = FromMatrix(source, sets="independent_coins")
    results = simulate(
        source, policies, horizon=horizon, repetitions=repetitions, seed=5, jobs=1, preferences=_measured_by(source)
    )
    made = {f"{run.label} {run.key.repetition} {part}": value for run in results.runs for part, value in _parts(run)}
    return made | {VERSIONS: _versions(run.key for run in results.runs)}


def _versions(keys: Iterable[RunKey]) -> str:
    said = [" ".join([key.source, "random-labels", *_words(key.oracle)]) for key in keys]
    return " ".join(dict.fromkeys(" ".join(said).split()))


def _words(provenance: dict[str, Any]) -> list[str]:
    return [f"{name}:{version}" for name, version in provenance.get("numbers", {}).items()]


def _measured_by(source: Any) -> PreferenceMatrix:
    if isinstance(source, FromMatrix):
        return source.matrix
    size = len(source.names)
    return PreferenceMatrix(0.5 + (np.arange(size) - np.arange(size)[:, None]) / 16, source.names)


def _parts(run: Any) -> Iterator[tuple[str, Any]]:
    yield "key", run.key.digest.encode()
    yield "decisions", np.int64(run.decisions)
    for part in ("checkpoints", "pulls", "exposure", "recommended", "best", "worst"):
        if getattr(run, part) is not None:
            yield part, getattr(run, part)


def estimate(of: Rankings, **given: Any) -> Made:
    """Return the counts of an estimate."""
    matrix = estimate_preferences(of, **SMALL | given)
    counts = {"p": matrix.p, "error": matrix.standard_error, **matrix.tally._asdict()}
    return counts | {VERSIONS: " ".join(_words(matrix.provenance))}


def fitted(form: str) -> Made:
    """Return the parameters of a click model after ten steps, to nine digits: logarithms differ in the last ones."""
    place = np.arange(600)
    item, click = place * place % 7 % 3, (place * place + place // 5) % 11 < 4 - place % 5 // 2
    found = fit_clicks(
        Sessions(np.arange(0, 601, 5), item, click, np.zeros(120, np.int64), 3, True), form, iterations=10
    )
    return {name: np.round(block.values, 9) for name, block in found.blocks.items()}


def log(policy: str, **given: Any) -> Made:
    """Return the impressions of simulated users without the clock (not a whole number) and the policy's name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        simulate_log(path, rankings(), policy=policy, top=5, horizon=200, seed=2, **given)
        columns = pq.read_table(path).drop_columns(["time", "policy"]).to_pydict()
        return {name: json.dumps(column).encode() for name, column in columns.items()}


def study() -> Made:
    """Return the runs of an experiment with two problems, by digest."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "study.toml"
        spec.write_text(STUDY, encoding="utf-8")
        run_experiment(make_schedule(spec, jobs=1), Path(folder) / "store", backend=Backend(jobs=1))
        made, keys = {}, []
        for study, results in StudyResults(Path(folder) / "store"):
            problem = study.problem.replace("users", "live")  # its name when the row was made
            for run in sorted(results.runs, key=lambda run: run.key.digest):
                made |= {f"{problem} {run.key.digest} {part}": value for part, value in _parts(run)}
                keys.append(run.key)
        return made | {VERSIONS: _versions(keys)}


def rows() -> dict[str, Callable[[], Made]]:
    """Return the function of each row."""
    matrix, toy = seven_arms(), rankings()
    policies = [policy for policy in POLICIES if policy.select.__module__.startswith("ltr_duel.")]  # no test's
    methods = [method for method in METHODS if method.init.__module__.startswith("ltr_duel.interleaving.methods.")]
    pairs = [(method.name, outcome) for method in methods if method.pairs for outcome in method.outcomes]
    slates = [method.name for method in methods if method.slates]
    families = [(family.name, grades) for family in CLICK_MODELS for grades in family.tables]
    return {
        **{f"policy {policy.name}": partial(runs, matrix, policy.name) for policy in policies},
        **{f"method {name} {outcome}": partial(estimate, toy, method=name, outcome=outcome) for name, outcome in pairs},
        **{f"method {name} of sets": partial(_sets, name) for name in slates},
        "reduction all": partial(estimate, toy, variance_reduction="auto", comparisons=240),
        "blocks of sets": partial(estimate, toy, size=3, comparisons=300),
        "blocks": partial(estimate, feature_rankers(corpus(3), features=["a", "b"], jobs=1), comparisons=4100),
        **{f"rankings {ties}": partial(ranked, ties) for ties in TIE_RULES},
        **{f"ties {ties}": partial(estimate, rankings(3, ties)) for ties in ("resample", "redraw_at_inference")},
        "ties resample, reduced": partial(estimate, rankings(3, "resample"), variance_reduction="auto"),
        **{f"clicks {name} {n}": partial(estimate, rankings(n), clicks=name) for name, n in families},
        "clicks fitted": partial(estimate, toy, clicks=users()),
        **{f"fit {form}": partial(fitted, form) for form in FORMS},
        "live coins": partial(
            runs, SimulatedUsers(toy, "navigational", outcome="marginal_sign", top=5), "rucb", "mdb", horizon=300
        ),
        "live halves": partial(
            runs,
            SimulatedUsers(toy, users(), pairs="team_draft", ties="half", top=5),
            "mdb",
            horizon=300,
        ),
        **{
            f"utilities {link}": partial(runs, FromUtilities([0.75, 0.5, 0.25], link=link), "rucb", "mdb", horizon=300)
            for link in ("linear", "logistic", "natural")
        },
        "utilities normal": partial(runs, FromUtilities([1.0, 0.5, 0.0], "normal"), "rucb", "mdb", horizon=300),
        "log of pairs": partial(log, "rucb", outcome="sampled"),
        "study": study,
    }


def _sets(method: str) -> Made:
    return runs(SimulatedUsers(rankings(), slates=method, top=5), "mdb", horizon=200, repetitions=1)


def kept() -> dict[str, str]:
    """Return the digests in the table."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def renew() -> None:
    """Rewrite the table, unless the numbers of a row changed under the same versions."""
    before, now = kept(), {name: line_of(make()) for name, make in rows().items()}
    same = [name for name, line in now.items() if name in before and line[64:] == before[name][64:]]
    if changed := [name for name in same if now[name] != before[name] and not name.startswith(FREE)]:
        sys.exit(f"nothing was written: raise the numbers versions of {', '.join(changed)} first")
    TABLE.write_text(tomli_w.dumps(now), encoding="utf-8")


if __name__ == "__main__":
    renew()
