"""Inputs of tokens in a theorem: their keys, stated or as W x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.coq.instance import COMPUTED, Conjunct, NotExportableError
from certattn.coq.terms import Constant, Integers, Table, Tables, natural
from certattn.kernel.theorems.selection.stated_tokens import KEY_MAP, KEYS, StatedTokens


@dataclass(frozen=True)
class KeysTerm:
    """The keys of all inputs: over the reals, and as integers over a denominator, to which `rewriting` leads.

    `stated` is what is given, the keys themselves or the tokens.
    """

    term: str
    denominator: str
    integers: str
    rewriting: str
    stated: Tables
    constants: list[Constant]
    shapes: list[Conjunct]


def keys_term(inputs: StatedTokens) -> KeysTerm:
    """Of keys, or of tokens."""
    form = "keys" if KEYS in inputs.given else "tokens"
    stated = Tables(form, inputs.rows, inputs.tokens.lengths)
    shapes = [
        Conjunct(f"wide {natural(inputs.rows.columns)} {stated.term}", f"apply wide_mat. {COMPUTED}"),
    ]
    weights = inputs.given.get(KEY_MAP) if form == "tokens" else None
    if weights is None:
        return KeysTerm(stated.term, f"{form}_den", form, "", stated, [stated], shapes)
    W = Table("W", weights.load())
    return KeysTerm(
        f"(map (map (image {W.term})) {stated.term})",
        f"(W_den * {form}_den)",
        f"(map (map (imageZ W)) {form})",
        "rewrite ?image_inputs.",
        stated,
        [stated, W],
        [*shapes, shape(W)],
    )


def shape(table: Table) -> Conjunct:
    """How many rows and columns a table has."""
    size = f"{natural(table.matrix.rows)} {natural(table.matrix.columns)}"
    return Conjunct(f"shaped {size} {table.term}", f"apply shaped_mat. {COMPUTED}")


def whole(name: str, values: Sequence[fmpq]) -> Integers:
    """Levels and labels are 0, 1 or -1. Raises NotExportableError for fractions."""
    if any(value.q != 1 for value in values):
        raise NotExportableError(f"{name} are expected to be whole numbers")
    return Integers(name, [value.p for value in values])
