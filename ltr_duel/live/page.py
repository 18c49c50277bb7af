"""The status page of an experiment. It loads no other files and runs no script."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from ltr_duel.analysis import render_page
from ltr_duel.bandits import POLICIES
from ltr_duel.live.controls import Control
from ltr_duel.live.state import LiveState

CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TEMPLATE = Path(__file__).parent / "templates" / "experiment.html"
_MOST = 12  # largest number of rankers in the matrix of the page; /state contains all rankers
_LATEST = 10  # number of uses of controls that the page lists
_ONE_LOOK = (
    "This probability holds for a single look. The intervals below hold at all times and for all pairs together, so"
    " they require more pages for the same conclusion; use the intervals to decide when to stop."
)


def experiment_page(state: LiveState) -> str:
    """Return the page of an experiment as HTML."""
    order = sorted(range(len(state.rankers)), key=lambda k: -float(state.exposure[k]))
    shown = order[:_MOST]
    return render_page(
        _TEMPLATE,
        title=state.name,
        state=state,
        sentence=state.sentence if state.compared else "No results yet: no page of several rankers counts so far.",
        lines=_lines(state),
        facts=_facts(state),
        used=[_use(control) for control in state.used[-_LATEST:]][::-1],
        rankers=[_ranker(state, k) for k in order],
        heads=[state.rankers[k] for k in shown],
        rows=[(state.rankers[i], [_cell(state, i, j) for j in shown]) for i in shown],
        left_out=len(order) - len(shown),
        window=_duration(state.window),
        confidence=f"{state.confidence:.4g}",
        adaptive=POLICIES.configure(state.policy).component.adaptive,
    )


def _lines(state: LiveState) -> list[str]:
    if not state.compared:
        return []
    chance = float(state.probability[state.rankers.index(state.leader)])
    if np.count_nonzero(state.probability >= chance) > 1:
        lines = ["So far no ranker leads."]
    else:
        lines = [f"So far {state.leader} leads: it beats all others with probability {_chance(chance)}."]
        if state.impressions_to_go:
            lines[0] += f" {_ONE_LOOK}"
    if state.recommended != state.leader:
        lines.append(f"The policy recommends {state.recommended}.")
    return [*lines, state.note] if state.note else lines


def _facts(state: LiveState) -> dict[str, str]:
    counted = state.compared + state.alone
    rule = "an event was reported" if state.counted == "seen" else "every page counts"
    return {
        "pages shown": f"{state.pages:,}",
        f"in their window of {_duration(state.window)}": _share(state.waiting, state.pages),
        "without any report": _share(state.unseen, state.pages),
        f"that count ({rule})": _share(counted, state.pages),
        f"of these, with the credited event ({state.credit})": _share(state.clicked, counted),
        "of a single ranker (nothing compared)": _share(state.alone, counted),
        "regret": "no bound yet"
        if not math.isfinite(state.regret_bound)
        else f"at most {state.regret_bound:,.1f} wins, {state.regret_bound / max(1, counted):.3f} a page",
        "pages to go": _to_go(state),
        "controls": state.controls.words,
        "policy": f"{state.policy}, plan {state.version:,}; {state.untold:,} of {state.batch:,} outcomes for the next",
        "compared by": f"{state.method} ({state.outcome})",
        "running since": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(state.started)),
    }


def _to_go(state: LiveState) -> str:
    to_go = state.impressions_to_go
    if not to_go:
        return "none"
    if to_go > 1000 * state.compared:  # the sentence of the state has no number either
        return "unknown"
    first, every = (
        float(wins.sum() + ties.sum() / 2)
        for wins, ties in ((state.first_wins, state.first_ties), (state.wins, state.ties))
    )
    words = f"about {to_go:,.0f} pages of several rankers"
    return words + (f", {to_go * first / every:,.0f} of them for new users" if first < every else "")


def _use(control: Control) -> tuple[str, str]:
    share = "" if control.share is None else f"{control.share:g}"
    holdback = "" if control.holdback is None else f"holdback {control.holdback:g}"
    words = control.action, control.ranker, share, holdback, f"({control.who})" if control.who else ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(control.time)), " ".join(filter(None, words))


def _ranker(state: LiveState, k: int) -> dict[str, str | float]:
    exposure = float(state.exposure[k])
    return {
        "name": state.rankers[k],
        "exposure": _share(exposure, state.compared + state.alone),
        "chance": _chance(float(state.probability[k])),
        "bar": round(100 * exposure / max(1.0, float(state.exposure.max())), 2),
    }


def _cell(state: LiveState, i: int, j: int) -> dict[str, str]:
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


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"


def _chance(chance: float) -> str:
    return "> 0.999" if chance > 0.999 else "< 0.001" if chance < 0.001 else f"{chance:.3f}"
