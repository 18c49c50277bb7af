"""List the publications that a paper about an experiment should cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ltr_duel.bandits import named_policy
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import components
from ltr_duel.data import CORPORA
from ltr_duel.experiment.results import StudyResults
from ltr_duel.interleaving import METHODS

_FOLDERS = {  # patterns of the folders of an archive, if they are not called like the corpus
    "letor3-ohsumed": "(letor3)?ohsumed",
    "letor3-gov": "letor3gov|(np|hp|td)200[34]|200[34](np|hp|td)",
}


def study_bibtex(results: StudyResults) -> str:
    """Return the publications in BibTeX. Comments name the components that have no known publication."""
    entries, unknown = dict[str, None](), dict[str, None]()
    for kind, name, component in _components(results):
        if component is None or not component.sources:
            unknown[f"% no reference is known for the {kind} '{name}'"] = None
        else:
            entries |= dict.fromkeys(source.bibtex for source in component.sources)
    return "\n\n".join(["\n".join(unknown)] * bool(unknown) + list(entries)) + "\n"


def _components(results: StudyResults) -> Iterator[tuple[str, str, components.Component | None]]:
    """Yield kind, name and component of everything that an experiment uses. Unknown components are None."""
    registries: dict[str, components.Registry[Any]] = {"method": METHODS, "clicks": CLICK_MODELS}
    for (_, label), sets in results.sets.items():
        name = sets.get("runs_as", label)  # 'auto' may run as 'auto_sets'
        yield "policy", name, named_policy(name)
    for facts in (*results.sets.values(), *(condition.facts for condition in results.conditions)):
        for fact, registry in registries.items():
            if value := facts.get(fact):
                name = str(value).partition(":")[0]
                yield fact, name, registry.get(name)
    for condition in results.conditions:
        if value := condition.facts.get("corpus"):
            yield "corpus", str(value), _corpus(results.data[condition.problem]) or _corpus(str(value))


def _corpus(name: str) -> components.Component | None:
    """Return the corpus with which a part of a path begins, for example ``mslr-web30k`` for ``MSLR-WEB30K/Fold1``."""

    def plain(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", text.lower())

    parts = [plain(part) for part in re.split(r"[/\\]", name)]
    patterns = {name: re.compile(_FOLDERS.get(name, plain(name))) for name in CORPORA}
    fitting = [corpus for corpus in CORPORA.values() if any(map(patterns[corpus.name].match, parts))]
    return max(fitting, key=lambda corpus: len(corpus.name), default=None)
