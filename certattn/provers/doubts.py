"""What makes a certificate say little, in sentences for the person who made it: a doubt is no error, and no verdict.

Each command names the rules that fit what it states (`Command.doubts`). `certattn.cli.generate` prints what they find,
and in Python it is a `DoubtWarning`. Rules look at numbers in doubles: nothing depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.provers.array_files import ONLY, open_array_file
from certattn.provers.commands import Rule
from certattn.provers.exact_inputs import exact_number
from certattn.provers.rounding import decimal_exponent

# A number with more digits before the point is astronomic, and so is a prompt of more tokens.
_ASTRONOMIC = 20
_LONG = 9
# A bound that grows up to a prompt of more digits surprises.
_SHORT = 3
# Up to this ln L a length is shown with its digits.
_SHOWN = 20
_PROBABILITY = "probability"


def doubts(rules: Iterable[Rule], certificate: Certificate) -> Iterator[str]:
    """What the rules of a command find, and that of all."""
    for rule in (*rules, astronomic):
        yield from rule(certificate)


def rare(certificate: Certificate) -> Iterator[str]:
    """Probabilities that are no rare events, asserted or given."""
    given = {name: text for name, text in _plain(certificate)["given"].items() if name == _PROBABILITY}
    for path, value in (*_numbers(_asserts(certificate)), *_numbers(given)):
        if path.rpartition(".")[2] == _PROBABILITY and value >= 1:
            yield f"a probability is at most 1 anyway: {path} says nothing"
        elif path.rpartition(".")[2] == _PROBABILITY and 2 * value > 1:
            yield f"{path} is above 1/2: is that the probability of the rare event?"


def long(certificate: Certificate) -> Iterator[str]:
    """A prompt of more tokens than anybody has."""
    for _, value in _numbers({part: _plain(certificate)[part].get("length", "1") for part in ("given", "asserts")}):
        if value >= 10**_LONG:
            yield f"the length is about 10^{decimal_exponent(value)} tokens: no prompt is that long"


def relative(certificate: Certificate) -> Iterator[str]:
    """Bounds in units of the output that are no smaller than it."""
    for path, value in _numbers(_asserts(certificate)):
        if "per_query" not in path and path.endswith(("relative.at_most", "relative_at_most")) and value >= 1:
            yield "the bound in units of the output is not below 1: the difference may be as large as the output itself"


def distances(certificate: Certificate) -> Iterator[str]:
    """Distances between distribution functions that are no smaller than the largest that there is."""
    for path, value in _numbers(_asserts(certificate)):
        if path.endswith("at_most") and "separation" not in path and value >= 1:
            yield f"distribution functions are never more than 1 apart: {path} says nothing"


def rising(certificate: Certificate) -> Iterator[str]:
    """A display (ln L)^n / L^rho that grows up to longer prompts than most: up to ln L = n / rho."""
    plain = _plain(certificate)
    numbers = dict(_numbers({part: plain[part] for part in ("given", "asserts")}))
    c2, sigma = (next((x for path, x in numbers.items() if path.endswith(end)), None) for end in (".c2", ".sigma"))
    if c2 is None or sigma is None or "repaired" not in plain["asserts"]:
        return
    power = 2 if plain["asserts"].get("gradient") == "U" else 1
    top = power * float(sigma) ** 2 / float(c2) / math.log(10)
    if top > _SHORT:
        yield f"c2 is so small that the bound grows up to about 10^{top:.0f} tokens, and falls only beyond"


def vacuous(certificate: Certificate) -> Iterator[str]:
    """A display that is above the square of what outputs are apart at most, up to some length, for bounded tokens."""
    plain = _plain(certificate)
    given, asserts = plain["given"], dict(_numbers(plain["asserts"]))
    most, sigma = _squared_diameter(given, plain["asserts"].get("gradient")), given.get("class", given).get("sigma")
    if most is None or sigma is None or "repaired.c1" not in asserts:
        return
    variance = _double(sigma) ** 2
    rho, c1 = float(asserts["repaired.c2"]) / variance, float(asserts["repaired.c1"])
    room = math.log(most) - math.log(c1) - 3 * math.log(variance)

    def beyond(log: float) -> bool:
        return math.log(log) - rho * log > room

    # The display grows up to ln L = 1 / rho, and falls from there on.
    low, high = max(math.log(2), 1 / rho), 1e6
    if not beyond(low) or beyond(high):
        return
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) else (low, middle)
    length = f"{math.floor(math.exp(low)):,}" if low < _SHOWN else f"about 10^{low / math.log(10):.0f}"
    yield f"up to L = {length} the bound is above the square of what two outputs are apart at most, and says nothing"


def _squared_diameter(given: dict[str, Any], gradient: str | None) -> float | None:
    """Of the outputs V x for tokens on a box, of signs or on a ball; in V the gradient is like V = I."""
    law, about = given.get("law", {}), given.get("class", {})
    if "radius" in about:
        square = _double(about["radius"]) ** 2
    elif law.get("kind") in ("box", "rademacher") and isinstance(law.get("sizes"), list):
        square = sum(_double(size) ** 2 for size in law["sizes"])
    else:
        return None
    if gradient == "U" or isinstance(given.get("V"), dict):
        return None
    norm = _double(given.get("norms", {}).get("V", "1"))
    if "V" in given:
        norm = float(np.linalg.norm([[_double(entry) for entry in row] for row in given["V"]], 2))
    norm = 1.0 if gradient == "V" else norm
    return 4 * square * norm**2 or None


def spread(certificate: Certificate) -> Iterator[str]:
    """A bound on deviations that is larger than the values are apart."""
    values = _table(certificate, "values")
    if values is None:
        return
    widest = 2 * float(np.sqrt(np.square(values - values.mean(axis=0)).sum(axis=1).max()))
    stated = dict(_numbers(_asserts(certificate))).get("deviation.at_most")
    if stated is not None and stated >= exact_number(widest):
        yield "the bound is larger than any two values are apart: the limit does not describe the output there"


def astronomic(certificate: Certificate) -> Iterator[str]:
    """Numbers that are too large to mean anything to a person."""
    large = [(path, value) for path, value in _numbers(_asserts(certificate)) if abs(value) >= 10**_ASTRONOMIC]
    for path, value in large[:1]:
        more = f" (and {len(large) - 1} more)" if len(large) > 1 else ""
        yield f"{path} is about 10^{decimal_exponent(abs(value))}{more}: true, and of little use"


def scale_left_out(certificate: Certificate, *, default: bool, said: str = "") -> Iterator[str]:
    """Scores of a head without the 1/sqrt(d) of nearly every model; `default`: the scale 1 stands there by itself.

    said : how it is said, with {} for the usual one; by default as on the command line.
    """
    given = _plain(certificate)["given"]
    if "beta" in given or given.get("scale", "1" if not default else "") != "1" or ("scale" in given) is not default:
        return
    d = _key_dimension(given)
    if d is not None and d > 1:
        usual = f"1/sqrt({d})"
        how = said or ("--scale '{}', or --scale 1" if default else "scale: {}, or scale: 1, in the file")
        say = how.format(usual)
        yield f"no scale is given; most models multiply scores by {usual}, as keys have dimension {d}: say {say}"


def _key_dimension(given: dict[str, Any]) -> int | None:
    if "queries" not in given:
        return None
    # Tokens by themselves, without the maps of a model, are mostly drawn for an example.
    for name, axis in (("keys", -1), ("K", 0)):
        if name in given:
            return _extent(given[name], axis)
    return None


def _extent(plain: Any, axis: int) -> int | None:
    """How many rows (axis 0) or columns (-1) an array has, written out or by reference."""
    if isinstance(plain, dict):
        return int(plain["shape"][axis]) if "shape" in plain else None
    return len(plain) if axis == 0 else len(plain[0])


def _plain(certificate: Certificate) -> dict[str, Any]:
    return certificate.plain


def _asserts(certificate: Certificate) -> Any:
    return _plain(certificate)["asserts"]


def _numbers(plain: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers that are stated, by key path; long tables are left out."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from _numbers(value, f"{path}.{key}" if path else key)
    elif isinstance(plain, list):
        for index, value in enumerate(plain if isinstance(plain[0], dict) else []):
            yield from _numbers(value, f"{path}[{index}]")
    else:
        try:
            yield path, parse_rational(plain, DEFAULT_LIMITS)
        except NumberError:
            return


def _double(text: str) -> float:
    return float(parse_rational(text, DEFAULT_LIMITS))


def _table(certificate: Certificate, field: str) -> np.ndarray[Any, Any] | None:
    """A matrix of what is given in an array file, in doubles; None where there is none, or none that is finite."""
    found = _plain(certificate)["given"].get(field)
    if not isinstance(found, dict) or "file" not in found:
        return None
    try:
        file = open_array_file(Path(certificate.path).parent / found["file"])
        table = file.read(found.get("array", ONLY)).astype(np.float64)
    except UsageError:
        return None
    return table if table.ndim == 2 and math.isfinite(float(np.abs(table).sum())) else None
