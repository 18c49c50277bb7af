"""Settings of an estimate except the number of comparisons; estimates with equal settings can share partial results."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import InputError, checked_seed, errors, mapped, numbered
from ltr_duel.core import digest as core_digest
from ltr_duel.interleaving import METHODS, Comparer, require_able
from ltr_duel.preferences.tally import MOST_COMPARISONS
from ltr_duel.rankers import Rankings, require_rankings

REDUCTIONS = {
    "antithetic": "lists are drawn in mirrored pairs, if the method can mirror lists",
    "control": "the part of an outcome that the query predicts is subtracted, and its mean over queries is added back",
    "integrated": "the mean outcome of each list over its users, instead of the outcome of one user",
    "stratified": "queries are visited in turn, in an order common to all pairs, with two evaluations each",
}
VARIANCE_REDUCTION = ("auto", "none")
NUMBERS = dict.fromkeys(("blocks", *REDUCTIONS), 1)  # numbers versions, see `ltr_duel.core.numbering`
MANY, FEW = 4000, 1000  # default numbers of comparisons of a pair, without and with variance reduction
MOST_IN_A_SET = 200  # default size of sets if there are more rankers
REDRAWN_RULE = "redraw_at_inference"  # the tie rule that uses two orders of ties for each list


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings that determine each simulated comparison."""

    comparer: Comparer = field(repr=False)
    seed: int
    reduced: bool = False  # whether the variance is reduced
    stratified: bool = False  # whether queries are visited in turn; only if the variance is reduced
    size: int = 0  # number of rankers of a set; 0 if pairs are compared

    @property
    def rankings(self) -> Rankings:
        """The rankers and their corpus."""
        return self.comparer.rankings

    @property
    def integrated(self) -> bool:
        """Whether an outcome is the mean over the users of a list, which needs a compiled method."""
        return self.reduced and self.comparer.compiled

    @property
    def antithetic(self) -> bool:
        """Whether lists are drawn in mirrored pairs."""
        return self.integrated and self.comparer.configured.component.draw_mirrored is not None

    @property
    def lists_of_an_evaluation(self) -> int:
        """Two if lists are drawn in mirrored pairs, otherwise one."""
        return 2 if self.antithetic else 1

    @property
    def evaluations_of_a_unit(self) -> int:
        """Two if queries are stratified, to estimate the variance within a query; otherwise one."""
        return 2 if self.stratified else 1

    @property
    def lists_of_a_unit(self) -> int:
        """Number of lists shown for one choice of a query."""
        return self.lists_of_an_evaluation * self.evaluations_of_a_unit

    @property
    def reductions(self) -> list[str]:
        """The names of the variance reductions in use."""
        used = (self.antithetic, self.reduced, self.integrated, self.stratified)
        return [name for name, is_used in zip(REDUCTIONS, used, strict=True) if is_used]

    @property
    def provenance(self) -> dict[str, Any]:
        """All settings that determine an estimate except the number of comparisons, as JSON."""
        reduced = {"variance_reduction": self.reductions} if self.reduced else {}
        sets = {"size": self.size} if self.size else {}
        about = {**self.comparer.provenance, **sets, **reduced, "seed": self.seed}
        return numbered(about, **{name: NUMBERS[name] for name in ("blocks", *self.reductions)})

    @property
    def digest(self) -> str:
        """SHA-256 of the provenance and of the contents of the rankings."""
        digest = hashlib.sha256(core_digest.canonical(self.provenance).encode())
        digest.update("\x1f".join(self.rankings.names).encode())
        rankings = self.rankings
        for row in (*rankings.order, *rankings.tied, rankings.relevance, rankings.query_ptr):
            digest.update(np.ascontiguousarray(row).data)
            mapped.release_pages(row)
        return digest.hexdigest()

    def checked_count(self, comparisons: int | None) -> int:
        """Return the number of comparisons (the default for None), rounded up to whole units; at least two units."""
        comparisons = (FEW if self.reduced else MANY) if comparisons is None else comparisons
        comparisons = errors.require_whole("the number of comparisons", comparisons, 2)
        comparisons = max(2, -(-comparisons // self.lists_of_a_unit)) * self.lists_of_a_unit
        if comparisons > MOST_COMPARISONS:
            raise InputError(
                f"at most {MOST_COMPARISONS:,} comparisons of a pair are possible, not {errors.shown(comparisons)}"
            )
        return comparisons


def make_settings(
    rankings: Rankings,
    clicks: str | ClickModel,
    method: str,
    outcome: str,
    top: int,
    seed: int,
    variance_reduction: str = "auto",
    comparisons: int | None = None,
    size: int | None = None,
) -> Settings:
    """Check the options of a user, and return the settings; ``comparisons``: the number of a pair, as far as known.

    Strata evaluate each query twice, so they need enough comparisons to see all queries: on 5,000 queries, 1,000
    comparisons have an error of .0038 with strata, and of .0033 without. If ties are reordered before clicks are
    credited, the clicks on a list do not determine its outcome, so nothing is reduced. Sets are never reduced.
    """
    require_rankings(rankings)
    model = click_model(clicks, rankings.grades)
    if len(rankings) < 2:
        raise InputError(f"preferences need at least two rankers; there is {len(rankings)} ('{rankings.names[0]}')")
    errors.require_one_of("variance reduction", variance_reduction, VARIANCE_REDUCTION)
    component = METHODS.configure(method).component
    sets = size is not None or not component.pairs
    if sets:
        require_able(method, sets=True)
        size = min(len(rankings), MOST_IN_A_SET) if size is None else size
        size = errors.require_whole("the size of sets", size, 2, len(rankings))
        if outcome not in ("", *component.outcomes_of(sets=True)):
            raise InputError(f"the outcome rule '{outcome}' is for two rankers, not for sets")
    comparer = Comparer(rankings, model, method, outcome or component.default_outcome(sets=sets), top)
    comparisons = FEW if comparisons is None else errors.require_whole("the number of comparisons", comparisons)
    reduced = variance_reduction == "auto" and not sets and rankings.provenance.get("ties") != REDRAWN_RULE
    stratified = reduced and comparisons >= 2 * rankings.n_queries
    return Settings(comparer, checked_seed(seed), reduced, stratified, size or 0)
