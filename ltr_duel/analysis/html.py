"""Pieces of a self-contained page. Every text that comes in is escaped here."""

from __future__ import annotations

import base64
import struct
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

# Nothing may be loaded or sent, by whatever a name in the data might smuggle in.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --soft: #5d6670; --line: #e3e6ea; --paper: #fff; --ground: #f5f6f8;
--accent: #0072b2; --good: #00694c; --part: #8a5a00; --bad: #b0420a; --open: #5d6670; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a0a8b2; --line: #363b42; --paper: #1d2024;
--ground: #131518; --accent: #62b5e8; --good: #4cc9a0; --part: #e5b04d; --bad: #f0905c; --open: #a0a8b2; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
h2.part { font-size: 1.3rem; margin: 2rem 0 0; } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
a { color: var(--accent); } .soft { color: var(--soft); margin: 0 0 1rem; } p { margin: .5rem 0; }
section { background: var(--paper); border: 1px solid var(--line);
border-radius: .5rem; padding: 1rem 1.25rem; margin: 1rem 0; } .answer { border-left: 4px solid var(--accent); }
.scroll { overflow-x: auto; margin: .75rem 0; }
.scroll img { max-width: 100%; height: auto; display: block; margin: 0 auto; background: #fff; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; overflow-wrap: normal; }
th, td { padding: .3rem .6rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line);
white-space: nowrap; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child, .text { text-align: left; } .text { white-space: normal; min-width: 13rem; }
th { color: var(--soft); font-weight: 600; } ul { margin: .5rem 0; padding-left: 1.25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .75rem 0; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; }
.verdict { font-weight: 600; white-space: nowrap; } .holds { color: var(--good); } .in-part { color: var(--part); }
.does-not-hold { color: var(--bad); } .needs-data { color: var(--open); }
@media (max-width: 700px) { section { padding: .75rem; } .scroll img { max-width: none; width: max(100%, 36rem); }
dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .4rem; } }
"""


class Markup(str):
    """A text that is HTML already."""


def page(title: str, parts: Sequence[str]) -> str:
    """Return a whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def section(heading: str, body: str, kind: str = "", anchor: str = "") -> str:
    """Return a box with a heading."""
    head = f"<h2>{escape(heading)}</h2>" if heading else ""
    name = f' id="{escape(anchor)}"' if anchor else ""
    return f'<section class="{kind}"{name}>{head}{body}</section>\n'


def paragraphs(lines: Sequence[str]) -> str:
    """Return one paragraph for each line."""
    return "".join(f"<p>{_cell(line)}</p>" for line in lines)


def bullets(lines: Sequence[str]) -> str:
    """Return a list; nothing if it is empty."""
    return f"<ul>{''.join(f'<li>{_cell(line)}</li>' for line in lines)}</ul>" if lines else ""


def table(frame: pd.DataFrame, text: Collection[str] = ()) -> str:
    """Return a table that scrolls inside its own box; the columns ``text`` hold sentences, which wrap."""
    kinds = [' class="text"' if name in text else "" for name in frame.columns]
    header = "".join(f"<th{kind}>{_cell(name)}</th>" for name, kind in zip(frame.columns, kinds, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{kind}>{_cell(value)}</td>" for value, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in frame.itertuples(index=False)
    )
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>'


def definitions(settings: Mapping[str, Any]) -> str:
    """Return names and their values, one below the other."""
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{_cell(_plain(v))}</dd>" for k, v in settings.items()) + "</dl>"


def picture(png: bytes, caption: str) -> str:
    """Return a picture with its size, so that the page does not jump."""
    width, height = struct.unpack(">II", png[16:24])
    return (
        f'<div class="scroll"><img alt="{escape(caption)}" width="{width}" height="{height}"'
        f' src="{_uri("image/png", png)}"></div>'
    )


def download(name: str, kind: str, content: bytes, words: str) -> Markup:
    """Return a link that saves a file out of the page."""
    return Markup(f'<a download="{escape(name)}" href="{_uri(kind, content)}">{escape(words)}</a>')


def link(anchor: str, words: str) -> Markup:
    """Return a link to a place on the page."""
    return Markup(f'<a href="#{escape(anchor)}">{escape(words)}</a>')


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _cell(value: Any) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {entry}" for key, entry in value.items())
    if isinstance(value, (list, tuple, np.ndarray)):
        return ", ".join(str(entry) for entry in value)
    return value
