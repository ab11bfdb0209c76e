"""Whether a certificate of `joint-max-margin` is true: a second opinion that shares no code with the kernel.

The exact parts are decided by fractions, with scipy's non-negative least squares for the multipliers. What is
said of attention and of minimisers is false where numpy finds weights of a larger label margin, or a minimiser that
breaks a bound; it is shown where the proof of the claim's page, in mpmath with the witness, gives the bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import nnls

from tools.truth.joint_minimiser import Instance, minimiser, softmax
from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import (
    Table,
    dot,
    identity_matrix,
    minus,
    read_bounds,
    read_count,
    read_counts,
    read_inputs,
    read_positive,
    read_table,
    read_vector,
    require,
    require_record,
    times,
    to_real,
)

Array = np.ndarray[Any, Any]
_DIGITS = 60
# Losses differ by weights of attention, which are as small as e^(-|p|).
_LOSS_DIGITS = 400
# How far a bound must be from the number to count.
_VISIBLE = 1e-9


@dataclass(frozen=True)
class _Given:
    inputs: list[Table]
    labels: list[int]
    indices: list[int]
    W: Table

    @property
    def rows(self) -> Table:
        """Y_i x_{i alpha_i}."""
        return [[y * x for x in X[a]] for X, y, a in zip(self.inputs, self.labels, self.indices, strict=True)]

    def pairs(self) -> list[tuple[int, int]]:
        return [(i, t) for i, X in enumerate(self.inputs) for t in range(len(X)) if t != self.indices[i]]

    def gap(self, i: int, t: int) -> list[Fraction]:
        """x_{i alpha_i} - x_it."""
        return minus(self.inputs[i][self.indices[i]], self.inputs[i][t])

    def key_gap(self, i: int, t: int) -> list[Fraction]:
        return times(self.W, self.gap(i, t))


def judge_joint(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """The truth of the statement, and whether the witness shows it."""
    known = _read_given(given, folder)
    n, d, k = len(known.inputs), len(known.inputs[0][0]), len(known.W)
    require_record(asserts, "asserts", {"v", "support", "p"}, {"label_margin", "drop", "quadratic_drop", "path"})
    v, p = read_vector(asserts["v"], folder), read_vector(asserts["p"], folder)
    require(len(v) == d and len(p) == k, "v like a token and p like a key")
    support = read_counts(asserts["support"])
    require(support == sorted(set(support)) and support[-1] < n, "support inputs in order")
    low, high = _margins(asserts.get("label_margin"))
    drop = read_positive(asserts["drop"]) if "drop" in asserts else None
    slow, nu_slow = _read_quadratic(asserts.get("quadratic_drop"), support)
    fast = [i for i in support if i not in slow]
    path = _read_path(asserts.get("path"))
    mu, lam, comparators = _read_witness(witness, known, len(path[1]) if path else 0, folder)
    levels = [Fraction(i in support) for i, _ in known.pairs()]
    gaps = [known.key_gap(i, t) for i, t in known.pairs()]
    ones = [Fraction(1)] * n
    true_v = _is_solution(known.rows, ones, v)
    if true_v and [i for i, row in enumerate(known.rows) if dot(row, v) == 1] != support:
        return Judgement(Truth.FALSE, 1.0, "support")
    if not true_v:
        return Judgement(Truth.FALSE, 1.0, "v")
    if any(p) != any(levels) or (any(p) and not _is_solution(gaps, levels, p)):
        return Judgement(Truth.FALSE, 1.0, "p")
    squared = 1 / dot(v, v)
    if (low is not None and low * low > squared) or (high is not None and high * high < squared):
        return Judgement(Truth.FALSE, 1.0, "label_margin")
    shown = _is_shown(known.rows, ones, v, mu) and any(p) and _is_shown(gaps, levels, p, lam)
    slack = 1.0
    gamma = 1 / float(dot(v, v)) ** 0.5
    if drop is not None:
        shown = shown and bool(fast) and all(mu.get(i, 0) > 0 for i in fast)
        if larger := _larger_margin(known, fast or support, lambda off: float(drop) * off, gamma):
            return Judgement(Truth.FALSE, larger, "drop")
    if slow and (larger := _larger_margin(known, slow, lambda off: float(nu_slow) * off**2, gamma)):
        return Judgement(Truth.FALSE, larger, "quadratic_drop")
    if shown and (drop is not None or slow or path):
        with mp.workdps(_DIGITS):
            nu = _drop(known, v, mu)
            slack = min(slack, float(nu - to_real(drop) if drop is not None else nu))
            if slow and nu > 0:
                least = min([nu, *(_quadratic(known, v, i, nu) for i in slow if i not in mu)])
                slack = min(slack, float(least - to_real(nu_slow)))
    for entry, stated in enumerate(path[1] if path else []):
        assert path is not None
        if wrong := _broken(known, path[0], stated, v, p, support, comparators.get(entry, {})):
            return Judgement(Truth.FALSE, wrong, f"path[{entry}]")
        if shown:
            with mp.workdps(_DIGITS):
                slack = min(slack, _path_slack(known, path[0], stated, v, p, (mu, lam), comparators.get(entry)))
    if not shown or slack < _VISIBLE:
        # Closer than this evaluation tells, or for another reason than the witness gives.
        return Judgement(Truth.OPEN, slack, provable=shown and slack > -_VISIBLE)
    return Judgement(Truth.TRUE, slack)


# -- reading


def _read_given(given: Any, folder: Path) -> _Given:
    require_record(given, "given", {"tokens", "indices"}, {"W", "labels", "lengths"})
    inputs = read_inputs(given, "tokens", folder)
    d = len(inputs[0][0])
    W = read_table(given["W"], folder) if "W" in given else identity_matrix(d)
    require(len(W[0]) == d, "W as wide as a token")
    labels = read_vector(given["labels"], folder) if "labels" in given else [Fraction(1)] * len(inputs)
    require(len(labels) == len(inputs) and all(abs(y) == 1 for y in labels), "a label 1 or -1 for every input")
    indices = read_counts(given["indices"])
    require(len(indices) == len(inputs), "an index for every input")
    require(all(a < len(X) for a, X in zip(indices, inputs, strict=True)), "indices of tokens")
    require(any(len(X) > 1 for X in inputs), "more than one token")
    return _Given(inputs, [int(y) for y in labels], indices, W)


def _margins(node: Any) -> tuple[Fraction | None, Fraction | None]:
    if node is None:
        return None, None
    bounds = read_bounds(node, "label_margin")
    low, high = bounds.get("at_least"), bounds.get("at_most")
    require(all(bound is None or bound >= 0 for bound in (low, high)), "bounds >= 0")
    require(low is None or high is None or low <= high, "bounds in order")
    return low, high


_NORMS, _BOUNDS = ("head_norm", "attention_norm"), ("head_cosine", "attention_cosine", "mass")


def _read_quadratic(node: Any, support: list[int]) -> tuple[list[int], Fraction]:
    if node is None:
        return [], Fraction(0)
    require_record(node, "quadratic_drop", {"inputs", "nu"})
    inputs = read_counts(node["inputs"])
    require(inputs == sorted(set(inputs)) and set(inputs) <= set(support), "support inputs in order")
    return inputs, read_positive(node["nu"])


def _read_path(node: Any) -> tuple[str, list[dict[str, Fraction]]] | None:
    if node is None:
        return None
    require_record(node, "path", {"loss", "at"})
    require(node["loss"] in ("logistic", "exponential"), "a loss")
    require(isinstance(node["at"], list) and node["at"] != [], "entries")
    found = []
    for item in node["at"]:
        require_record(item, "an entry", set(_NORMS), set(_BOUNDS))
        require(len(item) > 2, "a bound")
        found.append({name: read_positive(value) for name, value in item.items()})
    return node["loss"], found


Multipliers = dict[int, Fraction]


def _read_witness(
    node: Any, known: _Given, entries: int, folder: Path
) -> tuple[Multipliers, Multipliers, dict[int, dict[str, list[Fraction]]]]:
    require_record(node, "witness", {"head_multipliers", "multipliers"}, {"comparators", "bits"})
    require("bits" not in node or read_count(node["bits"], 2) >= 2, "bits")
    mu: Multipliers = {}
    lam: Multipliers = {}
    pairs = known.pairs()
    for name, found in (("head_multipliers", mu), ("multipliers", lam)):
        require(isinstance(node[name], list) and node[name] != [], name)
        for item in node[name]:
            require_record(item, name, {"input", "multiplier"} | ({"token"} if found is lam else set()))
            i = read_count(item["input"])
            require(i < len(known.inputs), "an input")
            if found is lam:
                pair = (i, read_count(item["token"]))
                require(pair in pairs, "a pair")
                i = pairs.index(pair)
            require(i not in found, "once")
            found[i] = read_positive(item["multiplier"])
    comparators: dict[int, dict[str, list[Fraction]]] = {}
    if "comparators" in node:
        require(isinstance(node["comparators"], list) and node["comparators"] != [], "comparators")
        for item in node["comparators"]:
            require_record(item, "a comparator", {"entry"}, {"head", "attention"})
            entry = read_count(item["entry"])
            require(entry < entries and entry not in comparators and len(item) > 1, "an entry, once")
            comparators[entry] = {
                name: read_vector(item[name], folder) for name in ("head", "attention") if name in item
            }
            sizes = {"head": len(known.inputs[0][0]), "attention": len(known.W)}
            require(all(len(x) == sizes[name] for name, x in comparators[entry].items()), "dimensions")
    return mu, lam, comparators


# -- exact parts


def _is_solution(rows: Table, levels: list[Fraction], point: list[Fraction]) -> bool:
    """Whether the point has least norm: it satisfies all constraints and is in the cone of the tight rows."""
    products = [dot(row, point) for row in rows]
    if any(product < level for product, level in zip(products, levels, strict=True)):
        return False
    tight = [row for row, product, level in zip(rows, products, levels, strict=True) if product == level]
    if not tight:
        return False
    table = np.array([[float(x) for x in row] for row in tight]).T
    goal = np.array([float(x) for x in point])
    scale = np.maximum(np.linalg.norm(table, axis=0), 1e-300)
    _, residual = nnls(table / scale, goal)
    return bool(residual <= 1e-9 * np.linalg.norm(goal))


def _is_shown(rows: Table, levels: list[Fraction], point: list[Fraction], multipliers: Multipliers) -> bool:
    for axis, value in enumerate(point):
        if sum((m * rows[j][axis] for j, m in multipliers.items()), Fraction(0)) != value:
            return False
    return all(dot(rows[j], point) == levels[j] for j in multipliers)


# -- what attention can do


def _largest_margin(points: Array) -> float:
    """max over |v| <= 1 of min_i <v, y_i>: the distance of the convex hull of the y_i from 0."""
    n, d = points.shape
    table = np.vstack([points.T, 1e4 * np.ones((1, n))])
    weights, _ = nnls(table, np.append(np.zeros(d), 1e4))
    return float(np.linalg.norm(weights / weights.sum() @ points))


def _larger_margin(known: _Given, support: list[int], drop: Callable[[float], float], gamma: float) -> float:
    """By how much some attention has a larger label margin than is stated, if any is found; else 0. The largest weight
    that one of these inputs puts on other tokens than the chosen one takes this off gamma."""
    inputs = [y * np.array(X, dtype=float) for X, y in zip(known.inputs, known.labels, strict=True)]
    draw, worst = np.random.default_rng(0), 0.0
    corners = list(itertools.islice(itertools.product(*[range(len(X)) for X in inputs]), 300))
    trials = [[np.eye(len(X))[t] for X, t in zip(inputs, corner, strict=True)] for corner in corners]
    trials += [[draw.dirichlet(np.full(len(X), 0.5)) for X in inputs] for _ in range(40)]
    # One input alone, by a little: the least that costs anything to second order.
    ones = [np.eye(len(X))[a] for X, a in zip(inputs, known.indices, strict=True)]
    for i, t, x in itertools.product(support, range(max(map(len, inputs))), (0.05, 0.3)):
        if t < len(inputs[i]):
            trials.append([*ones[:i], (1 - x) * ones[i] + x * np.eye(len(inputs[i]))[t], *ones[i + 1 :]])
    for weights in trials:
        off = max(1 - weights[i][known.indices[i]] for i in support)
        margin = _largest_margin(np.array([s @ X for s, X in zip(weights, inputs, strict=True)]))
        worst = max(worst, margin - gamma + drop(off))
    return worst if worst > 1e-6 else 0.0


def _broken(
    known: _Given,
    loss: str,
    stated: dict[str, Fraction],
    v: list[Fraction],
    p: list[Fraction],
    support: list[int],
    comparator: dict[str, list[Fraction]],
) -> float:
    """By how much a minimiser that was found breaks a bound; 0 where it breaks none by more than 10^-6."""
    inputs = [np.array(X, dtype=float) for X in known.inputs]
    instance = Instance(inputs, np.array(known.labels, dtype=float), np.array(known.W, dtype=float), loss)
    r, R = float(stated["head_norm"]), float(stated["attention_norm"])
    head, attention = np.array(v, dtype=float), np.array(p, dtype=float)
    if not np.any(attention):
        return 0.0
    start = (r * head / np.linalg.norm(head), R * attention / np.linalg.norm(attention))
    found_v, found_p = minimiser(instance, r, R, [start], seed=0, starts=2)
    values = {
        "head_cosine": _cosine(found_v, head),
        "attention_cosine": _cosine(found_p, attention),
        "mass": min(softmax(instance, found_p)[i][known.indices[i]] for i in support),
    }
    # Minimisers in doubles are worth little where the loss is flat: only gross errors count.
    worst = max(float(bound) - values[name] for name, bound in stated.items() if name in values)
    if any(stated.get(name, 0) > 1 for name in values):
        return float(worst)
    if worst <= 0.05:
        return 0.0
    # Where weights are far below the digits of doubles, any direction of attention looks minimal to them.
    exactly = [[Fraction(x) for x in part.tolist()] for part in (found_v, found_p)]
    other = [
        given if (given := comparator.get(name)) and dot(given, given) <= Fraction(norm) ** 2 else own
        for name, norm, own in zip(("head", "attention"), (r, R), exactly, strict=True)
    ]
    with mp.workdps(_LOSS_DIGITS):
        least = _log_loss(known, loss, exactly[0], exactly[1])
        better = (_log_loss(known, loss, head, way) < least for head in (exactly[0], other[0]) for way in other[1:])
        return 0.0 if any(better) else float(worst)


def _log_loss(known: _Given, loss: str, head: list[Fraction], way: list[Fraction]) -> mpf:
    """The logarithm of the loss, at the digits of the caller."""
    total = mpf(0)
    for X, y in zip(known.inputs, known.labels, strict=True):
        logits = _reals([dot([dot(row, x) for row in known.W], way) for x in X])
        powers = [mp.exp(x - max(logits)) for x in logits]
        scores = _reals([y * dot(x, head) for x in X])
        power = mp.exp(-mp.fsum(a * b for a, b in zip(powers, scores, strict=True)) / mp.fsum(powers))
        total += power if loss == "exponential" else mp.log1p(power)
    return mp.log(total)


def _cosine(a: Array, b: Array) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-300))


# -- the proof of the page, in mpmath


def _reals(entries: list[Fraction]) -> list[mpf]:
    return [to_real(x) for x in entries]


def _norm(entries: list[mpf]) -> mpf:
    return mp.sqrt(mp.fsum(x * x for x in entries))


def _drop(known: _Given, v: list[Fraction], mu: Multipliers) -> mpf:
    """nu by all choices of a token for every support input."""
    gamma, total, largest = 1 / _norm(_reals(v)), sum(mu.values()), Fraction(0)
    alpha = tuple(known.indices[i] for i in mu)
    for choice in itertools.product(*[range(len(known.inputs[i])) for i in mu]):
        if choice != alpha:
            mixed = [
                sum((mu[i] / total * known.labels[i] * known.inputs[i][t][a] for i, t in zip(mu, choice, strict=True)))
                for a in range(len(v))
            ]
            largest = max(largest, dot(mixed, mixed))
    return gamma - mp.sqrt(to_real(largest))


def _quadratic(known: _Given, v: list[Fraction], i: int, nu: mpf) -> mpf:
    """nu' for a tight input without multiplier."""
    gamma, y = 1 / _norm(_reals(v)), known.labels[i]
    centre = [x / dot(v, v) for x in v]
    off = [[y * a - b for a, b in zip(x, centre, strict=True)] for x in known.inputs[i]]
    others = [row for t, row in enumerate(off) if t != known.indices[i]]
    if not others:
        return nu
    if not any(any(row) for row in off):
        return mpf(0)
    h = max(mpf(0), -max(to_real(dot(v, row)) for row in others) * gamma)
    rho = max(_norm(_reals(row)) for row in off)
    tau = min(gamma * h / rho**2, nu / (h + rho + nu))
    return tau * h - (tau * rho) ** 2 / (2 * gamma)


def _path_slack(
    known: _Given,
    loss: str,
    stated: dict[str, Fraction],
    v: list[Fraction],
    p: list[Fraction],
    multipliers: tuple[Multipliers, Multipliers],
    comparator: dict[str, list[Fraction]] | None,
) -> float:
    """By how much the proof exceeds the bounds and its own conditions; negative where it does not."""
    r, R = _reals([stated["head_norm"], stated["attention_norm"]])
    comparator = comparator or {}
    for name, norm in (("head", stated["head_norm"]), ("attention", stated["attention_norm"])):
        if name in comparator and dot(comparator[name], comparator[name]) > norm * norm:
            return -1.0
    proof = _Proof(known, loss, (r, R), (v, p), multipliers, comparator)
    slacks = [proof.off, 1 - proof.off, proof.cosine]
    if "attention_cosine" in stated:
        slacks += proof.rooms
    if min(slacks) <= 0:
        return float(min(slacks))
    values = {"head_cosine": proof.head, "attention_cosine": proof.attention, "mass": proof.mass}
    for name, value in values.items():
        if name in stated:
            (bound,) = _reals([stated[name]])
            slacks.append((value() - bound) / max(abs(1 - bound), mpf(10) ** -30))
    return float(min(slacks))


class _Proof:
    """Steps 1 to 4 of the page."""

    def __init__(
        self,
        known: _Given,
        loss: str,
        norms: tuple[mpf, mpf],
        solutions: tuple[list[Fraction], list[Fraction]],
        multipliers: tuple[Multipliers, Multipliers],
        comparator: dict[str, list[Fraction]],
    ) -> None:
        self.known, self.loss, (self.r, self.R) = known, loss, norms
        v, p = _reals(solutions[0]), _reals(solutions[1])
        self.gamma, self.xi = 1 / _norm(v), 1 / _norm(p)
        self.u = [self.gamma * x for x in v]
        mu, self.lam = multipliers
        self.mu = dict(zip(mu, _reals([m / sum(mu.values()) for m in mu.values()]), strict=True))
        self.X = [[[y * x for x in _reals(row)] for row in X] for X, y in zip(known.inputs, known.labels, strict=True)]
        head = _reals(comparator["head"]) if "head" in comparator else [self.r * x for x in self.u]
        way = _reals(comparator["attention"]) if "attention" in comparator else [self.R * self.xi * x for x in p]
        self.compared, self.directions = (head, way), (self.u, [self.xi * x for x in p])
        self.s = [self._softmax(i, way) for i in range(len(self.X))]
        margins = [
            mp.fsum(s * self._dot(x, head) for s, x in zip(self.s[i], X, strict=True)) for i, X in enumerate(self.X)
        ]
        powers = [mp.exp(-y) for y in margins]
        self.E = mp.fsum(powers) if loss == "exponential" else mp.expm1(mp.fsum(mp.log1p(x) for x in powers))
        self.log_e0 = mp.log(self.E) + self.r * self.gamma
        lost = (self.log_e0 - self._entropy(self.mu.values())) / self.r
        self.off = lost / _drop(known, solutions[0], mu)
        moved = mp.fsum(
            m * self.off * max([_norm(self._gap(i, t)) for t in self._others(i)], default=0) for i, m in self.mu.items()
        )
        self.cosine = 1 - (lost + moved) / self.gamma
        for _ in range(8):
            if self.cosine > 0:
                floors = [m * max([mpf(0), *(-g for g in self._gaps(i))]) for i, m in self.mu.items()]
                self.cosine = max(self.cosine, 1 - (lost + self.off * mp.fsum(floors)) / self.gamma)
        self.good = self.cosine > 0 and all(g > 0 for i in self.mu for g in self._gaps(i))
        pairs = known.pairs()
        self.outside = sorted({pairs[j][0] for j in self.lam} - set(self.mu)) if self.cosine > 0 else []
        self.rooms, self.penalty = [], mpf(0)
        self.within = _reals([sum((m for j, m in self.lam.items() if pairs[j][0] in self.mu), Fraction(0))])[0]
        self.tight = [i for i, row in enumerate(known.rows) if dot(row, solutions[0]) == 1]
        for i in self.outside:
            room, share = self._room(i)
            self.rooms.append(room)
            if room > 0:
                weight = sum((m for j, m in self.lam.items() if pairs[j][0] == i), Fraction(0))
                self.penalty += _reals([weight])[0] * mp.log(share / (1 - share))

    def _room(self, i: int) -> tuple[mpf, mpf]:
        """By how much the margin of an input exceeds other scores, and the weight that the chosen token then has."""
        required = self.gamma - self.log_e0 / self.r
        others = max(-self._least(self.cosine, self._minus(self.X[i][t])) for t in self._others(i))
        chosen = -self._least(self.cosine, self._minus(self.X[i][self.known.indices[i]]))
        return required - others, (required - others) / (chosen - others) if required > others else mpf(0)

    def _gaps(self, i: int) -> list[mpf]:
        return [self._least(self.cosine, self._gap(i, t)) for t in self._others(i)]

    @staticmethod
    def _dot(a: list[mpf], b: list[mpf]) -> mpf:
        return mp.fsum(x * y for x, y in zip(a, b, strict=True))

    @staticmethod
    def _minus(a: list[mpf]) -> list[mpf]:
        return [-x for x in a]

    @staticmethod
    def _entropy(weights: Any) -> mpf:
        return -mp.fsum(w * mp.log(w) for w in weights if w > 0)

    def _others(self, i: int) -> list[int]:
        return [t for t in range(len(self.X[i])) if t != self.known.indices[i]]

    def _gap(self, i: int, t: int) -> list[mpf]:
        return [a - b for a, b in zip(self.X[i][self.known.indices[i]], self.X[i][t], strict=True)]

    def _softmax(self, i: int, way: list[mpf]) -> list[mpf]:
        logits = [
            self._dot([self._dot(_reals(row), _reals(x)) for row in self.known.W], way) for x in self.known.inputs[i]
        ]
        powers = [mp.exp(x - max(logits)) for x in logits]
        return [x / mp.fsum(powers) for x in powers]

    def _parts(self, a: list[mpf]) -> tuple[mpf, mpf]:
        along = self._dot(a, self.u)
        return along, _norm([x - along * y for x, y in zip(a, self.u, strict=True)])

    def _least(self, c: mpf, a: list[mpf]) -> mpf:
        along, across = self._parts(a)
        return min(along, c * along) - mp.sqrt(max(1 - c * c, 0)) * across

    def _tilt(self, share: dict[int, mpf]) -> mpf:
        theta = max(share.get(i, mpf(0)) / m for i, m in self.mu.items())
        rest = [theta * m - share.get(i, mpf(0)) for i, m in self.mu.items()]
        size = mp.fsum(rest)
        return size * (self.log_e0 - self._entropy([x / size for x in rest])) if size > mpf(10) ** -40 else mpf(0)

    def _excess(self, i: int) -> mpf:
        sine, total = mp.sqrt(max(1 - self.cosine**2, 0)), mpf(0)
        for t in self._others(i):
            along, across = self._parts(self._gap(i, t))
            total += self.s[i][t] * (along + sine * across)
        return mp.expm1(self.r * total)

    def _compared(self) -> mpf:
        total = mp.exp(self.log_e0) * max(self._excess(i) for i in self.mu)
        for i, X in enumerate(self.X):
            if i not in self.mu:
                good = all(self._least(self.cosine, self._gap(i, t)) > 0 for t in self._others(i))
                mixed = [
                    mp.fsum(s * x for s, x in zip(self.s[i], column, strict=True)) for column in zip(*X, strict=True)
                ]
                vector, factor = (X[self.known.indices[i]], self._excess(i)) if good else (mixed, mpf(1))
                total += factor * mp.exp(self.r * (self.gamma - self._least(self.cosine, vector)))
        return total

    @property
    def _correction(self) -> mpf:
        return mpf(0) if self.loss == "exponential" else self.E

    def _near(self) -> _Near | None:
        if not self.good:
            return None
        if self._known is None:
            self._known = _Near(self)
        return self._known

    _known: _Near | None = None

    def _near_cosine(self, which: int, distance: mpf | None) -> list[mpf]:
        if distance is None:
            return []
        point, u = self.compared[which], self.directions[which]
        along = self._dot(point, u)
        across = _norm([x - along * y for x, y in zip(point, u, strict=True)])
        return [mp.cos(mp.atan((across + distance) / (along - distance)))] if along > distance else []

    def head(self) -> mpf:
        near = self._near()
        return max([self.cosine, *(self._near_cosine(0, near.D) if near else [])])

    def attention(self) -> mpf:
        near = self._near()
        known = self._near_cosine(1, near.reach) if near else []
        return max([self._first_attention(), *known])

    def _first_attention(self) -> mpf:
        logarithms = [mp.log(1 / self.off - 1)]
        if self.good:
            pairs, shares = self.known.pairs(), dict[int, mpf]()
            found = mp.log(1 - self.off) - self._correction - mp.log(self._compared())
            for j, m in self.lam.items():
                i, t = pairs[j]
                if i in self.mu:
                    share = _reals([m])[0] / self.within
                    shares[i] = shares.get(i, mpf(0)) + share
                    found += share * mp.log(self.r * self._least(self.cosine, self._gap(i, t)) / share)
            logarithms.append(found - self._tilt(shares))
        return (max(logarithms) * self.within + self.penalty) * self.xi / self.R

    def mass(self) -> mpf:
        rest = max([1 - self._room(i)[1] for i in self.tight if i not in self.mu and self._others(i)], default=mpf(0))
        bounds = [max(rest, self.off)]
        if self.good:
            compared, largest = self._compared(), mpf(0)
            for i in self.mu:
                if self._others(i):
                    least = min(self.r * self._least(self.cosine, self._gap(i, t)) for t in self._others(i))
                    largest = max(largest, mp.exp(self._tilt({i: mpf(1)}) + self._correction) * compared / least)
            bounds.append(max(rest, largest))
            near = self._near()
            bounds += [max(near.e[i] for i in self.tight)] if near else []
        return 1 - min(bounds)


class _Near:
    """Steps 5 to 8 of the page, for inputs that are rows of pairs (w_it, z_it)."""

    def __init__(self, proof: _Proof) -> None:
        self.loss, self.R, known = proof.loss, proof.R, proof.known
        (self.v, self.p), self.dot = proof.compared, proof._dot
        self.spare = [
            max(n * n - self.dot(x, x), mpf(0)) for n, x in zip((proof.r, proof.R), proof.compared, strict=True)
        ]
        count, self.rows = len(proof.X), [X[a] for X, a in zip(proof.X, known.indices, strict=True)]
        self.every = range(count)
        self.w = [[proof._gap(i, t) for t in proof._others(i)] for i in self.every]
        self.z = [[_reals(known.key_gap(i, t)) for t in proof._others(i)] for i in self.every]
        self.s = [[proof.s[i][t] for t in proof._others(i)] for i in self.every]
        self.g = [[self.dot(w, self.v) for w in rows] for rows in self.w]
        self.G = [self.dot(s, g) for s, g in zip(self.s, self.g, strict=True)]
        self.gamma = [self.dot(row, self.v) for row in self.rows]
        moved = [self._mixed(s, w, len(self.v)) for s, w in zip(self.s, self.w, strict=True)]
        self.mean = [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(self.rows, moved, strict=True)]
        self.m = [self._slope(c - G) for c, G in zip(self.gamma, self.G, strict=True)]
        self.wide = [max(map(_norm, w), default=mpf(0)) for w in self.w]
        # Step 5.
        a = self._mixed(self.m, self.rows, len(self.v))
        floors = [self._floor(proof, i) for i in self.every]
        k = _norm(a) / proof.r
        lost = mp.fsum(m * (G + f) for m, G, f in zip(self.m, self.G, floors, strict=True))
        self.D = self._farthest(k, self._off(a, k, self.v), k * self.spare[0] / 2 + lost)
        # Steps 6 to 8.
        self.reach: mpf | None = None
        self.mean_of, self.proof = moved, proof
        self._move_by(lambda row: self.D * _norm(row))
        for _ in range(4):
            self._attend()
            self._narrow_head()
            self._narrow_attention()
        self._attend()

    def _move_by(self, bound: Any) -> None:
        self.far = [[bound(w) for w in rows] for rows in self.w]
        self.far_row, self.far_mean = [bound(x) for x in self.rows], [bound(x) for x in self.mean]
        self.far_moved = [bound(x) for x in self.mean_of]

    @staticmethod
    def _farthest(m: mpf, h: mpf, s: mpf) -> mpf:
        return (h + mp.sqrt(h * h + 2 * m * s)) / m

    @staticmethod
    def _off(a: list[mpf], k: mpf, x: list[mpf]) -> mpf:
        return _norm([b - k * y for b, y in zip(a, x, strict=True)])

    @staticmethod
    def _floor(proof: _Proof, i: int) -> mpf:
        if i in proof.mu:
            return mpf(0)
        return max([mpf(0), *(-proof.r * proof._least(proof.cosine, proof._gap(i, t)) for t in proof._others(i))])

    def _mixed(self, weights: list[mpf], rows: list[list[mpf]], size: int) -> list[mpf]:
        return [self.dot(weights, [row[k] for row in rows]) for k in range(size)]

    def _slope(self, y: mpf) -> mpf:
        return mp.exp(-y) if self.loss == "exponential" else 1 / (1 + mp.exp(y))

    def _gaps(self, i: int) -> tuple[mpf, mpf]:
        pairs = list(zip(self.g[i], self.far[i], strict=True))
        return min(g - far for g, far in pairs), max(g + far for g, far in pairs)

    def _is_good(self, i: int) -> bool:
        return not self.w[i] or self._gaps(i)[0] > 0

    def _attend(self) -> None:
        total = mpf(0)
        for i in self.every:
            if self._is_good(i):
                power = mp.exp(-self.gamma[i] + self.far_row[i])
                rise = mp.expm1(self.G[i] + self.far_moved[i])
                total += power * rise if self.loss == "exponential" else mp.log1p(power * rise / (1 + power))
            else:
                total += mp.exp(-self.gamma[i] + self.G[i] + self.far_mean[i])
        self.e, self.change, self.cost = [mpf(0) for _ in self.every], [mpf(0) for _ in self.every], {}
        for i in self.every:
            if not self.w[i]:
                continue
            off, self.e[i] = mp.fsum(self.s[i]), mpf(1)
            if self._is_good(i):
                power = mp.exp(self.gamma[i] + self.far_row[i])
                rise = power * total if self.loss == "exponential" else mp.expm1(total) * (1 + power)
                self.cost[i] = mp.log1p(rise)
                self.e[i] = min(self.e[i], self.cost[i] / self._gaps(i)[0])
            turned = None if self.reach is None else 2 * max(map(_norm, self.z[i])) * self.reach
            if turned is not None:
                self.e[i] = min(self.e[i], off * mp.exp(turned))
            self.change[i] = min(self.e[i] + off, mp.fsum(max(s, self.e[i]) for s in self.s[i]))
            if turned is not None:
                self.change[i] = min(self.change[i], max(self.e[i], off) * turned)

    def _narrow_head(self) -> None:
        a = self._mixed(self.m, self.mean, len(self.v))
        k = _norm(a) / self.proof.r
        least, weights, slopes, kept = k, list[mpf](), list[mpf](), mpf(31) / 32
        for i in self.every:
            power = self.change[i] * max(map(abs, self.g[i]), default=mpf(0))
            furthest = max(self.far[i], default=mpf(0))
            slope = self.m[i] * mp.exp(power)
            if i in self.cost:
                slope = min(slope, self._slope(self.gamma[i] - self.cost[i] - self.e[i] * furthest))
            slopes.append(slope)
            away = power + self.far_mean[i] + self.change[i] * furthest
            weight = self.m[i] * mp.exp(-away)
            if self.loss == "logistic":
                weight /= 1 + mp.exp(away - self.gamma[i] + self.G[i])
            weights.append(weight * kept)
            least -= weight * (self.change[i] * self.wide[i]) ** 2 * kept / (1 - kept)
        if least <= 0:
            return
        dual, longest = _metric(least, weights, self.mean)
        h = self._off(a, k, self.v) / mp.sqrt(least)
        for i in self.every:
            power = self.change[i] * max(map(abs, self.g[i]), default=mpf(0))
            size = dual(self.mean[i])
            h += min(self.m[i] * mp.expm1(power), self.m[i] + slopes[i]) * size
            h += slopes[i] * self.change[i] * max(map(dual, self.w[i]), default=mpf(0))
        radius = self._farthest(mpf(1), h, k * self.spare[0] / 2)
        self.D = min(self.D, radius * longest)
        self._move_by(lambda row: min(self.D * _norm(row), radius * dual(row)))

    def _narrow_attention(self) -> None:
        b, bend, convex = [mpf(0)] * len(self.p), mpf(0), list[tuple[mpf, list[mpf], mpf]]()
        parts, bent = [], False
        for i in self.every:
            if not self.z[i]:
                continue
            middle = self._mixed(self.s[i], self.z[i], len(self.p))
            centred = [[x - y for x, y in zip(z, middle, strict=True)] for z in self.z[i]]
            turn = self._mixed([s * g for s, g in zip(self.s[i], self.g[i], strict=True)], centred, len(self.p))
            parts.append((i, turn, centred))
            b = [x + self.m[i] * y for x, y in zip(b, turn, strict=True)]
            low, high = self._gaps(i)
            share, longest = max(self.e[i], mp.fsum(self.s[i])), max(map(_norm, self.z[i]))
            found = (1 - share) * low - share * high
            if self._is_good(i) and found >= 0:
                weight = self._slope(self.gamma[i] + self.far_row[i]) * found * (1 - share)
                convex += [(weight * s, z, longest) for s, z in zip(self.s[i], self.z[i], strict=True)]
            else:
                high, low, bent = max(high, mpf(0)), min(low, mpf(0)), True
                bend += mp.exp(self.far_row[i] + high - self.gamma[i]) * (high - low) * longest**2
        k = _norm(b) / self.R
        if k <= bend:
            return
        still, spare = self._off(b, k, self.p), k * self.spare[1] / 2
        bounds = [] if self.reach is None else [self.reach]
        bounds.append(self._farthest(k - bend, still + self._uncertain(parts, _norm), spare))
        for radius in () if bent else (mpf(2) ** n for n in range(-6, 1)):
            weights = [w * mp.exp(-2 * longest * radius) for w, _, longest in convex]
            dual, longest = _metric(k, weights, [z for _, z, _ in convex])
            h = still / mp.sqrt(k) + self._uncertain(parts, dual)
            found = self._farthest(mpf(1), h, spare) * longest
            if found < radius:
                bounds.append(found)
                break
        self.reach = min(bounds)

    def _uncertain(self, parts: Any, size: Any) -> mpf:
        total = mpf(0)
        for i, turn, centred in parts:
            lever = mp.fsum(s * far * size(z) for s, far, z in zip(self.s[i], self.far[i], centred, strict=True))
            total += self.m[i] * (mp.expm1(self.far_mean[i]) * size(turn) + mp.exp(self.far_mean[i]) * lever)
        return total


def _metric(least: mpf, weights: list[mpf], rows: list[list[mpf]]) -> tuple[Any, mpf]:
    """The dual norm of |x|^2 = least |x|^2 + sum of weights times squares of products with rows, and the longest x."""
    size = len(rows[0])
    H = mp.matrix(size, size)
    for j in range(size):
        for k in range(size):
            H[j, k] = int(j == k) + mp.fsum(w * x[j] * x[k] for w, x in zip(weights, rows, strict=True)) / least
    inverse = H**-1

    def dual(row: list[mpf]) -> mpf:
        return mp.sqrt(mp.fsum(row[j] * inverse[j, k] * row[k] for j in range(size) for k in range(size)) / least)

    return dual, min(mp.sqrt(mp.fsum(inverse[k, k] for k in range(size)) / least), 1 / mp.sqrt(least))
