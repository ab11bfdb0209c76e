"""State how far singular values are from the limit law of attention, and from quarter circles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, SpectralLaw
from certattn.kernel.theorems.spectrum.spectral_distance import (
    BOUNDED,
    CIRCLE_SCALE,
    FIXED_POINT,
    LAW_SCALE,
    SCALED_CIRCLE,
    SCALED_SEPARATION,
    SCALES,
    SEPARATION,
    THEOREM,
    TRUNCATED_AT,
    WEIGHTS,
    Between,
    Distances,
    read_given,
    wanted_scales,
)
from certattn.kernel.theorems.spectrum.stated_matrix import MATRIX, StatedMatrix
from certattn.provers.array_inputs import placed
from certattn.provers.commands import (
    ARRAY,
    DATA,
    HEAD,
    SCORE_SCALE,
    Argument,
    Arrays,
    Command,
    Option,
    to_plot,
    to_state,
)
from certattn.provers.doubts import distances
from certattn.provers.exact_inputs import Number, exact, exact_text, require_states, require_within
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import lower_rational, upper_rational
from certattn.provers.spectrum.best_scales import circle_float_tail, law_float_tail, scale_for_values
from certattn.provers.spectrum.matrix_sources import CENTRED_OR_NOT, attention_section, matrix_sources
from certattn.provers.spectrum.singular_values import spectra
from certattn.provers.spectrum.spectrum_sources import is_zero
from certattn.provers.spectrum.truncation import largest_cut, stated_cut
from certattn.statements.spectrum.spectral_distances import NAMES

# What may be stated, by the names of options.
_BOUNDED = [field.name for field in BOUNDED]
FIXED = FIXED_POINT.name.replace("_", "-")
STATES = {FIXED: FIXED_POINT.name, **{name.replace("_", "-"): name for name in _BOUNDED}}
SIGNED_STATES = (SEPARATION, SCALED_SEPARATION)
PLACES = 5
_MOST_PLACES = 9
_NO_SCALES = "what takes no scale alone: --state law --state quarter-circle"
_BITS = 64


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    given: Mapping[str, Any] | None = None,
    scale: str = "1",
    centred: bool = True,
    beta: Number | None = None,
    alpha2: Number | None = None,
    beta2: Number | None = None,
    lambda_: Number | None = None,
    unit: Number | None = None,
    truncate_at: Number | None = None,
    states: Sequence[str] = (),
    places: int = PLACES,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `spectral-distance` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npy file with the matrix (n x n), or .npz or .safetensors file holding `matrix`, or `queries` and `keys` (d x p
        each, a row for each token).
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    given : mapping, optional
        Instead of all of these and of the law, what the certificate is about, whole.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    centred : bool
        Whether 1/d is taken off every entry of the attention matrix.
    beta : exact number, optional
        Inverse temperature of the law that the singular values are compared with.
    alpha2, beta2, lambda_ : exact number, optional
        The alpha^2 and beta^2 of it, in the place of `beta`.
    unit : exact number, optional
        In the place of the law: the standard deviation of queries and keys, with lambda = p/d and beta^2 = scale^2 p
        unit^4.
    truncate_at : exact number or "fixed-point", optional
        The tau where the weights of softmax are cut off, for the law of `beta` or of `unit`; "fixed-point" for the
        largest solution of tau^2 = d m(tau), rounded to `places`.
    states : sequence of str
        Which of law, quarter-circle, scaled-law, scaled-quarter-circle, separation and scaled-separation are bounded,
        and whether tau is stated to be near a fixed-point; by default all bounds, and of tau if it was found.
    places : int
        Decimal places of the bounds.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    **arrays : array_like
        What `source` would hold, as numpy arrays, by keyword; they are written beside the certificate.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        A distance cannot be enclosed.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/spectral-distance.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> matrix = np.random.default_rng(0).normal(size=(16, 16)) / 4
    >>> certificate = certattn.generate("spectral-distance", matrix=matrix, beta="1/2", lambda_=1, states=["law"])
    >>> float(certificate.numbers["law.at_most"])
    0.42383
    """
    require_place(out, source)
    wanted = wanted_states(states, STATES)
    require_places(places)
    law = {"beta": beta, "alpha2": alpha2, "beta2": beta2, "lambda": lambda_, "unit": unit}
    if not states and truncate_at != FIXED:
        wanted.remove(FIXED_POINT.name)
    if given is not None:
        stated_law = [name for name, value in {**law, "truncate_at": truncate_at}.items() if value is not None]
        if (
            source is not None
            or names
            or arrays
            or head is not None
            or scale != "1"
            or centred is not True
            or stated_law
        ):
            raise UsageError("with a whole section, leave out everything else that certificates write under given")
        return _write(out, exact(dict(given), "given"), wanted, places, note)
    section = law_section(law)
    if truncate_at is not None:
        if alpha2 is not None:
            raise UsageError(
                "--truncate-at truncates the weights in the law of softmax, which --alpha2 does not give; "
                "expected beta (--beta and --lambda) or a unit (--unit) instead of alpha^2 and beta^2, or no truncation"
            )
        section[TRUNCATED_AT.name] = exact_text(truncate_at, "truncate_at")
    sources = matrix_sources(source, names or {}, arrays, head)
    with placed(out, sources, data) as references:
        stated = attention_section(references, scale, centred=centred)
        if unit is not None and MATRIX.name in stated:
            expected = "expected queries and keys, or beta and lambda, or alpha2, beta2 and lambda in the place of unit"
            raise UsageError(f"unit is the standard deviation of queries and keys, which a matrix has not; {expected}")
        if truncate_at == FIXED:
            section[TRUNCATED_AT.name] = _cut(out, {**stated, "law": {**section, TRUNCATED_AT.name: "1"}}, places)
        matrix = "the matrix" if source is None else f"{source}: the matrix"
        return _write(out, {**stated, "law": section}, wanted, places, note, matrix)


def law_section(law: Mapping[str, Number | None]) -> dict[str, Plain]:
    """The section of a law, by the options that are given. Raises UsageError."""
    stated = {name: exact_text(value, name) for name, value in law.items() if value is not None}
    if set(stated) == {"unit"}:
        return {"from": WEIGHTS, "unit": stated["unit"]}
    if set(stated) in ({"beta", "lambda"}, {"alpha2", "beta2", "lambda"}):
        return dict(stated)
    found = ", ".join(stated) or "nothing"
    raise UsageError(f"the law is given by {found}; expected beta and lambda, or alpha2, beta2 and lambda, or unit")


def wanted_states(states: Sequence[str], possible: Mapping[str, str]) -> list[str]:
    """The names of quantities, in their order; all where none is named. Raises UsageError."""
    require_states(states, possible)
    return [quantity for name, quantity in possible.items() if name in states or not states]


def require_places(places: int) -> None:
    """Raises UsageError."""
    require_within(1, _MOST_PLACES, places, "places")


def _read(draft: Draft) -> tuple[StatedMatrix, SpectralLaw]:
    """What is given, by the checker's own reading. Raises MalformedError."""
    return draft.read(read_given, {"law": {AT_LEAST.name: "0"}})


def _cut(out: Path, given: Plain, places: int) -> str:
    """tau for the law that is given up to it, rounded. Raises NotProvedError."""
    matrix, law = _read(Draft(THEOREM, out, given))
    unit = fmpq(10) ** -places
    return format_rational((largest_cut(law.beta2, matrix.count) / unit + fmpq(1, 2)).floor() * unit)


def _write(
    out: Path, given: Plain, wanted: Sequence[str], places: int, note: str, named: str = "the matrix"
) -> Certificate:
    draft = Draft(THEOREM, out, given, note)
    matrix, law = _read(draft)
    asserts: dict[str, Plain] = {}
    if FIXED_POINT.name in wanted:
        if law.tau is None:
            raise UsageError(f"{FIXED} is about tau of a truncated law; expected one (--truncate-at), or another state")
        asserts[FIXED_POINT.name] = stated_cut(law.tau, law.beta2, matrix.count, places)
    of_matrix = [name for name in wanted if name in _BOUNDED]
    bounds, scales = bounds_of_matrix(matrix, law, of_matrix, places, named=named, instead=_NO_SCALES)
    return draft.write(asserts | bounds, scales)


def bounds_of_matrix(
    matrix: StatedMatrix, law: SpectralLaw, wanted: Sequence[str], places: int, *, named: str, instead: str
) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """Bounds of quantities with so many decimal places, and the scales that they need.

    named, instead: the matrix, and what is to be expected where no scale is nearest to it, for messages.

    Raises UsageError for a matrix that is 0 where scales are needed, and NotProvedError where of a quantity nothing is
    known: it is not stated by a bound that holds of every number of its kind.
    """
    if not wanted:
        return {}, {}
    if wanted_scales(wanted) and is_zero(matrix):
        raise UsageError(
            f"{named} is 0: at every scale of a law all of it lies above the singular values, and no scale is nearest; "
            f"expected {instead}"
        )
    reason = NotProvedError("the distances could not be enclosed: the inputs are too extreme")
    for bits, spectrum in spectra(matrix, None):
        values = spectrum.singular.values()
        if all(value.is_finite() for value in values):
            try:
                with working_precision(bits):
                    between, scales = _known(values, law, wanted, bits, f"{named}: ", instead)
                    bounds: dict[str, Plain] = {name: _stated(name, between[name], places) for name in wanted}
                return bounds, {name: format_rational(scale) for name, scale in scales.items()}
            except NotProvedError as error:
                reason = error
    raise reason


def _known(
    values: Sequence[arb], law: SpectralLaw, wanted: Sequence[str], bits: int, named: str, instead: str
) -> tuple[dict[str, Between], dict[str, fmpq]]:
    """Enclosures of the quantities at the working precision, `bits`, and the scales. Raises NotProvedError."""
    known = law.at_precision()
    if _is_open(known, wanted):
        raise _nothing_known(law, bits)
    try:
        scales = _scales(values, known, wanted)
    except NotProvedError as error:
        raise NotProvedError(f"{named}{error}; expected {instead}") from None
    distances = Distances(values, known, scales)
    found = {name: distances.between(name) for name in wanted}
    for name, between in found.items():
        if _says_nothing(name, between):
            raise NotProvedError(
                f"nothing is known of the {NAMES[name]} at {bits} bits; expected a law or a "
                f"matrix that is less extreme, or not --state {name.replace('_', '-')}"
            )
    return found, scales


def _is_open(law: EquivalentLaw, wanted: Sequence[str]) -> bool:
    """Whether nothing is known at this precision of a law that some quantity is about."""
    if all(name == SCALED_CIRCLE for name in wanted):
        return False
    # Its nearest scale is looked for from where it ends.
    known = law.right_edge if LAW_SCALE in wanted_scales(wanted) else law.numbers.variance
    return known.is_finite() is not True


def _nothing_known(law: SpectralLaw, bits: int) -> NotProvedError:
    if law.tau is None:
        return NotProvedError(f"nothing is known of the law at {bits} bits; expected numbers that are less extreme")
    return NotProvedError(
        f"nothing is known at {bits} bits of the law whose weights are cut off at tau = {describe(law.tau)}, where "
        "nearly all of them are equal; expected a larger tau (--truncate-at)"
    )


def _says_nothing(name: str, between: Between) -> bool:
    """Whether the bounds hold of every distance, or difference of two, or one of them is no number."""
    if not all(arb(end).is_finite() for end in (between.low, between.high)):
        return True
    least = -1 if name in SIGNED_STATES else 0
    return (arb(between.low).lower() > least) is not True and (arb(between.high).upper() < 1) is not True


def _scales(values: Sequence[arb], law: EquivalentLaw, wanted: Collection[str]) -> dict[str, fmpq]:
    tails: dict[str, Callable[[], Any]] = {
        LAW_SCALE.name: lambda: law_float_tail(law),
        CIRCLE_SCALE.name: lambda: circle_float_tail,
    }
    needed = wanted_scales(wanted)
    return {field.name: scale_for_values(values, tails[field.name]()) for field in SCALES if field in needed}


def _stated(name: str, between: Between, places: int) -> Plain:
    if name in SIGNED_STATES:
        return stated_bounds(between, places, signed=True)
    return stated_bounds(between, places, limit=fmpq(1))


def stated_bounds(between: Between, places: int, *, signed: bool = False, limit: fmpq | None = None) -> Plain:
    """Both bounds, rounded outwards with a little room: another machine's balls are others.

    limit: what no such number is above, so that an upper bound from there on would say nothing and is left out.
    """
    unit = fmpq(10) ** -places
    low, high = lower_rational(arb(between.low)), upper_rational(arb(between.high))
    least = ((low - unit / 100) / unit).floor() * unit
    most = ((high + unit / 100) / unit).ceil() * unit
    stated: dict[str, Plain] = {AT_LEAST.name: format_rational(least if signed else max(fmpq(0), least))}
    if limit is None or most < limit:
        stated[AT_MOST.name] = format_rational(most)
    return stated


COMMAND = Command(
    Argument("MATRIX", Arrays("given")),
    SCORE_SCALE,
    CENTRED_OR_NOT,
    Option("--beta", "The law, by the inverse temperature of softmax; or", metavar="BETA"),
    Option("--alpha2", "by alpha^2 and", metavar="NUMBER"),
    Option("--beta2", "beta^2,", metavar="NUMBER"),
    Option("--lambda", "and d_qk/d; or", metavar="LAMBDA", sets="lambda_"),
    Option("--unit", "by queries and keys whose entries have the standard deviation U.", metavar="U"),
    Option(
        "--truncate-at",
        "Truncate the softmax weights of that law at TAU; fixed-point finds the TAU for the number of tokens.",
        metavar="TAU",
    ),
    to_state("What to state; all bounds by default.", STATES),
    Option("--places", "Decimal places of the bounds.", int),
    ARRAY,
    HEAD,
    DATA,
    to_plot("Draw the singular values and both densities."),
    doubts=[distances],
)
