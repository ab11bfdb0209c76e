"""What a certificate asserts of |T(q) - T_inf(q)|: bounds over all queries, over some, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, show
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.document.matrices import Vector
from certattn.kernel.mathematics.balls import NORMS
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe

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

    def words(self) -> str:
        parts = []
        if self.at_most is not None:
            parts.append(f"at most {describe(self.at_most)} for every query")
        if self.at_least is not None:
            parts.append(f"at least {describe(self.at_least)} for some query")
        if self.each_at_most is not None:
            parts.append(f"at most the stated bound of each query, {ExactMatrix.row_vector(self.each_at_most)}")
        if self.each_at_least is not None:
            parts.append(f"at least the stated bound of each query, {ExactMatrix.row_vector(self.each_at_least)}")
        size = f"the {self.norm} norm of T(q)"
        if self.relative is not None:
            parts.append(f"at most {describe(self.relative)} times {size} for every query")
        if self.each_relative is not None:
            factors = ExactMatrix.row_vector(self.each_relative)
            parts.append(f"at most the stated multiple of each query, {factors}, of {size}")
        return " and ".join(parts)

    def latex(self, query: str, among: str) -> str:
        """The formulas for `query`, which runs over `among`, written as a subscript."""
        index = {"l2": "2", "linf": r"\infty"}[self.norm]
        distance, size = rf"\| T({query}) - T_\infty({query}) \|_{index}", rf"\| T({query}) \|_{index}"
        parts = []
        if self.at_most is not None:
            parts.append(rf"\max_{among} {distance} \le {describe(self.at_most)}")
        if self.at_least is not None:
            parts.append(rf"\max_{among} {distance} \ge {describe(self.at_least)}")
        if self.each_at_most is not None:
            parts.append(rf"{distance} \le r_i \ \forall i")
        if self.each_at_least is not None:
            parts.append(rf"{distance} \ge s_i \ \forall i")
        if self.relative is not None:
            parts.append(rf"{distance} \le {describe(self.relative)}\, {size} \ \forall i")
        if self.each_relative is not None:
            parts.append(rf"{distance} \le t_i\, {size} \ \forall i")
        return r",\qquad ".join(parts)


def worst_relative(bounds: Bounds, obligations: Sequence[Obligation]) -> list[str]:
    """Which query comes nearest to its bound in units of |T(q)|, in a line; nothing where no such bound is asserted."""
    kind = "relative_at_most" if bounds.relative is not None else "per_query.relative_at_most"
    factors = bounds.each_relative if bounds.relative is None else [bounds.relative]
    worst: tuple[arb, str, arb, arb] | None = None
    for obligation in obligations:
        deviation, most = obligation.left, obligation.right
        if obligation.name.startswith(f"{kind}[") and isinstance(deviation, arb):
            share = _share(deviation, arb(most))
            if worst is None or share.upper() > worst[0].upper():
                worst = share, obligation.name.removeprefix(kind), deviation, arb(most)
    if worst is None or factors is None:
        return []
    share, place, deviation, most = worst
    factor = factors[int(place[1:-1])] if bounds.relative is None else factors[0]
    # Where every query has a bound of its own, the one that comes nearest need not deviate most.
    which = f"worst query {place} beside its output" if bounds.relative is not None else f"nearest to its bound {place}"
    if share.is_finite() is not True:
        return [f"{which}: deviation {show(deviation)}, where {show(most)} is asserted"]
    quotient = share * factor
    slack = (factor - quotient).lower().str(3, radius=False)
    return [f"{which}: deviation / |T(q)| {show(quotient)}, slack {slack}"]


def _share(deviation: arb, most: arb) -> arb:
    """The part of a bound that a deviation takes: 0 of any for no deviation, infinite where the bound may be 0."""
    if (deviation == 0) is True:
        return arb(0)
    return deviation / most if (most > 0) is True else arb.pos_inf()


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
