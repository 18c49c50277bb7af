"""Preference matrices in words: the winner, the best rankers, properties with their ranges under noise, agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import arguments, several, stream
from ltr_duel.preferences import (
    STATISTICS,
    Agreement,
    PreferenceMatrix,
    condorcet_confidence,
    matrix_properties,
    transitive_null,
)
from ltr_duel.rankers import REDRAWING

SURE = 0.95  # an estimate is undecided if its conclusion is less probable than this
_FEW_TIES = 0.005  # smaller shares of tied documents are not reported
_WORLDS, _FEW_WORLDS, _MANY = 60, 19, 100  # simulated transitive matrices: for up to `_MANY` rankers, and for more
_BY_CHANCE = 0.05
_UNSURE = "not determined"


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
