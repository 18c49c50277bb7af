"""The printed tables of a comparison, and planned looks as a table and as a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ltr_duel.logs.adaptive import first_impressions, weighs
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.findings import Finding
from ltr_duel.logs.named_looks import NamedLook
from ltr_duel.logs.slices import Beside
from ltr_duel.logs.stopping import FEWEST, StoppingDecision, outcomes_go_together
from ltr_duel.logs.stopping_sentences import never_shown, to_go_in
from ltr_duel.logs.verdict import Evidence, decision_of, failed_checks

ROWS = 40  # maximum number of pairs on a page


def comparison_table(evidence: Evidence, rows: int = ROWS) -> pd.DataFrame:
    """Return the pairs with verdicts, as formatted strings; the clearest pair and the leading rankers come first."""
    found, decisions, verdicts = evidence.found, evidence.decisions, decision_of(evidence).pairs
    of = _of(found, one_look=decisions is None)
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
    if found.cluster == "impression" or found.adaptive or found.adjusted:
        return ""
    who = {"user": "user", "query": "query"}.get(found.cluster, "user or query")
    if outcomes_go_together(found):
        return f"Before the first {who} returned, a different test was used"
    return f"Once the first {who} returns, a different test is used"


def _of(found: LogComparison, *, one_look: bool) -> str:
    """Return the unit of a mean; "" if all impressions count equally."""
    if one_look and found.adaptive and weighs(found):
        return "weighted"
    return "first impressions" if first_impressions(found) else ""


def _head(found: LogComparison, k: int, mean: float, verdict: str, of: str) -> dict[str, str]:
    """Return the first cells of a row; wins, losses and ties only if they determine the mean."""
    sign = 1 if mean >= 0 else -1
    won, lost = (found.wins[k], found.losses[k])[::sign]
    row = {
        "pair": " > ".join(found.named_pairs[k][::sign]),
        "verdict": verdict,
        f"{found.unit}s": f"{found.counts[k]:,}",
    }
    if of == "first impressions":
        return row | {of: f"{found.sequences.n[k]:,.0f}"}
    if of == "weighted":
        return row
    return row | {"wins": f"{won:,}", "losses": f"{lost:,}", "ties": f"{found.ties[k]:,}"}


def _one_look(found: LogComparison, k: int, of: str) -> dict[str, str]:
    sign = 1 if found.means.mean[k] >= 0 else -1
    drawn = found.bootstrap[:, k]
    return {
        _mean_of(of): f"{sign * found.means.mean[k]:+z.4f}",
        "interval": _ends(sign, found.low[k], found.high[k]),
        **({} if np.isnan(drawn[0]) else {"bootstrap": _ends(sign, *drawn)}),
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


def named_looks_table(looks: Sequence[NamedLook], findings: Sequence[Finding] = ()) -> pd.DataFrame:
    """Return the table of planned looks as formatted strings; the first look with a winner decides the pair."""
    last = {(one.first, one.second): one for one in looks}
    turned = [_turned(one, last[one.first, one.second].mean) for one in looks]
    deciding, failed = _deciding(looks), failed_checks(findings)
    verdicts = ["no decision" if failed else _verdict(one, deciding.get(one[:2])) for one in looks]
    rows = [
        {
            "pair": f"{one.first} against {one.second}",
            "day": f"{one.day:g}",
            "verdict": verdict,
            "impressions": f"{one.impressions:,}",
            "mean": f"{one.mean:+z.4f}",
            "at all looks within": f"{one.low:+z.4f} {one.high:+z.4f}",
            "deviations": f"{one.deviations:+.2f}",
            "boundary": f"{one.boundary:.2f}",
        }
        for one, verdict in zip(turned, verdicts, strict=True)
    ]
    return pd.DataFrame(rows)


def _deciding(looks: Sequence[NamedLook]) -> dict[tuple[str, ...], NamedLook]:
    """Return the first look with a winner for each pair."""
    found: dict[tuple[str, ...], NamedLook] = {}
    for look in sorted(looks, key=lambda one: one.day):
        if look.winner:
            found.setdefault(look[:2], look)
    return found


def _verdict(one: NamedLook, deciding: NamedLook | None) -> str:
    if deciding is None or one.day < deciding.day:
        return "open"
    return f"{one.winner} wins" if one.day == deciding.day else f"decided at day {deciding.day:g}"


def _turned(one: NamedLook, sign: float) -> NamedLook:
    """Return a look with the rankers exchanged if `sign` is negative."""
    if sign >= 0:
        return one
    one = one._replace(first=one.second, second=one.first, mean=-one.mean)
    return one._replace(low=-one.high, high=-one.low, deviations=-one.deviations)


def named_looks_sentence(
    looks: Sequence[NamedLook], days: Sequence[float], rankers: Sequence[str], findings: Sequence[Finding] = ()
) -> str:
    """Return a sentence on whether the experiment stops by the looks so far.

    The first look with a winner decides the pair. The sentence mentions a later look whose mean has the
    opposite sign. A failed check overrides any winner.
    """
    said, failed = _by_looks(looks, days, rankers), failed_checks(findings)
    return f"no decision: {failed}. The outcomes alone: {said}" if failed else said


def _by_looks(looks: Sequence[NamedLook], days: Sequence[float], rankers: Sequence[str]) -> str:
    named, several = ", ".join(f"{day:g}" for day in days), len(rankers) > 2
    for ranker in rankers:
        own = [one for one in _deciding(looks).values() if one.winner == ranker]
        if len(own) == len(rankers) - 1:
            others = f" against each of the {len(own)} others" if several else ""
            by = f"by the look at day {max(one.day for one in own):g} of looks at days {named}"
            return " ".join([f"stop: {ranker} wins{others}, {by}.", *_contradictions(looks, own)])
    unseen = never_shown(rankers, [(one.first, one.second) for one in looks if one.impressions]) if looks else ""
    been = max((one.day for one in looks), default=0.0)
    if been == days[-1]:
        over = f"the looks at days {named} are over, and no ranker wins{' against all others' * several}."
    else:
        next_one = min(day for day in days if day > been)
        over = (
            f"go on until the look at day {next_one:g}, which is made once, when the log reaches that day, with the"
            " data before that day."
        )
    return " ".join(filter(None, [over, unseen]))


def _contradictions(looks: Sequence[NamedLook], own: Sequence[NamedLook]) -> list[str]:
    """Return a sentence for each pair won by the winner, if the mean has the opposite sign at a later look."""
    said = []
    for one in own:
        side = 1 if one.winner == one.first else -1
        later = [look for look in looks if look[:2] == one[:2] and look.day > one.day and side * look.mean < 0]
        if later:
            look = max(later, key=lambda look: (bool(look.winner), look.day))
            does = "contradicts it" if look.winner else "does not confirm it"
            said.append(
                f"A later look {does}: at day {look.day:g} the mean outcome of {one.winner} against"
                f" {one.second if side > 0 else one.first} is {side * look.mean:+z.4f}"
                f" ({side * look.deviations:+.2f} deviations, boundary {look.boundary:.2f})."
            )
    return said
