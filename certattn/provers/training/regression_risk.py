"""State the risk of in-context regression at a point, its gradient, and the Bayes point with the same invariant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.regression import (
    PARAMETERS,
    Parameters,
    bayes_point,
    exact_regression,
    inverse_squares,
    read_parameters,
    read_task,
)
from certattn.kernel.theorems.training.regression_risk import (
    ASSERTS,
    AT,
    BAYES,
    GIVEN,
    PREDICTIONS,
    SADDLE,
    SECOND_DERIVATIVE,
    THEOREM,
)
from certattn.kernel.theorems.training.shifted_risk import SHIFT
from certattn.provers.commands import Argument, Command, Option, Yaml, entries, to_state
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive, require_states
from certattn.provers.output import Draft, text_rows
from certattn.provers.rounding import decimal_exponent, nearest, precisions
from certattn.provers.training.shifts import TEST_TIME, stated_shift

RADIUS = "1e-15"
# What `generate` states by itself where it holds; the others need a direction, w and x, or the laws at test time.
_ASKED = (SECOND_DERIVATIVE.name, PREDICTIONS.name, SHIFT.name)
STATED = tuple(name for name in ASSERTS.fields if name not in _ASKED)
# Of larger matrices the gradient and the endpoint are stated only where they are asked for.
_MOST_ROWS = 8
_BITS = 256


@dataclass(frozen=True)
class _Point:
    """Sigma and (A, b)."""

    covariance: ExactMatrix
    at: Parameters

    @property
    def dimension(self) -> int:
        return self.covariance.rows

    def stationary(self) -> str | None:
        """What kind of stationary point it is, if it is one."""
        task = exact_regression(self.covariance)
        if task.error(self.at).is_zero():
            return BAYES
        return SADDLE if self.at.b == 0 and task.gradient(self.at).b == 0 else None

    def second_derivative(self, along: Parameters) -> Plain:
        value = exact_regression(self.covariance).second_derivative(self.at, along)
        return {"along": _parameters(along), "value": format_rational(value)}

    def prediction(self, w: Plain, query: Plain) -> Plain:
        rows = [_vector(vector, name, self.dimension) for vector, name in ((w, "w"), (query, "query"))]
        value = (rows[0] @ self.covariance @ self.at.A @ rows[1].T).entry(0, 0) * self.at.b
        return {"w": w, "query": query, "value": format_rational(value)}

    def endpoint(self, radius: fmpq) -> Plain:
        """The Bayes point, rounded to decimals well inside the radius, and tr(Sigma^-2)."""
        places = max(1, 1 - decimal_exponent(radius))
        for bits in precisions(_BITS):
            with working_precision(bits):
                truth = bayes_point(self.covariance, self.at.invariant(), (self.at.b > 0) is True)
                balls = [*truth.A.entries(), truth.b]
                if all((entry.rad() * 10**places < 1) is True for entry in balls):
                    *entries, b = [format_rational(nearest(entry, places)) for entry in balls]
                    size = self.dimension
                    rows: list[Plain] = [list[Plain](entries[i * size : (i + 1) * size]) for i in range(size)]
                    trace = format_rational(inverse_squares(self.covariance))
                    return {"A": rows, "b": b, "radius": format_rational(radius), "trace": trace}
        raise NotProvedError(
            f"the Bayes point could not be enclosed within {describe(radius)} at {DEFAULT_LIMITS.max_bits} bits, "
            "the most that a check takes by default; expected a larger radius"
        )


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    states: Sequence[str] = (),
    along: dict[str, Any] | None = None,
    predictions: Sequence[tuple[Sequence[Number], Sequence[Number]]] = (),
    radius: Number = RADIUS,
    shift: dict[str, Any] | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `regression-risk` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `covariance` and `parameters`
        with `A` and `b`, exact numbers.
    states : sequence of str
        Which of risk, gradient, invariant, stationary and endpoint are stated. Left out, all that hold there; matrices
        up to 8 x 8 only.
    along : mapping, optional
        A direction `A` and `b` along which to state the second derivative.
    predictions : sequence of pairs of vectors
        Pairs of w and a query, each a list of exact numbers, at which to state the prediction.
    radius : exact number
        Half-width of the stated endpoint.
    shift : mapping, optional
        Covariances `tokens`, `query` or `tasks` at test time, where they are not those of training: exact numbers.
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
        The checker's default precision does not prove the endpoint within the radius.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 4.
    Statement and proof: docs/claims/training/regression-risk.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> parameters = {"A": [[1, 0], [0, 1]], "b": 1}
    >>> certificate = certattn.generate("regression-risk", covariance=np.eye(2), parameters=parameters)
    >>> certificate.numbers["risk"]
    Fraction(0, 1)
    """
    half_width = positive(radius, "radius")
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    point = _Point(*draft.read(lambda written: read_task(GIVEN.read(written.given, written.reading), AT)))
    asserts = {name: _stated(point, name, half_width) for name in _wanted(point, states)}
    if along is not None:
        direction = draft.about(exact(along, "along"), "along").read(partial(_direction, point))
        asserts["second_derivative"] = point.second_derivative(direction)
    if predictions:
        pairs = [(exact(w, "w"), exact(query, "query")) for w, query in predictions]
        asserts["predictions"] = [point.prediction(w, query) for w, query in pairs]
    if shift is not None:
        asserts[SHIFT.name] = stated_shift(draft, shift, point.covariance, point.at.A.scaled(point.at.b))
    return draft.write({name: asserts[name] for name in ASSERTS.fields if name in asserts})


def _wanted(point: _Point, states: Sequence[str]) -> list[str]:
    """The names of what is to be stated. Raises UsageError for what does not hold there."""
    require_states(states, STATED)
    if "stationary" in states and point.stationary() is None:
        raise UsageError("the gradient does not vanish there; expected a stationary point, or no stationary in state")
    if "endpoint" in states and point.at.b == 0:
        raise UsageError("b = 0 has no sign; expected another b, or a state without endpoint")
    if states:
        return list(states)
    names = ["risk", "invariant"]
    if point.dimension <= _MOST_ROWS:
        names += ["gradient"] if point.stationary() is None else []
        names += ["endpoint"] if point.at.b != 0 else []
    return names + (["stationary"] if point.stationary() is not None else [])


def _stated(point: _Point, name: str, radius: fmpq) -> Plain:
    task = exact_regression(point.covariance)
    if name == "risk":
        return format_rational(task.risk(point.at))
    if name == "gradient":
        return _parameters(task.gradient(point.at))
    if name == "invariant":
        return format_rational(point.at.invariant())
    return point.stationary() or "" if name == "stationary" else point.endpoint(radius)


def _direction(point: _Point, draft: Certificate) -> Parameters:
    """A and b of a direction, read as a certificate's parameters."""
    return read_parameters(PARAMETERS.read(draft.given, draft.reading), point.dimension)


def _parameters(parameters: Parameters) -> Plain:
    return {"A": text_rows(parameters.A), "b": format_rational(parameters.b)}


def _vector(stated: Plain, name: str, dimension: int) -> ExactMatrix:
    if not isinstance(stated, list) or len(stated) != dimension:
        raise UsageError(f"{name} is {stated!r:.60}, expected a list of {counted(dimension, 'number')}")
    return ExactMatrix.row_vector([exact_rational(entry, name) for entry in stated])


def _prediction(text: str) -> tuple[list[str], list[str]]:
    """w and x. Raises UsageError."""
    parts = [entries(part) for part in text.split(";")]
    if len(parts) != 2:
        raise UsageError(f"--predict {text!r}: expected w and x, such as '1, 0; 2, -1/2'")
    return parts[0], parts[1]


COMMAND = Command(
    Argument("POINT", Yaml("given")),
    to_state("What to state; by default all that holds there, matrices up to 8 x 8 only.", STATED),
    Option(
        "--predict",
        "State the prediction at w and x.",
        metavar="'W1, W2, ...; X1, X2, ...'",
        sets="predictions",
        many=True,
        parse=_prediction,
    ),
    Option("--along", "State the second derivative along this direction.", Yaml("along"), "DIRECTION"),
    Option("--radius", "Half-width of the endpoint."),
    TEST_TIME,
)
