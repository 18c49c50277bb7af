"""The report of a reproduction: what was claimed and what came out, then every figure, paper by paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import pandas as pd

from ltr_duel.analysis import Markup, bullets, definitions, download, link, page, paragraphs, picture, section
from ltr_duel.papers.bibliography import paper_title
from ltr_duel.papers.ledger import ledger_sentence
from ltr_duel.papers.pages.data import data_csv
from ltr_duel.papers.pages.ledger import ledger_table, verdict
from ltr_duel.papers.pages.state_of_the_art import state_of_the_art_page


class Reproduced(NamedTuple):
    """One reproduced figure: what it says of itself, its table, and the picture as PNG."""

    about: Mapping[str, Any]
    frame: pd.DataFrame
    png: bytes


def reproduction_page(figures: Sequence[Reproduced], ledger: pd.DataFrame, *, title: str) -> str:
    """Return the page as text.

    Parameters
    ----------
    figures : sequence of Reproduced
        In the order in which they are shown; grouped by paper.
    ledger : DataFrame
        From `ltr_duel.papers.claims.check_claims`; may be empty.
    title : str
    """
    names = [str(figure.about["name"]) for figure in figures]
    parts = [_head(figures, ledger, title), _contents(figures, bool(len(ledger)))]
    if len(ledger):
        parts.append(section("What the papers claim", ledger_table(ledger, names), anchor="claims"))
    for paper, mine in _by_paper(figures).items():
        parts.append(f'<h2 class="part">{escape(paper_title(paper))}</h2>')
        for figure in mine:
            parts.append(_figure(figure, ledger))
            if paper == "state_of_the_art" and "policy" in figure.frame:
                parts.append(state_of_the_art_page(figure.frame))
    return page(title, parts)


def _by_paper(figures: Sequence[Reproduced]) -> dict[str, list[Reproduced]]:
    papers: dict[str, list[Reproduced]] = {}
    for figure in figures:
        papers.setdefault(str(figure.about["figure"]["paper"]), []).append(figure)
    return papers


def _head(figures: Sequence[Reproduced], ledger: pd.DataFrame, title: str) -> str:
    abouts = [figure.about for figure in figures]
    lines = [
        f"{len(figures)} figures and tables; made in {duration(sum(float(one.get('seconds', 0)) for one in abouts))}"
    ]
    for key, words in (("scale", "scale"), ("machine", "machine"), ("date", "date")):
        found = dict.fromkeys(str(one[key]) for one in abouts if one.get(key))
        if found:
            lines.append(f"{words}: {', '.join(found)}")
    sources = [str(one["source"]) for about in abouts for one in about.get("sources", [])]
    data = ", ".join(f"{one}: {sources.count(one)}" for one in dict.fromkeys(sources))
    answer = [ledger_sentence(ledger)] if len(ledger) else []
    answer += [f"Where the numbers of the problems come from: {data}."] if data else []
    return f'<h1>{escape(title)}</h1><p class="soft">{escape("; ".join(lines))}</p>' + section(
        "", paragraphs(answer), "answer"
    )


def _contents(figures: Sequence[Reproduced], claims: bool) -> str:
    lines = [link("claims", "What the papers claim")] if claims else []
    for paper, mine in _by_paper(figures).items():
        links = ", ".join(link(_anchor(one.about), str(one.about["figure"]["number"])) for one in mine)
        lines.append(Markup(f"{escape(paper_title(paper))}: {links}"))
    return section("On this page", bullets(lines))


def _figure(figure: Reproduced, ledger: pd.DataFrame) -> str:
    about, described = figure.about, figure.about["figure"]
    name, heading = str(about["name"]), f"{described['number']}: {described['title']}"
    text, words = data_csv(figure.frame, about)
    facts = {
        "Setting": described.get("setting", ""),
        "Data": _sources(about),
        "Scale": _scale(about),
        "Made": ", ".join(
            one for one in (f"in {duration(float(about.get('seconds', 0)))}", str(about.get("date", ""))) if one
        ),
    }
    saves = [
        download(f"{name}.csv", "text/csv", text, f"data as CSV ({words})"),
        download(f"{name}.png", "image/png", figure.png, "picture as PNG"),
    ]
    body = paragraphs([str(described.get("shows", ""))]) + picture(figure.png, heading)
    body += definitions({key: value for key, value in facts.items() if value})
    body += bullets([str(one) for one in described.get("notes", [])]) + _claims(ledger, name)
    return section(heading, body + paragraphs([Markup(" · ".join(saves))]), anchor=_anchor(about))


def _claims(ledger: pd.DataFrame, name: str) -> str:
    """List the claims that this figure decides."""
    if not len(ledger):
        return ""
    mine = ledger[[name in str(one).replace(" ", "").split(",") for one in ledger["figure"]]]
    return bullets([Markup(f"{verdict(str(row.verdict))}: {escape(str(row.says))}") for row in mine.itertuples()])


def _sources(about: Mapping[str, Any]) -> str:
    """Say which problems come from where, and what stands in for what."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in about.get("sources", []):
        groups.setdefault((str(one["source"]), str(one.get("note") or "")), []).append(str(one.get("problem") or ""))
    parts = []
    for (source, note), problems in groups.items():
        count = "" if len(groups) == 1 else f" ({', '.join(filter(None, problems[:4]))}{', …' * (len(problems) > 4)})"
        parts.append(f"{source}{count if count != ' ()' else ''}" + (f": {note}" if note else ""))
    return "; ".join(parts)


def _scale(about: Mapping[str, Any]) -> str:
    parts = [str(about["scale"])] if about.get("scale") else []
    parts += [f"{about['runs']:,} runs"] if about.get("runs") else []
    parts += [f"{about['horizon']:,} steps at most"] if about.get("horizon") else []
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time span as text."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _anchor(about: Mapping[str, Any]) -> str:
    return f"figure-{about['name']}"
