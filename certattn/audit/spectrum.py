"""The singular values of the attention matrix, and their distance from the law of random weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certattn.audit.head import Head, Statement, mapping
from certattn.provers import singular_values, spectral_distance

SINGULAR, DISTANCE = "singular-values", "spectral-distance"
SINGULAR_CERTIFICATE, DISTANCE_CERTIFICATE = f"{SINGULAR}.yaml", f"{DISTANCE}.yaml"
LARGEST = 4
MASKED = "no law is known of random weights under a causal mask; the limit law is that of a matrix without one"
UNPAIRED = "the attention matrix is of as many queries as keys; here are others"
_STATES = ("values", "norm", "stable-rank", "effective-rank")
_LAW_STATES = ("law", "quarter-circle")
_PLACES = 3


def singular(head: Head) -> Statement:
    """Write the certificate about singular values. Raises NotProvedError."""
    if len(head.queries) != len(head.keys):
        return Statement(missing=UNPAIRED)
    made = singular_values.generate(
        head.folder / SINGULAR_CERTIFICATE,
        source=head.source,
        scale=head.scale,
        causal=head.causal,
        largest=min(LARGEST, head.tokens),
        states=_STATES,
    )
    stated = mapping(made.plain["asserts"])
    effective = mapping(stated["effective_rank"])
    figures = {
        "largest": mapping(stated["values"])["value"],
        "radius": mapping(stated["values"])["radius"],
        "stable_rank": stated["stable_rank"],
        "effective_rank": effective["values"],
    }
    return Statement([SINGULAR_CERTIFICATE], figures)


def distance(head: Head) -> Statement:
    """Write the certificate about the distance from the equivalent law. Raises NotProvedError."""
    if head.causal:
        return Statement(missing=MASKED)
    if len(head.queries) != len(head.keys):
        return Statement(missing=UNPAIRED)
    if head.queries.shape[1] != head.keys.shape[1]:
        return Statement(missing=UNPAIRED)
    if not (np.any(head.queries) and np.any(head.keys)):
        return Statement(missing="queries or keys are 0, and random weights are not")
    unit = f"{math.sqrt(_size(head.queries) * _size(head.keys)):.3g}"
    made = spectral_distance.generate(
        head.folder / DISTANCE_CERTIFICATE,
        source=head.source,
        scale=head.scale,
        unit=unit,
        states=_LAW_STATES,
        places=_PLACES,
    )
    stated: dict[str, Any] = mapping(made.plain["asserts"])
    return Statement([DISTANCE_CERTIFICATE], {"unit": unit, **stated})


def _size(rows: np.ndarray[Any, Any]) -> float:
    """The root mean square of the entries."""
    return float(np.sqrt((rows.astype(np.float64) ** 2).mean()))
