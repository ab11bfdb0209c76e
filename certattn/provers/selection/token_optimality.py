"""State which tokens are the best ones, and which selections are locally optimal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.token_selection import Selection, Tokens, best_tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.stated_tokens import read_tokens
from certattn.kernel.theorems.selection.token_optimality import GIVEN, MOST_SELECTIONS, NONE, NOT_SEPARABLE, THEOREM
from certattn.provers.commands import Argument, Command, Option, Yaml, index_list
from certattn.provers.exact_inputs import exact
from certattn.provers.output import Draft, texts
from certattn.provers.selection.quadratic_program import NotSeparableError, max_margin_multipliers

# Selections that are all gone through without being asked to.
_FEW = 10_000


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    selections: Sequence[Sequence[int]] = (),
    enumerate_all: bool | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `token-optimality` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `keys` and `scores` and
        possibly `queries`, or `tokens`, `v` and if need be `W`, `labels`.
    selections : sequence of sequences of int
        Selections alpha, a token for each input counted from 0, each stated to be locally optimal or not.
    enumerate_all : bool, optional
        Whether to state all locally optimal selections; by default where there are at most 10,000.
    note : str
        A line for the certificate's readers, kept under `provenance`.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/token-optimality.md.

    Examples
    --------
    >>> import certattn
    >>> keys, scores = [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]], [[1, 0], [1, 0]]
    >>> certificate = certattn.generate("token-optimality", keys=keys, scores=scores)
    >>> certificate.plain["asserts"]["all_locally_optimal"]
    [['0', '0'], ['1', '0']]
    """
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    tokens = draft.read(lambda written: read_tokens(GIVEN.read(written.given, written.reading)[1])).tokens
    asserts: dict[str, Plain] = {"optimal": _indices(best_tokens(tokens))}
    witness: dict[str, Plain] = {}
    for name, items, proofs in _settled([chosen_tokens(tokens, indices) for indices in selections]):
        asserts[name], witness[name] = items, proofs
    if _enumerates(tokens, enumerate_all):
        found = enumerated(tokens)
        asserts["all_locally_optimal"] = _indices(found.optimal) if found.optimal else NONE
        if found.cuts:
            witness["cuts"] = found.cuts
        if found.supports:
            witness["supports"] = _indices(found.supports)
    return draft.write(asserts, witness)


def _enumerates(tokens: Tokens, asked: bool | None) -> bool:
    total = prod(tokens.lengths)
    if max(tokens.lengths) == 1:
        return False
    if asked is None:
        return total <= _FEW
    if asked and total > MOST_SELECTIONS:
        raise UsageError(f"there are {total} selections; at most {MOST_SELECTIONS} can be gone through")
    return asked


def _shown(indices: Sequence[int]) -> str:
    return f"({', '.join(map(str, indices))})"


def chosen_tokens(tokens: Tokens, indices: Sequence[int]) -> Selection:
    if len(indices) != tokens.count:
        raise UsageError(f"the selection {_shown(indices)}: expected {counted(tokens.count, 'index')}, one per input")
    for i, (index, length) in enumerate(zip(indices, tokens.lengths, strict=True)):
        if not 0 <= index < length:
            raise UsageError(f"the selection {_shown(indices)}: input {i} has the tokens 0 to {length - 1}")
    selection = Selection(tokens, tuple(indices))
    if not selection.pairs:
        raise UsageError("every input has a single token: there is nothing to select from")
    return selection


# -- single selections


def solve(selection: Selection) -> MaxMargin:
    """p_mm of a selection. Raises NotSeparableError, with a proof."""
    rows = selection.differences
    return hard_margin(rows, max_margin_multipliers(rows))


def violating_neighbour(selection: Selection, solution: MaxMargin) -> int | None:
    """The position of a neighbour with no smaller score, the largest such score; None where there is none."""
    bad = [j for j in solution.tight if selection.gaps[j] <= 0]
    return min(bad, key=lambda j: selection.gaps[j]) if bad else None


def _settled(selections: Sequence[Selection]) -> Iterator[tuple[str, list[Plain], list[Plain]]]:
    """What to assert of the selections, and why: name, items, and multipliers for each."""
    accepted: tuple[list[Plain], list[Plain]] = ([], [])
    refused: tuple[list[Plain], list[Plain]] = ([], [])
    for selection in selections:
        indices: list[Plain] = [str(index) for index in selection.indices]
        because: Plain = NOT_SEPARABLE
        try:
            solution = solve(selection)
            multipliers = dict(solution.multipliers)
            bad = violating_neighbour(selection, solution)
            if bad is None:
                accepted[0].append(indices)
                accepted[1].append(multiplier_table(selection, multipliers))
                continue
            pair = selection.pairs[bad]
            because = {"input": str(pair.input), "token": str(pair.token)}
        except NotSeparableError as error:
            multipliers = error.weights
        refused[0].append({"indices": indices, "because": because})
        refused[1].append(multiplier_table(selection, multipliers))
    for name, (items, proofs) in (("locally_optimal", accepted), ("not_locally_optimal", refused)):
        if items:
            yield name, items, proofs


def stated_point(point: ExactMatrix, shape: tuple[int, int], variable: str) -> list[Plain]:
    """A point, which stands in one row, as certificates write it: a vector, or the rows of W."""
    entries, (rows, columns) = texts(point.row(0)), shape
    if variable != "W":
        return list(entries)
    return [list(entries[i * columns : (i + 1) * columns]) for i in range(rows)]


def multiplier_table(selection: Selection, multipliers: Mapping[int, fmpq]) -> list[Plain]:
    return [
        {
            "input": str(selection.pairs[j].input),
            "token": str(selection.pairs[j].token),
            "multiplier": format_rational(value),
        }
        for j, value in sorted(multipliers.items())
    ]


# -- all selections


@dataclass
class Enumerated:
    """All locally optimal selections, with the cuts and the supports that settle every selection."""

    optimal: list[tuple[int, ...]] = field(default_factory=list)
    cuts: list[Plain] = field(default_factory=list)
    supports: list[list[int]] = field(default_factory=list)
    # The chosen tokens that each cut is about, by input.
    chosen: list[dict[int, int]] = field(default_factory=list)


def enumerated(tokens: Tokens) -> Enumerated:
    """Go through all selections, input by input; a beginning that cannot be separated is cut off."""
    found = Enumerated()
    _extend(found, tokens, ())
    return found


def _extend(found: Enumerated, tokens: Tokens, prefix: tuple[int, ...]) -> None:
    if any(_agrees(chosen, prefix) for chosen in found.chosen):
        return
    complete = len(prefix) == tokens.count
    if max(tokens.lengths[: len(prefix)], default=1) > 1:
        selection = _beginning(tokens, prefix)
        try:
            solution = solve(selection)
        except NotSeparableError as error:
            found.chosen.append({selection.pairs[j].input: prefix[selection.pairs[j].input] for j in error.weights})
            found.cuts.append(_cut(selection, error.weights))
            return
        if complete:
            rows = [
                tokens.row(selection.pairs[j].input, selection.pairs[j].token) for j in sorted(solution.multipliers)
            ]
            found.supports.append(rows)
            if violating_neighbour(selection, solution) is None:
                found.optimal.append(prefix)
    if not complete:
        for token in range(tokens.lengths[len(prefix)]):
            _extend(found, tokens, (*prefix, token))


def _agrees(chosen: dict[int, int], prefix: tuple[int, ...]) -> bool:
    return all(i < len(prefix) and prefix[i] == token for i, token in chosen.items())


def _beginning(tokens: Tokens, prefix: tuple[int, ...]) -> Selection:
    """The selection from the first inputs alone."""
    lengths = tokens.lengths[: len(prefix)]
    count = sum(lengths)
    keys: ExactMatrix = tokens.keys.take_rows(range(count))
    assert tokens.scores is not None
    return Selection(Tokens(keys, lengths, tokens.scores[:count]), prefix)


def _cut(selection: Selection, multipliers: dict[int, fmpq]) -> list[Plain]:
    return [
        {
            "input": str(selection.pairs[j].input),
            "chosen": str(selection.indices[selection.pairs[j].input]),
            "other": str(selection.pairs[j].token),
            "multiplier": format_rational(value),
        }
        for j, value in sorted(multipliers.items())
    ]


def _indices(rows: Sequence[Sequence[int]]) -> list[Plain]:
    return [[str(index) for index in row] for row in rows]


COMMAND = Command(
    Argument("TOKENS", Yaml("given")),
    Option(
        "--indices",
        "A selection, one token for each input counted from 0, to state whether it is locally optimal.",
        metavar="'A1, A2, ...'",
        sets="selections",
        many=True,
        parse=index_list,
    ),
    Option(
        "--all/--no-all",
        "Whether to state all locally optimal selections. [default: where there are at most 10,000 selections]",
        bool,
        sets="enumerate_all",
    ),
)
