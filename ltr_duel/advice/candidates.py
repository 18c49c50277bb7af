"""Candidates for deployment. A candidate is a policy, which chooses rankers, and a method, which compares them.

A candidate is written ``policy/method``, with parameters if necessary, for example ``rucb:alpha=0.6/team_draft``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ltr_duel.bandits import POLICIES, Policy, suited
from ltr_duel.core import InputError, components, errors
from ltr_duel.interleaving import METHODS, able_methods

BASELINE = "random/team_draft"  # pairs are chosen at random, without a bandit
# You may stop an experiment early or extend it, because no default policy needs the horizon. docs/own_rankers.md says
# why the other policies are no candidates by default.
DEFAULTS = (
    *(f"{policy}/{method}" for policy in ("multi_self_sparring", "mdb") for method in ("team_draft", "sosm")),
    "auto/sosm",
    "auto/team_draft",
    "multi_self_sparring/pairwise_preference",
    "mdb/pairwise_preference",
    "winner_stays_strong/team_draft",
    "winner_stays_strong/probabilistic",
    "double_thompson/team_draft",
    BASELINE,
)


class Candidate(NamedTuple):
    """A policy, and the method that compares the rankers that it chooses."""

    label: str  # as the user names it; also names the random numbers of its runs
    policy: components.Configured[Policy]
    method: str

    @property
    def name(self) -> str:
        """The name of the candidate, for example 'mdb/sosm'."""
        given, runs = self.policy.label, self.policy.component.name
        # With a method for sets, 'auto' runs another policy, 'auto_sets', and the name says so.
        return f"{given if given.partition(':')[0] == runs else runs}/{self.method}"

    @property
    def compares_pairs(self) -> bool:
        """Whether the policy compares two rankers at a time, not sets."""
        return self.policy.component.feedback == "duel"

    @property
    def outcome(self) -> str:
        """The default rule by which the method derives an outcome from clicks."""
        return METHODS.configure(self.method).component.default_outcome(sets=not self.compares_pairs)


def candidates_named(labels: Sequence[str] = ()) -> list[Candidate]:
    """Return the candidates with these names; by default the candidates in `DEFAULTS`."""
    if not isinstance(labels, Sequence):
        raise InputError(f"candidates must be a list of strings, not {errors.shown(labels)}")
    candidates = [_candidate(label) for label in ((labels,) if isinstance(labels, str) else labels) or DEFAULTS]
    names = [candidate.name for candidate in candidates]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError(f"the candidate '{twice}' is named twice")
    return candidates


def _candidate(label: Any) -> Candidate:
    if not isinstance(label, str) or label.count("/") != 1:
        raise InputError(
            f"a candidate is written policy/method, for example 'rucb/team_draft'; not {errors.shown(label)}"
        )
    policy, method = (part.strip() for part in label.split("/"))
    compared = METHODS.configure(method)
    configured = suited(POLICIES.configure(policy), to_sets=compared.component.slates)
    sets = configured.component.feedback != "duel"
    able = able_methods(sets=sets)
    if compared.component.name not in able:
        raise InputError(
            f"policy '{policy}' compares {'sets' if sets else 'pairs'}, which method '{method}' does not;"
            f" methods that do: {', '.join(able)}"
        )
    return Candidate(f"{configured.label}/{compared.label}", configured, method)
