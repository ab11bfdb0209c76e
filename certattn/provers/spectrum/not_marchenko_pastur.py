"""State by how much the limit law of attention differs from quarter circle laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.not_marchenko_pastur import (
    DISTANCE,
    EXCESS,
    FINITE,
    FOURTH_MOMENT,
    SCALE,
    SCALED_DISTANCE,
    THEOREM,
    of_law,
    read_given,
)
from certattn.kernel.theorems.spectrum.spectral_distance import SCALED_SEPARATION, SEPARATION
from certattn.provers.array_inputs import placed
from certattn.provers.commands import ARRAY, DATA, HEAD, SCORE_SCALE, Arrays, Command, Option, to_plot, to_state
from certattn.provers.exact_inputs import Number, exact
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import precisions, round_up
from certattn.provers.spectrum.best_scales import circle_float_tail, scale_for_law
from certattn.provers.spectrum.equivalent_law import has_no_gap
from certattn.provers.spectrum.matrix_sources import CENTRED_OR_NOT, attention_section, matrix_sources
from certattn.provers.spectrum.spectral_distance import (
    bounds_of_matrix,
    law_section,
    require_places,
    stated_bounds,
    wanted_states,
)

_OF_LAW = (FOURTH_MOMENT.name, EXCESS.name, DISTANCE.name, SCALED_DISTANCE.name)
_OF_MATRIX = (SEPARATION, SCALED_SEPARATION)
STATES = {name.replace("_", "-"): name for name in (*_OF_LAW, *_OF_MATRIX)}
PLACES = 4
# More take minutes. A law that is known only beyond them is looked at once.
_MOST_BITS = 512
# What so many bits and no more show of two laws.
_MOST_PLACES = 6
# Units of the last place between the two bounds of a number, its enclosure and the room around it.
_APART = 3


def generate(
    out: Path,
    *,
    beta: Number | None = None,
    alpha2: Number | None = None,
    beta2: Number | None = None,
    lambda_: Number | None = None,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    finite: Mapping[str, Any] | None = None,
    scale: str = "1",
    centred: bool = True,
    states: Sequence[str] = (),
    places: int = PLACES,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `not-marchenko-pastur` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    beta : exact number, optional
        Inverse temperature of the law.
    alpha2, beta2 : exact number, optional
        The alpha^2 and beta^2 of the law, in the place of `beta`.
    lambda_ : exact number
        Ratio of the law.
    source : path-like, optional
        For one matrix beside the law: .npy file with it (n x n), or .npz or .safetensors file holding `matrix`, or
        `queries` and `keys` (d x p each, a row for each token).
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    finite : mapping, optional
        Instead of arrays, the matrix as certificates write it.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    centred : bool
        Whether 1/d is taken off every entry of the attention matrix.
    states : sequence of str
        Which of fourth-moment, excess, distance and scaled-distance, and of a matrix separation and scaled-separation,
        are stated; all by default.
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
        A number cannot be enclosed.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/not-marchenko-pastur.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("not-marchenko-pastur", beta="1/2", lambda_=1)
    >>> float(certificate.numbers["distance.at_least"])
    0.1147
    """
    require_place(out, source)
    wanted = wanted_states(states, STATES)
    require_places(places)
    given: dict[str, Plain] = law_section({"beta": beta, "alpha2": alpha2, "beta2": beta2, "lambda": lambda_})
    if source is None and not arrays and not names and finite is None:
        missing = [name for name in _OF_MATRIX if states and name in wanted]
        if missing:
            raise UsageError(f"{missing[0].replace('_', '-')} is one of a matrix; expected a matrix, or another state")
        return _write(out, given, [name for name in wanted if name in _OF_LAW], places, note)
    if finite is not None:
        if source is not None or names or arrays or head is not None or scale != "1" or centred is not True:
            raise UsageError("with a whole matrix, leave out everything else that certificates write under finite")
        return _write(out, {**given, FINITE.name: exact(dict(finite), FINITE.name)}, wanted, places, note)
    sources = matrix_sources(source, names or {}, arrays, head)
    with placed(out, sources, data) as references:
        section = attention_section(references, scale, centred=centred)
        return _write(out, {**given, FINITE.name: section}, wanted, places, note)


def _write(out: Path, given: dict[str, Plain], wanted: Sequence[str], places: int, note: str) -> Certificate:
    draft = Draft(THEOREM, out, given, note)
    law, matrix = draft.read(read_given, {FOURTH_MOMENT.name: {"value": "0"}})
    asserts, witness = _of_law(law, wanted, places)
    if matrix is not None:
        of_matrix = [name for name in wanted if name in _OF_MATRIX]
        if not of_matrix:
            raise UsageError("a matrix is given, but nothing is stated about it; expected a separation, or no matrix")
        instead = "a matrix that is not 0, or no matrix"
        bounds, scales = bounds_of_matrix(matrix, law, of_matrix, places, named="the matrix", instead=instead)
        require_sharp(bounds, places)
        asserts, witness = asserts | bounds, witness | scales
    return draft.write(asserts, witness)


def _of_law(law: SpectralLaw, wanted: Sequence[str], places: int) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is stated of the law at the first precision that shows the places, and the scale that it takes."""
    asserts: dict[str, Plain] = {}
    witness: dict[str, Plain] = {}
    scales: dict[str, fmpq] = {}
    if FOURTH_MOMENT.name in wanted:
        excess = LawNumbers(fmpq(0), law.beta2, law.lambda_).fourth_excess
        asserts[FOURTH_MOMENT.name] = {"value": format_rational(excess)}
    for name in wanted:
        if name not in _OF_LAW[1:]:
            continue
        if name == SCALED_DISTANCE.name:
            with working_precision(bits_of_support(law)):
                scales[SCALE.name] = scale_for_law(law.at_precision(), circle_float_tail)
            witness[SCALE.name] = format_rational(scales[SCALE.name])
        asserts[name] = _enclosed(law, name, scales, places)
    return asserts, witness


def _enclosed(law: SpectralLaw, name: str, scales: Mapping[str, fmpq], places: int) -> Plain:
    unit = arb(fmpq(10) ** -places)
    # Nothing is searched for the excess, which may have hundreds of digits before the point.
    searched = name != EXCESS.name
    bits = bits_of_support(law) if searched else DEFAULT_LIMITS.start_bits
    most = max(bits, _MOST_BITS) if searched else DEFAULT_LIMITS.max_bits
    while bits <= most and (places <= _MOST_PLACES or not searched):
        with working_precision(bits):
            found = of_law(law, name, scales, [])
            if (arb(found.high) - arb(found.low) + 2 * arb(arb(found.low).rad()) < 2 * unit) is True:
                # Distances are at most 1, the excess may be any number.
                own = name == EXCESS.name
                return stated_bounds(found, places, signed=own, limit=None if own else fmpq(1))
        bits *= 2
    hint = f", of two laws at most {_MOST_PLACES}, and 3 where they are nearer than 0.0003" if searched else ""
    raise NotProvedError(f"the {name.replace('_', ' ')} could not be enclosed to {places} places; expected fewer{hint}")


def require_sharp(bounds: Mapping[str, Plain], places: int) -> None:
    """Raises NotProvedError where two bounds of a number are farther apart than its places say."""
    unit = fmpq(10) ** -places
    for name, stated in bounds.items():
        assert isinstance(stated, dict)
        low, high = (parse_rational(str(stated[which]), DEFAULT_LIMITS) for which in (AT_LEAST.name, AT_MOST.name))
        if (high - low > _APART * unit) is True:
            raise NotProvedError(
                f"the {name.replace('_', ' ')} is known up to {describe(round_up(high - low, 2))} only, which is no "
                f"{places} places; expected fewer places"
            )


def bits_of_support(stated: SpectralLaw) -> int:
    """The first precision that shows all ends of the support. Raises NotProvedError where the checker's do not."""
    for bits in precisions(DEFAULT_LIMITS.start_bits):
        with working_precision(bits):
            law = stated.at_precision()
            if law.right_edge.is_finite() is True and (law.gap is not None or has_no_gap(law)):
                return bits
    raise NotProvedError(
        f"the ends of the support of mu are not known at {DEFAULT_LIMITS.max_bits} bits, the most that a check takes "
        "by default; expected a lambda that is not as small, or numbers that are farther from where the gap closes"
    )


COMMAND = Command(
    Option("--beta", "The inverse temperature of softmax; or", metavar="BETA"),
    Option("--alpha2", "alpha^2 and", metavar="NUMBER"),
    Option("--beta2", "beta^2.", metavar="NUMBER"),
    Option("--lambda", "d_qk/d.", metavar="LAMBDA", sets="lambda_", required=True),
    Option("--matrix", "A matrix, to state its separations.", Arrays("given.finite"), "FILE", sets="source"),
    SCORE_SCALE,
    CENTRED_OR_NOT,
    to_state("What to state; everything by default.", STATES),
    Option("--places", "Decimal places of the bounds.", int),
    ARRAY,
    HEAD,
    DATA,
    to_plot("Draw densities and distribution functions of the law and of quarter circles."),
)
