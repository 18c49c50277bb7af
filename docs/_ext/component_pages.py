"""A page for each policy and each comparison method, from the registries and the docstrings of their files."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import curves
from pages import as_markdown, written

from ltr_duel.bandits import POLICIES
from ltr_duel.core import Component, Registry
from ltr_duel.interleaving import METHODS

_LABELS = {"regret": "guarantee"}
_POLICY_CURVE = f"""\
Mean cumulative regret of {curves.RUNS} runs of {curves.HORIZON:,} steps, with the band from the 10th to the 90th
percentile of the runs, on {curves.ARMS} arms with evenly spaced utilities (Bradley and Terry's model). Light grey: all
other policies on the same problem. Dotted, where it is in view: the asymptotic lower bound for pairs."""
_METHOD_CURVE = f"""\
Mean cumulative regret of {{policy}} in {curves.METHOD_RUNS} runs of {curves.METHOD_HORIZON:,} impressions, with the
band from the 10th to the 90th percentile of the runs, when this method makes the lists and credits the clicks of
simulated (navigational) users. Light grey: the other methods. Three feature rankers of a synthetic corpus; for all
methods regret is measured by the same matrix, estimated with `probabilistic`."""
_POLICIES = """\
How each works, what it assumes, guarantees and costs, what to cite, and a small regret curve.
[Policies](../../policies.md) has them in one table, and says how to write one. On an easy problem of ten arms the order
says little about yours; see [what leads where](../../state_of_the_art.md)."""
_METHODS = """\
How each makes a list and credits its clicks, what it needs and costs, and what a policy's regret is when it compares by
this method. [Comparing rankers](../../methods.md) has them in one table, and says how to write one."""


def component_page(component: Component, caption: str) -> str:
    """Write what the registry and the docstring of its file know of a component."""
    state: Any = component.state  # type: ignore[attr-defined]  # policies and methods have one, in their own file
    text = inspect.cleandoc(sys.modules[state.__module__].__doc__ or "")
    facts = "".join(
        f"{_LABELS.get(head, head)}\n: {as_markdown(fact)}\n\n" for head, fact in component.facts().items() if fact
    )
    cited = "\n\n".join(source.bibtex.strip() for source in component.sources)
    return (
        f"# {component.name}\n\n{as_markdown(text)}\n\n{facts}\n"
        f"![Regret of {component.name} against steps, and that of the others]({component.name}.svg)\n\n{caption}\n\n"
        + (f"## To cite\n\n```text\n{cited}\n```\n" if cited else "")
    )


def index_page(title: str, about: str, registry: Registry[Any]) -> str:
    """List the pages of a kind."""
    names = "".join(f"{component.name}\n" for component in registry)
    return f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}```\n"


def write_pages(app: Any) -> None:
    """Write all pages and draw their curves."""
    folder = Path(app.srcdir) / "generated"
    for policy in POLICIES:
        written(folder / "policies" / f"{policy.name}.md", component_page(policy, _POLICY_CURVE))
    for method in METHODS:
        caption = _METHOD_CURVE.format(policy="RUCB" if method.pairs else "MDB, a policy for sets,")
        written(folder / "methods" / f"{method.name}.md", component_page(method, caption))
    written(folder / "policies" / "index.md", index_page("Each policy", _POLICIES, POLICIES))
    written(folder / "methods" / "index.md", index_page("Each comparison method", _METHODS, METHODS))
    curves.drawn(folder / "policies", curves.policy_runs)
    curves.drawn(folder / "methods", curves.method_runs)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
