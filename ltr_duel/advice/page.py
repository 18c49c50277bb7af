"""The files of an answer: a page, its data, its figure, and the settings to be deployed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from ltr_duel.advice.answer import Advice
from ltr_duel.advice.candidates import APART
from ltr_duel.advice.sentences import ANSWER
from ltr_duel.advice.tables import candidates_table, race_table, rankers_table, users_table, what_if_table
from ltr_duel.analysis import COLOURS, DASHES, legend_beside, png_bytes, prepared_axes, render_page
from ltr_duel.core import files
from ltr_duel.live import Settings, write_settings

_SHOWN = 5  # maximum number of candidates in the figure
_TEMPLATE = Path(__file__).parent / "templates" / "advice.html"


def save_advice(advice: Advice, folder: Path) -> list[Path]:
    """Write all files of an answer, or none."""
    with files.replacing_files(folder) as temporary:
        live = ""
        if advice.live:
            write_settings(Settings(**advice.live), temporary / "live.toml")
            live = (temporary / "live.toml").read_text(encoding="utf-8")
        picture = png_bytes(plot_advice(advice)) if advice.rows else b""
        if picture:
            (temporary / "advice.png").write_bytes(picture)
        text = json.dumps(advice.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        (temporary / "advice.json").write_text(text + "\n", encoding="utf-8")
        (temporary / "advice.html").write_text(_page(advice, picture, live), encoding="utf-8")
        written = sorted(path.name for path in temporary.iterdir())
    return [folder / name for name in written]


def _page(advice: Advice, picture: bytes, live: str) -> str:
    s = advice.settings
    shown: dict[str, Any] = {
        "lines": advice.lines()[:ANSWER],
        "more": advice.lines()[ANSWER:],
        "rankers": rankers_table(advice),
        "picture": picture,
    }
    if advice.rows:
        apart = any(row.candidate == APART for row in advice.rows)
        shown |= {
            "candidates": candidates_table(advice),
            "users": users_table(advice),
            "what_if": what_if_table(advice),
            "race": race_table(advice),
            "hardest": advice.what_if[0].users,
            "live": live,
            "command": "ltr-duel live plan live.toml" if s.get("batch", 1) > 1 else "ltr-duel serve live.toml",
            "apart": f"'{APART}' shows each user the list of one ranker, drawn at random; it is for comparison,"
            " not for deployment."
            if apart
            else "",
        }
    return render_page(
        _TEMPLATE,
        title=f"Which of {len(s['rankers'])} rankers to deploy",
        subtitle=f"{s['corpus']}: {s['queries']:,} queries; {s['budget']:,} impressions;"
        f" users: {', '.join(s['clicks'])}",
        confidence=f"{100 * s['confidence']:g}%",
        measure=s["measure"],
        settings={
            name: ", ".join(value) if isinstance(value, list) else value
            for name, value in s.items()
            if value not in ("", [])
        },
        **shown,
    )


def plot_advice(advice: Advice) -> Axes:
    """Plot the curves of the first candidates, each for the click model with its lowest share of right runs.

    The interval of the advised candidate is shaded.
    """
    ax = prepared_axes(None, 8, 4.2)
    rows = [row for row in advice.rows if row.may_be_deployed][:_SHOWN]
    for place, row in enumerate(rows):
        curve = row.worst.curve
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(
            advice.times,
            [one.value for one in curve],
            color=colour,
            linestyle=DASHES[place % len(DASHES)],
            lw=2.2 if place == 0 else 1.3,
            label=f"{row.candidate}, {row.worst.users}" if len(row.worlds) > 1 else row.candidate,
        )
        if place == 0:
            ax.fill_between(
                advice.times, [one.low for one in curve], [one.high for one in curve], color=colour, alpha=0.2, lw=0
            )
    ax.axhline(advice.settings["confidence"], color="#6b6b6b", lw=0.8, ls=":")
    ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("impressions")
    ax.set_ylabel("probability that a right ranker is named")
    legend_beside(ax)
    return ax
