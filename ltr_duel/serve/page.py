"""The HTML page of the experiment, rendered without external files."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from ltr_duel.analysis import render_page
from ltr_duel.bandits import POLICIES
from ltr_duel.live import LiveState, Switched

_TEMPLATES = Path(__file__).parent / "templates"
_MOST = 12  # maximum number of rankers in the matrix; /state contains all
_LATEST = 10  # maximum number of uses of switches on the page
_ONE_LOOK = (
    "This probability holds for a single look. The intervals below hold at all times and for all pairs together, so"
    " they require more pages for the same conclusion; use the intervals to decide when to stop."
)
_NOTHING = "No results yet: no page of several rankers has been closed."


def experiment_page(state: LiveState) -> str:
    """Return the page of an experiment as HTML."""
    order = sorted(range(len(state.rankers)), key=lambda k: -float(state.exposure[k]))
    shown = order[:_MOST]
    return render_page(
        _TEMPLATES / "experiment.html",
        title=state.name,
        state=state,
        sentence=state.sentence if state.compared else _NOTHING,
        lines=_lines(state),
        facts=_facts(state),
        switched=[_use(one) for one in state.switched[-_LATEST:]][::-1],
        rankers=[_ranker(state, k) for k in order],
        heads=[state.rankers[k] for k in shown],
        rows=[(state.rankers[i], [_cell(state, i, j) for j in shown]) for i in shown],
        left_out=len(order) - len(shown),
        dropped="".join(state.switches.dropped[-1:]),
        confidence=f"{state.confidence:.4g}",
        adaptive=POLICIES.configure(state.policy).component.adaptive,
    )


def _lines(state: LiveState) -> list[str]:
    """Return sentences about the leading ranker."""
    if not state.compared:
        return []
    chance = float(state.probability[state.rankers.index(state.winner)])
    if np.count_nonzero(state.probability >= chance) > 1:
        lines = ["So far no ranker leads."]
    else:
        lines = [f"So far {state.winner} leads: it beats all others with probability {_chance(chance)}."]
        if state.impressions_to_go:
            lines[0] += f" {_ONE_LOOK}"
    if state.recommended != state.winner:
        lines.append(f"The policy recommends {state.recommended}.")
    return [*lines, state.note] if state.note else lines


def _facts(state: LiveState) -> dict[str, str]:
    to_go, bound = state.impressions_to_go, state.regret_bound
    more = "unknown" if to_go else "none"
    if 0 < to_go <= 1000 * state.compared:  # above this limit, `sentence` contains no number either
        more = f"about {to_go:,.0f} pages of several rankers"
        if (first := _first_pages(state)) < 1:
            more += f", {first * to_go:,.0f} of them for new users"
        if state.pages > state.compared:
            more += f"; at the present rate, {to_go * state.pages / max(1, state.compared):,.0f} pages in all"
    return {
        "pages shown": f"{state.pages:,}",
        "with clicks": _share(state.clicked, state.pages),
        "without clicks": _share(state.unclicked, state.pages),
        "expired": _share(state.expired, state.pages),
        "open": f"{state.open:,}",
        "of a single ranker (nothing compared)": _share(state.plain, state.pages),
        "steps of the policy": f"{state.steps:,}{' (of a new policy, see Pulls)' if state.switches.dropped else ''}",
        "regret": "no bound yet"
        if math.isinf(bound)
        else f"at most {bound:,.1f} wins, {_per_page(bound, state.pages)}",
        "pages to go": more,
        "switches": state.switches.words,
        "policy": state.policy,
        "compared by": f"{state.method} ({state.outcome})",
        "running since": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(state.started)),
    }


def _first_pages(state: LiveState) -> float:
    """Return the share of the outcomes that belong to a user's first page of a pair; only these outcomes count."""
    first, all_of_them = (
        float(won.sum() + tied.sum() / 2)
        for won, tied in ((state.first_wins, state.first_ties), (state.wins, state.ties))
    )
    return first / max(1.0, all_of_them)


def _use(one: Switched) -> tuple[str, str]:
    """Return time and description of a use of a switch."""
    at, switch = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(one.at)), one.switch
    value = f" {switch.share:g}, holdback {switch.holdback:g}" if switch.what == "share" else f" {switch.ranker}"
    by = f" ({switch.by})" if switch.by else ""
    return at, f"{switch.what}{value.rstrip()}{by}, after page {one.page:,}"


def _ranker(state: LiveState, k: int) -> dict[str, str | float]:
    """Return a row of the table of pulls, with the length of its bar in percent."""
    pulls, exposure = int(state.pulls[k]), float(state.exposure[k])
    return {
        "name": state.rankers[k],
        "pulls": f"{pulls:,}",
        "exposure": _share(exposure, state.pages),
        "chance": _chance(float(state.probability[k])),
        "bar": round(100 * exposure / max(1.0, float(state.exposure.max())), 2),
    }


def _cell(state: LiveState, i: int, j: int) -> dict[str, str]:
    """Return the result of the row's ranker against the column's ranker."""
    if i == j:
        return {"kind": "same", "mean": "", "interval": "", "counts": ""}
    wins, losses, ties = (int(n) for n in (state.first_wins[i, j], state.first_wins[j, i], state.first_ties[i, j]))
    if wins + losses + ties == 0:
        return {"kind": "unmet", "mean": "-", "interval": "no page counts yet", "counts": ""}
    low, high = float(state.low[i, j]), float(state.high[i, j])
    return {
        "kind": "won" if low > 0 else "lost" if high < 0 else "open",
        "mean": f"{float(state.mean[i, j]) + 0:+.3f}",
        "interval": f"{low:+.2f} to {high:+.2f}",
        "counts": f"{wins:,} : {losses:,}, {ties:,} ties",
    }


def _share(part: float, whole: float) -> str:
    return f"{part:,.{0 if part % 1 < 1e-9 else 1}f}" + (f" ({part / whole:.1%})" if whole else "")


def _per_page(bound: float, pages: int) -> str:
    return f"{bound / max(1, pages):.3f} a page"


def _chance(chance: float) -> str:
    return "> 0.999" if chance > 0.999 else "< 0.001" if chance < 0.001 else f"{chance:.3f}"
