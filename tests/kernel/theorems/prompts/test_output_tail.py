"""Claim `output-tail`: what is said of it, and simulated prompts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import ACCEPT, Cases, Family, check
from flint import arb

from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.limits import Limits
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts import output_tail
from certattn.statements.checking import check_certificate
from certattn.statements.wording import WORDINGS

cases = Cases("tail_cases")

CLAIM = CLAIMS["output-tail"]
Tool = Callable[[str], ModuleType]


def text_of(family: Family) -> str:
    return next(family.cases()).text


# -- what is said


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = check(text_of(cases.LOWER), arrays).statement
    for piece in (
        "a prompt of 40 independent tokens x",
        "Gaussian tokens of mean (3, 1) and covariance ((1, 0.5), (0.5, 0.25))",
        "the score sqrt(1/2) * <x, U z> for U = ((1), (0.5)) and z = (1)",
        "the probability that <u, T_L - T> > 0.5 is at most 0.146209 for u = (-1, 0)",
    ):
        assert piece in said
    said = check(text_of(cases.L2), arrays).statement
    assert "the probability that the l2 norm |T_L - T| > 0.5 is at most 0.277835." in said
    said = check(text_of(cases.LINF), arrays).statement
    for piece in (
        "the score 2 * <x, U z> for U = K'Q, K = ((1, 0), (0, 1)), Q = ((1), (0)) and z = (0.5)",
        "<u, T_L - T> > 0.8 is at most 0.048069 for u = (1, -1); the probability that the linf norm |T_L - T| > 0.6",
    ):
        assert piece in said
    assert "and values V x, V = ((1, 0), (1, 1))" in check(text_of(cases.CANTELLI), arrays).statement


def test_formulas_are_latex(arrays: Path) -> None:
    found = WORDINGS[CLAIM.name].statement(CLAIM.read(loads(text_of(cases.LINF), arrays / "case.yaml")))
    assert r"\mathbb P(\| T_L - T \|_\infty > 0.6) \le 0.099966" in found.latex
    assert r"\mathbb P(\langle u, T_L - T \rangle > " in found.latex


def test_bounds_stand_beside_what_is_stated(arrays: Path) -> None:
    (line,) = check(text_of(cases.ATOMS), arrays).findings
    assert line.startswith("directions[0]: probability at most 0.00528569, stated")
    assert line.endswith("stated 0.00528569")


def test_only_exact_probabilities_refute(arrays: Path) -> None:
    for family, verdict in ((cases.EQUAL_WEIGHTS, Verdict.REFUTED), (cases.CANTELLI, Verdict.REJECTED)):
        cut = text_of(family).replace("probability: 0.", "probability: 0.0")
        report = check(cut, arrays)
        assert report.verdict is verdict
        assert {o["part"] for o in report.obligations} == {"statement" if verdict is Verdict.REFUTED else "witness"}


def test_a_bound_that_is_met_exactly_is_left_open(arrays: Path) -> None:
    """Cantelli for three signs of size 1/3: v = 1/9 and v/(v + 3) = 1/28, about which the ball stays a ball."""
    text = (
        "certattn: 1\nclaim: output-tail\n"
        "given: {law: {kind: rademacher, sizes: [1/3]}, tilt: [0], length: 3}\n"
        "asserts: {directions: [{direction: [1], exceeds: 1, probability: 1/28}]}\n"
        "witness: {directions: [{rule: cantelli}]}\n"
    )
    report = check_certificate(loads(text, arrays / "case.yaml"), CheckOptions(limits=Limits(max_bits=256)))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "undecided at the limit of 256 bits" in report.reason


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("cap: 12", "cap: 6000", "lambda * cap of at most 1000"),
        ("tilt: [1/2, 0]", "tilt: [40, 0]", "a variance of at most 1000"),
    ],
)
def test_integrals_that_would_not_end_are_refused(old: str, new: str, expected: str, arrays: Path) -> None:
    text = text_of(cases.TRUNCATED)
    assert text.count(old) == 1
    report = check(text.replace(old, new), arrays)
    assert report.verdict is Verdict.REJECTED
    assert expected in report.reason


# -- the same statement in other words


def bound(given: str, direction: str, eps: str, rule: str, folder: Path, bits: int = 64) -> arb:
    """What a rule gives in one direction."""
    text = (
        f"certattn: 1\nclaim: output-tail\ngiven: {given}\n"
        f"asserts: {{directions: [{{direction: {direction}, exceeds: {eps}, probability: 1/2}}]}}\n"
        f"witness: {{directions: [{rule}]}}\n"
    )
    problem = output_tail.read(loads(text, folder / "case.yaml"))
    with working_precision(bits):
        found: arb = problem.rules[0].bound()
        return found


RULES = ("{rule: cantelli}", "{rule: moment, order: 6}", "{rule: truncated, lambda: 0.2, cap: 12}")
GAMMA = "covariance: [[1, 1/2], [1/2, 2]]"


@pytest.mark.parametrize("rule", RULES)
def test_equal_statements_have_equal_bounds(rule: str, arrays: Path) -> None:
    def of(law: str, form: str, direction: str = "[1, -1]") -> arb:
        return bound(f"{{law: {law}, {form}, length: 30}}", direction, "0.7", rule, arrays)

    gaussian = f"{{kind: gaussian, mean: [0, 0], {GAMMA}}}"
    plain = of(gaussian, "tilt: [1/2, 1/4]")
    others = [
        of(f"{{kind: gaussian, mean: [3, -2], {GAMMA}}}", "tilt: [1/2, 1/4]"),
        of(f"{{kind: mixture, components: [{{weight: 1, law: {gaussian}}}]}}", "tilt: [1/2, 1/4]"),
        of(f"{{kind: mixture, components: [{{weight: 1/3, law: {gaussian}}}, {{weight: 2/3, law: {gaussian}}}]}}",
           "tilt: [1/2, 1/4]"),
        of(gaussian, "U: [[2], [1]], query: [1/4]"),
        of(gaussian, "U: [[-2], [-1]], query: [1], scale: -1/4"),
        of(gaussian, "query: [2, 1], scale: 1/4"),
        of(gaussian, "Q: [[1, 0], [0, 1]], query: [1/2, 1/4]"),
        of(gaussian, "tilt: [1/2, 1/4], V: [[1, 0], [0, -1]]", "[1, 1]"),
        of(gaussian, "tilt: [1/2, 1/4], V: [[2, -2]]", "[1/2]"),
    ]  # fmt: skip
    assert plain.rad() < arb("1e-7")
    assert all(plain.overlaps(other) for other in others)


def test_a_cap_out_of_the_way_is_no_cap(arrays: Path) -> None:
    given = "{law: {kind: gaussian, mean: [0], covariance: [[1]]}, tilt: [1/2], length: 30}"
    free = bound(given, "[-1]", "0.5", "{rule: chernoff, lambda: 0.4}", arrays)
    for cap in ("2", "50"):
        assert free.overlaps(bound(given, "[-1]", "0.5", f"{{rule: truncated, lambda: 0.4, cap: {cap}}}", arrays))


def test_higher_orders_tend_to_the_exponential(arrays: Path) -> None:
    """Signs by their moments, against the same signs as atoms."""
    atoms = "{law: {kind: atoms, points: [[1], [-1]]}, tilt: [1/2], length: 30}"
    signs = "{law: {kind: rademacher, sizes: [1]}, tilt: [1/2], length: 30}"
    exact = bound(atoms, "[1]", "0.3", "{rule: chernoff, lambda: 0.4}", arrays)
    by_moments = [
        bound(signs, "[1]", "0.3", f"{{rule: chernoff, lambda: 0.4, order: {p}}}", arrays) for p in (2, 4, 6, 12)
    ]
    assert all(high > low for high, low in zip(by_moments, [*by_moments[1:], exact], strict=True))
    assert by_moments[-1] < exact * (1 + arb("1e-9"))


# -- simulated prompts


def random_law(rng: np.random.Generator, kind: str, size: int, rp: ModuleType) -> tuple[str, Any]:
    """A law as certificates write it, and as the simulation draws it."""

    def row(values: Any) -> str:
        return f"[{', '.join(str(x) for x in np.asarray(values).tolist())}]"

    if kind == "gaussian":
        root = rng.integers(-4, 5, (size, rng.integers(1, size + 1))) / 4
        mean, covariance = rng.integers(-8, 9, size) / 4, root @ root.T
        text = f"{{kind: gaussian, mean: {row(mean)}, covariance: [{', '.join(map(row, covariance))}]}}"
        return text, ((1.0, rp.Gaussian(tuple(mean), tuple(map(tuple, covariance)))),)
    if kind in ("box", "rademacher"):
        sizes = rng.integers(1, 7, size) / 4
        signs = np.array(np.meshgrid(*([c, -c] for c in sizes))).reshape(size, -1).T
        centre = rng.integers(-6, 7, size) / 4 if rng.integers(2) else np.zeros(size)
        drawn = rp.Box(tuple(sizes), tuple(centre))
        if kind == "rademacher":
            drawn = rp.Points(tuple(map(tuple, signs + centre)), (1 / len(signs),) * len(signs))
        return f"{{kind: {kind}, sizes: {row(sizes)}, centre: {row(centre)}}}", ((1.0, drawn),)
    if kind == "atoms":
        points = rng.integers(-6, 7, (4, size)) / 4
        text = f"{{kind: atoms, points: [{', '.join(map(row, points))}]}}"
        return text, ((1.0, rp.Points(tuple(map(tuple, points)), (0.25,) * 4)),)
    inner = [["gaussian", "atoms"], ["gaussian", "gaussian"], ["box", "atoms"], ["gaussian", "box"]][rng.integers(4)]
    (one, first), (two, second) = (random_law(rng, name, size, rp) for name in inner)
    text = f"{{kind: mixture, components: [{{weight: 1/4, law: {one}}}, {{weight: 3/4, law: {two}}}]}}"
    return text, tuple((0.25 * w, p) for w, p in first) + tuple((0.75 * w, p) for w, p in second)


TRIED = [
    "{rule: cantelli}", "{rule: moment, order: 2}", "{rule: moment, order: 6}", "{rule: exact}",
    *(f"{{rule: chernoff, lambda: {x}{p}}}" for x in ("0.1", "0.6") for p in ("", ", order: 2", ", order: 6")),
    *(f"{{rule: truncated, lambda: {x}, cap: {b}}}" for x in ("0.1", "0.5") for b in ("0.5", "3", "12")),
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["gaussian", "rademacher", "box", "atoms", "mixture"])
def test_no_bound_is_below_what_is_simulated(kind: str, arrays: Path, tool: Tool) -> None:
    rp = tool("truth.random_prompts")
    rng = np.random.default_rng(list(b"output-tail" + kind.encode()))
    sharp = tried = 0
    for _ in range(12):
        size = int(rng.integers(1, 4))
        text, law = random_law(rng, kind, size, rp)
        tilt, direction = rng.integers(-4, 5, size) / 4, rng.integers(-4, 5, size) / 4
        length = int(rng.choice([2, 10, 60]))
        differences = rp.outputs(law, tuple(tilt), tuple(map(tuple, np.eye(size))), length) @ direction
        eps = max(0.0625, round(float(np.quantile(differences, rng.choice([0.5, 0.8, 0.97]))) * 16) / 16)
        # Atoms are met exactly: a hair more is exceeded more rarely, and by as much as can be told.
        low, _ = rp.frequency(differences > eps + 1e-9)
        given = f"{{law: {text}, tilt: {tilt.tolist()}, length: {length}}}"
        for rule in TRIED:
            try:
                found = bound(given, str(direction.tolist()), str(eps), rule, arrays)
            except NoBound:
                continue
            tried += 1
            # A ball of everything says nothing; any other bounds the probability.
            if found.is_finite():
                assert float(found.upper().str(17, radius=False)) >= low, (given, direction, eps, rule)
                sharp += bool(found < 1)
    assert tried >= 70
    assert sharp >= 25


@pytest.mark.parametrize("rule", ["cantelli", "moment, order: 4"])
def test_an_output_that_cancels_is_bounded(rule: str, arrays: Path) -> None:
    """<v, y> = 1/3 - 1/3 is a ball around 0, whose powers are to be found all the same."""
    law = "{kind: atoms, points: [[1, 1], [0, 1]], weights: [1/2, 1/2]}"
    text = (
        f"certattn: 1\nclaim: output-tail\ngiven: {{law: {law}, tilt: [0, 0], length: 10}}\n"
        "asserts: {directions: [{direction: [1/3, -1/3], exceeds: 1/2, probability: 0.9}]}\n"
        f"witness: {{directions: [{{rule: {rule}}}]}}\n"
    )
    assert check(text, arrays).verdict is ACCEPT
