"""Fits of softmax weights' moments as witnesses state them, and what is proved with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import CountUpTo, Field, Listing, Rational, Values
from certattn.kernel.given.bounds import BOUNDS
from certattn.kernel.mathematics.exponential_fits import ExponentialSum
from certattn.kernel.mathematics.fitted_averages import Fits, FittedAverage
from certattn.kernel.mathematics.reals import describe

RATE = Field("rate", Rational(), "d > 0: the fits are sums of c_k e^((theta - k d) v)")
GROWTH = Field("growth", Rational(), "theta >= 0, of the fits and of what they miss")
Q_FIT = Field("q", Vector(), "coefficients c_k of the fit of q = E sum p_i^2")
KAPPA_FIT = Field("kappa", Vector(), "coefficients of the fit of E[sum p_i^3 - (sum p_i^2)^2]")
NODES = Field("nodes", Vector(), "variances from 0 on: ends of the pieces on which fits are compared")
_ORDER = CountUpTo(1, 1000, hint="use more nodes")
ORDERS = Field("orders", Listing(_ORDER), "of every piece but the first: compared at order + 1 points; at most 1000")
FITS = (RATE, GROWTH, Q_FIT, KAPPA_FIT, NODES, ORDERS)

NODES_INCREASE = ("nodes.first", "nodes.increase")
_CONDITIONS = ("rate", "growth", *NODES_INCREASE)


def read_fits(stated: Values) -> Fits:
    """The fits, at three variances or more. Raises MalformedError."""
    nodes, orders = stated[NODES].load().row(0), stated[ORDERS]
    require_nodes(len(nodes), 3, stated, NODES)
    if len(orders) != len(nodes) - 2:
        expected = f"{len(nodes) - 2} orders, one of every piece but the first"
        raise stated.node(ORDERS).malformed(expected, f"{len(orders)}")
    coefficients = (tuple(stated[field].load().row(0)) for field in (Q_FIT, KAPPA_FIT))
    q, kappa = (ExponentialSum(stated[GROWTH], stated[RATE], each) for each in coefficients)
    return Fits(tuple(nodes), tuple(orders), q, kappa)


def require_nodes(count: int, least: int, stated: Values, field: Field[Any]) -> None:
    if count < least:
        raise stated.node(field).malformed(f"at least {least} variances, from 0 on and increasing")


def nodes_increase(nodes: Sequence[fmpq]) -> Iterator[Obligation]:
    """That variances 0 = v_0 < v_1 < ... stand at the nodes, of which there are two or more."""
    yield Obligation("nodes.first", nodes[0], "=", fmpq(0), Part.WITNESS)
    yield Obligation("nodes.increase", min(b - a for a, b in pairwise(nodes)), ">", fmpq(0), Part.WITNESS)


def average_keeps(name: str, average: FittedAverage, stated: Values) -> Iterator[Obligation]:
    """That the average keeps the stated bounds, and what a proof by these fits rests on."""
    fits, value = average.fits, Shared(lambda: fitted_value(average))
    yield Obligation("rate", fits.q.rate, ">", fmpq(0), Part.WITNESS)
    yield Obligation("growth", fits.growth, ">=", fmpq(0), Part.WITNESS)
    yield from nodes_increase(fits.nodes)
    for side, relation in BOUNDS:
        if side in stated:
            bound = stated[side]
            beside = lambda bound=bound: _beside(average, value(), bound)  # noqa: E731
            yield Obligation(f"{name}.{side.name}", beside, relation, bound, needs=_CONDITIONS)


def fitted_value(average: FittedAverage) -> arb:
    """The average, at the working precision. Raises NoBound where the growth of the witness is not admitted."""
    if average.is_finite is not True:
        raise NoBound(f"averages of e^(theta v) are infinite for theta = {describe(average.fits.growth)}")
    return average.value()


def _beside(average: FittedAverage, value: arb, bound: fmpq) -> arb:
    """The value, where it may be compared with a bound at some precision. Raises NoBound."""
    if reason := average.hopeless(value, bound):
        raise NoBound(reason)
    return value
