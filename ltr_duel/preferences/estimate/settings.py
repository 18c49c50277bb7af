"""Settings of an estimate except the number of comparisons; estimates with equal settings can share partial results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import InputError, checked_seed, errors, mapped, numbered
from ltr_duel.core import digest as core_digest
from ltr_duel.interleaving import METHODS, Comparer, require_able
from ltr_duel.preferences.tally import MOST_COMPARISONS
from ltr_duel.rankers import Rankings, require_rankings

Reduction = Literal["common", "stratified", "integrated", "antithetic", "control"]
REDUCTIONS: dict[str, str] = {
    "common": "all pairs are compared on the same sequence of queries",
    "stratified": "queries are visited in turn, in an order common to all pairs, with two evaluations each",
    "integrated": "the mean outcome of each list over its users, instead of the outcome of one user",
    "antithetic": "lists are drawn in mirrored pairs; requires 'integrated' and a method that mirrors lists",
    "control": "the part of an outcome that the query predicts is subtracted, and the mean of this part over queries is"
    " added back",
}
# The numbers version (`ltr_duel.core.numbering`) of the blocks, and of each reduction.
NUMBERS = dict.fromkeys(("blocks", *REDUCTIONS), 1)

MANY, FEW = 4000, 1000  # default numbers of comparisons of a pair, without and with variance reduction
MOST_IN_A_SET = 200  # default size of sets if there are more rankers
AUTO, NONE = "auto", "none"
REDRAWN_RULE = "redraw_at_inference"  # the tie rule that uses two orders of ties for each list


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings that determine each simulated comparison."""

    comparer: Comparer = field(repr=False)
    seed: int
    reductions: tuple[Reduction, ...] = ()  # names in `REDUCTIONS`
    size: int = 0  # number of rankers of a set; 0 if pairs are compared

    def __post_init__(self) -> None:
        for name in self.reductions:
            errors.require_one_of("variance reduction", name, REDUCTIONS)
        if self.size and self.reductions:
            raise InputError("variance reductions apply to pairs of rankers; sets are compared without any")
        if {"common", "stratified"} <= set(self.reductions):
            raise InputError("stratified queries are already common to all pairs; omit 'common'")
        if self.integrated and self.rankings.provenance.get("ties") == REDRAWN_RULE:
            raise InputError(
                f"the variance reduction 'integrated' needs one order of ties for each list; '{REDRAWN_RULE}' uses two"
            )
        if self.integrated and not self.comparer.compiled:
            raise InputError(
                "the variance reduction 'integrated' needs a compiled method, but"
                f" '{self.comparer.configured.component.name}' is plain Python"
            )
        if self.antithetic and not (self.integrated and self.comparer.configured.component.draw_mirrored):
            able = ", ".join(name for name in METHODS.names() if METHODS[name].draw_mirrored)
            raise InputError(
                f"the variance reduction 'antithetic' needs 'integrated' and a method that mirrors lists: {able}"
            )

    @property
    def rankings(self) -> Rankings:
        """The rankers and their corpus."""
        return self.comparer.rankings

    @property
    def queries(self) -> str:
        """How queries are chosen: ``drawn``, ``common`` or ``stratified``."""
        return next((how for how in ("common", "stratified") if how in self.reductions), "drawn")

    @property
    def lists_of_an_evaluation(self) -> int:
        """Two if lists are drawn in mirrored pairs, otherwise one."""
        return 2 if self.antithetic else 1

    @property
    def evaluations_of_a_unit(self) -> int:
        """Two if queries are stratified, to estimate the variance within a query; otherwise one."""
        return 2 if self.queries == "stratified" else 1

    @property
    def lists_of_a_unit(self) -> int:
        """Number of lists shown for one choice of a query."""
        return self.lists_of_an_evaluation * self.evaluations_of_a_unit

    @property
    def integrated(self) -> bool:
        """Whether an outcome is the mean over the users of a list."""
        return "integrated" in self.reductions

    @property
    def antithetic(self) -> bool:
        """Whether lists are drawn in mirrored pairs."""
        return "antithetic" in self.reductions

    @property
    def provenance(self) -> dict[str, Any]:
        """All settings that determine an estimate except the number of comparisons, as JSON."""
        reduced = {"variance_reduction": sorted(self.reductions)} if self.reductions else {}
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
        if comparisons is None:
            comparisons = FEW if self.reductions else MANY
        comparisons = errors.require_whole("the number of comparisons", comparisons)
        errors.require_between("the number of comparisons", comparisons, 2)
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
    variance_reduction: str | Sequence[str],
    comparisons: int | None = None,
    size: int | None = None,
) -> Settings:
    """Check the options of a user, and return the settings; ``comparisons``: the number of a pair, as far as known."""
    require_rankings(rankings)
    model = click_model(clicks, rankings.grades)
    if len(rankings) < 2:
        raise InputError(f"preferences need at least two rankers; there is {len(rankings)} ('{rankings.names[0]}')")
    component = METHODS.configure(method).component
    sets = size is not None or not component.pairs
    if sets:
        require_able(method, sets=True)
        size = min(len(rankings), MOST_IN_A_SET) if size is None else size
        size = errors.require_whole("the size of sets", size, 2, len(rankings))
        if outcome not in ("", *component.outcomes_of(sets=True)):
            raise InputError(f"the outcome rule '{outcome}' is for two rankers, not for sets")
    comparer = Comparer(rankings, model, method, outcome or component.default_outcome(sets=sets), top)
    if isinstance(variance_reduction, str):
        variance_reduction = (variance_reduction,)
    if not isinstance(variance_reduction, Iterable) or not all(isinstance(one, str) for one in variance_reduction):
        raise InputError(f"variance reductions must be a list of names: {', '.join(REDUCTIONS)}")
    names = tuple(sorted(set(variance_reduction)))
    if names == (AUTO,):
        names = () if sets else usual_reductions(comparer, FEW if comparisons is None else comparisons)
    elif names == (NONE,):
        names = ()
    return Settings(comparer, checked_seed(seed), names, size or 0)  # type: ignore[arg-type]  # `Settings` checks names


def usual_reductions(comparer: Comparer, comparisons: int) -> tuple[Reduction, ...]:
    """Return the default variance reductions for a comparer; docs/preferences.md contains the measurements behind them.

    Strata evaluate each query twice, so they need enough comparisons to see all queries: on 5,000 queries, 1,000
    comparisons have an error of .0038 with strata, and of .0033 without.
    If ties are reordered before clicks are credited, the clicks on a list do not determine its outcome, so there are no
    default reductions.
    """
    if comparer.rankings.provenance.get("ties") == REDRAWN_RULE:
        return ()
    comparisons = errors.require_whole("the number of comparisons", comparisons)
    strata: tuple[Reduction, ...] = ("stratified",) if comparisons >= 2 * comparer.rankings.n_queries else ()
    if not comparer.compiled:
        return ("control", *strata)
    mirrored: tuple[Reduction, ...] = ("antithetic",) if comparer.configured.component.draw_mirrored else ()
    return (*mirrored, "control", "integrated", *strata)
