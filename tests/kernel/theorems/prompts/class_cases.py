"""Accept and reject cases of the repaired forms of the propositions for every law of a class."""

from __future__ import annotations

from corpus import MALFORMED, REJECTED, Change, Family

FIRST, SECOND = "proposition-3-1", "proposition-3-4"

NORMS_TEXT = """
given:
  class: {dimension: 2, sigma: 1, query_dimension: 3, query_sigma: 1}
  norms: {U: 1/2, V: 3/2}
asserts: {repaired: {c1: C_ABOVE, c2: 0.4}}
witness:
  steps:
  - {from: 2, theta: 0.1, t: 1/2, eta: 1/2, gap: 1/2DELTA}
  - {from: 40, theta: 0.4, t: 3/5, eta: 1/3, gap: 3/5DELTA}
"""

MATRICES_TEXT = """
given:
  class: {dimension: 2, sigma: 3/2, query_dimension: 2, query_sigma: 1/2}
  U: [[1/2, 1/4], [0, 1/2]]
  V: [[1, 1], [0, 1/2]]
asserts: {repaired: {c1: C_ABOVE, c2: 0.9}}
witness:
  norm: 1.461
  steps:
  - {from: 2, theta: 0.1, t: 1/2, eta: 1/2, gap: 1/2DELTA}
  - {from: 40, theta: 0.45, t: 3/5, eta: 1/3, gap: 3/5DELTA}
"""

BALL_TEXT = """
given:
  class: {dimension: 2, sigma: 2, radius: 3/2, query_dimension: 3, query_sigma: 1/2}
  norms: {U: 1, V: 3/2}
asserts: {repaired: {c1: C_ABOVE, c2: 3}}
witness:
  steps:
  - {from: 2, theta: 0.1, t: 1/2, slope: 1DELTA}
  - {from: 40, theta: 0.8, t: 3/5, slope: 1/2DELTA}
"""

FIRST_STEP, LAST_STEP = (line for line in NORMS_TEXT.split("\n") if "theta" in line)
SIZES = "class: {dimension: 2, sigma: 1, query_dimension: 3, query_sigma: 1}"


def sizes(change: str, by: str) -> tuple[str, str]:
    """A change of the class."""
    return SIZES, SIZES.replace(change, by)


NORMS_ACCEPTS = {
    "numbers written in other ways": ("{U: 1/2, V: 3/2}", "{U: 0.5, V: 0x1.8p0}"),
    "a larger c1": ("c1: C_ABOVE", "c1: 1e6"),
    "a smaller c2": ("c2: 0.4", "c2: 0.3"),
    "tokens that vary less": sizes("sigma: 1, query", "sigma: 1.0, query"),
    "queries that vary less": sizes("query_sigma: 1", "query_sigma: 0.9"),
    "tokens of one dimension": sizes("dimension: 2", "dimension: 1"),
    "queries of fewer dimensions": sizes("query_dimension: 3", "query_dimension: 2"),
    "a smaller norm of U": ("U: 1/2", "U: 1/4"),
    "a smaller scale": ("{U: 1/2, V: 3/2}", "{U: 1/2, V: 3/2}\n  scale: 1/sqrt(2)"),
    "a scale that a norm makes up for": ("{U: 1/2, V: 3/2}", "{U: 1, V: 3/2}\n  scale: 1/2"),
    "a step more": (FIRST_STEP, FIRST_STEP + "\n" + FIRST_STEP.replace("from: 2", "from: 9")),
}  # fmt: skip

NORMS_REJECTS: dict[str, Change] = {
    "c1 below what the bound gives": ("c1: C_ABOVE", "c1: C_BELOW", REJECTED, "<= c1 for"),
    "c2 above theta": ("{c1: C_ABOVE, c2: 0.4}", "{c1: 1e6, c2: 0.401}", REJECTED, "more than the last theta"),
    "more dimensions": (*sizes("dimension: 2", "dimension: 3"), REJECTED, "<= c1 for"),
    "tokens that vary more": (*sizes("sigma: 1, query", "sigma: 1.2, query"), REJECTED, "<= c1 for"),
    "queries that vary more": (*sizes("query_sigma: 1", "query_sigma: 1.01"), REJECTED, "<= c1 for"),
    "a larger norm of U": ("U: 1/2", "U: 0.51", REJECTED, "<= c1 for"),
    "a norm of U with which the bound is infinite": ("U: 1/2", "U: 1", REJECTED, "an infinite bound"),
    "a larger norm of V": ("V: 3/2", "V: 1.51", REJECTED, "<= c1 for"),
    "a larger scale": ("{U: 1/2, V: 3/2}", "{U: 1/2, V: 3/2}\n  scale: 1.02", REJECTED, "<= c1 for"),
    "theta with which the bound is infinite": ("theta: 0.4", "theta: 1", REJECTED, "an infinite bound"),
    "a gap with which the bound is infinite": ("gap: 3/5", "gap: 1.2", REJECTED, "an infinite bound"),
    "theta above 1": ("theta: 0.4", "theta: 1.001", REJECTED, "for exponents up to 1"),
    "a fall of 1": ("t: 3/5", "t: 1", REJECTED, "for t below 1"),
    "an eta of 1": ("eta: 1/3", "eta: 1", REJECTED, "for eta below 1"),
    "the last step too early": ("from: 40", "from: 4", REJECTED, "<= c1 for"),
    "the last step too late": ("from: 40", "from: 9000", REJECTED, "<= c1 for"),
    "sigma below 1": (*sizes("sigma: 1, query", "sigma: 0.99, query"), MALFORMED, "a number >= 1"),
    "queries that do not vary": (*sizes("query_sigma: 1", "query_sigma: 0"), MALFORMED, "a number > 0"),
    "no dimension": (*sizes("dimension: 2, ", ""), MALFORMED, "no 'dimension'"),
    "a dimension of 0": (*sizes("dimension: 2", "dimension: 0"), MALFORMED, "an integer >= 1"),
    "half a dimension": (*sizes("query_dimension: 3", "query_dimension: 5/2"), MALFORMED, "an integer >= 1"),
    "no number for the queries": (*sizes(", query_sigma: 1", ""), MALFORMED, "no 'query_sigma'"),
    "a negative norm": ("U: 1/2", "U: -1/2", MALFORMED, "a number > 0"),
    "no norm of V": (", V: 3/2", "", MALFORMED, "no 'V'"),
    "norms beside a matrix": ("  norms:", "  U: [[1, 0, 0], [0, 1, 0]]\n  norms:", MALFORMED, "unknown key 'U'"),
    "a law beside the class": (
        "  norms:", "  law: {kind: rademacher, sizes: [1, 1]}\n  norms:", MALFORMED, "unknown key 'law'"),
    "sigma beside the class": ("  norms:", "  sigma: 1\n  norms:", MALFORMED, "unknown key 'sigma'"),
    "a length": ("  norms:", "  length: 9\n  norms:", MALFORMED, "unknown key 'length'"),
    "the published form": ("repaired: {c1: C_ABOVE, c2: 0.4}", "published: holds", MALFORMED, "repaired, for a class"),
    "no witness": (NORMS_TEXT[NORMS_TEXT.index("witness") :], "", MALFORMED, "a witness beside it"),
    "a witness for boxes": (
        NORMS_TEXT[NORMS_TEXT.index("  steps") :], "  {t: 1/2, from: 20}\n", MALFORMED, "steps, for a class"),
    "no t": ("t: 3/5, ", "", MALFORMED, "t, eta, gap"),
    "no eta": ("eta: 1/3, ", "", MALFORMED, "t, eta, gap"),
    "no gap": (", gap: 3/5", "", MALFORMED, "t, eta, gap"),
    "a gap of 0": ("gap: 3/5", "gap: 0", MALFORMED, "a number > 0"),
    "a negative theta": ("theta: 0.4", "theta: -0.4", MALFORMED, "a number >= 0"),
    "a negative eta": ("eta: 1/3", "eta: -1/3", MALFORMED, "a number > 0"),
    "a fall of 0": ("t: 3/5", "t: 0", MALFORMED, "a number > 0"),
    "steps that begin at 3": ("from: 2,", "from: 3,", MALFORMED, "steps from 2 on"),
    "steps in the wrong order": ("from: 40,", "from: 2,", MALFORMED, "steps from 2 on"),
    "a norm where V is not stated": ("  steps:", "  norm: 1.461\n  steps:", MALFORMED, "no norm where V"),
    "eta that is no number": ("eta: 1/3", "eta: nan", MALFORMED, "an exact number: integer, p/q"),
}  # fmt: skip

BALL = "radius: 3/2"
BALL_ACCEPTS = {
    "a larger c1": ("c1: C_ABOVE", "c1: 1e6"),
    "a smaller c2": ("c2: 3", "c2: 2.9"),
    "a smaller ball": (BALL, "radius: 1.49"),
    "tokens of one dimension": ("{dimension: 2", "{dimension: 1"),
    "queries that vary less": ("query_sigma: 1/2", "query_sigma: 0.49"),
    "a smaller norm of U": ("U: 1,", "U: 0.99,"),
}  # fmt: skip
BALL_REJECTS: dict[str, Change] = {
    "c1 below what the bound gives": ("c1: C_ABOVE", "c1: C_BELOW", REJECTED, "<= c1 for"),
    "c2 above theta": ("{c1: C_ABOVE, c2: 3}", "{c1: 1e6, c2: 3.3}", REJECTED, "more than the last theta"),
    "more dimensions": ("{dimension: 2", "{dimension: 3", REJECTED, "<= c1 for"),
    "a larger ball": (BALL, "radius: 1.51", REJECTED, "<= c1 for"),
    "queries that vary more": ("query_sigma: 1/2", "query_sigma: 0.51", REJECTED, "<= c1 for"),
    "a larger norm of U": ("U: 1,", "U: 1.01,", REJECTED, "<= c1 for"),
    "a norm of U with which the bound is infinite": ("U: 1,", "U: 9,", REJECTED, "an infinite bound"),
    "a larger norm of V": ("V: 3/2", "V: 1.51", REJECTED, "<= c1 for"),
    "a slope with which the bound is infinite": ("slope: 1/2", "slope: 9", REJECTED, "an infinite bound"),
    "theta above 1": ("theta: 0.8", "theta: 1.001", REJECTED, "for exponents up to 1"),
    "a fall of 1": ("t: 3/5", "t: 1", REJECTED, "for t below 1"),
    "the last step too early": ("from: 40", "from: 3", REJECTED, "<= c1 for"),
    "no ball": (BALL + ", ", "", MALFORMED, "t, eta, gap"),
    "a ball of radius 0": (BALL, "radius: 0", MALFORMED, "a number > 0"),
    "a ball of negative radius": (BALL, "radius: -3/2", MALFORMED, "a number > 0"),
    "sigma below 1, as the display supposes": ("sigma: 2,", "sigma: 0.99,", MALFORMED, "a number >= 1"),
    "no slope": (", slope: 1/2", "", MALFORMED, "t, slope"),
    "a slope of 0": ("slope: 1/2", "slope: 0", MALFORMED, "a number > 0"),
    "a negative slope": ("slope: 1/2", "slope: -1/2", MALFORMED, "a number > 0"),
    "what a class without a ball needs": ("slope: 1/2", "eta: 1/2, gap: 1/2", MALFORMED, "t, slope"),
    "an eta beside the slope": ("slope: 1/2", "eta: 1/2, slope: 1/2", MALFORMED, "t, slope"),
}  # fmt: skip

MATRICES_ACCEPTS = {
    "a larger c1": ("c1: C_ABOVE", "c1: 1e6"),
    "a smaller c2": ("c2: 0.9", "c2: 0.8"),
    "signs of V turned round": ("V: [[1, 1], [0, 1/2]]", "V: [[-1, -1], [0, -1/2]]"),
    "rows of U in another order": ("U: [[1/2, 1/4], [0, 1/2]]", "U: [[0, 1/2], [1/2, 1/4]]"),
    "U as a product": ("  U: [[1/2, 1/4], [0, 1/2]]", "  K: [[1, 0], [1/2, 1]]\n  Q: [[1/2, 0], [0, 1/2]]"),
    "a smaller scale": ("  V:", "  scale: 0.9\n  V:"),
}  # fmt: skip

MATRICES_REJECTS: dict[str, Change] = {
    "c1 below what the bound gives": ("c1: C_ABOVE", "c1: C_BELOW", REJECTED, "<= c1 for"),
    "c2 above theta": ("{c1: C_ABOVE, c2: 0.9}", "{c1: 1e6, c2: 1.02}", REJECTED, "more than the last theta"),
    "a larger entry of U": ("U: [[1/2, 1/4]", "U: [[1/2, 0.3]", REJECTED, "<= c1 for"),
    "U with which the bound is infinite": ("U: [[1/2, 1/4]", "U: [[1, 1]", REJECTED, "an infinite bound"),
    "U of another shape": ("U: [[1/2, 1/4], [0, 1/2]]", "U: [[1/2], [0]]", MALFORMED, "query_dimension 1"),
    "a larger scale": ("  V:", "  scale: 1.1\n  V:", REJECTED, "<= c1 for"),
    "queries of another dimension": ("query_dimension: 2", "query_dimension: 3", MALFORMED, "query_dimension 2"),
    "tokens of another dimension": ("{dimension: 2", "{dimension: 3", MALFORMED, "given.U"),
    "V of another shape": ("V: [[1, 1], [0, 1/2]]", "V: [[1]]", MALFORMED, "given.V"),
}  # fmt: skip

# Where V matters.
OF_VALUES: dict[str, Change] = {
    "a row more of V": ("V: [[1, 1], [0, 1/2]]", "V: [[1, 1], [0, 1/2], [0.3, -0.3]]", REJECTED, "<= c1 for"),
    "a norm that V exceeds": ("norm: 1.461", "norm: 1.4", REJECTED, "norm^2 I - V'V is not positive"),
    "a V that exceeds the norm": ("V: [[1, 1]", "V: [[1, 3/2]", REJECTED, "norm^2 I - V'V is not positive"),
    "no norm": ("  norm: 1.461\n", "", REJECTED, "<= c1 for"),
    "a larger norm": ("norm: 1.461", "norm: 1.6", REJECTED, "<= c1 for"),
    "a negative norm": ("norm: 1.461", "norm: -1.461", MALFORMED, "a number >= 0"),
}  # fmt: skip


def of_class(text: str, title: str, above: str, below: str, gradient: str = "") -> Family:
    """A family with a c1 just above what its witness gives, and just below."""
    by_norms = text == NORMS_TEXT
    accepts = dict(NORMS_ACCEPTS if by_norms else MATRICES_ACCEPTS)
    rejects = dict(NORMS_REJECTS if by_norms else {**MATRICES_REJECTS, **OF_VALUES})
    if gradient == "U":
        accepts.pop("a scale that a norm makes up for", None)
        for name, change in list(rejects.items()):
            if change[3] == "t, eta, gap":
                rejects[name] = (*change[:3], "t, eta, gap, delta")
        if by_norms:
            rejects["no delta"] = (LAST_STEP, LAST_STEP.replace("DELTA", ""), MALFORMED, "t, eta, gap, delta")
            rejects["a delta with which the bound is infinite"] = (
                LAST_STEP, LAST_STEP.replace("DELTA", ", delta: 1/2"), REJECTED, "an infinite bound")  # fmt: skip
        # Of V the bound sees the operator norm alone, and (ln L)^2 makes it fall for longer.
        rejects.pop("a row more of V", None)
        rejects.pop("the last step too late", None)
    elif by_norms:
        rejects["a delta, for another error"] = (
            LAST_STEP, LAST_STEP.replace("DELTA", ", delta: 1/9"), MALFORMED, "t, eta, gap beside")  # fmt: skip
    if gradient == "V":
        if by_norms:
            old, new, *_ = rejects.pop("a larger norm of V")
            accepts["a larger norm of V, which plays no role"] = (old, new)
        else:
            for name in OF_VALUES:
                rejects.pop(name)
            text = text.replace("  norm: 1.461\n", "")
            rejects["a norm of V, which plays no role"] = (
                "  steps:",
                "  norm: 1.461\n  steps:",
                MALFORMED,
                "no norm where",
            )

    def put(part: str) -> str:
        found = part.replace("C_ABOVE", above).replace("C_BELOW", below)
        found = found.replace("DELTA", ", delta: 1/10" if gradient == "U" else "")
        return found.replace("asserts: {", f"asserts: {{gradient: {gradient}, ") if gradient else found

    return Family(
        SECOND if gradient else FIRST,
        title,
        put(text),
        {name: (put(old), put(new)) for name, (old, new) in accepts.items()},
        {name: (put(old), put(new), verdict, words) for name, (old, new, verdict, words) in rejects.items()},
    )


def on_ball(title: str, above: str, below: str, gradient: str = "") -> Family:
    """The same for the laws on a ball."""
    accepts, rejects = dict(BALL_ACCEPTS), dict(BALL_REJECTS)
    if gradient == "V":
        old, new, *_ = rejects.pop("a larger norm of V")
        accepts["a larger norm of V, which plays no role"] = (old, new)

    def put(part: str) -> str:
        found = part.replace("C_ABOVE", above).replace("C_BELOW", below)
        found = found.replace("DELTA", ", delta: 1/10" if gradient == "U" else "")
        return found.replace("asserts: {", f"asserts: {{gradient: {gradient}, ") if gradient else found

    return Family(
        SECOND if gradient else FIRST,
        title,
        put(BALL_TEXT),
        {name: (put(old), put(new)) for name, (old, new) in accepts.items()},
        {name: (put(old), put(new), verdict, words) for name, (old, new, verdict, words) in rejects.items()},
    )


FAMILIES = [
    on_ball("every law on a ball", "1.7922687", "1.7922686"),
    on_ball("the gradient in V for every law on a ball", "0.79656386", "0.79656385", "V"),
    on_ball("the gradient in U for every law on a ball", "0.14401815", "0.14401814", "U"),
    of_class(NORMS_TEXT, "every law of a class, by norms", "87.999166", "87.999165"),
    of_class(NORMS_TEXT, "the gradient in V for every law of a class, by norms", "39.110741", "39.11074", "V"),
    of_class(NORMS_TEXT, "the gradient in U for every law of a class, by norms", "7167.7096", "7167.7095", "U"),
    of_class(MATRICES_TEXT, "every law of a class", "13.128073", "13.128072"),
    of_class(MATRICES_TEXT, "the gradient in V for every law of a class", "6.9821247", "6.9821246", "V"),
    of_class(MATRICES_TEXT, "the gradient in U for every law of a class", "179.26424", "179.26422", "U"),
]
