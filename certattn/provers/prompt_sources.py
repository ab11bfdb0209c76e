"""The arrays of a prompt, by field: from a file, from several, or from Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certattn.kernel.document.quoting import listed
from certattn.kernel.errors import UsageError
from certattn.provers.array_files import ONLY, open_array_file
from certattn.provers.array_inputs import InFile, Source, by_fields, found_arrays
from certattn.provers.one_head import WhichHead, of_one_head

KEY_VALUE = ("keys", "values", "queries")
TOKENS = ("tokens", "queries")
BILINEAR = ("tokens", "U", "queries")
# The arrays of each form of a prompt: those it needs, and those it may have.
FORMS = ((KEY_VALUE, ()), (TOKENS, ("K", "Q", "V")), (BILINEAR, ("V",)))


def prompt_sources(
    source: str | Path | None,
    names: Mapping[str, str],
    arrays: Mapping[str, Any],
    head: WhichHead = None,
    *,
    queries: bool = True,
) -> dict[str, Source]:
    """The arrays of one form of a prompt, by field. Raises UsageError where none is whole, or several are.

    source: a file with arrays of the fields' names, or of those in `names`; a .npy file holds the
    tokens. A name such as keys.npy or k.npz[keys] is that of an array in a file of its own. Without `queries` the
    form has none, and those that there are are left out. `head` is the one that is meant of several.
    """
    forms = [(tuple(f for f in needed if queries or f != "queries"), optional) for needed, optional in FORMS]
    known = tuple(dict.fromkeys(field for needed, optional in FORMS for field in needed + optional))
    names, arrays = by_fields(names, known), by_fields(arrays, known)
    found: dict[str, Source] = {}
    file, holds = None, "no file was given"
    if source is not None:
        file = open_array_file(Path(source))
        holds = f"{source} holds {'the tokens' if ONLY in file.headers else file.listed()}"
        if ONLY in file.headers:
            found["tokens"] = InFile(file, ONLY)
    found |= found_arrays(file, known, names, arrays)
    whole = [[f for f in needed + optional if f in found] for needed, optional in forms if set(needed) <= set(found)]
    expected = f"expected arrays {', '.join(forms[0][0])}, or {', '.join(forms[1][0])} with K, Q, V or U, V"
    if not whole:
        raise UsageError(f"{expected}; {holds}. Arrays of other names: --array keys=NAME")
    # What was named is meant; of the forms that have it, the one that leaves nothing out that another takes.
    named = (set(arrays) | set(names)) - (set() if queries else {"queries"})
    meant = [fields for fields in whole if named <= set(fields)]
    if not meant:
        raise UsageError(f"the arrays {listed(sorted(named))} do not go together; {expected}")
    fullest = [fields for fields in meant if not any(set(fields) < set(other) for other in meant)]
    if len(fullest) > 1:
        several = " or of ".join(", ".join(fields) for fields in fullest)
        own = next(field for field in fullest[0] if field not in fullest[1])
        raise UsageError(
            f"{holds}: a prompt of {several}? Say so with an array that only one of them has, such as "
            f"--array {own}={own}, or remove the others from the file (U replaces K and Q)"
        )
    return of_one_head({field: found[field] for field in fullest[0]}, head)
