"""Whether lists were drawn anew for each impression, or kept and shown again.

The mean weight of a log does not tell: a list that is kept for a query is right in the mean over queries, but a hundred
impressions of it are one draw. So each list is compared with the one before of the same query and rankers. If it was
drawn anew, it is the same with the known chance of that one, whatever came before.
"""

from __future__ import annotations

from scipy import special

from ltr_duel.core import FloatVector, IntVector

_UNLIKELY = 1e-3  # of logs whose lists were drawn anew, so many are refused


class Repeats:
    """Lists that were the same as the one before of their cell and rankers, and how many are expected."""

    def __init__(self) -> None:
        self.seen, self.expected = 0, 0.0
        self._before: dict[tuple[int, tuple[str, ...]], tuple[bytes, float]] = {}

    def add(self, rankers: tuple[str, ...], cell: IntVector, lists: list[IntVector], chance: FloatVector) -> None:
        """Add rows that were made for these rankers."""
        for c, shown, here in zip(cell.tolist(), lists, chance.tolist(), strict=True):
            known = self._before.get((c, rankers))
            if known is not None:
                self.seen += known[0] == shown.tobytes()
                self.expected += known[1]
            self._before[c, rankers] = shown.tobytes(), here

    def refusal(self) -> str:
        """Return why lists were not drawn anew, or nothing; the number of repeats is at most Poisson."""
        if self.seen == 0 or special.gammainc(self.seen, self.expected) >= _UNLIKELY:
            return ""
        return (
            f"{self.seen:,} lists are the same as the one before for their query and rankers, where the method's"
            f" chances imply {self.expected:,.1f}: lists were kept (a cache?), not drawn anew for each impression"
        )
