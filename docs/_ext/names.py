"""The public names, and the default role in docstrings: a link for a public name, code for any other text."""

from __future__ import annotations

import builtins
import functools
import importlib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

PACKAGE = Path(__file__).resolve().parents[2] / "ltr_duel"


@functools.cache
def public_names() -> dict[str, tuple[str, ...]]:
    """Return the public names of each package that has any, in alphabetical order."""
    packages = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
    names = {package: tuple(importlib.import_module(f"ltr_duel.{package}").__all__) for package in packages}
    return {package: listed for package, listed in names.items() if listed}


@functools.cache
def homes() -> dict[str, str]:
    """Map each unambiguous name to its documented name: ``simulate`` -> ``ltr_duel.simulation.simulate``."""
    found: dict[str, list[str]] = {}
    for package, names in public_names().items():
        for name in names:
            found.setdefault(name, []).append(f"ltr_duel.{package}.{name}")
    return {name: places[0] for name, places in found.items() if len(places) == 1} | {
        place: place for places in found.values() for place in places
    }


def home_of(target: str) -> str | None:
    """Return the documented name for ``Results`` or ``Results.summary`` in a docstring."""
    target = target.strip().lstrip("~").removesuffix("()")
    head, _, member = target.rpartition(".")
    if target in homes():
        return homes()[target]
    return f"{homes()[head]}.{member}" if head in homes() else None


def name_role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *rest: Any, **more: Any) -> Any:
    """Return a link or code for the role."""
    shown = nodes.literal(rawtext, text.lstrip("~"))
    target = home_of(text)
    if target is None:
        return [shown], []
    link = addnodes.pending_xref(
        "", shown, refdomain="py", reftype="obj", reftarget=target, refdoc=inliner.document.settings.env.docname,
        refwarn=False,
    )  # fmt: skip
    return [link], []


def resolve(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Resolve a bare name in a section of a docstring (``Raises``)."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if hasattr(builtins, target):
        return shown
    home = home_of(target)
    if home is None:
        return None
    made = env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", home, node, shown)
    return made or (shown if node.get("refwarn") is False else None)


def setup(app: Any) -> dict[str, bool]:
    """Register the role and the resolver."""
    app.add_role("name", name_role)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
