"""Obligations about |T(q) - T_inf(q)| over a region of queries, for an affine T_inf.

    region.cell[i]   over cell i it is at most the stated bound; the cells cover the region
    at_least         at a query of the region it is at least the stated bound

A cell whose bound is too large for the statement, though its centre is not, is unproved: no precision
changes that, a finer subdivision may. A centre that deviates by more refutes the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from flint import arb

from certattn.kernel.decide.obligation import NoProof, Obligation, Part, Range
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.deviation_bounds import Bounds
from certattn.kernel.theorems.attention.mathematics.mean_value import CellBound, Deviation
from certattn.kernel.theorems.attention.query_regions import StatedRegion


@dataclass(frozen=True)
class RegionBounds:
    """The deviation over a region; `at` gives the deviations at listed queries.

    `reached` keeps what was computed, by cell, and `suspected` at the query of the witness, for people to read: nothing
    is decided with it.
    """

    region: StatedRegion
    deviation: Deviation
    at: Callable[[ExactMatrix], list[arb]]
    bounds: Bounds
    reached: dict[int, CellBound] = field(default_factory=dict)
    suspected: list[arb] = field(default_factory=list)

    def obligations(self) -> Iterator[Obligation | NoProof]:
        if self.bounds.at_most is not None:
            for index in range(self.region.count):
                yield Obligation(f"region.cell[{index}]", partial(self._over, index), "<=", self.bounds.at_most)
        if self.bounds.at_least is not None:
            query = self.region.suspected()
            if query is None:
                yield NoProof("at_least", "the query of the witness is not in the region")
            else:
                # Another query may do where this one does not, so it refutes nothing.
                yield Obligation("at_least", partial(self._at, query), ">=", self.bounds.at_least, Part.WITNESS)

    def _at(self, query: ExactMatrix) -> arb:
        (value,) = self.suspected[:] = self.at(query)
        return value

    def _over(self, index: int) -> Range:
        """The largest deviation over a cell: between that at its centre and what is proved over all of it."""
        cell = self.region.cell(index)
        reached = self.deviation.over(cell, self.bounds.norm)
        if cell.inside is not True:
            # Its centre says nothing about the region.
            reached = CellBound(arb(0), reached.upper)
        self.reached[index] = reached
        return Range(reached.upper, reached.centre, is_final=True)
