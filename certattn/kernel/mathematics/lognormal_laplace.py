"""The Laplace transform of a lognormal law and its scaled derivatives, on a lattice.

With w = e^Y, Y ~ N(-v/2, v), v > 0, so that E w = 1, and lambda = e^t,

    Psi_k(t) = E[(lambda w)^k e^(-lambda w)] = E e_k(t + Y),     e_k(x) = e^(k x) exp(-e^x).

Psi_0 = phi is the transform E e^(-lambda w), and Psi_k = (-lambda)^k phi^(k)(lambda). Trapezoid sums over
the lattice of y = i d, weighted with the density rho of Y, read the same exponentials for all k. With
R_k = E w^k = e^((k^2 - k) v / 2) and Q(z) <= e^(-z^2/2) / 2 the tail of N(0, 1), their errors are at most

    step        2 e^(b^2/2v) min(lambda^k R_k, (k / (e cos b))^k) / (e^(2 pi b/d) - 1) for every b < pi/2:
                in the strip, |rho(y + ib)| = e^(b^2/2v) rho(y) and |e_k(x + ib)| <= e^(kx) exp(-e^x cos b)
    truncation  lambda^k R_k Q(z_k) and (k/e)^k Q(z_0) on either side, z_k the distance of the last node
                from the mean -v/2 + kv in standard deviations: rho(y) e^(ky) is R_k times the density of
                N(-v/2 + kv, v), which falls there; and to the right, where e_k falls beyond
                x = t + y >= log k, also e_k(x) times the sum of d rho.

Each is small beside lambda^k R_k: small lambda lose nothing. `docs/claims/prompts/output-mean-square.md` has the
proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from flint import arb, arb_mat, arb_poly, fmpq, fmpz

# Half the width of the strip of analyticity: any number below pi/2.
STRIP = fmpq(3, 2)
_ZERO = arb(0)


def strip_error(half_width: arb, step: arb | fmpq) -> arb:
    """2 / (e^(2 pi b/h) - 1): what the trapezoid rule is off by where int |F(t + ic)| dt <= 1 for |c| <= b."""
    return 2 / (2 * arb.pi() * half_width / step).expm1()


def peak(k: int, shrink: arb | int = 1) -> arb:
    """(k / (e c))^k, the largest value of e^(kx) exp(-c e^x); 1 for k = 0."""
    return (k / (arb(1).exp() * shrink)) ** k if k > 0 else arb(1)


def weight_moment(k: int, variance: fmpq) -> arb:
    """R_k = E w^k = e^((k^2 - k) v / 2)."""
    return arb(variance * (k * k - k) / 2).exp()


def within(bound: arb) -> arb:
    """The ball [-bound, bound]."""
    return bound.union(-bound)


@dataclass(frozen=True)
class Lattice:
    """lambda = e^t at t = j h for j in `outer`, y = i d for i in `inner`, with h = 1/`steps`, d = h/`finer`.

    `variance` is v > 0. Nodes x = t + y = (j m + i) d above `ceiling` d are left out, but for the lowest y.
    Any choice of nodes is sound; a bad one costs width. Both steps share the nodes x.
    """

    variance: fmpq
    steps: int
    finer: int
    outer: range
    inner: range
    ceiling: int

    @property
    def step(self) -> fmpq:
        """h."""
        return fmpq(1, self.steps)

    @property
    def fine_step(self) -> fmpq:
        """d."""
        return fmpq(1, self.steps * self.finer)

    @property
    def first(self) -> fmpq:
        """The lowest t."""
        return self.outer[0] * self.step

    @property
    def last(self) -> fmpq:
        """The highest t."""
        return self.outer[-1] * self.step

    @property
    def lowest(self) -> fmpq:
        """The lowest y."""
        return self.inner[0] * self.fine_step

    @property
    def _mean(self) -> fmpq:
        return -self.variance / 2

    @cached_property
    def _deviation(self) -> arb:
        return arb(self.variance).sqrt()

    def row(self, j: int) -> range:
        """The nodes i that are summed for t = j h."""
        highest = min(self.inner[-1], self.ceiling - j * self.finer)
        return range(self.inner[0], max(self.inner[0], highest) + 1)

    def transforms(self, degree: int) -> list[list[arb]]:
        """For k = 0..degree the list of Psi_k(t) over the outer nodes."""
        last = max(j * self.finer + self.row(j)[-1] for j in self.outer)
        nodes = range(self.outer[0] * self.finer + self.inner[0], last + 1)
        step = arb(self.fine_step)
        powers = {n: (n * step).exp() for n in nodes}
        values = {n: (-x).exp() for n, x in powers.items()}
        found = []
        for k in range(degree + 1):
            if k > 0:
                values = {n: value * powers[n] for n, value in values.items()}
            errors = _Errors(self, k)
            found.append([total + errors.at(j) for j, total in zip(self.outer, self._sums(values), strict=True)])
        return found

    def transform(self, j: int) -> arb:
        """phi(e^t) at t = j h."""
        row = self.row(j)
        step = arb(self.fine_step)
        values = {n: (-(n * step).exp()).exp() for n in (j * self.finer + i for i in row)}
        return self._sum(j, row, values) + _Errors(self, 0).at(j)

    def _sums(self, values: dict[int, arb]) -> list[arb]:
        """`_sum` for every t at once: y = i d with the same i mod m are a product of polynomials.

        A node that is left out for this t and summed for another one is summed here: its term is positive, and part
        of what the tail to the right bounds.
        """
        totals = [arb(0)] * len(self.outer)
        for start in range(min(self.finer, len(self.inner))):
            density = self._density[start :: self.finer]
            first, ends = self.outer[0] * self.finer + self.inner[start], len(density) - 1
            nodes = range(first, first + (len(totals) + ends) * self.finer, self.finer)
            product = arb_poly([values.get(n, _ZERO) for n in nodes]) * arb_poly(density[::-1])
            totals = [total + product[ends + a] for a, total in enumerate(totals)]
        return totals

    def _sum(self, j: int, row: range, values: dict[int, arb]) -> arb:
        shift = j * self.finer
        density = arb_mat(len(row), 1, self._density[: len(row)])
        return (arb_mat(1, len(row), [values[shift + i] for i in row]) * density)[0, 0]

    @cached_property
    def _density(self) -> list[arb]:
        """d rho(y) at the inner nodes."""
        factor = self.fine_step / ((2 * arb.pi()).sqrt() * self._deviation)
        step, mean, rate = arb(self.fine_step), arb(self._mean), -1 / arb(2 * self.variance)
        centred = [i * step - mean for i in self.inner]
        return [(c * c * rate).exp() * factor for c in centred]

    # -- what a sum is off by

    @cached_property
    def half_width(self) -> arb:
        """b = min(3/2, 2 pi v/d), where e^(b^2/2v - 2 pi b/d) is smallest."""
        return arb(STRIP).min(2 * arb.pi() * self.variance / self.fine_step)

    @cached_property
    def strip(self) -> arb:
        """What steps lose, per largest value of lambda^k e_k in the strip."""
        b = self.half_width
        return (b * b / (2 * self.variance)).exp() * strip_error(b, self.fine_step)

    def left_tail(self, k: int) -> arb:
        """Of the sum of d times the density of N(-v/2 + kv, v) over the nodes below the lowest."""
        return self._tail(self._mean + k * self.variance - self.lowest)

    def right_tail(self, k: int, last: int) -> arb:
        """The same over the nodes above y = `last` d."""
        return self._tail(last * self.fine_step - self._mean - k * self.variance)

    def _tail(self, distance: fmpq) -> arb:
        """Of the sum of d times the density of N(0, v) over nodes beyond the distance: exp(-distance^2/2v) / 2."""
        if distance < 0:
            return self.mass
        return arb(-distance * distance / (2 * self.variance)).exp() / 2

    @cached_property
    def mass(self) -> arb:
        """1 + d/sqrt(v), more than the sum of d rho: rho has one peak, below 1/sqrt(v)."""
        return 1 + self.fine_step / self._deviation


class _Errors:
    """What the sums of one k are off by; what does not depend on t is computed once."""

    def __init__(self, grid: Lattice, k: int) -> None:
        self._grid, self._k = grid, k
        self._moment, self._peak = weight_moment(k, grid.variance), peak(k)
        self._strip_peak = peak(k, grid.half_width.cos())
        self._left, self._left_most = grid.left_tail(k), self._peak * grid.left_tail(0)
        self._right: dict[int, tuple[arb, arb]] = {}
        self._beyond: dict[int, arb | None] = {}

    def at(self, j: int) -> arb:
        """A ball around 0, for t = j h."""
        scale = arb(self._k * j * self._grid.step).exp() * self._moment  # lambda^k R_k
        step = scale.min(self._strip_peak) * self._grid.strip
        left = (scale * self._left).min(self._left_most)
        return within(step + left + self._right_error(j, scale))

    def _right_error(self, j: int, scale: arb) -> arb:
        grid, k = self._grid, self._k
        last = grid.row(j)[-1]
        node = j * grid.finer + last
        if node not in self._beyond:
            x = arb(node * grid.fine_step).exp()
            self._beyond[node] = x**k * (-x).exp() * grid.mass if x >= k else None
        beyond = self._beyond[node]
        if beyond is not None and last < grid.inner[-1]:
            # At the ceiling: the same node for every t.
            return beyond
        if last not in self._right:
            self._right[last] = (grid.right_tail(k, last), self._peak * grid.right_tail(0, last))
        tail, most = self._right[last]
        bound = (scale * tail).min(most)
        return bound if beyond is None else bound.min(beyond)


def lattice(lengths: tuple[int, int], variance: fmpq, degree: int, bits: int, block: int) -> Lattice:
    """Nodes that give integrals of prod Psi_k phi^(L-b) over t, of that degree K, about `bits` bits.

    L is from the first to the second of `lengths`, and every k at most `block`.

    phi is needed more accurately, for its power. All in integers; 7/10 stands for log 2, 9 for 2 pi 3/2.
    """
    shortest, longest = lengths
    size = fmpq(7, 10) * longest.bit_length()
    nats = fmpq(7, 10) * bits
    steps = int(((nats + 3 * degree) / 9).ceil())
    finer = int((_inner_steps(variance, nats + size + 3 * degree) / steps).ceil())
    fineness = steps * finer
    reach = _root(2 * (nats + size) * variance * fineness**2)
    # To the right nothing is relative: the integral is L^-K at least.
    absolute = bits + degree * longest.bit_length()
    top = fmpq(7 * absolute.bit_length(), 10) + 2
    low = -(nats / 2 + size + block * variance / 2 + 2)
    high = top + variance / 2 + reach / fmpq(fineness)
    outer = range(int((low * steps).floor()), int((high * steps).ceil()) + 1)
    first = int((-variance / 2 * fineness).floor()) - reach
    last = int(((block - fmpq(1, 2)) * variance * fineness).ceil()) + reach
    grid = Lattice(variance, steps, finer, outer, range(first, last + 1), int((top * fineness).ceil()))
    return _trimmed(grid, shortest - degree, absolute)


def _trimmed(grid: Lattice, exponent: int, bits: int) -> Lattice:
    """Without the nodes where phi^exponent is below 2^-bits: phi falls."""
    below = arb(2) ** -bits
    low, high = grid.outer[0], grid.outer[-1]
    while high - low > 1 and exponent > 0:
        middle = (low + high) // 2
        if grid.transform(middle) ** exponent <= below:
            high = middle
        else:
            low = middle
    return replace(grid, outer=range(grid.outer[0], high + 1))


def _inner_steps(variance: fmpq, nats: fmpq) -> fmpq:
    """1/d with 2 pi b/d - b^2/2v >= nats: at b = 2 pi v/d where that stays in the strip, else at b = 3/2."""
    wide = fmpq(_root(nats / (20 * variance)))
    if 7 * wide * variance <= STRIP:
        return wide
    return (nats + STRIP * STRIP / (2 * variance)) / 9


def _root(value: fmpq) -> int:
    """An integer >= sqrt(value), by less than 2."""
    return int(fmpz(value.floor()).isqrt()) + 1
