"""Settings of an estimate except the number of comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import InputError, checked_seed, errors, numbered
from ltr_duel.interleaving import METHODS, Comparer, require_able
from ltr_duel.rankers import Rankings, require_rankings

VARIANCE_REDUCTION = ("auto", "none")
NUMBERS = 1  # version of the random lists and queries, see `ltr_duel.core.digest`
MANY, FEW = 4000, 1000  # default numbers of comparisons of a pair, without and with variance reduction
MOST_IN_A_SET = 200  # default size of sets if there are more rankers
REDRAWN_RULE = "redraw_at_inference"  # the tie rule that uses two orders of ties for each list


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings that determine each simulated comparison.

    reduced: whether the variance is reduced: the part of an outcome that the query predicts is subtracted ("control"),
        and the outcomes of compiled methods are means over users ("integrated"), of mirrored lists if the method can
        mirror ("antithetic").
    stratified: whether queries are visited in turn, with two evaluations each; only if the variance is reduced.
    size: number of rankers of a set; 0 if pairs are compared.
    """

    comparer: Comparer
    seed: int
    reduced: bool = False
    stratified: bool = False
    size: int = 0

    @property
    def rankings(self) -> Rankings:
        """The rankers and their corpus."""
        return self.comparer.rankings

    @property
    def integrated(self) -> bool:
        """Whether an outcome is the mean over the users of a list."""
        return self.reduced and self.comparer.compiled

    @property
    def antithetic(self) -> bool:
        """Whether lists are drawn in mirrored pairs."""
        return self.integrated and self.comparer.configured.component.draw_mirrored is not None

    @property
    def lists(self) -> int:
        """Number of lists of an evaluation."""
        return 2 if self.antithetic else 1

    @property
    def evaluations(self) -> int:
        """Number of evaluations for one choice of a query: two estimate the variance within a query."""
        return 2 if self.stratified else 1

    @property
    def provenance(self) -> dict[str, Any]:
        """All settings that determine an estimate except the number of comparisons, as JSON."""
        settings = {**self.comparer.provenance, "seed": self.seed}
        if self.size:
            settings["size"] = self.size
        if self.reduced:
            used = {
                "antithetic": self.antithetic, "control": True,
                "integrated": self.integrated, "stratified": self.stratified,
            }  # fmt: skip
            settings["variance_reduction"] = [name for name, is_used in used.items() if is_used]
        return numbered(settings, estimate=NUMBERS)


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
