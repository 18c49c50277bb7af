"""Text for a paper about a study, made from the stored plans: the paragraph on methods and the works to cite."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ltr_duel.analysis import equal_words
from ltr_duel.bandits import named_policy
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import columns, components, errors, machine
from ltr_duel.data import CORPORA
from ltr_duel.experiment.problem_specs import CorpusSpec
from ltr_duel.experiment.results import StudyResults
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence
from ltr_duel.simulation import INDEPENDENT_COINS, REGRETS

TESTS = (
    "{regret} at the horizon. p: paired two-sided Wilcoxon signed-rank test against the policy with the lowest mean,"
    " corrected for all pairs of policies by Holm's method. effect: mean paired difference divided by its standard"
    " deviation (Cohen's d_z)."
)
_REGISTRIES: dict[str, components.Registry[Any]] = {
    "method": METHODS,
    "clicks": CLICK_MODELS,
}  # the registry for each fact that names a component
_ANSWERS = {
    "live": "simulated users",
    "matrix": "coins of the preference matrix",
    INDEPENDENT_COINS: "independent coins of the preference matrix",
    "sweeps": "coins of the preference matrix, drawn in whole sweeps",
}


def methods_paragraph(results: StudyResults) -> str:
    """Describe the study in a few sentences, for the experiments section of a paper."""
    problems = {study.problem: study.facts for study in results.studies}
    specs = [tomllib.loads(text) for text in results.specs]
    horizons = sorted({study.horizon for study in results.studies})
    steps = errors.listed([f"{one:,}" for one in horizons], "or")
    times = errors.listed([f"{one:,}" for one in results.repetitions], "or")
    labels = [_in_words(label) for label in results.policies]
    said = [
        f"We compare {errors.listed(labels)} on {len(problems)} problem{'s' * (len(problems) > 1)}:"
        f" {'; '.join(_problem(name, facts, results.matrix(name)) for name, facts in problems.items())}.",
        f"Each policy runs {times} times for {steps} steps on each problem"
        f" (ltr_duel {machine.own_version()}, seed {errors.listed([str(one.get('seed', 0)) for one in specs])}).",
    ]
    knowing = [label for label in results.policies if (policy := named_policy(label)) and policy.needs_horizon]
    said += [f"{errors.listed(knowing)} {'use' if len(knowing) > 1 else 'uses'} the horizon."] if knowing else []
    slates = [f"{name}{_cited(METHODS.get(name))}" for name in _slates(results)]
    said += [f"Simulated users compare sets of rankers by {errors.listed(slates, 'or')}."] if slates else []
    said += results.notes
    said.append(f"We report {_regrets(results)}: mean and standard deviation over the runs.")
    said.append(
        "On each problem, each policy is compared with the policy of the lowest mean by a paired two-sided Wilcoxon"
        " signed-rank test, corrected for all pairs of policies by Holm's method; effects are Cohen's d of the paired"
        " differences (d_z)."
    )
    return " ".join(said)


def _regrets(results: StudyResults) -> str:
    """Name the regrets. Without a Condorcet winner, Copeland regret replaces average, strong and weak regret."""
    usual = [columns.regret_label(columns.regret_column(name)) for name in results.regrets]
    needless = ["copeland" if REGRETS[name].loss == "average" else name for name in results.regrets]
    others = list(dict.fromkeys(columns.regret_label(columns.regret_column(name)) for name in needless))
    undecided = [name for name in results.problems if results.matrix(name).condorcet_winner is None]
    if usual == others or not undecided:
        return f"cumulative {errors.listed(usual)} at the horizon"
    if len(undecided) == len(results.problems):
        return f"cumulative {errors.listed(others)} at the horizon (no problem has a Condorcet winner)"
    without = f"without a Condorcet winner ({', '.join(undecided)}), {errors.listed(others)}"
    return f"cumulative {errors.listed(usual)} at the horizon; {without}"


def study_bibtex(results: StudyResults) -> str:
    """Return the works to cite as BibTeX, each once, after a comment for each component without a known reference."""
    entries, unknown = dict[str, None](), dict[str, None]()
    for kind, name, component in _components(results):
        if component is None or not component.sources:
            unknown[f"% no reference is known for the {kind} '{name}'"] = None
        else:
            entries |= dict.fromkeys(source.bibtex for source in component.sources)
    return "\n\n".join(["\n".join(unknown)] * bool(unknown) + list(entries)) + "\n"


def _components(results: StudyResults) -> Iterator[tuple[str, str, components.Component | None]]:
    """Yield the policies, methods, click models and corpora of a study; None for an unregistered component."""
    for label in results.policies:
        yield "policy", label, named_policy(label)
    for name in _slates(results):
        yield "method", name, METHODS.get(name)
    for study in results.studies:
        for fact, registry in _REGISTRIES.items():
            if given := study.facts.get(fact):
                name = str(given).partition(":")[0]
                yield fact, name, registry.get(name)
        if given := study.facts.get("corpus"):
            yield "corpus", str(given), _corpus(str(given))


def _slates(results: StudyResults) -> list[str]:
    """Return the methods by which simulated users compare sets; the list is empty if no policy compares sets."""
    if not any(policy and policy.feedback == "slate" for policy in map(named_policy, results.policies)):
        return []
    corpora = [one for text in results.specs for one in tomllib.loads(text).get("corpora", [])]
    live = [one for one in corpora if "live" in one.get("answers", "")]
    return list(dict.fromkeys(str(one.get("slates", CorpusSpec.slates)).partition(":")[0] for one in live))


def _corpus(name: str) -> components.Component | None:
    """Return the corpus whose catalogue name is a prefix of ``name``: ``mslr-web30k`` for ``MSLR-WEB30K/Fold1``."""

    def plain(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", text.lower())

    fitting = [one for one in CORPORA.values() if plain(name).startswith(plain(one.name))]
    return max(fitting, key=lambda one: len(one.name), default=None)


def _in_words(label: str) -> str:
    return f"{label}{_cited(named_policy(label))}"


def _cited(component: components.Component | None) -> str:
    return f" [{component.sources[0].key}]" if component is not None and component.sources else ""


def _reference(matrix: PreferenceMatrix) -> str:
    """Describe how the matrix that measures regret was estimated, and the probability of its winner."""
    if not matrix.standard_error.any():
        return ""
    reduced = matrix.provenance.get("variance_reduction") or ["none"]
    many = np.unique(matrix.comparisons[np.triu_indices(len(matrix), 1)])[[0, -1]]
    often = errors.listed([f"{n:,}" for n in dict.fromkeys(many.tolist())], "to")
    parts = [f"{often} comparisons of each pair"] if many[-1] else []
    parts += [f"variance reduction {errors.listed(reduced)}"] if "clicks" in matrix.provenance else []
    winner, sure = matrix.condorcet_winner, condorcet_confidence(matrix)
    shown = max(0.0, 1 - float(sure.sum())) if winner is None else float(sure[matrix.index(winner)])
    parts.append(f"P({winner or 'no ranker'} {'is the' if winner else 'is a'} Condorcet winner) {equal_words(shown)}")
    return f"reference matrix: {', '.join(parts)}"


def _problem(name: str, facts: Mapping[str, Any], matrix: PreferenceMatrix) -> str:
    users = f"{facts['clicks']} clicks" if facts.get("clicks") else ""
    shown = f"lists of {facts['top']}" if facts.get("top") else ""
    rule = f"outcome rule {facts['outcome']}" if facts.get("outcome") else ""
    answers = _ANSWERS.get(str(facts.get("answers")), "")
    ties = f"equal scores {order}" if (order := matrix.tie_order) else ""
    parts = [f"{facts['rankers']} rankers", str(facts.get("method") or ""), users, rule, ties, shown]
    return f"{name} ({', '.join(filter(None, [*parts, answers and f'answers: {answers}', _reference(matrix)]))})"
