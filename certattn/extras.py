"""Packages that only some commands need, by the extra of the installation that brings them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Final

from certattn.kernel.errors import UsageError

# As in pyproject.toml, without what an extra takes over from another one.
EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "theory": ("sympy",),
    "plot": ("matplotlib",),
    "report": ("jinja2", "latex2mathml"),
    "audit": ("tokenizers",),
    "search": ("scipy",),
}


def require_extras(what: str, *extras: str, otherwise: str = "") -> None:
    """Raises UsageError before any work is done, and once for all that is missing of these extras.

    what : what needs them, in the plural; `otherwise`: how to do without.
    """
    missing = {extra: packages for extra in extras if (packages := list(_missing(extra)))}
    if missing:
        packages = [package for each in missing.values() for package in each]
        hint = f"; {otherwise}" if otherwise else ""
        # The packages themselves: an extra would be installed from whatever an index has under certattn's name.
        raise UsageError(f"{what} need {' and '.join(packages)}: pip install {' '.join(packages)}{hint}")


def _missing(extra: str) -> Iterator[str]:
    for package in EXTRAS[extra]:
        try:
            there = find_spec(package) is not None
        except (ImportError, ValueError):
            there = False
        if not there:
            yield package
