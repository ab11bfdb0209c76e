"""Theorem `output-deviation`: how far a concrete prompt's attention is from its infinite-prompt limit.

Given a prompt (keys k_i and values v_i, or tokens x_i with K, Q, V), queries and a scale s,

    T(q) = sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>},

and a limit operator T_inf, one of

    empirical   v_bar + s Cov(v, k) q, the infinite-prompt operator of a Gaussian with the prompt's
                own moments (Cov divides by the number of tokens)
    affine      offset + scale * matrix z, any stated numbers
    law         T[mu] for a law mu of tokens (of the joint (key, value) where a prompt is given so)

a certificate asserts, with |.| the l2 or linf norm, one or more of

    at_most            |T(q) - T_inf(q)| <= r           for every listed query, or every query of a region
    at_least           |T(q) - T_inf(q)| >= r           for some listed query, or some query of a region
    relative_at_most   |T(q) - T_inf(q)| <= r |T(q)|    for every listed query
    per_query          the first three, with a bound for each listed query
    per_region         the first two, with a bound for each of several regions

With `causal: c` query i sees the first c + i tokens alone, and with `sees: n` those of a region the first n: T is the
attention over these, and the empirical limit has their moments. Over a region (a ball, a box, a convex hull:
`query_regions`) T_inf must be an affine map.

Boursier and Boyer 2026, section 2: the finite and the infinite prompt, here for given numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Gathered, NoProof, Obligation, Part, Range, Shared, Tier, Together
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values, Variant, some_of
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.attention import SCALE, read_scale
from certattn.kernel.given.prompts import (
    OPTIONAL_QUERIES,
    QUERIES,
    TIGHT,
    StatedPrompt,
    causal_field,
    compared_to_mean,
    prompt_forms,
    read_causal,
    read_prompt,
    seen_tokens,
)
from certattn.kernel.given.token_laws import LAW
from certattn.kernel.mathematics.balls import NORMS, linf_norm, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix, covariance
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.cells import CellBound, Deviation
from certattn.kernel.theorems.attention.query_regions import (
    CELLS,
    OF_REGIONS,
    QUERY,
    REGION,
    REGIONS,
    WEIGHTS,
    StatedRegion,
    read_regions,
)

# -- what a certificate says

LIMIT_MATRIX = Field("matrix", Matrix(), "matrix of the affine map")
LIMIT_OFFSET = Field("offset", Vector(), "offset of the affine map")
TOKEN_LAW = Field("law", LAW, "law of tokens, or of key and value side by side")
LIMIT_FORMS = {
    "empirical": Record(),
    "affine": Record(LIMIT_MATRIX, LIMIT_OFFSET, SCALE),
    "law": Record(TOKEN_LAW),
}
LIMIT = Field("limit", Variant("kind", LIMIT_FORMS), "what the prompt is compared with")
CAUSAL = causal_field(1)
GIVEN = prompt_forms(REGION, REGIONS, LIMIT, CAUSAL, queries=OPTIONAL_QUERIES)

EACH_AT_MOST = Field("at_most", Vector(), "an upper bound for each query", required=False)
EACH_AT_LEAST = Field("at_least", Vector(), "a lower bound for each query", required=False)
EACH_RELATIVE = Field("relative_at_most", Vector(), "an upper bound for each query, in units of |T(q)|", required=False)
EACH = (EACH_AT_MOST, EACH_AT_LEAST, EACH_RELATIVE)

NORM = Field("norm", Choice(tuple(NORMS)), "the norm of the deviation")
AT_MOST = Field("at_most", Rational(minimum=0), "no query deviates by more", required=False)
AT_LEAST = Field("at_least", Rational(minimum=0), "some query deviates by at least this", required=False)
RELATIVE = Field(
    "relative_at_most", Rational(minimum=0), "no query deviates by more than so many times |T(q)|", required=False
)
PER_QUERY = Field("per_query", Record(*EACH, rules=[some_of(*EACH)]), "bounds for each listed query", required=False)
OF_EACH_AT_MOST = Field("at_most", Vector(), "an upper bound for each region", required=False)
OF_EACH_AT_LEAST = Field("at_least", Vector(), "a lower bound for some query of each region", required=False)
OF_EACH = (OF_EACH_AT_MOST, OF_EACH_AT_LEAST)
PER_REGION = Field(
    "per_region", Record(*OF_EACH, rules=[some_of(*OF_EACH)]), "bounds for each of several regions", required=False
)
_BOUNDS = (AT_MOST, AT_LEAST, RELATIVE, PER_QUERY, PER_REGION)
DEVIATION = Field("deviation", Record(NORM, *_BOUNDS, rules=[some_of(*_BOUNDS)]), "bounds on |T(q) - T_inf(q)|")

ASSERTS = Record(DEVIATION)
WITNESS = Record(BITS, CELLS, QUERY, WEIGHTS, OF_REGIONS)


@dataclass(frozen=True)
class AssertedDeviation:
    """A prompt with its queries or regions of them, the limit it is compared with, and the asserted bounds.

    `causal` is how many tokens the first listed query sees, None for all. `reached` keeps what was computed over each
    region, by cell, and `suspected` at the queries of the witness, for people to read: nothing is decided with it.
    """

    prompt: StatedPrompt
    limit_kind: str
    limit_values: Values
    bounds: Values
    regions: Sequence[StatedRegion] = ()
    causal: int | None = None
    reached: dict[str, dict[int, CellBound]] = field(default_factory=dict)
    suspected: dict[str, arb] = field(default_factory=dict)
    _deviations: dict[int | None, Deviation] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of listed queries."""
        return self.prompt.count

    def each(self, field: Field[MatrixInput], whole: Field[Values] = PER_QUERY) -> list[fmpq]:
        """The bounds of this kind for each query, or of PER_REGION for each region; none where none are stated."""
        return self._each.get((whole.name, field.name), [])

    @cached_property
    def _each(self) -> dict[tuple[str, str], list[fmpq]]:
        kinds = ((PER_QUERY, EACH), (PER_REGION, OF_EACH))
        groups = [(whole, self.bounds.get(whole), fields) for whole, fields in kinds]
        return {
            (whole.name, each.name): stated[each].load().row(0)
            for whole, stated, fields in groups
            if stated is not None
            for each in fields
            if each in stated
        }

    @property
    def tiers(self) -> Sequence[Tier]:
        """The tiers of binary64 that it can be computed in, the fastest first; over a region there is Arb alone."""
        if self.regions:
            return ()
        # Covariances, which the empirical limit takes, have no tight tier; nor have masks.
        only = self.limit_kind == "empirical" or self.causal is not None
        return self.prompt.tiers[: 1 if only else None]

    @cached_property
    def limit(self) -> AffineMap | Operator:
        """T_inf as a map of the stated queries, with exact parameters."""
        values = self.limit_values
        if self.limit_kind == "affine":
            return AffineMap(values[LIMIT_MATRIX].load(), values[LIMIT_OFFSET].load(), read_scale(values))
        if self.limit_kind == "law":
            operator = self.prompt.operator(values[TOKEN_LAW].law)
            return operator.affine() or operator
        return self._own_moments(self.prompt.exact)

    def _own_moments(self, exact: Prompt) -> AffineMap:
        """The empirical limit of a prompt."""
        slope = covariance(exact.values, exact.keys) @ self.prompt.query_map
        return AffineMap(slope, exact.values.mean_row(), self.prompt.scale)

    def compared(self, rows: Sequence[int]) -> list[_Pair]:
        """|T(q) - T_inf(q)| and |T(q)| for these listed queries, at the working precision."""
        stated = self.prompt.stated_queries
        if self.causal is None:
            return self._compared(self.prompt.exact, self.limit, stated.take_rows(rows))
        found, seen = [], seen_tokens(self.prompt, self.causal)
        for row in rows:
            prefix = self.prompt.exact.first(seen[row])
            limit = self._own_moments(prefix) if self.limit_kind == "empirical" else self.limit
            found += self._compared(prefix, limit, stated.take_rows([row]))
        return found

    def _compared(self, exact: Prompt, limit: AffineMap | Operator, stated: ExactMatrix) -> list[_Pair]:
        norm, mean = NORMS[self.bounds[NORM]], row_of_balls(exact.values.mean_row().row(0))
        return [
            (norm(difference), norm([x + m for x, m in zip(finite, mean, strict=True)]))
            for difference, finite in compared_to_mean(self.prompt, exact, limit, stated)
        ]

    def compared_in_binary64(self, rows: Sequence[int], *, tight: bool = False) -> list[_Pair]:
        """The same in doubles, as wider balls. Raises Binary64Error where binary64 has no answer.

        For the empirical limit T(q) - T_inf(q) comes out of one pass over the prompt; for others Arb encloses T_inf(q).
        """
        from certattn.fast import balls
        from certattn.fast.prefixes import beside_surrogate_of_prefixes
        from certattn.fast.tight import tight_moments
        from certattn.kernel.given.stored_prompts import limit_values, naming_its_infinities, stored_prompt

        prompt, empirical = self.prompt, self.limit_kind == "empirical"
        if tight and (empirical or self.causal is not None):
            raise RefusedError("covariances and masks have no tight tier")
        stored, stated = stored_prompt(prompt), prompt.stated_queries.take_rows(rows)
        with naming_its_infinities(prompt):
            if self.causal is not None:
                seen = seen_tokens(prompt, self.causal)
                outputs, off = beside_surrogate_of_prefixes(stored, stated, [seen[row] for row in rows])
            elif empirical:
                outputs, off = stored.beside_surrogate(stated)
            else:
                outputs = tight_moments(stored, stated).means if tight else stored.means(stated)
        if not empirical:
            off = balls.difference(outputs, limit_values(prompt, self.limit, stated))
        norm = balls.NORMS[self.bounds[NORM]]
        return list(zip(balls.arb_balls(norm(off)), balls.arb_balls(norm(outputs)), strict=True))

    # -- over regions, for an affine T_inf

    def _seen(self, region: StatedRegion) -> tuple[Prompt, AffineMap]:
        """The tokens that the queries of a region see, and T_inf."""
        whole = self.prompt.exact
        seen = whole if region.sees is None else whole.first(region.sees)
        limit = self._own_moments(seen) if self.limit_kind == "empirical" else self.limit
        assert isinstance(limit, AffineMap)
        return seen, limit

    def around(self, region: StatedRegion) -> Deviation:
        """T - T_inf, as it is expanded around the centres of a region's cells."""
        if region.sees not in self._deviations:
            seen = self.prompt.seen_by_queries()
            seen = seen if region.sees is None else seen.first(region.sees)
            self._deviations[region.sees] = Deviation(seen, self._seen(region)[1])
        return self._deviations[region.sees]

    def deviations_at(self, region: StatedRegion, stated: ExactMatrix) -> list[arb]:
        """|T(q) - T_inf(q)| for any queries, one per row, that see what those of a region see."""
        return [deviation for deviation, _ in self._compared(*self._seen(region), stated)]

    def over_cell(self, region: StatedRegion, index: int) -> Range:
        """The largest deviation over a cell: between that at its centre and what is proved over all of it.

        A cell whose bound is too large for the statement, though its centre is not, is unproved: no precision
        changes that, a finer subdivision may. A centre that deviates by more refutes the statement.
        """
        cell = region.cell(index)
        reached = self.around(region).over(cell, self.bounds[NORM])
        if cell.inside is not True:
            # Its centre says nothing about the region.
            reached = CellBound(arb(0), reached.upper)
        self.reached.setdefault(region.name, {})[index] = reached
        return Range(reached.upper, reached.centre, is_final=True)

    def at_suspect(self, region: StatedRegion, query: ExactMatrix) -> arb:
        """The deviation at the query of the witness."""
        (value,) = self.deviations_at(region, query)
        self.suspected[region.name] = value
        return value


# |T(q) - T_inf(q)| and |T(q)|.
_Pair = tuple[arb, arb]


def read(certificate: Certificate) -> AssertedDeviation:
    reading = certificate.reading
    form, given = GIVEN.read(certificate.given, reading)
    prompt = read_prompt(form, given)
    kind, values = given[LIMIT]
    if kind == "affine":
        outputs, inputs = prompt.output_dimension, prompt.query_dimension
        values[LIMIT_MATRIX].require_shape(outputs, inputs, "(outputs x queries)")
        values[LIMIT_OFFSET].require_length(outputs, "an output")
    if kind == "law":
        what = "a token" if prompt.weights is not None else "key and value side by side"
        values[TOKEN_LAW].require_dimension(prompt.law_dimension, what)
    bounds = ASSERTS.read(certificate.asserts, reading)[DEVIATION]
    witness = WITNESS.read(certificate.witness, reading) if certificate.witness is not None else None
    regions = _read_regions(given, prompt, bounds, witness)
    listed = [bounds[PER_QUERY].get(kind_of_bound) for kind_of_bound in EACH] if PER_QUERY in bounds else []
    for each in listed:
        if each is not None and each.shape[1] != prompt.count:
            raise each.node.malformed(f"{prompt.count} bounds, one per query", f"{each.shape[1]} bounds")
    stated = AssertedDeviation(prompt, kind, values, bounds, regions, read_causal(given, CAUSAL, prompt))
    if regions and kind == "law" and not isinstance(stated.limit, AffineMap):
        expected = "over a region, a law for which attention is proved to be an affine map"
        raise values[TOKEN_LAW].node.malformed(expected, f"one of kind {values[TOKEN_LAW].kind}")
    return stated


def _read_regions(
    given: Values, prompt: StatedPrompt, bounds: Values, witness: Values | None
) -> Sequence[StatedRegion]:
    """The regions, if there are any in the place of listed queries. Raises MalformedError."""
    asked = [field for field in (REGION, REGIONS) if field in given]
    if not asked:
        if QUERIES not in given:
            raise given.at.malformed("queries, or a region of them", "no 'queries' and no 'region'")
        for field in (CELLS, QUERY, WEIGHTS, OF_REGIONS):
            if witness is not None and field in witness:
                raise witness.node(field).malformed(f"{field.name} only where a region is given")
        if PER_REGION in bounds:
            raise bounds.node(PER_REGION).malformed("per_query: queries are listed, and no regions")
        return ()
    if QUERIES in given:
        raise given.node(asked[0]).malformed("queries or a region, not both")
    if len(asked) > 1:
        raise given.node(REGIONS).malformed("a region or regions, not both")
    if PER_QUERY in bounds:
        raise bounds.node(PER_QUERY).malformed("at_most or at_least: a region lists no queries")
    if RELATIVE in bounds:
        raise bounds.node(RELATIVE).malformed("at_most or at_least: over a region bounds are absolute")
    if CAUSAL in given:
        expected = "sees in the region, how many of the first tokens its queries see: a region lists none to count"
        raise given.node(CAUSAL).malformed(expected)
    regions = read_regions(given, prompt.query_dimension, prompt.length, witness)
    if PER_REGION in bounds:
        if REGION in given:
            raise bounds.node(PER_REGION).malformed("at_most or at_least: there is one region")
        for each in OF_EACH:
            stated = bounds[PER_REGION].get(each)
            if stated is not None and stated.shape[1] != len(regions):
                raise stated.node.malformed(f"{len(regions)} bounds, one per region", f"{stated.shape[1]} bounds")
    return regions


# -- what is to be proved


def obligations(stated: AssertedDeviation) -> Iterator[Obligation | NoProof]:
    return _over_regions(stated) if stated.regions else _at_queries(stated)


def _at_queries(stated: AssertedDeviation) -> Iterator[Obligation]:
    bounds, queries, tiers = stated.bounds, range(stated.count), stated.tiers
    pairs = Together(partial(_pairs, stated))

    def deviation(i: int) -> Gathered[int, _Pair]:
        return pairs.side(_deviation, i, tiers=tiers)

    def times_size(factor: fmpq, i: int) -> Gathered[int, _Pair]:
        return pairs.side(lambda pair: factor * pair[1], i, tiers=tiers)

    if AT_MOST in bounds:
        yield from (Obligation(f"at_most[{i}]", deviation(i), "<=", bounds[AT_MOST]) for i in queries)
    if AT_LEAST in bounds:
        yield Obligation("at_least", pairs.side(_largest, *queries, tiers=tiers), ">=", bounds[AT_LEAST])
    if RELATIVE in bounds:
        for i in queries:
            yield Obligation(f"relative_at_most[{i}]", deviation(i), "<=", times_size(bounds[RELATIVE], i))
    for i, bound in enumerate(stated.each(EACH_AT_MOST)):
        yield Obligation(f"per_query.at_most[{i}]", deviation(i), "<=", bound)
    for i, bound in enumerate(stated.each(EACH_AT_LEAST)):
        yield Obligation(f"per_query.at_least[{i}]", deviation(i), ">=", bound)
    for i, factor in enumerate(stated.each(EACH_RELATIVE)):
        yield Obligation(f"per_query.relative_at_most[{i}]", deviation(i), "<=", times_size(factor, i))


def _deviation(pair: _Pair) -> arb:
    return pair[0]


def _largest(*pairs: _Pair) -> arb:
    return linf_norm([deviation for deviation, _ in pairs])


def _pairs(stated: AssertedDeviation, queries: Collection[int], tier: Tier | None) -> Mapping[int, _Pair]:
    """Deviations and sizes by query."""
    rows = sorted(queries)
    found = stated.compared(rows) if tier is None else stated.compared_in_binary64(rows, tight=tier is TIGHT)
    return dict(zip(rows, found, strict=True))


def _over_regions(stated: AssertedDeviation) -> Iterator[Obligation | NoProof]:
    """Over every cell it is at most the stated bound, and the cells cover the region; at a query it is at least so."""
    bounds, regions = stated.bounds, stated.regions
    largest = {region.name: [Shared(partial(stated.over_cell, region, i)) for i in range(region.count)]
               for region in regions}  # fmt: skip
    if AT_MOST in bounds:
        for region in regions:
            for i, side in enumerate(largest[region.name]):
                yield Obligation(f"{region.name}.cell[{i}]", side, "<=", bounds[AT_MOST])
    for k, bound in enumerate(stated.each(OF_EACH_AT_MOST, PER_REGION)):
        for i, side in enumerate(largest[regions[k].name]):
            yield Obligation(f"per_region.at_most[{k}].cell[{i}]", side, "<=", bound)
    suspects = [region.suspected() for region in regions]
    sides = [None if query is None else Shared(partial(stated.at_suspect, region, query))
             for region, query in zip(regions, suspects, strict=True)]  # fmt: skip
    # Another query may do where one of these does not, so none of them refutes anything.
    if AT_LEAST in bounds:
        yield _reached("at_least", sides, bounds[AT_LEAST])
    for k, bound in enumerate(stated.each(OF_EACH_AT_LEAST, PER_REGION)):
        yield _reached(f"per_region.at_least[{k}]", [sides[k]], bound)


def _reached(name: str, sides: Sequence[Shared[arb] | None], bound: fmpq) -> Obligation | NoProof:
    """That the largest of deviations at queries of witnesses, None for one that is not in its region, is so large."""
    there = [side for side in sides if side is not None]
    if len(there) < len(sides):
        which = f"region {sides.index(None)}" if len(sides) > 1 else "the region"
        return NoProof(name, f"the query of the witness is not in {which}")
    return Obligation(name, lambda: linf_norm([side() for side in there]), ">=", bound, Part.WITNESS)


THEOREM = Theorem(
    name="output-deviation",
    title="how far softmax attention over a concrete prompt is from its infinite-prompt limit",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
