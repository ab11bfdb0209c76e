"""The claim `attention-spectrum`: words, simulations, what falls with the number of tokens, sabotage."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Cases, check
from flint import acb, arb, fmpq
from sabotage import Sabotage, always, holding, noticed

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum import attention_spectrum, drawn_spectrum, score_matrix, typical_queries
from certattn.kernel.theorems.spectrum.drawn_spectrum import Draw, limit_transform, quarter_circle_transform
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.quadratic_forms import QuerySizes
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries

cases = Cases("drawn_cases")

BITS = 96
STEPS = ("from_normalisers", "from_columns", "from_gaussian_columns", "from_queries", "from_law")
SIZES = tuple(QuerySizes.__dataclass_fields__)


def numbers(beta2: fmpq, lambda_: fmpq) -> LawNumbers[arb]:
    x = arb(beta2)
    return LawNumbers(x.exp() - 1 - x, x, arb(lambda_))


# -- what is said


def test_the_statements_say_every_number(tmp_path: Path) -> None:
    said = [check(next(family.cases()).text, tmp_path).statement for family in cases.FAMILIES]
    pieces = (
        (
            "For every d >= 10000 with p = lambda d (lambda = 1) a whole number",
            "beta = 0.5",
            "except with a probability of at most 0.01, all at once",
            "|s_M - s_mu| <= 0.006944 at eta = 1, |s_M - s_mu| <= 0.001166 at eta = 4.",
        ),
        (
            "For every d >= 100000",
            "|s_M - s_mu| <= 0.234 at eta = 0.07; and the Kolmogorov distance",
            "to every quarter circle law, of any radius, is at least 0.0153",
        ),
        (
            "For every d >= 3000",
            "(lambda = 0.5)",
            "beta = 1,",
            "of at most 0.1, all at once, |s_M - s_mu| <= 0.0405529",
        ),
        ("For every d >= 3 ", "beta = 0.00001", "of at most 0.8"),
    )
    for text, wanted in zip(said, pieces, strict=True):
        for piece in wanted:
            assert piece in text, text


def test_what_is_not_typical_is_never_asked_for_bounds(tmp_path: Path) -> None:
    """theta = 1 divides by 0, and a negative share has no root: neither is computed."""
    text = next(cases.DRAWN.cases()).text
    for old, new in (("theta: 0.073", "theta: 1"), ("share: 0.0018", "share: -1"), ("tail: 0.0006", "tail: 3")):
        report = check(text.replace(old, new), tmp_path)
        assert report.verdict is Verdict.REJECTED
        assert all(one["name"].partition(".")[0] not in ("falls", "probability") or one["outcome"] != "proved"
                   for one in report.obligations)  # fmt: skip


# -- simulations: 60 tokens of dimension 60


@dataclass(frozen=True)
class Simulated:
    """Transforms of drawn matrices: by queries, and for each of these by keys; and what is typical of queries."""

    attention: Any
    scores: Any
    equivalent: Any
    normalisers: Any
    queries: Any


D, BETA, ETA = 60, 0.5, 1.0


def transform(matrices: Any) -> Any:
    return (1 / (np.linalg.svd(matrices, compute_uv=False) ** 2 + ETA)).mean(-1)


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    rng = np.random.default_rng(21)
    x, d = BETA**2, D
    found: list[list[Any]] = [[], [], [], [], []]
    for _ in range(150):
        X, K = rng.normal(size=(d, d)), rng.normal(size=(24, d, d))
        S = X @ K.swapaxes(1, 2) / np.sqrt(d)
        t = np.expm1(BETA * S - x / 2 * (X**2).mean(1)[:, None])
        weights = np.exp(BETA * S)
        A = weights / weights.sum(2, keepdims=True)
        Y = np.sqrt(np.expm1(x) - x) * rng.normal(size=S.shape) + BETA * S
        made = (np.sqrt(d) * (A - 1 / d), t / np.sqrt(d), Y / np.sqrt(d))
        for kept, matrices in zip(found, made, strict=False):
            kept.append(transform(matrices))
        found[3].append((t.mean(2) ** 2).sum(1))
        found[4].append(X)
    return Simulated(*(np.array(each) for each in found))


@pytest.fixture(scope="module")
def drawn() -> Draw:
    """What nearly all of the simulated queries are like; steps may fail in a hundredth of all cases each."""
    typical = TypicalQueries(fmpq(9, 5), fmpq(3, 5), fmpq(3))
    return Draw(D, fmpq(1), fmpq(1, 4), typical, fmpq(1, 2), fmpq(1, 100), fmpq(1, 100))


def largest(values: Any) -> float:
    """The quantile of 0.99 of what may be of either sign."""
    return float(np.quantile(np.abs(values), 0.99))


@pytest.mark.heavy
def test_every_step_is_within_its_bound(simulated: Simulated, drawn: Draw) -> None:
    given_T, given_Y = simulated.scores.mean(1), simulated.equivalent.mean(1)
    with working_precision(BITS):
        s_mu = float(limit_transform(numbers(fmpq(1, 4), fmpq(1)), fmpq(1)))
        bounds = {step: float(getattr(drawn, step)(fmpq(1))) for step in STEPS}
        whole = float(drawn.bound(fmpq(1)))
    found = {
        "from_normalisers": largest(simulated.attention - simulated.scores),
        "from_columns": largest(simulated.scores - given_T[:, None]),
        "from_gaussian_columns": largest(given_T - given_Y),
        "from_queries": largest(given_Y - given_Y.mean()),
        "from_law": abs(given_Y.mean() - s_mu),
    }
    for step, value in found.items():
        assert value < bounds[step], step
    assert largest(simulated.attention - s_mu) < whole
    assert whole == pytest.approx(sum(bounds.values()))
    # None of the steps that are random is bounded by more than so many times what it is like.
    assert bounds["from_columns"] < 40 * found["from_columns"]
    assert bounds["from_normalisers"] < 40 * found["from_normalisers"]


def test_sizes_of_drawn_queries_are_within_their_bounds(simulated: Simulated, drawn: Draw) -> None:
    x, typical = BETA**2, 0
    with working_precision(BITS):
        bounds = {name: float(getattr(drawn.sizes, name)) for name in SIZES}
        means = {name: float(getattr(drawn, name)) for name in ("lengths", "products", "covariances", "normalisers")}
    found: dict[str, list[float]] = {name: [] for name in ("lengths", "products", "covariances")}
    for X in simulated.queries:
        G = X @ X.T / D
        own, off = np.diag(G), G - np.diag(np.diag(G))
        found["lengths"].append(((own - 1) ** 2).mean())
        found["products"].append((off**4).sum() / D)
        difference = np.expm1(x * G) - (np.expm1(x) - x) * np.eye(D) - x * G
        found["covariances"].append((difference**2).sum() / D)
        sizes = {
            "norm": np.linalg.norm(G, 2), "longest": own.max(), "row": (off**2).sum(1).max(),
            "coherence": np.abs(off).max(), "gram": (G**2).sum() / D, "diagonal": (np.expm1(x * own) ** 2).mean(),
            "fourth": (np.expm1(x * own) ** 2 * np.expm1(4 * x * own)).mean(),
            "off_diagonal": (np.expm1(x * off) ** 2).sum() / D,
        }  # fmt: skip
        if sizes["longest"] <= 1.8 and sizes["coherence"] <= 0.6 and sizes["row"] <= 1.8**2 * (D - 1) / D:
            typical += 1
            for name, value in sizes.items():
                assert value <= bounds[name], name
    assert typical > 0.9 * len(simulated.queries)
    for name, values in {**found, "normalisers": simulated.normalisers}.items():
        assert largest(values) < means[name], name
        assert means[name] < 40 * largest(values), name


@pytest.mark.parametrize("p", [3, 40])
def test_moments_of_queries_by_simulation(p: int) -> None:
    """The mean and variance of squares about the mean and of fourth powers of products, three queries each time."""
    rng = np.random.default_rng(22)
    d, runs = 3, 100_000
    X = rng.normal(size=(runs, d, p))
    G = X @ X.swapaxes(1, 2) / p
    own = np.diagonal(G, axis1=1, axis2=2)
    share = fmpq(1, 4)
    draw = Draw(d, fmpq(p, d), fmpq(1), TypicalQueries(fmpq(2), fmpq(1), fmpq(1)), fmpq(1, 2), share, share)
    squares = ((own - 1) ** 2).mean(1)
    fourths = ((G**4).sum((1, 2)) - (own**4).sum(1)) / d
    with working_precision(BITS):
        lengths, products = float(draw.lengths), float(draw.products)
    # sqrt(1 / share) = 2 standard deviations above the mean. Of products both are bounds.
    assert lengths == pytest.approx(squares.mean() + 2 * squares.std(), rel=0.03)
    assert products > fourths.mean() + 2 * fourths.std() * 0.9
    assert products < 6 * (fourths.mean() + 2 * fourths.std())


# -- transforms


@pytest.mark.parametrize(("beta2", "lambda_"), [(fmpq(1, 4), fmpq(1)), (fmpq(1), fmpq(1, 2)), (fmpq(4), fmpq(3))])
@pytest.mark.parametrize("eta", [fmpq(1, 100), fmpq(1), fmpq(7)])
def test_the_transform_of_the_limit_law_is_that_of_its_density(beta2: fmpq, lambda_: fmpq, eta: fmpq) -> None:
    with working_precision(BITS):
        found = limit_transform(numbers(beta2, lambda_), eta)
        law = EquivalentLaw.from_square(beta2, lambda_)
        root = law.stieltjes(acb(0, arb(eta).sqrt()))
        assert root is not None
        # G(i sqrt(eta)) is -i sqrt(eta) times the mean of 1 / (x^2 + eta).
        assert found.overlaps(-root.imag / arb(eta).sqrt())
        assert root.real.contains(0)
        assert float(found.rad()) < 1e-20
        edge = float(law.right_edge)
        # Of a smooth integral between square roots: x = edge sin^2 does away with them.
        angles = (np.arange(400) + 0.5) * np.pi / 800
        places = edge * np.sin(angles) ** 2
        heights = np.array([float(law.density(arb(place)).mid()) for place in places])
    weights = heights * edge * np.sin(2 * angles) * np.pi / 800
    assert weights.sum() == pytest.approx(1, abs=2e-4)
    assert float(found) == pytest.approx((weights / (places**2 + float(eta.p) / float(eta.q))).sum(), rel=1e-3)


@pytest.mark.parametrize("second", [fmpq(1, 5), fmpq(3)])
@pytest.mark.parametrize("eta", [fmpq(1, 50), fmpq(1), fmpq(9)])
def test_the_transform_of_a_quarter_circle_law_by_quadrature(second: fmpq, eta: fmpq) -> None:
    m, level = float(second.p) / float(second.q), float(eta.p) / float(eta.q)
    angles = (np.arange(4000) + 0.5) * np.pi / 8000
    places = 2 * np.sqrt(m) * np.sin(angles)
    weights = np.sqrt(4 * m - places**2) / (np.pi * m) * 2 * np.sqrt(m) * np.cos(angles) * np.pi / 8000
    assert weights.sum() == pytest.approx(1, rel=1e-6)
    assert (weights * places**2).sum() == pytest.approx(m, rel=1e-6)
    with working_precision(BITS):
        assert float(quarter_circle_transform(second, eta)) == pytest.approx(
            (weights / (places**2 + level)).sum(), rel=1e-6
        )


# -- what falls


GRID = list(
    itertools.product(
        (fmpq(1, 10**6), fmpq(1, 4), fmpq(1), fmpq(4)),
        (fmpq(1, 10), fmpq(1), fmpq(30)),
        (2, 3, 10, 300, 10**5),
        ((fmpq(11, 10), fmpq(1, 10)), (fmpq(3, 2), fmpq(1)), (fmpq(40), fmpq(5)), (fmpq(40), fmpq(1, 50))),
        (fmpq(1, 10), fmpq(99, 100)),
    )
)


def test_every_bound_falls_with_more_tokens_where_it_is_said_to() -> None:
    looked_at = 0
    for beta2, lambda_, d, (cut, coherence), theta in GRID:
        draw = Draw(d, lambda_, beta2, TypicalQueries(cut, coherence, fmpq(3)), theta, fmpq(1, 500), fmpq(1, 900))
        with working_precision(BITS):
            if not all((value >= 1) is True for value in draw.falls()):
                continue
            looked_at += 1
            before = values_of(draw)
            for size in (d + 1, 2 * d, 10 * d):
                after = values_of(replace(draw, d=size))
                for name, value in after.items():
                    assert (value > before[name]) is not True, (name, draw, size)
                before = after
    assert looked_at > 50


def values_of(draw: Draw) -> dict[str, arb]:
    found = {f"{step} {eta}": getattr(draw, step)(eta) for step in STEPS for eta in (fmpq(1, 20), fmpq(1), fmpq(50))}
    found |= {name: getattr(draw, name) for name in ("improbable", "form", "lengths", "products", "covariances")}
    return found | {"normalisers": draw.normalisers} | {name: getattr(draw.sizes, name) for name in SIZES}


@pytest.mark.parametrize(
    ("index", "witness"),
    [
        (0, {"cut": fmpq(101, 100)}),
        (1, {"coherence": fmpq(1, 100)}),
        (2, {"theta": fmpq(1, 50)}),
    ],
)
def test_exceptions_may_become_more_probable_where_a_condition_fails(index: int, witness: dict[str, fmpq]) -> None:
    """So each of the three is needed."""
    values = {"cut": fmpq(10), "coherence": fmpq(10), "theta": fmpq(99, 100), **witness}
    typical = TypicalQueries(values["cut"], values["coherence"], fmpq(9))
    draw = Draw(20, fmpq(1), fmpq(1, 100), typical, values["theta"], fmpq(1, 100), fmpq(1, 100))
    with working_precision(BITS):
        assert [(value >= 1) is True for value in draw.falls()] == [place != index for place in range(3)]
        assert (replace(draw, d=21).improbable > draw.improbable) is True


# -- kernels with one part sabotaged


def _half(name: str) -> property:
    """A number, or every number of a step, divided by 2."""
    found: Any = vars(Draw)[name]
    compute: Callable[[Draw], arb] = getattr(found, "func", None) or found.fget
    return property(lambda self: compute(self) / 2, lambda self, computed: None)


def _half_step(name: str) -> Callable[[Draw, fmpq], arb]:
    step: Callable[[Draw, fmpq], arb] = vars(Draw)[name]
    return lambda self, eta: step(self, eta) / 2


def _smaller_size(name: str) -> property:
    sizes = vars(Draw)["sizes"].func

    def changed(self: Draw) -> QuerySizes:
        found: QuerySizes = sizes(self)
        return replace(found, **{name: getattr(found, name) * arb(fmpq(9, 10))})

    return property(changed, lambda self, computed: None)


NUMBERS = ("lengths", "products", "covariances", "normalisers", "form")
SABOTAGE: dict[str, Sabotage] = {
    **{f"{name} is left out": (Draw, name, lambda self, eta: arb(0)) for name in STEPS},
    **{f"{name} counts half": (Draw, name, _half_step(name)) for name in STEPS},
    **{f"{name} is 0": (Draw, name, always(arb(0))) for name in NUMBERS},
    **{f"{name} is half of what it is": (Draw, name, _half(name)) for name in NUMBERS},
    **{f"the size {name} is a tenth smaller": (Draw, "sizes", _smaller_size(name)) for name in SIZES},
    "nothing is improbable": (Draw, "improbable", always(arb(0))),
    "what is improbable counts half": (Draw, "improbable", _half("improbable")),
    "low normalisers are not looked at": (Draw, "_low_rate", lambda self: arb(10**6)),
    "queries are always typical": (TypicalQueries, "improbable", lambda self, d, p: arb(0)),
    "what falls is not looked at": (attention_spectrum, "_falls", lambda sizes, index: arb(1)),
    "no step fails that rests on a variance": (drawn_spectrum, "SHARES", 0),
    "a step fewer fails that rests on a variance": (drawn_spectrum, "SHARES", 2),
    "a step fewer fails that has a tail": (drawn_spectrum, "TAILS", 0),
    "one step fails at each eta": (drawn_spectrum, "TAILS_AT_ETA", 1),
    "no tails": (Draw, "_rate", lambda self, sides: arb(0)),
    "one tail in the place of two": (
        Draw, "_rate", lambda self, sides, found=Draw._rate: found(self, 1)),
    "no variance is exceeded": (Draw, "_exceeded", lambda self, square: arb(0)),
    "a variance is exceeded by its root": (Draw, "_exceeded", lambda self, square: square.sqrt()),
    "slopes are half of what they are": (
        drawn_spectrum, "lipschitz", lambda eta, found=drawn_spectrum.lipschitz: found(eta) / 2),
    "the limit law is a quarter circle": (
        drawn_spectrum, "limit_transform",
        lambda law, eta: quarter_circle_transform(fmpq(2182, 10000), eta)),
    "quarter circles of any moment are alike": (
        drawn_spectrum, "quarter_circle_transform",
        lambda second, eta, found=drawn_spectrum.quarter_circle_transform: found(fmpq(215, 1000), eta)),
    "quarter circles are told apart from one side": (attention_spectrum, "_margin", lambda *of: arb(1)),
    "transforms are believed to be exact": (
        attention_spectrum, "_margin",
        lambda stated, sign, found=attention_spectrum._margin: found(stated, sign) + arb(fmpq(1, 1000))),
    "bounds are not looked at": (attention_spectrum, "Obligation", holding("<=")),
    "margins are not looked at": (attention_spectrum, "Obligation", holding("apart.smaller", "apart.larger")),
    "smaller moments are not looked at": (attention_spectrum, "Obligation", holding("apart.smaller")),
    "larger moments are not looked at": (attention_spectrum, "Obligation", holding("apart.larger")),
    "probabilities are not looked at": (attention_spectrum, "Obligation", holding("probability")),
    "the share is not looked at": (attention_spectrum, "Obligation", holding("share")),
    "a tail of 0 is not looked at": (attention_spectrum, "Obligation", holding("tail.above")),
    "a tail of 1 is not looked at": (attention_spectrum, "Obligation", holding("tail.below")),
    "the cut is not looked at": (score_matrix, "Obligation", holding("cut")),
    "theta is not looked at": (score_matrix, "Obligation", holding("theta.below")),
    "the coherence is not looked at": (typical_queries, "Obligation", holding("coherence")),
    "the excess is not looked at": (typical_queries, "Obligation", holding("excess")),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
