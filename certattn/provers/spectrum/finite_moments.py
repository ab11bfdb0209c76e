"""State expected moments of the matrix of exponential scores at finite size, beside those of its limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.finite_moments import ASSERTS, GIVEN, THEOREM
from certattn.kernel.theorems.spectrum.score_matrix import ORDERS, ScoreMatrix, limit_moment, score_matrix
from certattn.provers.commands import Command, Option, Whole
from certattn.provers.exact_inputs import Number, positive
from certattn.provers.output import Draft, require_place
from certattn.provers.spectrum.score_matrices import SCORE_OPTIONS, around, enclosed

DIGITS = 6
_FOURTH = 4
# Sizes before d that are looked at: what a check does in about a third of a second.
_LOOKED_AT = {2: 5000, 4: 4000, 6: 1000, 8: 200}
_LARGEST_SIZE = 10**15
_BITS = 192


def generate(
    out: Path,
    *,
    beta: Number,
    lambda_: Number = 1,
    d: int | None = None,
    orders: Sequence[int] = ORDERS,
    within: Number | None = None,
    digits: int = DIGITS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `finite-moments` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    beta, lambda_ : exact number
        The inverse temperature of the scores and p / d, exact numbers > 0.
    d : int, optional
        Number of queries and of keys; lambda d is a whole number. Left out, it is the smallest that is found with
        `within`.
    orders : sequence of int
        2k of the moments that are stated, among 2, 4, 6, 8.
    within : exact number, optional
        With one order: state that d is the smallest size with abs(E m_2k / m_2k - 1) at most this.
    digits : int
        Significant digits of the bounds.
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
        No size is found.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/finite-moments.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("finite-moments", beta="1/2", d=1000, orders=[2])
    >>> float(certificate.numbers["moments[0].at_most"])
    0.284106
    """
    require_place(out)
    exact_beta, ratio = positive(beta, "beta"), positive(lambda_, "lambda")
    for order in orders:
        if order not in ORDERS:
            raise UsageError(f"the order {order} is none of {', '.join(map(str, ORDERS))}")
    wanted = sorted(set(orders))
    distance = None if within is None else positive(within, "within")
    search = None
    if distance is not None:
        if len(wanted) != 1:
            raise UsageError("a smallest size is about one order; expected 2, 4, 6 or 8 beside within")
        search = _Search(exact_beta * exact_beta, ratio, wanted[0], distance)
        d = search.size() if d is None else search.proved(d)
    if d is None:
        raise UsageError("nothing to state: give d, or within to look for the smallest")
    given: dict[str, Plain] = {"beta": format_rational(exact_beta), "lambda": format_rational(ratio), "d": str(d)}
    draft = Draft(THEOREM, out, given, note)
    scores = draft.read(lambda written: score_matrix(GIVEN.read(written.given, written.reading)))
    asserts = _stated(scores, ratio, wanted, digits) if search is None else search.stated(scores, digits)
    return draft.write({name: asserts[name] for name in ASSERTS.fields if name in asserts})


def _stated(scores: ScoreMatrix, lambda_: fmpq, orders: Sequence[int], digits: int) -> dict[str, Plain]:
    """All that holds at this size: moments, ratios and parts of single entries, or that a moment is infinite."""
    asserts: dict[str, Plain] = {}
    finite = [order for order in orders if scores.has_moment(order)]
    for order in finite:
        parts = {
            "moments": lambda order=order: scores.moment(order),
            "ratios": lambda order=order: scores.moment(order) / limit_moment(order, scores.beta2, lambda_),
            "entry_parts": lambda order=order: scores.entry_part(order) / limit_moment(order, scores.beta2, lambda_),
        }
        if order == ORDERS[0]:
            # The second moment is that of the entries: the ratio once more.
            del parts["entry_parts"]
        for name, value in parts.items():
            bounds = around(enclosed(value, digits, f"the moment of order {order}"), digits)
            cast(list[Plain], asserts.setdefault(name, [])).append({"order": str(order), **bounds})
    if infinite := [str(order) for order in orders if order not in finite]:
        asserts["infinite"] = list[Plain](infinite)
    if _FOURTH in finite:
        asserts["variance"] = around(enclosed(scores.second_moment_variance, digits, "the variance"), digits)
    with working_precision(_BITS):
        log = arb(scores.d).log()
        # Below order 4 no power of d divides the part of single entries: there is no threshold.
        sides = {order: "below" if (order * scores.beta2 < log) is True else "above" for order in orders}
    thresholds: list[Plain] = [{"order": str(order), "beta": sides[order]} for order in orders if order >= _FOURTH]
    if thresholds:
        asserts["thresholds"] = thresholds
    return asserts


class _Search:
    """The smallest size with |E m_order / m_order - 1| <= within."""

    def __init__(self, beta2: fmpq, lambda_: fmpq, order: int, within: fmpq) -> None:
        self.beta2, self.lambda_, self.order, self.within = beta2, lambda_, order, within
        self.step = int(lambda_.q)

    def size(self) -> int:
        """By doubling and bisection, then the first of the sizes before that are looked at. Raises NotProvedError."""
        high = self.step * max(1, -(-2 // self.step))
        while not self._is_near(high):
            high *= 2
            if high > _LARGEST_SIZE:
                raise NotProvedError(
                    f"no size up to {_LARGEST_SIZE} was found with E m_{self.order} within {describe(self.within)} of "
                    "its limit; expected a smaller beta, a lower order or a larger distance"
                )
        low = high // 2 // self.step
        upper = high // self.step
        while upper - low > 1:
            middle = (low + upper) // 2
            low, upper = (low, middle) if self._is_near(middle * self.step) else (middle, upper)
        found = upper * self.step
        return next((d for d in self._before(found) if d > 1 and self._is_near(d)), found)

    def proved(self, d: int) -> int:
        """A given size, which is within the distance and has none before that is. Raises NotProvedError."""
        if not self._is_near(d):
            raise NotProvedError(
                f"E m_{self.order} is not within {describe(self.within)} of its limit at d = {d}; leave d out to look "
                "for the smallest size that is"
            )
        earlier = next((size for size in self._before(d) if size > 1 and self._is_near(size)), None)
        if earlier is not None:
            raise NotProvedError(f"d = {d} is not the smallest size: E m_{self.order} is as near at d = {earlier}")
        return d

    def stated(self, scores: ScoreMatrix, digits: int) -> dict[str, Plain]:
        order, first = str(self.order), self._before(scores.d)
        ratio = enclosed(lambda: scores.moment(self.order) / self._limit(), digits, f"the moment of order {order}")
        smallest: dict[str, Plain] = {"order": order, "within": format_rational(self.within), "from": str(first.start)}
        return {"ratios": [{"order": order, **around(ratio, digits)}], "smallest": [smallest]}

    def _before(self, d: int) -> range:
        """The sizes below d that a check looks at; all of them, from 1 on, where they are few."""
        start = d - _LOOKED_AT[self.order] * self.step
        return range(start, d, self.step) if start > self.step else range(1, d)

    def _is_near(self, d: int) -> bool:
        width = self.lambda_ * d
        if width.q != 1:
            return False
        scores = ScoreMatrix(d, int(width.p), self.beta2)
        with working_precision(_BITS):
            return (abs(scores.moment(self.order) / self._limit() - 1) <= self.within) is True

    def _limit(self) -> arb:
        return limit_moment(self.order, self.beta2, self.lambda_)


COMMAND = Command(
    *SCORE_OPTIONS,
    Option("--d", "Number of queries and of keys; found with --within by default.", Whole(2)),
    Option("--order", "2k of a moment to state: 2, 4, 6 or 8; all by default.", int, sets="orders", many=True),
    Option("--within", "State the smallest d at which the moment is this near to its limit.", metavar="E"),
    Option("--digits", "Digits of bounds.", Whole(1, 30)),
)
