"""Theorem `attention-spectrum`: the singular values of a drawn softmax attention matrix, with a stated probability.

For every d >= from with p = lambda d a whole number: d queries and d keys are independent N(0, I_p), A is the softmax
by rows of beta S, S_ij = x_i.k_j / sqrt(p), and F the empirical law of the singular values of M = sqrt(d) (A - 11'/d).
mu is the law of `equivalent-law` for beta and lambda. Except with the stated `probability`, all of this at once:

    transform   |s_M(-eta) - s_mu(-eta)| <= within at every listed eta, s(-eta) the mean of 1 / (x^2 + eta)
    apart       the Kolmogorov distance of F to every quarter circle law, of any radius, is at least at_least

Bounds at `from` are bounds for every larger d, since all of them fall. As 1 / (x^2 + eta) falls from 1/eta to 0, two
laws are at least eta |difference of s(-eta)| apart. s(-eta) of a quarter circle law falls with its second moment: up to
the second moment that the witness names it is too large at one eta, from there on too small at another one.

`drawn_spectrum` has the bounds. The witness says what is typical: cut, coherence and excess of queries, theta of
normalisers; and the probabilities with which a step may fail, `share` where it rests on a variance, `tail` elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Sections, Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.given.bounds import Probability
from certattn.kernel.theorems.spectrum import drawn_spectrum as drawn
from certattn.kernel.theorems.spectrum import score_matrix as matrix
from certattn.kernel.theorems.spectrum import typical_queries as typical
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers

FROM = Field("from", Count(2), "the least number of tokens: every d from it on, with lambda d whole")
PROBABILITY = Field("probability", Probability(), "delta, with which something of it may fail")
ETA = Field("eta", Rational(above=0), "eta > 0: transforms are taken at -eta")
WITHIN = Field("within", Rational(above=0), "how far s_M(-eta) may be from s_mu(-eta)")
TRANSFORM = Field("transform", Listing(Record(ETA, WITHIN)), "Stieltjes transforms beside those of the limit law")
LEAST = Field("at_least", Rational(above=0), "it is at least this")
APART = Field("apart", Record(LEAST), "the distance to every quarter circle law", required=False)
SHARE = Field("share", Rational(), "share > 0: how probable it is that a step fails that rests on a variance")
TAIL = Field("tail", Rational(), "0 < tail < 1: how probable it is that another step fails")
MOMENT = Field("moment", Rational(above=0), "the second moment that parts quarter circle laws", required=False)

GIVEN = Record(matrix.BETA, matrix.LAMBDA, FROM)
ASSERTS = Record(PROBABILITY, TRANSFORM, APART)
WITNESS = Record(*typical.FIELDS, matrix.THETA, SHARE, TAIL, MOMENT)

_read = sections(GIVEN, ASSERTS, WITNESS)
_TYPICAL = (*typical.CONDITIONS, SHARE.name, "tail.above", "tail.below")
_FALLS = ("falls.lengths", "falls.products", "falls.normalisers")


def read(certificate: Certificate) -> Sections:
    """Everything stated. Raises MalformedError."""
    stated = _read(certificate)
    if (APART in stated.asserts) is not (MOMENT in stated.hint):
        found = "apart alone" if APART in stated.asserts else "moment alone"
        raise stated.hint.at.malformed("`moment` exactly where `apart` is stated", found)
    return stated


def draw(given: Values, witness: Values) -> drawn.Draw:
    """The sizes and what is typical."""
    beta2, queries = given[matrix.BETA] * given[matrix.BETA], typical.typical_queries(witness)
    failing = witness[SHARE], witness[TAIL]
    return drawn.Draw(given[FROM], given[matrix.LAMBDA], beta2, queries, witness[matrix.THETA], *failing)


def law(given: Values) -> LawNumbers[arb]:
    """mu, at the working precision."""
    x = arb(given[matrix.BETA]) * arb(given[matrix.BETA])
    return LawNumbers(x.exp() - 1 - x, x, arb(given[matrix.LAMBDA]))


def obligations(stated: Sections) -> Iterator[Obligation]:
    given, asserts, hint = stated.given, stated.asserts, stated.hint
    yield from typical.conditions(hint)
    yield Obligation("share", hint[SHARE], ">", fmpq(0), Part.WITNESS)
    yield Obligation("tail.above", hint[TAIL], ">", fmpq(0), Part.WITNESS)
    yield Obligation("tail.below", hint[TAIL], "<", fmpq(1), Part.WITNESS)
    # Made once for each precision: its numbers are balls.
    sizes = Shared(lambda: draw(given, hint))
    for index, name in enumerate(_FALLS):
        yield Obligation(name, partial(_falls, sizes, index), ">=", fmpq(1), Part.WITNESS, _TYPICAL)
    transforms = asserts[TRANSFORM]
    steps = drawn.SHARES * hint[SHARE] + (drawn.TAILS + drawn.TAILS_AT_ETA * len(transforms)) * hint[TAIL]
    failing = lambda: sizes().improbable + arb(steps)  # noqa: E731
    needs = (*_TYPICAL, *_FALLS)
    yield Obligation("probability", failing, "<=", asserts[PROBABILITY], Part.WITNESS, needs)
    for index, item in enumerate(transforms):
        bound = partial(_bound, sizes, item[ETA])
        yield Obligation(f"transform[{index}]", bound, "<=", item[WITHIN], Part.WITNESS, needs)
    if APART in asserts:
        for name, sign in (("apart.smaller", 1), ("apart.larger", -1)):
            margin = partial(_margin, stated, sign)
            yield Obligation(name, margin, ">=", asserts[APART][LEAST], Part.WITNESS)


def _falls(sizes: Shared[drawn.Draw], index: int) -> arb:
    return sizes().falls()[index]


def _bound(sizes: Shared[drawn.Draw], eta: fmpq) -> arb:
    return sizes().bound(eta)


def _margin(stated: Sections, sign: int) -> arb:
    """The largest eta (sign (s(-eta) - s_mu(-eta)) - within), s of the quarter circle law of the witness's moment."""
    best, numbers = arb(0), law(stated.given)
    for item in stated.asserts[TRANSFORM]:
        eta = item[ETA]
        difference = drawn.quarter_circle_transform(stated.hint[MOMENT], eta) - drawn.limit_transform(numbers, eta)
        best = best.max(arb(eta) * (sign * difference - arb(item[WITHIN])))
    return best


_TITLE = "the singular values of a drawn softmax attention matrix, with a stated probability"
THEOREM = Theorem("attention-spectrum", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
