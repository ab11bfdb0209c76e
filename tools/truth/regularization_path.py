"""Whether the comparators of a certificate of `regularization-path` show what is stated: the theorem by mpmath.

Every number is computed anew from the definitions on the claim's page: the excess loss at the comparator from the
attended tokens, p_mm by trying every support, the constants of the head by their formulas. What the comparators do
not show may be true all the same; then this has no opinion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Judgement, Truth
from tools.truth.norm_margin import Nuclear, Power
from tools.truth.reading import (
    NotAStatement,
    Vector,
    dot,
    read_counts,
    read_items,
    read_number,
    read_point,
    read_table,
    require,
    require_record,
    to_real,
)
from tools.truth.token_optimality import (
    Indices,
    Instance,
    combination,
    read_pair,
    require_indices,
)

_DIGITS = 250
# Relative slack below which nothing is said.
_CLOSE = mpf(10) ** -60

LOSSES: dict[str, tuple[Callable[[mpf], mpf], Callable[[mpf], mpf]]] = {
    "linear": (lambda x: -x, lambda x: mpf(1)),
    "logistic": (lambda x: mp.log1p(mp.exp(-x)), lambda x: 1 / (1 + mp.exp(x))),
    "exponential": (lambda x: mp.exp(-x), lambda x: mp.exp(-x)),
}


@dataclass(frozen=True)
class Head:
    """psi, and for scalar heads phi with the least slope on an interval; A for a quadratic one."""

    phi: Callable[[mpf], mpf] | None
    least: Callable[[mpf, mpf], mpf] | None
    A: list[Vector] | None


def _head(given: Any, width: int, folder: Path) -> Head:
    stated = given.get("head", {"kind": "linear"})
    require(isinstance(stated, dict) and isinstance(stated.get("kind"), str), "a head")
    kind = stated["kind"]
    require_record(
        stated, "a head", {"kind"} | ({"slope"} if kind == "leaky-relu" else {"A"} if kind == "quadratic" else set())
    )
    if kind == "linear":
        return Head(lambda r: r, lambda low, high: mpf(1), None)
    if kind == "tanh":
        return Head(mp.tanh, lambda low, high: min(mp.sech(low) ** 2, mp.sech(high) ** 2), None)
    if kind == "softplus":
        return Head(lambda r: mp.log1p(mp.exp(r)), lambda low, high: 1 / (1 + mp.exp(-low)), None)
    if kind == "leaky-relu":
        beta = read_number(stated["slope"])
        require(0 < beta <= 1, "a slope")
        return Head(
            lambda r: r if r > 0 else to_real(beta) * r, lambda low, high: mpf(1) if low >= 0 else to_real(beta), None
        )
    if kind == "quadratic":
        A = read_table(stated["A"], folder)
        require(len(A) == len(A[0]) == width and _symmetric(A), "A")
        return Head(None, None, A)
    raise NotAStatement(f"the head {kind!r}")


class _TooSmall(Exception):
    """The excess is lost in the cancellation of its two sides."""


class Theorem:
    """The numbers of the theorem for one selection."""

    def __init__(self, given: Any, indices: list[int], folder: Path) -> None:
        self.instance = Instance(given, folder, path=True)
        require(isinstance(given["loss"], str) and given["loss"] in LOSSES, "the loss")
        self.loss, self.slope = LOSSES[given["loss"]]
        self.head = _head(given, len(self.instance.rows[0][0]), folder)
        self.indices: Indices = require_indices(self.instance, indices)

    def output(self, i: int, x: list[mpf]) -> mpf:
        """Y psi(x) for the score of the attended token, or for the token itself."""
        label = to_real(self.instance.labels[i])
        if self.head.A is not None:
            linear = mp.fsum(to_real(v) * a for v, a in zip(self.instance.direction, x, strict=True))
            rows = zip(self.head.A, x, strict=True)
            bent = mp.fsum(to_real(e) * a * b for row, a in rows for e, b in zip(row, x, strict=True))
            return label * (bent + linear)
        assert self.head.phi is not None
        return label * self.head.phi(label * x[0])

    def read(self, i: int, weights: list[mpf]) -> list[mpf]:
        """The attended token; of scalar heads only its score is needed."""
        rows = self.instance.rows[i] if self.head.A is not None else [[score] for score in self.instance.scores[i]]
        return [
            mp.fsum(w * to_real(x) for w, x in zip(weights, column, strict=True)) for column in zip(*rows, strict=True)
        ]

    def excess(self, point: Vector) -> mpf:
        total = mpf(0)
        for i, keys in enumerate(self.instance.keys):
            logits = [to_real(dot(key, point)) for key in keys]
            powers = [mp.exp(logit - max(logits)) for logit in logits]
            mixed = self.output(i, self.read(i, [power / mp.fsum(powers) for power in powers]))
            total += self.loss(mixed) - self.loss(self.best(i))
        return total

    def best(self, i: int) -> mpf:
        """The output for the chosen token alone."""
        weights = [mpf(int(t == self.indices[i])) for t in range(len(self.instance.keys[i]))]
        return self.output(i, self.read(i, weights))

    def constants(self, i: int, bound: mpf) -> tuple[dict[tuple[int, int], mpf], mpf, bool]:
        """The costs m_t of input i for excesses up to `bound`, how fast the loss falls, and whether gaps are > 0."""
        pairs = [pair for pair in self.instance.pairs(self.indices) if pair[0] == i]
        if self.head.A is not None:
            return self._quadratic(i, pairs, bound)
        gaps = [self.instance.gap(self.indices, pair) for pair in pairs]
        if min(gaps) <= 0:
            return {}, mpf(0), False
        score, widest = to_real(self.instance.scores[i][self.indices[i]]), to_real(max(gaps))

        def least(drop: mpf) -> mpf:
            ends = sorted(to_real(self.instance.labels[i]) * end for end in (score - drop, score))
            assert self.head.least is not None
            return self.head.least(*ends) * self.slope(self.best(i))

        c = least(min(widest, bound / least(widest)))
        return {p: c * to_real(g) for p, g in zip(pairs, gaps, strict=True)}, to_real(min(gaps)) - bound / c, True

    def _quadratic(self, i: int, pairs: Any, bound: mpf) -> tuple[dict[tuple[int, int], mpf], mpf, bool]:
        A, label, rows = self.head.A, self.instance.labels[i], self.instance.rows[i]
        assert A is not None
        chosen = rows[self.indices[i]]
        y = [[a - b for a, b in zip(chosen, rows[t], strict=True)] for _, t in pairs]
        slope = [2 * dot(row, chosen) + v for row, v in zip(A, self.instance.direction, strict=True)]
        g = [label * dot(slope, z) for z in y]
        Q = [[label * dot(a, [dot(row, b) for row in A]) for b in y] for a in y]
        up = [max(Fraction(0), *row) for row in Q]
        down = [max(Fraction(0), *(-x for x in row)) for row in Q]
        h = min(a - b for a, b in zip(g, up, strict=True))
        if h <= 0:
            return {}, mpf(0), False
        c = self.slope(self.best(i))
        eps = min(mpf(1), bound / (c * to_real(h)))
        least = min(to_real(a) - 2 * eps * to_real(b) for a, b in zip(g, up, strict=True))
        most = max(to_real(a) + 2 * eps * to_real(b) for a, b in zip(g, down, strict=True))
        costs = {p: c * (to_real(a) - eps * to_real(b)) for p, a, b in zip(pairs, g, up, strict=True)}
        return costs, least - eps * most, True

    def mixing(self, point: Vector) -> tuple[mpf, dict[tuple[int, int], mpf]] | None:
        """The excess F of a comparator, and the costs; None where a condition fails."""
        F = self.excess(point)
        if mpf(10) ** -(_DIGITS // 2) > F >= 0:
            raise _TooSmall
        costs: dict[tuple[int, int], mpf] = {}
        for i, keys in enumerate(self.instance.keys):
            if len(keys) > 1:
                found, inward, good = self.constants(i, F)
                if not good or inward <= 0:
                    return None
                costs |= found
        return None if min(costs.values()) <= F else (F, costs)

    def bound(self, weights: Any, radius: Fraction, point: Vector) -> mpf | None:
        """The cosine that the comparator shows; None where a condition fails."""
        solution = self.instance.solve(self.indices)
        if solution is None or combination(self.instance, self.indices, weights) != solution:
            return None
        if dot(point, point) > radius * radius:
            return None
        found = self.mixing(point)
        if found is None:
            return None
        F, costs = found
        a = min(costs.values())
        stated = {
            read_pair(t, {"input", "token", "multiplier"}): to_real(read_number(t["multiplier"])) for t in weights
        }
        total = mp.fsum(stated.values())
        log_w = mp.fsum(v / total * mp.log(costs[p] * total / v) for p, v in stated.items())
        norm = mp.sqrt(to_real(dot(solution, solution)))
        return (log_w + mp.log(1 / F - 1 / a)) * norm / to_real(radius)


def _symmetric(A: list[Vector]) -> bool:
    return all(A[j][k] == A[k][j] for j in range(len(A)) for k in range(j))


def _in_norm(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """The same of another norm: the share of the largest margin, and the distance of unit vectors."""
    name = given["norm"]
    exponent = None if name in ("nuclear", "infinity") else read_number(name)
    require(exponent is None or exponent >= 1, "an exponent below 1")
    convex = exponent is not None and exponent > 1
    nuclear = name == "nuclear"
    require_record(asserts, "asserts", {"indices", "path"})
    require_record(witness, "witness", {"multipliers", "comparators"} | ({"factors"} if nuclear else set()))
    path = Theorem(given, read_counts(asserts["indices"]), folder)
    require(not nuclear or "queries" in given, "a nuclear norm of vectors")
    shape, stated, weights = path.instance.shape, read_items(asserts, "path"), read_items(witness, "multipliers")
    points = [read_point(point, shape, folder) for point in read_items(witness, "comparators")]
    flat = combination(path.instance, path.indices, weights)
    require(all(read_number(term["multiplier"]) > 0 for term in weights), "a multiplier")
    total = sum((read_number(term["multiplier"]) for term in weights), Fraction(0))
    norms: list[Any] = [Power(exponent)] * len(stated)
    if nuclear:
        listed = read_items(witness, "factors")
        for node in listed:
            require_record(node, "factors", {"K", "Q"})
        pairs = [(read_table(f["K"], folder), read_table(f["Q"], folder)) for f in listed]
        require(all((len(K[0]), len(Q[0]), len(K)) == (*shape, len(Q)) for K, Q in pairs), "factors of another shape")
        norms = [Nuclear(shape, K, Q) for K, Q in pairs]
    require(len(stated) == len(points) == len(norms), "comparators or factors of another number")
    worst = mpf(1)
    with mp.workdps(_DIGITS):
        for item, point, norm in zip(stated, points, norms, strict=True):
            require_record(item, "a radius", {"radius", "share"}, {"apart"} if convex else set())
            radius, share = read_number(item["radius"]), read_number(item["share"])
            apart = read_number(item["apart"]) if "apart" in item else None
            require(radius > 0 and share >= 0 and (apart is None or apart >= 0), "a radius, a share and a distance")
            try:
                found = path.mixing(point)
            except _TooSmall:
                return Judgement(Truth.OPEN, 0.0, "an excess that is too small to compute")
            separated = min(
                dot(path.instance.difference(path.indices, p), point) for p in path.instance.pairs(path.indices)
            )
            if found is None or separated <= 0 or not norm.is_dual(flat):
                worst = mpf(-1)
                continue
            F, costs = found
            shown = to_real(total) * mp.log(min(costs.values()) / F - 1) / to_real(radius)
            length = norm.upper(point)
            worst = min(worst, shown - to_real(share))
            if isinstance(length, Fraction):
                worst = worst if length <= radius else mpf(-1)
            else:
                worst = min(worst, 1 - length / to_real(radius))
            if apart is not None and exponent is not None:
                l, middle = to_real(exponent), (1 + to_real(share)) / 2  # noqa: E741 - its name
                s = max(l, mpf(2))
                turned = (1 - middle**s) * (4 / (l - 1) if l <= 2 else 2**l)
                worst = min(worst, to_real(apart) - turned ** (1 / s)) if turned >= 0 else mpf(-1)
    if worst > _CLOSE:
        return Judgement(Truth.TRUE, float(worst))
    return Judgement(Truth.OPEN, 0.0, "the bound", worst > -_CLOSE)


def judge_path(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True where the comparators show it; else open."""
    if isinstance(given, dict) and "norm" in given:
        return _in_norm(given, asserts, witness, folder)
    require_record(asserts, "asserts", {"indices", "path"}, {"limit"})
    require_record(witness, "witness", {"multipliers", "comparators"})
    path = Theorem(given, read_counts(asserts["indices"]), folder)
    stated = read_items(asserts, "path")
    shape = path.instance.shape
    points = [read_point(point, shape, folder) for point in read_items(witness, "comparators")]
    if "limit" in asserts and read_point(asserts["limit"], shape, folder) != path.instance.solve(path.indices):
        return Judgement(Truth.FALSE, 0.0, "limit")
    weights = read_items(witness, "multipliers")
    combination(path.instance, path.indices, weights)
    require(all(read_number(term["multiplier"]) > 0 for term in weights), "a multiplier")
    require(len(stated) == len(points), "comparators of another number")
    worst = mpf(1)
    with mp.workdps(_DIGITS):
        for item, point in zip(stated, points, strict=True):
            require_record(item, "a radius", {"radius", "cosine"})
            radius, cosine = read_number(item["radius"]), read_number(item["cosine"])
            require(radius > 0 and abs(cosine) <= 1, "a radius")
            require(len(point) == len(path.instance.keys[0][0]), "a comparator of another dimension")
            try:
                shown = path.bound(weights, radius, point)
            except _TooSmall:
                return Judgement(Truth.OPEN, 0.0, "an excess that is too small to compute")
            slack = mpf(-1) if shown is None else shown - to_real(cosine)
            worst = min(worst, slack)
    if worst > _CLOSE:
        return Judgement(Truth.TRUE, float(worst))
    return Judgement(Truth.OPEN, 0.0, "the bound", worst > -_CLOSE)
