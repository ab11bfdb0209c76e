"""A length at which random prompts are as near to their limit as this head is to its surrogate; fewer may be enough.

The law is the Gaussian with the moments of score and value over the tokens that a query sees, for the query for which
the proof takes the longest. The certificate says that P(|T_L - T| > r) <= delta from a length on, with the bound r that
is certified of the head's deviation; it is proved by the mean square of the norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certattn.audit.head import Doubles, Head, Plan, Unfit, asserted, mapping, number, rational, reason
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.theorems.prompts.output_tail import THEOREM
from certattn.provers.prompts import output_tail
from certattn.provers.rounding import as_float

NAME = "prompt-length"
CERTIFICATE = "prompt-length.yaml"
_NORM = "l2"
# The law's moments are rounded to so many places below the largest variance.
_PLACES = 8


def plan(head: Head, probability: str, within: str) -> Plan:
    """One certificate, for the bound `within` that is certified of the deviation. Raises NotProvedError."""
    bound = rational(within)
    if bound == 0:
        raise NotProvedError("the head equals its surrogate: no random prompt is that near to its limit")
    goal = as_float(rational(probability) * bound * bound)
    if not goal > 0:
        raise NotProvedError("the bound and its probability are too small for doubles: no length is sought")
    needed = lengths(head, goal)
    query = int(np.argmax(needed))
    law = gaussian(head, query)

    def write() -> None:
        try:
            output_tail.generate(
                head.folder / CERTIFICATE,
                given=dict(law),
                norm=_NORM,
                exceeds=within,
                probability=probability,
                method=output_tail.MEAN_SQUARE,
            )
        except NotProvedError as error:
            raise NotProvedError(f"at query {query}, {reason(error)}") from None

    def figures(found: Sequence[Certificate]) -> dict[str, Any]:
        (certificate,) = found
        least = number(mapping(mapping(certificate.given.plain()).get("length")).get("at_least"))
        tail = mapping(asserted(certificate, THEOREM.name, {**law, "length": {"at_least": least}}).get("norm"))
        stated = [tail.get("norm"), rational(tail.get("exceeds")), rational(tail.get("probability"))]
        if stated != [_NORM, bound, rational(probability)]:
            raise Unfit(f"{certificate.path}: expected a tail beyond {within} of probability {probability}")
        return {"query": query, "within": within, "probability": probability, "length": int(rational(least).p)}

    return Plan([CERTIFICATE], write, figures)


def lengths(head: Head, goal: float) -> Doubles:
    """By query, the least L with (S + B) / (1 + (L - 1) e^-v) <= goal, in doubles.

    v is the variance of the score over what the query sees, S the trace of the values' covariance, and B the square
    of the norm of the covariance of score and values: docs/claims/prompts/output-mean-square.md.
    """
    visible = np.arange(head.tokens)[None, :] < head.seen[:, None]
    counts = head.seen[:, None].astype(np.float64)
    centred = np.where(visible, head.scores - (head.scores * visible).sum(1, keepdims=True) / counts, 0.0)
    values = head.values.astype(np.float64)
    means = visible @ values / counts
    spread = (visible @ (values * values) / counts - means * means).sum(axis=1)
    variance = (centred * centred).sum(axis=1) / counts[:, 0]
    shift = ((centred @ values / counts) ** 2).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        needed: Doubles = 1 + np.exp(variance) * ((spread + shift) / goal - 1)
    return np.maximum(needed, 1)


def gaussian(head: Head, query: int) -> dict[str, Plain]:
    """The law of score and value side by side, with the tilt that takes the score; the values are the rest."""
    seen = int(head.seen[query])
    rows = np.column_stack([head.scores[query, :seen], head.values[:seen].astype(np.float64)])
    size = rows.shape[1]
    mean, centred = rows.mean(axis=0), rows - rows.mean(axis=0)
    covariance = centred.T @ centred / seen
    covariance = (covariance + covariance.T) / 2
    largest = float(covariance.diagonal().max())
    places = _PLACES - math.floor(math.log10(largest)) if largest > 0 else _PLACES
    # Every entry is off by half a unit of the last place, a symmetric matrix of them by at most size / 2 units.
    covariance[np.diag_indices(size)] += size * 10.0**-places
    unit: list[Plain] = [["1" if column == row + 1 else "0" for column in range(size)] for row in range(size - 1)]
    law: dict[str, Plain] = {
        "kind": "gaussian",
        "mean": [_decimal(entry, places) for entry in mean],
        "covariance": [[_decimal(entry, places) for entry in row] for row in covariance],
    }
    return {"law": law, "tilt": ["1", *["0"] * (size - 1)], "V": unit}


def _decimal(value: float, places: int) -> str:
    """A double to so many places, exactly as it is written."""
    units = round(Fraction(value) * Fraction(10) ** places)
    return str(units) if places == 0 else f"{units}e{-places}" if units else "0"
