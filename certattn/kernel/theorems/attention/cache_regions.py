"""What a cache changes at every query of a region: bounds over its cells, of one head of keys.

A share of the softmax weight is the mean of a value that is 1 on some tokens and 0 on the others; it is at least 1 less
a bound of the share of these others.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property

from flint import arb, fmpz_mat

from certattn.kernel.decide.obligation import Range
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.balls import NORMS
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.cells import CellBound, Deviation, Difference, constant
from certattn.kernel.theorems.attention.query_regions import StatedRegion, read_regions
from certattn.kernel.theorems.attention.stated_caches import KEPT, StatedCache
from certattn.kernel.theorems.attention.stated_heads import (
    CAUSAL,
    KEYS,
    LENGTHS,
    SEQUENCES,
    VALUES,
    WINDOW,
    StatedHeads,
)


@dataclass(frozen=True)
class CacheOverRegion:
    """One head, its cache if there is one, and a region of queries.

    `reached` keeps what was computed of each measure, by cell, and `suspected` at the query of the witness, for people
    to read: nothing is decided with it.
    """

    heads: StatedHeads
    cache: StatedCache | None
    region: StatedRegion
    reached: dict[str, dict[int, CellBound]] = field(default_factory=dict)
    suspected: dict[str, arb] = field(default_factory=dict)
    _shares: dict[frozenset[int], Deviation] = field(default_factory=dict)

    @property
    def seen(self) -> range:
        """The tokens that the queries of the region see."""
        return range(self.heads.tokens if self.region.sees is None else self.region.sees)

    @cached_property
    def exact(self) -> Prompt:
        """All tokens, without a cache."""
        given = self.heads.given
        return Prompt(given[KEYS].load(), given[VALUES].load(), self.heads.scale)

    @cached_property
    def difference(self) -> Difference:
        """T' - T."""
        cache, whole, seen = self.cache, self.exact, self.seen
        assert cache is not None
        held, places = range(cache.tokens), cache.kept(0)
        if self.region.sees is not None:
            held = range(bisect_left(places, seen.stop))
        keys, values = cache.exact(0, whole.keys, whole.values)
        of_cache = Prompt(keys.take_rows(held), values.take_rows(held), whole.scale)
        # A token that keeps its place is about that token; one without a place is about none.
        partners = places[: len(held)] if KEPT in cache.given or cache.tokens == self.heads.tokens else ()
        times = [cache.multiplicities(0)[c] for c in held]
        return Difference.of(whole.first(seen.stop), of_cache, times, partners)

    def share(self, tokens: frozenset[int]) -> Deviation:
        """The softmax weight on some tokens, which is never below 0: as how far a mean of 0 and 1 is from 0."""
        if tokens not in self._shares:
            inside = ExactMatrix(fmpz_mat([[int(token in tokens)] for token in self.seen]))
            keys = self.exact.first(self.seen.stop).keys
            nothing = constant(ExactMatrix.zero(1, 1), keys.columns)
            self._shares[tokens] = Deviation(Prompt(keys, inside, self.heads.scale), nothing)
        return self._shares[tokens]

    def others(self, tokens: frozenset[int]) -> frozenset[int]:
        """The tokens that are seen and not among these."""
        return frozenset(self.seen) - tokens

    def largest(self, name: str, around: Deviation | Difference, norm: str, index: int) -> Range:
        """The largest number of this name over a cell: between that at its centre and what is proved over all of it.

        A cell whose bound is too large for the statement, though its centre is not, is unproved: no precision changes
        that, a finer subdivision may. A centre that has more refutes the statement.
        """
        cell = self.region.cell(index)
        reached = around.over(cell, norm)
        if isinstance(around, Deviation):
            # A share is at most 1, and all or nothing where every token is on the same side.
            reached = CellBound(reached.centre, reached.centre if around.is_constant else reached.upper.min(arb(1)))
        if cell.inside is not True:
            # Its centre says nothing about the region.
            reached = CellBound(arb(0), reached.upper)
        self.reached.setdefault(name, {})[index] = reached
        return Range(reached.upper, reached.centre, is_final=True)

    def least_share(self, name: str, tokens: frozenset[int], index: int) -> Range:
        """The smallest softmax weight on some tokens over a cell, likewise: 1 less the largest on the others."""
        found = self.largest(name, self.share(self.others(tokens)), "linf", index)
        return Range(1 - found.worst, 1 - found.best, is_final=True)

    def at_suspect(self, name: str, around: Deviation | Difference, norm: str, query: ExactMatrix) -> arb:
        """The number of this name at the query of the witness."""
        found = NORMS[norm](around.at(query))
        self.suspected[name] = found
        return found


def read_over_region(
    given: Values, heads: StatedHeads, cache: StatedCache | None, witness: Values | None
) -> CacheOverRegion:
    """The region that is stated of one head; every dimension checked. Raises MalformedError."""
    for mask in (CAUSAL, WINDOW, LENGTHS, SEQUENCES):
        if mask in given:
            expected = "sees in the region, how many of the first tokens its queries see: a region lists none to count"
            raise given.node(mask).malformed(expected)
    (region,) = read_regions(given, given[KEYS].extents[-1], heads.tokens, witness)
    found = CacheOverRegion(heads, cache, region)
    if region.sees is not None and cache is not None:
        if KEPT not in cache.given and cache.tokens != heads.tokens:
            expected = "kept, which says which tokens of the cache are among the first that a query sees"
            raise cache.given.at.malformed(expected, f"{cache.tokens} tokens without places among {heads.tokens}")
        if cache.kept(0)[0] >= region.sees:
            expected = "a cache of which every query sees a token"
            raise cache.given.node(KEPT).malformed(expected, f"none of the first {region.sees}")
    return found


def read_head(given: Values) -> StatedHeads:
    """The one head of which a region of queries is stated. Raises MalformedError."""
    keys, values = given[KEYS], given[VALUES]
    *outer, n, _ = keys.extents
    if any(extent != 1 for extent in outer):
        shown = " x ".join(map(str, keys.extents))
        raise keys.node.malformed("the keys of one head beside a region: pick one, such as rows: 0:1", shown)
    wanted = (*outer, n, values.extents[-1])
    if values.extents != wanted:
        shown = " x ".join(map(str, wanted))
        raise values.node.malformed(f"{shown} numbers (paired with the keys)", " x ".join(map(str, values.extents)))
    return StatedHeads(given, 1, 1, 1)
