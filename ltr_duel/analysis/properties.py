"""Format properties of preference matrices, with their ranges under noise alone, and comparisons of two matrices."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ltr_duel.analysis.rankers import (
    chance_words,
    confidence_sentence,
    equal_words,
    listed,
    of_queries,
    open_pairs,
)
from ltr_duel.core import several, stream
from ltr_duel.preferences import (
    STATISTICS,
    Agreement,
    PreferenceMatrix,
    matrix_properties,
    transitive_null,
)

_WORLDS, _FEW_WORLDS, _MANY = 60, 19, 100  # simulated transitive matrices: for up to `_MANY` rankers, and for more
_BY_CHANCE = 0.05
_UNSURE = "not determined"


def null_words(matrix: PreferenceMatrix) -> dict[str, str]:
    """Return each property's range in simulated transitive matrices with the same noise; "" if the noise is unknown."""
    if not matrix.standard_error.any() or not np.isfinite(matrix.standard_error).all() or len(matrix) < 3:
        return dict.fromkeys(STATISTICS, "")
    size = len(matrix)
    rng = stream(0, "transitive worlds", matrix.digest)
    table = transitive_null(matrix, rng, worlds=_WORLDS if size <= _MANY else _FEW_WORLDS)
    words = {}
    for name, low, high, chance in zip(*(table[key] for key in ("property", "low", "high", "p_value")), strict=True):
        ends = " to ".join("none" if math.isinf(end) else f"{end:,.4g}" for end in (low, high))
        beyond = "; beyond noise" if chance <= _BY_CHANCE and STATISTICS[name].worse else ""
        words[name] = f" (noise alone: {ends}{beyond})"
    return words


def property_lines(matrix: PreferenceMatrix) -> list[str]:
    """Return the properties of a matrix as lines, with their ranges in transitive matrices with the same noise."""
    if open_pairs(matrix):
        return [
            "Copeland, Borda and von Neumann winners, order, transitivity and bounds are omitted: they need all pairs."
        ]
    about, noise = matrix_properties(matrix), null_words(matrix)
    copeland, borda = listed(about.copeland_winners, 5), listed(about.borda_winners, 5)
    mixture = ", ".join(f"{name} {weight:.3f}" for name, weight in list(about.von_neumann_winner.items())[:5])
    of = "Winners of this estimate: " if matrix.standard_error.any() else ""
    lines = [f"{of}Copeland: {copeland}; Borda: {borda}; von Neumann: {mixture}"]
    if matrix.standard_error.any():
        lines.append(confidence_sentence(matrix))
        shares = "; ".join(
            f"{kind}: {', '.join(f'{name} {chance_words(share)}' for name, share in list(chances.items())[:3])}"
            for kind, chances in (("Copeland", about.copeland_confidence), ("Borda", about.borda_confidence))
        )
        lines.append(f"Probability to win: {shares}")
        if "clicks" in matrix.provenance and (about_these := of_queries(matrix)):
            lines.append(f"P is{about_these} and the simulated users of this estimate, not for new queries.")
    order = "a total order" if about.total_order else "no total order"
    such = f" such as {' > '.join(about.cycle)}" if about.cycle else ""
    cycles = "cycle" if about.cyclic_triples == 1 else "cycles"
    cycle = f", {about.cyclic_triples:,} {cycles} of three{such}{noise['cyclic_triples']}" if about.cycle else ""
    even = f", {about.even_pairs:,} even pair{'s' * (about.even_pairs > 1)}" if about.even_pairs else ""
    lines.append(f"Order: {order}{cycle}{even}; top cycle of {len(about.top_cycle)}{noise['top_cycle']}")
    share = about.strong_violations / max(1, about.strong_triples)
    gap, error = about.smallest_gap, about.smallest_gap_error  # gammas and bounds are divided by the gap
    unsure = gap is not None and error is not None and gap <= error
    gammas = [f"; {name} {_UNSURE if unsure else f'{value:.3g}{noise[name]}'}" for name, value in (
        ("gamma_btm", about.gamma_btm), ("gamma_rucb", about.gamma_rucb)) if value]  # fmt: skip
    rivals = len(matrix) > 2
    if rivals:
        lines.append(f"Strong transitivity fails in {share:.3f} of triples{noise['strong_share']}{''.join(gammas)}")
    if rivals and about.triangle_violations is not None:
        broken = f"{several(about.triangle_violations, 'pair')} of rivals{noise['triangle_violations']}"
        lines.append(f"The stochastic triangle inequality fails for {broken}")
    if rivals and about.least_condorcet_share > 0:
        share = about.least_condorcet_share
        least = f"{'1' if share >= 0.99995 else f'{share:.4f} or more'}{noise['least_condorcet_share']}"
        lines.append(f"Random subsets have a Condorcet winner with probability {least}")
    if about.lower_bound is not None:
        like = noise["lower_bound"].replace("noise alone:", "in transitive worlds like this one:")
        of_sets = f"; for policies that compare sets, about {about.multiduel_bound or 0:.3g} ln T (not proven)"
        multi = of_sets if about.multiduel_bound else ""
        pairs = f"{about.lower_bound:.3g} ln T{like}{multi}"
        lines.append(
            f"Asymptotic lower bound on the average regret of pairwise policies: {_UNSURE if unsure else pairs}"
        )
    if unsure and about.lower_bound is not None:
        lines.append(f"({_UNSURE}: the winner's smallest gap is within its standard error)")
    if any(noise.values()):
        lines.append(
            "(noise alone, and worlds like this one: values in simulated matrices, which are as close to this one as"
            " strong transitivity allows and have the same noise; the range is the middle 95% of these values, not an"
            " error of the number before it)"
        )
    return lines


def agreement_lines(agreement: Agreement) -> list[str]:
    """Return the differences between two matrices as lines of text."""
    z = agreement.pairs["z"].abs()
    (one, its), (other, others) = ((winner or "none", equal_words(sure)) for winner, sure in agreement.winners)
    winner = f"Different Condorcet winners: {one} (P {its}) and {other} (P {others})"
    if one == other:
        winner = f"The same Condorcet winner: {one} (P {its} and {others})"
    lines = [
        winner,
        f"{len(agreement.names)} rankers in common; the differences have a root mean square of"
        f" {agreement.root_mean_square:.4f}, and are at most {agreement.pairs['difference'].abs().max():.4f}",
    ]
    if agreement.chance is not None:
        lines.append(
            f"{(z > 2).mean():.1%} of pairs differ by more than two standard errors (4.6% expected by chance);"
            f" the largest z is {z.max():.2f}; P(by chance) {equal_words(agreement.chance)}"
        )
    if agreement.settings:
        listed = "; ".join(f"{key}: {one} and {other}" for key, (one, other) in agreement.settings.items())
        lines.append(f"The matrices were estimated with different settings: {listed}")
    return lines


def agreement_table(agreement: Agreement, rows: int) -> pd.DataFrame:
    """Return the ``rows`` pairs that differ most, as a table of strings."""
    head = agreement.pairs.head(rows)
    return pd.DataFrame(
        {
            "first": head["first"],
            "second": head["second"],
            "A": head["p_a"].map("{:.4f}".format),
            "B": head["p_b"].map("{:.4f}".format),
            "difference": head["difference"].map("{:+.4f}".format),
            "z": head["z"].map(lambda z: "" if math.isnan(z) else f"{z:+.2f}"),
        }
    )
