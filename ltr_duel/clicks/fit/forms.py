"""The click models that can be fitted, and the layout of their parameters in one vector.

The blocks of the vector are, in this order: the attractiveness of each item (a query's document, or a relevance grade),
the satisfaction of each item, the parameters of positions, and the shared parameters. A model may lack any block except
the first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

PBM: Final = 0
CASCADE: Final = 1
DBN: Final = 2
SDBN: Final = 3
UBM: Final = 4
TABLE: Final = 5


class Form(NamedTuple):
    """One click model: its number in kernels, its blocks of parameters, its source."""

    name: str
    code: int
    satisfies: bool  # whether each item has a probability that a click on it satisfies the user
    by_place: str  # parameters of positions: "", "attention" or "attention, last click"
    shared: tuple[str, ...]
    cite: str


FORMS: Final = {
    form.name: form
    for form in (
        Form("pbm", PBM, False, "attention", (), "Craswell et al., WSDM 2008"),
        Form("cascade", CASCADE, False, "", (), "Craswell et al., WSDM 2008"),
        Form("dbn", DBN, True, "", ("going on",), "Chapelle and Zhang, WWW 2009"),
        Form("sdbn", SDBN, True, "", (), "Chapelle and Zhang, WWW 2009"),
        Form("ubm", UBM, False, "attention, last click", (), "Dupret and Piwowarski, SIGIR 2008"),
        Form("table", TABLE, True, "attention", (), "sdbn with attention by position"),
    )
}


class Layout(NamedTuple):
    """The starts of the blocks of a parameter vector; the first block, attractiveness, starts at 0."""

    satisfaction: int
    place: int
    shared: int
    size: int
    places: int  # number of positions of the longest list


def layout_of(form: Form, items: int, places: int) -> Layout:
    """Return the layout for ``items`` items, and lists of up to ``places`` positions."""
    satisfaction = items
    place = satisfaction + items * form.satisfies
    cells = {"": 0, "attention, last click": places * places}.get(form.by_place, places)
    shared = place + cells
    return Layout(satisfaction, place, shared, shared + len(form.shared), places)
