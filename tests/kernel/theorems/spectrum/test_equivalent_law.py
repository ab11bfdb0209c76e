"""The claim `equivalent-law`: its words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from corpus import ACCEPT, INCONCLUSIVE, Cases, check
from flint import arb
from sabotage import Sabotage, holding, noticed

from certattn.kernel.theorems.spectrum import equivalent_law
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw

cases = Cases("equivalent_cases")

Tool = Callable[[str], ModuleType]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.SOFTMAX.cases()).text, tmp_path).statement
    for piece in (
        "at beta = 0.5, lambda = d_qk/d = 0.25, alpha^2 = e^(beta^2) - 1 - beta^2",
        "K(w) = 1/w + alpha^2 w + beta^2 w/(1 - beta^2 w^2/lambda): m_2 = 0.284025416687741 up to 1e-15",
        "m_6 = 0.7906003979 up to 1e-10; the right edge of the support is 1.78520436178676 up to 1e-14",
        "a gap, from 0.316858864541769 to 0.423093213397053 up to 1e-15 at each end, with the mass 0.25 above it",
        "beta_c(0.25) = 0.834208381271527 up to 1e-15, and softmax has a gap exactly for beta below it",
        "G(1 + 0.5 i) = 0.67647148263 - 0.515043541133 i up to 1e-12",
        "the density of mu at 1 is 0.222372027848943 up to 1.1e-15; the density of mu at 0.4 is 0",
        "mu([0, 0.37]) = 0.75; mu([0, 1.5]) = 0.97788 up to 0.0001",
        "the largest density, at 0, is 3.01013583867119 up to 1e-14",
        "alpha^2/(alpha^2 + beta^2) = 0.11979708395305 up to 1e-15",
        "alpha^2/(alpha^2 + beta^2) = 0.5 for softmax at beta = 1.12090642277853 up to 1e-14.",
    ):
        assert piece in said, said


def test_a_wrong_mass_is_said_as_it_is_stated(tmp_path: Path) -> None:
    text = next(cases.SOFTMAX.cases()).text.replace("outer_mass: 1/4", "outer_mass: 3/4")
    assert "with the mass 0.25 above it, stated as 0.75" in check(text, tmp_path).statement


def test_words_of_given_numbers_and_of_no_gap(tmp_path: Path) -> None:
    said = check(next(cases.CLOSING.cases()).text, tmp_path).statement
    assert "For the law mu of alpha^2 = 7, beta^2 = 1, lambda = 0.05, which is the law of |x|" in said
    assert said.endswith("its support is an interval.")


def test_many_points_are_counted(tmp_path: Path) -> None:
    points = ", ".join(f"{{at: {x}, value: 1, radius: 1}}" for x in range(10))
    text = f"certattn: 1\nclaim: equivalent-law\ngiven: {{beta: 1, lambda: 1}}\nasserts: {{cdf: [{points}]}}\n"
    report = check(text, tmp_path)
    assert report.verdict is ACCEPT
    assert "mu([0, 5]) = 1 up to 1; 4 more values of mu([0, x]) are as stated (sha256 " in report.statement
    # Where all are shown there are no more.
    shown = check(text.replace(points, points[: points.index(", {at: 6")]), tmp_path).statement
    assert shown.endswith("mu([0, 5]) = 1 up to 1.")


def test_the_largest_beta(tmp_path: Path) -> None:
    """alpha^2 = e^1000000 and so on: a quarter circle but for what no digit shows."""
    stated = "cdf: [{at: 1e20000, value: 0, radius: 1e-100}], gap: {kind: none}"
    text = f"certattn: 1\nclaim: equivalent-law\ngiven: {{beta: 1000, lambda: 1/2}}\nasserts: {{{stated}}}\n"
    assert check(text, tmp_path).verdict is ACCEPT


def test_a_lambda_beyond_all_precision_is_inconclusive(tmp_path: Path) -> None:
    given = "{alpha2: 1, beta2: 1, lambda: 1e-3000}"
    text = f"certattn: 1\nclaim: equivalent-law\ngiven: {given}\nasserts: {{right_edge: {{value: 1, radius: 1}}}}\n"
    assert check(text, tmp_path).verdict is INCONCLUSIVE


# -- kernels with one part sabotaged

SABOTAGE: dict[str, Sabotage] = {
    "enclosures are not looked at": (equivalent_law, "Obligation", holding("<=")),
    "a gap for every lambda": (equivalent_law, "Obligation", holding("<")),
    "a gap for every discriminant": (equivalent_law, "Obligation", holding(">")),
    "any mass": (equivalent_law, "Obligation", holding("=")),
    "the right edge is that of a quarter circle": (
        EquivalentLaw, "right_edge", property(lambda self: 2 * self.numbers.variance.sqrt())),
    "there is no gap": (EquivalentLaw, "gap", None),
    "the tail is that of the symmetric law": (
        EquivalentLaw, "tail", lambda self, x, tail=EquivalentLaw.tail: tail(self, x) / 2),
    "the density is that of the symmetric law": (
        EquivalentLaw, "density", lambda self, x, density=EquivalentLaw.density: density(self, x) / 2),
    "the transform of the lower half plane": (
        EquivalentLaw, "stieltjes",
        lambda self, z, found=EquivalentLaw.stieltjes: (lambda g: None if g is None else g.conjugate())(found(self, z))
    ),
    "the bound is that of the symmetric law": (
        EquivalentLaw, "density_bound", property(lambda self, law=EquivalentLaw.density_bound: law.func(self) / 2)),
    "moments of a quarter circle": (
        LawNumbers, "cumulants", lambda self, count: [self.variance] + [self.variance * 0] * (count - 1)),
    "the linear share": (LawNumbers, "share", property(lambda self: self.beta2 / self.variance)),
    "the square of the threshold": (equivalent_law, "critical_beta", lambda x: arb(1)),
    "another share": (equivalent_law, "beta_at_share", lambda x: arb(1)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
