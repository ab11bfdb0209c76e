"""Whether a certificate that was generated anew says the same as the one of the gallery.

Most certificates come out byte for byte the same on every machine: they hold numbers that are settled by exact
arithmetic. Those with a witness come from searches in floats, and processors and libraries differ in the last digits
of logarithms and of matrix products. The searches are made not to depend on that, by rounding before they choose;
but where two candidates are as good as each other up to rounding no search can promise it. So a witness may
differ, a number that was found may differ by its last digit, and what is written anew has to be verified.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flint import fmpq

import certattn
from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.limits import DEFAULT_LIMITS

# What is found is printed with three digits or more, and a unit of the third is at most a hundredth.
_CLOSE = fmpq(1, 100)


def says_the_same(gallery: Path, fresh: Path) -> bool:
    """Whether two files are the same, or two certificates from a search in floats but for what floats decide."""
    if gallery.is_file() != fresh.is_file():
        return False
    if gallery.read_bytes() == fresh.read_bytes():
        return True
    if gallery.suffix != ".yaml":
        return False
    old, new = (certattn.load(path).plain for path in (gallery, fresh))
    if "witness" not in old or "witness" not in new:
        return False
    return _same_statement(old, new) and certattn.check(fresh).verdict is certattn.Verdict.VERIFIED


def _same_statement(old: Any, new: Any) -> bool:
    """The same but for the witness and the last digits of what was found: in asserts, and the length of a prompt."""
    searched = ("given", "asserts", "witness")
    if any(old.get(name) != new.get(name) for name in {*old, *new} if name not in searched):
        return False
    before, after = dict(old["given"]), dict(new["given"])
    lengths = before.pop("length", None), after.pop("length", None)
    return before == after and _close(*lengths) and _close(old["asserts"], new["asserts"])


def _close(old: Any, new: Any) -> bool:
    """Whether trees agree, their numbers up to the third digit."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_close(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_close, old, new))
    if old == new or not isinstance(old, str) or not isinstance(new, str):
        return bool(old == new)
    try:
        numbers = [parse_rational(text, DEFAULT_LIMITS) for text in (old, new)]
    except NumberError:
        return False
    return bool(abs(numbers[0] - numbers[1]) <= _CLOSE * abs(numbers[0]))
