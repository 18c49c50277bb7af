"""Describe a preference matrix in words and tables: its winner, its best rankers and its properties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.analysis.lines import SURE
from ltr_duel.core import arguments, columns, several
from ltr_duel.preferences import (
    PreferenceMatrix,
    Properties,
    conclusion_confidence,
    condorcet_confidence,
    matrix_properties,
)

_FEW_TIES = 0.005  # a smaller share of tied documents is not reported
_EQUAL = 0.001  # it takes about a million comparisons to see this lead
_UNSURE = "not determined"
WINNER, NO_WINNER = "Condorcet winner", "No Condorcet winner"


def rankers_table(matrix: PreferenceMatrix, rows: int = 10) -> pd.DataFrame:
    """Return the best rankers as a table of strings: how many others they beat, and how often."""
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    compared = np.isfinite(matrix.standard_error) & ~np.eye(len(matrix), dtype=bool)
    rivals = np.maximum(1, compared.sum(axis=1))
    beats = (((matrix.p > 0.5) + 0.5 * (matrix.p == 0.5)) * compared).sum(axis=1)
    average, order = (matrix.p * compared).sum(axis=1) / rivals, matrix.copeland_order
    best = matrix.index(matrix.condorcet_winner or matrix.copeland_winners[0])
    if _missing_pairs(matrix):
        order, best = np.argsort(-average, kind="stable").tolist(), int(rivals.argmax())
    against = [_with_error(*pair) for pair in zip(matrix.p[:, best], matrix.standard_error[:, best], strict=True)]
    against[best] = ""
    texts = {
        "ranker": list(matrix.names),
        "beats": [f"{one:g} of {many}" for one, many in zip(beats, rivals, strict=True)],
        "wins on average": [f"{share:.3f}" for share in average],
        f"against {matrix.names[best]}": against,
    }
    return pd.DataFrame(texts).iloc[list(order[:rows])].reset_index(drop=True)


def origin(facts: Mapping[str, Any]) -> str:
    """Return corpus, clicks and method of a matrix, for example 'MQ2008/Fold1, navigational clicks, method sosm'."""
    users = f"{facts['clicks']} clicks" if "clicks" in facts else ""
    method = f"method {facts['method']}" if facts.get("method") else ""
    return ", ".join(filter(None, [str(facts.get("corpus", "")), users, method]))


def winner_sentence(matrix: PreferenceMatrix) -> str:
    """Return the sentences of `winner_lines` as one text."""
    return " ".join(winner_lines(matrix)).rstrip()


def verdict(matrix: PreferenceMatrix) -> str:
    """Say in a few words whether a ranker is shown to be the Condorcet winner."""
    facts, winner = matrix.provenance, matrix.condorcet_winner
    if winner is None and _missing_pairs(matrix):
        return columns.NOBODY.capitalize()
    # The matrix of a log brings its own phrase, which holds only if no ranker of the log was left out.
    undecided = facts.get("undecided", "Undecided") if facts.get("rankers") == len(matrix) else "Undecided"
    if matrix.standard_error.any() and (undecided != "Undecided" or conclusion_confidence(matrix) < SURE):
        return str(undecided)
    return NO_WINNER if winner is None else WINNER


def winner_lines(matrix: PreferenceMatrix) -> tuple[str, str]:
    """Return two sentences: which ranker is the Condorcet winner of a matrix, and how probable this is.

    If the probability is below 95 %, the first sentence says that the winner is undecided. The second sentence is empty
    if the matrix is exact.
    """
    winner, lead, likely = matrix.condorcet_winner, verdict(matrix), conclusion_confidence(matrix)
    if winner is None and (missing := _missing_pairs(matrix)):
        return f"{lead}; {missing:,} pairs were not compared.", ""
    certain = lead in (WINNER, NO_WINNER)
    rest = ""
    if winner is None:
        copeland, borda, beaten = matrix.copeland_winners, matrix.borda_winners, matrix.copeland_scores.max()
        answer = f"{lead}: no" if certain else f"{lead}. In this estimate no"
        answer += f" ranker beats all others. {listed(copeland, 3)} {'beat' if len(copeland) > 1 else 'beats'} the most"
        answer += f" ({beaten:g} of {len(matrix) - 1}); {listed(borda, 3)} {'win' if len(borda) > 1 else 'wins'} most"
        answer, chance = f"{answer} often on average.", "P(there is none) is at least"
    elif certain:
        answer, chance = f"{lead}: {winner}. It {_margin(matrix, winner)}", "P(it is the winner)"
    else:
        answer = f"{lead}. In this estimate {winner} beats all others; it {_margin(matrix, winner)}"
        chance = "P(it is the Condorcet winner)"
    if not matrix.standard_error.any() or (winner is None and likely < 0.001):
        return answer, ""
    if likely >= SURE and not certain:
        rest += f" Report '{lead.lower()}': the test of the log is corrected for all pairs, P is not."
    probability = f"{math.floor(1000 * likely) / 1000:.3f}" if winner is None else equal_words(likely)
    return answer, f"{chance} {probability}{_for_queries(matrix)}.{rest}"


def _margin(matrix: PreferenceMatrix, winner: str) -> str:
    if len(matrix) == 1:
        return "has no rival."
    best = matrix.index(winner)
    rival = min((k for k in range(len(matrix)) if k != best), key=lambda k: matrix.p[best, k])
    p, error = matrix.p[best, rival], matrix.standard_error[best, rival]
    digits = _digits(error, 4) if error else 4
    spread = f" ± {error:.{digits}f} (standard error)" if error else ""
    doubts = ["less than two standard errors"] if error and p - 0.5 < 2 * error else []
    doubts += ["practically equal"] if p - 0.5 + 2 * error < _EQUAL else []
    doubt = f" ({', '.join(doubts)})" if doubts else ""
    return f"beats its strongest rival, {matrix.names[rival]}, in {p:.{digits}f}{spread} of comparisons{doubt}."


def _for_queries(matrix: PreferenceMatrix) -> str:
    facts = matrix.provenance
    queries, of_users = facts.get("queries"), facts.get("source") == "click log" and facts.get("cluster") == "user"
    if not ("clicks" in facts or of_users) or not isinstance(queries, int):
        return ""
    return f" for {'users who ask ' * of_users}{'this query' if queries == 1 else f'these {queries:,} queries'}"


def property_lines(matrix: PreferenceMatrix) -> list[str]:
    """Return lines that describe a matrix: its winners and their probabilities, its order and its bounds."""
    if _missing_pairs(matrix):
        return ["Other winners than Condorcet's, order, transitivity and bounds are omitted: they need all pairs."]
    facts, estimated = matrix_properties(matrix), bool(matrix.standard_error.any())
    mixture = ", ".join(f"{name} {weight:.3f}" for name, weight in list(facts.von_neumann_winner.items())[:5])
    winners = f"Copeland: {listed(facts.copeland_winners, 5)}; Borda: {listed(facts.borda_winners, 5)}"
    lines = [f"{'Winners of this estimate: ' * estimated}{winners}; von Neumann: {mixture}"]
    if estimated:
        condorcet = dict(zip(matrix.names, condorcet_confidence(matrix), strict=True))
        kinds = {"Condorcet": condorcet, "Copeland": facts.copeland_confidence, "Borda": facts.borda_confidence}
        for kind, chances in kinds.items():
            likely = sorted(chances.items(), key=lambda item: -item[1])[:3]
            shares = ", ".join(f"{name} {_chance(share)}" for name, share in likely if share > 0.001)
            lines.append(f"P({kind} winner): {shares or 'below 0.001 for each ranker'}")
        if "clicks" in matrix.provenance and (queries := _for_queries(matrix)):
            tied = matrix.provenance.get("tied_share", 1.0) if matrix.tie_order else 0.0
            ties = f", this order of tied documents ({tied:.0%}; {matrix.tie_order})" * (tied >= _FEW_TIES)
            lines.append(f"P is{queries}{ties} and the simulated users of this estimate, not for new queries.")
    return [*lines, *_order_lines(facts, rivals=len(matrix) > 2)]


def _order_lines(facts: Properties, *, rivals: bool) -> list[str]:
    such = f" such as {' > '.join(facts.cycle)}" if facts.cycle else ""
    cycle = f", {several(facts.cyclic_triples, 'cycle')} of three{such}" if facts.cycle else ""
    even = f", {several(facts.even_pairs, 'even pair')}" if facts.even_pairs else ""
    order = "a total order" if facts.total_order else "no total order"
    lines = [f"Order: {order}{cycle}{even}; top cycle of {len(facts.top_cycle)}"]
    gap, error = facts.smallest_gap, facts.smallest_gap_error  # gammas and bounds are divided by the gap
    unsure = gap is not None and error is not None and gap <= error
    if rivals:
        gammas = "".join(
            f"; {name} {_UNSURE if unsure else f'{value:.3g}'}"
            for name, value in (("gamma_btm", facts.gamma_btm), ("gamma_rucb", facts.gamma_rucb))
            if value
        )
        share = facts.strong_violations / max(1, facts.strong_triples)
        lines.append(f"Strong transitivity fails in {share:.3f} of triples{gammas}")
        if facts.triangle_violations is not None:
            pairs = several(facts.triangle_violations, "pair")
            lines.append(f"The stochastic triangle inequality fails for {pairs} of rivals")
        if (share := facts.least_condorcet_share) > 0:
            least = "1" if share >= 0.99995 else f"{share:.4f} or more"
            lines.append(f"Random subsets have a Condorcet winner with probability {least}")
    if facts.lower_bound is not None:
        bound = f"{facts.lower_bound:.3g} ln T"
        unknown = f"{_UNSURE}, because the winner's smallest gap is within its standard error"
        lines.append(
            f"Asymptotic lower bound on the average regret of pairwise policies: {unknown if unsure else bound}"
        )
    return lines


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names, separated by commas. A name with a comma is quoted."""
    first = ", ".join(f"'{name}'" if "," in name else name for name in names[:most])
    return f"{first}, ..." if len(names) > most else first


def _missing_pairs(matrix: PreferenceMatrix) -> int:
    return int(np.isinf(matrix.standard_error).sum()) // 2


def _with_error(p: float, error: float) -> str:
    if math.isinf(error):
        return "not compared"
    digits = _digits(error, 3) if error else 3
    return f"{p:.{digits}f}" + (f" ± {error:.{digits}f}" if error else "")


def _digits(error: float, least: int) -> int:
    # Enough decimals to show the first digit of the error.
    return least if error >= 0.5 * 10**-least else math.ceil(-math.log10(error))


def _chance(share: float) -> str:
    """Format a probability, but never as 0 or 1."""
    return "> 0.999" if share > 0.9995 else "< 0.001" if share < 0.0005 else f"{share:.3f}"


def equal_words(share: float) -> str:
    """Format a probability with a sign, for example ``= 0.691`` or ``> 0.999``."""
    text = _chance(share)
    return text if text[0] in "<>" else f"= {text}"
