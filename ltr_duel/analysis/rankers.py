"""What a preference matrix says, for people: who wins, and the best rankers."""

from __future__ import annotations

import pandas as pd

from ltr_duel.preferences.matrix import PreferenceMatrix


def rankers_table(matrix: PreferenceMatrix, rows: int = 10) -> pd.DataFrame:
    """Return the first ``rows`` rankers in Copeland order, as text.

    Columns: ranker, beats (how many others), wins on average (Borda score), against the winner (p and its error).
    """
    winner = matrix.condorcet_winner or matrix.copeland_winners[0]
    best = matrix.names.index(winner)
    order = sorted(range(len(matrix)), key=lambda k: (-matrix.copeland_scores[k], -matrix.borda_scores[k]))
    return pd.DataFrame(
        [
            {
                "ranker": matrix.names[k],
                "beats": f"{matrix.copeland_scores[k]:g} of {len(matrix) - 1}",
                "wins on average": f"{matrix.borda_scores[k]:.3f}",
                f"against {winner}": ""
                if k == best
                else f"{matrix.p[k, best]:.3f} ± {matrix.standard_error[k, best]:.3f}",
            }
            for k in order[:rows]
        ]
    )


def winner_sentence(matrix: PreferenceMatrix) -> str:
    """Say who wins and by how much over the strongest rival, or that nobody beats everybody."""
    winner = matrix.condorcet_winner
    if winner is None:
        copeland = ", ".join(matrix.copeland_winners[:3])
        beaten = matrix.copeland_scores.max()
        return (
            f"No Condorcet winner: no ranker beats all others."
            f" {copeland} beats the most ({beaten:g} of {len(matrix) - 1});"
            f" {matrix.borda_winner} wins most often on average."
        )
    row = matrix.p[matrix.names.index(winner)].copy()
    row[matrix.names.index(winner)] = 1
    rival = int(row.argmin())
    error = matrix.standard_error[matrix.names.index(winner), rival]
    doubt = " (less than two standard errors)" if error and row[rival] - 0.5 < 2 * error else ""
    known = f" ± {error:.4f}" if error else ""
    return (
        f"Condorcet winner: {winner}. It beats its strongest rival, {matrix.names[rival]},"
        f" in {row[rival]:.4f}{known} of comparisons{doubt}."
    )
