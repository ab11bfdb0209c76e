"""State the risk of attention with given parameters, from prompts that were held out.

The prompts are assumed to be independent of each other, and of the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.held_out_risk import LARGEST, THEOREM, HeldOut, p_value, read, read_given
from certattn.kernel.theorems.training.stated_prompts import LABELS, QUERIES, TARGETS, TOKENS
from certattn.provers.array_inputs import placed
from certattn.provers.commands import ARRAY, DATA, Argument, Command, Option, Whole, Yaml, to_plot
from certattn.provers.doubts import rare
from certattn.provers.exact_inputs import exact, require_within
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import as_float, last_place
from certattn.provers.training.context_prompts import sources
from certattn.provers.training.held_out_rule import ends

FIELDS = tuple(field.name for field in (TOKENS, LABELS, QUERIES, TARGETS))
_BITS = 128
# How many last places an end may be moved where doubles saw it too near.
_MOVES = 8


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    digits: int = 3,
    data: str = "auto",
    note: str = "",
) -> Certificate:
    """Write a certificate of `held-out-risk` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `parameters` with `A` and `b`,
        `probability`, and maybe `largest`, without which there is no upper end; `tokens`, `labels`, `queries` and
        `targets` may be arrays, which are written to a file beside the certificate, or be left out where they are in a
        file; `lengths` where prompts are not equally long.
    source : path-like, optional
        A file with these arrays.
    names : mapping of str to str, optional
        Their names there that differ, as {"tokens": "x"}.
    digits : int
        Digits of the distance of each end from the observed mean.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.

    References
    ----------
    Waudby-Smith and Ramdas (2024), *Estimating means of bounded random variables by betting*, arXiv:2010.09686.
    Statement and proof: docs/claims/training/held-out-risk.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> tokens, tasks = np.tile([[1.0], [1.0], [-1.0], [1.0]], (60, 1)), np.ones((60, 1))
    >>> certificate = certattn.generate(
    ...     "held-out-risk", parameters={"A": [[1]], "b": 1}, probability="1/20", largest=1,
    ...     tokens=tokens, labels=tokens, queries=tasks, targets=tasks,
    ... )
    >>> {name: float(number) for name, number in certificate.numbers.items()}
    {'at_least': 0.003447, 'at_most': 0.153}
    """
    require_place(out, source)
    require_within(1, 12, digits, "digits")
    arrays = {name: value for name, value in given.items() if name in FIELDS and isinstance(value, np.ndarray)}
    rest = exact({name: value for name, value in given.items() if name not in arrays}, "given")
    assert isinstance(rest, dict)
    if source is None and not arrays and not names and TOKENS.name not in rest:
        raise UsageError("no prompts; expected --arrays with tokens, labels, queries and targets")
    found = sources(Path(source) if source is not None else None, names or {}, arrays, {**rest, "model": "regression"})
    with placed(out, {name: found[name] for name in FIELDS if name in found}, data) as references:
        draft = Draft(THEOREM, out, {**rest, **references}, note)
        held_out = draft.read(read_given)
        return draft.write(_asserts(held_out, digits))


def _asserts(held_out: HeldOut, digits: int) -> dict[str, Plain]:
    """Both ends, or the lower one, which the kernel's rule excludes everything beyond of."""
    with working_precision(_BITS):
        losses = held_out.losses()
        bounded = LARGEST in held_out.given
        if bounded:
            _require_bounded(held_out)
        floats, most = np.array([float(loss) for loss in losses]), held_out.largest_loss if bounded else None
        low, high = ends(floats, np.inf if most is None else as_float(most), as_float(held_out.chance))
        mean = float(floats.mean())
        least = _moved(losses, held_out.chance, low, _unit(mean - low, digits))
        found: dict[str, Plain] = {"at_least": format_rational(least)}
        if most is not None:
            unit, others = _unit(high - mean, digits), [most - loss for loss in losses]
            room = most - _up(high, unit)
            stated = _excluding(others, held_out.chance, room, unit)
            found["at_most"] = format_rational(most - stated)
        return found


def _require_bounded(held_out: HeldOut) -> None:
    """Raises UsageError for a label or a target above the stated largest."""
    for field in (LABELS, TARGETS):
        entries = held_out.given[field].load().T.row(0)
        largest = max(map(abs, entries))
        if largest > held_out.given[LARGEST]:
            stated = describe(held_out.given[LARGEST])
            raise UsageError(
                f"one of the {field.name} has the absolute value {describe(largest)}, above the largest that is "
                f"stated, {stated}; expected a bound that holds for every prompt of the law, known without these"
            )


def _unit(width: float, digits: int) -> fmpq:
    return last_place(fmpq(*max(width, 1e-12).as_integer_ratio()), digits)


def _up(end: float, unit: fmpq) -> fmpq:
    return (fmpq(*end.as_integer_ratio()) / unit).ceil() * unit


def _moved(numbers: list[arb], chance: fmpq, end: float, unit: fmpq) -> fmpq:
    """The multiple of the unit at or below an end."""
    return max(_excluding(numbers, chance, (fmpq(*end.as_integer_ratio()) / unit).floor() * unit, unit), fmpq(0))


def _excluding(numbers: list[arb], chance: fmpq, mean: fmpq, unit: fmpq) -> fmpq:
    """A mean at or below that one which the kernel's rule excludes; at worst 0."""
    for _ in range(_MOVES):
        if (p_value(numbers, mean) <= chance) is True:
            return mean
        mean -= unit
    return fmpq(0)


def _width(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """How large the observed mean is, which nothing is proved of."""
    held_out = read(certificate).held_out
    with working_precision(_BITS):
        losses = held_out.losses()
        return f"mean loss of the {len(losses)} prompts {float(sum(losses, arb(0)) / len(losses)):.4g}"


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option("--arrays", "A file with the prompts.", Path, "FILE", sets="source"),
    ARRAY,
    Option("--digits", "Digits of the distance of each end from the mean loss.", Whole(1, 12)),
    DATA,
    to_plot("Draw the mean loss and the rule by the number of prompts."),
    finding=_width,
    doubts=[rare],
)
