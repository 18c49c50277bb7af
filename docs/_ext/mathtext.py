"""Typeset formulas as pictures by matplotlib, which needs neither LaTeX nor a script from elsewhere."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import Any

from docutils import nodes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

_FONT = FontProperties(size=13, math_fontfamily="cm")


def picture(formula: str) -> str:
    """Return a formula as an image whose alternative text is the formula."""
    text = f"${' '.join(formula.split())}$"
    width, height, depth, *_ = MathTextParser("path").parse(text, dpi=72, prop=_FONT)
    figure = Figure(figsize=(width / 72, height / 72))
    figure.text(0, depth / height, text, fontproperties=_FONT)
    file = io.BytesIO()
    figure.savefig(file, format="svg", transparent=True)
    source = base64.b64encode(file.getvalue()).decode()
    style = f"vertical-align: -{depth:.1f}pt; height: {height:.1f}pt"
    return (
        f'<img class="math" style="{style}" alt="{escape(formula.strip())}" src="data:image/svg+xml;base64,{source}">'
    )


def inline(writer: Any, node: nodes.Element) -> None:
    """Write a formula within a line."""
    writer.body.append(picture(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.Element) -> None:
    """Write a formula of its own."""
    writer.body.append(f'<div class="formula">{picture(node.astext())}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer, which `html_math_renderer` names."""
    app.add_html_math_renderer("mathtext", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
