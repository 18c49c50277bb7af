"""The league as tables of Markdown and as one figure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from benchmarks.rank_policies.league import TUNED, Costs, league, per_impression
from ltr_duel.analysis import markdown_table

PANELS = {
    "winner": "Matrices with a Condorcet winner: average regret",
    "no winner": "Matrices without one: Copeland regret",
    "users": "Simulated users: NDCG@10 regret",
}
_BLOCK = re.compile(r"(<!-- league -->\n).*?(<!-- end of league -->)", re.S)
_SHADES = LinearSegmentedColormap.from_list("league", ["#a9d0ea", "#dcebf5", "#f6f8fa"])


def leagues(costs: Sequence[Costs]) -> dict[str, pd.DataFrame]:
    """Return the league of each panel at the longest number of steps that all its policies ran."""
    tables = {}
    for panel in PANELS:
        mine = [row for row in costs if row.cell.problem.panel == panel]
        most = {
            name: max(row.cell.steps for row in mine if row.cell.policy == name)
            for name in {row.cell.policy for row in mine}
        }
        if mine:
            steps = min(most.values())
            shorter = [row for row in mine if row.cell.steps < steps]
            tables[panel] = league([row for row in mine if row.cell.steps == steps]).assign(steps=steps)
            if shorter:
                before = max(row.cell.steps for row in shorter)
                sooner = league([row for row in shorter if row.cell.steps == before]).set_index("policy")
                tables[panel][f"at {before:,}"] = tables[panel]["policy"].map(sooner["times the best"])
    return tables


def league_markdown(costs: Sequence[Costs]) -> str:
    """Return all tables as Markdown."""
    parts = []
    for panel, table in leagues(costs).items():
        parts += [f"## {PANELS[panel]}, {table['steps'][0]:,} steps", markdown_table(_texts(table))]
    ratios = per_impression(costs)
    if len(ratios):
        parts += ["## RMED1 / MDB, NDCG@10 regret for each impression", markdown_table(_ratios(ratios))]
    return "\n\n".join(parts) + "\n"


def renewed(page: str, tables: str) -> str:
    """Return a page with new tables between its markers."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{tables}\n{block[2]}", page)


def _columns(table: pd.DataFrame) -> list[str]:
    names = list(table.columns)
    return names[names.index("wrong") + 1 : names.index("steps")]


def _texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return a league as a table of strings; the lowest number of each column is bold."""
    least = table[_columns(table)].min()
    rows: list[dict[str, str]] = []
    for row in table.to_dict("records"):
        known = {"policy": _name(row["policy"]), "× best": _number(row["times the best"])}
        known["95%"] = "" if np.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"
        known |= {name: _number(row[name]) for name in table.columns if str(name).startswith("at ")}
        known |= {"wrong": f"{row['wrong']:.0%}"}
        rows.append(known | {name: _bold(_number(row[name]), row[name] == least[name]) for name in least.index})
    return pd.DataFrame(rows)


def _ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios as a table of strings: corpora in rows, numbers of steps in columns."""
    rows = []
    for problem, mine in table.groupby("problem", sort=False):
        records = mine.to_dict("records")
        row = {"corpus": str(problem)}
        row |= {f"{one['steps']:,} steps": f"{one['ratio']:.2f}" for one in records}
        last = records[-1]
        rows.append(row | {"RMED1 wrong": f"{last['rmed1 wrong']:.0%}", "MDB wrong": f"{last['mdb wrong']:.0%}"})
    return pd.DataFrame(rows)


def _name(policy: str) -> str:
    return policy + " †" * (policy.partition(":")[0] in TUNED)


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best and text else text


def draw_league(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the leagues: a row for each policy, the best on top, and darker cells for less regret.

    White numbers on blue mark the best policy of a column.
    """
    figure = Figure(figsize=(6.4, 3.6 * len(tables)), dpi=150, layout="constrained")
    for ax, (panel, table) in zip(figure.subplots(len(tables), squeeze=False).flat, tables.items(), strict=True):
        _draw_panel(ax, table, f"{PANELS[panel].replace(': ', chr(10))}, {table['steps'][0]:,} steps")
    figure.supxlabel(
        "Regret as a multiple of the best policy's; all: geometric mean. Blue: best of the column. † tuned here",
        fontsize=8, color="#444444",
    )  # fmt: skip
    return figure


def _draw_panel(ax: Any, table: pd.DataFrame, title: str) -> None:
    names = ["times the best", *_columns(table)]
    values = table[names].to_numpy(float)
    shade = np.ma.masked_invalid(np.log(np.maximum(values, 1.0)))
    ax.imshow(shade, cmap=_SHADES, vmin=0, vmax=np.log(4), aspect="auto")
    for row, column in np.argwhere(~np.isnan(values)):
        best = values[row, column] == np.nanmin(values[:, column])
        style = {"color": "white", "weight": "bold"} if best else {"color": "#222222"}
        if best:
            ax.fill_between([column - 0.5, column + 0.5], row - 0.5, row + 0.5, color="#0072B2", lw=0)
        ax.text(column, row, _number(values[row, column]), ha="center", va="center", fontsize=7.5, **style)
    ax.axvline(0.5, color="white", lw=4)
    ax.set_yticks(range(len(table)), [_name(name) for name in table["policy"]], fontsize=8.5)
    ax.set_xticks(range(len(names)), ["all", *names[1:]], fontsize=8, rotation=35, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left", fontsize=9)
