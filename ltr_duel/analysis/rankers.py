"""Describe preference matrices in tables and sentences: the winner and the best rankers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import arguments, several
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence
from ltr_duel.rankers import REDRAWING

SURE = 0.95  # an estimate is undecided if its conclusion is less probable than this
_FEW_TIES = 0.005  # smaller shares of tied documents are not reported


def rankers_table(matrix: PreferenceMatrix, rows: int = 10) -> pd.DataFrame:
    """Return the first ``rows`` rankers in Copeland order as a table of strings."""
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    known = _known(matrix)
    rivals = np.maximum(1, known.sum(axis=1))
    beats = (((matrix.p > 0.5) + 0.5 * (matrix.p == 0.5)) * known).sum(axis=1)
    average, order = (matrix.p * known).sum(axis=1) / rivals, matrix.copeland_order
    winner = matrix.condorcet_winner or matrix.copeland_winners[0]
    if open_pairs(matrix):
        order, winner = list(np.argsort(-average, kind="stable")), matrix.names[int(rivals.argmax())]
    best = matrix.names.index(winner)
    return pd.DataFrame(
        [
            {
                "ranker": matrix.names[k],
                "beats": f"{beats[k]:g} of {rivals[k]}",
                "wins on average": f"{average[k]:.3f}",
                f"against {winner}": ""
                if k == best
                else _with_error(matrix.p[k, best], matrix.standard_error[k, best]),
            }
            for k in order[:rows]
        ]
    )


def winner_sentence(matrix: PreferenceMatrix) -> str:
    """Return sentences on the Condorcet winner, its margin and its probability, or on the absence of a winner.

    An estimate is called undecided if its conclusion (a winner, or none) has a probability below 95%.
    """
    winner = matrix.condorcet_winner
    estimated = bool(matrix.standard_error.any())
    sure = condorcet_confidence(matrix)
    none = max(0.0, 1 - float(sure.sum()))
    if winner is None and open_pairs(matrix):
        return f"No ranker is shown to beat all others; {open_pairs(matrix):,} pairs were not compared."
    undecided = _undecided(matrix)
    if winner is None:
        copeland, borda, beaten = matrix.copeland_winners, matrix.borda_winners, matrix.copeland_scores.max()
        beat, win = ("beat" if len(copeland) > 1 else "beats"), ("win" if len(borda) > 1 else "wins")
        certain = not estimated or (none >= SURE and undecided == "Undecided")
        said = "No Condorcet winner: no" if certain else f"{undecided}. In this estimate no"
        return (
            f"{said} ranker beats all others. {listed(copeland, 3)} {beat} the most ({beaten:g} of {len(matrix) - 1});"
            f" {listed(borda, 3)} {win} most often on average."
        ) + (f" P(there is none) {equal_words(none)}{of_queries(matrix)}.{_about_ties(matrix)}" if estimated else "")
    best = matrix.index(winner)
    row = matrix.p[best].copy()
    row[best] = 1
    rival = int(row.argmin())
    error = matrix.standard_error[best, rival]
    doubt = " (less than two standard errors)" if error and row[rival] - 0.5 < 2 * error else ""
    digits = _digits(error, 4) if error else 4
    known = f" ± {error:.{digits}f} (standard error)" if error else ""
    margin = (
        f"beats its strongest rival, {matrix.names[rival]}, in {row[rival]:.{digits}f}{known} of comparisons{doubt}."
    )
    if not estimated:
        return f"Condorcet winner: {winner}. It {margin}"
    if sure[best] >= SURE and undecided == "Undecided":
        said, rest = f"Condorcet winner: {winner}. It {margin} P(it is the winner)", ""
    else:
        said = f"{undecided}. In this estimate {winner} beats all others; it {margin} P(it is the Condorcet winner)"
        rest = f" P(there is none) {equal_words(none)}."
    return f"{said} {equal_words(float(sure[best]))}{of_queries(matrix)}.{rest}{_about_ties(matrix)}"


def _undecided(matrix: PreferenceMatrix) -> str:
    """Return "Undecided" or, for the matrix of a log, a phrase that includes the two-sided p-value."""
    about = matrix.provenance
    if about.get("rankers") != len(matrix):  # some rankers of the log are missing, so the log's p-value does not apply
        return "Undecided"
    return str(about.get("undecided", "Undecided"))


def of_queries(matrix: PreferenceMatrix) -> str:
    """Return a phrase that names the queries (for a log, also the users) for which a probability holds."""
    about = matrix.provenance
    queries, of_log = about.get("queries"), about.get("source") == "click log" and about.get("cluster") == "user"
    if not ("clicks" in about or of_log) or not isinstance(queries, int):
        return ""
    return f" for {'users who ask ' * of_log}{'this query' if queries == 1 else f'these {queries:,} queries'}"


def _about_ties(matrix: PreferenceMatrix) -> str:
    """Return sentences on the order of ties that a probability assumes; "" if hardly any documents are tied."""
    about = matrix.provenance
    order, share = matrix.tie_order, about.get("tied_share", 1.0)
    if not order or share < _FEW_TIES:
        return ""
    many = f"{share:.0%} of documents are tied" if "tied_share" in about else "Some documents may be tied"
    if about["ties"] in REDRAWING:
        return f" {many}, in a new order for each comparison ({order})."
    once = f"at random once ({order.partition(', ')[2]})" if about["ties"] == "fixed_random" else f"once ({order})"
    return f" {many} and were ordered {once}; P is for that order. `--ties resample` averages over orders."


def confidence_sentence(matrix: PreferenceMatrix) -> str:
    """Return a phrase on the likeliest Condorcet winners of an estimated matrix, with their probabilities."""
    sure = condorcet_confidence(matrix)
    order = sorted(range(len(matrix)), key=lambda k: -sure[k])
    none = max(0.0, 1 - float(sure.sum()))
    likely = [f"{matrix.names[k]}, P {equal_words(sure[k])}" for k in order[:3] if sure[k] > 0.001]
    if not likely:
        return f"Condorcet winner: none, P {equal_words(none)}"
    rest = f"; none, P {equal_words(none)}" if none > 0.001 else ""
    return f"Condorcet winner: {'; '.join(likely)}{rest}"


def search_sentence(matrix: PreferenceMatrix) -> str:
    """Return a sentence on the result of the search for the Condorcet winner."""
    search, confidence = matrix.provenance["search"], matrix.provenance["until_winner"]
    after = several(search["rounds"], "round")
    if search["winner"] is not None:
        return f"The Condorcet winner is known with confidence {confidence:g}, after {after}."
    if search["known"]:
        return f"There is no Condorcet winner, with confidence {confidence:g}, after {after}."
    listed = ", ".join(search["candidates"][:5])
    return (
        f"The Condorcet winner is not known with confidence {confidence:g}: {len(search['candidates'])} rankers may be"
        f" the winner ({listed})."
    )


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names, separated by commas; a name with a comma is quoted."""
    first = ", ".join(f"'{name}'" if "," in name else name for name in names[:most])
    return f"{first}, ..." if len(names) > most else first


def _known(matrix: PreferenceMatrix) -> NDArray[np.bool_]:
    """Return a mask of the pairs of two rankers that were compared."""
    return np.isfinite(matrix.standard_error) & ~np.eye(len(matrix), dtype=bool)


def open_pairs(matrix: PreferenceMatrix) -> int:
    """Return the number of pairs that were never compared."""
    return len(matrix) * (len(matrix) - 1) // 2 - int(_known(matrix).sum()) // 2


def _with_error(p: float, error: float) -> str:
    if math.isinf(error):
        return "not compared"
    if not error:
        return f"{p:.3f}"
    digits = _digits(error, 3)
    return f"{p:.{digits}f} ± {error:.{digits}f}"


def _digits(error: float, least: int) -> int:
    """Return the number of decimals: ``least``, or more, to show two digits of an error that would be rounded to 0."""
    return least if error >= 0.5 * 10**-least else math.ceil(-math.log10(error)) + 1


def chance_words(share: float) -> str:
    """Format a probability, which is never shown as 0 or 1."""
    if share > 0.9995:
        return "> 0.999"
    return "< 0.001" if share < 0.0005 else f"{share:.3f}"


def equal_words(share: float) -> str:
    """Format a probability with a relation sign, for use after its name: ``= 0.691`` or ``> 0.999``."""
    text = chance_words(share)
    return text if text[0] in "<>" else f"= {text}"
