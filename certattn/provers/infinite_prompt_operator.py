"""Compute the infinite-prompt operator of a law, exactly or at queries, and write it down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.laws import Gaussian
from certattn.kernel.arithmetic.operator import AffineMap
from certattn.kernel.arithmetic.reals import format_rational, square
from certattn.kernel.claims.infinite_prompt_operator import CLAIM, Given
from certattn.kernel.document.certificate import FORMAT_VERSION, Certificate, loads
from certattn.kernel.document.numbers import RATIONAL_FORMS, NumberError, parse_rational
from certattn.kernel.document.tree import Plain
from certattn.kernel.document.writer import to_text
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.provers.output import not_yet_written, provenance, require_place, write_certificate
from certattn.provers.rounding import nearest, upper_rational

RADIUS = "1e-15"
_BITS = 256


def generate(
    out: Path, *, given: dict[str, Plain], queries: Sequence[Sequence[str]] = (), radius: str = RADIUS, note: str = ""
) -> Certificate:
    """Write a certificate of `infinite-prompt-operator` to `out` and return it.

    Parameters
    ----------
    given : the section as certificates write it: `law`, `K`, `Q`, `V` (or `U`, `V`), `scale`, `queries`.
    queries : queries z at which to state T(z), each a list of exact numbers. An affine operator is
        stated as such and needs none; for another law they default to the coordinate vectors.
    radius : half-width of the stated values.
    note : a line about the certificate for its readers, kept under `provenance`.

    Raises UsageError, MalformedError, NotProvedError.
    """
    require_place(out, [])
    certificate: dict[str, Plain] = {"certattn": FORMAT_VERSION, "claim": CLAIM.name, "given": given}
    with not_yet_written(out):
        truth = CLAIM.read_given(loads(to_text({**certificate, "asserts": {}}), out))
    asserts: dict[str, Plain] = {}
    if truth.affine is not None:
        asserts["operator"] = {"matrix": _rows(truth.affine.matrix), "offset": _row(truth.affine.offset)}
        if truth.query_law is not None:
            asserts["pushforward"] = _pushforward(truth.query_law, truth.affine)
    if truth.affine is None or queries:
        points = _points(queries, truth.weights.query_dimension)
        asserts["values"] = _values(truth, points, _positive(radius))
    certificate["asserts"] = asserts
    certificate["provenance"] = provenance(note)
    return write_certificate(certificate, CLAIM, out)


def _points(queries: Sequence[Sequence[str]], dimension: int) -> list[list[fmpq]]:
    """The queries as exact numbers; the coordinate vectors if there are none."""
    if not queries:
        return ExactMatrix.identity(dimension).to_rows()
    points = []
    for query in queries:
        if len(query) != dimension:
            raise UsageError(f"the query ({', '.join(query)}) has {len(query)} numbers, expected {dimension}")
        points.append([_number(text, "query") for text in query])
    return points


def _number(text: str, what: str) -> fmpq:
    try:
        return parse_rational(text.strip(), DEFAULT_LIMITS)
    except NumberError as error:
        raise UsageError(f"{what}: {error}, expected {RATIONAL_FORMS}") from None


def _positive(radius: str) -> fmpq:
    value = _number(radius, "radius")
    if value > 0:
        return value
    raise UsageError(f"radius is {radius}, expected a positive number")


def _values(truth: Given, points: list[list[fmpq]], radius: fmpq) -> list[Plain]:
    """T at the queries, rounded to decimals well inside the radius."""
    places = 1
    while fmpq(10) ** -places > radius:
        places += 1
    origin = ExactMatrix.zero(1, truth.weights.output_dimension)
    bits = max(_BITS, 8 * places)
    found: list[Plain] = []
    while len(found) < len(points):
        point = points[len(found)]
        with working_precision(bits):
            (value,) = truth.truth.from_point(origin, ExactMatrix.row_vector(point))
            stated = [_within(entry, places, radius) for entry in value]
        shown = [format_rational(entry) for entry in point]
        if all(text is not None for text in stated):
            texts: dict[str, Plain] = {
                "query": list(shown),
                "value": [text for text in stated if text is not None],
                "radius": format_rational(radius),
            }
            found.append(texts)
        elif bits < DEFAULT_LIMITS.max_bits:
            bits *= 2
        else:
            raise NotProvedError(f"T at ({', '.join(shown)}) could not be enclosed within {format_rational(radius)}")
    return found


def _within(value: arb, places: int, radius: fmpq) -> str | None:
    """A decimal with so many places that is surely within the radius of the ball's number, if there is one."""
    if value.is_finite() is not True:
        return None
    rounded = nearest(value, places)
    return format_rational(rounded) if upper_rational(abs(value - rounded)) <= radius else None


def _pushforward(law: Gaussian, affine: AffineMap) -> dict[str, Plain]:
    mean = ExactMatrix.row_vector(law.mean) @ affine.matrix.T
    if isinstance(affine.scale, fmpq):
        mean = affine.offset + mean.scaled(affine.scale)
    elif mean.is_zero():
        mean = affine.offset
    else:
        raise UsageError("the pushforward's mean is irrational with this scale; centre the law of the queries")
    covariance = affine.matrix @ ExactMatrix.rational(law.covariance) @ affine.matrix.T
    return {"mean": _row(mean), "covariance": _rows(covariance.scaled(square(affine.scale)))}


def _row(matrix: ExactMatrix) -> list[Plain]:
    return [format_rational(entry) for entry in matrix.row(0)]


def _rows(matrix: ExactMatrix) -> list[Plain]:
    return [[format_rational(entry) for entry in row] for row in matrix.to_rows()]
