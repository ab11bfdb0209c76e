"""How far a head is from its linear surrogate, over all queries, and beside its own output."""

from __future__ import annotations

from fractions import Fraction

from certattn.audit.head import Head, Statement, mapping
from certattn.provers import output_deviation

NAME = "deviation"
CERTIFICATE = "deviation.yaml"
# Of bounds for each query, the share of queries that they are read off for.
QUANTILES = {"median": Fraction(1, 2), "quantile_90": Fraction(9, 10)}


def state(head: Head) -> Statement:
    """Write the certificate. Raises NotProvedError."""
    made = output_deviation.generate(
        head.folder / CERTIFICATE,
        source=head.source,
        scale=head.scale,
        causal=1 if head.causal else None,
        per_query=True,
        relative=True,
    )
    stated = mapping(mapping(made.plain["asserts"])["deviation"])
    each = mapping(stated["per_query"])
    figures = {"at_most": stated["at_most"], "relative_at_most": stated["relative_at_most"]}
    for name, share in QUANTILES.items():
        figures[name] = quantile(each["at_most"], share)
        figures[f"relative_{name}"] = quantile(each["relative_at_most"], share)
    return Statement([CERTIFICATE], figures)


def quantile(bounds: list[str], share: Fraction) -> str:
    """The least of these bounds that at least this share of them does not exceed."""
    ordered = sorted(bounds, key=Fraction)
    rank = -(-share.numerator * len(ordered) // share.denominator)
    return ordered[max(0, rank - 1)]
