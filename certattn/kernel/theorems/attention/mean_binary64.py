"""The prompt of `softmax-mean` under softmax weights in binary64: the same balls as in Arb, wider, much faster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from certattn.fast.attention import Moments
from certattn.fast.balls import Ball, arb_balls, arb_table
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.given.stored_prompts import naming_its_infinities, stored_prompt
from certattn.kernel.mathematics.balls import row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Queries in one pass where covariances are wanted: each takes a matrix.
_QUERIES_AT_ONCE = 64


@dataclass(frozen=True)
class StoredWeighted:
    """The query `index` of `plain`, and of the moments that also have covariances, by whose they are."""

    plain: Moments
    covariances: dict[str, Moments]
    index: int

    def output_off(self, stated: ExactMatrix) -> list[arb]:
        """T(q) - stated."""
        found = self.plain.means
        row = arb_balls(Ball(found.middle[self.index], found.radius[self.index]))
        return [x - y for x, y in zip(row, row_of_balls(stated.row(0)), strict=True)]

    def log_normaliser(self) -> arb:
        """log Z = K log 2 + log z."""
        middle, radius = self.plain.normaliser.middle[self.index], self.plain.normaliser.radius[self.index]
        return int(self.plain.exponent[self.index]) * arb(2).log() + arb(middle.item(), radius.item()).log()

    def covariance(self, of: str) -> arb_mat:
        """Cov(x, y)."""
        return arb_mat(arb_table(self.covariances[of].covariances[self.index]))


def tightly_weighted(prompt: StatedPrompt, rows: Sequence[int]) -> Iterator[StoredWeighted]:
    """The prompt as these queries weigh it, by the tight tier, without covariances. Raises Binary64Error."""
    stored = stored_prompt(prompt)
    with naming_its_infinities(prompt):
        for row in rows:
            yield StoredWeighted(stored.tight_moments(prompt.stated_queries.take_rows([row])), {}, 0)


def weighted_in_binary64(prompt: StatedPrompt, rows: Sequence[int], of: Collection[str]) -> Iterator[StoredWeighted]:
    """The prompt as these queries weigh it, with the covariances that are wanted. Raises Binary64Error."""
    stored = stored_prompt(prompt)
    step = _QUERIES_AT_ONCE if of else len(rows)
    for first in range(0, len(rows), step):
        stated = prompt.stated_queries.take_rows(rows[first : first + step])
        with naming_its_infinities(prompt):
            found = {whose: stored.moments(stated, whose) for whose in sorted(of)}
            # The means of the values come with every pass but that over keys alone.
            passes = [moments for whose, moments in found.items() if whose != "keys"]
            plain = passes[0] if passes else stored.moments(stated)
        for index in range(stated.rows):
            yield StoredWeighted(plain, found, index)
