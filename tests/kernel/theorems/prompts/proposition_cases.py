"""Accept and reject cases of `proposition-3-1` and `proposition-3-4`, in titled families."""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, REJECTED, Change, Family

FIRST, SECOND = "proposition-3-1", "proposition-3-4"

# What stands in the families, and is changed in them.
TOKENS = "law: {kind: gaussian, mean: [0], covariance: [[1]]}"
QUERIES = "queries: {kind: gaussian, mean: [0], covariance: [[1]]}"
NARROW = "law: {kind: gaussian, mean: [0], covariance: [[0.0001]]}"
WITHOUT_SCORES = f"{QUERIES}\n  K: [[0]]\n  Q: [[1]]\n  V: [[1]]"
SIGNS = "law: {kind: rademacher, sizes: [1]}"
STEPS = "  steps:\n  - {from: 2, theta: 0.2}\n  - {from: 20, theta: 0.7}\n"

# E x^2 = 1 on the left; ln 1 = 0 on the right.
ONE_TOKEN = Family(
    FIRST,
    "the published display at one token",
    """
given:
  law: {kind: gaussian, mean: [0], covariance: [[1]]}
  queries: {kind: gaussian, mean: [0], covariance: [[1]]}
  K: [[0]]
  Q: [[1]]
  V: [[1]]
  length: 1
asserts: {published: fails}
""",
    {
        "scores that are not constant": ("K: [[0]]", "K: [[1/3]]"),
        "a scale": ("length: 1", "scale: 1/sqrt(3)\n  length: 1"),
        "a sigma, which does not matter": ("length: 1", "sigma: 1\n  length: 1"),
        "constants, which do not matter": ("length: 1", "sigma: 1\n  constants: {c1: 1e9, c2: 1e-9}\n  length: 1"),
        "tokens that hardly vary": (TOKENS, TOKENS.replace("[[1]]", "[[1e-40]]")),
        "signs for tokens": (TOKENS, SIGNS),
        "atoms for tokens": (TOKENS, "law: {kind: atoms, points: [[2], [-1]], weights: [1/3, 2/3]}"),
        "a box for queries": (QUERIES, "queries: {kind: box, sizes: [1]}"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
        "outputs that do not see the tokens, where it holds": ("V: [[1]]\n  length: 1\nasserts: {published: fails}",
                                                             "V: [[0]]\n  length: 1\nasserts: {published: holds}"),
        "tokens that do not vary, where it holds": (
            f"{TOKENS}\n  {WITHOUT_SCORES}\n  length: 1\nasserts: {{published: fails}}",
            f"law: {{kind: atoms, points: [[0]]}}\n  {WITHOUT_SCORES}\n  length: 1\nasserts: {{published: holds}}"),
    },
    {
        "said to hold": ("fails", "holds", REFUTED, "0 >= 1 is false"),
        "outputs that do not see the tokens": ("V: [[1]]", "V: [[0]]", REFUTED, "0 < 0 is false"),
        "tokens that do not vary": (TOKENS, TOKENS.replace("[[1]]", "[[0]]"), REFUTED, "0 < 0"),
        "two tokens and no constants": ("length: 1", "length: 2", MALFORMED, "constants at a length above 1"),
        "no tokens": ("length: 1", "length: 0", MALFORMED, "an integer >= 1"),
        "half a token": ("length: 1", "length: 1/2", MALFORMED, "an integer >= 1"),
        "no length": ("  length: 1\n", "", MALFORMED, "no 'length'"),
        "constants without sigma": ("length: 1", "constants: {c1: 1, c2: 1}\n  length: 1", MALFORMED, "sigma beside"),
        "a constant of 0": (
            "length: 1", "sigma: 1\n  constants: {c1: 0, c2: 1}\n  length: 1", MALFORMED, "a number > 0"),
        "a sigma of 0": ("length: 1", "sigma: 0\n  length: 1", MALFORMED, "a number > 0"),
        "a sigma too small": ("length: 1", "sigma: 0.99\n  length: 1", REJECTED, "sigma-sub-Gaussian"),
        "tokens that are not centred": (TOKENS, TOKENS.replace("[0]", "[1]"), MALFORMED, "a law of mean 0"),
        "queries that are not centred": (QUERIES, QUERIES.replace("[0]", "[1e-9]"), MALFORMED, "a law of mean 0"),
        "signs under scores that vary": (
            f"{TOKENS}\n  {QUERIES}\n  K: [[0]]", f"{SIGNS}\n  {QUERIES}\n  K: [[1]]", REJECTED,
            "where U = 0, or for one Gaussian token"),
        "another word": ("fails", "false", MALFORMED, "'fails' or 'holds'"),
        "nothing asserted": ("{published: fails}", "{}", MALFORMED, "published or repaired"),
        "both forms": ("{published: fails}", "{published: fails, repaired: {c1: 1, c2: 1}}", MALFORMED, "one of them"),
        "a witness": ("asserts:", "witness: {t: 1/2}\nasserts:", MALFORMED, "the published form needs none"),
        "a gradient": ("{published: fails}", "{published: fails, gradient: V}", MALFORMED, "unknown key"),
        "no queries": (f"  {QUERIES}\n", "", MALFORMED, "no 'queries'"),
        "queries of two dimensions": (
            QUERIES, "queries: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}", MALFORMED,
            "a law in dimension 1"),
        "a negative variance": (TOKENS, TOKENS.replace("[[1]]", "[[-1]]"), MALFORMED, "negative"),
        "V too wide": ("V: [[1]]", "V: [[1, 1]]", MALFORMED, "given.V"),
        "an unknown key": ("length: 1", "lengths: 1", MALFORMED, "the unknown key 'lengths'"),
    },
)  # fmt: skip

# sigma = 1/100, c1 = 1000: sigma^2 / 50 = 2e-6 against 1e-9 ln 50 / 50^5000.
SMALL_SIGMA = Family(
    FIRST,
    "the published display at fifty tokens with small sigma",
    """
given:
  law: {kind: gaussian, mean: [0], covariance: [[0.0001]]}
  queries: {kind: gaussian, mean: [0], covariance: [[0.0001]]}
  U: [[0]]
  length: 50
  sigma: 0.01
  constants: {c1: 1000, c2: 0.0001}
asserts: {published: fails}
""",
    {
        "a box of the same sigma": (NARROW, "law: {kind: box, sizes: [0.01]}"),
        "a larger length": ("length: 50", "length: 1000000"),
        "larger constants, with which it holds": (
            "constants: {c1: 1000, c2: 0.0001}\nasserts: {published: fails}",
            "constants: {c1: 1e12, c2: 0.0001}\nasserts: {published: holds}"),
    },
    {
        "said to hold": ("fails", "holds", REFUTED, "is false"),
        "larger constants": ("c1: 1000", "c1: 1e12", REFUTED, "is false"),
        "scores that vary": ("U: [[0]]", "U: [[1]]", REJECTED, "where U = 0, or for one Gaussian token"),
        "a sigma too small": ("sigma: 0.01", "sigma: 0.00999", REJECTED, "sigma-sub-Gaussian"),
        "no sigma": ("  sigma: 0.01\n", "", MALFORMED, "no 'sigma'"),
        "no constants": ("  constants: {c1: 1000, c2: 0.0001}\n", "", MALFORMED, "no 'constants'"),
        "signs with a sigma too small": (
            NARROW, "law: {kind: rademacher, sizes: [0.0101]}", REJECTED, "sigma-sub-Gaussian",
        ),
    },
)  # fmt: skip

V_GRADIENT = Family(
    SECOND,
    "the published gradient in V at one token",
    ONE_TOKEN.text.replace("V: [[1]]", "V: [[0]]").replace("{published: fails}", "{gradient: V, published: fails}"),
    {"scores that are not constant": ("K: [[0]]", "K: [[1/3]]"), "other values": ("V: [[0]]", "V: [[5]]")},
    {
        "said to hold": ("fails", "holds", REFUTED, "0 >= 1 is false"),
        "the gradient in U, which is 0 without values": ("gradient: V", "gradient: U", REFUTED, "0 < 0 is false"),
        "no gradient": ("gradient: V, ", "", MALFORMED, "no 'gradient'"),
        "the gradient in K": ("gradient: V", "gradient: K", MALFORMED, "'V' or 'U'"),
    },
)

U_GRADIENT = Family(
    SECOND,
    "the published gradient in U at one token",
    ONE_TOKEN.text.replace("{published: fails}", "{gradient: U, published: fails}"),
    {
        "scores that are not constant": ("K: [[0]]", "K: [[1/3]]"),
        "several tokens with constants": ("length: 1", "sigma: 1\n  constants: {c1: 0.01, c2: 3}\n  length: 9"),
    },
    {
        "said to hold": ("fails", "holds", REFUTED, "0 >= 1 is false"),
        "queries that do not vary": (QUERIES, QUERIES.replace("[[1]]", "[[0]]"), REFUTED, "0 < 0"),
        "several signs": (
            f"{TOKENS}\n  {WITHOUT_SCORES}\n  length: 1",
            f"{SIGNS}\n  {WITHOUT_SCORES}\n  length: 2\n  sigma: 1\n  constants: {{c1: 1, c2: 1}}", REJECTED,
            "for Gaussian tokens alone"),
    },
)  # fmt: skip

REPAIRED_TEXT = """
given:
  law: {kind: gaussian, mean: [0, 0], covariance: [[1/4, 1/8], [1/8, 1/2]]}
  queries: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}
  V: [[1, 1]]
  sigma: 1
asserts: {repaired: {c1: C_ABOVE, c2: 0.6}}
witness:
  steps:
  - {from: 2, theta: 0.2}
  - {from: 20, theta: 0.7}
"""

REPAIRED_ACCEPTS = {
    "numbers written in other ways": ("1/8, 1/2]]", "0.125, 0x0.8p0]]"),
    "a larger c1": ("c1: C_ABOVE", "c1: 1e6"),
    "a smaller c2": ("c2: 0.6", "c2: 0.4"),
    "one step more": ("  - {from: 20", "  - {from: 5, theta: 0.3}\n  - {from: 20"),
    "a larger sigma": ("sigma: 1", "sigma: 7/2"),
    "a smaller c1 for a larger sigma": (
        "sigma: 1\nasserts: {repaired: {c1: C_ABOVE", "sigma: 2\nasserts: {repaired: {c1: 1"),
    "a smaller scale": ("sigma: 1", "sigma: 1\n  scale: 1/sqrt(2)"),
    "smaller queries": ("[0, 1/2]]}", "[0, 1/4]]}"),
    "tokens of lower rank": ("[[1/4, 1/8], [1/8, 1/2]]", "[[1/4, 1/8], [1/8, 1/16]]"),
}  # fmt: skip

REPAIRED_REJECTS: dict[str, Change] = {
    "c1 below what the bound gives": ("c1: C_ABOVE", "c1: C_BELOW", REJECTED, "<= c1 for"),
    "c2 above theta": ("{c1: C_ABOVE, c2: 0.6}", "{c1: 1e6, c2: 0.71}", REJECTED, "more than the last theta"),
    "theta too large for the queries": ("sigma: 1", "sigma: 1\n  scale: 3", REJECTED, "2 theta |M| >= 1"),
    "larger tokens": ("[1/8, 1/2]]}", "[1/8, 3/4]]}", REJECTED, "<= c1 for 2 <= L < 20"),
    "larger queries": ("[0, 1/2]]}", "[0, 1]]}", REJECTED, "<= c1 for 2 <= L < 20"),
    "a larger scale": ("sigma: 1", "sigma: 1\n  scale: 2", REJECTED, "<= c1 for 2 <= L < 20"),
    "larger values": ("V: [[1, 1]]", "V: [[1, 1], [0, 1]]", REJECTED, "<= c1"),
    "sigma below 1": (
        "[[1, 0], [0, 1/2]]}\n  V: [[1, 1]]\n  sigma: 1", "[[1/2, 0], [0, 1/2]]}\n  V: [[1, 1]]\n  sigma: 0.9",
        MALFORMED, "sigma >= 1"),
    "tokens beyond sigma": ("1/8, 1/2]]", "1/8, 2]]", REJECTED, "sigma-sub-Gaussian"),
    "queries beyond sigma": ("[[1, 0], [0, 1/2]]", "[[1.0001, 0], [0, 1/2]]", REJECTED, "sigma-sub-Gaussian"),
    "no sigma": ("  sigma: 1\n", "", MALFORMED, "no 'sigma'"),
    "a length": ("sigma: 1", "sigma: 1\n  length: 5", MALFORMED, "no 'length' beside a repaired form"),
    "constants in what is given": ("sigma: 1", "sigma: 1\n  constants: {c1: 1, c2: 1}", MALFORMED, "no 'constants'"),
    "c1 of 0": ("c1: C_ABOVE", "c1: 0", MALFORMED, "a number > 0"),
    "c2 of 0": ("c2: 0.6", "c2: 0", MALFORMED, "a number > 0"),
    "c2 left out": (", c2: 0.6", "", MALFORMED, "no 'c2'"),
    "a box for queries": (
        "queries: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}",
        "queries: {kind: box, sizes: [1, 1]}", REJECTED, "the witness is for Gaussian laws"),
    "signs for tokens": (
        "law: {kind: gaussian, mean: [0, 0], covariance: [[1/4, 1/8], [1/8, 1/2]]}",
        "law: {kind: rademacher, sizes: [1, 1]}", REJECTED, "the witness is for Gaussian laws"),
    "no witness": (REPAIRED_TEXT[REPAIRED_TEXT.index("witness"):], "", MALFORMED, "a witness beside it"),
    "a witness for boxes": (STEPS, "  {t: 1/2, from: 20}\n", REJECTED, "the witness is for Gaussian laws"),
    "both witnesses": ("  steps:", "  t: 1/2\n  steps:", MALFORMED, "steps alone"),
    "steps that begin at 3": ("from: 2,", "from: 3,", MALFORMED, "steps from 2 on"),
    "steps that begin at 1": ("from: 2,", "from: 1,", MALFORMED, "an integer >= 2"),
    "steps in the wrong order": ("from: 20,", "from: 2,", MALFORMED, "steps from 2 on"),
    "too many lengths": ("from: 20,", "from: 100001,", MALFORMED, "up to 100000"),
    "no steps": (STEPS, "  steps: []\n", MALFORMED, "at least one"),
    "a negative theta": ("theta: 0.2", "theta: -0.2", MALFORMED, "a number >= 0"),
    "theta above 1": ("theta: 0.2", "theta: 1.01", REJECTED, "for exponents up to 1"),
    "theta that is no number": ("theta: 0.2", "theta: nan", MALFORMED, "an exact number: integer, p/q"),
    "sigma that is infinite": ("sigma: 1", "sigma: .inf", MALFORMED, "an exact number: integer, p/q"),
}  # fmt: skip


BOX_TEXT = """
given:
  law: {kind: box, sizes: [1, 1/2]}
  queries: {kind: box, sizes: [1, 3/2]}
  V: [[1, -1]]
  sigma: 1
asserts: {repaired: {c1: C_ABOVE, c2: 0.9}}
witness: {t: 1/2, from: 20}
"""

BOX_ACCEPTS = {
    "a larger c1": ("c1: C_ABOVE", "c1: 1e9"),
    "a smaller c2": ("c2: 0.9", "c2: 0.1"),
    "a smaller scale": ("sigma: 1", "sigma: 1\n  scale: -2/3"),
    "smaller tokens": ("law: {kind: box, sizes: [1, 1/2]}", "law: {kind: box, sizes: [1/2, 0]}"),
    "smaller queries": ("queries: {kind: box, sizes: [1, 3/2]}", "queries: {kind: box, sizes: [1, 0]}"),
    "signs of V turned round": ("V: [[1, -1]]", "V: [[-1, 1]]"),
}

BOX_REJECTS: dict[str, Change] = {
    "c1 below what the bound gives": ("c1: C_ABOVE", "c1: C_BELOW", REJECTED, "<= c1 for"),
    "c2 beyond sigma^2": ("{c1: C_ABOVE, c2: 0.9}", "{c1: 1e9, c2: 1.001}", REJECTED, "more than 1"),
    "a bound that is not monotone yet": (
        "c1: C_ABOVE, c2: 0.9}}\nwitness: {t: 1/2", "c1: 1e9, c2: 0.9}}\nwitness: {t: 1/9", REJECTED,
        "L t^2/(2 R_2) >="),
    "monotone from too short a length": ("{t: 1/2, from: 20}", "{t: 1/2, from: 2}", REJECTED, "for every L >= 2"),
    "a larger scale": ("sigma: 1", "sigma: 1\n  scale: 3", REJECTED, "<= c1 for 2 <= L < 20"),
    "larger tokens": ("sizes: [1, 1/2]}", "sizes: [3/2, 1/2]}", REJECTED, "<= c1 for 2 <= L < 20"),
    "larger values": ("V: [[1, -1]]", "V: [[2, -1]]", REJECTED, "<= c1 for 2 <= L < 20"),
    "tokens beyond sigma": ("sizes: [1, 1/2]}", "sizes: [1.74, 1/2]}", REJECTED, "sigma-sub-Gaussian"),
    "queries beyond sigma": ("sizes: [1, 3/2]}", "sizes: [1.74, 3/2]}", REJECTED, "sigma-sub-Gaussian"),
    "t of 1": ("t: 1/2", "t: 1", REJECTED, "proved for t below 1"),
    "t of 0": ("t: 1/2", "t: 0", MALFORMED, "a number > 0"),
    "no t": ("t: 1/2, ", "", MALFORMED, "or t and from alone, for box laws"),
    "no length": (", from: 20", "", MALFORMED, "or t and from alone, for box laws"),
    "a length of 1": ("from: 20", "from: 1", MALFORMED, "an integer >= 2"),
    "a length beyond all": ("from: 20", "from: 100001", MALFORMED, "at most 100000"),
    "a Gaussian for tokens": (
        "law: {kind: box, sizes: [1, 1/2]}", "law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}",
        REJECTED, "and else for laws on boxes"),
    "negative sizes": ("sizes: [1, 1/2]}", "sizes: [-1, 1/2]}", MALFORMED, "sizes >= 0"),
}  # fmt: skip


def _with_constants(
    claim: str,
    title: str,
    text: str,
    cases: tuple[dict[str, tuple[str, str]], dict[str, Change]],
    above: str,
    below: str,
    gradient: str,
) -> Family:
    """A family with a c1 just above what its witness gives, and just below; the gradient in V does not see V."""

    def put(text: str) -> str:
        found = text.replace("C_ABOVE", above).replace("C_BELOW", below)
        return found.replace("{repaired:", f"{{gradient: {gradient}, repaired:") if gradient else found

    accepts = {name: (put(old), put(new)) for name, (old, new) in cases[0].items()}
    rejects = {name: (put(old), put(new), verdict, words) for name, (old, new, verdict, words) in cases[1].items()}
    if gradient == "V":
        old, new, *_ = rejects.pop("larger values")
        accepts["larger values"] = (old, new)
    return Family(claim, title, put(text), accepts, rejects)


def repaired(claim: str, title: str, above: str, below: str, gradient: str = "") -> Family:
    """A repaired form for Gaussian laws."""
    return _with_constants(claim, title, REPAIRED_TEXT, (REPAIRED_ACCEPTS, REPAIRED_REJECTS), above, below, gradient)


def boxes(claim: str, title: str, above: str, below: str, gradient: str = "") -> Family:
    """A repaired form for boxes."""
    return _with_constants(claim, title, BOX_TEXT, (BOX_ACCEPTS, BOX_REJECTS), above, below, gradient)


FAMILIES = [
    ONE_TOKEN,
    SMALL_SIGMA,
    V_GRADIENT,
    U_GRADIENT,
    repaired(FIRST, "repaired for Gaussian laws", "2.0467101", "2.04671"),
    repaired(SECOND, "the gradient in V repaired for Gaussian laws", "1.4602676", "1.4602675", "V"),
    repaired(SECOND, "the gradient in U repaired for Gaussian laws", "31.768360", "31.768359", "U"),
    boxes(FIRST, "repaired for boxes", "10.065337", "10.065336", ""),
    boxes(SECOND, "the gradient in V repaired for boxes", "5.6781626", "5.6781625", "V"),
    boxes(SECOND, "the gradient in U repaired for boxes", "68.752188", "68.752187", "U"),
]

CASES = [case for family in FAMILIES for case in family.cases()]
