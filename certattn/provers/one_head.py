"""One head of arrays that hold several: which axes are heads, and which array goes with which."""

from __future__ import annotations

import math
from collections.abc import Mapping

from certattn.kernel.errors import UsageError
from certattn.provers.array_inputs import Source, changed, shape_of

# Arrays that a model has one of for each head: (heads, rows, columns), and in a batch (batch, heads, rows, columns).
_OF_HEADS = ("keys", "values", "queries", "matrix", "K", "Q", "V", "U")
WhichHead = int | str | None


def of_one_head(found: Mapping[str, Source], head: WhichHead) -> dict[str, Source]:
    """The arrays of the head that is meant, where arrays of several heads are there; head 2 of batch 0 is "0,2".

    Several heads of queries may share one of keys. Raises UsageError where it is not said which head, and for one that
    is not there.
    """
    outer = {field: shape_of(found[field])[:-2] for field in _OF_HEADS if field in found}
    outer = {field: extents for field, extents in outer.items() if len(extents) in (1, 2)}
    one = all(math.prod(extents) == 1 for extents in outer.values())
    if head is not None and not outer:
        raise UsageError(f"--head {head}: no array has several heads; expected three axes: heads, rows, columns")
    if head is None and not one:
        field, extents = next((field, extents) for field, extents in outer.items() if math.prod(extents) > 1)
        several = "heads" if len(extents) == 1 else "batches and heads"
        example = ",".join("0" for _ in extents)
        raise UsageError(
            f"{field} has the shape {shape_of(found[field])}: {' x '.join(map(str, extents))} {several}; "
            f"expected one head, such as --head {example}"
        )
    text = "0" if head is None else str(head)
    places = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in places) or len(places) > 2:
        raise UsageError(f"--head {text!r}: expected a head, counted from 0, such as 2, or a batch and a head, as 0,2")
    most = max((extents[-1] for extents in outer.values()), default=1)
    return {f: _at(f, of, outer[f], places, most) if f in outer else of for f, of in found.items()}


def _at(field: str, source: Source, extents: tuple[int, ...], places: list[str], most: int) -> Source:
    """The matrix of one head."""
    *batch, head = map(int, places)
    *batches, heads = extents
    if batches == [1] and not batch:
        batch = [0]
    said, has = f"--head {','.join(places)}", f"{field} has {' x '.join(map(str, extents))} heads"
    if len(batch) < len(batches):
        raise UsageError(f"{said}: {has}, in batches; expected a batch and a head, as 0,{head}")
    if len(batch) > len(batches):
        raise UsageError(f"{said}: {has}, in no batch; expected a head, such as {head}")
    if batch and batch[0] >= batches[0]:
        raise UsageError(f"{said}: {has}; expected a batch from 0 to {batches[0] - 1}")
    if head >= most:
        raise UsageError(f"{said}: expected a head from 0 to {most - 1}")
    if most % heads:
        raise UsageError(f"{said}: {has}, which does not divide the {most} of another array")
    place = (*batch, head * heads // most)
    return changed(source, lambda numbers: numbers[place])
