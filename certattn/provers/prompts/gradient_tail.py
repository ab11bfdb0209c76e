"""Bound how rarely a gradient of attention over a random prompt is far from that over an infinite one.

Find how rarely a gradient's error is large, how large it rarely is, or how long a prompt must be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.proof import Proof
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.prompts.gradient_tail import ASSERTS, THEOREM
from certattn.kernel.theorems.prompts.random_prompts import GradientError, read_gradient
from certattn.provers.commands import Argument, Command, Option, Yaml
from certattn.provers.doubts import long, rare
from certattn.provers.exact_inputs import Number, exact
from certattn.provers.output import Draft, require_place
from certattn.provers.prompts.gradient_goals import Search, search_of
from certattn.provers.prompts.heavy_scores import require_light_scores
from certattn.provers.prompts.norm_moments import by_moments_of_gradient
from certattn.provers.prompts.options import GRADIENT, LENGTH, OF_LENGTHS, PROBABILITY, left_out
from certattn.provers.prompts.output_tail import AIM, MOST_HEAVINESS, Wanted, wanted_numbers
from certattn.provers.prompts.tail_search import smallest_eps, smallest_length
from certattn.provers.rounding import round_up, upper_rational

_EPS_DIGITS, _DELTA_DIGITS = 4, 3
# If what floats suggest is not proved, it is weakened by a part in 2000, then by twice that, and so on.
_ATTEMPTS = 9
# The largest log E w^2 that the search is for; entries take higher moments.
_MOST_HEAVINESS = {"V": MOST_HEAVINESS, "U": 100}
_SLACK, _MOST_SLACK, _NUDGE = fmpq(1, 2000), fmpq(1, 50), 1.01
_BITS = 128
_SOME = fmpq(1, 2)


@dataclass(frozen=True)
class Found:
    """The numbers to state, delta None where it is still to be read off the proof, and the search they come from."""

    search: Search
    eps: fmpq
    delta: fmpq | None
    length: int


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    gradient: str = "U",
    exceeds: Number | None = None,
    probability: Number | None = None,
    length: int | str | None = None,
    lengths: str | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `gradient-tail` to `out` and return it.

    Give at least two of the threshold that the norm of the gradient's error exceeds rarely, the probability and the
    length; the third is found, as small as the rules allow.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords, with or without `length`:
        `law`, `query` with `U`, or with `K` and `Q`, `scale`, `V`; for the gradient in V also `tilt`.
    gradient : {"U", "V"}
        "U" (Hilbert-Schmidt norm) or "V" (operator norm).
    exceeds : exact number, optional
        The threshold eps that the norm exceeds rarely.
    probability : exact number, optional
        How rarely, above 0 and below 1.
    length : int, optional
        The number of tokens, unless it stands in `given`.
    lengths : {"one", "onwards"}, optional
        "onwards" states it for every larger number of tokens too, "one" for this one alone. By default a length that is
        found is one from which on it holds, and one that is given stands for itself.
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
    NotProvedError
        No rule proves what is asked for.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784. Statement and
    proof: docs/claims/prompts/gradient-tail.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> law = {"kind": "gaussian", "mean": [0, 0], "covariance": [["1/2", 0], [0, "1/2"]]}
    >>> certificate = certattn.generate(
    ...     "gradient-tail", law=law, U=np.eye(2), query=[1, 0], probability="0.01", length=1000
    ... )
    >>> float(certificate.numbers["exceeds"])
    0.2391
    """
    require_place(out)
    section = exact(given, "given")
    if not isinstance(section, dict):
        raise UsageError("given is not a mapping; expected law, query, U, V as certificates write them")
    wanted = wanted_numbers(section, exceeds, probability, length, lengths)
    draft = Draft(THEOREM, out, {**section, "length": wanted.stated(wanted.length or 1)}, note)
    asserted = _asserts(gradient, fmpq(1), _SOME)
    error, _ = draft.read(lambda written: read_gradient(written, ASSERTS), asserted)
    if error.factor == 0:
        raise UsageError("the query is 0, and so is the gradient in U: there is nothing to bound")
    require_light_scores(error.prompt, _MOST_HEAVINESS[error.gradient])
    return _proved(draft, section, gradient, _best(error, wanted), wanted)


def _asserts(gradient: str, eps: fmpq, delta: fmpq) -> dict[str, Plain]:
    return {"gradient": gradient, "exceeds": format_rational(eps), "probability": format_rational(delta)}


def _best(error: GradientError, wanted: Wanted) -> Found:
    """What rules find, or what moments find, whichever is better. Raises NotProvedError.

    In U moments are for one length. What is found faster comes first: the other one looks no further than that.
    """
    found, reasons = list[Found](), list[NotProvedError]()
    searches: list[Callable[[], Search | None]] = [lambda: search_of(error), lambda: by_moments_of_gradient(error)]
    if error.gradient == "U":
        searches = searches[:1] if wanted.onwards else searches[::-1]
    for make in searches:
        search = make()
        if search is not None:
            try:
                found.append(_solved(search, wanted, min((each.length for each in found), default=None)))
            except NotProvedError as reason:
                reasons.append(reason)
    if not found:
        raise reasons[-1]
    return min(found, key=_left_out)


def _left_out(found: Found) -> float:
    """Grows with each of the three numbers: two of them are the same for all."""
    delta = found.search.log_bound(_float(found.eps), float(found.length)) if found.delta is None else 0.0
    return math.log(found.length) + math.log(_float(found.eps)) + delta


def _solved(search: Search, wanted: Wanted, most: int | None = None) -> Found:
    """The number that is left out, by floats; a length up to the most, if one is known. Raises NotProvedError."""
    if wanted.length is None:
        assert wanted.eps is not None
        assert wanted.delta is not None
        eps, log_delta = _float(wanted.eps), _log(wanted.delta)
        if most is None:
            count = smallest_length(lambda tokens: search.log_bound(eps, tokens), log_delta)
        else:
            search, count = search.tuned(eps, float(most)), most
            if search.log_bound(eps, float(most)) > log_delta:
                raise NotProvedError(f"a length of {most} is not reached")
        search = search.tuned(eps, float(count))
        count = smallest_length(lambda tokens: search.log_bound(eps, tokens), log_delta, float(count))
        return Found(search, wanted.eps, wanted.delta, count)
    tokens = float(wanted.length)
    if wanted.eps is not None:
        return Found(search.tuned(_float(wanted.eps), tokens), wanted.eps, wanted.delta, wanted.length)
    assert wanted.delta is not None
    log_delta, threshold = _log(wanted.delta), 3 * search.deviation / math.sqrt(tokens)
    if not threshold > 0:
        raise UsageError("the gradient is the same for every prompt, so its error exceeds no threshold")
    for _ in range(2):
        threshold = _smallest_threshold(search, tokens, log_delta, threshold)
        search = search.tuned(threshold, tokens)
    threshold = _smallest_threshold(search, tokens, log_delta, threshold)
    return Found(search, round_up(fmpq(*threshold.as_integer_ratio()), _EPS_DIGITS), wanted.delta, wanted.length)


def _smallest_threshold(search: Search, length: float, log_delta: float, unit: float) -> float:
    return smallest_eps(lambda eps: search.log_bound(eps, length), log_delta, unit)


def _proved(draft: Draft, section: dict[str, Plain], gradient: str, found: Found, wanted: Wanted) -> Certificate:
    """The certificate, once the kernel has proved it. Raises NotProvedError."""
    slack = _SLACK
    for _ in range(_ATTEMPTS):
        witness = found.search.witness(found.eps, found.length, _aim(found) if wanted.onwards else None)
        draft = draft.about({**section, "length": wanted.stated(found.length)})
        asserts = _asserts(gradient, found.eps, found.delta or _SOME)
        bound, stated = _bound(draft, asserts, witness), found.delta
        if stated is None:
            delta = round_up(bound, _DELTA_DIGITS)
            if not 0 < delta < 1:
                raise NotProvedError(
                    f"no rule proves a probability below 1 for exceeding {describe(found.eps)}: "
                    "expected a larger threshold, or a longer prompt"
                )
            return draft.write(_asserts(gradient, found.eps, delta), witness)
        if bound < stated:
            return draft.write(asserts, witness)
        slack = max(slack, _lacking(found, bound / stated, in_length=wanted.eps is not None))
        if wanted.eps is None:
            found = replace(found, eps=round_up(found.eps * (1 + slack), _EPS_DIGITS))
        elif wanted.length is None:
            found = replace(found, length=int((found.length * (1 + slack)).ceil()))
        else:
            shown = describe(round_up(bound, _DELTA_DIGITS))
            raise NotProvedError(
                f"probability {describe(stated)} could not be proved: the best bound that is found is {shown} (the "
                "probability itself may be smaller; without a length, one that is long enough is found)"
            )
        slack *= 2
    raise NotProvedError("what the search found could not be proved: the numbers are too extreme")


def _lacking(found: Found, excess: fmpq, in_length: bool) -> fmpq:
    """By which share the length, or the threshold, is too small, when the bound exceeds delta so many times."""
    eps, length = _float(found.eps), float(found.length)
    more = (eps, length * _NUDGE) if in_length else (eps * _NUDGE, length)
    gained = found.search.log_bound(eps, length) - found.search.log_bound(*more)
    if not gained > 0:
        return _MOST_SLACK
    return min(fmpq(int(_log(excess) * (_NUDGE - 1) / gained * 10**4) + 1, 10**4), _MOST_SLACK)


def _aim(found: Found) -> float:
    """The logarithm of what bounds at larger lengths have to keep to."""
    if found.delta is not None:
        return _log(found.delta)
    return found.search.log_bound(_float(found.eps), float(found.length)) + AIM


def _bound(draft: Draft, asserts: dict[str, Plain], witness: dict[str, Plain]) -> fmpq:
    """The probability that the kernel proves, from above."""
    proof = Proof(list(THEOREM.obligations(draft.read(THEOREM.read, asserts, witness))))
    proof.ask(["probability"], _BITS)
    bound = proof.answers["probability"].left
    return upper_rational(bound if isinstance(bound, arb) else arb.nan())


def _float(value: fmpq) -> float:
    return float(value.p) / float(value.q)


def _log(value: fmpq) -> float:
    return math.log(float(value.p)) - math.log(float(value.q))


def _finding(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """Which number was found."""
    plain: Any = certificate.plain
    stated = {**plain["asserts"], **plain["given"]}
    if isinstance(stated["length"], dict):
        stated["length"] = f"{stated['length']['at_least']} tokens, and every longer prompt"
    words = {"exceeds": "threshold", "probability": "probability", "length": "length"}
    return "; ".join(f"smallest {words[name]} found: {stated[name]}" for name in left_out(inputs))


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    GRADIENT,
    Option("--exceeds", "The threshold that the norm rarely exceeds; the smallest, if left out.", metavar="EPS"),
    PROBABILITY,
    LENGTH,
    OF_LENGTHS,
    finding=_finding,
    doubts=[rare, long],
)
