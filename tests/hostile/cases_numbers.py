"""Hostile numbers: too large, not whole, not numbers; on the command line, in an experiment's file, and from Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ltr_duel import load_dataset, simulate
from ltr_duel.bandits import POLICIES, LivePolicy
from ltr_duel.core import stream
from ltr_duel.data import Dataset, make_corpus, write_svmlight
from ltr_duel.experiment import StudyResults, read_spec
from ltr_duel.preferences import arxiv, estimate_preferences
from ltr_duel.rankers import Rankings, feature_rankers, rankers_named
from ltr_duel.simulation import (
    FromMatrix,
    FromUtilities,
    Live,
    Results,
    checkpoints,
    measure_distortion,
    measure_sensitivity,
)
from tests.hostile.case import Case

DIGITS = "9" * 400
FILES = {
    "m.txt": "0.5 0.7 0.8\n0.3 0.5 0.6\n0.2 0.4 0.5\n",
    "corpus.txt": "".join(f"{(q + d) % 3} qid:{q} 1:{d} 2:{q * d % 5}\n" for q in range(1, 4) for d in range(6)),
}
SIMULATE = ("simulate", "m.txt", "--policy", "rucb", "--horizon", "10", "--jobs", "1")
ESTIMATE = ("prefs", "estimate", "corpus.txt", "--jobs", "1", "--out", "new.parquet")
SENSITIVITY = ("sensitivity", "corpus.txt", "--jobs", "1")


def typed(words: tuple[str, ...], option: str, value: str, says: str) -> Case:
    name = f"{words[0]} {words[1] if words[0] == 'prefs' else ''}{option} {value[:20]}"
    return Case(name, (*words, option, value), files=FILES, says=says)


def written(name: str, text: str, says: str, *, whole: bool = False) -> Case:
    rest = "" if whole else "policies = 'rucb'\nmatrices = [{ file = 'm.txt' }]\n"
    return Case(f"spec: {name}", ("run", "e.toml", "--dry-run"), files={**FILES, "e.toml": rest + text}, says=says)


def called(name: str, call: Callable[[], Any], says: str) -> Case:
    return Case(f"call: {name}", call=call, files=FILES, says=says)


@functools.cache
def corpus() -> Dataset:
    return make_corpus(queries=3, documents=5, features=3)


@functools.cache
def rankings() -> Rankings:
    return feature_rankers(corpus(), jobs=1)


def simulated(**options: Any) -> Callable[[], Results]:
    given = {"policies": "random", "horizon": 10, "repetitions": 1, "jobs": 1} | options
    return lambda: simulate(arxiv(), **given, compiled=False)


def estimated(**options: Any) -> Callable[[], Any]:
    return lambda: estimate_preferences(rankings(), **({"comparisons": 4, "jobs": 1} | options))


CASES = [
    typed(SIMULATE, "--repetitions", "1e30", "the number of repetitions must be between 1 and 1e.06, not 1000"),
    typed(SIMULATE, "--repetitions", "1e9", "the number of repetitions must be between 1 and 1e.06"),
    typed(SIMULATE, "--repetitions", "nan", "'nan' is not a whole number"),
    typed(SIMULATE, "--repetitions", "inf", "'inf' is not a whole number"),
    typed(SIMULATE, "--repetitions", "1.5", "'1.5' is not a whole number"),
    typed(SIMULATE, "--repetitions", "9" * 5000, r"999\.\.\.999.* \(5,0\d\d characters\)"),
    typed(SIMULATE, "--jobs", "1e9", "the number of jobs must be between 1 and 4096, not 1000000000"),
    typed(SIMULATE, "--jobs", "0", "at least 1, or -1 for all cores, not 0"),
    typed(SIMULATE, "--jobs", DIGITS, "between 1 and 4096, not an integer of more than 300 digits"),
    typed(SIMULATE, "--horizon", "1e16", "the horizon must be between 1 and 1e.15, not 10000000000000000"),
    typed(SIMULATE, "--horizon", DIGITS, "the horizon must be .* not an integer of more than 300 digits"),
    typed(SIMULATE, "--horizon", "x" * 400, r"'xxx\S*\.\.\.x* *\S*x' \(402 characters\) is not a whole number"),
    typed(SIMULATE, "--seed", "x", "'x' is not a whole number"),
    typed(SIMULATE, "--seed", DIGITS, "the seed must be between .* not an integer of more than 300 digits"),
    typed(SIMULATE, "--policy", "rucb:alpha=1,alpha=2", "alpha is given twice"),
    typed(SIMULATE, "--policy", f"rucb:alpha={DIGITS}", r"alpha must be at least 0.01, not inf"),
    typed(SIMULATE, "--policy", "mdb:alpha=1e400", "alpha must be at least 0, not inf"),
    typed(SIMULATE, "--policy", "rucb:" + "[" * 5000, r"no parameter of policy rucb called .*characters\)"),
    typed(SIMULATE, "--policy", "x" * 5000, r"no policy .*characters\)"),
    typed(SIMULATE, "--policy", "a\nb", r"no policy 'ab'"),
    typed(SIMULATE, "--rankers", ",", "--rankers requires --live"),
    typed(ESTIMATE, "--rankers", ",", "names no feature"),
    typed(ESTIMATE, "--rankers", DIGITS, r"no feature in corpus called .*characters\)"),
    typed(ESTIMATE, "--comparisons", "1e30", "at most 1,073,741,824 comparisons of a pair are possible, not 1000"),
    typed(ESTIMATE, "--comparisons", DIGITS, "not an integer of more than 300 digits"),
    typed(ESTIMATE, "--top", "1e30", "the number of documents shown must be between 1 and 1000"),
    typed(ESTIMATE, "--target-error", "nan", "must be between 1e-05 and 0.5, not nan"),
    typed((*ESTIMATE, "--target-error", "0.1"), "--at-most", "1e30", "at most 1,073,741,824 comparisons"),
    typed(ESTIMATE, "--until-winner", "1e400", "must be between 0.5 and 0.999999, not inf"),
    typed(ESTIMATE, "--jobs", "1e9", "the number of jobs must be between 1 and 4096"),
    typed(ESTIMATE, "--clicks", "perfect:position_bias=1e400", "position_bias must be at least 0, not inf"),
    typed(ESTIMATE, "--method", f"probabilistic:tau={DIGITS}", "tau must be between 0 and 100, not inf"),
    typed(ESTIMATE, "--ties", "x" * 400, r"no tie rule .*characters\)"),
    typed(SENSITIVITY, "--repetitions", "1e30", "the number of repetitions must be between 1 and 1e.06"),
    typed(SENSITIVITY, "--pairs", "1e30", "the number of pairs must be between 1 and 1e.09"),
    typed(SENSITIVITY, "--impressions", "1e30", "the number of impressions must be between 1 and 1e.09"),
    typed(SENSITIVITY, "--least-gap", "nan", "must be between 0 and 1, not nan"),
    typed(("demo", "--data", "corpus.txt"), "--jobs", "1e9", "the number of jobs must be between 1 and 4096"),
    typed(("demo", "--data", "corpus.txt"), "--horizon", "1e30", "the horizon must be between 1 and 1e.15"),
    typed(("prefs", "show", "m.txt"), "--rows", "-1", "--rows.*at least 0, not -1"),
    typed(("prefs", "compare", "m.txt", "m.txt"), "--rows", "-1", "--rows.*at least 0, not -1"),
    written("9 10^8 runs", f"horizon = [{', '.join(map(str, range(1, 91)))}]\nrepetitions = 10_000_000",
            "900,000,000 runs; an experiment has at most 10,000,000"),
    written("a horizon of 1.5", "horizon = 1.5", "horizon: must be a whole number, not 1.5"),
    written("a horizon of 400 digits", f"horizon = {DIGITS}", "not an integer of more than 300 digits"),
    written("a horizon of 5,000 digits", f"horizon = {'9' * 5000}", "not TOML: .*digits"),
    written("a horizon that is a date", "horizon = 2020-01-01", "must be a whole number, not 2020-01-01"),
    written("an infinite horizon", "horizon = inf", "must be a whole number, not inf"),
    written("10^30 repetitions", "repetitions = 1" + "0" * 30, "must be between 1 and 1e.07"),
    written("a seed of text", "seed = 'x'", "seed: must be a whole number, not 'x'"),
    written("5,000 nested brackets", f"x = {'[' * 5000}{']' * 5000}", "its brackets are nested too deeply"),
    written("nested brackets as p", f"matrices = [{{ name = 'x', p = {'[' * 5000}{']' * 5000} }}]",
            "nested too deeply", whole=True),
    written("a key of 50,000 parts", ".".join("a" * 50_000) + " = 1", "a key of more than 50 parts"),
    written("a table of 5,000 parts", "[" + ".".join("a" * 5_000) + "]", "a key of more than 50 parts"),
    written("a key of 5,000 letters", "x" * 5000 + " = 1", r"no key .*characters\)"),
    written("a regret of 5,000 letters", f"regrets = '{'x' * 5000}'", "must be a string of at most 4,096 characters"),
    written("alpha twice", "policies = 'rucb:alpha=1,alpha=2'\nutilities = [{ set = '1good5poor' }]",
            "alpha is given twice", whole=True),
    called("horizon=1.5", simulated(horizon=1.5), "the horizon must be a whole number, not 1.5"),
    called("horizon='x'", simulated(horizon="x"), "the horizon must be a whole number, not 'x'"),
    called("horizon=None", simulated(horizon=None), "the horizon must be a whole number, not None"),
    called("horizon=True", simulated(horizon=True), "the horizon must be a whole number, not True"),
    called("horizon=nan", simulated(horizon=float("nan")), "the horizon must be a whole number, not nan"),
    called("horizon=array", simulated(horizon=np.array([1, 2])), "must be a whole number, not a ndarray"),
    called("horizon=10**400", simulated(horizon=10**400), "not an integer of more than 300 digits"),
    called("repetitions=1.5", simulated(repetitions=1.5), "repetitions must be a whole number, not 1.5"),
    called("repetitions=1e30", simulated(repetitions=1e30), "repetitions must be between 1 and 1e.06"),
    called("seed='x'", simulated(seed="x"), "the seed must be a whole number, not 'x'"),
    called("seed=1.5", simulated(seed=1.5), "the seed must be a whole number, not 1.5"),
    called("seed=Generator", simulated(seed=np.random.default_rng(0)), "a whole number, not a Generator"),
    called("seed=10**5000", simulated(seed=10**5000), "not an integer of more than 300 digits"),
    called("stream('x')", lambda: stream("x"), "the seed must be a whole number, not 'x'"),
    called("jobs=10**9", simulated(jobs=10**9), "the number of jobs must be between 1 and 4096"),
    called("jobs='x'", simulated(jobs="x"), "the number of jobs must be a whole number, not 'x'"),
    called("checkpoints_per_decade=10**12", simulated(checkpoints_per_decade=10**12), "between 1 and 10000"),
    called("checkpoints(1.5)", lambda: checkpoints(1.5), "must be a whole number, not 1.5"),
    called("policies=None", simulated(policies=None), "must be a name or a list of names, not None"),
    called("policies=[5]", simulated(policies=[5]), "a policy must be a name or an object of that kind, not 5"),
    called("policies of lists", simulated(policies=[["rucb"]]), "must be a name or an object of that kind, not a list"),
    called("configure(None)", lambda: POLICIES.configure(None), "must be a name or an object of that kind, not None"),
    called("POLICIES[[]]", lambda: POLICIES[[]], "no policy a list"),
    called("simulate(array)", lambda: simulate(np.eye(2), "rucb"), "or an oracle, not a ndarray"),
    called("preferences=array", lambda: simulate(FromMatrix(arxiv()), "rucb", preferences=np.eye(2)),
           "regret is measured by a PreferenceMatrix, not by a ndarray"),
    called("FromMatrix(array)", lambda: FromMatrix(np.eye(2)), "needs a PreferenceMatrix, not a ndarray"),
    called("FromUtilities('x')", lambda: FromUtilities("x"), "means must be a list of numbers"),
    called("FromUtilities(complex)", lambda: FromUtilities([1j]), "not complex128"),
    called("FromUtilities, a name", lambda: FromUtilities([0.1, 0.2], names=["a"]), "2 arms need 2 different names"),
    called("FromUtilities([])", lambda: FromUtilities([]), "means must be a list of numbers"),
    called("FromUtilities(rows)", lambda: FromUtilities([[1.0, 2.0]]), r"not float64 of shape \(1, 2\)"),
    called("Results(5)", lambda: Results(5, arxiv()), "a list of RunResult, not of 5"),
    called("Results of None", lambda: Results([], None), "by a PreferenceMatrix, not by None"),
    called("Results of values", lambda: Results([], arxiv(), {"utility": [1]}), r"6 numbers, .* not of shape \(1,\)"),
    called("Results of nothing", lambda: Results([], arxiv()).to_frame(), "there is no run"),
    called("LivePolicy of 1.5 arms", lambda: LivePolicy("rucb", 1.5), "arms must be a whole number, not 1.5"),
    called("LivePolicy of 10^9 arms", lambda: LivePolicy("rucb", 10**9), "arms must be between 1 and 100000"),
    called("estimate(None)", lambda: estimate_preferences(None), "rankings must be Rankings, .* not None"),
    called("estimate(Dataset)", lambda: estimate_preferences(corpus()), "must be Rankings, .* not a Dataset"),
    called("comparisons=4.5", estimated(comparisons=4.5), "comparisons must be a whole number, not 4.5"),
    called("at_most=10**30", estimated(at_most=10**30, target_error=0.1), "at most 1,073,741,824 comparisons"),
    called("top='x'", estimated(top="x"), "documents shown must be a whole number, not 'x'"),
    called("clicks=5", estimated(clicks=5), "a click model must be a name or an object of that kind, not 5"),
    called("method=None", estimated(method=None), "a comparison method must be a name or an object of that kind"),
    called("outcome=5", estimated(outcome=5), "no outcome rule of probabilistic called 5"),
    called("against=5", estimated(against=5), "no ranker 5; "),
    called("target_error='x'", estimated(target_error="x"), "must be between 1e-05 and 0.5, not 'x'"),
    called("variance_reduction=5", estimated(variance_reduction=5), "no variance reduction 5"),
    called("store=5", estimated(store=5), "the store must be the path of a folder, not 5"),
    called("store=file", estimated(store="m.txt"), "m.txt is a file, not a folder"),
    called("Live(None)", lambda: Live(None), "rankings must be Rankings, .* not None"),
    called("weights='x'", lambda: Live(rankings(), weights="x"), "query weights must be a list of numbers"),
    called("pairs=1.5", lambda: measure_sensitivity(rankings(), pairs=1.5), "pairs must be a whole number, not 1.5"),
    called("methods=5", lambda: measure_sensitivity(rankings(), methods=5), "methods must be a list of names, not 5"),
    called("sizes=3", lambda: measure_distortion(rankings(), sizes=3), "sets must be a list of numbers, not 3"),
    called("sizes=[2.5]", lambda: measure_distortion(rankings(), sizes=[2.5]), "a whole number, not 2.5"),
    called("features=5", lambda: feature_rankers(corpus(), features=5), "features must be a list of names, not 5"),
    called("features=[1]", lambda: feature_rankers(corpus(), features=[1]), "must be a list of names, not 1"),
    called("ties=5", lambda: feature_rankers(corpus(), ties=5), "no tie rule 5"),
    called("rankers of None", lambda: feature_rankers(None), "rankers require a Dataset, not None"),
    called("words=[5]", lambda: rankers_named(corpus(), [5]), "rankers must be a list of names, not 5"),
    called("rankings[[-1]]", lambda: rankings()[[-1]], "numbered from 0 to 2; there is no -1"),
    called("rankings['1']", lambda: rankings()["1"], "by a list of names or positions, not by '1'"),
    called("load_dataset(None)", lambda: load_dataset(None), "the path of a file or folder, not None"),
    called("load_dataset(null)", lambda: load_dataset("\0"), r"the path of a file or folder, not '\\x00'"),
    called("queries=1.5", lambda: make_corpus(queries=1.5), "queries must be a whole number, not 1.5"),
    called("queries=10**12", lambda: make_corpus(queries=10**12), "must be at most 10,000,000,000"),
    called("write None", lambda: write_svmlight(None, "a.txt"), "a Dataset and a path are required, not None"),
    called("read_spec(5)", lambda: read_spec(5), "an experiment must be the path of a file or folder, not 5"),
    called("StudyResults(5)", lambda: StudyResults(5), "must be the path of a file or folder, not 5"),
]  # fmt: skip
