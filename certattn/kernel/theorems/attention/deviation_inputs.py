"""What `output-deviation` is given: a prompt, queries or a region of them, and what attention is compared with."""

from __future__ import annotations

from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import Field, Record, Values, Variant
from certattn.kernel.given.attention_inputs import LAW, SCALE
from certattn.kernel.given.causal import causal_field, read_causal
from certattn.kernel.given.prompt_inputs import OPTIONAL_QUERIES, QUERIES, StatedPrompt, prompt_forms
from certattn.kernel.theorems.attention.deviation_bounds import PER_QUERY, RELATIVE
from certattn.kernel.theorems.attention.query_regions import CELLS, QUERY, REGION, WEIGHTS, StatedRegion, read_region

LIMIT_MATRIX = Field("matrix", Matrix(), "matrix of the affine map")
LIMIT_OFFSET = Field("offset", Vector(), "offset of the affine map")
TOKEN_LAW = Field("law", LAW, "law of tokens, or of key and value side by side")
LIMIT = Field(
    "limit",
    Variant(
        "kind",
        {
            "empirical": Record(),
            "affine": Record(LIMIT_MATRIX, LIMIT_OFFSET, SCALE),
            "law": Record(TOKEN_LAW),
        },
    ),
    "what the prompt is compared with",
)
CAUSAL = causal_field(1)
GIVEN = prompt_forms(REGION, LIMIT, CAUSAL, queries=OPTIONAL_QUERIES)


def read_sight(given: Values, prompt: StatedPrompt) -> int | None:
    """How many tokens the first listed query sees, None for all. Raises MalformedError."""
    if CAUSAL in given and REGION in given:
        raise given.node(CAUSAL).malformed("listed queries where there is a mask: a region lists none")
    return read_causal(given, CAUSAL, prompt)


def read_queries(given: Values, dimension: int, deviation: Values, witness: Values | None) -> StatedRegion | None:
    """The region, if there is one in the place of listed queries. Raises MalformedError."""
    if QUERIES in given and REGION in given:
        raise given.node(REGION).malformed("queries or a region, not both")
    if REGION in given:
        if PER_QUERY in deviation:
            raise deviation.node(PER_QUERY).malformed("at_most or at_least: a region lists no queries")
        if RELATIVE in deviation:
            raise deviation.node(RELATIVE).malformed("at_most or at_least: over a region bounds are absolute")
        return read_region(given[REGION], dimension, witness)
    if QUERIES not in given:
        raise given.at.malformed("queries, or a region of them", "no 'queries' and no 'region'")
    for field in (CELLS, QUERY, WEIGHTS):
        if witness is not None and field in witness:
            raise witness.node(field).malformed(f"{field.name} only where a region is given")
    return None
