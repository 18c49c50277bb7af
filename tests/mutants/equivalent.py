"""Mutants that change nothing a test could see, each with the reason."""

from __future__ import annotations

from tests.mutants.making import Mutant

EQUIVALENT: dict[tuple[str, str], str] = {  # (path below ltr_duel/, the changed line): why nobody can tell
}


def reason_of(mutant: Mutant) -> str:
    """Return why the mutant is equivalent, or an empty text if nobody has shown that it is."""
    return EQUIVALENT.get((mutant.path.removeprefix("ltr_duel/"), mutant.after.strip()), "")
