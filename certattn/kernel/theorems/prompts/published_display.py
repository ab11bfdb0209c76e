"""The published display of a proposition at one stated instance: whether it holds there.

    E |error|^2 in L2(nu) <= c1 sigma^6 ln L / L^(c2 / sigma^2)

At L = 1 the right side is 0 whatever c1, c2 and sigma are, as ln 1 = 0. At L >= 2 it depends on them, so
they have to be stated. The left side is a rational number (`left_side`).
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, at_least, below
from certattn.kernel.document.schema import Choice, Field
from certattn.kernel.mathematics.every_length import display
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.proposition_inputs import (
    CONSTANTS,
    LENGTH,
    SIGMA,
    Error,
    Setting,
    left_side,
    require_exact_left_side,
)

PUBLISHED = Field(
    "published", Choice(("fails", "holds")), "whether the published display holds at this instance", required=False
)
NAME = "published"


@dataclass(frozen=True)
class Published:
    """The display at a length, with stated constants or for all of them."""

    setting: Setting
    error: Error
    length: int
    fails: bool

    @property
    def left(self) -> fmpq:
        return left_side(self.setting, self.error, self.length)

    def right(self) -> arb:
        """c1 sigma^6 ln L / L^(c2 / sigma^2), at the working precision."""
        sigma, constants = self.setting.sigma, self.setting.constants
        if self.length == 1 or sigma is None or constants is None:
            return arb(0)
        c1, c2 = constants
        value: arb = arb(c1) * display(arb(self.length), arb(c2 / (sigma * sigma)), arb(sigma), BALLS)
        return value

    def words(self, proposition: str) -> str:
        if self.setting.constants is not None:
            c1, c2 = self.setting.constants
            constants = f"with c1 = {describe(c1)} and c2 = {describe(c2)}"
        else:
            constants = "for all c1, c2 > 0" if self.fails else "for some c1, c2 > 0 (and then for all, as ln 1 = 0)"
        sigma = "" if self.setting.sigma is not None else " and every sigma"
        return (
            f"The published display of {proposition} of Boursier and Boyer 2026, which bounds the mean square, over "
            f"prompts and queries, of {self.error.words} by c1 sigma^6 ln L / L^(c2/sigma^2), "
            f"{'fails' if self.fails else 'holds'} {constants}{sigma} at this instance: L = {self.length} and "
            f"{self.setting.words()}."
        )

    def latex(self) -> str:
        relation = ">" if self.fails else r"\le"
        right = r"c_1 \sigma^6 \ln L / L^{c_2 / \sigma^2}"
        return rf"\mathbb E \| {self.error.latex} \|^2_{{L^2(\nu)}} {relation} {right}, \quad L = {self.length}"

    def prove(self, bits: int) -> list[Obligation]:
        names = "c1 sigma^6 ln L / L^(c2/sigma^2)"
        if self.fails:
            return [below(NAME, f"{names} < the mean square error", self.right(), self.left, bits)]
        return [at_least(NAME, f"{names} >= the mean square error", self.right(), self.left, bits)]


def read_published(setting: Setting, error: Error, fails: bool) -> Published:
    """The display at the stated instance. Raises MalformedError where it says nothing that can be decided exactly."""
    values = setting.values
    if setting.length is None:
        raise values.at.malformed("a length, at which the published display is looked at", "no 'length'")
    if setting.length > 1:
        for field in (CONSTANTS, SIGMA):
            if field not in values:
                expected = f"{field.name} at a length above 1, where the right side depends on it"
                raise values.at.malformed(expected, f"no '{field.name}' at length {setting.length}")
    if setting.constants is not None and setting.sigma is None:
        raise values.at.malformed("sigma beside the constants", "no 'sigma'")
    require_exact_left_side(setting, error, setting.length)
    return Published(setting, error, setting.length, fails)


def refuse_instance(setting: Setting) -> None:
    """A repaired form is for every length and states its own constants. Raises MalformedError."""
    for field in (LENGTH, CONSTANTS):
        if field in setting.values:
            raise setting.values.node(field).malformed(f"no '{field.name}' beside a repaired form: it holds for L >= 2")
