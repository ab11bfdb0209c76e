"""The arrays of a matrix whose singular values are asked for, by field: from a file, or from Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.spectrum.stated_matrix import CAUSAL, CENTRED, KEYS, MATRIX, QUERIES
from certattn.provers.array_files import ONLY, open_array_file
from certattn.provers.array_inputs import InFile, Source, by_fields, found_arrays
from certattn.provers.commands import Option
from certattn.provers.exact_inputs import exact_text
from certattn.provers.one_head import WhichHead, of_one_head

FORMS = ((MATRIX.name,), (QUERIES.name, KEYS.name))
_FIELDS = tuple(field for form in FORMS for field in form)
CENTRED_OR_NOT = Option("--centred/--not-centred", "Whether to subtract 1/d from the attention matrix.", bool)
_EXPECTED = "expected an array matrix, or arrays queries and keys"


def matrix_sources(
    source: str | Path | None, names: Mapping[str, str], arrays: Mapping[str, Any], head: WhichHead = None
) -> dict[str, Source]:
    """The arrays of one form of a matrix, by field. Raises UsageError where none is whole, or both are.

    source: a file with arrays of the fields' names, or of those in `names`; a .npy file holds the matrix.
    head: the one that is meant of several.
    """
    names, arrays = by_fields(names, _FIELDS), by_fields(arrays, _FIELDS)
    found: dict[str, Source] = {}
    file, holds = None, "no file was given"
    if source is not None:
        file = open_array_file(Path(source))
        if ONLY in file.headers:
            holds, found[MATRIX.name] = f"{source} holds the matrix", InFile(file, ONLY)
        else:
            holds = f"{source} holds {file.listed()}"
    found |= found_arrays(file, _FIELDS, names, arrays)
    # What was named is meant, whatever else the file holds.
    named = set(arrays) | set(names)
    whole = [form for form in FORMS if set(form) <= set(found) and named <= set(form)]
    if len(whole) == 0:
        raise UsageError(f"{_EXPECTED}; {holds}. Arrays of other names: --array matrix=NAME")
    if len(whole) > 1:
        raise UsageError(f"{holds}: the matrix, or that of queries and keys? Say so with --array matrix=matrix")
    return of_one_head({field: found[field] for field in whole[0]}, head)


def attention_section(
    references: Mapping[str, Plain], scale: str, *, centred: bool, causal: bool = False
) -> dict[str, Plain]:
    """A matrix, or queries and keys with their scores, as certificates write them.

    Raises UsageError where a matrix comes with what is about scores, which would be ignored.
    """
    stated: dict[str, Plain] = dict(references)
    if MATRIX.name not in stated:
        stated |= {"scale": exact_text(scale, "scale"), CENTRED.name: "true" if centred else "false"}
        return stated | {CAUSAL.name: "true"} if causal else stated
    if scale != "1":
        raise UsageError("a matrix has no scale of scores; expected queries and keys, or no --scale")
    if causal:
        raise UsageError("a matrix is taken as it is, with no mask; expected queries and keys, or no --causal")
    if centred is not True:
        raise UsageError(
            "a matrix is taken as it is, whether centred or not; expected queries and keys, or no --not-centred"
        )
    return stated
