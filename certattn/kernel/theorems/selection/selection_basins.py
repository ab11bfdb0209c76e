"""Theorem `selection-basins`: which tokens descent on the loss of token selection selects, by where it starts.

Inputs of tokens, a loss and a rule of descent as in `selection-direction`, and a region of starts of two dimensions,

    R = { o + a s + b t :  0 <= a, b <= 1 },      s and t not parallel.

A certificate asserts a map of R: a tree of cells, each of them R or a quarter of a cell, a half in a by a half in b.
From every start in a cell that carries a selection alpha, |p(k)| -> infinity and p(k)/|p(k)| -> p_mm/|p_mm|, p_mm being
the max-margin point of alpha; of the others nothing is said. And it asserts the shares of the area of R that the cells
of each selection have, and all of them together.

Proof: a cell is a start of `selection-direction`, with a theorem and steps of its own. The leaves of a tree overlap in
edges alone, and a leaf at depth k has the share 4^-k of the area: (a, b) -> o + a s + b t is affine and one to one.

    region: {corner: o, sides: [s, t]}
    cells: TREE      read from the left: + is four quarters, which follow: low a and b, high a, high b, high both;
                     a letter a leaf of that selection, a for the first; . an undecided leaf
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_lowercase

from flint import fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Field, Kind, Listing, Rational, Reading, Record, Text, Values, scalar
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.theorems.selection.direction_theorems import THEOREMS
from certattn.kernel.theorems.selection.mathematics.selection_constants import Patch, Start
from certattn.kernel.theorems.selection.selection_direction import (
    APPLIED,
    DESCENT,
    STEPS,
    TIME,
    DescentProblem,
    read_rule,
    unfit,
)
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    LOSS,
    PAIR_MULTIPLIERS,
    PointKind,
    StatedTokens,
    kkt_names,
    optimal,
    point_of,
    read_point,
    read_sections,
    read_selection,
    read_tokens,
    scored_token_forms,
)

# Deeper cells are smaller than anything that a picture shows.
MOST_DEPTH = 12
SPLIT, UNDECIDED = "+", "."

CORNER = Field("corner", PointKind(), "o, a corner of the region")
SIDES = Field("sides", Listing(PointKind()), "s and t, the sides from there")
REGION = Field("region", Record(CORNER, SIDES), "where descent starts")


@dataclass(frozen=True)
class Leaf:
    """A cell that is no more divided: its selection, None where it is undecided.

    The starts are those with low <= (a, b) <= low + 2^-depth.
    """

    selection: int | None
    low: tuple[fmpq, fmpq]
    depth: int

    @property
    def size(self) -> fmpq:
        """2^-depth."""
        return fmpq(1, 2**self.depth)


class TreeCode(Kind[list[Leaf]]):
    """A tree of cells as a word: + and four cells, a letter, or a dot."""

    written = (Text(),)

    def read(self, node: Node, reading: Reading) -> list[Leaf]:
        code = scalar(node, "a tree of cells, such as +a.b+aab.")
        zero, leaves = fmpq(0), list[Leaf]()
        # Those to come, the next one last.
        coming = [((zero, zero), 0)]
        for sign in code:
            if not coming:
                raise node.malformed("the end of the word after the last cell", f"{sign!r} after it")
            low, depth = coming.pop()
            if sign == SPLIT:
                if depth == MOST_DEPTH:
                    raise node.malformed(f"cells that are divided at most {MOST_DEPTH} times")
                half = fmpq(1, 2 ** (depth + 1))
                quarters = [(low[0] + a * half, low[1] + b * half) for b in (0, 1) for a in (0, 1)]
                coming += [(quarter, depth + 1) for quarter in reversed(quarters)]
            elif sign in ascii_lowercase:
                leaves.append(Leaf(ascii_lowercase.index(sign), low, depth))
            elif sign == UNDECIDED:
                leaves.append(Leaf(None, low, depth))
            else:
                raise node.malformed(f"{SPLIT!r}, {UNDECIDED!r} or a letter from a to z for every cell", f"{sign!r}")
        if coming:
            raise node.malformed(f"{counted(len(coming), 'more cell')}, four for every +", "the end of the word")
        return leaves


SHARE = Field("share", Rational(minimum=0), "the part of the area that its cells have, exactly")
SELECTIONS = Field("selections", Listing(Record(INDICES, SHARE)), "the tokens that are selected, one of each input")
CELLS = Field("cells", TreeCode(), "the tree of cells")
DECIDED = Field("decided", Rational(minimum=0), "the part of the area that all cells with a selection have, exactly")

POINTS = Field("multipliers", Listing(PAIR_MULTIPLIERS), "of each selection the multipliers of the tight constraints")
_PROOFS = Listing(Record(STEPS, TIME, APPLIED))
PROOFS = Field("proofs", _PROOFS, "of each cell with a selection, from the left, what is enclosed and the theorem")

GIVEN = scored_token_forms(LOSS, DESCENT, REGION)
ASSERTS = Record(SELECTIONS, CELLS, DECIDED)
WITNESS = Record(POINTS, PROOFS, BITS)


# -- what is stated


@dataclass(frozen=True)
class Region:
    """o, s and t, each in a row."""

    corner: ExactMatrix
    sides: tuple[ExactMatrix, ExactMatrix]

    def start(self, leaf: Leaf) -> Start:
        """The starts in a leaf."""
        half, centre = leaf.size / 2, self.corner
        for low, side in zip(leaf.low, self.sides, strict=True):
            centre = centre + side.scaled(low + half)
        first, second = (side.scaled(half) for side in self.sides)
        return Start(patch=Patch(centre, (first, second)))


@dataclass(frozen=True)
class Basins:
    """What is given and asserted, and of each selection and each cell that has one how it is proved."""

    region: Region
    asserts: Values
    leaves: list[Leaf]
    cells: list[tuple[int, DescentProblem]]

    @property
    def selections(self) -> list[DescentProblem]:
        """Of each selection a cell: what it says of p_mm is the same in all."""
        first = dict(reversed(self.cells))
        return [first[s] for s in sorted(first)]

    def share(self, selection: int | None) -> fmpq:
        """Of the area, that of a selection, or of all for None."""
        found = [leaf for leaf in self.leaves if leaf.selection is not None and selection in (leaf.selection, None)]
        return sum((leaf.size * leaf.size for leaf in found), fmpq(0))


def read(certificate: Certificate) -> Basins:
    """The map of a certificate; every dimension checked. Raises MalformedError."""
    given, asserts, witness = read_sections(certificate, GIVEN, ASSERTS, WITNESS, "multipliers and theorems")
    stated = read_tokens(given)
    rule, loss = read_rule(given[DESCENT], stated.tokens.count), LOSSES[given[LOSS]]
    region = read_region(given[REGION], stated)
    listed = asserts[SELECTIONS]
    chosen, multipliers, proofs = [read_selection(stated, each) for each in listed], witness[POINTS], witness[PROOFS]
    if len({selection.indices for selection in chosen}) < len(chosen):
        raise asserts.node(SELECTIONS).malformed("every selection once", "one of them twice")
    leaves = asserts[CELLS]
    decided = [leaf for leaf in leaves if leaf.selection is not None]
    if {leaf.selection for leaf in decided} != set(range(len(chosen))):
        expected = f"cells of each of the {counted(len(chosen), 'selection')} that are listed, and of no other"
        raise asserts.node(CELLS).malformed(expected)
    for field, found, wanted in ((POINTS, multipliers, chosen), (PROOFS, proofs, decided)):
        if len(found) != len(wanted):
            each = "selection" if field is POINTS else "cell with a selection"
            raise witness.node(field).malformed(f"{len(wanted)}, one for every {each}", f"{len(found)}")
    points = [point_of(selection, each) for selection, each in zip(chosen, multipliers, strict=True)]
    cells = []
    for leaf, proof in zip(decided, proofs, strict=True):
        assert leaf.selection is not None
        selection, start = chosen[leaf.selection], region.start(leaf)
        name, values = proof[APPLIED]
        problem = DescentProblem(
            stated=stated,
            selection=selection,
            loss=loss,
            rule=rule,
            start=start,
            solution=points[leaf.selection],
            limit=None,
            asserts=listed[leaf.selection],
            bounds=[],
            steps=proof.get(STEPS) or 0,
            time=proof.get(TIME) or fmpq(0),
            leaps=None,
            theorem=THEOREMS[name],
            parameters=THEOREMS[name].read(values, start, selection, rule),
        )
        cells.append((leaf.selection, problem))
    return Basins(region, asserts, leaves, cells)


def read_region(stated: Values, tokens: StatedTokens) -> Region:
    """The region, of the shape of p or W. Raises MalformedError."""
    sides = stated[SIDES]
    if len(sides) != 2:
        raise stated.node(SIDES).malformed("two sides", f"{len(sides)}")
    corner, s, t = (read_point(each, tokens.shape, tokens.variable) for each in (stated[CORNER], *sides))
    if s.inner(t) ** 2 == s.inner(s) * t.inner(t):
        found = "s = {} and t = {}".format(*(each.words() for each in sides))
        raise stated.node(SIDES).malformed("two sides that are not parallel, and neither of them 0", found)
    return Region(corner, (s, t))


# -- what proves it


def obligations(basins: Basins) -> Iterator[Obligation | NoProof]:
    """Of each selection that its point is one, of each cell the conditions of its theorem, and the areas."""
    for s, problem in enumerate(basins.selections):
        asked = optimal("p_mm", partial(getattr, problem.solution, "conditions"))
        yield from _numbered(asked, {name: f"{name}[{s}]" for name in kkt_names("p_mm")})
    for c, (s, problem) in enumerate(basins.cells):
        reason = unfit(problem)
        if reason is not None:
            yield NoProof(f"{problem.theorem.name}[{c}]", reason)
            continue
        conditions = problem.conclusion.conditions
        names = {name: f"{name}[{s}]" for name in kkt_names("p_mm")}
        yield from _numbered(conditions, {**names, **{each.name: f"{each.name}[{c}]" for each in conditions}})
    listed: list[Values] = basins.asserts[SELECTIONS]
    for s, stated in enumerate(listed):
        yield Obligation(f"share[{s}]", stated[SHARE], "=", basins.share(s))
    yield Obligation("decided", basins.asserts[DECIDED], "=", basins.share(None))


def _numbered(conditions: Iterable[Obligation], names: dict[str, str]) -> Iterator[Obligation]:
    """The same by other names."""
    for each in conditions:
        yield replace(each, name=names[each.name], needs=[names[name] for name in each.needs])


_TITLE = "a map of starts by the tokens that descent selects from there"
THEOREM = Theorem("selection-basins", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
