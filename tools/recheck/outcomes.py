"""What becomes of a certificate: a function of a claim returns, which verifies, or raises one of these."""

from __future__ import annotations


class Rejected(Exception):
    """The file is not a certificate: a wrong key, number, shape, hash."""


class NotFinite(Rejected):
    """An array holds a NaN or an infinity."""


class NotProved(Exception):
    """What the file states, or a condition of its proof, is false or does not follow from the witness."""


class Undecided(Exception):
    """Intervals overlap: more precision may decide."""


class NotCovered(Exception):
    """This checker does not know how to decide it."""
