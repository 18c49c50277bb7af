"""Write a page for each policy, comparison method, click model and corpus.

The page of a policy or a method has its entry in ``policies.md`` or ``methods.md`` (what it does, when to use it, its
rule), its facts, its regret curve and its citation. A component without an entry has the first paragraph of its module.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import curves
from pages import as_markdown, written

from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS, ClickFamily
from ltr_duel.core import Component
from ltr_duel.data import CORPORA, Corpus
from ltr_duel.interleaving import METHODS, Method

_DOCS = Path(__file__).resolve().parents[1]
_POLICY_CURVE = f"""\
Mean cumulative regret of {curves.RUNS} runs of {curves.HORIZON:,} steps, with the band from the 10th to the 90th
percentile, on {curves.ARMS} arms with evenly spaced utilities (Bradley and Terry's model). Light grey: all other
policies. On harder problems the order may be another: [policies compared](../../policies_compared.md)."""
_METHOD_CURVE = f"""\
Mean cumulative regret of {{policy}} in {curves.METHOD_RUNS} runs of {curves.METHOD_HORIZON:,} impressions, with the
band from the 10th to the 90th percentile. This method makes the lists and credits the clicks of navigational users.
Light grey: the other methods. The rankers are three features of a synthetic corpus; all regret is computed from one
matrix, estimated with `probabilistic`."""
_CLICKS = """\
A user who examines a document of grade g clicks it with probability p(g), and leaves after the click with probability
s(g). Parameters: {parameters}, explained in [click models](../../click_models.md).
{tables}
![Probability that a user examines each position]({name}.svg)

Probability that a user examines each position of a list whose documents all have the same grade, with {grades} grades.
"""
_INDEX = {
    "policies": ("Each policy", "[Policies](../../policies.md) says which to use when."),
    "methods": ("Each comparison method", "[Comparison methods](../../methods.md) says which to use when."),
    "click_models": ("Each click model", "[Click models](../../click_models.md) says what they do."),
    "corpora": ("Each corpus", "[Data](../../data.md) says how to get and read them."),
}


def entry(page: str, component: Any) -> str:
    """Return what a page of docs/ says below the heading that names a component."""
    text = (_DOCS / page).read_text(encoding="utf-8")
    section = re.search(rf"^### [^\n]*`{re.escape(component.name)}`[^\n]*\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    if section is None:
        return as_markdown(inspect.cleandoc(sys.modules[component.state.__module__].__doc__ or "").split("\n\n")[0])
    return re.sub(r"\]\((?!https?:|#)", "](../../", section[1].strip()).replace("](#", f"](../../{page}#")


def cited(component: Component) -> str:
    """Return the section with the citations."""
    entries = "\n\n".join(source.bibtex.strip() for source in component.sources)
    return f"\n## To cite\n\n```text\n{entries}\n```\n" if entries else ""


def listed(facts: Mapping[str, str]) -> str:
    """Return facts as a definition list."""
    return "".join(f"{head}\n: {as_markdown(fact)}\n\n" for head, fact in facts.items() if fact)


def curve_page(page: str, component: Component, caption: str) -> str:
    """Return the page of a policy or a method."""
    facts = {{"regret": "guarantee"}.get(head, head): fact for head, fact in component.facts().items()}
    return (
        f"# {component.name}\n\n{entry(page, component)}\n\n"
        f"![Regret of {component.name} and of all others against steps]({component.name}.svg)\n\n{caption}\n\n"
        f"{listed(facts)}{cited(component)}"
    )


def method_page(method: Method) -> str:
    """Return the page of a method."""
    policy = "RUCB" if method.pairs else "MDB, a policy for sets,"
    return curve_page("methods.md", method, _METHOD_CURVE.format(policy=policy))


def click_page(family: ClickFamily) -> str:
    """Return the page of a click model, with a table for each number of grades."""
    tables = ""
    for grades, (clicks, stops) in sorted(family.tables.items()):
        rows = "".join(f"| {grade} | {clicks[grade]:g} | {stops[grade]:g} |\n" for grade in range(grades))
        tables += f"\n| grade, of {grades} | click | leave after it |\n| --- | --- | --- |\n{rows}"
    words = {
        "parameters": f"`{family.parameters}`",
        "tables": tables,
        "name": family.name,
        "grades": max(family.tables),
    }
    return (
        f"# {family.name}\n\n{_CLICKS.format(**words)}\n{listed({'source': family.facts()['source']})}{cited(family)}"
    )


def corpus_page(corpus: Corpus) -> str:
    """Return the page of a corpus."""
    facts = {head: fact for head, fact in corpus.facts().items() if head != "corpus" and fact != "?"}
    facts |= {
        "format": f"``{corpus.dialect}``",
        "read with": "" if corpus.labels == "grades" else f"``--labels {corpus.labels}``",
        "how to get it": corpus.obtain,
    }
    return (
        f"# {corpus.name}\n\n{corpus.title}.\n\n"
        f"{listed(facts)}terms\n: <{corpus.terms_url}>\n\nfetched by\n: `ltr-duel data fetch {corpus.name}`\n"
        f"\narchive\n: `{corpus.archive}`, published checksum: {f'`{corpus.digest}`' if corpus.digest else 'none'}\n"
        + cited(corpus)
    )


def write_pages(app: Any) -> None:
    """Write all pages and draw their curves; a page of the site is the changelog."""
    folder = Path(app.srcdir) / "generated"
    kinds: dict[str, tuple[Iterable[Any], Callable[[Any], str]]] = {
        "policies": (POLICIES, lambda policy: curve_page("policies.md", policy, _POLICY_CURVE)),
        "methods": (METHODS, method_page),
        "click_models": (CLICK_MODELS, click_page),
        "corpora": (CORPORA.values(), corpus_page),
    }
    for kind, (components, page) in kinds.items():
        for component in components:
            written(folder / kind / f"{component.name}.md", page(component))
        title, about = _INDEX[kind]
        names = "".join(f"{component.name}\n" for component in components)
        written(folder / kind / "index.md", f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}```\n")
    curves.drawn(folder / "policies", curves.policy_runs)
    curves.drawn(folder / "methods", curves.method_runs)
    for family in CLICK_MODELS:
        curves.draw_attention(family, folder / "click_models" / f"{family.name}.svg")
    changes = (_DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    changes = re.sub(r"\]\(docs/", "](../", changes)
    written(folder / "changelog.md", changes)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
