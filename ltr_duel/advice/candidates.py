"""Candidates for deployment: a policy, and the method that compares the rankers that it chooses.

Candidates are written ``policy/method`` in the usual notation (``rucb:alpha=0.6/probabilistic:tau=1``). `APART` is the
plain A/B test: each user sees the list of one ranker. It serves for comparison, and is never advised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ltr_duel.bandits import POLICIES, Policy, suited
from ltr_duel.core import InputError, components, errors
from ltr_duel.interleaving import METHODS, able_methods

APART = "a/b"
# No default needs the horizon, so that an experiment may be stopped or extended; docs/advice.md gives the omitted
# policies and the reasons. Sets come first: they hardly need Python while they run, so other loops can be compiled
# meanwhile.
DEFAULTS = (
    *(f"{policy}/{method}" for policy in ("multi_self_sparring", "mdb") for method in ("team_draft", "sosm")),
    "auto/sosm",
    "auto/team_draft",
    "multi_self_sparring/pairwise_preference",
    "mdb/pairwise_preference",
    "winner_stays_strong/team_draft",
    "winner_stays_strong/probabilistic",
    "double_thompson/team_draft",
    "round_robin/team_draft",  # comparison without a bandit
    APART,
)


class Candidate(NamedTuple):
    """One way to use the impressions."""

    label: str
    kind: Literal["pairs", "sets", "apart"]
    policy: components.Configured[Policy] | None  # None for a plain A/B test
    method: str

    @property
    def may_be_deployed(self) -> bool:
        """Whether the candidate can be deployed, rather than serve for comparison only."""
        return self.policy is not None

    @property
    def outcome(self) -> str:
        """The outcome rule of a pair, one that random clicks do not bias; "" for sets."""
        return METHODS.configure(self.method).component.research_outcome if self.kind == "pairs" else ""

    @property
    def needs_horizon(self) -> bool:
        """Whether the policy needs the horizon, so that each budget has a different algorithm."""
        return self.policy is not None and self.policy.component.needs_horizon


def candidates_named(words: Sequence[str] = ()) -> list[Candidate]:
    """Return the candidates with these names; by default the usual ones."""
    if not isinstance(words, Sequence):
        raise InputError(f"candidates are a list of texts, not {errors.shown(words)}")
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
