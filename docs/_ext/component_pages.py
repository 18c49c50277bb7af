"""Write a page for each policy, comparison method, click model and corpus.

A page contains the component's facts, the docstring of its module, its citations and, for the first three kinds, a
figure that is drawn during the build.
"""

from __future__ import annotations

import inspect
import pkgutil
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

_LABELS = {"regret": "guarantee"}
_POLICY_CURVE = f"""\
Mean cumulative regret of {curves.RUNS} runs of {curves.HORIZON:,} steps, with the band from the 10th to the 90th
percentile of the runs, on {curves.ARMS} arms with evenly spaced utilities (Bradley and Terry's model). Light grey: all
other policies on the same problem. Dotted in grey, if within the axes: the asymptotic lower bound for pairs."""
_METHOD_CURVE = f"""\
Mean cumulative regret of {{policy}} in {curves.METHOD_RUNS} runs of {curves.METHOD_HORIZON:,} impressions, with the
band from the 10th to the 90th percentile of the runs. This method makes the lists and credits the clicks of simulated
(navigational) users. Light grey: the other methods. The rankers are three features of a synthetic corpus; the regret of
all methods is computed from the same matrix, estimated with `probabilistic`."""
_POLICIES = """\
The algorithm, assumptions, guarantees and costs of each policy, its citation, and a small regret curve.
[Policies](../../policies.md) lists all policies in one table, and explains how to write one. The order of the policies
may be different on harder problems than these ten arms; see [policies compared](../../policies_compared.md)."""
_METHODS = """\
The list and the credit of each method, its requirements and costs, and the regret of a policy that uses
this method. [Comparing rankers](../../methods.md) lists all methods in one table, and explains how to write one."""


_CLICKS = """\
Simulated users: the probabilities that they click a document and then leave, by the document's grade.
[Comparing rankers](../../methods.md#click-models) lists all click models in one table, and explains how to write one;
[what a click model does](../../explanations/click_models.md) has an example, and
[click logs](../../logs.md#what-are-my-users-like) explains how to fit one to your own users."""
_CLICKS_CAPTION = """\
A user who examines a document of grade g clicks it with probability p(g), and leaves after the click with probability
s(g); the user therefore examines the next document with probability 1 - p(g) s(g). Parameters: {parameters}, explained
in [comparing rankers](../../methods.md#click-models)."""
_CLICKS_PICTURE = """\
Probability that a user examines each position of a list whose documents all have the same grade, with {grades}
grades."""
_CORPORA = """\
The corpora of `ltr-duel data fetch`: the size of each, its licence, how to get it, and how its files are read.
[Data](../../data.md) lists all corpora in one table."""


def cited(component: Component) -> str:
    """Return the section with the citations."""
    entries = "\n\n".join(source.bibtex.strip() for source in component.sources)
    return f"\n## To cite\n\n```text\n{entries}\n```\n" if entries else ""


def listed(facts: Mapping[str, str]) -> str:
    """Return facts as a definition list."""
    return "".join(f"{head}\n: {as_markdown(fact)}\n\n" for head, fact in facts.items() if fact)


def said_by(module: str) -> str:
    """Return the docstring of a module as Markdown."""
    return as_markdown(inspect.cleandoc(sys.modules[module].__doc__ or ""))


def curve_page(component: Component, caption: str) -> str:
    """Return the page of a policy or a method, with its regret curve."""
    state: Any = component.state  # type: ignore[attr-defined]  # both have the attribute, defined in their modules
    facts = {_LABELS.get(head, head): fact for head, fact in component.facts().items()}
    return (
        f"# {component.name}\n\n{said_by(state.__module__)}\n\n{listed(facts)}\n"
        f"![Regret of {component.name} and of all others against steps]({component.name}.svg)\n\n{caption}\n"
        + cited(component)
    )


def click_page(family: ClickFamily) -> str:
    """Return the page of a click model, with a table for each number of grades."""
    tables = ""
    for grades, (clicks, stops) in sorted(family.tables.items()):
        rows = "".join(f"| {grade} | {clicks[grade]:g} | {stops[grade]:g} |\n" for grade in range(grades))
        tables += f"\n| grade, of {grades} | click | leave after it |\n| --- | --- | --- |\n{rows}"
    return (
        f"# {family.name}\n\n{_CLICKS_CAPTION.format(parameters=f'`{family.parameters}`')}\n{tables}\n"
        f"![Probability that a user examines each position]({family.name}.svg)\n\n"
        f"{_CLICKS_PICTURE.format(grades=max(family.tables))}\n\n"
        f"## Source\n\n{said_by(declared_in(family.name, 'ltr_duel.clicks.models'))}\n\n"
        f"{listed({'source': family.facts()['source']})}" + cited(family)
    )


def corpus_page(corpus: Corpus) -> str:
    """Return the page of a corpus."""
    facts = {head: fact for head, fact in corpus.facts().items() if head != "corpus" and fact != "?"}
    facts |= {
        "folds": str(corpus.folds) if corpus.folds > 1 else "",
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


def declared_in(name: str, package: str) -> str:
    """Return the module of a package that contains a component's name in quotes, or else the name's part before "-"."""
    modules = [f"{package}.{found.name}" for found in pkgutil.iter_modules(sys.modules[package].__path__)]
    for begin in (name, name.partition("-")[0]):
        for module in modules:
            if re.search(rf'"{re.escape(begin)}\b', inspect.getsource(sys.modules[module]), re.IGNORECASE):
                return module
    raise LookupError(name)


def index_page(title: str, about: str, registry: Iterable[Any]) -> str:
    """Return the page that lists the components of a kind."""
    names = "".join(f"{component.name}\n" for component in registry)
    return f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}```\n"


def write_pages(app: Any) -> None:
    """Write all pages and draw their curves."""
    folder = Path(app.srcdir) / "generated"

    def pages_of(name: str, title: str, about: str, registry: Iterable[Any], page: Callable[[Any], str]) -> None:
        for component in registry:
            written(folder / name / f"{component.name}.md", page(component))
        written(folder / name / "index.md", index_page(title, about, registry))

    def method_page(method: Method) -> str:
        return curve_page(method, _METHOD_CURVE.format(policy="RUCB" if method.pairs else "MDB, a policy for sets,"))

    pages_of("policies", "Each policy", _POLICIES, POLICIES, lambda policy: curve_page(policy, _POLICY_CURVE))
    pages_of("methods", "Each comparison method", _METHODS, METHODS, method_page)
    pages_of("click_models", "Each click model", _CLICKS, CLICK_MODELS, click_page)
    pages_of("corpora", "Each corpus", _CORPORA, CORPORA.values(), corpus_page)
    curves.drawn(folder / "policies", curves.policy_runs)
    curves.drawn(folder / "methods", curves.method_runs)
    for family in CLICK_MODELS:
        curves.draw_attention(family, folder / "click_models" / f"{family.name}.svg")


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
