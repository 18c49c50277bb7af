"""The printed tables of a comparison."""

from __future__ import annotations

import math

import pandas as pd

from ltr_duel.logs.adaptive import first_impressions
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.slices import Beside
from ltr_duel.logs.stopping import FEWEST, StoppingDecision, outcomes_go_together
from ltr_duel.logs.stopping_sentences import to_go_in
from ltr_duel.logs.verdict import Evidence, decision_of

ROWS = 40  # maximum number of pairs on a page


def comparison_table(evidence: Evidence, rows: int = ROWS) -> pd.DataFrame:
    """Return the pairs with verdicts, as formatted strings; the clearest pair and the leading rankers come first."""
    found, decisions, verdicts = evidence.found, evidence.decisions, decision_of(evidence).pairs
    of = "first impressions" if first_impressions(found) else ""
    order = _clearest(evidence)[:rows]
    if decisions is None:
        return pd.DataFrame(
            [_head(found, k, found.means.mean[k], verdicts[k], of) | _one_look(found, k, of) for k in order]
        )
    return pd.DataFrame(
        [_head(found, k, decisions[k].mean, verdicts[k], of) | _any_time(found, decisions[k], of) for k in order]
    )


def _clearest(evidence: Evidence) -> list[int]:
    """Return the pairs, the clearest first."""
    found, decisions = evidence.found, evidence.decisions
    if decisions is not None:
        return sorted(range(len(decisions)), key=lambda k: -decisions[k].e_value)
    names = found.named_pairs
    return sorted(range(len(names)), key=lambda k: (found.p[k], names[k]))


def rankers_in_table(evidence: Evidence) -> list[str]:
    """Return the rankers in their order of appearance in `comparison_table`."""
    found, decisions = evidence.found, evidence.decisions
    means = found.means.mean if decisions is None else [one.mean for one in decisions]
    pairs = found.named_pairs
    named = [one for k in _clearest(evidence) for one in pairs[k][:: 1 if means[k] >= 0 else -1]]
    return list(dict.fromkeys([*named, *found.names]))


def column_notes(evidence: Evidence) -> list[str]:
    """Return notes on columns of `comparison_table` whose headings need explanation."""
    found, decisions, notes = evidence.found, evidence.decisions, list[str]()
    if decisions is None and len(found.pairs) > 1:
        notes.append("interval: each interval holds for its pair alone; verdicts are by p, corrected for all pairs.")
    if decisions is not None and found.tests > 1:
        notes.append(
            f"always within: all {found.tests} pairs share the error, so with probability {evidence.confidence:.4g} no"
            " interval, verdict or winner is ever wrong."
        )
    if decisions is not None and found.tests > 1:
        alone = 1 / (1 - evidence.confidence)
        notes.append(
            f"e-value: a pair is decided once its e-value reaches {found.tests * alone:.4g}; {alone:.4g} would be"
            f" enough for a single pair, but {found.tests} pairs share the error."
        )
    if decisions is not None and (both := two_tests(found)):
        one, two = 1 - evidence.confidence, 2 - 2 * evidence.confidence
        look = "looked" if outcomes_go_together(found) else "look"
        twice = f"If you {look} both before and after this change of test"
        notes.append(f"{both}. {twice}, the error is {two:.2g}, not {one:.2g}.")
    if any(not math.isnan(one.per_user) for one in decisions or ()):
        notes.append(
            "per impression: each impression so far counts once; the decision is by this mean."
            " per user: each user counts once, by the first impression. Both intervals hold at every look."
        )
    return notes


def two_tests(found: LogComparison) -> str:
    """Return a note that the test changes when the first user (or query) returns; "" if it does not change."""
    if found.cluster == "impression" or found.adaptive:
        return ""
    who = {"user": "user", "query": "query"}.get(found.cluster, "user or query")
    if outcomes_go_together(found):
        return f"Before the first {who} returned, a different test was used"
    return f"Once the first {who} returns, a different test is used"


def _head(found: LogComparison, k: int, mean: float, verdict: str, of: str) -> dict[str, str]:
    """Return the first cells of a row; wins, losses and ties only if they determine the mean."""
    sign = 1 if mean >= 0 else -1
    won, lost = (found.wins[k], found.losses[k])[::sign]
    row = {
        "pair": " > ".join(found.named_pairs[k][::sign]),
        "verdict": verdict,
        f"{found.unit}s": f"{found.counts[k]:,}",
    }
    if of:
        return row | {of: f"{found.sequences.n[k]:,.0f}"}
    return row | {"wins": f"{won:,}", "losses": f"{lost:,}", "ties": f"{found.ties[k]:,}"}


def _one_look(found: LogComparison, k: int, of: str) -> dict[str, str]:
    sign = 1 if found.means.mean[k] >= 0 else -1
    return {
        _mean_of(of): f"{sign * found.means.mean[k]:+z.4f}",
        "interval": _ends(sign, found.low[k], found.high[k]),
        "p": _p(found.p[k]),
        "p, corrected": _p(found.p_corrected[k]),
    }


def _any_time(found: LogComparison, one: StoppingDecision, of: str) -> dict[str, str]:
    sign = 1 if one.mean >= 0 else -1
    both = not math.isnan(one.per_user)
    name = "mean per impression" if both else _mean_of(of)
    row = {name: f"{sign * one.mean:+z.4f}", "always within": _ends(sign, one.low, one.high)}
    if both:
        ends = _ends(sign, one.per_user_low, one.per_user_high)
        row |= {"mean per user": f"{sign * one.per_user:+z.4f}", "per user within": ends}
    what, each = to_go_in(found)
    to_go = _to_go(one, each) if one.verdict == "go on" else "-"
    return row | {"e-value": f"{one.e_value:.3g}", f"{what} to go": to_go}


def beside_table(beside: Beside, pairs: int = ROWS) -> pd.DataFrame:
    """Return the table of parts of a log, or of secondary outcomes, as formatted strings."""
    frame = beside.shown(pairs)
    counts = [name for name in ("impressions", "users", "first seen") if name in frame]
    ends = zip(frame["low"], frame["high"], strict=True)
    return pd.DataFrame(
        {
            beside.by: frame[beside.by],
            "pair": frame["pair"],
            **{name: [f"{n:,}" for n in frame[name]] for name in counts},
            _mean_of(beside.of): [f"{mean:+z.4f}" for mean in frame["mean"]],
            "interval": [_ends(1, *both) for both in ends],
            "p, corrected": [_p(p) for p in frame["p_corrected"]],
        }
    )


def _mean_of(of: str) -> str:
    return ", ".join(filter(None, ["mean", of]))


def _ends(sign: int, *ends: float) -> str:
    low, high = sorted(sign * end for end in ends)
    return f"{low:+z.4f} {high:+z.4f}"


def _p(value: float) -> str:
    return "< 1e-12" if value < 1e-12 else f"{value:.3g}"


def _to_go(one: StoppingDecision, each: float) -> str:
    if one.independent < FEWEST:
        return "too few to say"
    return "more than 1e9" if one.more > 1e9 else f"{one.more * each:,.0f}"
