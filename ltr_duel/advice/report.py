"""Present the advice as sentences, tables, a figure, and files that include a web page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.advice.answer import Advice, CandidateResult, Estimate, Reached, WorldResult
from ltr_duel.analysis import BOUND_COLOUR, COLOURS, DASHES, add_legend, png_bytes, prepared_axes, render_page
from ltr_duel.bandits import POLICIES
from ltr_duel.core import errors, files
from ltr_duel.live import Settings, write_settings

ANSWER = 3  # the first three lines are the answer: the verdict, how sure it is, what it costs. The others explain it
_TEMPLATE = Path(__file__).parent / "templates" / "advice.html"


def advice_lines(advice: Advice) -> list[str]:
    """Return sentences: the candidate to deploy, how sure it is, what it costs, other findings, and assumptions."""
    if advice.deploy is None:
        return [_identical(advice), *_unsure(advice)]
    lines = [_verdict(advice, advice.deploy), _confidence(advice, advice.deploy.worst), _cost(advice, advice.deploy)]
    lines += [*_runner_up(advice, advice.deploy), *_other_users(advice, advice.deploy)]
    if (noisier := advice.noisier) is not None:
        lines.append(
            f"With '{noisier.users}' users whose clicks depend half as much on the grade, it is right in"
            f" {_percent(noisier.right)} of {noisier.runs} runs."
        )
    if advice.as_good:
        lines.append(f"Within the margin of '{advice.best}', and therefore also right: {_listed(advice.as_good)}.")
    return [*lines, *_unsure(advice), _assumptions(advice)]


def _verdict(advice: Advice, advised: CandidateResult) -> str:
    policy, method = advised.candidate.split("/")
    sources = POLICIES.configure(policy).component.sources
    deploy = f"eploy the policy {policy}{f' ({sources[0].short})' if sources else ''} with the method {method}"
    if advice.verdict == "deploy":
        return f"D{deploy}."
    few, larger = f"{advice.settings['budget']:,} impressions are too few for {_asked(advice)}", advice.sufficient
    if larger is not None:
        few += f", {larger.budget:,} may be enough" if larger.budget else f", and so are {larger.tried:,}"
        few += f" (right in {_percent(larger.right)} of {larger.runs} other runs)"
    return f"{few}; for the lowest loss, d{deploy}."


def _confidence(advice: Advice, worst: WorldResult) -> str:
    s, at, lacks = advice.settings, worst.sure_at, advice.sufficient
    within = f"a ranker within {s['margin']:g} {s['measure']} of it"
    line = f"After {s['budget']:,} impressions it named the best ranker, or {within}, in {_runs(advice, worst)}"
    if lacks and not lacks.budget and lacks.named_gap > s["margin"]:
        return (
            f"{line}. With more impressions it most often names '{lacks.named}', which is preferred by clicks but,"
            f" according to the grades, is {_plain(lacks.named_gap)} worse than the best."
        )
    if at.value is not None:
        line += f", and in {_asked(advice)} of them from {at.value:,} impressions on"
        if worst.right.low < s["confidence"]:
            line += f"; with so few runs, the true share may be as low as {_share(worst.right.low)}%"
    return f"{line}."


def _runs(advice: Advice, result: WorldResult) -> str:
    number = len(advice.settings["clicks"])
    users = f" with '{result.users}' users, the worst of {number} click models" if number > 1 else ""
    return f"{_percent(result.right)} of {result.runs:,} simulated runs{users}"


def _cost(advice: Advice, advised: CandidateResult) -> str:
    s, best = advice.settings, advice.ndcg[advice.best]
    world = max(advised.worlds, key=lambda world: (world.lost.value, world is advised.worst))
    users = f", with '{world.users}' users" if len(advised.worlds) > 1 else ""
    line = f"During the experiment, a list is on average {_ndcg(world.lost)} {s['measure']} below"
    if world.lost.value < 0:
        line = f"During the experiment, the combined lists are on average no worse than ({_ndcg(world.lost)} below)"
    equal = _plain(best - sum(advice.ndcg.values()) / len(advice.ndcg))
    less = _plain(best - advice.ndcg[s["incumbent"]])
    costs = f" to all users costs {less}" if less != "0" else ", which is the best already, to all users costs nothing"
    return (
        f"{line} the list of the best ranker, '{advice.best}'{users}. Showing the incumbent '{s['incumbent']}'{costs},"
        f" and an A/B test of all rankers {equal}."
    )


def _runner_up(advice: Advice, advised: CandidateResult) -> list[str]:
    if len(advice.candidates) < 2:
        return []
    other = advice.candidates[1]
    here, least = other.highest_loss.loss, advised.highest_loss.loss
    end = "; the runs do not show which of them is lower"
    if here.low > least.high:
        end = ", which is shown to be lower"
    elif here.value < least.value:
        all_users = " with every click model" * (len(advised.worlds) > 1)
        end = f"; but to be advised, a candidate must reach {_asked(advice)}{all_users}"
    return [
        f"Runner-up: {_named(other)}, right in {_runs(advice, other.worst)}. Its loss in total is {_ndcg(here)},"
        f" against {_ndcg(least)} for the advised candidate{end}."
    ]


def _other_users(advice: Advice, advised: CandidateResult) -> list[str]:
    better: dict[str, list[str]] = {}
    for model, world in enumerate(advised.worlds):
        best = min(advice.candidates, key=lambda result: result.worlds[model].loss.high)
        if best.worlds[model].loss.high < world.loss.low:
            better.setdefault(_named(best), []).append(f"'{world.users}'")
    return [
        f"If users were known to be {' or '.join(users)}, {name} would lose less." for name, users in better.items()
    ]


def _unsure(advice: Advice) -> list[str]:
    if not advice.unsure:
        return []
    return [
        f"{advice.settings['queries']:,} judged queries are too few to show that {_listed(advice.unsure)}"
        f" {'is' if len(advice.unsure) == 1 else 'are'} worse than '{advice.best}'; all numbers here are for users who"
        " ask only these queries."
    ]


def _assumptions(advice: Advice) -> str:
    s, sampled, batch = advice.settings, "", advice.settings["batch"]
    when = "at once" if batch == 1 else f"after each {batch:,} impressions"
    if s["fitted"]:
        sampled = f" (the parameters of {_listed(s['fitted'])} are sampled for each run, within their errors)"
    return (
        f"All numbers are for simulated users: they click exactly according to {_listed(s['clicks'])}{sampled}, respond"
        f" {when}, do not return, and ask the {s['queries']:,} judged queries equally often; the grades determine which"
        " ranker is best. Intervals cover only the error of the simulation."
    )


def _identical(advice: Advice) -> str:
    s, worst = advice.settings, min(advice.ndcg.values())
    return (
        f"No experiment is needed; keep the incumbent '{s['incumbent']}'. The {len(advice.ndcg)} rankers are identical"
        f" within the margin: none is more than {_plain(advice.ndcg[advice.best] - worst)} {s['measure']} below the"
        f" best, '{advice.best}', and a difference of {s['margin']:g} would not matter."
    )


def candidates_table(advice: Advice) -> pd.DataFrame:
    """Return a table of the advised candidate, the runner-up and the baseline."""
    return pd.DataFrame(
        {"candidate": f"{result.candidate} ({role})"}
        | _world_row(result.worlds[_hardest_users(advice)], intervals=False)
        for role, result in zip(("advised", "runner-up", "random pairs"), advice.shown, strict=False)
    )


def users_table(advice: Advice) -> pd.DataFrame:
    """Return a table of the finalists and the baseline, with a row for each click model."""
    return pd.DataFrame(
        {
            "users": users,
            "candidate": result.candidate,
            **_world_row(result.worlds[model], intervals=True),
            "runs": f"{result.worlds[model].runs}",
        }
        for model, users in enumerate(advice.settings["clicks"])
        for result in advice.candidates
    )


def _world_row(world: WorldResult, *, intervals: bool) -> dict[str, str]:
    return {
        "right": _percent(world.right),
        "sure from": _impressions(world.sure_at),
        "lost on the way": _ndcg(world.lost) if intervals else _plain(world.lost.value),
        "lost after": _ndcg(world.after) if intervals else _plain(world.after.value),
        "loss": _ndcg(world.loss),
    }


def screening_table(advice: Advice) -> pd.DataFrame:
    """Return a table of all candidates with the results of the first stage."""
    return pd.DataFrame(
        {"candidate": result.candidate, "right": f"{_share(result.right)}%", "loss": _plain(result.loss)}
        for result in advice.screening
    )


def rankers_table(advice: Advice) -> pd.DataFrame:
    """Return a table of the rankers, the best first."""
    best, margin = advice.ndcg[advice.best], advice.settings["margin"]
    return pd.DataFrame(
        {
            "ranker": name,
            advice.settings["measure"]: _plain(value),
            "below the best": _plain(best - value),
            "": "the best" if name == advice.best
            else "within the margin" if best - value <= margin + 1e-12
            else "not settled by the queries" * (name in advice.unsure),
        }
        for name, value in sorted(advice.ndcg.items(), key=lambda item: -item[1])
    )  # fmt: skip


def plot_advice(advice: Advice) -> Axes:
    """Plot how often the advised candidate, the runner-up and the baseline name a right ranker."""
    s, model = advice.settings, _hardest_users(advice)
    title = f"{s['corpus']}, '{s['clicks'][model]}' users; shaded: interval of the advised candidate"
    ax = prepared_axes(None, 8, 4.2, title)
    for number, result in enumerate(advice.shown):
        curve, colour = result.worlds[model].curve, COLOURS[number]
        style: dict[str, Any] = {"color": colour, "linestyle": DASHES[number], "lw": 1.3 if number else 2.2}
        style["label"] = f"{result.candidate}\n({result.worlds[model].runs} runs)"
        ax.plot(advice.times, [point.value for point in curve], **style)
        if number == 0:
            low, high = [point.low for point in curve], [point.high for point in curve]
            ax.fill_between(advice.times, low, high, color=colour, alpha=0.2, lw=0)
    ax.axhline(s["confidence"], color=BOUND_COLOUR, lw=0.8, ls=":")
    ax.set(xscale="log", ylim=(-0.02, 1.02), xlabel="impressions", ylabel="share of runs that name a right ranker")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    add_legend(ax)
    return ax


def save_advice(advice: Advice, folder: Path) -> list[Path]:
    """Write all files of the advice, or none of them."""
    with files.replacing_files(folder) as temporary:
        live, picture = "", b""
        if advice.deploy:
            write_settings(Settings(**advice.live), temporary / "live.toml")
            live = (temporary / "live.toml").read_text(encoding="utf-8")
            picture = png_bytes(plot_advice(advice))
            (temporary / "advice.png").write_bytes(picture)
        text = json.dumps(advice.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        (temporary / "advice.json").write_text(text + "\n", encoding="utf-8")
        (temporary / "advice.html").write_text(_page(advice, picture, live), encoding="utf-8")
        written = sorted(path.name for path in temporary.iterdir())
    return [folder / name for name in written]


def _page(advice: Advice, picture: bytes, live: str) -> str:
    s, lines, more = advice.settings, advice.lines(), ANSWER + (len(advice.candidates) > 1)
    shown: dict[str, Any] = {}
    if advice.deploy:
        shown = {
            "candidates": advice.table(),
            "users": users_table(advice),
            "screening": screening_table(advice),
            "screening_runs": advice.screening[0].runs,
            "model": advice.deploy.worst.users,
            "command": "ltr-duel live plan live.toml" if s["batch"] > 1 else "ltr-duel serve live.toml",
        }
    return render_page(
        _TEMPLATE,
        title=f"How to compare {len(s['rankers'])} rankers",
        subtitle=f"{s['corpus']}: {s['queries']:,} queries; {s['budget']:,} impressions;"
        f" users: {', '.join(s['clicks'])}",
        verdict=lines[0],
        lines=lines[1:ANSWER],
        runner_up=lines[ANSWER:more],
        more=lines[more:],
        confidence=_asked(advice),
        measure=s["measure"],
        rankers=rankers_table(advice),
        picture=picture,
        live=live,
        settings={name: ", ".join(v) if isinstance(v, list) else v for name, v in s.items() if v not in ("", [])},
        **shown,
    )


def _hardest_users(advice: Advice) -> int:
    """Return the index of the click model with which the advised candidate is right least often."""
    return advice.candidates[0].worlds.index(advice.candidates[0].worst)


def _asked(advice: Advice) -> str:
    return f"{100 * advice.settings['confidence']:g}%"


def _named(result: CandidateResult) -> str:
    """Return a candidate's name for a sentence, for example 'mdb with sosm'."""
    return " with ".join(result.candidate.split("/"))


def _percent(estimate: Estimate) -> str:
    """Format a probability, for example '97% (93 to 99)'."""
    return f"{_share(estimate.value)}% ({_share(estimate.low)} to {_share(estimate.high)})"


def _share(value: float) -> str:
    """Format a share as a percentage without the sign, for example '97.4'."""
    percent = 100 * value
    return f"{percent:.1f}" if 0.05 <= percent < 99.95 else f"{percent:.0f}"


def _ndcg(estimate: Estimate) -> str:
    """Format a difference of NDCG, for example '0.0123 (0.0119 to 0.0127)'."""
    return f"{_plain(estimate.value)} ({_plain(estimate.low)} to {_plain(estimate.high)})"


def _plain(value: float) -> str:
    """Format a number between -1 and 1, for example '-0.0004'."""
    text = f"{value:.4f}" if math.isfinite(value) else "?"
    return "0" if text in ("0.0000", "-0.0000") else text


def _impressions(reached: Reached) -> str:
    """Format a number of impressions with its interval, for example '23,000 (18,000 to 40,000)'."""
    if reached.value is None:
        return "not by then" if reached.low is None else f"not by then ({reached.low:,} at the earliest)"
    end = "or later" if reached.high is None else f"to {reached.high:,}"
    return f"{reached.value:,} ({reached.low:,} {end})"


def _listed(names: tuple[str, ...] | list[str], most: int = 6) -> str:
    quoted = [f"'{name}'" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(quoted)} and {len(names) - most} more"
    return errors.listed(quoted)
