"""What a certificate asserts of |T(q) - T_inf(q)|: bounds over all queries, over some, query by query."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values
from certattn.kernel.mathematics.balls import NORMS

NORM = Field("norm", Choice(tuple(NORMS)), "the norm of the deviation")
AT_MOST = Field("at_most", Rational(minimum=0), "no query deviates by more", required=False)
AT_LEAST = Field("at_least", Rational(minimum=0), "some query deviates by at least this", required=False)
RELATIVE = Field(
    "relative_at_most", Rational(minimum=0), "no query deviates by more than so many times |T(q)|", required=False
)
EACH_AT_MOST = Field("at_most", Vector(), "an upper bound for each query", required=False)
EACH_AT_LEAST = Field("at_least", Vector(), "a lower bound for each query", required=False)
EACH_RELATIVE = Field("relative_at_most", Vector(), "an upper bound for each query, in units of |T(q)|", required=False)
PER_QUERY = Field(
    "per_query",
    Record(EACH_AT_MOST, EACH_AT_LEAST, EACH_RELATIVE),
    "bounds for each listed query",
    required=False,
)
DEVIATION = Field("deviation", Record(NORM, AT_MOST, AT_LEAST, RELATIVE, PER_QUERY), "bounds on |T(q) - T_inf(q)|")


@dataclass(frozen=True)
class Bounds:
    """What is asserted; `each_*` hold one bound per query, and None stands for nothing."""

    norm: str
    at_most: fmpq | None
    at_least: fmpq | None
    each_at_most: list[fmpq] | None
    each_at_least: list[fmpq] | None
    relative: fmpq | None = None
    each_relative: list[fmpq] | None = None

    @property
    def are_relative(self) -> bool:
        """Whether something is asserted in units of |T(q)|."""
        return self.relative is not None or self.each_relative is not None


def read_bounds(deviation: Values, count: int) -> Bounds:
    """The bounds in the record `deviation`, for so many listed queries. Raises MalformedError."""
    each = deviation.get(PER_QUERY)
    upper, lower, relative = (
        each.get(field) if each is not None else None for field in (EACH_AT_MOST, EACH_AT_LEAST, EACH_RELATIVE)
    )
    if each is not None and upper is None and lower is None and relative is None:
        raise each.at.malformed("at_most, at_least or relative_at_most for each query", "nothing that is asserted")
    if each is None and not any(field in deviation for field in (AT_MOST, AT_LEAST, RELATIVE)):
        raise deviation.at.malformed("at_most, at_least, relative_at_most or per_query", "nothing that is asserted")
    for vector in (upper, lower, relative):
        if vector is not None and vector.shape[1] != count:
            raise vector.node.malformed(f"{count} bounds, one per query", f"{vector.shape[1]} bounds")
    return Bounds(
        deviation[NORM],
        deviation.get(AT_MOST),
        deviation.get(AT_LEAST),
        upper.load().row(0) if upper is not None else None,
        lower.load().row(0) if lower is not None else None,
        deviation.get(RELATIVE),
        relative.load().row(0) if relative is not None else None,
    )
