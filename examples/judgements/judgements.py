"""Choose which two answers a judge compares next, until one of them is known to be preferred to every other.

    python judgements.py judgements.csv --names A,B,C --next 20

The answers may be of language models, prompts, designs: anything that is compared in pairs. The file of judgements has
the columns ``first``, ``second`` and ``winner`` (a name, or ``tie``). It is the only state: reading it again gives the
same standing and the same next pairs.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ltr_duel import PreferenceMatrix
from ltr_duel.bandits import POLICIES, Learner
from ltr_duel.core import InputError, stream
from ltr_duel.logs import confidence_sequence

TIE = "tie"
COLUMNS = ["first", "second", "winner"]
Row = tuple[str, str, str]  # the item shown first, the item shown second, and the winner's name or "tie"


class Judgements:
    """Judgements of pairs of items, and the policy that learns from them.

    The policy must be one that only counts outcomes (``any_order``), since it is told pairs that it did not choose.
    """

    def __init__(
        self, names: Sequence[str], *, policy: str = "double_thompson", confidence: float = 0.95, seed: int = 0
    ) -> None:
        if len(names) < 2 or len(set(names)) < len(names) or TIE in names:
            raise InputError(f"at least two different names are required, none of them '{TIE}'")
        if not POLICIES.configure(policy).component.any_order:
            legal = ", ".join(each.name for each in POLICIES if each.any_order and each.feedback == "duel")
            raise InputError(f"policy '{policy}' does not only count outcomes; policies that do: {legal}")
        self.names, self._confidence, self._seed = tuple(names), confidence, seed
        self.wins = np.zeros((len(names), len(names)), np.int64)
        self.ties = np.zeros_like(self.wins)
        self._coins, self._choices = stream(seed, "ties"), stream(seed, "choices")
        self._learner = Learner(policy, len(names), rng=self._choices)
        self.tell(())

    def __len__(self) -> int:
        return self._learner.steps

    def tell(self, rows: Iterable[Row]) -> None:
        """Add judgements. The policy, which knows no ties, is told the side of a coin; the test counts the tie."""
        outcomes = [self.check(row, number) for number, row in enumerate(rows, len(self) + 1)]
        coins = self._coins.random(len(outcomes)) - 0.5  # a coin for each judgement: a file always has the same coins
        signs = [b"\1" if (y or coin) > 0 else b"\xff" for (_, _, y), coin in zip(outcomes, coins, strict=True)]
        for first, second, outcome in outcomes:
            if outcome:
                self.wins[(first, second) if outcome > 0 else (second, first)] += 1
            else:
                self.ties[[first, second], [second, first]] += 1
        self._learner.tell(((first, second), sign) for (first, second, _), sign in zip(outcomes, signs, strict=True))
        self.champion, self.low = self._lead()

    def check(self, row: Row, number: int) -> tuple[int, int, int]:
        """Return the arms of a judgement, and +1 if the first won, -1 if the second won, or 0 for a tie."""
        first, second, winner = row
        if not {first, second} <= set(self.names) or first == second or winner not in (first, second, TIE):
            names = ", ".join(self.names)
            where = f"judgement {number}, '{','.join(row)}'"
            raise InputError(f"{where}, must be two of {names}, and the winner's name or '{TIE}'")
        return self.names.index(first), self.names.index(second), {first: 1, second: -1, TIE: 0}[winner]

    def _lead(self) -> tuple[int, np.ndarray]:
        """Return the champion, and for each rival the smallest mean outcome (+1, -1, 0) not refuted; +1 for itself.

        Each rival has a one-sided test at (1 - confidence) / (K - 1), valid whenever one looks and however pairs are
        chosen. To name a wrong item, the test of that item against the best one must fail: one of K - 1 tests.
        """
        champion = self._learner.recommend()
        rivals = np.delete(np.arange(len(self.names)), champion)
        wins, losses, ties = self.wins[champion, rivals], self.wins[rivals, champion], self.ties[champion, rivals]
        bounds = confidence_sequence(wins, losses, ties, confidence=self._confidence, tests=len(rivals) / 2)
        return champion, np.insert(bounds.low, champion, 1.0)

    def winner(self) -> str | None:
        """Return the item that is preferred to every other one, or None as long as this is not certain enough."""
        return self.names[self.champion] if (self.low > 0).all() else None

    def ask(self, n: int) -> list[tuple[str, str]]:
        """Return the next pairs to judge, each in the order in which to show it.

        Where the policy is sure of its champion (it compares it with itself), the test may need more: the champion then
        meets the rival with the weakest evidence. A coin decides who is shown first, since many judges prefer a side.
        """
        rng = stream(self._seed, "pairs", len(self))
        self._choices.bit_generator.state = rng.bit_generator.state
        undecided = self.champion, int(self.low.argmin())
        pairs = [pair if pair[0] != pair[1] else undecided for pair in self._learner.ask(n)]
        turned = [pair[::-1] if coin else pair for pair, coin in zip(pairs, rng.integers(2, size=n), strict=True)]
        return [(self.names[first], self.names[second]) for first, second in turned]

    def standing(self) -> pd.DataFrame:
        """Return the items, best first, with Bradley-Terry strengths if the judgements connect all items."""
        matrix = PreferenceMatrix.from_counts(self.wins, self.ties, self.names)
        try:
            return matrix.ratings(self._confidence)
        except InputError:
            table = pd.DataFrame({"ranker": self.names, "borda": matrix.borda_scores})
            return table.sort_values("borda", ascending=False, kind="stable")


def read_judgements(path: Path) -> list[Row]:
    """Return the judgements of a file; none if it is empty or does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = list(csv.reader(file)) or [COLUMNS]
    if header != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise InputError(f"{path}: the first line must be {','.join(COLUMNS)}, and each other line have these columns")
    return [(first, second, winner) for first, second, winner in rows]


def find_best(
    judgements: Judgements, judge: Callable[[str, str], str], path: Path, *, batch: int = 20, most: int = 20_000
) -> str | None:
    """Ask ``judge(first, second)`` for the winner or "tie", batch by batch, until an item is certainly the best.

    Each answer is added to the file at once. Judgements that the file has beyond those already told come first, so the
    same call continues after an interruption. Returns None after ``most`` judgements.
    """
    judgements.tell(read_judgements(path)[len(judgements) :])
    _prepare(path)
    while not judgements.winner() and len(judgements) < most:
        rows = list[Row]()
        for first, second in judgements.ask(min(batch, most - len(judgements))):
            rows.append((first, second, judge(first, second)))
            judgements.check(rows[-1], len(judgements) + len(rows))
            with path.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow(rows[-1])
        judgements.tell(rows)
    return judgements.winner()


def _prepare(path: Path) -> None:
    """Let judgements be added to a file: write the header of a new one, and end the last line."""
    text = path.read_bytes() if path.exists() else b""
    with path.open("ab") as file:
        file.write(b"" if text.endswith(b"\n") else b"\n" if text else f"{','.join(COLUMNS)}\n".encode())


def main() -> None:
    """Print the present standing, and the next pairs as rows to which a judge adds the winner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--names", required=True, help="names of the items, separated by commas")
    parser.add_argument("--next", type=int, default=10, help="number of pairs to judge next (default 10)")
    given = parser.parse_args()
    try:
        judgements = Judgements([name.strip() for name in given.names.split(",")])
        judgements.tell(read_judgements(given.file))
        pairs = judgements.ask(given.next)
    except InputError as error:
        parser.error(str(error))
    print(f"{len(judgements)} judgements; best: {judgements.winner() or 'not certain yet'}")
    print(judgements.standing().round(3).to_string(index=False), end="\n\nfirst,second\n")
    print("\n".join(map(",".join, pairs)))


if __name__ == "__main__":
    main()
