"""An output in a file against bounds, and against another output of the same inputs: what is proved of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.theorems.attention.attention_error import ERROR, OF_LSE, RELATIVE, RMS, ULPS
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS
from certattn.kernel.theorems.attention.stated_heads import LSE, MASK, MASK_TYPES, OUTPUT
from certattn.provers.array_inputs import InFile, InMemory, Source
from certattn.provers.rounding import decimal_exponent, last_place, round_up
from certattn.testing.array_names import INPUTS, Found, booleans_of, numbers_of
from certattn.testing.arrays import Numbers
from certattn.testing.certificates import stated_rows, write_certificate
from certattn.testing.diagnosis import likely_causes
from certattn.testing.errors import AttentionError, Enclosed, HeadError
from certattn.testing.exact_numbers import exact_scale
from certattn.testing.heads import Heads, Masks, heads_of
from certattn.testing.measuring import Told, measured
from certattn.testing.rules import Rules
from certattn.testing.threads import one_thread_each

# An array in the other file, beside the fields of this one.
AGAINST = "against"

# Measures of a head by their names here, and the fields of certificates that state them.
FIELDS = {"max_abs": ERROR, "relative": RELATIVE, "ulps": ULPS, "rms": RMS, "lse": OF_LSE}


def measures(head: HeadError) -> dict[str, Enclosed]:
    """Of one head, by the names of FIELDS."""
    found = {"max_abs": head.max_abs, "relative": head.max_relative, "ulps": head.max_ulps, "rms": head.rms}
    return found if head.lse is None else {**found, "lse": head.lse}


def of_worst(found: AttentionError) -> dict[str, Enclosed]:
    """The largest of all heads, which a bound of every head is about."""
    heads = [measures(head) for head in found.heads]
    return {
        name: Enclosed(max(head[name].lower for head in heads), max(head[name].upper for head in heads))
        for name in heads[0]
    }


def holds(found: Enclosed, bound: Fraction) -> bool | None:
    """Whether a number is at most so much; None where that is not proved."""
    if found.upper <= bound:
        return True
    return False if found.lower > bound else None


@dataclass(frozen=True)
class Least:
    """The smallest decimal of some digits that is proved to be a bound; the one before, if it is proved to be none."""

    bound: fmpq
    fails: fmpq | None
    digits: int

    def __str__(self) -> str:
        return decimal_text(self.bound, self.digits)

    @property
    def words(self) -> str:
        return f"{decimal_text(self.fails, self.digits)} does not hold" if self.fails is not None else ""


def decimal_text(value: fmpq, digits: int) -> str:
    """A decimal of so many digits, exactly."""
    if value == 0:
        return "0"
    mantissa = value / last_place(value, digits)
    return f"{Decimal(int(mantissa.p)).scaleb(decimal_exponent(value) - digits + 1):.{digits}g}"


def least_bound(found: Enclosed, digits: int) -> Least | None:
    """None where there is no bound."""
    if not found.upper < inf:
        return None
    bound = round_up(fmpq(*found.upper.as_integer_ratio()), digits)
    if bound == 0:
        return Least(bound, None, digits)
    # Below a power of ten digits are finer.
    finer = 10 if bound == fmpq(10) ** decimal_exponent(bound) else 1
    before = bound - last_place(bound, digits) / finer
    return Least(bound, before if fmpq(*found.lower.as_integer_ratio()) > before else None, digits)


# -- what is compared


@dataclass(frozen=True)
class Other:
    """Another output of the same inputs, and of which heads it is the same numbers."""

    path: Path
    heads: Heads
    same: Sequence[bool]


@dataclass(frozen=True)
class Task:
    """Heads with their output from a file, the log-sum-exps if they are there, and another output, if there is one.

    beside: what else stands in the file as certificates have it.
    """

    path: Path
    sources: Mapping[str, InFile]
    beside: Mapping[str, InFile]
    arrays: Mapping[str, Numbers]
    heads: Heads
    lse_base: str
    layout: str
    other: Other | None

    def write(self, out: Path, bounds: Mapping[str, Fraction]) -> Certificate:
        """A certificate that states these bounds of every head, by the names of FIELDS.

        Raises UsageError, and NotProvedError for what certificates do not hold.
        """
        if LSE.name in bounds:
            self.require_finite_logarithms()
        placed: dict[str, Source] = dict(self.beside)
        for field, source in self.sources.items():
            if field == LSE.name and field not in bounds:
                continue
            numbers = self.arrays[field]
            if field == LSE.name:
                bits = numbers.bits.reshape(self._shape_of_lse())
            else:
                bits = stated_rows(field, numbers, self.heads, self.layout)
            unchanged = np.shares_memory(bits, numbers.bits) and bits.flags.c_contiguous
            as_it_stands = (source.header.dtype, source.header.shape) == (numbers.dtype, bits.shape)
            placed[field] = source if unchanged and as_it_stands else InMemory(bits, numbers.dtype)
        stated = {FIELDS[name]: bound for name, bound in bounds.items()}
        # Copies take the certificate's name, unless that is the name of what they are from.
        stem = f"{out.stem}-arrays" if out.stem == self.path.stem else out.stem
        return write_certificate(out, placed, self.heads, self.lse_base, stated, stem)

    def require_finite_logarithms(self) -> None:
        """Raises NotProvedError where one is not, be it of a query that sees nothing."""
        bad = [] if LSE.name not in self.arrays else np.argwhere(~np.isfinite(self.arrays[LSE.name].doubles())).tolist()
        if bad:
            raise NotProvedError(
                f"the log-sum-exp at {bad[0]} is NaN or infinite, and certificates hold finite log-sum-exps only"
            )

    def _shape_of_lse(self) -> tuple[int, ...]:
        """A number for each query, with as many axes before as the other arrays have."""
        axes = len(self.arrays[OUTPUT.name].shape)
        return self.heads.queries.shape[:3][4 - axes :]


def read_task(
    path: Path,
    against: Path | None,
    names: Mapping[str, str],
    *,
    layout: str,
    scale: str | None,
    lse_base: str,
    soft_cap: str | None,
    **masks: Any,
) -> Task:
    """From files. names: what arrays are called, by field, and `against` of the other output. Raises UsageError."""
    here = {field: name for field, name in names.items() if field != AGAINST}
    if AGAINST in names and against is None:
        raise UsageError("--array against=NAME is for an output in another file, and --against names none")
    found = Found(path, here)
    sources = {field: found.take(field) for field in (OUTPUT.name, *INPUTS)}
    logarithms = found.get(LSE.name)
    sources |= {} if logarithms is None else {LSE.name: logarithms}
    arrays = {field: numbers_of(source, computed=field == OUTPUT.name) for field, source in sources.items()}
    inputs = [arrays[field] for field in INPUTS]
    mask, alibi, sinks = (found.get(field.name) for field in (MASK, ALIBI, SINKS))
    seen = Masks.of(**masks, stated=None if mask is None else booleans_of(mask))
    slopes, logits = (None if by_head is None else numbers_of(by_head) for by_head in (alibi, sinks))
    rules = replace(Rules.of(soft_cap, None, None), alibi=slopes, sinks=logits)
    heads = heads_of([arrays[OUTPUT.name], *inputs], exact_scale(scale), layout, seen, rules)
    other = None
    if against is not None:
        output = _other_output(found, against, names, arrays)
        theirs = heads_of([output, *inputs], heads.scale, layout, seen, rules)
        other = Other(against, theirs, [np.array_equal(heads.output[p], theirs.output[p]) for p in heads.places()])
    beside = {MASK.name: mask} if mask is not None and mask.header.dtype in MASK_TYPES else {}
    for field, by_head, numbers in ((ALIBI, alibi, slopes), (SINKS, sinks, logits)):
        if by_head is not None and numbers is not None and len(numbers.shape) == 1:
            beside |= {field.name: by_head} if by_head.header.dtype == numbers.dtype else {}
    return Task(path, sources, beside, arrays, heads, lse_base, layout, other)


def _other_output(found: Found, path: Path, names: Mapping[str, str], arrays: Mapping[str, Numbers]) -> Numbers:
    """The output in another file, or another one in the same file. Raises UsageError for one of other inputs."""
    theirs = Found(path, {OUTPUT.name: names[AGAINST]} if AGAINST in names else {})
    source = theirs.take(OUTPUT.name)
    for field in INPUTS if path != found.path else ():
        held = theirs.get(field)
        if held is not None:
            numbers, ours = numbers_of(held), arrays[field]
            if (
                numbers.dtype != ours.dtype
                or numbers.shape != ours.shape
                or numbers.bits.tobytes() != ours.bits.tobytes()
            ):
                raise UsageError(f"{path} holds other {field} than {found.path}; expected outputs of the same inputs")
    return numbers_of(source, computed=True)


# -- what is proved

FIRST, SECOND, SAME, UNKNOWN = "<", ">", "=", "?"


@dataclass(frozen=True)
class Side:
    """A head with both outputs, and which of them is proved to be closer in each measure."""

    first: HeadError
    second: HeadError
    closer: Mapping[str, str]


@dataclass(frozen=True)
class Compared:
    """What was found. bounds: those that were to be proved. least: the smallest ones that hold of every head."""

    task: Task
    found: AttentionError
    bounds: Mapping[str, Fraction]
    least: Mapping[str, Least | None]
    causes: Sequence[str]
    against: AttentionError | None
    sides: Sequence[Side]
    digits: int

    @property
    def worst(self) -> Mapping[str, Enclosed]:
        """The measures of the worst head of each."""
        return of_worst(self.found)

    @property
    def outcomes(self) -> dict[str, bool | None]:
        """Of the bounds: whether they hold, None where that is not decided."""
        return {name: holds(self.worst[name], bound) for name, bound in self.bounds.items()}

    def to_state(self) -> dict[str, Fraction]:
        """The bounds of a certificate: those to be proved, or the smallest that hold. Raises NotProvedError."""
        if self.bounds:
            return dict(self.bounds)
        self.task.require_finite_logarithms()
        if self.found.not_finite:
            raise NotProvedError("the output has entries that are NaN or infinite: no bound of its error holds")
        known = {name: least.bound for name, least in self.least.items() if least is not None}
        return {name: Fraction(int(bound.p), int(bound.q)) for name, bound in known.items()}


def compared(task: Task, bounds: Mapping[str, Fraction], digits: int, told: Told) -> Compared:
    """Measure. Raises UsageError, and Binary64Error where binary64 bounds nothing."""
    if "lse" in bounds and LSE.name not in task.arrays:
        raise UsageError(f"--lse bounds the log-sum-exps that the kernel returned, and {task.path} holds none")
    others = [] if task.other is None else [task.other.heads]
    with default_floating_point(), one_thread_each():
        found, *against = measured(task.heads, task.arrays.get(LSE.name), task.lse_base, others, told)
        worst = of_worst(found)
        refuted = any(holds(worst[name], bound) is False for name, bound in bounds.items() if name != "lse")
        causes = likely_causes(found, task.heads) if refuted else []
    least = {name: least_bound(each, digits) for name, each in worst.items()}
    sides = [] if task.other is None else _sides(found, against[0], task.other.same)
    return Compared(task, found, bounds, least, causes, against[0] if against else None, sides, digits)


def closer(first: Enclosed, second: Enclosed, same: bool) -> str:
    """Which of two errors is proved to be smaller; `same` where the outputs do not differ."""
    if same:
        return SAME
    if first.upper < second.lower:
        return FIRST
    return SECOND if second.upper < first.lower else UNKNOWN


def _sides(first: AttentionError, second: AttentionError, same: Sequence[bool]) -> list[Side]:
    found = []
    for one, other, equal in zip(first.heads, second.heads, same, strict=True):
        ours, theirs = measures(one), measures(other)
        # Last places of two number types are no common measure.
        names = [name for name in theirs if name != "ulps" or first.dtype == second.dtype]
        found.append(Side(one, other, {name: closer(ours[name], theirs[name], equal) for name in names}))
    return found
