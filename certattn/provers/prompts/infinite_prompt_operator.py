"""State the operator that attention becomes for a law of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import linf_norm, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.reals import describe, format_rational, square
from certattn.kernel.theorems.prompts.infinite_prompt_operator import THEOREM, GivenOperator, read_given
from certattn.provers.commands import Argument, Command, Option, Yaml, entries
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive
from certattn.provers.output import Draft, text_rows, texts
from certattn.provers.rounding import decimal_exponent, nearest

RADIUS = "1e-15"
_BITS = 256


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    queries: Sequence[Sequence[Number]] = (),
    radius: Number = RADIUS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `infinite-prompt-operator` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `law`, `K`, `Q`, `V` (or `U`,
        `V`), `scale`, `queries`.
    queries : sequence of vectors of exact numbers
        Queries z at which to state T(z), each a list of exact numbers. An affine operator is stated as such and needs
        none; for another law they default to the coordinate vectors.
    radius : exact number
        Half-width of the stated values.
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
        The checker's default precision does not prove a value within the radius.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, Lemma 2.1.
    Statement and proof: docs/claims/prompts/infinite-prompt-operator.md.

    Examples
    --------
    >>> import certattn
    >>> law = {"kind": "gaussian", "mean": [0, 1], "covariance": [[1, "1/2"], ["1/2", 1]]}
    >>> certificate = certattn.generate("infinite-prompt-operator", law=law, V=[[1, 0]])
    >>> certificate.asserts.plain()
    {'operator': {'matrix': [['1', '0.5']], 'offset': ['0']}}
    """
    half_width = positive(radius, "radius")
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    truth = draft.read(read_given)
    asserts: dict[str, Plain] = {}
    if truth.affine is not None:
        asserts["operator"] = {"matrix": text_rows(truth.affine.matrix), "offset": _row(truth.affine.offset)}
        if truth.query_law is not None:
            asserts["pushforward"] = _pushforward(truth.query_law, truth.affine)
    stated = exact(queries, "queries")
    if truth.affine is None or stated:
        asserts["values"] = _values(truth, _points(stated, truth.weights.query_dimension), half_width)
    return draft.write(asserts)


def _points(queries: Plain, dimension: int) -> list[list[fmpq]]:
    """The queries as exact numbers; the coordinate vectors if there are none."""
    if not queries:
        return ExactMatrix.identity(dimension).to_rows()
    points = []
    for query in queries if isinstance(queries, list) else [queries]:
        if not isinstance(query, list):
            raise UsageError(f"the query {query!r:.60}: expected a list of {counted(dimension, 'number')}")
        if len(query) != dimension:
            shown = ", ".join(map(str, query))
            raise UsageError(f"the query ({shown}) has {counted(len(query), 'number')}, expected {dimension}")
        points.append([exact_rational(entry, "query") for entry in query])
    return points


def _values(truth: GivenOperator, points: list[list[fmpq]], radius: fmpq) -> list[Plain]:
    """T at the queries, rounded to decimals well inside the radius."""
    places = max(1, -decimal_exponent(radius))
    most = DEFAULT_LIMITS.max_bits
    bits = min(max(_BITS, 8 * places), most)
    found: list[Plain] = []
    while len(found) < len(points):
        point = ExactMatrix.row_vector(points[len(found)])
        with working_precision(bits):
            value = _within(truth, point, places, radius)
        if value is not None:
            found.append({"query": _row(point), "value": _row(value), "radius": format_rational(radius)})
        elif bits < most:
            bits = min(2 * bits, most)
        else:
            raise NotProvedError(
                f"T at {point} could not be enclosed within {describe(radius)} at {most} bits, "
                "the most that a check takes by default; expected a larger radius, or a query nearer to 0"
            )
    return found


def _within(truth: GivenOperator, point: ExactMatrix, places: int, radius: fmpq) -> ExactMatrix | None:
    """T there in decimals with so many places, if the checker proves these at the working precision."""
    origin = ExactMatrix.zero(1, truth.weights.output_dimension)
    (value,) = truth.truth.from_point(origin, point)
    if any(entry.is_finite() is not True for entry in value):
        return None
    stated = ExactMatrix.row_vector([nearest(entry, places) for entry in value])
    (difference,) = truth.truth.from_point(stated, point)
    return stated if (linf_norm(difference) <= radius) is True else None


def _pushforward(law: Gaussian[fmpq], affine: AffineMap) -> dict[str, Plain]:
    mean = ExactMatrix.row_vector(law.mean) @ affine.matrix.T
    if isinstance(affine.scale, fmpq):
        mean = affine.offset + mean.scaled(affine.scale)
    elif mean.is_zero():
        mean = affine.offset
    else:
        raise UsageError("the pushforward's mean is irrational with this scale; centre the law of the queries")
    covariance = affine.matrix @ ExactMatrix.rational(law.covariance) @ affine.matrix.T
    return {"mean": _row(mean), "covariance": text_rows(covariance.scaled(square(affine.scale)))}


def _row(matrix: ExactMatrix) -> list[Plain]:
    return texts(matrix.row(0))


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    Option(
        "--query", "A query at which to state T(z).", metavar="'Z1, Z2, ...'", sets="queries", many=True, parse=entries
    ),
    Option("--radius", "Half-width of the stated values."),
)
