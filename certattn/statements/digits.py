"""Numbers for people: as few digits as show what was decided, and never more than is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import DOUBLE as DOUBLE
from certattn.kernel.decide.obligation import Enclosure, Number, Part
from certattn.kernel.decide.proof import Answer, Outcome
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational

# Digits to show, the first that tell the two sides of an obligation apart.
DIGITS = (15, 30, 60, 120, 1000)
_MOST_CHARACTERS = 60
# What printed numbers are read back with: more than any of them has.
_PARSING_BITS = 4 * DIGITS[-1]
# Digits of a bound that is proved.
_BOUND_DIGITS = 6
# Exponents of two up to which such a bound is computed exactly.
_WRITTEN_OUT = 2000
# What is said of an obligation.
UNPROVED = "unproved"
RESULTS = (*(outcome.value for outcome in Outcome), UNPROVED)


def result(answer: Answer) -> str:
    """One of RESULTS: of a false inequality that only bounds the statement's number, that it proves nothing."""
    return UNPROVED if answer.outcome is Outcome.REFUTED and answer.part is Part.WITNESS else answer.outcome.value


def to_dict(answer: Answer, sentence: str) -> dict[str, Any]:
    """An obligation as it was decided, for JSON: every number as text. `sentence` says what is compared."""
    left, right = (answer.because, "") if answer.because else _sides(answer)
    if isinstance(answer.left, ExactMatrix) and isinstance(answer.right, ExactMatrix):
        sentence += _different_entry(answer.left, answer.right)
    elif not answer.because and not _shows(answer, left, right):
        sentence += f" ({_ends(answer)})"
    return {
        "name": answer.name,
        "sentence": sentence,
        "left": left,
        "relation": answer.relation,
        "right": right,
        "outcome": result(answer),
        "bits": answer.bits,
        "arithmetic": answer.arithmetic,
        "part": answer.part.value,
    }


def show(value: Number | None, digits: int = DIGITS[0], *, more: bool = False) -> str:
    """An enclosure or an exact number as text, short enough to read.

    `more` is for digits that a wide ball leaves open: they say where its middle is.
    """
    if isinstance(value, arb):
        # Whoever has set python-flint's context to Unicode gets the same text.
        return value.str(digits, more=more).replace("±", "+/-")
    assert isinstance(value, fmpq)
    text = format_rational(value)
    with working_precision(4 * digits):
        return text if len(text) <= _MOST_CHARACTERS else show(arb(value), digits)


def show_lower(value: arb, digits: int = _BOUND_DIGITS) -> str:
    """The lower end of a ball in so many digits, rounded downwards: what is proved of a probability from below."""
    end = value.lower()
    mantissa, exponent = end.man_exp() if end.is_finite() is True else (0, 0)
    if mantissa <= 0 or abs(int(exponent)) > _WRITTEN_OUT:
        return show(end)
    exact = fmpq(mantissa) * fmpq(2) ** int(exponent)
    places = digits - len(str(exact.floor())) if exact >= 1 else digits + len(str((1 / exact).floor())) - 1
    unit = fmpq(10) ** -places
    return format_rational((exact / unit).floor() * unit)


def show_upper(value: arb, digits: int = _BOUND_DIGITS) -> str:
    """The upper end of a ball in so many digits, rounded upwards: what is proved of a number that it bounds."""
    end = value.upper()
    if end.is_finite() is not True or (end <= 0) is True:
        return show(end)
    mantissa, exponent = end.man_exp()
    if abs(int(exponent)) <= _WRITTEN_OUT:
        exact = fmpq(mantissa) * fmpq(2) ** int(exponent)
        places = digits - len(str(exact.floor())) if exact >= 1 else digits + len(str((1 / exact).floor())) - 1
        unit = fmpq(10) ** -places
        return format_rational((exact / unit).ceil() * unit)
    # By logarithms, as the end of a tiny probability can have millions of digits.
    with working_precision(_PARSING_BITS):
        power = (end.log() / arb(10).log()).lower().floor().unique_fmpz()
        scaled = end.log() + (digits - 1 - arb(power or 0)) * arb(10).log()
        count = scaled.exp().upper().ceil().unique_fmpz()
    if power is None or count is None:
        return show(end)
    text = str(count)
    rest = text[1:].rstrip("0")
    return f"{text[0]}{'.' if rest else ''}{rest}e{power + len(text) - digits}"


def _sides(answer: Answer) -> tuple[str, str]:
    """Both sides as text, with more digits where they would not show the outcome."""
    left, right = answer.left, answer.right
    if isinstance(left, ExactMatrix) and isinstance(right, ExactMatrix):
        return _matrices(answer, left, right)
    if _are_equal(answer):
        return show(left), show(right)
    for digits in DIGITS:
        for more in (False, True):
            texts = show(left, digits, more=more), show(right, digits, more=more)
            if _midpoint(texts[0]) != _midpoint(texts[1]) and _shows(answer, *texts):
                return texts
    # No digits help where a ball is wide: its radius is printed with three of them.
    wide = any(isinstance(side, arb) and side.is_exact() is not True for side in (left, right))
    return (show(left, more=True), show(right, more=True)) if wide else texts


def _matrices(answer: Answer, left: ExactMatrix, right: ExactMatrix) -> tuple[str, str]:
    """Two exact matrices, or the first entries that differ, or their shapes where these do."""
    if left.shape != right.shape:
        return str(left.shape), str(right.shape)
    different = _first_difference(left, right)
    if different is None:
        return str(left), str(right)
    return _sides(replace(answer, left=left.entry(*different), right=right.entry(*different)))


def _different_entry(left: ExactMatrix, right: ExactMatrix) -> str:
    different = _first_difference(left, right)
    return "" if different is None else f" (entry {different[0]}, {different[1]})"


def _first_difference(left: ExactMatrix, right: ExactMatrix) -> tuple[int, int] | None:
    if left.shape != right.shape:
        return None
    places = ((i, j) for i in range(left.rows) for j in range(left.columns))
    return next((place for place in places if left.entry(*place) != right.entry(*place)), None)


def _shows(answer: Answer, left: str, right: str) -> bool:
    """Whether the printed balls decide as the enclosures do."""
    sides = _numbers(answer)
    if answer.outcome is Outcome.UNDECIDED or not any(isinstance(side, arb) for side in sides):
        return True
    with working_precision(_PARSING_BITS):
        sign = 1 if _left_is_less(answer) else -1
        difference = sign * (_printed(right, sides[1]) - _printed(left, sides[0]))
        strict = answer.relation in (("<", ">") if answer.outcome is Outcome.PROVED else ("<=", ">="))
        return bool(difference > 0) if strict else bool(difference >= 0)


def _are_equal(answer: Answer) -> bool:
    """Whether both sides are one exact binary number, which no digits tell apart."""
    left, right = _numbers(answer)
    return (arb(left) == arb(right)) is True


def _left_is_less(answer: Answer) -> bool:
    """Whether what decided is that the left side is the smaller one."""
    return (answer.relation in ("<=", "<")) is (answer.outcome is Outcome.PROVED)


def _ends(answer: Answer) -> str:
    """In words, which ends of balls decided that are printed wider than they are."""
    left, right = _numbers(answer)
    less = _left_is_less(answer)
    with working_precision(_PARSING_BITS):
        texts = _sides(replace(answer, left=_end(left, upper=less), right=_end(right, upper=not less)))
    return f"the balls are printed wider than they are; the ends that decide are {texts[0]} and {texts[1]}"


def _numbers(answer: Answer) -> tuple[Enclosure, Enclosure]:
    """The sides of a comparison of numbers; of a range the proof has settled which end."""
    left, right = answer.left, answer.right
    assert isinstance(left, Enclosure)
    assert isinstance(right, Enclosure)
    return left, right


def _printed(text: str, side: Enclosure) -> arb:
    """What a reader takes a printed side for: the ball that it shows, or the number itself."""
    return arb(text) if isinstance(side, arb) or text.startswith("[") else arb(side)


def _end(side: Enclosure, *, upper: bool) -> Enclosure:
    """An end of a ball; the number itself where it is exact."""
    if isinstance(side, arb):
        return side.upper() if upper else side.lower()
    return side


def _midpoint(text: str) -> str:
    shown = text.strip("[").split(" +/-")[0]
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def hexadecimal(value: fmpq) -> str:
    """A fraction with a power of two below, exactly, as certificates write hex floats."""
    if value == 0:
        return "0"
    exponent, size = value.q.bit_length() - 1, int(abs(value.p))
    zeros = (size & -size).bit_length() - 1
    return f"{'-' if value < 0 else ''}0x{size >> zeros:x}p{zeros - exponent}"
