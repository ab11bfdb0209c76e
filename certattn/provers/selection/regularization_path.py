"""State how near the minimisers over balls |p| <= R are to the max-margin direction.

Find comparators for the minimisers over balls, and write down what they show of the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.regularization_path import (
    GIVEN,
    THEOREM,
    LossInputs,
    PathInputs,
    PathProblem,
    RadiusBounds,
    radius_bounds,
    read_given,
)
from certattn.kernel.theorems.selection.stated_norms import NORM
from certattn.provers.commands import Argument, Command, Option, Yaml, to_plot, token_indices
from certattn.provers.exact_inputs import Number, exact, positive
from certattn.provers.figures import Target, require_figure
from certattn.provers.output import Draft
from certattn.provers.rounding import (
    as_float,
    decimal_exponent,
    lower_rational,
    round_below_one,
    round_nearest,
    round_up,
)
from certattn.provers.selection.least_norms import named_norm
from certattn.provers.selection.norm_paths import in_norm
from certattn.provers.selection.path_plot import draw
from certattn.provers.selection.path_points import Array, path_point
from certattn.provers.selection.token_optimality import chosen_tokens, multiplier_table, solve, stated_point

# Without a radius: about so many times 1/margin.
_DEFAULT_REACH = 40
_DIGITS = 4
# Decimal places of a comparator after the leading one of R; and the step by which it is shortened.
_PLACES = 17
_SHORTER = fmpq(1, 10**15)
_BITS = 128
# Of a step of a minimiser that is drawn.
_DRAWN_HALVINGS = 12


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    radii: Sequence[Number] = (),
    indices: Sequence[int] | None = None,
    norm: Any = None,
    limit: bool = False,
    plot: Path | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `regularization-path` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `keys` and `scores`
        and possibly `queries`, or `tokens`, `v` and if need be `W`, `labels`, `head`; and `loss`, and possibly `norm`.
    radii : sequence of exact numbers
        Radii R > 0; by default one of about 40 times the norm of p_mm.
    indices : sequence of int, optional
        The chosen token of each input; by default the one of the largest output.
    norm : exact number, "infinity" (or "inf") or "nuclear", optional
        The norm of the balls, as the field `norm` of `given`; by default the Euclidean or Frobenius norm.
    limit : bool
        Whether to state p_mm itself.
    plot : path-like, optional
        Where to draw the path, for keys in two dimensions.
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
    NotProvedError
        The selection is not the best one, cannot be separated, or a radius is too small for the theorem.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/regularization-path.md.

    Examples
    --------
    >>> import certattn
    >>> keys, scores = [[["-1/10", 1], [1, 0], [0, 0]]], [[1, "9/10", "9/10"]]
    >>> certificate = certattn.generate(
    ...     "regularization-path", keys=keys, scores=scores, loss="logistic", radii=[40]
    ... )
    >>> float(certificate.numbers["path[0].cosine"])
    0.9996414
    """
    if plot is not None:
        require_figure(plot)
    draft = Draft(THEOREM, out, exact({**given, **named_norm(norm)}, "given"), note)
    read = draft.read(lambda written: read_given(GIVEN.read(written.given, written.reading)[1]))
    if NORM in read.stated.given:
        if plot is not None:
            raise UsageError("a figure shows the Euclidean norm; expected no --plot beside `norm`")
        if limit:
            raise UsageError("in another norm no limit is stated; expected no --limit beside `norm`")
        return draft.write(*in_norm(_inputs(read, indices), [positive(radius, "radius") for radius in radii]))
    problem = _problem(read, indices)
    if plot is not None and read.stated.tokens.dimension != 2:
        raise UsageError(f"a figure shows keys in two dimensions; these have {read.stated.tokens.dimension}")
    stated = [positive(radius, "radius") for radius in radii] or [_default_radius(problem)]
    found = [_certified(problem, radius) for radius in stated]

    def shaped(point: ExactMatrix) -> list[Plain]:
        return stated_point(point, read.stated.shape, read.stated.variable)

    asserts: dict[str, Plain] = {
        "indices": [str(index) for index in problem.selection.indices],
        "path": [
            {"radius": format_rational(radius), "cosine": format_rational(cosine)}
            for radius, (_, cosine) in zip(stated, found, strict=True)
        ],
    }
    if limit:
        asserts["limit"] = shaped(problem.solution.solution)
    witness: dict[str, Plain] = {
        "multipliers": multiplier_table(problem.selection, problem.solution.multipliers),
        "comparators": [shaped(point) for point, _ in found],
    }
    if plot is not None:
        draw_path(problem, stated, [cosine for _, cosine in found], plot)
    return draft.write(asserts, witness)


def _problem(read: LossInputs, indices: Sequence[int] | None) -> PathProblem:
    inputs = _inputs(read, indices)
    return PathProblem(read, inputs.selection, solve(inputs.selection), [])


def _inputs(read: LossInputs, indices: Sequence[int] | None) -> PathInputs:
    tokens = read.stated.tokens
    if indices is None:
        indices = [_best(read, i) for i in range(tokens.count)]
    selection = chosen_tokens(tokens, indices)
    problem = PathInputs(read, selection)
    for i, mixing in problem.mixings.items():
        if mixing.smallest <= 0:
            raise NotProvedError(
                f"token {selection.indices[i]} of input {i} is not better than every mixture with the others: the "
                f"smallest score gap minus the largest curvature is {describe(mixing.smallest)}; expected > 0"
            )
    return problem


def _best(read: LossInputs, i: int) -> int:
    """The token of input i with the largest output of the head, Y psi(x)."""
    tokens = read.stated.tokens
    if tokens.lengths[i] == 1:
        return 0
    outputs = []
    for t in range(tokens.lengths[i]):
        selection = Selection(tokens, tuple(t if k == i else 0 for k in range(tokens.count)))
        outputs.append(read.mixing(selection, i).score)
    best = [t for t, output in enumerate(outputs) if output == max(outputs)]
    if len(best) > 1:
        raise UsageError(f"the tokens {best} of input {i} are equally good; the path is about one best token per input")
    return best[0]


def _default_radius(problem: PathProblem) -> fmpq:
    with working_precision(_BITS):
        norm = lower_rational(1 / problem.solution.margin())
    return round_up(_DEFAULT_REACH * norm, 2)


def _certified(problem: PathProblem, radius: fmpq) -> tuple[ExactMatrix, fmpq]:
    """A comparator, and the cosine that it shows, rounded down. Raises NotProvedError."""
    point = comparator(problem, radius)
    bounds = _bounds(problem, radius, point)
    if (bounds.excess < bounds.least) is not True or (bounds.inward > 0) is not True:
        raise NotProvedError(
            f"R = {describe(radius)} is too small: the loss of the best point found exceeds that of the selection by "
            f"{bounds.excess.str(4, radius=False)} times 1/n, and the theorem needs less than "
            f"{bounds.least.str(4, radius=False)}; expected a larger radius"
        )
    cosine = round_below_one(lower_rational(bounds.cosine), _DIGITS)
    if cosine < -1:
        raise NotProvedError(f"R = {describe(radius)} is too small: nothing is proved of the angle")
    return point, cosine


def _bounds(problem: PathProblem, radius: fmpq, point: ExactMatrix) -> RadiusBounds:
    """The numbers of the theorem, at a precision at which the cosine has more digits than are stated."""
    bits = _BITS
    while True:
        with working_precision(bits):
            bounds = radius_bounds(problem, radius, point)
            fine = bounds.cosine.rad() * 10**_DIGITS * 100 < abs(1 - bounds.cosine)
        if fine or bits >= DEFAULT_LIMITS.max_bits:
            break
        bits *= 2
    if bounds.cosine.is_finite() is not True and (bounds.excess < bounds.least) is True:
        raise NotProvedError(
            f"R = {describe(radius)} needs more than {DEFAULT_LIMITS.max_bits} bits; expected a smaller one"
        )
    return bounds


def comparator(problem: PathProblem, radius: fmpq) -> ExactMatrix:
    """About the minimiser over |p| <= R, exactly within it."""
    found = numeric_path(problem, [as_float(radius)])[0]
    return _inside([_exact(entry) for entry in found.tolist()], radius)


def numeric_path(problem: PathProblem, radii: Sequence[float], **effort: int) -> list[Array]:
    """About the minimisers over |p| <= R, in doubles; `effort` is that of `path_point`."""
    with working_precision(_BITS):
        costs = {i: mixing.costs(arb(0)) for i, mixing in problem.mixings.items()}
    masses = np.zeros(len(problem.selection.pairs))
    for i, positions in problem.selection.pairs_of.items():
        masses[positions] = [float(cost) for cost in costs[i]]
    direction = np.array([as_float(entry) for entry in problem.solution.solution.row(0)])
    direction /= np.linalg.norm(direction)
    differences = np.array([[as_float(entry) for entry in row] for row in problem.selection.differences.to_rows()])
    return [path_point(differences, masses, direction, radius, **effort) for radius in radii]


def draw_path(problem: PathProblem, radii: Sequence[fmpq], cosines: Sequence[fmpq], plot: Target) -> None:
    """Draw the stated arcs, and minimisers in doubles beside them."""
    largest = max(as_float(radius) for radius in radii)
    path = numeric_path(problem, np.geomspace(largest / 100, largest, 40).tolist(), most_halvings=_DRAWN_HALVINGS)
    title = f"regularisation path, {problem.given.loss.name} loss"
    draw(radii, cosines, problem.solution.solution, path, title, plot)


def _exact(entry: float) -> fmpq:
    return fmpq(*entry.as_integer_ratio())


def _inside(entries: list[fmpq], radius: fmpq) -> ExactMatrix:
    """The point in decimals, a little shorter where it is outside the ball."""
    unit = fmpq(10) ** (decimal_exponent(radius) - _PLACES)
    factor = fmpq(1)
    while True:
        point = ExactMatrix.row_vector([round_nearest(factor * entry, unit) for entry in entries])
        if (point @ point.T).entry(0, 0) <= radius * radius:
            return point
        factor *= 1 - _SHORTER


COMMAND = Command(
    Argument("TOKENS", Yaml("given")),
    Option(
        "--radius",
        "A radius of the path; about 40 times the norm of p_mm if left out.",
        metavar="R",
        sets="radii",
        many=True,
    ),
    token_indices("The chosen token of each input, counted from 0; the best ones if left out."),
    Option(
        "--norm",
        "The norm of the balls: a number l >= 1 for |p|_l, inf or infinity, or with queries nuclear.",
        metavar="L",
    ),
    Option("--limit", "State p_mm itself, exactly.", bool),
    to_plot("Draw the path into this file."),
)
