"""Theorem `cache-error`: how far attention over a cache is from attention over what it was made of.

Given, by batch and head, queries q_i, keys k_j, values v_j, a scale s and which tokens S_i each query sees, and a cache
with keys k'_c, values v'_c and multiplicities m_c > 0, of which the query sees C_i, put

    p_ij = e^{s <q_i, k_j>} / sum_{l in S_i} e^{s <q_i, k_l>},           T_i = sum_{j in S_i} p_ij v_j,
    T'_i = sum_{c in C_i} m_c e^{s <q_i, k'_c>} v'_c / sum_{c in C_i} m_c e^{s <q_i, k'_c>}.

Where the cache keeps stated tokens, C_i are those of them that are in S_i; a cache without places is seen whole. Query
heads that share a head of keys share its cache. A certificate asserts bounds of one or more of, for each query,

    error      max_j |T'_ij - T_ij|           evicted   sum of p_ij over the tokens of S_i that are not kept
    deviation  |T'_i - T_i|_2                 mass      sum of p_ij over stated tokens, those of them that are in S_i
    relative   |T'_i - T_i|_2 / |T_i|_2

where a query without any deviation has the relative one 0. `at_most` and `at_least_everywhere` are about every query of
every head, `at_least` about the largest number of all, and `per_query` has a bound for each.

In the place of queries there may be a region of them, of one head (`cache_regions`): then `at_most` and
`at_least_everywhere` are about every query of the region, and `at_least` about some query of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from flint import arb

from certattn.kernel.decide.obligation import (
    Gathered,
    NoProof,
    Obligation,
    Part,
    Relation,
    Shared,
    Tier,
    Together,
)
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput, Numbers
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.given.prompts import DEFAULT, NO_DOUBLES
from certattn.kernel.mathematics.balls import l2_norm, linf_norm, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.mathematics.softmax_moments import WeightedPrompt, weighted_prompts
from certattn.kernel.theorems.attention.cache_regions import CacheOverRegion, read_head, read_over_region
from certattn.kernel.theorems.attention.cells import Deviation, Difference
from certattn.kernel.theorems.attention.query_regions import CELLS, QUERY, REGION, WEIGHTS
from certattn.kernel.theorems.attention.stated_caches import (
    CACHE,
    CACHED_KEYS,
    CACHED_VALUES,
    KEPT,
    MULTIPLICITIES,
    StatedCache,
    read_cache,
)
from certattn.kernel.theorems.attention.stated_heads import (
    CAUSAL,
    KEYS,
    LENGTHS,
    QUERIES,
    SCALE,
    SEQUENCES,
    SIGHT_RULES,
    VALUES,
    WINDOW,
    StatedHeads,
    read_heads,
)

OPTIONAL_QUERIES = replace(QUERIES, doc=f"{QUERIES.doc}; or a region", required=False)
GIVEN = Record(
    OPTIONAL_QUERIES, REGION, KEYS, VALUES, SCALE, CAUSAL, WINDOW, LENGTHS, SEQUENCES, CACHE, rules=SIGHT_RULES
)

AT_MOST = Field("at_most", Rational(minimum=0), "no query has more", required=False)
AT_LEAST = Field("at_least", Rational(minimum=0), "some query has no less", required=False)
EVERYWHERE = Field("at_least_everywhere", Rational(minimum=0), "no query has less", required=False)
EACH_AT_MOST = Field("at_most", Numbers(), "an upper bound for each query", required=False)
EACH_AT_LEAST = Field("at_least", Numbers(), "a lower bound for each query", required=False)
EACH: Mapping[Field[MatrixInput], Relation] = {EACH_AT_MOST: "<=", EACH_AT_LEAST: ">="}
PER_QUERY = Field("per_query", Record(*EACH, rules=[some_of(*EACH)]), "a bound for each query", required=False)
BOUNDS = (AT_MOST, AT_LEAST, EVERYWHERE, PER_QUERY)
TOKENS = Field("tokens", Listing(Count(0)), "tokens, counted from 0")

_BOUNDED = Record(*BOUNDS, rules=[some_of(*BOUNDS)])
ERROR = Field("error", _BOUNDED, "the largest entry of |T' - T|", required=False)
DEVIATION = Field("deviation", _BOUNDED, "|T' - T|_2", required=False)
RELATIVE = Field("relative", _BOUNDED, "|T' - T|_2 / |T|_2", required=False)
EVICTED = Field("evicted", _BOUNDED, "the softmax weight on the tokens that are not kept", required=False)
MASS = Field(
    "mass", Record(TOKENS, *BOUNDS, rules=[some_of(*BOUNDS)]), "the softmax weight on stated tokens", required=False
)
DEVIATIONS = (ERROR, DEVIATION, RELATIVE)
MEASURES = (*DEVIATIONS, EVICTED, MASS)
ASSERTS = Record(*MEASURES, rules=[some_of(*MEASURES)])
WITNESS = Record(BITS, CELLS, QUERY, WEIGHTS)


@dataclass(frozen=True)
class AssertedCache:
    """Heads, a cache of their keys and values if there is one, and what is asserted of it.

    `over` has the region, where there is one in the place of queries.
    """

    heads: StatedHeads
    cache: StatedCache | None
    asserts: Values
    over: CacheOverRegion | None = None

    @property
    def inputs(self) -> list[MatrixInput]:
        """All arrays of numbers, but for what is listed by token."""
        given = self.heads.given
        return [given[QUERIES], given[KEYS], given[VALUES], *(self.cache.inputs if self.cache is not None else [])]

    @property
    def tiers(self) -> Sequence[Tier]:
        """Those that it can be computed in: binary64 where everything stands in array files of doubles."""
        if self.over is not None:
            return []
        arrays = [part.stored for part in self.inputs]
        in_doubles = all(array is not None and array.dtype not in NO_DOUBLES for array in arrays)
        return [DEFAULT] if in_doubles else []

    def shares(self, key_head: int) -> dict[str, frozenset[int]]:
        """The tokens whose softmax weight is asserted of a head, by the name of the measure."""
        found: dict[str, frozenset[int]] = {}
        if MASS in self.asserts:
            tokens = self.asserts[MASS][TOKENS]
            found[MASS.name] = frozenset(tokens)
        if EVICTED in self.asserts:
            assert self.cache is not None
            found[EVICTED.name] = frozenset(range(self.heads.tokens)) - set(self.cache.kept(key_head))
        return found

    def over_region(self, name: str) -> tuple[Deviation | Difference, str]:
        """A measure over the region as a deviation, and in which norm."""
        assert self.over is not None
        tokens = self.shares(0).get(name)
        around = self.over.difference if tokens is None else self.over.share(tokens)
        return around, "l2" if name == DEVIATION.name else "linf"

    @property
    def compares(self) -> bool:
        """Whether it is asserted how far the outputs are from each other."""
        return any(field in self.asserts for field in DEVIATIONS)

    @cached_property
    def exact(self) -> tuple[ExactMatrix, ExactMatrix, ExactMatrix]:
        """Queries, keys and values, matrices one below the other."""
        given = self.heads.given
        return given[QUERIES].load(), given[KEYS].load(), given[VALUES].load()


def read(certificate: Certificate) -> AssertedCache:
    reading = certificate.reading
    witness = WITNESS.read(certificate.witness, reading) if certificate.witness is not None else None
    given = GIVEN.read(certificate.given, reading)
    _require_queries(given, witness)
    heads = read_head(given) if REGION in given else read_heads(given)
    cache = read_cache(heads, given[CACHE]) if CACHE in given else None
    asserts = ASSERTS.read(certificate.asserts, reading)
    for field in (*DEVIATIONS, EVICTED):
        if field in asserts and cache is None:
            raise asserts.node(field).malformed("given.cache beside it, which it is about", "none")
    if EVICTED in asserts and cache is not None and KEPT not in cache.given:
        raise asserts.node(EVICTED).malformed("given.cache.kept beside it: which tokens are not evicted", "none")
    if cache is not None and not any(field in asserts for field in (*DEVIATIONS, EVICTED)):
        raise given.node(CACHE).malformed("no cache where nothing is asserted of it", "one beside the mass of tokens")
    if cache is not None and not any(field in asserts for field in DEVIATIONS):
        # What nothing is said of is not read, so that it may hold anything.
        for part in (CACHED_KEYS, CACHED_VALUES, MULTIPLICITIES):
            if part in cache.given:
                expected = f"asserts of {', '.join(field.name for field in DEVIATIONS)}, or the kept tokens alone"
                raise cache.given.node(part).malformed(expected, "a part of the cache that nothing is said of")
    if MASS in asserts:
        _require_tokens(asserts[MASS], heads.tokens)
    if REGION in given:
        _require_of_region(asserts)
        return AssertedCache(heads, cache, asserts, read_over_region(given, heads, cache, witness))
    for field in MEASURES:
        if field in asserts and PER_QUERY in asserts[field]:
            for each in EACH:
                if each in asserts[field][PER_QUERY]:
                    _require_extents(asserts[field][PER_QUERY][each], heads)
    return AssertedCache(heads, cache, asserts)


def _require_queries(given: Values, witness: Values | None) -> None:
    """That there are queries or a region of them. Raises MalformedError."""
    if REGION in given:
        if QUERIES in given:
            raise given.node(REGION).malformed("queries or a region, not both")
        return
    if QUERIES not in given:
        raise given.at.malformed("queries, or a region of them", "no 'queries' and no 'region'")
    for field in (CELLS, QUERY, WEIGHTS):
        if witness is not None and field in witness:
            raise witness.node(field).malformed(f"{field.name} only where a region is given")


def _require_of_region(asserts: Values) -> None:
    """That nothing else is asserted than what is proved over regions. Raises MalformedError."""
    if RELATIVE in asserts:
        raise asserts.node(RELATIVE).malformed("error, deviation, evicted or mass: over a region bounds are absolute")
    for field in MEASURES:
        if field in asserts and PER_QUERY in asserts[field]:
            raise asserts[field].node(PER_QUERY).malformed("the other bounds: a region lists no queries")
        if field in (ERROR, DEVIATION) and field in asserts and EVERYWHERE in asserts[field]:
            expected = (
                "at_most or at_least: over a region only shares of the softmax weight have a lower bound everywhere"
            )
            raise asserts[field].node(EVERYWHERE).malformed(expected)


def _require_tokens(stated: Values, count: int) -> None:
    tokens = stated[TOKENS]
    if max(tokens) >= count:
        raise stated.node(TOKENS).malformed(f"tokens, from 0 to {count - 1}", f"{max(tokens)}")
    known: set[int] = set()
    for token in tokens:
        if token in known:
            raise stated.node(TOKENS).malformed("each token once", f"{token} twice")
        known.add(token)


def _require_extents(bounds: MatrixInput, heads: StatedHeads) -> None:
    *outer, m, _ = heads.given[QUERIES].extents
    wanted = (1, m) if not outer and len(bounds.extents) == 2 else (*outer, m)
    if bounds.extents != wanted:
        shown = " x ".join(map(str, wanted))
        raise bounds.node.malformed(f"{shown} numbers (one for each query)", " x ".join(map(str, bounds.extents)))


# -- what is to be proved


def obligations(stated: AssertedCache) -> Iterator[Obligation | NoProof]:
    return _at_queries(stated) if stated.over is None else _over_region(stated, stated.over)


def _over_region(stated: AssertedCache, over: CacheOverRegion) -> Iterator[Obligation | NoProof]:
    """Over every cell each bound holds, and the cells cover the region; at a query there is as much as is stated."""
    asserts, cells, query = stated.asserts, range(over.region.count), over.region.suspected()
    for field in MEASURES:
        if field not in asserts:
            continue
        bounds, name = asserts[field], field.name
        around, norm = stated.over_region(name)
        if AT_MOST in bounds:
            for i in cells:
                most = Shared(partial(over.largest, f"{name}.{AT_MOST.name}", around, norm, i))
                yield Obligation(f"{name}.{AT_MOST.name}.cell[{i}]", most, "<=", bounds[AT_MOST])
        if EVERYWHERE in bounds:
            tokens = stated.shares(0)[name]
            for i in cells:
                least = Shared(partial(over.least_share, f"{name}.{EVERYWHERE.name}", tokens, i))
                yield Obligation(f"{name}.{EVERYWHERE.name}.cell[{i}]", least, ">=", bounds[EVERYWHERE])
        if AT_LEAST in bounds:
            if query is None:
                yield NoProof(f"{name}.{AT_LEAST.name}", "the query of the witness is not in the region")
            else:
                # Another query may do where this one does not, so it refutes nothing.
                here = Shared(partial(over.at_suspect, name, around, norm, query))
                yield Obligation(f"{name}.{AT_LEAST.name}", here, ">=", bounds[AT_LEAST], Part.WITNESS)


def _at_queries(stated: AssertedCache) -> Iterator[Obligation]:
    heads, asserts = stated.heads, stated.asserts
    each_query = Together(lambda items, tier: measures(stated, items, tier))

    def side(number: Callable[..., arb], field: Field[Values], *of: int) -> Gathered[_Item, Sequence[arb]]:
        return each_query.side(number, *((field.name, head) for head in of), tiers=stated.tiers)

    for field in MEASURES:
        if field not in asserts:
            continue
        bounds, name = asserts[field], field.name
        for head in range(heads.count):
            place = heads.place(head)
            if AT_MOST in bounds:
                yield Obligation(f"{name}.at_most{place}", side(largest, field, head), "<=", bounds[AT_MOST])
            if EVERYWHERE in bounds:
                least = side(smallest, field, head)
                yield Obligation(f"{name}.at_least_everywhere{place}", least, ">=", bounds[EVERYWHERE])
        if AT_LEAST in bounds:
            yield Obligation(f"{name}.at_least", side(largest, field, *range(heads.count)), ">=", bounds[AT_LEAST])
        if PER_QUERY in bounds:
            for each, relation in EACH.items():
                if each not in bounds[PER_QUERY]:
                    continue
                numbers = bounds[PER_QUERY][each].load()
                for head in range(heads.count):
                    for i in range(heads.queries):
                        own = side(_number(i), field, head)
                        bound = numbers.entry(*divmod(head * heads.queries + i, numbers.columns))
                        yield Obligation(f"{name}.per_query.{each.name}{heads.place(head)}[{i}]", own, relation, bound)


def largest(*rows: Sequence[arb]) -> arb:
    first, *others = (number for row in rows for number in row)
    for number in others:
        first = first.max(number)
    return first


def smallest(row: Sequence[arb]) -> arb:
    first, *others = row
    for number in others:
        first = first.min(number)
    return first


def _number(index: int) -> Callable[[Sequence[arb]], arb]:
    return lambda row: row[index]


# A measure by its name, and a head.
_Item = tuple[str, int]


def measures(stated: AssertedCache, items: Collection[_Item], tier: Tier | None) -> dict[_Item, Sequence[arb]]:
    """The measures of heads, a ball for each query: what a head is asked for takes its softmax weights once."""
    heads = sorted({head for _, head in items})
    found = {head: exact_measures(stated, head) for head in heads} if tier is None else _in_binary64(stated, heads)
    if stated.cache is not None:
        # Whatever is asserted, every query sees something of it. Arrays have the stated sizes, now that they were read.
        for head in heads:
            stated.cache.sight(head)
    return {(name, head): found[head][name] for name, head in items}


# By name; a ball for each query.
Measured = Mapping[str, Sequence[arb]]


def _in_binary64(stated: AssertedCache, heads: Collection[int]) -> dict[int, Measured]:
    """Raises Binary64Error."""
    from certattn.kernel.theorems.attention.stored_caches import stored_measures

    cache = stated.cache if stated.compares else None
    found = stored_measures(stated.heads, cache, stated.inputs, stated.shares, heads)
    return {head: {**shares, **(_compared(*norms) if norms else {})} for head, (shares, norms) in found.items()}


def _compared(errors: Sequence[arb], deviations: Sequence[arb], sizes: Sequence[arb]) -> Measured:
    relative = [quotient(x, size) for x, size in zip(deviations, sizes, strict=True)]
    return {ERROR.name: errors, DEVIATION.name: deviations, RELATIVE.name: relative}


# -- at the working precision


def exact_measures(stated: AssertedCache, head: int) -> Measured:
    """The measures of a head in Arb's balls."""
    rows = list(exact_rows(stated, head))
    found: dict[str, Sequence[arb]] = {name: [row.shares[name] for row in rows] for name in rows[0].shares}
    if stated.compares:
        errors, deviations = [linf_norm(row.off) for row in rows], [l2_norm(row.off) for row in rows]
        found |= _compared(errors, deviations, [l2_norm(row.exact) for row in rows])
    return found


def quotient(deviation: arb, size: arb) -> arb:
    """A deviation by the size of what deviates; 0 where the first is, exactly."""
    return arb(0) if deviation == 0 else deviation / size


@dataclass(frozen=True)
class Row:
    """Of a query T, T' - T, and the softmax weight on sets of tokens, by name."""

    exact: Sequence[arb]
    off: Sequence[arb]
    shares: Mapping[str, arb]


def exact_rows(stated: AssertedCache, head: int) -> Iterator[Row]:
    """The queries of a head, one after the other; T and T' - T are left out where nothing is asserted of them."""
    queries, keys, values = stated.exact
    heads, shared = stated.heads, head // stated.heads.shared
    m, n, sets = heads.queries, heads.tokens, stated.shares(shared)
    own = range(shared * n, (shared + 1) * n)
    whole = Prompt(keys.take_rows(own), values.take_rows(own), heads.scale)
    cached = cached_prompts(stated, head, whole)
    for same, seen in heads.sight(head).runs():
        asked = queries.take_rows(range(head * m + same.start, head * m + same.stop))
        for weighted in weighted_prompts(tokens_of(whole, seen), asked):
            shares = {name: share(weighted.weights, [t in chosen for t in seen]) for name, chosen in sets.items()}
            exact, off = list[arb](), list[arb]()
            if stated.compares:
                mean, from_mean = weighted.tokens.mean, weighted.output_from_mean()
                exact = [x + y for x, y in zip(from_mean, row_of_balls(mean.row(0)), strict=True)]
                # Both relative to one exact vector, so that what is constant cancels exactly.
                off = [x - y for x, y in zip(next(cached).output_off(mean), from_mean, strict=True)]
            yield Row(exact, off, shares)


def cached_prompts(stated: AssertedCache, head: int, whole: Prompt) -> Iterator[WeightedPrompt]:
    """The cache under the weights of the queries of a head, one after the other: each weight as often as it counts."""
    cache, m = stated.cache, stated.heads.queries
    assert cache is not None
    shared = head // stated.heads.shared
    times, queries = cache.multiplicities(shared), stated.exact[0]
    prompt = Prompt(*cache.exact(shared, whole.keys, whole.values), whole.scale)
    for same, seen in cache.sight(head).runs():
        asked = queries.take_rows(range(head * m + same.start, head * m + same.stop))
        for weighted in weighted_prompts(tokens_of(prompt, seen), asked):
            counted = [weight * times[c] for c, weight in zip(seen, weighted.weights, strict=True)]
            yield replace(weighted, weights=counted)


def tokens_of(prompt: Prompt, seen: range) -> Prompt:
    """Some tokens of a prompt alone."""
    return Prompt(prompt.keys.take_rows(seen), prompt.values.take_rows(seen), prompt.scale)


def share(weights: Sequence[arb], inside: Sequence[bool]) -> arb:
    """The sum of some weights over that of all; 0 of none and 1 of all, exactly."""
    some = [w for w, counts in zip(weights, inside, strict=True) if counts]
    others = [w for w, counts in zip(weights, inside, strict=True) if not counts]
    if not others:
        return arb(1)
    part = sum(some, arb(0))
    return part / (part + sum(others, arb(0)))


THEOREM = Theorem(
    name="cache-error",
    title="how far attention over a cache is from attention over what it was made of",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
