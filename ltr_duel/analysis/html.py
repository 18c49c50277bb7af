"""Make HTML pages from templates. A page contains its pictures, so it can be sent as a single file."""

from __future__ import annotations

import base64
import re
import struct
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

_WHOLE = re.compile(r"(?<!\S)(?:[(`]?[\d.+-]+e[-+]\d+|[(`]?--[a-z][a-z-]+)\S{0,4}(?!\S)")  # such as 2.6e-06, --stop-at
_TEMPLATES = Path(__file__).parent / "templates"


def render_page(template: str | Path, **values: Any) -> str:
    """Return the HTML page of a jinja2 template. Every string is escaped, and a missing value is an error.

    A template can extend ``page.html`` and import ``macros.html`` from the folder ``templates``. It can use the filters
    ``data_uri(kind)`` and ``png_size`` for pictures, and ``unbroken`` for sentences.
    """
    template = Path(template)
    loader = FileSystemLoader([template.parent, _TEMPLATES])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {
        "data_uri": lambda content, kind: f"data:{kind};base64,{base64.b64encode(content).decode()}",
        "png_size": lambda png: struct.unpack(">II", png[16:24]),
        "unbroken": _unbroken,
    }
    return environment.get_template(template.name).render(**values)


def _unbroken(text: str) -> Markup:
    """Return a sentence as HTML in which numbers and options stay on one line."""
    return Markup(_WHOLE.sub(lambda match: f'<span class="number">{match[0]}</span>', str(escape(text))))
