"""Find the directions that a head and attention converge to when they are trained together.

Find the max-margin head and attention of joint training, and what is proved of the regularisation path.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.selection.joint_max_margin import GIVEN, THEOREM, LabelledInputs, read_given
from certattn.kernel.theorems.selection.mathematics.joint_path import JointPath, LabelMargin
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.provers.commands import Argument, Command, Option, Yaml, pair_for, to_plot
from certattn.provers.exact_inputs import Number, exact, positive, require_one_of
from certattn.provers.output import Draft, texts
from certattn.provers.rounding import as_float, lower_rational, round_down, round_up, upper_rational
from certattn.provers.selection.joint_minimiser import JointLoss, just_inside
from certattn.provers.selection.joint_multipliers import (
    attention_offset,
    comparator,
    floats,
    full_multipliers,
    offset,
)
from certattn.provers.selection.quadratic_program import NotSeparableError, max_margin_multipliers
from certattn.provers.selection.token_optimality import multiplier_table

_BITS = (256, 1024, 4096)
_MARGIN_DIGITS, _FEW_DIGITS = 15, 3
# Nearer to 1 no bound is stated: its digits would only fill lines.
_FINEST = fmpq(1, 10**15)
# How far ties of inputs outside the support are broken in comparators.
_SHIFTS = (2, 4, 8, 16, 32)
LOSSES = ("logistic", "exponential")


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    at: Sequence[tuple[Number, Number]] = (),
    loss: str = "logistic",
    note: str = "",
) -> Certificate:
    """Write a certificate of `joint-max-margin` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `tokens`, `labels`, `indices`
        and any of `W`, `lengths`.
    at : sequence of pairs of exact numbers
        Pairs (r, R) of norms at which to bound the regularisation path.
    loss : {"logistic", "exponential"}
        "logistic" or "exponential".
    note : str
        A line for the certificate's readers, kept under `provenance`.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        v_mm or p_mm do not exist, or a condition of the bounds fails; the message names the input or token.

    Notes
    -----
    The label-margin condition is stated where it is proved.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/joint-max-margin.md.

    Examples
    --------
    >>> import certattn
    >>> tokens = [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], ["1/2", 1]]]
    >>> certificate = certattn.generate("joint-max-margin", tokens=tokens, labels=[1, -1, 1], indices=[1, 1, 1])
    >>> certificate.plain["asserts"]["p"]
    ['4/3', '1/3']
    """
    require_one_of(LOSSES, loss, "loss")
    norms = [(positive(r, "r"), positive(R, "R")) for r, R in at]
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    known = draft.read(lambda written: read_given(GIVEN.read(written.given, written.reading)))
    problem = _Solved(known)
    with working_precision(_BITS[0]):
        asserts: dict[str, Plain] = {**problem.solutions(), **problem.label_margin()}
    witness = problem.witness()
    if norms:
        problem.require_condition()
        entries: list[Plain] = []
        comparators: list[Plain] = []
        # With fewer some step may be left out, and a smaller bound be all that is found.
        most = _BITS[0]
        for k, pair in enumerate(norms):
            entry, stated, bits = problem.bounds(loss, pair)
            most = max(most, bits)
            entries.append(entry)
            if stated:
                comparators.append({"entry": str(k), **stated})
        asserts["path"] = {"loss": loss, "at": entries}
        if comparators:
            witness["comparators"] = comparators
        witness["bits"] = str(most)
    return draft.write(asserts, witness)


class _Solved:
    """The solutions for what is given."""

    def __init__(self, given: LabelledInputs) -> None:
        self.given = given
        basic = hard_margin(given.labelled, self._head_multipliers(given))
        self.offset = offset(basic)
        full = full_multipliers(basic, self.offset[1]) if self.offset is not None else None
        solution = hard_margin(given.labelled, full or basic.multipliers)
        self.head = LabelMargin(given.rows, given.selection, solution)
        self.support = solution.tight
        levels = given.levels(self.support)
        self.attention = MaxMargin(given.selection.differences, self._multipliers(levels), levels)

    def _head_multipliers(self, given: LabelledInputs) -> dict[int, fmpq]:
        try:
            return max_margin_multipliers(given.labelled)
        except NotSeparableError as error:
            inputs = ", ".join(map(str, sorted(error.weights)))
            raise NotProvedError(
                f"no v separates the chosen tokens by their labels: those of the inputs {inputs} contradict each other"
            ) from None

    def _multipliers(self, levels: tuple[fmpq, ...]) -> dict[int, fmpq]:
        if not any(level > 0 for level in levels):
            raise NotProvedError("the support inputs have only their chosen token: there is nothing to attend to")
        try:
            return max_margin_multipliers(self.given.selection.differences, levels)
        except NotSeparableError as error:
            pairs = ", ".join(str(self.given.selection.pairs[j]) for j in sorted(error.weights))
            raise NotProvedError(
                f"no p selects these tokens: those for the pairs (input, token) {pairs} contradict each other"
            ) from None

    def solutions(self) -> dict[str, Plain]:
        return {
            "v": texts(self.head.solution.solution.row(0)),
            "support": [str(i) for i in self.support],
            "p": texts(self.attention.solution.row(0)),
        }

    def label_margin(self) -> dict[str, Plain]:
        """Bounds on Gamma, and nu where it is positive; with squares for support inputs that have no multiplier."""
        margin = self.head.solution.margin()
        found: dict[str, Plain] = {
            "label_margin": {
                "at_least": format_rational(round_down(lower_rational(margin), _MARGIN_DIGITS)),
                "at_most": format_rational(round_up(upper_rational(margin), _MARGIN_DIGITS)),
            }
        }
        slow = [i for i in self.support if i not in self.head.weights]
        drop, quadratic = self.head.drop(), self.head.quadratic_drop(slow)
        if (drop > 0) is True and (quadratic > 0) is True:
            found["drop"] = format_rational(round_down(lower_rational(drop), _FEW_DIGITS))
            if slow:
                nu = format_rational(round_down(lower_rational(quadratic), _FEW_DIGITS))
                found["quadratic_drop"] = {"inputs": [str(i) for i in slow], "nu": nu}
        return found

    def witness(self) -> dict[str, Plain]:
        return {
            "head_multipliers": [
                {"input": str(i), "multiplier": format_rational(value)}
                for i, value in sorted(self.head.solution.multipliers.items())
            ],
            "multipliers": multiplier_table(self.given.selection, self.attention.multipliers),
        }

    def require_condition(self) -> None:
        """Raises NotProvedError where the label-margin condition is not proved."""
        with working_precision(_BITS[0]):
            if (self.head.drop() > 0) is True:
                return
        if not self.head.enumerated:
            raise NotProvedError("the label-margin condition is not proved: some pair of tokens is too far apart")
        choice, _ = self.head.nearest_choice
        others = [
            f"token {t} of input {i}"
            for i, t in zip(self.head.support, choice, strict=True)
            if t != self.given.selection.indices[i]
        ]
        raise NotProvedError(
            f"the label-margin condition is not proved: by the multipliers of v, attending to {', '.join(others)} "
            "may leave as large a label margin as the chosen tokens do"
        )

    def bounds(self, loss: str, norms: tuple[fmpq, fmpq]) -> tuple[dict[str, Plain], dict[str, Plain], int]:
        """What is proved at these norms, comparators that differ from r u and R p_mm/|p_mm|, and with how many bits."""
        tried = [*self._minimisers(loss, norms), *itertools.product(self._heads(norms[0]), self._attentions(norms[1]))]
        reason = ""
        for bits in _BITS:
            with working_precision(bits):
                paths = [JointPath(self.head, self.attention, loss, norms, pair) for pair in tried]
                best = max(range(len(paths)), key=lambda k: _merit(paths[k]))
                reason = _shortfall(paths[best])
                entry = {} if reason else _entry(norms, paths[best])
                if len(entry) == _COMPLETE:
                    stated = zip(("head", "attention"), tried[best], strict=True)
                    return entry, {name: texts(row.row(0)) for name, row in stated if row is not None}, bits
        where = f"at r = {describe(norms[0])}, R = {describe(norms[1])}"
        raise NotProvedError(f"{where}: {reason or 'no bound of the angle of p and p_mm is proved'}")

    def _minimisers(self, loss: str, norms: tuple[fmpq, fmpq]) -> list[tuple[ExactMatrix, ExactMatrix]]:
        r, R = map(as_float, norms)
        start = floats(self.head.solution.solution)[0], floats(self.attention.solution)[0]
        found = JointLoss(self.head, loss).minimiser(*start, r, R)
        return [] if found is None else [(just_inside(found[0], norms[0]), just_inside(found[1], norms[1]))]

    def _heads(self, r: fmpq) -> list[ExactMatrix | None]:
        found: list[ExactMatrix | None] = [None]
        if self.offset is not None:
            stated = comparator(self.head.solution, self.offset[0], r)
            found += [ExactMatrix.row_vector(stated)] if stated is not None else []
        return found

    def _attentions(self, R: fmpq) -> list[ExactMatrix | None]:
        found: list[ExactMatrix | None] = [None]
        q = attention_offset(self.attention)
        if q is not None:
            stated = [comparator(self.attention, shift * q, R) for shift in _SHIFTS]
            found += [ExactMatrix.row_vector(row) for row in stated if row is not None]
        return found


# The norms and three bounds.
_COMPLETE = 5


def _merit(path: JointPath) -> tuple[bool, float]:
    """The larger the better: the bound of the angle of p and p_mm where there is one, else what is lost."""
    cosine = path.attention_cosine()
    if not _shortfall(path) and cosine.is_finite() is True:
        return True, float(cosine.mid())
    return False, -float(path.lost.mid()) if path.lost.is_finite() is True else -math.inf


def _shortfall(path: JointPath) -> str:
    """The first condition that is not proved; "" where all are."""
    if (path.unattended < 1) is not True:
        return (
            f"support inputs may attend to other tokens: a bound of that weight is {path.unattended.str(3)}; r is small"
        )
    if (path.cosine > 0) is not True:
        return f"a bound of the cosine of v and v_mm is {path.cosine.str(3)}; r is small, or R is"
    for i in path.outside:
        if (path.room(i) > 0) is not True:
            return f"another token of input {i}, which v needs no multiplier of, may have a margin as large as Gamma"
    return ""


def _entry(norms: tuple[fmpq, fmpq], path: JointPath) -> dict[str, Plain]:
    entry: dict[str, Plain] = {
        "head_norm": format_rational(norms[0]),
        "attention_norm": format_rational(norms[1]),
    }
    values = {"head_cosine": path.head_cosine(), "attention_cosine": path.attention_cosine(), "mass": path.mass()}
    for name, value in values.items():
        if value.is_finite() is True and (value > 0) is True:
            bound = 1 - round_up(max(upper_rational(1 - value), _FINEST), _FEW_DIGITS)
            entry[name] = format_rational(bound if bound > 0 else round_down(lower_rational(value), _FEW_DIGITS))
    return entry


COMMAND = Command(
    Argument("DATA", Yaml("given")),
    Option(
        "--at",
        "Norms of v and p at which to bound the path.",
        metavar="'R_V, R_P'",
        many=True,
        parse=pair_for("--at", "two norms, such as '40, 40'"),
    ),
    Option("--loss", "The loss.", LOSSES),
    to_plot("Draw tokens in the plane, v and p."),
)
