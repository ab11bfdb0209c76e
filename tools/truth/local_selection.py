"""The conditions of local convergence in token selection once more, by mpmath, and descent in doubles.

`conditions` evaluates every condition of the theorems `local` and `cone` of a certificate of `selection-direction`
from the theorems as the page of the claim states them, up to a false
one that the others rest on; `descend` simulates the descent. No code of the kernel is
used, and nothing is rounded outwards: a second opinion, no proof.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

DIGITS = 60
Condition = tuple[mpf, str, mpf]


def _fraction(text: Any) -> Fraction:
    return Fraction(str(text))


def _number(text: Any) -> mpf:
    value = _fraction(text)
    return mpf(value.numerator) / value.denominator


def _dot(a: list[Any], b: list[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


class Instance:
    """Keys, scores, loss, rule and chosen tokens, read from the plain tree of a certificate; keys form only."""

    def __init__(self, tree: Any) -> None:
        given = tree["given"]
        self.keys = [[[_fraction(x) for x in row] for row in rows] for rows in given["keys"]]
        self.scores = [[_fraction(x) for x in row] for row in given["scores"]]
        self.loss = given["loss"]
        self.rule = given["descent"]["rule"]
        self.step = _fraction(given["descent"].get("step", "0"))
        self.alpha = [int(i) for i in tree["asserts"]["indices"]]
        self.n = len(self.keys)
        self.pairs = [(i, t) for i in range(self.n) for t in range(len(self.keys[i])) if t != self.alpha[i]]
        self.z = {
            (i, t): [a - b for a, b in zip(self.keys[i][self.alpha[i]], self.keys[i][t], strict=True)]
            for i, t in self.pairs
        }
        self.g = {(i, t): self.scores[i][self.alpha[i]] - self.scores[i][t] for i, t in self.pairs}
        multipliers = {
            (int(m["input"]), int(m["token"])): _fraction(m["multiplier"]) for m in tree["witness"]["multipliers"]
        }
        size = len(self.keys[0][0])
        self.p = [sum((m * self.z[j][k] for j, m in multipliers.items()), Fraction(0)) for k in range(size)]
        self.multipliers = multipliers

    def slope(self, x: Fraction) -> mpf:
        """-l'."""
        v = mpf(x.numerator) / x.denominator
        return {"linear": mpf(1), "logistic": 1 / (1 + mp.exp(v)), "exponential": mp.exp(-v)}[self.loss]

    def curvature(self, low: Fraction, high: Fraction) -> mpf:
        """max l'' on an interval."""
        if self.loss == "linear":
            return mpf(0)
        if self.loss == "exponential":
            return self.slope(low)
        x = Fraction(0) if low <= 0 <= high else min(low, high, key=abs)
        v = mpf(x.numerator) / x.denominator
        return 1 / (2 + 2 * mp.cosh(v))


class Local:
    """What theorems D and F share: the geometry, and Lemmas 3 and 4."""

    def __init__(self, tree: Any) -> None:
        self.data = data = Instance(tree)
        self.norm2 = _dot(data.p, data.p)
        self.Xi = 1 / mp.sqrt(_number(self.norm2))
        products = {j: _dot(data.z[j], data.p) for j in data.pairs}
        self.b = {j: self.Xi * _number(products[j]) for j in data.pairs}
        self.slack = {j: products[j] - 1 for j in data.pairs}
        self.delta = {j: self.Xi * _number(self.slack[j]) for j in data.pairs}
        self.zp = {j: self.across(data.z[j]) for j in data.pairs}
        self.zeta = {j: mp.sqrt(_number(_dot(self.zp[j], self.zp[j]))) for j in data.pairs}
        far = tree["witness"]["theorem"].get("far")
        self.G = [j for j in data.pairs if data.g[j] > 0 and (far is None or self.slack[j] <= _fraction(far))]
        # Those that score no less than the chosen ones, and those that are demoted.
        self.B = [j for j in data.pairs if j not in self.G]
        chosen = [data.scores[i][data.alpha[i]] for i in range(data.n)]
        self.c = [data.slope(x) for x in chosen]
        self.M1 = [data.slope(min(row)) for row in data.scores]
        self.M0 = [data.curvature(min(row), max(row)) for row in data.scores]
        self.cg = {j: self.c[j[0]] * _number(data.g[j]) for j in self.G}
        total = sum(data.multipliers.values())
        self.w = mp.exp(
            sum(_number(m / total) * mp.log(self.cg[j] / _number(m / total)) for j, m in data.multipliers.items())
        )
        gaps = [[_number(data.g[j]) for j in self.G if j[0] == i] for i in range(data.n)]
        self.gmin = {i: min(found) for i, found in enumerate(gaps) if found}
        self.Dg = max(
            mp.sqrt(_number(sum((x - y) ** 2 for x, y in zip(data.z[a], data.z[b], strict=True))))
            for a in self.G
            for b in self.G
        )
        self.zg = max(self.zeta[j] for j in self.G)

    def across(self, row: list[Fraction]) -> list[Fraction]:
        share = _dot(row, self.data.p) / self.norm2
        return [x - share * y for x, y in zip(row, self.data.p, strict=True)]

    def lemma_3(self, P: mpf, r: dict[tuple[int, int], mpf]) -> None:
        """Sets factors, theta_+-, kappa, d and e."""
        R = [sum((r[t] / self.w for t in self.B if t[0] == i), mpf(0)) for i in range(self.data.n)]
        gap = {t: _number(self.data.g[t]) for t in self.B}
        below = [
            sum((-gap[t] * r[t] / self.w for t in self.B if t[0] == i and gap[t] < 0), mpf(0))
            for i in range(self.data.n)
        ]
        above = [
            sum((gap[t] * r[t] / self.w for t in self.B if t[0] == i and gap[t] > 0), mpf(0))
            for i in range(self.data.n)
        ]
        # Of each input how far the mean gap may be above 0 and below it.
        top = [P * above[i] + (P / self.c[i] if i in self.gmin else 0) for i in range(self.data.n)]
        bottom = [P * below[i] for i in range(self.data.n)]
        self.factors, high, low = [], [], []
        for i, g in self.gmin.items():
            one = 1 - P * (1 / (self.c[i] * g) + R[i])
            two = 1 - top[i] / g
            three = 1 - self.M0[i] * bottom[i] / self.c[i]
            self.factors += [one, two, three]
            low.append(one * min(two, three))
            high += [1 + self.M0[i] * top[i] / self.c[i], 1 + bottom[i] / g]
        self.high, self.low = max(high), min(low)
        self.kappa = {}
        for t in self.B:
            i = t[0]
            slope = min(self.M1[i], self.c[i] + self.M0[i] * top[i])
            apart = max(abs(gap[t] - top[i]), abs(gap[t] + bottom[i]))
            self.kappa[t] = slope * apart / (self.low * self.w)
        self.d = (self.high / self.low - 1) / 4 * self.Dg
        self.e = sum(
            (self.kappa[t] * mp.sqrt(_number(_dot(self.data.z[t], self.data.z[t]))) * r[t] for t in self.B), mpf(0)
        )
        self.xi = self.Xi - sum((self.kappa[t] * self.b[t] * r[t] for t in self.B), mpf(0))

    def longest(self, P: mpf) -> mpf:
        """What the move of one step is bounded by."""
        step = _number(self.data.step)
        if self.data.rule == "flow":
            return mpf(0)
        return step / self.xi if self.data.rule == "normalised" else step / self.data.n * self.high * P

    def chi(self, move: mpf) -> mpf:
        d, e = self.d / self.Xi, self.e / self.Xi
        return 1 - d - (1 + d) * e - self.Dg**2 / 8 * move * (1 + e) ** 2


def _lambda(s: mpf, move: mpf) -> mpf:
    return 1 / s if move == 0 else -move / mp.expm1(-s * move)


def conditions(tree: Any, point: list[mpf] | None = None) -> dict[str, Condition]:
    """The conditions of the certificate's theorem at p(K) = `point`, or on its cone; by the kernel's names."""
    with mp.workdps(DIGITS):
        data = Local(tree)
        slacks = [data.slack[t] for t in data.B if data.data.g[t] <= 0]
        first = {"optimality": (_number(min(slacks)), ">", mpf(0))} if slacks else {}
        theorem = tree["witness"]["theorem"]
        if theorem["name"] == "cone":
            return {**first, **_cone(data, tree["given"]["start"]["cone"], _number(theorem["slope"]))}
        assert point is not None
        found = _tube if theorem["name"] == "tube" else _local
        return {**first, **found(data, theorem, point)}


def _local(k: Local, theorem: Any, point: list[mpf]) -> dict[str, Condition]:
    unit = [k.Xi * _number(x) for x in k.data.p]
    x0 = _dot(point, unit)
    q = [_number(x) for x in k.across([_fraction(x) for x in theorem["reference"]])]
    y0 = mp.sqrt(sum((a - x0 * u - b) ** 2 for a, u, b in zip(point, unit, q, strict=True)))
    P0 = sum(k.cg[j] * mp.exp(-_dot([_number(x) for x in k.data.z[j]], point)) for j in k.G)
    fractions = dict(zip(k.B, map(_number, theorem.get("fractions", [])), strict=True))
    Omega, E, chi = (_number(theorem.get(name, default)) for name, default in
                     (("inflation", "1"), ("setback", "0"), ("progress", "0")))  # fmt: skip
    move, near = _number(theorem.get("move", "0")), _fraction(theorem.get("near", "0"))
    aside = _number(theorem.get("sideways", "0"))
    found: dict[str, Condition] = {}
    if k.B:
        found["fractions.above"] = (min(fractions.values()), ">", mpf(0))
        found["fractions.below"] = (max(fractions.values()), "<", mpf(1))
        found["inflation"] = (Omega, ">", mpf(1))
        found["sideways"] = (aside, ">=", mpf(0))
    found["setback"], found["near"] = (E, ">=", mpf(0)), (_number(near), ">=", mpf(0))
    if k.data.rule != "flow":
        found["move.range"] = (move, ">", mpf(0))
    found["progress.range"] = (chi, ">", mpf(0))
    if not all(map(holds, found.values())):
        return found
    tilt = {j: _dot([_number(x) for x in k.zp[j]], q) for j in k.data.pairs}
    share = {j: k.cg[j] / k.w * mp.exp(-k.delta[j] * (x0 - E) - tilt[j]) for j in k.G}
    kappa = sum(share[j] for j in k.G if k.slack[j] <= near) - 1
    K = sum((share[j] * _lambda(k.delta[j] * k.Xi, move) for j in k.G if k.slack[j] > near), mpf(0))
    rate = chi * k.Xi**2
    squares = mpf(0)
    if k.data.rule == "gradient":
        squares = k.zg**2 * move * _lambda(rate, move)
    elif k.data.rule == "normalised":
        kappa += k.zg**2 * move / 2
    width = mp.sqrt(y0**2 + 2 * K + squares)
    lam = {t: fractions[t] * k.delta[t] * k.Xi for t in k.B}
    lateral = {t: k.zeta[t] * (width + aside) + k.zeta[t] ** 2 * kappa / (2 * lam[t]) for t in k.B}
    first = {t: mp.exp(-k.delta[t] * x0 - tilt[t] + lateral[t]) for t in k.B}
    r = {t: Omega * first[t] for t in k.B}
    k.lemma_3(P0, r)
    found["factors"], found["forward"] = (min(k.factors), ">", mpf(0)), (k.xi, ">", mpf(0))
    if min(k.factors) <= 0 or k.xi <= 0:
        return found
    if k.data.rule != "flow":
        found["move"] = (k.longest(P0), "<=", move)
    Es = k.d * _lambda(rate, move)
    fade = {t: _lambda(k.delta[t] * k.Xi - lam[t], move) for t in k.B}
    found["progress"] = (chi, "<=", k.chi(move))
    if k.B:
        S = max(k.zeta[t] for t in k.B) * max(Es - aside, mpf(0))
        for t in k.B:
            beta = max(k.delta[s] * k.b[t] + k.zeta[s] * k.zeta[t] for s in k.B)
            S += k.kappa[t] * beta * first[t] * fade[t]
        found["contraction"] = (S, "<=", 1 - 1 / Omega)
        found["drift"] = (sum(k.kappa[t] * k.b[t] * r[t] * fade[t] for t in k.B), "<=", E)
    return found


def _basis(rows: list[list[mpf]]) -> list[list[mpf]]:
    """Orthonormal vectors with the span of these."""
    found: list[list[mpf]] = []
    for row in rows:
        rest = _rest(row, found)
        length = mp.sqrt(_dot(rest, rest))
        if length > mpf("1e-20"):
            found.append([x / length for x in rest])
    return found


def _rest(vector: list[mpf], basis: list[list[mpf]]) -> list[mpf]:
    """What is orthogonal to the basis."""
    for row in basis:
        share = _dot(vector, row)
        vector = [x - share * y for x, y in zip(vector, row, strict=True)]
    return vector


def _length(vector: list[mpf]) -> mpf:
    return mp.sqrt(_dot(vector, vector))


def _tube(k: Local, theorem: Any, point: list[mpf]) -> dict[str, Condition]:
    rho, nu, mu = (_number(theorem[name]) for name in ("radius", "aside", "curvature"))
    unit = [k.Xi * _number(x) for x in k.data.p]
    x0 = _dot(point, unit)
    q = [_number(x) for x in k.across([_fraction(x) for x in theorem["reference"]])]
    apart = [a - x0 * u - b for a, u, b in zip(point, unit, q, strict=True)]
    zp = {j: [_number(x) for x in k.zp[j]] for j in k.data.pairs}
    near = [j for j in k.G if k.slack[j] == 0]
    far = [j for j in k.G if k.slack[j] != 0]
    basis = _basis([zp[j] for j in near])
    mass = {j: k.cg[j] * mp.exp(-_dot(zp[j], q)) for j in near}
    total = sum(mass.values())
    points = {j: [_dot(row, zp[j]) for row in basis] for j in near}
    mean = [sum(mass[j] / total * points[j][a] for j in near) for a in range(len(basis))]
    table = mp.matrix(len(basis), len(basis))
    for a in range(len(basis)):
        for b in range(len(basis)):
            table[a, b] = sum(mass[j] / total * (points[j][a] - mean[a]) * (points[j][b] - mean[b]) for j in near)
            table[a, b] -= mu if a == b else 0
    minors = [mp.det(table[: a + 1, : a + 1]) for a in range(len(basis))]
    pivots = [mpf(1), *(now / before for now, before in zip(minors, [mpf(1), *minors], strict=False))]
    inside = _length([_dot(row, apart) for row in basis])
    found: dict[str, Condition] = {"curvature": (min(pivots), ">", mpf(0)), "radius": (inside, "<=", rho)}
    if not all(map(holds, found.values())):
        return found
    along = {j: _length([_dot(row, zp[j]) for row in basis]) for j in [*far, *k.B]}
    beside = {j: _length(_rest(zp[j], basis)) for j in [*far, *k.B]}
    reach = {j: -k.delta[j] * x0 - _dot(zp[j], q) + beside[j] * nu for j in [*far, *k.B]}
    weak = {j: k.cg[j] / k.w * mp.exp(reach[j]) for j in far}
    strong = {j: weak[j] * mp.exp(along[j] * rho) for j in far}
    r = {t: mp.exp(reach[t] + along[t] * rho) for t in k.B}
    P0 = sum(k.cg[j] * mp.exp(-_dot([_number(x) for x in k.data.z[j]], point)) for j in k.G)
    k.lemma_3(P0, r)
    found["factors"], found["forward"] = (min(k.factors), ">", mpf(0)), (k.xi, ">", mpf(0))
    if min(k.factors) <= 0 or k.xi <= 0:
        return found
    move = k.longest(P0)
    found["progress"] = (k.chi(move), ">", mpf(0))
    if k.chi(move) <= 0:
        return found
    fade = {j: _lambda(k.delta[j] * k.xi, move) for j in [*far, *k.B]}
    drift = sum((k.high / k.low * strong[j] * beside[j] * fade[j] for j in far), mpf(0))
    drift += sum((k.kappa[t] * r[t] * beside[t] * fade[t] for t in k.B), mpf(0))
    found["aside"] = (_length(_rest(apart, basis)) + drift, "<", nu)
    across = [[x - y for x, y in zip(zp[a], zp[b], strict=True)] for a in near for b in near]
    wide = max(map(_length, across)) * rho
    pull = mu / (1 + sum(strong.values(), mpf(0))) * -mp.expm1(-wide) / wide * (1 - k.Dg**2 * move / 8)
    # What each pushes, and what it may move in all.
    pushes = [(_length(mean), None), (k.d, _lambda(k.chi(move) * k.Xi**2, move))]
    pushes += [(weak[j] * along[j], fade[j]) for j in far] + [(k.kappa[t] * along[t] * r[t], fade[t]) for t in k.B]
    short = [(size, most) for size, most in pushes if most is not None and most * pull < 1]
    together = sum(size for size, _ in pushes)
    held = together - sum((size for size, _ in short), mpf(0))
    passing = sum((size * most for size, most in short), mpf(0))
    found["pull"] = (min(max(inside, together / pull), max(inside, held / pull) + passing), "<", rho)
    return found


def _cone(k: Local, cone: Any, tau: mpf) -> dict[str, Condition]:
    mu, R = _number(cone["opening"]), _number(cone["norm"])
    X, tau0 = (1 - mu) * R, mp.sqrt(1 / (1 - mu) ** 2 - 1)
    nu = {t: k.delta[t] - tau * k.zeta[t] for t in k.B}
    narrow = min([k.b[j] - tau * k.zeta[j] for j in k.G] + list(nu.values()))
    found: dict[str, Condition] = {"slope": (narrow, ">", mpf(0))}
    if narrow <= 0:
        return found
    P = sum(k.cg[j] * mp.exp(-(k.b[j] - tau * k.zeta[j]) * X) for j in k.G)
    r = {t: mp.exp(-nu[t] * X) for t in k.B}
    k.lemma_3(P, r)
    found["factors"], found["forward"] = (min(k.factors), ">", mpf(0)), (k.xi, ">", mpf(0))
    if min(k.factors) <= 0 or k.xi <= 0:
        return found
    move = k.longest(P)
    chi = k.chi(move)
    found["progress"] = (chi, ">", mpf(0))
    if chi <= 0:
        return found
    rate = chi * k.Xi**2
    kappa = sum(k.cg[j] / k.w * mp.exp(-k.delta[j] * X) for j in k.G) - 1
    lateral = mpf(0)
    if k.data.rule == "gradient":
        lateral = k.zg * mp.sqrt(move * _lambda(rate, move))
    elif k.data.rule == "normalised":
        kappa += k.zg**2 * move / 2
    deviation = kappa / (2 * tau * k.xi) + lateral + k.d * _lambda(rate, move)
    deviation += sum((k.kappa[t] * k.zeta[t] * r[t] * _lambda(nu[t] * k.xi, move) for t in k.B), mpf(0))
    return {**found, "room": (deviation, "<", (tau - tau0) * X)}


def holds(condition: Condition) -> bool:
    """Whether a condition is true, as far as mpmath says."""
    left, relation, right = condition
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[relation])


# -- descent in doubles


def descend(tree: Any, start: Any, steps: int) -> np.ndarray[Any, Any]:
    """p(steps), from certificates of the rules gradient and normalised; of the flow by tiny steps of time 1/100."""
    data = Instance(tree)
    # Weights relative to the chosen tokens: nothing cancels where these have almost all weight.
    rows = [np.array([[float(x) for x in data.z[j]] for j in data.pairs if j[0] == i]) for i in range(data.n)]
    gaps = [np.array([float(data.g[j]) for j in data.pairs if j[0] == i]) for i in range(data.n)]
    chosen = [float(scores[a]) for scores, a in zip(data.scores, data.alpha, strict=True)]
    point, step = np.array([float(x) for x in start]), float(data.step)
    for _ in range(steps):
        downhill = np.zeros(len(point))
        for z, g, score in zip(rows, gaps, chosen, strict=True):
            if len(g) == 0:
                continue
            logits = -z @ point
            shift = max(0.0, float(logits.max()))
            weights = np.exp(logits - shift)
            weights /= np.exp(-shift) + weights.sum()
            gap = float(weights @ g)
            mean = score - gap
            slope = {"linear": 1.0, "logistic": 1 / (1 + np.exp(mean)), "exponential": np.exp(-mean)}[data.loss]
            downhill += slope * (weights * (g - gap)) @ z / data.n
        if data.rule == "normalised":
            downhill = downhill * step / np.linalg.norm(downhill)
        else:
            downhill = downhill * (step if data.rule == "gradient" else 0.01)
        point = point + downhill
    return point


def loose(tree: Any, point: np.ndarray[Any, Any]) -> float:
    """1 - cos of the angle between a point and p_mm."""
    direction = np.array([float(x) for x in Instance(tree).p])
    return float(1 - point @ direction / np.linalg.norm(point) / np.linalg.norm(direction))
