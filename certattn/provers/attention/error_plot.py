"""A figure of certificates of `attention-error` and `cache-error`: the error at each query, and the stated bounds.

Errors are middles of enclosures, in doubles where the check has them. Of several heads of a kernel the largest error
of each is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention import attention_error, cache_error
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS, _MOST = 64, 600
_MARKED = 60
_WORDS = {
    "relative": "error, of the output",
    "deviation": "length of the error",
    "error": "largest entry of the error",
}


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where there are no queries, or no error is stated of them."""
    given, asserts = certificate.plain["given"], certificate.plain["asserts"]
    assert isinstance(given, dict)
    assert isinstance(asserts, dict)
    wanted = [name for name in _WORDS if "at_most" in asserts.get(name, {})][:2]
    if not wanted or "queries" not in given:
        raise UsageError("a figure shows the error at each query; this certificate states none")
    with working_precision(_BITS):
        found = (
            _of_kernel(certificate, wanted)
            if certificate.claim == "attention-error"
            else _of_cache(certificate, wanted)
        )
    with canvas(target, (5.6, 0.6 + 3.0 * len(wanted)), len(wanted), squeeze=False) as (figure, axes):
        figure.suptitle(found.title, fontsize=11)
        for name, part in zip(wanted, axes[:, 0], strict=True):
            _draw(part, name, found, asserts[name])  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Found:
    """Errors by name, each of a query or of a head, and what the figure says of them."""

    title: str
    of: str
    errors: dict[str, list[float]]


def _of_kernel(certificate: Certificate, wanted: Sequence[str]) -> _Found:
    stated = attention_error.read(certificate)
    heads = range(stated.heads.count)
    if len(heads) > 1 and stated.tiers:
        with_errors = attention_error.errors_in_binary64(stated, heads)
        largest = {name: [float(with_errors[head][name]().mid()) for head in heads] for name in wanted}
        return _Found(f"{len(heads)} heads of {stated.heads.queries} queries", "heads", largest)
    rows = [row for head in heads for row in islice(attention_error.exact_rows(stated.heads, head), _MOST)]
    by_query = {
        "error": [float(largest_of(row.off)) for row in rows],
        "relative": [float(row.relative().mid()) for row in rows],
    }
    return _Found(counted(len(rows), "query"), "queries", by_query)


def _of_cache(certificate: Certificate, wanted: Sequence[str]) -> _Found:
    stated = cache_error.read(certificate)
    if not stated.compares:
        raise UsageError("a figure shows the error of outputs; this certificate states weights alone")
    heads = range(stated.heads.count)
    asked = [(name, head) for name in wanted for head in heads]
    found = cache_error.measures(stated, asked, next(iter(stated.tiers), None))
    errors = {name: [float(ball.mid()) for head in heads for ball in found[name, head]] for name in wanted}
    queries = len(errors[wanted[0]])
    return _Found(f"{counted(queries, 'query')} of {counted(len(heads), 'head')}", "queries", errors)


def largest_of(row: Sequence[arb]) -> float:
    return max((abs(float(entry.mid())) for entry in row), default=0.0)


def _draw(axes: Any, name: str, found: _Found, stated: Mapping[str, str]) -> None:
    values = np.sort(found.errors[name])
    few = len(values) <= _MARKED
    axes.plot(
        range(1, len(values) + 1),
        values,
        color=RUN,
        marker="o" if few else "",
        ms=4,
        lw=1.4,
        label="computed",
        ls="" if few else "-",
    )
    one = "head" if found.of == "heads" else "query"
    for key, dashes, words in (("at_most", "-", f"every {one} at most"), ("at_least", ":", f"some {one} at least")):
        if key in stated:
            bound = as_float(exact_rational(stated[key], key))
            axes.axhline(bound, color=BOUND, lw=1.4, ls=dashes, label=f"{standing()}: {words} {bound:.6g}")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"{found.of}, sorted by what is drawn")
    axes.set_ylabel(_WORDS[name])
    axes.legend(loc="best")
