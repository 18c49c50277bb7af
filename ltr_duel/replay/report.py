"""What a replay did, and how fast it was answered."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

_QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass
class Replayed:
    """Counts and times of a replay."""

    pages: int = 0
    plain: int = 0  # pages of one ranker alone
    clicked: int = 0
    lost: int = 0  # pages whose clicks were never reported
    repeated: int = 0  # requests that were sent again after a pause or a lost connection
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)  # sentences of the service, with their status
    seconds: float = 0.0
    times: dict[str, array[float]] = field(default_factory=lambda: {"/decide": array("d"), "/clicks": array("d")})

    @property
    def rate(self) -> float:
        """Answered requests a second."""
        return sum(map(len, self.times.values())) / max(self.seconds, 1e-9)

    def quantile(self, path: str, share: float) -> float:
        """Return the time, in seconds, within which that share of requests was answered; NaN for none."""
        times = np.frombuffer(self.times[path])
        return float(np.quantile(times, share)) if len(times) else float("nan")

    def lines(self) -> list[str]:
        """Say it in sentences."""
        said = [f"{self.pages:,} pages in {self.seconds:,.1f} s: {self.rate:,.0f} requests a second"]
        for path, times in self.times.items():
            if times:
                milli = [f"{share:.4g} within {1000 * self.quantile(path, share):.2f} ms" for share in _QUANTILES]
                said.append(f"{path}: {', '.join(milli)}; the slowest {1000 * max(times):.2f} ms")
        said.append(f"{self.clicked:,} with clicks, {self.plain:,} of one ranker alone, {self.lost:,} never reported")
        if self.repeated:
            said.append(f"{self.repeated:,} requests were sent again")
        for (status, sentence), times_refused in self.refused.most_common(5):
            said.append(f"refused {times_refused:,} times with {status}: {sentence}")
        return said
