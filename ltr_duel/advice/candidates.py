"""Candidates for deployment: a policy, and the method that compares the chosen rankers.

Candidates are written ``policy/method`` in the usual notation (``rucb:alpha=0.6/probabilistic:tau=1``). `APART` is the
plain A/B test: each user sees the list of one ranker. It is simulated for comparison only, and is never advised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ltr_duel.bandits import POLICIES, Policy, suited
from ltr_duel.core import InputError, components, errors
from ltr_duel.interleaving import METHODS, able_methods

APART = "a/b"
# No default policy needs the horizon, so an experiment may be stopped early or extended; docs/advice.md lists the
# omitted policies and the reasons. Policies for sets come first, because their runs hardly need the Python interpreter,
# so the loops of the other policies can be compiled at the same time.
DEFAULTS = (
    *(f"{policy}/{method}" for policy in ("multi_self_sparring", "mdb") for method in ("team_draft", "sosm")),
    "auto/sosm",
    "auto/team_draft",
    "multi_self_sparring/pairwise_preference",
    "mdb/pairwise_preference",
    "winner_stays_strong/team_draft",
    "winner_stays_strong/probabilistic",
    "double_thompson/team_draft",
    "random/team_draft",  # comparison without a bandit
    APART,
)


class Candidate(NamedTuple):
    """A policy and a method, or the plain A/B test."""

    label: str
    kind: Literal["pairs", "sets", "apart"]
    policy: components.Configured[Policy] | None  # None for a plain A/B test
    method: str

    @property
    def may_be_deployed(self) -> bool:
        """Whether the candidate can be deployed; the plain A/B test is only for comparison."""
        return self.policy is not None

    @property
    def outcome(self) -> str:
        """The outcome rule for pairs, which is not biased by random clicks; "" for sets."""
        return METHODS.configure(self.method).component.research_outcome if self.kind == "pairs" else ""

    @property
    def needs_horizon(self) -> bool:
        """Whether the policy needs the horizon, so that it is a different algorithm for each budget."""
        return self.policy is not None and self.policy.component.needs_horizon


def candidates_named(words: Sequence[str] = ()) -> list[Candidate]:
    """Return the candidates with these names; by default `DEFAULTS`."""
    if not isinstance(words, Sequence):
        raise InputError(f"candidates must be a list of strings, not {errors.shown(words)}")
    found = [_candidate(word) for word in ((words,) if isinstance(words, str) else words) or DEFAULTS]
    labels = [one.label for one in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice:
        raise InputError(f"the candidate '{twice}' is named twice")
    if not any(one.may_be_deployed for one in found):
        raise InputError(f"'{APART}' is only for comparison; name a candidate such as 'rucb/team_draft'")
    return found


def _candidate(word: Any) -> Candidate:
    if word == APART:
        return Candidate(APART, "apart", None, "team_draft")
    if not isinstance(word, str) or word.count("/") != 1:
        raise InputError(
            f"a candidate is written policy/method, for example 'rucb/team_draft', or '{APART}';"
            f" not {errors.shown(word)}"
        )
    policy, method = (part.strip() for part in word.split("/"))
    compared = METHODS.configure(method)
    configured = suited(POLICIES.configure(policy), to_sets=compared.component.slates)
    kind: Literal["pairs", "sets"] = "pairs" if configured.component.feedback == "duel" else "sets"
    able = able_methods(sets=kind == "sets")
    if compared.component.name not in able:
        raise InputError(
            f"policy '{policy}' compares {kind}, which method '{method}' does not; methods that do: {', '.join(able)}"
        )
    return Candidate(f"{configured.label}/{compared.label}", kind, configured, method)
