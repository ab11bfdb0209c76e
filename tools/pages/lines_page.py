"""The table of docs/trust.md: what has to be read to believe a verdict on each claim.

docs/conf.py puts it where the page has `<!-- generated: lines -->`.
"""

from __future__ import annotations

from pathlib import Path

from tools.figures import House
from tools.pages.codes_page import table


def page() -> str:
    """A row for each claim: lines and files at most, and for a certificate whose numbers are written out."""
    house = House(Path(__file__).resolve().parents[2])
    rows = []
    for claim in house.claims:
        counted = []
        for path in (house.audit_path(claim), house.least_path(claim)):
            counted += [f"{sum(module.lines for module in path):,}", str(len(path))]
        rows.append((f"`{claim}`", *counted))
    return table(("claim", "at most: lines", "files", "written out: lines", "files"), rows)
