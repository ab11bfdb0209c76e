"""Whether a certificate of `selection-basins` may be true: the tree read by recursion, areas over the fractions, and
some starts of every cell with a selection simulated in doubles as `selection_direction` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import dot, read_counts, read_number, read_point, require, require_record
from tools.truth.selection_direction import judge_direction
from tools.truth.token_optimality import Instance, combination, require_indices

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Where starts of a cell are tried, as fractions of its sides; of so many cells.
_TRIED = ((0, 0), (1, 1), (1, 0))
_MOST_CELLS, _MOST_DEPTH = 12, 12

Cell = tuple[str, Fraction, Fraction, Fraction]


def judge_basins(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where something speaks against it; else open."""
    require(isinstance(given, dict) and {"loss", "descent", "region"} <= set(given), "given")
    instance = Instance({key: given[key] for key in given if key not in ("loss", "descent", "region")}, folder)
    require_record(given["region"], "the region", {"corner", "sides"})
    sides = given["region"]["sides"]
    require(isinstance(sides, list) and len(sides) == 2, "two sides")
    o, s, t = (read_point(each, instance.shape, folder) for each in (given["region"]["corner"], *sides))
    require(dot(s, t) ** 2 != dot(s, s) * dot(t, t), "parallel sides")
    require_record(asserts, "asserts", {"selections", "cells", "decided"})
    require_record(witness, "witness", {"multipliers", "proofs"}, {"bits"})
    listed, code = asserts["selections"], asserts["cells"]
    require(isinstance(listed, list) and listed != [] and isinstance(code, str), "selections and cells")
    for each in listed:
        require_record(each, "a selection", {"indices", "share"})
    selections = [require_indices(instance, read_counts(each["indices"])) for each in listed]
    shares = [read_number(each["share"]) for each in listed]
    require(min(shares) >= 0 and read_number(asserts["decided"]) >= 0, "shares")
    require(len(set(selections)) == len(selections), "a selection twice")
    signs = iter(code)
    cells = [cell for cell in _cells(signs, Fraction(0), Fraction(0), 0) if cell[0] != "."]
    require(next(signs, None) is None, "too many cells")
    require({cell[0] for cell in cells} == set(_LETTERS[: len(listed)]), "cells of every selection")
    points, proofs = witness["multipliers"], witness["proofs"]
    require(isinstance(points, list) and len(points) == len(listed), "multipliers")
    require(isinstance(proofs, list) and len(proofs) == len(cells), "proofs")
    areas = {letter: Fraction(0) for letter in _LETTERS}
    for letter, _, _, size in cells:
        areas[letter] += size * size
    right = [areas[letter] for letter in _LETTERS[: len(listed)]] == shares
    if not right or sum(shares) != read_number(asserts["decided"]):
        return Judgement(Truth.FALSE, 0.0, "areas")
    shown = True
    for indices, weights in zip(selections, points, strict=True):
        solution = instance.solve(indices)
        shown = shown and solution is not None and combination(instance, indices, weights) == solution
    common = {key: given[key] for key in given if key != "region"}
    every = max(1, len(cells) // _MOST_CELLS)
    for k, ((letter, a, b, size), proof) in enumerate(zip(cells, proofs, strict=True)):
        number = _LETTERS.index(letter)
        require_record(proof, "a proof", {"theorem"}, {"steps", "time"})
        for across, up in _TRIED if k % every == 0 else ():
            place = [x + (a + across * size) * y + (b + up * size) * z for x, y, z in zip(o, s, t, strict=True)]
            width = instance.shape[1]
            rows = [[str(x) for x in place[i : i + width]] for i in range(0, len(place), width)]
            one = judge_direction(
                {**common, "start": rows if instance.shape[0] > 1 else rows[0]},
                {"indices": listed[number]["indices"]},
                {**proof, "multipliers": points[number]},
                folder,
            )
            if one.truth is Truth.FALSE:
                return one
    return Judgement(Truth.OPEN, 0.0, "", shown)


def _cells(signs: Iterator[str], a: Fraction, b: Fraction, depth: int) -> Iterator[Cell]:
    """The leaves of the next tree: its letter or dot, the low ends, and the length of a side."""
    sign = next(signs, None)
    require(sign is not None and sign in "+." + _LETTERS, "a cell")
    size = Fraction(1, 2**depth)
    if sign != "+":
        yield str(sign), a, b, size
        return
    require(depth < _MOST_DEPTH, "too deep")
    half = size / 2
    yield from _cells(signs, a, b, depth + 1)
    yield from _cells(signs, a + half, b, depth + 1)
    yield from _cells(signs, a, b + half, depth + 1)
    yield from _cells(signs, a + half, b + half, depth + 1)
