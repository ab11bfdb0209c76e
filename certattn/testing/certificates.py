"""A certificate of what a test asserts, with its arrays beside it in a .safetensors file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import NUMBERS, TENSOR, VECTOR
from certattn.kernel.document.regular_files import reason
from certattn.kernel.document.schema import Field
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.reals import format_rational, format_real
from certattn.kernel.theorems.attention.attention_error import THEOREM
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS
from certattn.kernel.theorems.attention.stated_heads import KEYS, LSE, MASK, OUTPUT, QUERIES, VALUES
from certattn.provers.array_inputs import InMemory, Source, placed
from certattn.provers.output import Draft
from certattn.provers.safetensors import file_bytes
from certattn.testing.arrays import Numbers
from certattn.testing.heads import Heads, in_rows_by_head
from certattn.writing import write_atomically

_FIELDS = (OUTPUT.name, QUERIES.name, KEYS.name, VALUES.name)


def keep_certificate(
    folder: Path, arrays: Sequence[Numbers], heads: Heads, layout: str, bounds: Mapping[Field[Any], Fraction]
) -> Path:
    """Write it under a name made of its content, and return its path. The checker says whether it holds."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"keep is {str(folder)!r}, expected a folder ({reason(error)})") from None
    held = {
        name: (array.dtype, np.ascontiguousarray(stated_rows(name, array, heads, layout)))
        for name, array in zip(_FIELDS, arrays, strict=True)
    }
    held |= {name: (each.dtype, each.bits) for name, each in _beside(heads).items()}
    content = file_bytes(held)
    digest = hashlib.sha256(content).hexdigest()
    stored = folder / f"attention-{digest[:16]}.safetensors"
    write_atomically(stored, content)
    given: dict[str, Plain] = {
        name: {"file": stored.name, "array": name, "sha256": digest, "dtype": dtype, "shape": [*map(str, bits.shape)]}
        for name, (dtype, bits) in held.items()
    }
    given |= {"scale": format_real(heads.scale), **_masks(heads)}
    asserts = _at_most(bounds)
    text = Draft(THEOREM, stored.with_suffix(".yaml"), given).text(asserts)
    path = folder / f"attention-{hashlib.sha256(text.encode()).hexdigest()[:16]}.yaml"
    Draft(THEOREM, path, given).write(asserts)
    return path


def write_certificate(
    out: Path,
    sources: Mapping[str, Source],
    heads: Heads,
    lse_base: str,
    bounds: Mapping[Field[Any], Fraction],
    stem: str,
) -> Certificate:
    """Write a certificate of these bounds to `out`; its arrays stay where they are, or are copied beside it.

    sources : of the fields of `given`, heads before rows.
    stem : of the name of the file that copies come into.

    The checker says whether it holds. Raises UsageError.
    """
    dimensions = {LSE.name: NUMBERS, ALIBI.name: VECTOR, SINKS.name: VECTOR}
    with placed(out, {**_beside(heads), **sources}, "auto", dimensions, TENSOR, stem) as references:
        given: dict[str, Plain] = {**references, "scale": format_real(heads.scale), **_masks(heads)}
        if LSE.name in references:
            given[LSE.name] = {"value": references[LSE.name], "base": lse_base}
        return Draft(THEOREM, out, given).write(_at_most(bounds))


def stated_rows(field: str, array: Numbers, heads: Heads, layout: str) -> NDArray[Any]:
    """An array as certificates have it: heads before rows, and 0 for padding that is NaN or infinite."""
    rows, lengths = in_rows_by_head(array.bits, layout), heads.masks.lengths
    if field not in (KEYS.name, VALUES.name) or lengths is None or np.isfinite(array.doubles()).all():
        return rows
    rows = rows.copy()
    for batch, length in zip(rows if rows.ndim == 4 else [rows], lengths, strict=True):
        batch[..., length:, :] = 0
    return rows


def _at_most(bounds: Mapping[Field[Any], Fraction]) -> dict[str, Plain]:
    return {
        field.name: {"at_most": format_rational(fmpq(bound.numerator, bound.denominator))}
        for field, bound in bounds.items()
    }


def _beside(heads: Heads) -> dict[str, InMemory]:
    """Arrays that not every kernel has."""
    by_head = ((ALIBI, heads.rules.alibi), (SINKS, heads.rules.sinks))
    found = {field.name: InMemory(x.bits.reshape(-1), x.dtype) for field, x in by_head if x is not None}
    if heads.stated_mask is not None:
        mask = heads.stated_mask.astype(np.uint8)
        of_one = mask.shape[:2] == (1, 1)
        found[MASK.name] = InMemory(mask.reshape(mask.shape[-2:]) if of_one else mask, "uint8")
    return found


def _masks(heads: Heads) -> dict[str, Plain]:
    masks, stated = heads.masks, dict[str, Plain]()
    if masks.offset is not None:
        stated["causal"] = str(masks.offset)
    if masks.empty is not None:
        stated["empty"] = masks.empty
    if heads.rules.soft_cap is not None:
        cap = heads.rules.soft_cap
        stated["soft_cap"] = format_rational(fmpq(cap.numerator, cap.denominator))
    if masks.window is not None:
        stated["window"] = str(masks.window)
    if masks.lengths is not None:
        stated["lengths"] = [str(length) for length in masks.lengths]
    if masks.sequences is not None:
        names = ("queries", "keys")
        stated["sequences"] = {n: [*map(str, each)] for n, each in zip(names, masks.sequences, strict=True)}
    return stated
