"""A figure of a claim whose bound depends on one number: the bound beside the stated value, at other such numbers.

The certificate is rewritten with another number in one place, and the theorem's own obligations are asked for the side
that they enclose, at 64 bits and with the certificate's own witness: where that proves less, so does the curve.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.decide.checker import theorem_of
from certattn.kernel.decide.obligation import NoBound, Obligation, Range
from certattn.kernel.decide.proof import Outcome, decide
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import CertattnError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.figures import BOUND, MARK, RUN, THIRD, Target, canvas, standing
from certattn.provers.rounding import as_float
from certattn.writing import to_text

_BITS, _POINTS, _SPREAD = 64, 9, 16.0


@dataclass(frozen=True)
class _Curve:
    """What is varied, its words, which obligations are drawn with their words, and what else is changed for that.

    `most` is the largest value that says anything, None for the stated one. Nothing is drawn where an obligation of
    `holding` is not proved: without it the bounds mean nothing.
    """

    section: str
    key: str
    axis: str
    height: str
    names: Mapping[str, str]
    title: str
    whole: bool = True
    most: float | None = math.inf
    instead: Mapping[str, Plain] = field(default_factory=dict)
    holding: Collection[str] = ()


_L = "number of tokens $L$"
_MEAN_SQUARES = {"mean_square.at_most": "mean square, at most", "mean_square.at_least": "mean square, at least"}
_CURVES: Mapping[str, _Curve] = {
    "output-mean-square": _Curve(
        "given", "length", _L, "mean square deviation", _MEAN_SQUARES, "output over $L$ tokens against the law"
    ),
    "gradient-mean-square": _Curve(
        "given", "length", _L, "mean square deviation", _MEAN_SQUARES, "gradient over $L$ tokens against the law"
    ),
    "gradient-tail": _Curve(
        "given", "length", _L, "probability, at most", {"probability": "of a gradient farther off than stated"},
        "gradient over $L$ tokens against the law", most=1.0,
    ),
    "normalizer-bound": _Curve(
        "given", "d", "number of queries $d$", "mean distance, at most",
        {"mean_square": r"$E\,W_2^2$", "distance": r"$E\,W_2$"}, "spectrum with and without the normaliser",
    ),
    "finite-moments": _Curve(
        "given", "d", "number of queries $d$", "moment, of its limit",
        {f"ratios[{k}].at_most": "" for k in range(4)}, "moments of a finite matrix",
    ),
    "universality-bound": _Curve(
        "given", "eta", r"regularisation $\eta$", "difference of resolvents, at most",
        {"universality": "softmax scores and Gaussian columns", "equivalence": "scores and the equivalent"},
        "how near the spectrum is to a Gaussian one", whole=False,
    ),
    "attention-spectrum": _Curve(
        "given", "from", "number of tokens $d$, at least", r"$|s_M - s_\mu|$, at most",
        {f"transform[{k}]": "" for k in range(4)}, "transforms of a drawn matrix beside the limit law",
        holding=("probability", "falls.lengths", "falls.products", "falls.normalisers"),
    ),
    "risk-gap": _Curve(
        "asserts", "length", _L, "difference of risks, at most",
        {"excess": "$R_L - R$, by the logistic bound", "shortfall": "$R - R_L$, by the logistic bound"},
        "risk of $L$ tokens and of infinitely many", instead={"witness": {"majorant": "logistic"}},
    ),
    "theorem-4-3": _Curve(
        "given", "length", _L, "distance of the runs, at most", {"distance": "at the end"},
        "training on $L$ tokens and on infinite prompts", most=None,
    ),
}  # fmt: skip


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where the certificate states no such bound."""
    curve, plain = _CURVES[certificate.claim], certificate.plain
    section = plain[curve.section]
    written = section.get(curve.key) if isinstance(section, dict) else None
    number = written.get("at_least") if isinstance(written, dict) else written
    if not isinstance(number, str):
        raise UsageError(f"a figure shows bounds against {curve.key}, which this certificate does not have")
    stated = exact_rational(number, curve.key)
    own = {o.name: o for o in _obligations(certificate) if o.name in curve.names}
    if not own:
        raise UsageError("a figure shows bounds; this certificate states none of those that have one")
    places = _places(as_float(stated), curve.whole)
    points = [(at, _enclosed(_changed(certificate, curve, at), own, curve.holding)) for at in places]
    with canvas(target, (5.6, 4.0)) as (_, axes):
        for name, color in zip(own, (BOUND, RUN, THIRD, "0.45"), strict=False):
            most = as_float(_bound(own[name])) if curve.most is None else curve.most
            found = [(at, values[name]) for at, values in points if 0 < values.get(name, 0) <= most]
            label = curve.names[name] or _item_of(certificate, name)
            if found:
                axes.loglog(*np.array(found).T, color=color, lw=1.6, label=label)
            axes.plot(
                [as_float(stated)], [as_float(_bound(own[name]))], marker="D", ms=7, mfc="white", mec=color, ls=""
            )
        axes.plot([], [], marker="D", ms=7, mfc="white", mec=MARK, ls="", label=f"{standing()}, at {describe(stated)}")
        axes.set_xlabel(curve.axis)
        axes.set_ylabel(curve.height)
        axes.set_title(curve.title)
        axes.grid(True)
        axes.legend()


def _places(stated: float, whole: bool) -> list[float]:
    # The stated number times powers of two, so that what has to be whole stays whole.
    factors = np.geomspace(1 / _SPREAD, _SPREAD, _POINTS)
    return [float(round(at)) if whole else float(at) for at in stated * factors if not whole or round(at) > 1]


def _changed(certificate: Certificate, curve: _Curve, at: float) -> Certificate | None:
    """The certificate with another number, that one alone, None where there is none."""
    plain = dict(certificate.plain) | dict(curve.instead)
    if "witness" in plain:
        plain["witness"] = _of_one_length(plain["witness"], at)
    section = plain[curve.section]
    assert isinstance(section, dict)
    plain[curve.section] = {**section, curve.key: f"{at:.0f}" if curve.whole else repr(at)}
    try:
        return loads(to_text(plain), certificate.path, limits=certificate.reading.limits)
    except CertattnError:
        return None


def _of_one_length(witness: Plain, length: float) -> Plain:
    """The witness with the rule of this length in place of each that goes by length."""
    if isinstance(witness, list):
        return [_of_one_length(each, length) for each in witness]
    if not isinstance(witness, dict):
        return witness
    if witness.get("rule") == "by-length":
        found: Any = witness
        _, rule = max(
            (pair for pair in zip(map(int, found["from"]), found["rules"], strict=True) if pair[0] <= length),
            key=lambda pair: pair[0],
            default=(0, found["rules"][0]),
        )
        return dict(rule)
    return {name: _of_one_length(each, length) for name, each in witness.items()}


def _obligations(certificate: Certificate) -> Iterator[Obligation]:
    theorem = theorem_of(certificate)
    return (found for found in theorem.obligations(theorem.read(certificate)) if isinstance(found, Obligation))


def _bound(obligation: Obligation) -> fmpq:
    """The stated side."""
    return next(side for side in (obligation.right, obligation.left) if isinstance(side, fmpq))


def _enclosed(
    certificate: Certificate | None, names: Collection[str], holding: Collection[str] = ()
) -> dict[str, float]:
    """What obligations of these names enclose, in the direction of the bound, where that is finite.

    Nothing where one of the others is not proved.
    """
    found: dict[str, float] = {}
    if certificate is None:
        return found
    with working_precision(_BITS):
        try:
            every = {o.name: o for o in _obligations(certificate)}
        except CertattnError:
            return found
        for name in holding:
            left, relation, right = every[name].left, every[name].relation, every[name].right
            if decide(_value(left), relation, _value(right)) is not Outcome.PROVED:
                return found
        for name in (name for name in every if name in names):
            side: Any = every[name].left if callable(every[name].left) else every[name].right
            try:
                value = _value(side)
            except (CertattnError, NoBound):
                continue
            value = value.worst if isinstance(value, Range) else value
            ball = arb(value)
            if ball.is_finite() is True:
                found[name] = float(ball.mid())
    return found


def _value(side: Any) -> Any:
    return side() if callable(side) else side


def _item_of(certificate: Certificate, name: str) -> str:
    """Which moment it is, or where the transform is taken."""
    listing, _, index = name.partition("]")[0].partition("[")
    asserts: Any = certificate.plain["asserts"]
    item = asserts[listing][int(index)]
    return rf"at $\eta$ = {item['eta']}" if "eta" in item else f"moment of order {item['order']}"
