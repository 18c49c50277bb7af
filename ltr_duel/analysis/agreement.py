"""Differences of two preference matrices, in sentences and as a table."""

from __future__ import annotations

import math

import pandas as pd

from ltr_duel.analysis.rankers import equal_words
from ltr_duel.preferences import Agreement


def agreement_lines(agreement: Agreement) -> list[str]:
    """Return the differences of two matrices as lines of text."""
    z = agreement.pairs["z"].abs()
    lines = [f"{len(agreement.names)} rankers in common; the differences have a root mean square of"
             f" {agreement.root_mean_square:.4f}, at most {agreement.pairs['difference'].abs().max():.4f}"]  # fmt: skip
    if agreement.chance is not None:
        lines.append(
            f"{(z > 2).mean():.1%} of pairs differ by more than two standard errors (4.6% expected by chance);"
            f" the largest z is {z.max():.2f}; P(by chance) {equal_words(agreement.chance)}"
        )
    if agreement.settings:
        listed = "; ".join(f"{key}: {one} and {other}" for key, (one, other) in agreement.settings.items())
        lines.append(f"They were estimated with different settings: {listed}")
    return lines


def agreement_table(agreement: Agreement, rows: int) -> pd.DataFrame:
    """Return the pairs that differ most, as text."""
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
