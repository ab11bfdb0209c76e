"""The grammar of exact numbers, against fractions, decimal and float.fromhex."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.document.numbers import MOST_COUNT, NumberError, parse_count, parse_rational, parse_real
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.kernel.mathematics.reals import Surd, square


def rational(text: str, limits: Limits = DEFAULT_LIMITS) -> Fraction:
    value = parse_rational(text, limits)
    return Fraction(int(value.p), int(value.q))


# -- accepted

ACCEPTED = {
    "0": Fraction(0),
    "-0": Fraction(0),
    "12": Fraction(12),
    "-3": Fraction(-3),
    "7/3": Fraction(7, 3),
    "-7/3": Fraction(-7, 3),
    "6/4": Fraction(3, 2),
    "0/5": Fraction(0),
    "-0/5": Fraction(0),
    "0.1": Fraction(1, 10),
    "-0.0": Fraction(0),
    "0.10": Fraction(1, 10),
    "2.5e-3": Fraction(1, 400),
    "-2.5E+3": Fraction(-2500),
    "1e2": Fraction(100),
    "1e-0": Fraction(1),
    "1e000002": Fraction(100),
    "0x1p0": Fraction(1),
    "0x1.8p-3": Fraction(3, 16),
    "-0x0p+0": Fraction(0),
    "0xAp+1": Fraction(20),
    "0xa.Fp0": Fraction(175, 16),
    "0x0.0000000000001p-1022": Fraction(5e-324),
    "0x1.fffffffffffffp+1023": Fraction(1.7976931348623157e308),
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    assert rational(text) == ACCEPTED[text]
    assert parse_real(text, DEFAULT_LIMITS) == parse_rational(text, DEFAULT_LIMITS)


def test_one_tenth_is_not_a_double() -> None:
    assert rational("0.1") == Fraction("1/10") != Fraction(0.1)


INTEGER = r"(0|[1-9][0-9]{0,25})"


@given(st.from_regex(rf"-?{INTEGER}(/[1-9][0-9]{{0,25}})?", fullmatch=True))
def test_integers_and_fractions_are_what_fractions_says(text: str) -> None:
    assert rational(text) == Fraction(text)


@given(st.from_regex(rf"-?{INTEGER}(\.[0-9]{{1,25}})?([eE][+-]?[0-9]{{1,3}})?", fullmatch=True))
def test_decimals_are_what_decimal_says(text: str) -> None:
    assert rational(text) == Fraction(Decimal(text)) == Fraction(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_hex_floats_are_what_float_says(value: float) -> None:
    assert rational(value.hex()) == Fraction(value)
    assert rational(value.hex()) == Fraction(float.fromhex(value.hex()))


@given(st.from_regex(r"-?0x[0-9a-fA-F]{1,6}(\.[0-9a-fA-F]{1,6})?p[+-]?[0-9]{1,3}", fullmatch=True))
def test_short_hex_floats_are_what_fromhex_says(text: str) -> None:
    # Twelve hex digits and three decimal ones of exponent lie within what a double holds exactly.
    assert rational(text) == Fraction(float.fromhex(text))


@given(st.text(alphabet="0123456789+-./eExXpPabfns ()_,\n\u0663\uff11", max_size=12))
def test_what_is_accepted_has_the_value_that_python_gives(text: str) -> None:
    try:
        value = rational(text)
    except NumberError:
        return
    assert value == (Fraction(float.fromhex(text)) if "x" in text else Fraction(text))


# -- refused: each is one change away from an accepted number

REFUSED = {
    "empty": ("", "0"),
    "space before": (" 1", "1"),
    "space after": ("1 ", "1"),
    "newline after": ("1\n", "1"),
    "plus sign": ("+1", "1"),
    "two minus signs": ("--1", "-1"),
    "leading zero": ("012", "12"),
    "leading zero of a negative": ("-012", "-12"),
    "underscore": ("1_000", "1000"),
    "comma": ("1,5", "1.5"),
    "no digit before the point": (".5", "0.5"),
    "no digit after the point": ("5.", "5.0"),
    "leading zero of a decimal": ("00.5", "0.5"),
    "two points": ("1.2.3", "1.23"),
    "no exponent digits": ("1e", "1e1"),
    "exponent with a point": ("1e1.5", "1e1"),
    "hexadecimal without exponent": ("0x1.8", "0x1.8p0"),
    "hexadecimal integer": ("0x10", "0x10p0"),
    "capital X": ("0X1p0", "0x1p0"),
    "capital P": ("0x1P0", "0x1p0"),
    "no hex digit before the point": ("0x.8p0", "0x0.8p0"),
    "no hex digit after the point": ("0x1.p0", "0x1.0p0"),
    "no hex digit": ("0xp0", "0x0p0"),
    "not a hex digit": ("0xgp0", "0xfp0"),
    "binary exponent of a decimal": ("1p3", "1e3"),
    "division by zero": ("1/0", "1/1"),
    "division of zero by zero": ("0/0", "0/1"),
    "division by a leading zero": ("1/02", "1/2"),
    "negative denominator": ("1/-2", "-1/2"),
    "fraction of decimals": ("1.5/2", "15/20"),
    "spaces around the slash": ("1 / 2", "1/2"),
    "two slashes": ("1/2/3", "1/2"),
    "fraction with an exponent": ("1/2e3", "1/2"),
    "not a number": ("nan", "0"),
    "capital NaN": ("NaN", "0"),
    "YAML's nan": (".nan", "0"),
    "infinity": ("inf", "0"),
    "YAML's infinity": ("-.inf", "0"),
    "octal": ("0o17", "15"),
    "sexagesimal": ("1:30", "90"),
    "true": ("true", "1"),
    "null": ("null", "0"),
    "date": ("2026-01-01", "2026"),
    "percent": ("50%", "50"),
    "complex": ("1j", "1"),
    "Arabic digits": ("\u0661\u0662", "12"),
    "full-width digits": ("\uff11", "1"),
    "superscript digit": ("1\u00b2", "12"),
    "minus that is no hyphen": ("\u22121", "-1"),
    "root where none is allowed": ("sqrt(2)", "2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, neighbour = REFUSED[name]
    parse_rational(neighbour, DEFAULT_LIMITS)
    with pytest.raises(NumberError, match=re.escape(ascii(text))):
        parse_rational(text, DEFAULT_LIMITS)


def test_a_division_by_zero_is_called_so() -> None:
    with pytest.raises(NumberError, match="'1/0', a division by zero"):
        parse_rational("1/0", DEFAULT_LIMITS)


def test_a_long_text_is_cut_and_escaped_in_the_message() -> None:
    with pytest.raises(NumberError) as caught:
        parse_rational("\x1b[31m" + "x" * 5000, DEFAULT_LIMITS)
    assert str(caught.value) == "'\\x1b[31m" + "x" * 45 + "...'"


# -- limits

LIMITS = {
    "digits": ("1" * 10_000, "1" * 10_001, "a number of 10001 characters; the limit is 10000", "--max-digits"),
    "decimal exponent": ("1e20000", "1e20001", "the exponent '20001'; the limit is 20000", "--max-exponent"),
    "negative exponent": ("1e-20000", "1e-20001", "the exponent '-20001'; the limit is 20000", "--max-exponent"),
    "binary exponent": ("0x1p20000", "0x1p20001", "the exponent '20001'; the limit is 20000", "--max-exponent"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    allowed, refused, message, option = LIMITS[name]
    parse_rational(allowed, DEFAULT_LIMITS)
    with pytest.raises(NumberError) as caught:
        parse_rational(refused, DEFAULT_LIMITS)
    assert (str(caught.value), caught.value.hint) == (message, f"raise {option}")
    raised = replace(DEFAULT_LIMITS, max_digits=10_001, max_exponent=20_001)
    if "e" in refused:
        assert parse_rational(refused, raised) in (fmpq(10) ** 20_001, fmpq(10) ** -20_001)
    else:
        parse_rational(refused, raised)


HOSTILE = {
    "1e999999999": "1e999999999",
    "an exponent of a million digits": "1e" + "9" * 10**6,
    "0x1p99999": "0x1p99999",
    "a million digits": "7" * 10**6,
    "a million hex digits": "0x" + "f" * 10**6 + "p0",
    "a million digits below a fraction line": "1/" + "3" * 10**6,
    "a million zeros after the point": "0." + "0" * 10**6,
    "a million opening brackets": "sqrt(" * 10**5,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_numbers_are_refused_at_once(name: str) -> None:
    before = time.perf_counter()
    with pytest.raises(NumberError) as caught:
        parse_real(HOSTILE[name], DEFAULT_LIMITS)
    assert time.perf_counter() - before < 1
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["7" * 10**6, "0x" + "f" * 10**6 + "p0", "1/" + "3" * 10**6], ids=lambda t: t[:3])
def test_a_raised_limit_reads_a_million_digits_quickly(text: str) -> None:
    before = time.perf_counter()
    parse_rational(text, replace(DEFAULT_LIMITS, max_digits=2 * 10**6))
    assert time.perf_counter() - before < 5


# -- square roots


@pytest.mark.parametrize(
    ("text", "squared"),
    [
        ("sqrt(2)", Fraction(2)),
        ("1/sqrt(32)", Fraction(1, 32)),
        ("sqrt(0.5)", Fraction(1, 2)),
        ("sqrt(7/3)", Fraction(7, 3)),
        ("1/sqrt(7/3)", Fraction(3, 7)),
        ("sqrt(0x1p-3)", Fraction(1, 8)),
    ],
)
def test_irrational_roots_stay_roots(text: str, squared: Fraction) -> None:
    value = parse_real(text, DEFAULT_LIMITS)
    assert isinstance(value, Surd)
    assert value.radicand == fmpq(squared.numerator, squared.denominator)


@given(st.integers(1, 10**30), st.integers(1, 10**30), st.booleans())
def test_the_square_of_a_root_is_the_radicand(p: int, q: int, inverse: bool) -> None:
    value = parse_real(f"{'1/' if inverse else ''}sqrt({p}/{q})", DEFAULT_LIMITS)
    assert square(value) == (fmpq(q, p) if inverse else fmpq(p, q))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_the_root_of_a_square_is_rational(root: Fraction) -> None:
    squared = root * root
    value = parse_real(f"sqrt({squared.numerator}/{squared.denominator})", DEFAULT_LIMITS)
    assert value == fmpq(root.numerator, root.denominator)


ROOTS_REFUSED = {
    "root of zero": ("sqrt(0)", "sqrt(1)"),
    "one over the root of zero": ("1/sqrt(0)", "1/sqrt(1)"),
    "root of a negative": ("sqrt(-2)", "sqrt(2)"),
    "root without end": ("sqrt(2", "sqrt(2)"),
    "root without brackets": ("sqrt2", "sqrt(2)"),
    "empty root": ("sqrt()", "sqrt(1)"),
    "root of a root": ("sqrt(sqrt(2))", "sqrt(2)"),
    "negated root": ("-sqrt(2)", "sqrt(2)"),
    "multiple of a root": ("2*sqrt(2)", "sqrt(2)"),
    "two over a root": ("2/sqrt(2)", "1/sqrt(2)"),
    "root over something": ("sqrt(2)/2", "sqrt(2)"),
    "space in the brackets": ("sqrt( 2 )", "sqrt(2)"),
    "capital letters": ("SQRT(2)", "sqrt(2)"),
    "division by zero inside": ("sqrt(1/0)", "sqrt(1/1)"),
}


@pytest.mark.parametrize("name", ROOTS_REFUSED)
def test_refused_roots(name: str) -> None:
    text, neighbour = ROOTS_REFUSED[name]
    parse_real(neighbour, DEFAULT_LIMITS)
    with pytest.raises(NumberError):
        parse_real(text, DEFAULT_LIMITS)


@pytest.mark.parametrize("text", ["-1/sqrt(32)", "2/sqrt(32)"])
def test_what_stands_about_a_root_has_another_form(text: str) -> None:
    with pytest.raises(NumberError) as caught:
        parse_real(text, DEFAULT_LIMITS)
    assert (
        caught.value.hint
        == "write 2/sqrt(3) as sqrt(4/3); instead of a minus sign, change the signs of what it multiplies"
    )


def test_the_root_of_a_number_that_is_not_positive_is_called_so() -> None:
    with pytest.raises(NumberError, match=re.escape("'sqrt(-2)', the root of a number that is not positive")):
        parse_real("sqrt(-2)", DEFAULT_LIMITS)


# -- counts


@pytest.mark.parametrize("text", ["0", "1", "12", "999999999999999999"])
def test_counts(text: str) -> None:
    assert parse_count(text, DEFAULT_LIMITS) == int(text)


@pytest.mark.parametrize("sign", ["", "+", "-"])
def test_an_exponent_has_at_most_six_digits(sign: str) -> None:
    assert rational(f"1e{sign}000000") == 1
    for text in (f"1e{sign}0000000", f"0x1p{sign}0000000"):
        with pytest.raises(NumberError, match="of more than 6 digits"):
            rational(text, replace(DEFAULT_LIMITS, max_exponent=10**9))


def test_the_largest_count_is_the_one_that_is_said() -> None:
    assert parse_count(str(MOST_COUNT), DEFAULT_LIMITS) == MOST_COUNT
    with pytest.raises(NumberError):
        parse_count(str(MOST_COUNT + 1), DEFAULT_LIMITS)


COUNTS_REFUSED = {
    "negative": "-1",
    "minus zero": "-0",
    "decimal": "2.0",
    "exponent": "2e1",
    "fraction": "4/2",
    "hex float": "0x2p0",
    "leading zero": "02",
    "nineteen digits": "1" * 19,
    "more digits than Python turns into text": "1" * 5000,
    "newline after": "2\n",
    "Arabic digit": "\u0662",
}


@pytest.mark.parametrize(
    ("text", "hinted"), [("1e30", True), ("2.5E3", True), ("1" * 19, True), ("x", False), ("02", False)]
)
def test_a_count_that_is_too_long_or_has_an_exponent_says_how_long_counts_are(text: str, hinted: bool) -> None:
    with pytest.raises(NumberError) as caught:
        parse_count(text, DEFAULT_LIMITS)
    assert (
        caught.value.hint == "write at most 18 digits, without point or exponent, so that counts fit into 64 bits"
    ) is hinted


@pytest.mark.parametrize("name", COUNTS_REFUSED)
def test_refused_counts(name: str) -> None:
    with pytest.raises(NumberError):
        parse_count(COUNTS_REFUSED[name], replace(DEFAULT_LIMITS, max_digits=10**6))
