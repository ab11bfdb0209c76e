"""Options of `certattn generate` that describe a region of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.provers.commands import Option, Whole, Yaml, entries

CELLS = 200

RADIUS = Option("--radius", "Bound it over a ball of this radius around each of the queries.", metavar="R")
CENTRE = Option("--centre", "The centre of the ball, in the place of a query.", metavar="'Q1, Q2, ...'")
BOX = Option("--box", "Bound it over a box: an interval or a number per coordinate.", metavar="'A1:B1, A2:B2, ...'")
REGION_FILE = Option(
    "--region", "Bound it over the region, or list of regions, in a YAML file.", Yaml("given.region"), "FILE"
)
MOST_CELLS_OF_EACH = Option("--cells", "The largest number of cells to cut a region into.", Whole(1))


def described_region(options: dict[str, Any], others: Mapping[str, dict[str, Any] | None] = {}) -> dict[str, Any]:
    """The options with the region that one of them describes, or one of `others`. Raises UsageError for several."""
    radius, centre, box = (options.pop(name) for name in ("radius", "centre", "box"))
    if centre is not None and radius is None:
        raise UsageError("--centre is the centre of a ball, whose radius is missing: --radius R")
    found = {
        "--radius": _ball(radius, centre) if radius is not None else None,
        "--box": _box(box) if box is not None else None,
        **others,
        "--region": options["region"],
    }
    given = {name: region for name, region in found.items() if region is not None}
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} each describe a region; expected one of them")
    return {**options, "region": next(iter(given.values()), None)}


def _ball(radius: str, centre: str | None) -> dict[str, Any]:
    if centre is None:
        return {"kind": "ball", "radius": radius}
    return {"kind": "ball", "centre": entries(centre), "radius": radius}


def _box(text: str) -> dict[str, Plain]:
    ends = [[end.strip() for end in interval.split(":")] for interval in text.split(",")]
    if any(len(pair) > 2 for pair in ends):
        raise UsageError(
            f"--box {text!r}: expected an interval A:B or a number for each coordinate, as in '-1:1, 0:1/2, 0'"
        )
    return {"kind": "box", "lower": [pair[0] for pair in ends], "upper": [pair[-1] for pair in ends]}
