"""The singular values of the attention matrix, and their distance from the law of random weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certattn.audit.head import Head, Plan, Unfit, asserted, mapping, number, numbers
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.theorems.spectrum.singular_values import THEOREM as SINGULAR_CLAIM
from certattn.kernel.theorems.spectrum.spectral_distance import THEOREM as DISTANCE_CLAIM
from certattn.provers.spectrum import singular_values, spectral_distance
from certattn.provers.spectrum.matrix_sources import attention_section

SINGULAR, DISTANCE = "singular-values", "spectral-distance"
SINGULAR_CERTIFICATE, DISTANCE_CERTIFICATE = f"{SINGULAR}.yaml", f"{DISTANCE}.yaml"
LARGEST = 4
MASKED = "no law is known of random weights under a causal mask; the limit law is that of a matrix without one"
UNPAIRED = "the attention matrix is of as many queries as keys; here are others"
_STATES = ("values", "norm", "stable-rank", "effective-rank")
_LAW_STATES = ("law", "quarter-circle")
_PLACES = 3


def singular(head: Head) -> Plan:
    """One certificate about singular values. Raises NotProvedError."""
    if len(head.queries) != len(head.keys):
        raise NotProvedError(UNPAIRED)
    largest = min(LARGEST, head.tokens)

    def write() -> None:
        singular_values.generate(
            head.folder / SINGULAR_CERTIFICATE,
            source=head.source,
            scale=head.scale,
            causal=head.causal,
            largest=largest,
            states=_STATES,
        )

    def figures(found: Sequence[Certificate]) -> dict[str, Any]:
        (certificate,) = found
        stated = asserted(certificate, SINGULAR_CLAIM.name, _given(head))
        values = mapping(stated.get("values"))
        return {
            "largest": numbers(values.get("value")),
            "radius": number(values.get("radius")),
            "stable_rank": _bounds(stated.get("stable_rank")),
            "effective_rank": _bounds(mapping(stated.get("effective_rank")).get("values")),
        }

    return Plan([SINGULAR_CERTIFICATE], write, figures)


def distance(head: Head) -> Plan:
    """One certificate about the distance from the equivalent law. Raises NotProvedError."""
    if head.causal:
        raise NotProvedError(MASKED)
    if len(head.queries) != len(head.keys):
        raise NotProvedError(UNPAIRED)
    if head.queries.shape[1] != head.keys.shape[1]:
        raise NotProvedError(UNPAIRED)
    if not (np.any(head.queries) and np.any(head.keys)):
        raise NotProvedError("queries or keys are 0, which random weights are not")
    unit = f"{math.sqrt(_size(head.queries) * _size(head.keys)):.3g}"

    def write() -> None:
        spectral_distance.generate(
            head.folder / DISTANCE_CERTIFICATE,
            source=head.source,
            scale=head.scale,
            unit=unit,
            states=_LAW_STATES,
            places=_PLACES,
        )

    def figures(found: Sequence[Certificate]) -> dict[str, Any]:
        (certificate,) = found
        given = {**_given(head), "law": spectral_distance.law_section({"unit": unit})}
        stated = asserted(certificate, DISTANCE_CLAIM.name, given)
        return {"unit": unit, **{name: _bounds(stated.get(name)) for name in ("law", "quarter_circle")}}

    return Plan([DISTANCE_CERTIFICATE], write, figures)


def _given(head: Head) -> dict[str, Plain]:
    return attention_section(head.references("queries", "keys"), head.scale, centred=True, causal=head.causal)


def _bounds(node: object) -> dict[str, str]:
    """A lower bound, an upper one, or both. Raises Unfit."""
    stated = mapping(node)
    sides: tuple[str, ...] = ("at_least", "at_most")
    found = {side: number(stated[side]) for side in sides if side in stated}
    if not found:
        raise Unfit("no bound where the certificate has one or two")
    return found


def _size(rows: np.ndarray[Any, Any]) -> float:
    """The root mean square of the entries."""
    return float(np.sqrt((rows.astype(np.float64) ** 2).mean()))
