"""State the singular values of a matrix, or of attention over queries and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.singular_values import THEOREM, StatedSpectrum, quantity
from certattn.kernel.theorems.spectrum.stated_matrix import Hint, Spectrum, StatedMatrix
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
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive, require_states
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import decimal_exponent, lower_rational, nearest, round_down, round_up, upper_rational
from certattn.provers.spectrum.matrix_sources import CENTRED_OR_NOT, attention_section, matrix_sources
from certattn.provers.spectrum.spectrum_sources import (
    HINTS,
    bounds_around,
    enclosures,
    is_zero,
    require_hint,
    stored_hint,
)

# What may be stated beside values and counts, and as which quantities of the claim.
STATES: Mapping[str, tuple[str, ...]] = {
    "values": (),
    "norm": ("norm",),
    "energy": ("energy",),
    "stable-rank": ("stable_rank",),
    "entropy": ("entropy.values", "entropy.squares"),
    "effective-rank": ("effective_rank.values", "effective_rank.squares"),
}
DEFAULT_STATES = ("values", "norm", "energy", "stable-rank", "effective-rank")
# Of values without a stated radius, and of everything that is bounded.
_MOST_DIGITS = 15
_DIGITS = 6


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    given: Mapping[str, Any] | None = None,
    scale: str = "1",
    centred: bool = True,
    causal: bool = False,
    largest: int | None = None,
    radius: Number | None = None,
    above: Sequence[Number] = (),
    states: Sequence[str] = (),
    hint: str = "recompute",
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `singular-values` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npy file with the matrix (m x n), or .npz or .safetensors file holding `matrix`, or `queries` and `keys` (d x p
        each, a row for each token).
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    given : mapping, optional
        Instead of arrays, what the certificate is about, whole.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    centred : bool
        Whether 1/d is taken off every entry of the attention matrix; under a mask, 1/i off what query i sees.
    causal : bool
        Whether query i sees the first i tokens alone.
    largest : int, optional
        How many singular values to state; all by default.
    radius : exact number, optional
        How far stated values may be off, an exact number; as little as is proved fast by default.
    above : sequence of exact numbers
        Thresholds; for each it is stated how many singular values are larger, and how far from it all are.
    states : sequence of str
        Which of values, norm, energy, stable-rank, entropy and effective-rank are stated. Left out, all but entropy,
        which says what effective-rank says; with thresholds none.
    hint : {"recompute", "float32", "float64"}
        "float32" or "float64" to store approximate singular vectors beside the certificate, which spares the checker to
        compute them; "recompute" to store none.
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
        Values are not proved within the radius, or cannot be told from a threshold.

    References
    ----------
    Statement and proof: docs/claims/spectrum/singular-values.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> certificate = certattn.generate("singular-values", matrix=np.array([[1, 2], [3, 4]]), largest=1)
    >>> float(certificate.numbers["norm.at_most"])
    5.46499
    """
    require_place(out, source)
    wanted = _Wanted(largest, radius, above, states, hint)
    if given is not None:
        if source is not None or names or arrays or head is not None or scale != "1" or centred is not True or causal:
            raise UsageError("with a whole matrix, leave out everything else that certificates write under given")
        return _write(out, exact(dict(given), "given"), wanted, note)
    sources = matrix_sources(source, names or {}, arrays, head)
    with placed(out, sources, data) as references:
        return _write(out, attention_section(references, scale, centred=centred, causal=causal), wanted, note)


class _Wanted:
    """What to state."""

    def __init__(
        self,
        largest: int | None,
        radius: Number | None,
        above: Sequence[Number],
        states: Sequence[str],
        hint: str,
    ) -> None:
        require_states(states, STATES)
        require_hint(hint)
        self.largest, self.hint = largest, hint
        self.radius = None if radius is None else positive(radius, "radius")
        self.above = [exact_rational(threshold, "above") for threshold in above]
        if any(threshold < 0 for threshold in self.above):
            raise UsageError("a threshold is negative; expected numbers >= 0, as singular values are")
        alone = () if self.above and largest is None and radius is None else DEFAULT_STATES
        self.states = tuple(states) or alone

    def count(self, matrix: StatedMatrix) -> int:
        """How many singular values to state."""
        if self.largest is None:
            return matrix.count
        if not 0 < self.largest <= matrix.count:
            raise UsageError(
                f"the largest {self.largest} of {counted(matrix.count, 'singular value')}: expected others"
            )
        return self.largest


def _write(out: Path, given: Plain, wanted: _Wanted, note: str) -> Certificate:
    draft = Draft(THEOREM, out, given, note)
    anything: dict[str, Plain] = {"norm": {"at_least": "0"}}
    with stored_hint(out, draft.read(THEOREM.read, anything).matrix, wanted.hint) as witness:
        return draft.write(_asserted(draft.read(THEOREM.read, anything, witness), wanted), witness)


def _asserted(problem: StatedSpectrum, wanted: _Wanted) -> dict[str, Plain]:
    """The assertions, by the fastest arithmetic that is sharp enough for all of them. Raises NotProvedError."""
    reason = NotProvedError("no arithmetic has an answer")
    for bits, spectrum in spectra(problem.matrix, problem.hint):
        with working_precision(bits):
            try:
                return _from_spectrum(problem.matrix, spectrum, wanted)
            except NotProvedError as error:
                reason = error
    raise reason


def spectra(matrix: StatedMatrix, hint: Hint | None) -> Iterator[tuple[int, Spectrum]]:
    """Enclosures in the order of the checker's arithmetics, with the precision to compare them at."""
    return enclosures(matrix, partial(matrix.spectrum_in_doubles, hint), matrix.spectrum)


def _from_spectrum(matrix: StatedMatrix, spectrum: Spectrum, wanted: _Wanted) -> dict[str, Plain]:
    asserts: dict[str, Plain] = {}
    if "values" in wanted.states:
        asserts["values"] = _values(spectrum, wanted.count(matrix), wanted.radius)
    if wanted.above:
        asserts["counts"] = [_count(spectrum, threshold) for threshold in wanted.above]
    for state in STATES:
        if state in wanted.states:
            for name in STATES[state]:
                kind, _, of = name.partition(".")
                found = _range(matrix, spectrum, name)
                if of:
                    shares = asserts.setdefault(kind, {})
                    assert isinstance(shares, dict)
                    shares[of] = found
                else:
                    asserts[kind] = found
    return asserts


def _values(spectrum: Spectrum, count: int, radius: fmpq | None) -> Plain:
    """The largest of them as decimals, and one radius for all."""
    balls = [spectrum.singular.value(k) for k in range(1, count + 1)]
    if any(ball.is_finite() is not True for ball in balls):
        raise NotProvedError("the singular values could not be enclosed: the inputs are too extreme")
    error = max(upper_rational(ball.rad()) for ball in balls)
    if radius is None:
        size = upper_rational(spectrum.singular.centre(1))
        finest = _MOST_DIGITS - 1 - decimal_exponent(size) if size > 0 else _MOST_DIGITS
        places = min(finest, -decimal_exponent(error)) if error > 0 else finest
    else:
        places = 1 - decimal_exponent(radius)
    places = max(0, places)
    rounded = [nearest(ball, places) for ball in balls]
    off = max(upper_rational(abs(ball - value)) for ball, value in zip(balls, rounded, strict=True))
    if radius is not None and (off <= radius) is not True:
        shown = describe(round_up(off, 2))
        raise NotProvedError(f"the singular values are proved up to {shown} only; expected a radius of at least that")
    # Twice what is proved here: another machine rounds otherwise.
    stated = round_up(2 * off, 2) if radius is None else radius
    return {"value": [format_rational(value) for value in rounded], "radius": format_rational(stated)}


def _count(spectrum: Spectrum, threshold: fmpq) -> Plain:
    """How many are above, with the nearest on both sides."""
    balls = spectrum.singular.values()
    inside = [ball for ball in balls if (ball > threshold) is True]
    outside = [ball for ball in balls if (ball <= threshold) is True]
    if len(inside) + len(outside) < len(balls):
        raise NotProvedError(
            f"a singular value cannot be told from the threshold {describe(threshold)}; expected another threshold"
        )
    stated: dict[str, Plain] = {"above": format_rational(threshold), "count": str(len(inside))}
    if inside:
        least = max(threshold, round_down(lower_rational(inside[-1]), _DIGITS))
        stated["at_least"] = format_rational(least)
    if outside:
        most = min(threshold, round_up(upper_rational(outside[0]), _DIGITS))
        stated["at_most"] = format_rational(most)
    return stated


def _range(matrix: StatedMatrix, spectrum: Spectrum, name: str) -> dict[str, Plain]:
    value = quantity(name, spectrum)
    ball = arb(value)
    if ball.is_finite() is not True:
        if is_zero(matrix):
            what = name.partition(".")[0].replace("_", " ")
            raise UsageError(f"the matrix is 0 and has no {what}; state the values alone: --state values")
        raise NotProvedError(f"the {name.partition('.')[0].replace('_', ' ')} could not be enclosed")
    return bounds_around(value, _DIGITS)


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """The options. Raises UsageError for a unit that is nothing, or of no figure."""
    unit = options["unit"]
    if unit is not None and options["plot"] is None:
        raise UsageError("--unit only gives the law in a picture; add --plot, or leave it out")
    if unit is not None:
        positive(unit, "unit")
    return options


COMMAND = Command(
    Argument("MATRIX", Arrays("given")),
    SCORE_SCALE,
    CENTRED_OR_NOT,
    Option("--causal", "Query i sees only the first i tokens, as in a decoder.", bool),
    Option("--largest", "How many singular values to state; all by default.", int, "K"),
    Option("--radius", "How far off the stated values may be, an exact number.", metavar="R"),
    Option("--above", "State how many singular values are larger than T.", metavar="T", many=True),
    to_state("What to state; by default all but entropy, or only counts where --above is given.", STATES),
    Option("--hint", "Store singular vectors beside the certificate, or let the checker compute them.", HINTS),
    ARRAY,
    HEAD,
    DATA,
    to_plot("Draw the singular values."),
    Option(
        "--unit",
        "With --plot: the standard deviation of queries and keys, for the limit law.",
        metavar="U",
        picture=True,
    ),
    inputs=_inputs,
)
