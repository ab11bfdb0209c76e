"""Map the starts of a plane by the tokens that descent on the loss of token selection selects from there.

A cell is followed with all its starts to where a theorem says where they go; where none does, it is cut into quarters.
Whether one may and after how many steps is told beforehand by the corners, which are followed in doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.bundled_descent import carried_along
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.selection_constants import FLOW, Start
from certattn.kernel.theorems.selection.selection_basins import (
    GIVEN,
    MOST_DEPTH,
    REGION,
    SPLIT,
    THEOREM,
    UNDECIDED,
    Leaf,
    Region,
    read_region,
)
from certattn.kernel.theorems.selection.selection_direction import DESCENT, read_rule
from certattn.kernel.theorems.selection.stated_tokens import LOSS, read_tokens
from certattn.provers.commands import Argument, Command, Option, Whole, Yaml, to_plot
from certattn.provers.exact_inputs import exact
from certattn.provers.output import Draft, require_proved
from certattn.provers.rounding import doubles
from certattn.provers.selection.scouted_descent import scouted_descents
from certattn.provers.selection.selection_direction import Search, Setting
from certattn.provers.selection.selection_theorems import Choice
from certattn.provers.selection.token_optimality import multiplier_table

DEPTH, STEPS = 5, 1000
Said = Callable[[int, int], None]

# A cell that has grown so many times as large is cut into quarters.
_TOO_LARGE = 20
_ALL = Leaf(None, (fmpq(0), fmpq(0)), 0)
# The corners and the centre of a cell.
_PLACES = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]])

Array = np.ndarray[Any, Any]
# The tokens that are selected from a cell, and what proves it.
_Found = tuple[tuple[int, ...], Choice]


def generate(
    out: Path,
    *,
    given: dict[str, Plain],
    depth: int = DEPTH,
    most_steps: int = STEPS,
    note: str = "",
    said: Said = lambda done, everything: None,
) -> Certificate:
    """Write a certificate of `selection-basins` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: keys with scores and
        possibly `queries`, or tokens with `v`; `loss`, `descent`, `region`.
    depth : int
        How many times a cell that is undecided is cut into quarters.
    most_steps : int
        How many steps a cell is followed.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    said : callable
        Told now and then how much of the region is done, in cells of the last depth, and how many these are.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        No cell is decided.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/selection-basins.md.

    Examples
    --------
    >>> import certattn
    >>> keys, scores = [[[1, 0], [-1, 0], [0, 1], [0, -1]]], [[1, "1/2", 0, 0]]
    >>> descent, region = {"rule": "gradient", "step": 4}, {"corner": [-12, -1], "sides": [[24, 0], [0, 2]]}
    >>> certificate = certattn.generate(
    ...     "selection-basins", keys=keys, scores=scores, loss="logistic", descent=descent, region=region, depth=2
    ... )
    >>> certificate.plain["asserts"]["cells"]
    '++a.a.+.b.b+a.a.+.b.b'
    """
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    if not 0 <= depth <= MOST_DEPTH:
        raise UsageError(f"expected a depth of at most {MOST_DEPTH}, and not below 0")
    if most_steps < 0:
        raise UsageError("expected no steps, or more")
    setting, region = draft.read(_read)
    with working_precision(DEFAULT_LIMITS.start_bits):
        mapped = _Map(Search(setting, None, None), region, depth, most_steps)
        mapped.explore(said)
    code = "".join(mapped.cells(_ALL))
    if not mapped.proofs:
        raise NotProvedError(
            f"no cell of the region is decided: within {counted(most_steps, 'step')} no theorem was found to hold for "
            "all of its starts; expected a larger depth, more steps, or another region"
        )
    asserts: dict[str, Plain] = {
        "selections": [
            {"indices": [str(t) for t in indices], "share": format_rational(mapped.shares[indices])}
            for indices in mapped.shares
        ],
        "cells": code,
        "decided": format_rational(sum(mapped.shares.values(), fmpq(0))),
    }
    points: list[Plain] = []
    for indices in mapped.shares:
        run = mapped.search.run(indices)
        points.append(multiplier_table(run.selection, run.solution.multipliers))
    witness: dict[str, Plain] = {"multipliers": points, "proofs": list(mapped.proofs)}
    draft.read(require_proved, asserts, witness)
    return draft.write(asserts, witness)


def _read(draft: Certificate) -> tuple[Setting, Region]:
    _, values = GIVEN.read(draft.given, draft.reading)
    stated = read_tokens(values)
    rule = read_rule(values[DESCENT], stated.tokens.count)
    if rule.kind == FLOW:
        expected = "the rule gradient or normalised, as cells are followed in steps"
        raise values.node(DESCENT).malformed(expected, "the rule flow", "gradient with a small step is near the flow")
    return Setting(stated, LOSSES[values[LOSS]], rule, Start()), read_region(values[REGION], stated)


@dataclass
class _Map:
    """What is found of the cells; shares of the selections, in their order, and proofs of the cells, from the left."""

    search: Search
    region: Region
    depth: int
    most_steps: int
    found: dict[Leaf, _Found | None] = field(default_factory=dict)
    shares: dict[tuple[int, ...], fmpq] = field(default_factory=dict)
    proofs: list[Plain] = field(default_factory=list)
    _at: int = 0

    def explore(self, said: Said) -> None:
        """Decide of the cells what can be decided, level by level."""
        level, done = [_ALL], 0
        while level:
            steps, boxes = self._simulated(level)
            for leaf, trail in zip(level, boxes, strict=True):
                self.found[leaf] = self._decided(leaf, steps, trail)
                if not self._is_cut(leaf):
                    done += 4 ** (self.depth - leaf.depth)
                    said(done, 4**self.depth)
            level = [quarter for leaf in level if self._is_cut(leaf) for quarter in _quarters(leaf)]

    def cells(self, leaf: Leaf) -> Iterator[str]:
        """The word of the tree below a cell."""
        found = self.found[leaf]
        if self._is_cut(leaf):
            yield SPLIT
            for quarter in _quarters(leaf):
                yield from self.cells(quarter)
        elif found is None or (found[0] not in self.shares and len(self.shares) == len(ascii_lowercase)):
            yield UNDECIDED
        else:
            indices, choice = found
            self.shares[indices] = self.shares.get(indices, fmpq(0)) + leaf.size * leaf.size
            steps: dict[str, Plain] = {"steps": str(choice.steps)} if choice.steps > 0 else {}
            self.proofs.append({**steps, "theorem": {"name": choice.theorem, **choice.parameters}})
            yield ascii_lowercase[list(self.shares).index(indices)]

    def _is_cut(self, leaf: Leaf) -> bool:
        return self.found[leaf] is None and leaf.depth < self.depth

    def _simulated(self, level: Sequence[Leaf]) -> tuple[list[int], Array]:
        """Numbers of steps; and of each cell after each of them the ends of the box of its corners and its centre."""
        setting, (corner, *sides) = self.search.setting, map(doubles, (self.region.corner, *self.region.sides))
        low = np.array([[float(arb(x)) for x in leaf.low] for leaf in level])
        places = low[:, None] + _PLACES * float(arb(level[0].size))
        points = corner + places.reshape(-1, 2) @ np.vstack(sides)
        steps, boxes = list[int](), list[Array]()
        for k, here in scouted_descents(
            setting.stated.tokens, setting.loss.name, setting.rule, points, self.most_steps
        ):
            cells = here.reshape(len(level), len(_PLACES), -1)
            steps.append(k)
            boxes.append(np.stack([cells.min(axis=1), cells.max(axis=1)], axis=2))
        return steps, np.stack(boxes, axis=1)

    def _decided(self, leaf: Leaf, steps: Sequence[int], boxes: Array) -> _Found | None:
        """The tokens that are selected from all of a cell, and what proves it.

        What encloses the cell holds these boxes: where no theorem holds of them, the cell need not be followed.
        """
        first, last, reach, found = 0, len(steps), 1, None
        # The first step is near to that of the cell before.
        at = min(self._at, last - 1)
        while first < last:
            tried = self._tried(steps[at], [arb(x).union(arb(y)) for x, y in boxes[at]])
            if tried is not None:
                found, last, at = tried, at, max(at - reach, first)
            else:
                first = at + 1
                at = (first + last) // 2 if found is not None else min(at + reach, last - 1)
            reach *= 4
        if found is None:
            return None
        self._at = last
        return self._followed(leaf, found[0], steps[last:])

    def _followed(self, leaf: Leaf, indices: tuple[int, ...], stops: Sequence[int]) -> _Found | None:
        """What proves it of the enclosed cell, at the first of the stops where something does."""
        setting = self.search.setting
        # As the checker follows it: with the tokens that are selected.
        step = setting.rule.on(landscape(Selection(setting.stated.tokens, indices), setting.loss))
        here, before = self.region.start(leaf).enclosed(step), 0
        largest = _TOO_LARGE * here.error
        for k in stops:
            here, before = carried_along(step, here, k - before)[k - before], k
            if (here.error <= largest) is not True:
                return None
            found = self._tried(k, here.box)
            if found is not None and found[0] == indices:
                return found
        return None

    def _tried(self, k: int, box: list[arb]) -> _Found | None:
        found = self.search.choice(box, k)
        return None if found is None else (found[0].selection.indices, found[1])


def _quarters(leaf: Leaf) -> list[Leaf]:
    half, (a, b) = leaf.size / 2, leaf.low
    return [Leaf(None, (a + x * half, b + y * half), leaf.depth + 1) for y in (0, 1) for x in (0, 1)]


COMMAND = Command(
    Argument("DESCENT", Yaml("given")),
    Option("--depth", "How many times a cell that is undecided is cut into quarters.", Whole(0, MOST_DEPTH), "N"),
    Option("--most-steps", "How many steps a cell is followed.", int, "K"),
    to_plot("Draw the map."),
    progress="cells",
)
