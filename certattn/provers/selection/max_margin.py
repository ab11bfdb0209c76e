"""State the solution of a max-margin problem of token selection, or that it has none.

Solve a max-margin problem over the rationals and write down what the checker re-proves: the solution, a direction
near it, or weights that show that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.token_selection import Pair
from certattn.kernel.theorems.selection.mathematics.margin_norms import (
    NormMargin,
    NuclearNorm,
    PowerNorm,
    power,
    reach,
    reach_power,
)
from certattn.kernel.theorems.selection.mathematics.margin_points import Direction, MaxMargin
from certattn.kernel.theorems.selection.max_margin import (
    GIVEN,
    THEOREM,
    MarginDistance,
    MarginProblem,
    read_problem,
)
from certattn.kernel.theorems.selection.stated_norms import NORM
from certattn.provers.array_files import open_array_file
from certattn.provers.array_inputs import (
    InFile,
    Source,
    array_in,
    by_fields,
    changed,
    file_and_array,
    found_arrays,
    placed,
    shape_of,
)
from certattn.provers.commands import ARRAY, DATA_OR_AUTO, Argument, Arrays, Command, Option, Whole, entries
from certattn.provers.exact_inputs import exact, exact_rational, require_one_of, require_within
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import last_place, lower_rational, round_down, round_nearest, round_up, upper_rational
from certattn.provers.selection.least_norms import least_norm, named_norm
from certattn.provers.selection.quadratic_program import NotSeparableError, max_margin_multipliers, near_multipliers
from certattn.provers.selection.token_optimality import stated_point

FORMS = ("auto", "exact", "direction")
DIGITS = 30
MATRICES = ("keys", "tokens", "W", "queries", "points")
VECTORS = ("lengths", "indices", "relaxed", "labels")
ARRAYS = (*MATRICES, *VECTORS)
# Inputs of one length may be passed as (inputs, tokens, dimension).
STACKED = ("keys", "tokens")
# Solutions on more constraints than this are stated as a direction: their numbers have thousands of digits.
_MOST_ACTIVE = 32
# What is asserted, and its witness.
Found = tuple[dict[str, Plain], dict[str, Plain]]
# Digits of bounds on the margin, of the gap and of the radius.
_MARGIN_DIGITS = 15
_FEW_DIGITS = 3


def generate(
    out: Path,
    *,
    given: dict[str, Any] | None = None,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    norm: Any = None,
    direction: Any = None,
    form: str = "auto",
    digits: int = DIGITS,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `max-margin` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping, optional
        What the certificate is about, whole: `keys` (or `tokens` and `W`), `lengths`, `indices`, `relaxed`,
        `queries` and `norm`, or `points` and `labels`.
    source : path-like, optional
        Instead, a .npz or .safetensors file with arrays of these names, the keys of all inputs one below the other.
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    norm : exact number, "infinity" (or "inf") or "nuclear", optional
        The norm that is to be least, where it is not the Euclidean or Frobenius norm: |p|_l for a number l >= 1, or
        with queries the nuclear norm of W, that of K and Q both trained with W = K'Q. What is stated then is a
        direction, by how much its norm may exceed the least one, for 1 < l < infinity how far it is from the solution,
        and bounds on the margin.
    direction : array_like of exact numbers, optional
        A direction that is asked about, such as that of a trained p: the certificate states that it is that of the
        solution where it is, and else how far it is from it. With the form "exact" another direction is an error.
    form : {"auto", "exact", "direction"}
        "exact" states the solution itself, "direction" a direction with so many digits and its distance from the
        solution, "auto" the first where the solution has at most 32 multipliers.
    digits : int
        Of a direction; its distance from the solution is about 10^(-digits/2), but that of doubles, about 1e-7, where
        more than 32 constraints are active and doubles do not tell them from others.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    **arrays : array_like
        What `source` would hold, by keyword; arrays, and lists with floats, are written beside the certificate. Keys or
        tokens of inputs of one length may have three axes, here and there: (inputs, tokens, dimension).

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        The direction satisfies the constraints at no length, or with the form "exact" is not that of the solution.

    Notes
    -----
    Where no point satisfies the constraints, the certificate says so.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/max-margin.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("max-margin", points=[[1, 0], [2, 1], [-1, 1]], labels=[1, 1, -1])
    >>> certificate.plain["asserts"]["solution"]
    ['1', '0']
    """
    require_one_of(FORMS, form, "form")
    require_within(2, 1000, digits, "digits")
    require_place(out, source)
    wanted = Wanted(form, digits, None if direction is None else exact(direction, "direction"))
    others = named_norm(norm)
    if given is not None:
        if source is not None or names or arrays:
            raise UsageError("with a whole problem, leave out arrays and names")
        return _write(out, exact({**given, **others}, "given"), wanted, note)
    arrays = by_fields(arrays, ARRAYS)
    if source is None and arrays and all(_is_exact(value) for value in arrays.values()):
        return _write(out, exact({**arrays, **others}, "given"), wanted, note)
    matrices, vectors = _arrays(source, names or {}, arrays)
    with placed(out, matrices, data) as references:
        return _write(out, {**references, **vectors, **others}, wanted, note)


def _is_exact(value: Any) -> bool:
    """Whether this is written out: lists without floats, which are arrays otherwise."""
    if isinstance(value, list | tuple):
        return all(map(_is_exact, value))
    return not isinstance(value, float) and not getattr(value, "ndim", 0)


def _arrays(
    source: str | Path | None, names: Mapping[str, str], arrays: Mapping[str, Any]
) -> tuple[dict[str, Source], dict[str, Plain]]:
    """Matrices to refer to, and vectors to write out. Raises UsageError."""
    file = None if source is None else open_array_file(Path(source))
    found = found_arrays(file, ARRAYS, names, arrays)
    if not found:
        raise UsageError(f"no array is there; expected some of {', '.join(ARRAYS)}")
    matrices: dict[str, Source] = {}
    for field in MATRICES:
        if field in found:
            matrices[field], shape = found[field], shape_of(found[field])
            if len(shape) == 3 and field in STACKED:
                matrices[field] = changed(found[field], lambda rows: rows.reshape(-1, rows.shape[2]))
                found.setdefault("lengths", np.full(shape[0], shape[1]))
    return matrices, {field: _written_out(found[field], field) for field in VECTORS if field in found}


def _written_out(values: Any, field: str) -> Plain:
    """A vector of integers as certificates write it."""
    array = np.asarray(values.file.read(values.name) if isinstance(values, InFile) else values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuf" or not np.all(array == np.trunc(array)):
        found = f"{field} has the shape {array.shape} and the number type {array.dtype}"
        raise UsageError(f"{found}, expected a vector of integers")
    return [str(int(entry)) for entry in array]


@dataclass(frozen=True)
class Wanted:
    """In which form the solution is stated, and the direction that is asked about."""

    form: str
    digits: int
    direction: Plain | None


def _write(out: Path, given: Plain, wanted: Wanted, note: str) -> Certificate:
    draft = Draft(THEOREM, out, given, note)
    problem = draft.read(lambda written: read_problem(GIVEN.read(written.given, written.reading)[1]))
    if NORM in problem.given:
        return draft.write(*_normed(problem, wanted))
    found = _found(problem, wanted.form, wanted.digits) if wanted.direction is None else _asked(problem, wanted)
    return draft.write(*found)


def _normed(problem: MarginProblem, wanted: Wanted) -> Found:
    """A direction whose norm is near the least one, and bounds on that."""
    if wanted.form == "exact":
        raise UsageError("a point that is least in another norm is stated as a direction; leave out --form exact")
    direction = None if wanted.direction is None else _stated(problem, wanted.direction)
    found = least_norm(problem, wanted.digits, direction)
    if found is None:
        try:
            near_multipliers(problem.rows, problem.levels, wanted.digits, _MOST_ACTIVE)
        except NotSeparableError as error:
            if direction is not None:
                raise _nothing_to_compare() from None
            return _none(problem, error)
        found = least_norm(problem, wanted.digits, direction, patient=True)
    if found is None:
        raise NotProvedError("no direction was found that satisfies the constraints, with bounds on its norm")
    if found.margin <= 0 or (found.smallest_relaxed or 0) < 0:
        raise NotProvedError(f"the direction satisfies the constraints at no length: {_worst(problem, found)}")
    return _with_excess(problem, found, wanted.digits)


def _with_excess(problem: MarginProblem, found: NormMargin, digits: int) -> Found:
    norm = found.norm
    with working_precision(_bits(digits)):
        size, witness = found.size() / found.margin, _multipliers(problem, found.multipliers)
        longest = size if isinstance(size, fmpq) else upper_rational(size)
        asserts: dict[str, Plain] = {
            "direction": stated_point(found.direction, problem.shape, problem.variable),
            "excess": format_rational(round_up(max(longest / found.least - 1, fmpq(0)), _FEW_DIGITS)),
        }
        if isinstance(norm, PowerNorm) and norm.exponent is not None and norm.is_uniformly_convex:
            away = fmpq(upper_rational(reach(norm.exponent, size, found.least)))
            radius = power(max(away, fmpq(0)), 1 / reach_power(norm.exponent))
            asserts["within"] = format_rational(round_up(upper_rational(radius), _FEW_DIGITS))
    asserts["margin"] = {
        "at_least": format_rational(round_down(1 / longest, _MARGIN_DIGITS)),
        "at_most": format_rational(round_up(1 / found.least, _MARGIN_DIGITS)),
    }
    if not isinstance(norm, NuclearNorm):
        return asserts, witness
    factors: dict[str, Plain] = {
        name: [[format_rational(entry) for entry in row] for row in matrix.to_rows()]
        for name, matrix in (("K", norm.K), ("Q", norm.Q))
    }
    return asserts, {"factors": factors, **witness}


def _asked(problem: MarginProblem, wanted: Wanted) -> Found:
    """What is asserted of a stated direction, which is not rounded. Raises NotProvedError."""
    direction = _stated(problem, wanted.direction)
    try:
        multipliers, is_exact = near_multipliers(problem.rows, problem.levels, wanted.digits, _MOST_ACTIVE)
        if wanted.form == "exact" and not is_exact:
            multipliers, is_exact = max_margin_multipliers(problem.rows, problem.levels), True
    except NotSeparableError:
        raise _nothing_to_compare() from None
    distance = MarginDistance(problem.rows, problem.levels, direction, multipliers)
    solution = MaxMargin(problem.rows, multipliers, problem.levels).solution
    angle = f"it makes an angle of about {_degrees(direction, solution):.4g} degrees with the solution"
    if distance.margin <= 0 or (distance.smallest_relaxed or 0) < 0:
        raise NotProvedError(
            f"the direction satisfies the constraints at no length: {_worst(problem, distance)}; {angle}"
        )
    if is_exact and direction.scaled(1 / distance.margin) == solution and wanted.form != "direction":
        return _exactly(problem, multipliers)
    if wanted.form == "exact":
        raise NotProvedError(
            f"the direction is not that of the solution: {angle}, and with the margin 1 it is about "
            f"{_float(distance.reach) ** 0.5:.4g} from it; without --form exact, the certificate states that"
        )
    found = _beside(problem, distance, wanted.digits)
    if found is None:
        raise NotProvedError(f"no distance is proved with {wanted.digits} digits; expected more digits")
    return found


def _nothing_to_compare() -> NotProvedError:
    return NotProvedError(
        "no point satisfies the constraints, so that there is no direction to compare with; leave out the "
        "direction, and the certificate states that"
    )


def _worst(problem: MarginProblem, near: Direction) -> str:
    """The constraint that a direction satisfies least."""
    worst = min(range(problem.rows.rows), key=lambda j: near.products[j])
    product, name = near.products[worst], problem.constraints[worst]
    which = f"token {name.token} of input {name.input}" if isinstance(name, Pair) else f"point {name}"
    least = "be positive" if problem.levels[worst] != 0 else "not be negative"
    return f"for {which} the product is about {_float(product):.4g}, and has to {least}"


def _stated(problem: MarginProblem, plain: Plain | None) -> ExactMatrix:
    """The numbers of a direction in one row. Raises UsageError."""
    rows = plain if isinstance(plain, list) and all(isinstance(row, list) for row in plain) else [plain]
    (count, width), name = problem.shape, problem.variable
    sizes = [len(row) if isinstance(row, list) else 0 for row in rows]
    if sizes != [width] * count:
        shape = f"{count} x {width} numbers" if name == "W" else f"{width} numbers"
        raise UsageError(f"the direction has {' + '.join(map(str, sizes))} numbers; expected {shape}, as {name} has")
    numbers = ExactMatrix.row_vector([exact_rational(entry, "direction") for row in rows for entry in row])  # type: ignore[union-attr]
    if numbers.is_zero():
        raise UsageError("the direction is 0, which points nowhere")
    return numbers


def _float(value: fmpq) -> float:
    """For people."""
    return float(arb(value).mid())


def _degrees(one: ExactMatrix, other: ExactMatrix) -> float:
    """The angle, for people."""
    with working_precision(_bits(DIGITS)):
        across = arb(max(one.inner(one) * other.inner(other) - one.inner(other) ** 2, fmpq(0))).sqrt()
        return math.degrees(float(arb.atan2(across.mid(), arb(one.inner(other)).mid()).mid()))


def _found(problem: MarginProblem, form: str, digits: int) -> Found:
    """What is asserted, and its witness."""
    try:
        if form == "exact":
            return _exactly(problem, max_margin_multipliers(problem.rows, problem.levels))
        multipliers, is_exact = near_multipliers(problem.rows, problem.levels, digits, _MOST_ACTIVE)
    except NotSeparableError as error:
        return _none(problem, error)
    if is_exact and form == "auto":
        return _exactly(problem, multipliers)
    found = _nearly(problem, multipliers, digits)
    if found is None and not is_exact:
        found = _nearly(problem, max_margin_multipliers(problem.rows, problem.levels), digits)
    if found is None:
        raise UsageError(
            f"no direction of {digits} digits satisfies the constraints; expected more digits, or --form exact"
        )
    return found


def _none(problem: MarginProblem, error: NotSeparableError) -> Found:
    """That no point satisfies the constraints."""
    return {"constraints": "contradictory"}, {"weights": _constraints(problem, error.weights, "weight")}


def _exactly(problem: MarginProblem, multipliers: Mapping[int, fmpq]) -> Found:
    solved = MaxMargin(problem.rows, multipliers, problem.levels)
    asserts: dict[str, Plain] = {
        "solution": stated_point(solved.solution, problem.shape, problem.variable),
        "neighbours": _constraints(problem, solved.tight),
        "support": _constraints(problem, multipliers),
    }
    if len(solved.tight) < problem.rows.rows:
        tight = set(solved.tight)
        gap = min(slack for j, slack in enumerate(solved.slacks) if j not in tight)
        asserts["gap"] = format_rational(round_down(gap, _FEW_DIGITS))
    asserts["margin"] = _margin(solved.norm_squared, solved.norm_squared)
    return asserts, _multipliers(problem, multipliers)


def _nearly(problem: MarginProblem, multipliers: Mapping[int, fmpq], digits: int) -> Found | None:
    """The solution and its multipliers rounded, and what they still prove; None if the direction is not feasible."""
    multipliers = _with_room(problem, multipliers, digits)
    direction = ExactMatrix.row_vector(_rounded(_solution(problem, multipliers), digits))
    kept = dict(zip(multipliers, _rounded(list(multipliers.values()), digits), strict=True))
    kept = {row: value for row, value in kept.items() if value > 0}
    return _beside(problem, MarginDistance(problem.rows, problem.levels, direction, kept), digits)


def _beside(problem: MarginProblem, distance: MarginDistance, digits: int) -> Found | None:
    """A direction and its distance from the solution; None if that proves nothing."""
    if distance.margin <= 0 or (distance.smallest_relaxed or 0) < 0 or distance.dual_value <= 0:
        return None
    with working_precision(_bits(digits)):
        radius = round_up(upper_rational(arb(max(distance.reach, fmpq(0))).sqrt()), _FEW_DIGITS)
        loose = {j: room for j in range(problem.rows.rows) if (room := _room(distance, j, radius)) > 0}
    asserts: dict[str, Plain] = {
        "direction": stated_point(distance.direction, problem.shape, problem.variable),
        "within": format_rational(radius),
    }
    among = [j for j in range(problem.rows.rows) if j not in loose]
    if loose and among:
        asserts["neighbours_among"] = _constraints(problem, among)
        asserts["gap"] = format_rational(round_down(min(loose.values()), _FEW_DIGITS))
    asserts["margin"] = _margin(distance.dual_value, distance.norm_squared)
    return asserts, _multipliers(problem, distance.multipliers)


def _solution(problem: MarginProblem, multipliers: Mapping[int, fmpq]) -> list[fmpq]:
    return MaxMargin(problem.rows, multipliers, problem.levels).solution.row(0)


def _with_room(problem: MarginProblem, multipliers: Mapping[int, fmpq], digits: int) -> Mapping[int, fmpq]:
    """The multipliers; where constraints are relaxed to >= 0, those of slightly more, which rounding does not undo."""
    if all(level != 0 for level in problem.levels):
        return multipliers
    unit = last_place(max(abs(entry) for entry in _solution(problem, multipliers)), digits)
    largest = max(sum((abs(entry) for entry in row), fmpq(0)) for row in problem.rows.to_rows())
    levels = [level if level != 0 else unit * largest for level in problem.levels]
    try:
        return near_multipliers(problem.rows, levels, 2 * digits, _MOST_ACTIVE)[0]
    except NotSeparableError:
        # Such as <z, p> >= 0 and <-z, p> >= 0.
        return multipliers


def _room(distance: MarginDistance, j: int, radius: fmpq) -> fmpq:
    """<z_j, q> - r_j - |z_j| radius, or a little less: by so much the constraint is loose."""
    slack = distance.products[j] / distance.margin - distance.levels[j]
    row = distance.rows.take_rows([j])
    return slack - upper_rational(arb(row.inner(row)).sqrt()) * radius


def _bits(digits: int) -> int:
    return 4 * digits + 128


def _rounded(values: Sequence[fmpq], digits: int) -> list[fmpq]:
    """To the last of so many digits of the largest."""
    unit = last_place(max(abs(value) for value in values), digits)
    return [round_nearest(value, unit) for value in values]


def _margin(smallest: fmpq, largest: fmpq) -> Plain:
    """Bounds on the margin for a squared norm between these."""
    with working_precision(_bits(_MARGIN_DIGITS)):
        lower, upper = lower_rational((1 / arb(largest)).sqrt()), upper_rational((1 / arb(smallest)).sqrt())
    return {
        "at_least": format_rational(round_down(lower, _MARGIN_DIGITS)),
        "at_most": format_rational(round_up(upper, _MARGIN_DIGITS)),
    }


def _multipliers(problem: MarginProblem, multipliers: Mapping[int, fmpq]) -> dict[str, Plain]:
    return {"multipliers": _constraints(problem, multipliers, "multiplier")}


def _constraints(problem: MarginProblem, rows: Sequence[int] | Mapping[int, fmpq], number: str = "") -> Plain:
    """Constraints by name, each with its number where they have one, of this name."""
    found: list[Plain] = []
    for row in sorted(rows):
        name = problem.constraints[row]
        place: dict[str, Plain]
        place = {"input": str(name.input), "token": str(name.token)} if isinstance(name, Pair) else {"point": str(name)}
        found.append({**place, number: format_rational(rows[row])} if isinstance(rows, Mapping) and number else place)
    return found


def _numbers_in(source: InFile) -> Plain:
    return exact(source.file.read(source.name), str(source))


def _finding(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """What a direction that was asked about is."""
    if inputs.get("direction") is None:
        return ""
    asserts: Any = certificate.plain["asserts"]
    if "solution" in asserts:
        return "the direction is that of the solution"
    if "excess" in asserts:
        return f"the direction, with the margin 1, has at most (1 + {asserts['excess']}) times the least norm"
    length = 1 / _float(parse_rational(asserts["margin"]["at_most"], DEFAULT_LIMITS))
    return (
        f"the direction, with the margin 1, is at most {asserts['within']} from the solution, whose length is about "
        f"{length:.4g}"
    )


def _typed_direction(text: str) -> Any:
    """Numbers, or those of an array in a file."""
    named = file_and_array(text)
    return _numbers_in(array_in(*named)) if named else entries(text)


COMMAND = Command(
    Argument("PROBLEM", Arrays("given")),
    Option(
        "--norm",
        "The norm that is least: a number l >= 1 for |p|_l, inf or infinity, or with queries nuclear, of K and Q both "
        "trained.",
        metavar="L",
    ),
    Option(
        "--direction",
        "A direction that is asked about: numbers, or an array such as p.npy. Is it that of the solution, or how far?",
        metavar="'P1, P2, ...'",
        parse=_typed_direction,
    ),
    Option(
        "--form",
        "State the solution itself, or a direction and its distance from the solution; "
        "auto states a direction where the solution has more than 32 multipliers.",
        FORMS,
    ),
    Option("--digits", "Digits of a direction; its distance from the solution has half as many.", Whole(2, 1000)),
    ARRAY,
    DATA_OR_AUTO,
    finding=_finding,
)
