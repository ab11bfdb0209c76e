"""`finite-moments` in words."""

from __future__ import annotations

from certattn.kernel.decide.theorem import Sections
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.finite_moments import (
    ABOVE,
    BELOW,
    ENTRY_PARTS,
    FOURTH,
    FROM,
    INFINITE,
    MOMENTS,
    ORDER,
    RATIOS,
    SIDE,
    SMALLEST,
    THRESHOLDS,
    VARIANCE,
    WITHIN,
    all_infinite,
    before,
)
from certattn.kernel.theorems.spectrum.score_matrix import LAMBDA, SIZE, score_matrix
from certattn.statements.ranges import range_sentence, range_words
from certattn.statements.spectrum.score_matrix import score_matrix_words
from certattn.statements.wording import Statement, Wording

# Of what is bounded for an order: words, a formula, and the left side of its obligations.
_BOUNDED = {
    MOMENTS: ("E m_{n}(T), which is finite,", r"\ell \le \mathbb E\, m_{2k}(T) \le u", "E m_{n}(T)"),
    RATIOS: (
        "E m_{n}(T)/m_{n}, which is finite,",
        r"\ell \le \mathbb E\, m_{2k}(T) / m_{2k} \le u",
        "E m_{n}(T) / m_{n}",
    ),
    ENTRY_PARTS: (
        "d^({fall}) E t^{n}/m_{n}, which is finite and at most E m_{n}(T)/m_{n},",
        r"\ell \le d^{1-k}\, \mathbb E\, t^{2k} / m_{2k} \le u",
        "d^(1-k) E t^{n} / m_{n}",
    ),
}


def statement(stated: Sections) -> Statement:
    given, asserts = stated.given, stated.asserts
    head = (
        f"{score_matrix_words(given, score_matrix(given))}, with m_2k(T) = tr((TT')^k)/d, m_2k its limit for d to "
        "infinity and lambda fixed, t an entry of sqrt(d) T:"
    )
    words, latex = [], []
    for field, (said, formula, _) in _BOUNDED.items():
        for item in asserts.items(field):
            number = said.format(n=item[ORDER], fall=1 - item[ORDER] // 2)
            words.append(f"{number} is {range_words(item)}")
        latex += [formula] if field in asserts else []
    if VARIANCE in asserts:
        words.append(f"Var m_2(T), which is finite, is {range_words(asserts[VARIANCE])}")
        latex.append(r"\ell \le \operatorname{Var} m_2(T) \le u")
    if INFINITE in asserts:
        words += [f"E m_{order}(T) is infinite" for order in asserts[INFINITE]]
        latex.append(r"\mathbb E\, m_{2k}(T) = \infty")
    if SMALLEST in asserts:
        words += [_smallest_words(item, given) for item in asserts[SMALLEST]]
        latex.append(r"\lvert \mathbb E\, m_{2k}(T) / m_{2k} - 1 \rvert \le \varepsilon")
    if THRESHOLDS in asserts:
        items = asserts[THRESHOLDS]
        words += [f"beta is {i[SIDE]} sqrt(log(d)/{i[ORDER]}), the threshold of order {i[ORDER]}" for i in items]
        latex.append(rf"\beta {'<' if items[0][SIDE] == BELOW else '>'} \sqrt{{\log d / (2k)}}")
    return Statement(f"{head} {'; '.join(words)}.", r",\qquad ".join(latex))


def _smallest_words(item: Values, given: Values) -> str:
    d, order, lambda_ = given[SIZE], item[ORDER], given[LAMBDA]
    whole = " with a whole lambda d" if lambda_.q != 1 else ""
    found = f"|E m_{order}(T)/m_{order} - 1| <= {describe(item[WITHIN])} at d = {d}"
    sizes = f"d from {item[FROM]} to {d - 1}{whole}"
    return f"{found}, and at no {sizes}" if before(given, item) else f"{found}, and there is no {sizes}"


def sentence(stated: Sections, name: str) -> str:
    what, _, part = name.partition(".")
    what, _, index = what.rstrip("]").partition("[")
    asserts, i = stated.asserts, int(index or 0)
    if what == VARIANCE.name:
        return _finite(FOURTH) if part == "finite" else range_sentence("Var m_2(T)", part)
    if what == INFINITE.name:
        order = asserts[INFINITE][i]
        return f"p <= {order} * {order - 1} beta^2, so E m_{order}(T) is infinite"
    (field,) = (field for field in (*_BOUNDED, SMALLEST, THRESHOLDS) if field.name == what)
    item = asserts[field][i]
    order = item[ORDER]
    if field is THRESHOLDS:
        relation = ">" if item[SIDE] == ABOVE else "<"
        return f"{order} beta^2 {relation} log(d), so beta {relation} sqrt(log(d)/{order})"
    if part == "finite":
        return _finite(order)
    if field in _BOUNDED:
        return range_sentence(_BOUNDED[field][2].format(n=order), part)
    distance = f"|E m_{order}(T) / m_{order} - 1|"
    if part == "at":
        return f"{distance} <= within"
    if all_infinite(before(stated.given, item), order):
        return f"p <= {order} * {order - 1} beta^2 at every size before, so E m_{order}(T) is infinite"
    return f"the smallest {distance} of the sizes before > within"


def _finite(order: int) -> str:
    return f"p > {order} * {order - 1} beta^2, so E m_{order}(T) is finite"


WORDING = Wording[Sections](statement, sentence)
