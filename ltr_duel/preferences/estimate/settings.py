"""The settings of an estimate: how rankers are compared, and how the variance of the outcomes is reduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import InputError, checked_seed, errors, numbered
from ltr_duel.interleaving import METHODS, Comparer, require_able
from ltr_duel.rankers import Rankings, require_rankings

VARIANCE_REDUCTION = ("auto", "none")
NUMBERS = 1  # version of the random lists and queries, see `ltr_duel.core.digest`
MANY, FEW = 4000, 1000  # comparisons of a pair by default, without and with variance reduction
MOST_IN_A_SET = 200  # the default size of sets, if there are more rankers
REDRAWN_RULE = "redraw_at_inference"  # the tie rule that orders ties anew before clicks are credited


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything that determines a simulated comparison.

    reduced: whether the variance of outcomes is reduced, by control variates and by `integrated` and `antithetic`.
    stratified: whether queries are visited in turn, with two evaluations each. This requires ``reduced``.
    size: the number of rankers in a set, or 0 if pairs are compared.
    """

    comparer: Comparer
    seed: int
    reduced: bool = False
    stratified: bool = False
    size: int = 0

    @property
    def rankings(self) -> Rankings:
        """The rankers that are compared."""
        return self.comparer.rankings

    @property
    def integrated(self) -> bool:
        """Whether an outcome is a mean over all users who might see a list, instead of the outcome of one user."""
        return self.reduced and self.comparer.compiled

    @property
    def antithetic(self) -> bool:
        """Whether an outcome is a mean over two mirrored lists (see `ltr_duel.preferences.estimate.evaluators`)."""
        return self.integrated and self.comparer.configured.component.draw_mirrored is not None

    @property
    def lists(self) -> int:
        """The number of lists of an evaluation."""
        return 2 if self.antithetic else 1

    @property
    def evaluations(self) -> int:
        """The number of evaluations for each choice of a query. The variance within a query needs two."""
        return 2 if self.stratified else 1

    @property
    def provenance(self) -> dict[str, Any]:
        """The settings that determine an estimate, without the number of comparisons."""
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
    """Check the options of a user, and return the settings.

    ``comparisons`` is the planned number of comparisons of a pair. Queries are visited in turn only if this number is
    at least twice the number of queries. With fewer comparisons, some queries would never be seen. The variance is not
    reduced if sets are compared, or if tied documents are reordered before the credit.
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
