"""Map the starts of a plane by the tokens that descent on the loss of token selection selects from there.

A cell is followed with all its starts until a theorem says where they go; where none does, it is cut into quarters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

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
from certattn.provers.selection.scouted_descent import heaviest, scouted_descent
from certattn.provers.selection.selection_direction import Search, Setting
from certattn.provers.selection.selection_theorems import Choice
from certattn.provers.selection.token_optimality import multiplier_table

DEPTH, STEPS = 5, 1000
Said = Callable[[int, int], None]

# Theorems are tried after so many times as many steps, and a few more.
_SPACING = 1.4
# A cell that has grown so many times as large is cut into quarters.
_TOO_LARGE = 20


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
        How many steps a cell of the last depth is followed; a cell above these a quarter as many, and so on.
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
        mapped = _Map(Search(setting, None, None), region, depth, most_steps, said)
        code = "".join(mapped.cells(Leaf(None, (fmpq(0), fmpq(0)), 0)))
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
    """The shares of the selections that were found, in their order, and the proofs of the cells, from the left."""

    search: Search
    region: Region
    depth: int
    most_steps: int
    said: Said
    shares: dict[tuple[int, ...], fmpq] = field(default_factory=dict)
    proofs: list[Plain] = field(default_factory=list)
    _done: int = 0

    def cells(self, leaf: Leaf) -> Iterator[str]:
        """The word of the tree below a cell."""
        found = self._decided(leaf)
        if found is None and leaf.depth < self.depth:
            yield SPLIT
            half = leaf.size / 2
            for b in (0, 1):
                for a in (0, 1):
                    yield from self.cells(Leaf(None, (leaf.low[0] + a * half, leaf.low[1] + b * half), leaf.depth + 1))
            return
        self._done += 4 ** (self.depth - leaf.depth)
        self.said(self._done, 4**self.depth)
        if found is None:
            yield UNDECIDED
            return
        indices, choice = found
        self.shares[indices] = self.shares.get(indices, fmpq(0)) + leaf.size * leaf.size
        steps: dict[str, Plain] = {"steps": str(choice.steps)} if choice.steps > 0 else {}
        self.proofs.append({**steps, "theorem": {"name": choice.theorem, **choice.parameters}})
        yield ascii_lowercase[list(self.shares).index(indices)]

    def _decided(self, leaf: Leaf) -> tuple[tuple[int, ...], Choice] | None:
        """The selection of all starts in a cell, and what proves it."""
        start, setting = self.region.start(leaf), self.search.setting
        assert start.patch is not None
        tokens, middle = setting.stated.tokens, Start((start.patch.centre,) * 2)
        # All levels of the tree are to take about as long.
        steps = self.most_steps // 4 ** (self.depth - leaf.depth)
        *_, (_, going) = scouted_descent(tokens, setting.loss.name, setting.rule, middle, steps)
        indices = heaviest(tokens, [arb(x) for x in going])
        room = len(self.shares) < len(ascii_lowercase)
        for _ in range(2):
            found = self._followed(start, indices, steps)
            if found is None or found[0] == indices:
                return found if room or indices in self.shares else None
            # The checker follows the cell with the tokens that are selected.
            indices = found[0]
        return None

    def _followed(self, start: Start, indices: tuple[int, ...], steps: int) -> tuple[tuple[int, ...], Choice] | None:
        setting = self.search.setting
        step = setting.rule.on(landscape(Selection(setting.stated.tokens, indices), setting.loss))
        here, k = start.enclosed(step), 0
        largest = _TOO_LARGE * here.error
        while (here.error <= largest) is True:
            found = self.search.choice(here.box, k)
            if found is not None:
                return found[0].selection.indices, found[1]
            if k == steps:
                return None
            length = min(int(k * _SPACING) + 1, steps) - k
            here, k = carried_along(step, here, length)[length], k + length
        return None


COMMAND = Command(
    Argument("DESCENT", Yaml("given")),
    Option("--depth", "How many times a cell that is undecided is cut into quarters.", Whole(0, MOST_DEPTH), "N"),
    Option("--most-steps", "How many steps a cell of the last depth is followed.", int, "K"),
    to_plot("Draw the map."),
    progress="cells",
)
