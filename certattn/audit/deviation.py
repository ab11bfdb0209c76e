"""How far a head is from its linear surrogate, over all queries, and beside its own output."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from certattn.audit.head import Head, Plan, asserted, mapping, number, numbers, rational
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.theorems.attention.output_deviation import THEOREM
from certattn.provers.attention import output_deviation

NAME = "deviation"
CERTIFICATE = "deviation.yaml"
# Of bounds for each query, the share of queries that they are read off for.
QUANTILES = {"median": Fraction(1, 2), "quantile_90": Fraction(9, 10)}
_FIRST_SEES = 1


def plan(head: Head) -> Plan:
    """One certificate, of bounds for all queries and for each."""

    def write() -> None:
        output_deviation.generate(
            head.folder / CERTIFICATE,
            source=head.source,
            scale=head.scale,
            causal=_FIRST_SEES if head.causal else None,
            per_query=True,
            relative=True,
        )

    return Plan([CERTIFICATE], write, lambda found: figures(head, found))


def figures(head: Head, found: Sequence[Certificate]) -> dict[str, Any]:
    """The bounds for all queries, and those that hold for a share of them. Raises Unfit."""
    (certificate,) = found
    given: dict[str, Plain] = {**head.references("keys", "values", "queries"), "scale": head.scale}
    given["limit"] = {"kind": "empirical"}
    if head.causal:
        given["causal"] = str(_FIRST_SEES)
    stated = mapping(asserted(certificate, THEOREM.name, given).get("deviation"))
    each = mapping(stated.get("per_query"))
    made: dict[str, Any] = {name: number(stated.get(name)) for name in ("at_most", "relative_at_most")}
    for name, share in QUANTILES.items():
        made[name] = quantile(numbers(each.get("at_most")), share)
        made[f"relative_{name}"] = quantile(numbers(each.get("relative_at_most")), share)
    return made


def quantile(bounds: list[str], share: Fraction) -> str:
    """The least of these bounds that at least this share of them does not exceed."""
    ordered = sorted(bounds, key=rational)
    rank = -(-share.numerator * len(ordered) // share.denominator)
    return ordered[max(0, rank - 1)]
