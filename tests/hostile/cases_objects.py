"""Hostile arguments from Python: objects of another type, tables without columns, names that are too long."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel import interleave, load_dataset, simulate
from ltr_duel.analysis import (
    latex_table,
    markdown_table,
    plot_accuracy,
    plot_against_arms,
    plot_identification,
    plot_measures,
    plot_preferences,
    plot_regret,
    plot_sensitivity,
    policies_table,
    rankers_table,
    save_figure,
    summary_table,
)
from ltr_duel.core import load_plugin
from ltr_duel.data import (
    Dataset,
    convert,
    describe,
    feature_files,
    is_converted,
    make_corpus,
    write_svmlight,
)
from ltr_duel.experiment import StudyResults, read_spec, read_status, run_experiment
from ltr_duel.preferences import arxiv, gaps
from ltr_duel.rankers import (
    Rankings,
    evaluate_rankers,
    feature_rankers,
    pool_runs,
    rankers_named,
    run_rankers,
)
from ltr_duel.simulation import Results, distortion_table
from tests.hostile.case import Case

LONG = "a" * 300
FILES = {"corpus.txt": "".join(f"{(q + d) % 3} qid:{q} 1:{d} 2:{q * d % 5}\n" for q in range(1, 4) for d in range(6))}


def called(name: str, call: Callable[[], Any], says: str) -> Case:
    return Case(f"call: {name}", call=call, files=FILES, says=says)


@functools.cache
def corpus() -> Dataset:
    return make_corpus(queries=3, documents=5, features=3)


@functools.cache
def rankings() -> Rankings:
    return feature_rankers(corpus())


@functools.cache
def one_run() -> Results:
    return simulate(arxiv(), "rucb", horizon=10, repetitions=1)


CASES = [
    called("limit='x'", lambda: load_dataset("corpus.txt", limit="x"), "a number of gigabytes above 0, not 'x'"),
    called("fill='x'", lambda: load_dataset("corpus.txt", fill="x"), "no fill 'x'"),
    called("fill=[1]", lambda: load_dataset("corpus.txt", fill=[1]), "finite number of float32, .* not a list"),
    *(called(f"{option}={value if isinstance(value, str) else type(value).__name__}",
             functools.partial(load_dataset, "corpus.txt", **{option: value}), says)
      for option, value, says in (
          ("first_id", np.zeros(3), "the first feature must be 0 or 1, not a ndarray"),
          ("first_id", True, "the first feature must be 0 or 1, not True"),
          ("labels", np.zeros(3), "no way to read labels a ndarray"),
          ("unlabelled", np.zeros(3), "no way to treat unlabelled documents a ndarray"),
          ("repeated", np.zeros(3), "no way to read repeated features a ndarray"),
          ("dialect", [1, 2], "the dialect must be a str, not a list"),
          ("fill", 10**400, "finite number of float32, .* not an integer of more than 300 digits"),
          ("features", True, "features must be a whole number, not True"),
          ("limit", 10**400, "a number of gigabytes above 0, not an integer of more than 300 digits"),
          ("name", 5, "the name of a corpus must be a str, not 5"),
          ("grades", "x", "the number of grades must be a whole number, not 'x'"),
          ("feature_names", 5, "the names of features must be a list of names, not 5"),
      )),
    called("split=array", lambda: feature_files(".", np.zeros(3)), "no split a ndarray"),
    called("Dataset with grades 'x'", lambda: replace(corpus(), grades="x"), "grades must be a whole number, not 'x'"),
    called("is_converted(5)", lambda: is_converted(5), "a corpus must be the path of a file or folder, not 5"),
    called("ties=array", lambda: feature_rankers(corpus(), ties=np.zeros(3)), "no tie rule a ndarray"),
    called("measures=5", lambda: evaluate_rankers(rankings(), 5), "measures must be a list of names, not 5"),
    called("evaluate(5)", lambda: evaluate_rankers(5), "rankings must be a Rankings, not 5"),
    called("run_rankers(5)", lambda: run_rankers(corpus(), 5), "runs must be a Mapping, not 5"),
    called("run_rankers({'a': 5})", lambda: run_rankers(corpus(), {"a": 5}), "each run must be a MatchedRun, not 5"),
    called("pool_runs(5, 5)", lambda: pool_runs(5, 5), "runs must be a mapping of names to runs, not 5"),
    called("run_experiment('x')", lambda: run_experiment("x", "o"), "of make_schedule, must be a Schedule, not 'x'"),
    called("gaps(5)", lambda: gaps(5), "the matrix must be a PreferenceMatrix, not 5"),
    called("describe(5)", lambda: describe(5), "the corpus must be a Dataset, not 5"),
    called("convert(5)", lambda: convert(5), "a corpus must be the path of a file or folder, not 5"),
    called("load_plugin(5)", lambda: load_plugin(5), "a plug-in must be the path of a file or folder, not 5"),
    called("credit(5)", lambda: interleave({"a": ["x"], "b": ["y"]}).credit(5), "a list of document ids, not 5"),
    *(called(f"a long name: {name}", call, r"a{20}\S*: \([0-9]+ characters\) (cannot be written: )?File name too long")
      for name, call in {
          "scores": lambda: rankers_named(corpus(), [f"scores:{LONG}"]),
          "lightgbm": lambda: rankers_named(corpus(), [f"lightgbm:{LONG}"]),
          "onnx": lambda: rankers_named(corpus(), [f"onnx:{LONG}"]),
          "lists": lambda: rankers_named(corpus(), [f"lists:{LONG}"]),
          "plug-in": lambda: load_plugin(LONG),
          "corpus": lambda: load_dataset(LONG),
          "spec": lambda: read_spec(LONG),
          "store": lambda: StudyResults(LONG),
          "status": lambda: read_status(LONG),
          "figure": lambda: save_figure(plot_preferences(arxiv()), f"{LONG}.png"),
      }.items()),
    called("write to a folder", lambda: write_svmlight(corpus(), "."), "there is a folder, not a file"),
    *(called(f"{draw.__name__}(5)", functools.partial(draw, 5), "PreferenceMatrix, not 5|DataFrame, not 5")
      for draw in (plot_regret, plot_preferences, plot_against_arms, plot_accuracy, plot_identification,
                   plot_sensitivity, plot_measures)),
    *(called(f"{make.__name__}(5)", functools.partial(make, 5), "must be a (Results|PreferenceMatrix|DataFrame), not 5")
      for make in (policies_table, rankers_table, summary_table, latex_table, markdown_table, distortion_table)),
    called("plot of no table", lambda: plot_regret(pd.DataFrame({"x": [1]})), "a figure has no column 'policy'"),
    called("plot of no row", lambda: plot_accuracy(pd.DataFrame({"policy": [], "t": []})), "a figure has no row"),
    called("plot, ax=5", lambda: plot_preferences(arxiv(), ax=5), "ax must be an Axes, not 5"),
    called("plot, log=5", lambda: plot_regret(one_run(), log=5), "no logarithmic axes 5; "),
    called("save_figure(5)", lambda: save_figure(5, "a.png"), "a figure must be an Axes or Figure, not 5"),
]  # fmt: skip
