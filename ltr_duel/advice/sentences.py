"""The answer as sentences."""

from __future__ import annotations

from ltr_duel.advice.answer import Advice, Enough, Row
from ltr_duel.advice.tables import METHOD_WORDS, impressions, listed, named, ndcg, percent, percent_of, plain

ANSWER = 3  # number of lines of the answer; the other lines are explanations


def advice_lines(advice: Advice) -> list[str]:
    """Return the answer as sentences: the candidate to deploy, its confidence and cost, other findings, assumptions."""
    if advice.deploy is None:
        return [_identical(advice), *_unsure(advice)]
    lines = [_deploy(advice, advice.deploy), _known(advice, advice.deploy), _cost(advice, advice.deploy)]
    if advice.surest:
        row = next(row for row in advice.rows if row.candidate == advice.surest)
        sure = " With --sure such a candidate is advised." if advice.settings["aim"] != "sure" else ""
        lines.append(
            f"{named(row.candidate)} did reach {_asked(advice)}: it was right in {_runs(advice, row)}, and loses"
            f" {ndcg(row.worst.lost)} per list during the experiment.{sure}"
        )
    if advice.verdict == "too small":
        lines += _too_few_runs(advice)
    if advice.enough is not None:
        lines.append(_enough(advice, advice.enough))
    lines += _runner_up(advice) + _differs(advice) + _as_good(advice) + _unsure(advice)
    return [*lines, _given(advice)]


def _asked(advice: Advice) -> str:
    return f"{100 * advice.settings['confidence']:g}%"


def _runs(advice: Advice, row: Row) -> str:
    """Return a phrase on the share of a candidate's runs that are right, for the users with the lowest share."""
    users = f" with '{row.worst.users}' users" if len(advice.settings["clicks"]) > 1 else ""
    return f"{percent(row.worst.right)} of {row.worst.runs:,} simulated runs{users}"


def _deploy(advice: Advice, row: Row) -> str:
    s = advice.settings
    if advice.verdict == "too small":
        few = f"{s['budget']:,} impressions are too few for {_asked(advice)}"
        return f"{few}; for the lowest loss, deploy {_what(row.candidate)}."
    return f"Deploy {_what(row.candidate)}."


def _what(candidate: str) -> str:
    """Return the names of the policy and the method to deploy."""
    policy, _, method = candidate.partition("/")
    return METHOD_WORDS.get(candidate, f"the policy {policy} with the method {method}")


def _known(advice: Advice, row: Row) -> str:
    s, at = advice.settings, row.worst.sure_at
    users = "" if len(s["clicks"]) == 1 else f", the worst of {len(s['clicks'])} click models"
    within = f"a ranker within {s['margin']:g} {s['measure']} of it"
    line = f"After {s['budget']:,} impressions it named the best ranker, or {within}, in {_runs(advice, row)}{users}"
    if at.value is None:
        return f"{line}; it did not reach {_asked(advice)}."
    line += f", and in {_asked(advice)} of them from {impressions(at)} impressions on"
    last = max(row.worlds, key=lambda one: (one.sure_at.value or 0, one is row.worst))
    if last is not row.worst:
        line += f", with '{last.users}' users from {impressions(last.sure_at)} on"
    if row.worst.right.low < advice.settings["confidence"]:
        line += f"; with so few runs, the true share may be as low as {percent_of(row.worst.right.low)}%"
    return line + "."


def _cost(advice: Advice, row: Row) -> str:
    s, best = advice.settings, advice.ndcg[advice.best]
    most = max(row.worlds, key=lambda one: (one.lost.value, one is row.worst))
    users = "" if most is row.worst else f", with '{most.users}' users {ndcg(most.lost)},"
    less = plain(best - advice.ndcg[s["incumbent"]])
    incumbent = f"Showing the incumbent '{s['incumbent']}' to all users loses {less}."
    if less == "0":
        incumbent = f"Your incumbent '{s['incumbent']}' is already the best; showing it to all users loses nothing."
    return (
        f"During the experiment, a list loses {ndcg(row.worst.lost)} {s['measure']}{users} against the best ranker,"
        f" '{advice.best}'. {incumbent}"
    )


def _too_few_runs(advice: Advice) -> list[str]:
    """Return a sentence on the candidates that reached the confidence in too few runs."""
    found = [
        f"{named(row.candidate)} (right in {round(row.worst.right.value * row.worst.runs)} of {row.worst.runs} runs)"
        for row in advice.rows
        if row.may_be_deployed and row.worst.right.value >= advice.settings["confidence"]
    ]
    return [f"Reached {_asked(advice)} in too few runs to be advised: {', '.join(found)}."] if found else []


def _enough(advice: Advice, found: Enough) -> str:
    right = f"in {found.runs} other runs it is right in {percent(found.right)}"
    if found.budget is not None:
        return f"{found.budget:,} impressions may be enough: {right}."
    wrong = ""
    if found.named_gap > advice.settings["margin"]:
        wrong = (
            f"; it most often names '{found.named}', which is preferred by clicks but, according to the grades,"
            f" {plain(found.named_gap)} worse than the best"
        )
    return f"Even {found.tried:,} impressions were not enough: {right}{wrong}."


def _given(advice: Advice) -> str:
    """Return sentences on the assumptions behind all numbers."""
    s, drawn, batch = advice.settings, "", advice.settings.get("batch", 1)
    when = "at once" if batch == 1 else f"after each {batch:,} impressions"
    if s["fitted"]:
        drawn = f" (the parameters of {listed(s['fitted'])} are sampled for each run, within their errors)"
    return (
        f"All numbers are for simulated users: they click exactly according to {listed(s['clicks'])}{drawn}, respond"
        f" {when}, do not return, and ask the {s['queries']:,} judged queries equally often;"
        " the grades determine which ranker is best."
        " Intervals cover only the error of the simulation."
    )


def _runner_up(advice: Advice) -> list[str]:
    others = [row for row in advice.rows[1:] if row.may_be_deployed]
    if not others:
        return []
    row = others[0]
    right, lost = _runs(advice, row), ndcg(row.worst.lost)
    line = f"Runner-up: {named(row.candidate)}, right in {right}, losing {lost} per list during the experiment."
    if row.candidate == advice.surest:  # the numbers are in a line above
        line = f"Runner-up: {named(row.candidate)}, as above."
    here, least = row.dearest.loss, advice.rows[0].dearest.loss
    if row.fresh and here.value < least.value and here.high >= least.low:  # otherwise `_differs` reports it
        line += f" In its runs users lost less in total, {ndcg(here)} against {ndcg(least)} for the advised candidate;"
        line += " this may change with more --simulations."
    often = {k for one in advice.rounds if 2 * one.runs >= advice.settings["simulations"] for k in one.tried}
    named_already = (advice.rows[0].candidate, row.candidate)
    left = advice.rounds[-1].left
    others_left = [k for k in left if advice.names[k] not in named_already]
    if advice.names.index(advice.rows[0].candidate) not in left:  # a dropped candidate that reached the confidence
        others_left = []
    close = [advice.names[k] for k in others_left if k in often]
    if close:
        line += f" The runs do not show that users lose more with {listed(close)} than with the advised candidate."
    seldom = [advice.names[k] for k in others_left if k not in often]
    if seldom:
        line += f" The few runs of other candidates do not show that users lose more with them: {listed(seldom)}."
    return [line]


def _differs(advice: Advice) -> list[str]:
    """Return sentences on users for whom another candidate is shown to lose less (intervals do not overlap)."""
    fresh = [row for row in advice.rows if row.fresh and row.may_be_deployed]
    other: dict[str, list[str]] = {}
    for m, users in enumerate(advice.settings["clicks"]):
        best = min(fresh, key=lambda row: row.worlds[m].loss.high)
        if best.worlds[m].loss.high < fresh[0].worlds[m].loss.low:
            other.setdefault(best.candidate, []).append(users)
    return [
        f"If users were known to be {' or '.join(users)}, {named(candidate)} would lose less."
        for candidate, users in other.items()
    ]


def _as_good(advice: Advice) -> list[str]:
    if not advice.as_good:
        return []
    return [f"Within the margin of '{advice.best}', and therefore also right: {listed(advice.as_good)}."]


def _unsure(advice: Advice) -> list[str]:
    s = advice.settings
    if not advice.unsure:
        return []
    return [
        f"{s['queries']:,} judged queries are too few to show that {listed(advice.unsure)}"
        f" {'is' if len(advice.unsure) == 1 else 'are'} worse than '{advice.best}'; all numbers here are for users who"
        " ask only these queries."
    ]


def _identical(advice: Advice) -> str:
    s = advice.settings
    worst = min(advice.ndcg.values())
    return (
        f"The {len(advice.ndcg)} rankers are identical within the margin: none is more than"
        f" {plain(advice.ndcg[advice.best] - worst)} {s['measure']} below the best, '{advice.best}', and"
        f" a difference of {s['margin']:g} would not matter. No experiment is needed; keep the incumbent"
        f" '{s['incumbent']}'."
    )
