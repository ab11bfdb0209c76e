"""Enclosures of what `softmax-mean` states: by Arb to as many digits as are printed, or by binary64 at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.decide.proof import AFTER_BINARY64
from certattn.kernel.errors import Binary64Error, UsageError
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax_moments import COVARIANCES
from certattn.kernel.mathematics.softmax_shares import RankedPrompt
from certattn.kernel.mathematics.spectrum import largest_eigenvalue, smallest_eigenvalue
from certattn.kernel.theorems.attention.softmax_mean import (
    COVARIANCE,
    LOG_NORMALISER,
    MEAN,
    Weighted,
    tightly_weighted,
    weighted_in_binary64,
    weighted_queries,
)
from certattn.provers.attention.stated_tables import Printing, Table

FIRST_BITS = 64
_BITS = (FIRST_BITS, 128, 256, 512, 1024, 2048, 4096)
# Products of queries, tokens and columns from which on Arb takes long: some seconds.
_MOST_FOR_ARB = 2**27
# A smallest eigenvalue below this part of the largest is about nothing.
_NOTHING = fmpq(1, 2**50)


@dataclass(frozen=True)
class Wanted:
    """What to state beside the mean, and how."""

    covariance: bool
    eigenvalues: bool
    log_normaliser: bool
    of: str
    printing: Printing
    entropy: bool = False
    top: Sequence[int] = ()

    @property
    def second(self) -> bool:
        """Whether second moments are needed."""
        return self.covariance or self.eigenvalues

    @property
    def ranked(self) -> bool:
        """Whether something is wanted that binary64 has not."""
        return self.entropy or bool(self.top)


@dataclass
class Found:
    """What the queries' enclosures are: of the numbers to state, and of the ends of ranges.

    `ends` are those of the eigenvalues; `outside`, by numbers of tokens, is what the largest weights leave.
    """

    tables: list[Table]
    ends: list[tuple[arb, arb]]
    entropies: list[arb] = field(default_factory=list)
    outside: dict[int, list[arb]] = field(default_factory=dict)

    def is_sharp(self, wanted: Wanted) -> bool:
        enough = 4 * wanted.printing.digits
        numbers = [(x, x) for each in (self.entropies, *self.outside.values()) for x in each]
        return all(table.is_sharp(wanted.printing) for table in self.tables) and all(
            largest.rel_accuracy_bits() > enough
            and (smallest.rel_accuracy_bits() > enough or bool(smallest <= largest * _NOTHING))
            for smallest, largest in (*self.ends, *numbers)
            if not largest.is_zero()
        )


def enclosures(prompt: StatedPrompt, wanted: Wanted, arithmetic: str) -> tuple[Found, int]:
    """Enclosures of what is wanted, and the bits of precision that a check should begin with.

    Raises UsageError and Binary64Error where binary64 is asked for and has no answer.
    """
    if arithmetic == "binary64" and not prompt.tiers:
        raise UsageError("binary64 needs a prompt in array files whose numbers are doubles")
    if arithmetic == "binary64" and wanted.ranked:
        raise UsageError("entropies and sums of the largest weights are enclosed in arb, not in binary64")
    in_doubles = arithmetic == "auto" and prompt.tiers and not wanted.ranked
    if arithmetic == "binary64" or (in_doubles and _takes_arb_long(prompt)):
        try:
            return _by_binary64(prompt, wanted), FIRST_BITS
        except Binary64Error:
            if arithmetic == "binary64":
                raise
    return _by_arb(prompt, wanted)


def _takes_arb_long(prompt: StatedPrompt) -> bool:
    columns = prompt.inputs[0].shape[1] + prompt.output_dimension
    return prompt.count * prompt.length * columns > _MOST_FOR_ARB


def _by_arb(prompt: StatedPrompt, wanted: Wanted) -> tuple[Found, int]:
    """Sharp to the digits to be printed, or at the highest precision, and the precision."""
    for bits in _BITS:
        with working_precision(bits):
            found = _collected(weighted_queries(prompt, range(prompt.count)), prompt, wanted, bits)
            if found.is_sharp(wanted):
                break
    return found, bits


def _by_binary64(prompt: StatedPrompt, wanted: Wanted) -> Found:
    """As sharp as binary64 is; by the tight tier where there are no second moments."""
    rows, of = range(prompt.count), {wanted.of} if wanted.second else set()
    with working_precision(AFTER_BINARY64):
        weigh = weighted_in_binary64(prompt, rows, of) if of else tightly_weighted(prompt, rows)
        return _collected(weigh, prompt, wanted, AFTER_BINARY64)


def _collected(weigh: Iterable[Weighted], prompt: StatedPrompt, wanted: Wanted, bits: int) -> Found:
    """What every query's enclosures are, side by side."""
    origin = ExactMatrix.zero(1, prompt.output_dimension)
    sources: dict[str, Callable[[Weighted], list[arb]]] = {MEAN.name: lambda weighted: weighted.output_off(origin)}
    if wanted.covariance:
        sources[COVARIANCE.name] = lambda weighted: weighted.covariance(wanted.of).entries()
    if wanted.log_normaliser:
        sources[LOG_NORMALISER.name] = lambda weighted: [weighted.log_normaliser()]
    sides = {"values": prompt.output_dimension, "keys": prompt.key_dimension}
    columns = {MEAN.name: origin.columns, COVARIANCE.name: sides[COVARIANCES[wanted.of][1]], LOG_NORMALISER.name: 1}
    found = Found([Table(name, columns[name]) for name in sources], [], [], {count: [] for count in wanted.top})
    for weighted in weigh:
        for table in found.tables:
            table.rows.append(sources[table.name](weighted))
        if wanted.eigenvalues:
            matrix = weighted.covariance(wanted.of)
            found.ends.append((smallest_eigenvalue(matrix, bits), largest_eigenvalue(matrix, bits)))
        if wanted.ranked:
            assert isinstance(weighted, RankedPrompt)
            if wanted.entropy:
                found.entropies.append(weighted.entropy())
            for count, each in found.outside.items():
                each.append(weighted.mass_outside(count))
    return found
