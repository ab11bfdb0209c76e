"""`binary64-exponential` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.fast.exponential_bound import REACH
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.arithmetic.binary64_exponential import (
    CONSTANTS,
    LEAST,
    MOST,
    NUMBERS,
    SCORE,
    SCORES,
    TABLE,
    TAIL,
    StatedExponential,
)
from certattn.statements.digits import hexadecimal
from certattn.statements.wording import Answer, Outcome, Statement, Wording, show

_SENTENCES = {
    "at_most": "the proved bound on the relative error",
    "kernel.constants": "L1, L2, inverse, C2, C3 of the kernel",
    "kernel.table": "the table of the kernel",
    "kernel.scores": "scores_up_to minus the kernel's largest score",
    "kernel.tail": "tail_up_to minus the kernel's largest tail",
}


def statement(exponential: StatedExponential) -> Statement:
    given, tail, error = exponential.given, exponential.has_tail, exponential.error
    stated = ", ".join(f"{field.name} = {hexadecimal(given[CONSTANTS][field])}" for field in NUMBERS)
    bound, latex = [], []
    target = "2^-K e^(s + x)" if tail else "2^-K e^s"
    symbol = r"2^{-K} e^{s + x}" if tail else r"2^{-K} e^s"
    if MOST in error:
        bound.append(f"is at most {describe(error[MOST])}")
        latex.append(rf"\left| F / ({symbol}) - 1 \right| \le {describe(error[MOST])}")
    if exponential.at is not None:
        score, least = exponential.at[SCORE], exponential.at[LEAST]
        at = f"at s = {hexadecimal(score)}{', x = 0' if tail else ''} where subnormal numbers are kept"
        bound.append(f"is at least {describe(least)} {at}")
        latex.append(rf"\left| F / (2^{{-K}} e^s) - 1 \right|_{{s = s_0}} \ge {describe(least)}")
    words = (
        f"For every binary64 number s with |s| <= {describe(given[SCORES])} and every integer K with "
        f"|s / ln 2 - K| <= {REACH}"
        + (f" and every binary64 number x with |x| <= {describe(given[TAIL])}" if tail else "")
        + ", let F be the result of A = 3 * 2^51 - 2048 K, t = s inverse + A, k = t - A, "
        f"r = {'((s - k L1) - k L2) + x' if tail else '(s - k L1) - k L2'}, P = (1 + (C2 + C3 r) r) r, "
        "F = 2^(floor(k / 2048) - K) (T_j + P T_j), j = k mod 2048, where every operation is rounded to nearest, "
        "ties to even, in IEEE-754 binary64, and subnormal numbers are kept or replaced by zero, "
        f"with {stated} and the table T ({given[TABLE].words()}): "
        f"the relative error |F / ({target}) - 1| {' and '.join(bound)}"
        + (", and certattn's kernel computes with these constants" if exponential.used_by_kernel else "")
        + "."
    )
    return Statement(words, r",\qquad ".join(latex))


def sentence(exponential: StatedExponential, name: str) -> str:
    if name == "at_most.tried":
        score, _ = exponential.worst_tried()
        number = len(exponential.tried())
        return f"the largest relative error among {number} scores that were tried, at s = {hexadecimal(score)}"
    if name == "at" and exponential.at is not None:
        return f"the relative error at s = {hexadecimal(exponential.at[SCORE])}"
    return _SENTENCES[name]


def findings(exponential: StatedExponential, obligations: Sequence[Answer]) -> list[str]:
    """The proved bound, unless it is larger than the stated one."""
    bounds = [o.left for o in obligations if o.name == "at_most" and o.outcome is not Outcome.REFUTED]
    found = [bound for bound in bounds if isinstance(bound, arb) and bound.is_finite()]
    return [f"proved: at most {show(bound)}, which is {show(bound * 2**53, 6)} * 2^-53" for bound in found]


WORDING = Wording[StatedExponential](statement, sentence, findings)
