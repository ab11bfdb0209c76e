"""State how far softmax attention is from its linear part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flint import arb

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import Binary64Error, NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.linearization import REMAINDER
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.linearization import (
    GIVEN_BETA,
    GIVEN_SCALE,
    QUANTITIES,
    THEOREM,
    UNIT,
    Quantity,
    Sizes,
    StatedStages,
    sizes_in_arb,
    sizes_in_binary64,
)
from certattn.kernel.theorems.spectrum.stated_matrix import MATRIX
from certattn.provers.array_inputs import InFile, Source, placed
from certattn.provers.commands import ARRAY, DATA, HEAD, Argument, Arrays, Command, Option, to_plot, to_state
from certattn.provers.exact_inputs import exact, exact_text, require_states, require_within
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import TooLongError, decimal_exponent, lower_rational, upper_rational
from certattn.provers.spectrum.matrix_sources import matrix_sources
from certattn.provers.spectrum.spectrum_sources import (
    HINTS,
    bounds_around,
    enclosures,
    is_uniform,
    require_hint,
    stored_hint,
)
from certattn.statements.spectrum.linearization import left_side

# What may be stated, and as which quantities of the claim.
STATES: Mapping[str, tuple[str, ...]] = {
    "norm": ("remainder.norm",),
    "distance": ("remainder.distance",),
    "normaliser": tuple(name for name in QUANTITIES if name.startswith("normaliser.")),
    "stages": tuple(name for name in QUANTITIES if name.startswith("stages.")),
}
_MOST_DIGITS = 30


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    given: Mapping[str, Any] | None = None,
    beta: str | None = None,
    unit: str | None = None,
    scale: str | None = None,
    states: Sequence[str] = (),
    digits: int = 6,
    hint: str = "recompute",
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `linearization` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `queries` and `keys` (d x p each, a row for each token).
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    given : mapping, optional
        Instead of arrays, what the certificate is about, whole.
    beta : exact number, optional
        The inverse temperature, an exact number; scores are beta unit^2 <q_i, k_j>/sqrt(p).
    unit : exact number, optional
        What numbers of queries and keys are multiples of; 1 by default, only with beta.
    scale : exact number, optional
        Factor of the scores, such as "1/sqrt(64)".
    states : sequence of str
        Which of norm, distance, normaliser and stages are stated; all by default, without beta norm and stages.
    digits : int
        Significant digits of the bounds.
    hint : {"recompute", "float32", "float64"}
        "float32" or "float64" to store approximate singular vectors of the remainder beside the certificate, which
        spares the checker to compute them; "recompute" to store none.
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
        A number could not be enclosed.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/linearization.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> queries, keys = np.eye(4), np.ones((4, 4))
    >>> certificate = certattn.generate("linearization", queries=queries, keys=keys, scale="1/2", states=["norm"])
    >>> float(certificate.numbers["remainder.norm.at_most"]) < 1e-12
    True
    """
    require_place(out, source)
    require_hint(hint)
    require_states(states, STATES)
    require_within(1, _MOST_DIGITS, digits, "digits")
    finish = partial(_write, out, states=states, digits=digits, hint=hint, note=note)
    stated = {GIVEN_BETA.name: beta, UNIT.name: unit, GIVEN_SCALE.name: scale}
    numbers = {name: exact_text(text, name) for name, text in stated.items() if text is not None}
    if given is not None:
        if source is not None or names or arrays or head is not None or numbers:
            raise UsageError("with a whole section, leave out everything else that certificates write under given")
        return finish(exact(dict(given), "given"))
    sources = matrix_sources(source, names or {}, arrays, head)
    if MATRIX.name in sources:
        raise UsageError("a matrix alone has no linear part; expected arrays queries and keys")
    if GIVEN_BETA.name not in numbers and GIVEN_SCALE.name not in numbers:
        raise UsageError("no factor of the scores; expected beta (--beta), or a scale (--scale)")
    with placed(out, sources, data) as references:
        try:
            return finish({**references, **numbers})
        except TooLongError as error:
            raise NotProvedError(f"{error}. {_largest_entries(sources)}") from None


def words_of_zeros(certificate: Certificate) -> str:
    """What is to be said of keys that no query tells apart, for which relative sizes are left out; else nothing."""
    if not is_uniform(*THEOREM.read(certificate).attention.exact, causal=False):
        return ""
    return (
        "note: no query tells the keys apart, so that M and L are 0; sizes relative to M are left out, and bounds of "
        "norms say only that"
    )


def _largest_entries(sources: Mapping[str, Source]) -> str:
    """Those of the arrays, of which exponentials of products are made: no single one need be the cause."""
    found: list[str] = []
    for field, source in sources.items():
        if isinstance(source, InFile):
            found.append(f"{_size(source.file.read(source.name)):.2g} in {source}")
        else:
            found.append(f"{_size(source):.2g} in the array {field!r}")
    return f"The largest entries, of which it is an exponential: {', '.join(found)}"


def _size(array: Any) -> float:
    # Of floats: the smallest integer of a type has no absolute value in it.
    return float(abs(array.astype("float64")).max())


def _write(out: Path, given: Plain, *, states: Sequence[str], digits: int, hint: str, note: str) -> Certificate:
    draft = Draft(THEOREM, out, given, note)
    anything: dict[str, Plain] = {"remainder": {"norm": {"at_least": "0"}}}
    problem = draft.read(THEOREM.read, anything)
    wanted = _wanted(problem, states)
    with stored_hint(out, problem.attention.stages[REMAINDER], hint) as witness:
        return draft.write(_asserted(draft.read(THEOREM.read, anything, witness), wanted, digits), witness)


def _wanted(problem: StatedStages, states: Sequence[str]) -> list[str]:
    """Names of quantities. Raises UsageError for what is about beta where there is none."""
    attention = problem.attention
    known = [name for name, quantity in QUANTITIES.items() if attention.temperature or not quantity.needs_beta]
    for state in states:
        if not set(STATES[state]) & set(known):
            raise UsageError(f"{state} is about beta; expected beta in the place of a scale, or another state")
    chosen = states or [state for state in STATES if set(STATES[state]) <= set(known) or state == "stages"]
    found: dict[Quantity, str] = {}
    for name in known:
        quantity = QUANTITIES[name]
        undefined = quantity.is_relative and is_uniform(*attention.exact, causal=False)
        if any(name in STATES[state] for state in chosen) and not undefined:
            # What has two names is stated once.
            found.setdefault(quantity, name)
    return list(found.values())


def _asserted(problem: StatedStages, wanted: Sequence[str], digits: int) -> dict[str, Plain]:
    """The assertions, by the fastest arithmetic that encloses all of them. Raises NotProvedError."""
    reason: NotProvedError = NotProvedError("no arithmetic has an answer")
    for bits, sizes in _enclosures(problem):
        with working_precision(bits):
            try:
                return _from_sizes(sizes, wanted, digits)
            except NotProvedError as error:
                reason = error
            except Binary64Error:
                continue
    raise reason


def _enclosures(problem: StatedStages) -> Iterator[tuple[int, Sizes]]:
    attention = problem.attention
    return enclosures(
        attention.stages[REMAINDER], partial(sizes_in_binary64, problem), partial(sizes_in_arb, attention)
    )


def _from_sizes(sizes: Sizes, wanted: Sequence[str], digits: int) -> dict[str, Plain]:
    asserts: dict[str, Plain] = {}
    for name in wanted:
        ball = sizes[QUANTITIES[name]]
        if ball.is_finite() is not True:
            raise NotProvedError(f"{left_side(QUANTITIES[name])} could not be enclosed: the inputs are too extreme")
        *groups, last = name.split(".")
        place = asserts
        for group in groups:
            inner = place.setdefault(group, {})
            assert isinstance(inner, dict)
            place = inner
        _require_writable(left_side(QUANTITIES[name]), ball)
        _require_digits(left_side(QUANTITIES[name]), ball, digits)
        place[last] = bounds_around(ball, digits)
    return asserts


def _require_writable(what: str, ball: arb) -> None:
    """Raises TooLongError for a number whose exponent no certificate may have."""
    most = DEFAULT_LIMITS.max_exponent
    if (ball.abs_upper() < arb(10) ** most) is not True:
        raise TooLongError(
            f"{what} is beyond 1e{most}, the largest number that a certificate holds by default; expected smaller "
            "queries or keys, a smaller beta, or states without it (--state)"
        )


def _require_digits(what: str, ball: arb, digits: int) -> None:
    """Raises NotProvedError where a number is known to fewer digits; not for one that may be 0, which has none."""
    known = ball.abs_lower()
    if (known > 0) is not True or (ball.rad() <= known * arb(10) ** (1 - digits)) is True:
        return
    least = decimal_exponent(lower_rational(known)) - decimal_exponent(upper_rational(ball.rad()))
    raise NotProvedError(
        f"{what} could not be enclosed to {digits} digits, only to {max(0, least)}; expected fewer digits, or where a "
        "hint is stored the hint float64"
    )


def singular_values(problem: StatedStages) -> list[float]:
    """Those of the remainder, for a figure."""
    for bits, sizes in _enclosures(problem):
        with working_precision(bits):
            try:
                values = sizes.spectrum(REMAINDER).singular.values()
            except Binary64Error:
                continue
            if all(value.is_finite() is True for value in values):
                return [float(value.mid()) for value in values]
    raise NotProvedError(f"the singular values of the remainder for scale {describe(problem.attention.scale)} are open")


COMMAND = Command(
    Argument("TOKENS", Arrays("given")),
    Option("--beta", "Inverse temperature; scores are beta unit^2 <q_i, k_j>/sqrt(p).", metavar="BETA"),
    Option("--unit", "The unit of queries and keys; 1 by default.", metavar="U"),
    Option("--scale", "Without beta, the factor of the scores, such as '1/sqrt(32)'.", metavar="NUMBER"),
    to_state("What to state; all by default, but without --beta only norm and stages.", STATES),
    Option("--digits", "Digits of every bound.", int),
    Option(
        "--hint",
        "Store singular vectors of the remainder beside the certificate, or let the checker compute them.",
        HINTS,
    ),
    ARRAY,
    HEAD,
    DATA,
    to_plot("Draw the singular values of the remainder and the quarter circle."),
    finding=lambda certificate, _: words_of_zeros(certificate),
)
