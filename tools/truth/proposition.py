"""Whether a certificate of `proposition-3-1` or `proposition-3-4` is true: a second opinion.

The published display is decided by fractions. Of a repaired form the bound that the witness names is computed by
other means than the kernel's (principal axes and monomials in mpmath, every length in doubles), which shows
it to be true or not to be shown; simulated prompts that exceed the display show it to be false.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tools.truth.class_display import judge_class
from tools.truth.judgement import Judgement, Truth
from tools.truth.laws import Box, Gaussian, Law, Mixture, Points, Signs, read_law
from tools.truth.prompt import read_weights
from tools.truth.reading import (
    NotAStatement,
    Table,
    dot,
    identity_matrix,
    in_doubles,
    is_semidefinite,
    read_count,
    read_number,
    read_scale,
    require,
    require_record,
    root_of,
    to_real,
    transposed,
)

Array = np.ndarray[Any, Any]
# How far a bound has to be from what is stated to count; doubles hold more.
_MARGIN = 1e-9
_MOST_LENGTHS = 100000
_SHORT, _LONGEST = 200, 10**18
_PROMPTS = 3000


@dataclass(frozen=True)
class _Setting:
    law: Law
    queries: Law
    U: Table
    V: Table
    factor: Fraction
    root: float
    error: str
    sigma: Fraction | None

    @property
    def power(self) -> int:
        """How often sigma^6 ln L is a factor of the display."""
        return 2 if self.error == "U" else 1

    @property
    def C(self) -> Table:  # noqa: N802
        return _covariance(self.law)

    @property
    def S(self) -> Table:  # noqa: N802
        return _covariance(self.queries)


def judge_proposition(first: bool, given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """`first`: proposition 3.1, and 3.4 otherwise."""
    if isinstance(given, dict) and "class" in given:
        return judge_class(first, given, asserts, witness, folder)
    named = {"U"} if isinstance(given, dict) and "U" in given else {"K", "Q"}
    optional = (named - {"U"}) | {"V", "scale", "sigma", "length", "constants"}
    require_record(given, "given", {"law", "queries"} | (named & {"U"}), optional)
    require_record(asserts, "asserts", set() if first else {"gradient"}, {"published", "repaired"})
    require(("published" in asserts) != ("repaired" in asserts), "one form")
    error = "output" if first else asserts["gradient"]
    require(error in ("output", "V", "U"), "the gradient")
    law, queries = read_law(given["law"], folder), read_law(given["queries"], folder)
    U, V = read_weights(given, law.dimension, folder)
    require(queries.dimension == len(U[0]), "queries of another dimension")
    for one in (law, queries):
        require(not any(_mean(one)), "a law that is not centred")
    sigma = read_number(given["sigma"]) if "sigma" in given else None
    if sigma is not None:
        require(sigma >= 1, "sigma")
        require(_is_sub_gaussian(law, sigma * sigma), "tokens that are not sub-Gaussian")
    V = identity_matrix(law.dimension) if error == "V" else V
    scale = read_scale(given)
    with mp.workdps(40):
        root = float(root_of(scale))
    factor = scale.square
    setting = _Setting(law, queries, U, V, factor, root, error, sigma)
    if "published" in asserts:
        return _published(setting, given, asserts["published"], witness)
    return _repaired(setting, given, asserts["repaired"], witness)


# -- the published display


def _published(setting: _Setting, given: Any, said: Any, witness: Any) -> Judgement:
    require(said in ("fails", "holds"), "fails or holds")
    require(witness == {}, "a witness")
    require(_is_sub_gaussian(setting.queries, Fraction(1)), "queries that are not sub-Gaussian")
    require("length" in given, "no length")
    length = read_count(given["length"], 1)
    constants = None
    if "constants" in given:
        require_record(given["constants"], "constants", {"c1", "c2"})
        constants = [read_number(given["constants"][name]) for name in ("c1", "c2")]
        require(min(constants) > 0 and setting.sigma is not None, "constants")
    require(length == 1 or constants is not None, "no constants")
    unscored = not any(any(row) for row in setting.U)
    gaussian = isinstance(setting.law, Gaussian)
    require(unscored or (length == 1 and gaussian), "no exact left side")
    require(setting.error != "U" or length == 1 or gaussian, "no exact left side")
    left = _left(setting, length)
    with mp.workdps(60):
        right = mpf(0)
        if length > 1:
            assert constants is not None
            assert setting.sigma is not None
            c1, c2 = map(to_real, constants)
            sigma = to_real(setting.sigma)
            right = c1 * (sigma**6 * mp.log(length)) ** setting.power / mpf(length) ** (c2 / sigma**2)
        size = max(to_real(left), right)
        if size == 0:
            return Judgement(Truth.TRUE if said == "holds" else Truth.FALSE, 1.0, "0 = 0")
        gap = (right - to_real(left)) / size
        if abs(gap) < mpf(10) ** -50:
            return Judgement(Truth.EQUAL, 0.0, "published")
        return Judgement(Truth.TRUE if (gap > 0) == (said == "holds") else Truth.FALSE, float(abs(gap)), "published")


def _left(setting: _Setting, length: int) -> Fraction:
    """Entry by entry, from the moments of a mean and of a sample covariance."""
    C, S, U, V = setting.C, setting.S, setting.U, setting.V
    VC = _product(V, C)
    spread = sum(dot(a, b) for a, b in zip(VC, V, strict=True))
    if setting.error == "U":
        size = setting.factor * sum(S[i][i] for i in range(len(S)))
        total = sum(C[i][i] for i in range(len(C)))
        square = sum(dot(row, row) for row in VC)
        return size * (square + (length - 1) * (square + spread * total)) / length**2
    moved = _product(VC, U)
    apart = sum(dot(_product([row], S)[0], row) for row in moved) if length == 1 else Fraction(0)
    return spread / length + setting.factor * apart


# -- the repaired form


def _repaired(setting: _Setting, given: Any, stated: Any, witness: Any) -> Judgement:
    require_record(stated, "repaired", {"c1", "c2"})
    c1, c2 = read_number(stated["c1"]), read_number(stated["c2"])
    require(c1 > 0 and c2 > 0, "constants")
    require("length" not in given and "constants" not in given, "an instance")
    require(setting.sigma is not None, "sigma")
    assert setting.sigma is not None
    rho = c2 / setting.sigma**2
    if isinstance(setting.law, Gaussian) and isinstance(setting.queries, Gaussian):
        worst = _gaussian_worst(setting, witness, rho)
    elif isinstance(setting.law, Box) and isinstance(setting.queries, Box):
        worst = _box_worst(setting, witness, rho)
    else:
        raise NotAStatement("other laws")
    with np.errstate(over="ignore"):
        ratio = worst / (float(c1) * float(setting.sigma) ** (6 * setting.power))
    if ratio < 1 - _MARGIN:
        return Judgement(Truth.TRUE, 1 - ratio, "the bound")
    if _exceeds(setting, float(c1), float(rho)):
        return Judgement(Truth.FALSE, 0.0, "simulation", provable=not ratio > 1 + _MARGIN)
    return Judgement(Truth.OPEN, 0.0, "the bound", provable=not ratio > 1 + _MARGIN)


def _gaussian_worst(setting: _Setting, witness: Any, rho: Fraction) -> float:
    """The largest bound * L^rho / (ln L)^power over all lengths; infinite where there is no proof."""
    require_record(witness, "witness", {"steps"})
    require(isinstance(witness["steps"], list) and witness["steps"] != [], "steps")
    steps = []
    for item in witness["steps"]:
        require_record(item, "a step", {"from"}, {"theta"})
        steps.append((read_count(item["from"], 1), read_number(item["theta"]) if "theta" in item else None))
        require(steps[-1][1] is None or 0 <= steps[-1][1] <= 1, "theta")
    starts = [start for start, _ in steps]
    require(starts[0] == 2 and starts == sorted(set(starts)) and starts[-1] <= _LONGEST, "steps")
    if steps[-1][1] is None or steps[-1][1] < rho:
        return np.inf
    worst = 0.0
    for i, (start, theta) in enumerate(steps):
        ends = np.array([start, steps[i + 1][0] - 1 if i + 1 < len(steps) else start], dtype=float)
        form = np.exp(float(rho) * np.log(ends) - setting.power * np.log(np.log(ends)))
        if theta is None:
            worst = max(worst, _logistic_mean(setting, start) * float(form.max()))
            continue
        with mp.workdps(50):
            log_bound = _log_bound(setting, theta)
        if log_bound == -np.inf:
            continue
        if log_bound == np.inf:
            return np.inf
        lengths = np.arange(start, ends[1] + 1) if ends[1] < start + 300 else np.exp(np.linspace(*np.log(ends), 300))
        lengths = np.append(lengths, ends)
        logs = log_bound - float(theta) * np.log(lengths - 1) + float(rho) * np.log(lengths)
        worst = max(worst, float(np.exp((logs - setting.power * np.log(np.log(lengths))).max())))
    return worst


def _logistic_mean(setting: _Setting, length: int) -> float:
    """E f(z) / (1 + (L - 1) e^{-s2(z)}) by a grid in the principal axes of s2; infinite where it is not found."""
    V, C, U, S = (in_doubles(table) for table in (setting.V, setting.C, setting.U, setting.S))
    squares, frame = np.linalg.eigh(S)
    root = setting.root * U @ (frame * np.sqrt(squares.clip(0)))
    stretch, axes = np.linalg.eigh(root.T @ C @ root)
    if setting.error == "U" or len(S) > 2:
        return np.inf
    shift = ((V @ C @ root @ axes) ** 2).sum(axis=0)
    x, w = np.polynomial.legendre.leggauss(1500 if len(S) == 1 else 500)
    x, w = 14 * x, 14 * w * np.exp(-98 * x**2) / np.sqrt(2 * np.pi)
    grid = np.stack(np.meshgrid(*[x**2] * len(S), indexing="ij"), -1)
    mass = np.prod(np.stack(np.meshgrid(*[w] * len(S), indexing="ij"), -1), -1)
    logistic = 1 / (1 + (length - 1) * np.exp(-(grid @ stretch)))
    return float((mass * logistic * (np.trace(V @ C @ V.T) + grid @ shift)).sum())


def _log_bound(setting: _Setting, theta: Fraction) -> float:
    """ln of theta^theta (1-theta)^(1-theta) E_z e^{theta s2(z)} f(z), in the principal axes of s2."""
    R = _root_of(setting.S)
    W = _congruent(setting.U, setting.C, setting.factor)
    values, frame = mp.eigsy(R.T * W * R)
    R = R * frame
    stretch = [1 - 2 * to_real(theta) * value for value in values]
    if min(stretch) <= mpf(10) ** -40:
        return np.inf
    mean = mp.fsum(
        coefficient * _monomials([R.T * form * R for form in forms], [1 / s for s in stretch])
        for coefficient, forms in _terms(setting)
    )
    if mean <= 0:
        return -np.inf
    peak = mp.fsum(x * mp.log(x) for x in (to_real(theta), 1 - to_real(theta)) if x > 0)
    return float(peak + mp.log(mean) - mp.log(mp.fprod(stretch)) / 2)


def _terms(setting: _Setting) -> list[tuple[mpf, list[Any]]]:
    """f(z) as sums of products of forms."""
    V, C, U = (mp.matrix([[to_real(x) for x in row] for row in table]) for table in (setting.V, setting.C, setting.U))
    factor, VC = to_real(setting.factor), V * C
    shift = C * U
    value_shift = V * shift
    spread, total = _trace(VC * V.T), _trace(C)
    if setting.error != "U":
        return [(spread, []), (factor, [value_shift.T * value_shift])]
    size = mp.eye(U.cols) * factor
    far, near = value_shift.T * value_shift * factor, shift.T * shift * factor
    across = value_shift.T * VC * shift * factor
    mixed = (across + across.T) / 2
    if not is_semidefinite(_exact_mixed(setting)) and total > 0:
        moved = VC * shift
        mixed = (far * total + moved.T * moved * factor / total) / 2
    return [
        (_trace(VC * VC.T) + spread * total, [size]),
        (total, [size, far]),
        (spread, [size, near]),
        (mpf(5) / 2, [size, mixed]),
        (mpf(13), [size, far, near]),
    ]


def _exact_mixed(setting: _Setting) -> Table:
    VC = _product(setting.V, setting.C)
    value_shift = _product(VC, setting.U)
    moved = _product(VC, _product(setting.C, setting.U))
    across = _product(transposed(value_shift), moved)
    return [[across[i][j] + across[j][i] for j in range(len(across))] for i in range(len(across))]


def _monomials(forms: Sequence[Any], variances: Sequence[mpf]) -> mpf:
    """E of the product of forms, monomial by monomial."""
    size, total = len(variances), mpf(0)
    pairs = [list(itertools.product(range(size), repeat=2))] * len(forms)
    for chosen in itertools.product(*pairs):
        powers = [sum(pair.count(i) for pair in chosen) for i in range(size)]
        if all(power % 2 == 0 for power in powers):
            moments = (mp.fac2(k - 1) * v ** (k // 2) for k, v in zip(powers, variances, strict=True) if k)
            total += mp.fprod(form[i, j] for form, (i, j) in zip(forms, chosen, strict=True)) * mp.fprod(moments)
    return total


def _box_worst(setting: _Setting, witness: Any, rho: Fraction) -> float:
    require_record(witness, "witness", {"t", "from"})
    share, start = read_number(witness["t"]), read_count(witness["from"], 1)
    require(0 < share < 1 and 2 <= start <= _MOST_LENGTHS, "t and from")
    assert isinstance(setting.law, Box)
    assert isinstance(setting.queries, Box)
    c, r = (np.array([float(x) for x in law.sizes]) for law in (setting.law, setting.queries))
    U, V = (np.abs(in_doubles(table)) for table in (setting.U, setting.V))
    y = c * abs(setting.root) * (U @ r)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        langevin = np.where(y > 1e-6, 1 / np.tanh(y) - 1 / y, y / 3)
    R = float(np.prod(1 + y * langevin))
    drift = np.minimum(y / 3, 0.25)
    moment = 0.0
    for row in V * c:
        joint = np.outer(row * drift, row * drift)
        moment += float((row**2).sum() / 3 + joint.sum() - np.trace(joint))
    far = c * (1 + langevin)
    weight, largest = R * moment, float(((V @ far) ** 2).sum())
    if setting.error == "U":
        product = float(((V * c**2 / 3) ** 2).sum())
        size = float(setting.factor) * float((r**2).sum()) / 3
        weight = size * R * (6 * float((far**2).sum()) * moment + 4 * product)
        largest = size * 2 * (float(((V @ c) ** 2).sum()) * float((c**2).sum()) + product)
    t = float(share)
    rate = t * t / (2 * R)
    if rho > 1 or start * rate < float(rho) * (1 - 1e-12):
        return np.inf

    def ratio(lengths: Array, capped: bool) -> float:
        bound = weight / (lengths * (1 - t) ** 2) + largest * np.exp(-rate * lengths)
        if capped:
            bound = np.minimum(bound, largest)
            if setting.error != "U":
                short = [_short_bound(setting, int(length)) for length in lengths[lengths <= _SHORT]]
                bound[: len(short)] = np.minimum(bound[: len(short)], short)
        return float((bound * lengths ** float(rho) / np.log(lengths) ** setting.power).max())

    before = ratio(np.arange(2.0, start), True) if start > 2 else 0.0
    return max(before, ratio(np.array([float(start)]), False))


def _short_bound(setting: _Setting, length: int) -> float:
    """By the geometric mean of the weights, averaged in the principal axes of the scores; infinite where it is."""
    V, C, U, S = (np.abs(in_doubles(table)) for table in (setting.V, setting.C, setting.U, setting.S))
    root = abs(setting.root) * U @ np.sqrt(S)
    stretch, frame = np.linalg.eigh(root.T @ C @ root)
    parts = V @ C
    drift = root.T @ np.diag((parts.sum(axis=1)[:, None] * parts).sum(axis=0)) @ root
    spread, total = float(np.trace(V @ C @ V.T)), 0.0
    for factor, rate, near, far in (
        (1 / length, 2 - 2 / length, 1.0, (1 - 2 / length) ** 2),
        (4 * (length - 1) / length**3, 1 - 2 / length, 0.0, 1.0),
    ):
        rest = 1 - 2 * rate * stretch
        if min(rest) <= 0:
            return np.inf
        along = np.einsum("ij,ji,i->i", frame.T @ drift, frame, 1 / rest).sum()
        total += factor * float((near * spread + far * along) / np.sqrt(np.prod(rest)))
    return total


# -- simulation


def _exceeds(setting: _Setting, c1: float, rho: float) -> bool:
    """Whether simulated prompts show the display to be too small at a length of 2 or 6."""
    assert setting.sigma is not None
    with np.errstate(all="ignore"):
        for length in (2, 6):
            squares = _squares(setting, length)
            display = c1 * (float(setting.sigma) ** 6 * np.log(length)) ** setting.power * length**-rho
            if squares.mean() - 8 * squares.std() / np.sqrt(len(squares)) > display:
                return True
    return False


def _squares(setting: _Setting, length: int) -> Array:
    rng = np.random.default_rng(length)
    C, S, U, V = map(in_doubles, (setting.C, setting.S, setting.U, setting.V))
    x, z = _draw(setting.law, C, (_PROMPTS, length), rng), _draw(setting.queries, S, (_PROMPTS,), rng)
    a = setting.root * z @ U.T
    if isinstance(setting.law, Gaussian):
        tau, at = a @ C, np.broadcast_to(C, (_PROMPTS, *C.shape))
    else:
        c = np.array([float(s) for s in setting.law.sizes])  # type: ignore[attr-defined]
        y = np.where(np.abs(a * c) < 1e-4, 1e-4, a * c)
        tau = c * (1 / np.tanh(y) - 1 / y)
        at = (c**2 * (1 / y**2 - 1 / np.sinh(y) ** 2))[:, :, None] * np.eye(len(c))
    scores = np.einsum("nld,nd->nl", x, a)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, x)
    if setting.error != "U":
        return (((mean - tau) @ V.T) ** 2).sum(axis=1)
    second = np.einsum("nl,nli,nlj->nij", p, x, x) - np.einsum("ni,nj->nij", mean, mean)
    return float(setting.factor) * ((V @ (second - at)) ** 2).sum(axis=(1, 2)) * (z**2).sum(axis=1)


def _draw(law: Law, covariance: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if isinstance(law, Gaussian):
        return rng.multivariate_normal(np.zeros(len(covariance)), covariance, shape, method="eigh")
    return rng.uniform(-1, 1, (*shape, len(covariance))) * np.sqrt(3 * np.diag(covariance))


# -- laws


def _moments(law: Law) -> tuple[list[Fraction], Table]:
    """E x and E x x'."""
    if isinstance(law, Gaussian):
        pairs = zip(law.covariance, law.mean, strict=True)
        return list(law.mean), [[c + a * b for c, b in zip(row, law.mean, strict=True)] for row, a in pairs]
    if isinstance(law, Points):
        return _mixed(list(law.weights), [(list(x), [[a * b for b in x] for a in x]) for x in law.points])
    if isinstance(law, Mixture):
        return _mixed(list(law.weights), [_moments(part) for part in law.parts])
    assert isinstance(law, Signs | Box)
    square = [c * c / (3 if isinstance(law, Box) else 1) for c in law.sizes]
    size = len(square)
    return [Fraction(0)] * size, [[square[i] if i == j else Fraction(0) for j in range(size)] for i in range(size)]


def _mixed(weights: Sequence[Fraction], parts: Sequence[tuple[list[Fraction], Table]]) -> tuple[list[Fraction], Table]:
    size = len(parts[0][0])
    mean = [sum((w * m[i] for w, (m, _) in zip(weights, parts, strict=True)), Fraction(0)) for i in range(size)]
    second = [
        [sum((w * s[i][j] for w, (_, s) in zip(weights, parts, strict=True)), Fraction(0)) for j in range(size)]
        for i in range(size)
    ]
    return mean, second


def _mean(law: Law) -> list[Fraction]:
    return _moments(law)[0]


def _covariance(law: Law) -> Table:
    mean, second = _moments(law)
    return [[s - a * b for s, b in zip(row, mean, strict=True)] for row, a in zip(second, mean, strict=True)]


def _is_sub_gaussian(law: Law, variance: Fraction) -> bool:
    if isinstance(law, Gaussian):
        rest = [[variance * (i == j) - c for j, c in enumerate(row)] for i, row in enumerate(law.covariance)]
        return is_semidefinite(rest)
    if isinstance(law, Points):
        return all(sum(x * x for x in point) <= variance for point in law.points)
    if isinstance(law, Mixture):
        return all(not any(_mean(part)) and _is_sub_gaussian(part, variance) for part in law.parts)
    assert isinstance(law, Signs | Box)
    return max(c * c for c in law.sizes) <= variance * (3 if isinstance(law, Box) else 1)


# -- matrices


def _product(left: Table, right: Table) -> Table:
    return [[dot(row, column) for column in zip(*right, strict=True)] for row in left]


def _trace(matrix: Any) -> mpf:
    return mp.fsum(matrix[i, i] for i in range(matrix.rows))


def _root_of(S: Table) -> Any:
    """R with R R' = S."""
    values, frame = mp.eigsy(mp.matrix([[to_real(x) for x in row] for row in S]))
    return frame * mp.diag([mp.sqrt(max(value, mpf(0))) for value in values])


def _congruent(U: Table, C: Table, factor: Fraction) -> Any:
    """factor * U' C U."""
    found = _product(_product(transposed(U), C), U)
    return mp.matrix([[to_real(factor * x) for x in row] for row in found])
