"""`flow-trajectory` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.flow_trajectory import BAYES, RADIUS, RISK, TIME, TUBE, StatedFlow, obligations
from certattn.kernel.theorems.training.regression import COVARIANCE, LOWER, START, UPPER
from certattn.statements.training.given import parameters_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording


def statement(stated: StatedFlow) -> Statement:
    given, points = stated.given, stated.points
    words = [
        f"For R(A, b) = 1/2 tr(E Sigma E'), E = b Sigma A - I, with Sigma = {given[COVARIANCE].words()}, the "
        f"gradient flow (A, b)' = -grad R(A, b) from {parameters_words(given[START])} at t = 0 exists up to "
        f"t = {describe(points[-1][TIME])}"
    ]
    before, place = fmpq(0), "the start"
    for point in points:
        words += _point_words(point, before, place)
        before, place = point[TIME], f"the point stated for t = {describe(point[TIME])}"
    latex = [r"\|(A(t_i), b(t_i)) - (A_i, b_i)\| \le r_i"]
    if any(RISK in point for point in points):
        latex.append(r"R(A(t_i), b(t_i)) \in [l_i, u_i]")
    return Statement("; ".join(words) + ".", r",\qquad ".join(latex))


def _point_words(point: Values, before: fmpq, place: str) -> list[str]:
    time, radius = describe(point[TIME]), describe(point[RADIUS])
    words = [f"at t = {time}, (A, b) is within {radius} of {parameters_words(point)} (Euclidean distance)"]
    if RISK in point:
        words[0] += f", and {describe(point[RISK][LOWER])} <= R <= {describe(point[RISK][UPPER])}"
    if BAYES in point:
        words[0] += (
            f", and within {describe(point[BAYES])} of the Bayes point A = Sigma^-1/b, b "
            "with the same |A|_F^2 - b^2 and the same sign of b"
        )
    if TUBE in point:
        words.append(
            f"for all t from {describe(before)} to {time}, (A, b) is within {describe(point[TUBE])} of the point that "
            f"moves uniformly on a straight line from {place} to the one stated for t = {time}"
        )
    return words


def sentence(stated: StatedFlow, name: str) -> str:
    """Of an obligation `points[i].what`."""
    place, what = name.split(".", 1)
    time = describe(stated.points[int(place[len("points[") : -1])][TIME])
    return {
        "invariant": f"the change of |A|_F^2 - b^2 from the start to the point stated for t = {time}",
        "distance": f"the distance of (A, b) at t = {time} from the stated point",
        "risk.lower": f"R at t = {time}",
        "risk.upper": f"R at t = {time}",
        "bayes": f"the distance of (A, b) at t = {time} from the zero of R with the same |A|_F^2 - b^2 and sign of b",
        "tube": f"the largest distance of (A, b) from the line that ends at t = {time}",
    }[what]


def findings(stated: StatedFlow, decided: Sequence[Answer]) -> list[str]:
    proved = {o.name for o in decided if o.outcome is Outcome.PROVED}
    if not proved.issuperset(o.name for o in obligations(stated)):
        return []
    return [f"|A|_F^2 - b^2 = {describe(stated.start.invariant())} at all times, and R never increases"]


WORDING = Wording[StatedFlow](statement, sentence, findings)
