"""What is known of q = E P_2 and kappa = E[P_3 - P_2^2] over all variances of the scores, from finitely many.

Near 0 by |q''|, |kappa''| <= 17/4 q, on pieces by their analyticity (`analytic_weights`), and beyond the last piece
by q <= 1, q growing, and 0 <= kappa <= 1/4. Chebyshev nodes are not rational: q and kappa are enclosed at rational
numbers beside them, and |q'|, |kappa'| <= 50.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.training.mathematics.analytic_weights import MOST_CURVED, interpolation_errors
from certattn.kernel.theorems.training.mathematics.exponential_fits import Piece, Samples, chebyshev_nodes

# |dq/dv| and |d kappa/dv| are at most this.
_MOST_STEEP = 50
# Every certificate about one length asks for the same variances, at every precision, and its prover before. There are
# 64 points on each of some 30 pieces at most, as provers choose them.
_REMEMBERED = 2048


def samples(length: int, nodes: Sequence[fmpq], orders: Sequence[int], bits: int) -> tuple[Samples, Samples]:
    """Of q and of kappa at the precision `bits`, for nodes 0 < v_1 < ...; `orders` of the pieces from v_1 on."""
    start = nodes[1]
    zero, first = (weights(length, v, bits) for v in (fmpq(0), start))
    pieces = [on_piece(length, a, b, n, bits) for (a, b), n in zip(pairwise(nodes[1:]), orders, strict=True)]
    last, _ = weights(length, nodes[-1], bits)
    bend = MOST_CURVED * first[0]
    of_q = Samples(start, (zero[0], first[0]), bend, [q for q, _ in pieces], last.union(arb(1)))
    beyond = arb(0).union(arb(fmpq(1, 4)))
    return of_q, Samples(start, (zero[1], first[1]), bend, [kappa for _, kappa in pieces], beyond)


@lru_cache(_REMEMBERED)
def weights(length: int, variance: fmpq, bits: int) -> tuple[arb, arb]:
    """q and kappa, to about `bits` bits."""
    powers = PowerSums(length, variance, 4, bits)
    with working_precision(powers.bits):
        return powers.mean(2), powers.mean(3) - powers.mean(2, 2)


def on_piece(length: int, first: fmpq, last: fmpq, order: int, bits: int) -> tuple[Piece, Piece]:
    """q and kappa at `order` + 1 Chebyshev nodes of [first, last], 0 < first < last, at the precision `bits`."""
    errors = interpolation_errors(length, (first + last) / 2, (last - first) / 2, order)
    known = [_beside(length, node, bits) for node in chebyshev_nodes(first, last, order)]
    return (
        Piece(first, last, [q for q, _ in known], errors.q),
        Piece(first, last, [kappa for _, kappa in known], errors.kappa),
    )


def _beside(length: int, node: arb, bits: int) -> tuple[arb, arb]:
    """q and kappa at a ball, from those at its middle."""
    mantissa, exponent = node.mid().man_exp()
    slack = within(_MOST_STEEP * node.rad())
    q, kappa = weights(length, fmpq(mantissa) * fmpq(2) ** int(exponent), bits)
    return q + slack, kappa + slack
