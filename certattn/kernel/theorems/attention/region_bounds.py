"""Obligations about |T(q) - T_inf(q)| over a region of queries, for an affine T_inf.

    region.cell[i]   over cell i it is at most the stated bound; the cells cover the region
    at_least         at a query of the region it is at least the stated bound

A cell whose bound is too large for the statement, though its centre is not, is unproved: no precision
changes that, a finer subdivision may. A centre that deviates by more refutes the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, at_least, at_most, show, unproved
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.deviation_bounds import Bounds
from certattn.kernel.theorems.attention.mathematics.mean_value import CellBound, Deviation
from certattn.kernel.theorems.attention.query_regions import StatedRegion, at_words

AT_LEAST = "at_least"
# For numbers that only say how far a check came.
_DIGITS = 6
_FINER = "a finer subdivision may do (certattn generate --cells)"


@dataclass(frozen=True)
class RegionBounds:
    """The deviation over a region; `at` gives the deviations at listed queries.

    `reached` keeps what was computed, by cell, for people to read: nothing is decided with it.
    """

    region: StatedRegion
    deviation: Deviation
    at: Callable[[ExactMatrix], list[arb]]
    bounds: Bounds
    reached: dict[int, CellBound] = field(default_factory=dict)

    def prove(self, wanted: Collection[str], bits: int) -> list[Obligation]:
        found: list[Obligation] = []
        if self.bounds.at_most is not None:
            cells = [i for i in range(self.region.count) if cell_name(i) in wanted]
            found += [self._over(i, self.bounds.at_most, bits) for i in cells]
        if self.bounds.at_least is not None and AT_LEAST in wanted:
            found.append(self._somewhere(self.bounds.at_least, bits))
        return found

    def _over(self, index: int, bound: fmpq, bits: int) -> Obligation:
        """Proved where the cell's bound is small enough, refuted where its centre deviates by more."""
        cell = self.region.cell(index)
        reached = self.deviation.over(cell, self.bounds.norm)
        if cell.inside is not True:
            # Its centre says nothing about the region.
            reached = CellBound(arb(0), reached.upper)
        self.reached[index] = reached
        name, where = cell_name(index), at_words(cell, index, self.region.count)
        distance = f"|T(q) - T_inf(q)|_{self.bounds.norm}"
        if reached.centre > bound:
            return at_most(name, f"{distance} at the centre of {where}", reached.centre, bound, bits)
        if (reached.centre <= bound) is not True:
            # More bits may show that the centre deviates by more: the largest deviation is in between.
            largest = reached.centre.union(reached.upper)
            return at_most(name, f"the largest {distance} over {where}", largest, bound, bits)
        if reached.upper > bound:
            reason = f"at most {show(reached.upper, _DIGITS)} is proved there, not {show(bound)}; {_FINER}"
            return unproved(name, f"{distance} over {where}", reason)
        return at_most(name, f"a bound of {distance} over {where}", reached.upper, bound, bits)

    def _somewhere(self, bound: fmpq, bits: int) -> Obligation:
        """Proved by one query. Another query may do where this one does not, so it refutes nothing."""
        sentence = f"|T(q) - T_inf(q)|_{self.bounds.norm} at some query of the region"
        query = self.region.suspected()
        if query is None:
            return unproved(AT_LEAST, sentence, "the query of the witness is not in the region")
        (value,) = self.at(query)
        if value < bound:
            reason = f"it is {show(value)} at the query of the witness, not {show(bound)} or more"
            return unproved(AT_LEAST, sentence, reason)
        return at_least(AT_LEAST, sentence, value, bound, bits)

    def findings(self) -> list[str]:
        """What was reached over the region, if every cell was looked at."""
        if self.bounds.at_most is None or len(self.reached) < self.region.count:
            return []
        worst, largest = 0, arb(0)
        for index, cell in self.reached.items():
            if cell.upper.is_finite() is not True:
                return [f"over the region: no bound, because of cell {index}"]
            largest = largest.max(cell.centre)
            worst = index if cell.upper.upper() > self.reached[worst].upper.upper() else worst
        upper = self.reached[worst].upper
        slack = (self.bounds.at_most - upper).lower().str(3, radius=False)
        where = f" (cell {worst} of {self.region.count})" if self.region.count > 1 else ""
        reached = f"over the region: at most {show(upper)}{where}, slack {slack}"
        return [f"{reached}; at the centres of cells up to {show(largest, _DIGITS)}"]


def region_names(region: StatedRegion, bounds: Bounds) -> list[str]:
    names = [cell_name(index) for index in range(region.count)] if bounds.at_most is not None else []
    return names + ([AT_LEAST] if bounds.at_least is not None else [])


def cell_name(index: int) -> str:
    return f"region.cell[{index}]"
