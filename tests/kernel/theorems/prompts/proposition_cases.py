"""Accept and reject cases of the repaired forms of `proposition-3-1` and `proposition-3-4`."""

from __future__ import annotations

from corpus import MALFORMED, REJECTED, Change, Family

FIRST, SECOND = "proposition-3-1", "proposition-3-4"

STEPS = "  steps:\n  - {from: 2, theta: 0.2}\n  - {from: 20, theta: 0.7}\n"


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
        MALFORMED, "a number >= 1"),
    "tokens beyond sigma": ("1/8, 1/2]]", "1/8, 2]]", REJECTED, "sigma-sub-Gaussian"),
    "slightly larger queries": ("[[1, 0], [0, 1/2]]", "[[1.0001, 0], [0, 1/2]]", REJECTED, "<= c1"),
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
    "a number of a class in a step": ("theta: 0.2", "theta: 0.2, eta: 1/2", MALFORMED, "no 'eta' beside stated laws"),
    "a norm": ("  steps:", "  norm: 2\n  steps:", MALFORMED, "no 'norm' beside stated laws"),
    "both witnesses": ("  steps:", "  t: 1/2\n  steps:", MALFORMED, "steps alone"),
    "steps that begin at 3": ("from: 2,", "from: 3,", MALFORMED, "steps from 2 on"),
    "steps that begin at 1": ("from: 2,", "from: 1,", MALFORMED, "an integer >= 2"),
    "steps in the wrong order": ("from: 20,", "from: 2,", MALFORMED, "steps from 2 on"),
    "too large a length": ("from: 20,", "from: 1000000000000000000,", MALFORMED, "at most 18 digits"),
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
witness: {t: 0.3, from: 250}
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
        "c1: C_ABOVE, c2: 0.9}}\nwitness: {t: 0.3", "c1: 1e9, c2: 0.9}}\nwitness: {t: 1/20", REJECTED,
        "L t^2/(2 R_2) >="),
    "monotone from too short a length": ("{t: 0.3, from: 250}", "{t: 0.3, from: 2}", REJECTED, "for every L >= 2"),
    "a larger scale": ("sigma: 1", "sigma: 1\n  scale: 3", REJECTED, "<= c1 for 2 <= L < 250"),
    "larger tokens": ("sizes: [1, 1/2]}", "sizes: [3/2, 1/2]}", REJECTED, "<= c1 for 2 <= L < 250"),
    "larger values": ("V: [[1, -1]]", "V: [[2, -1]]", REJECTED, "<= c1 for 2 <= L < 250"),
    "tokens beyond sigma": ("sizes: [1, 1/2]}", "sizes: [1.74, 1/2]}", REJECTED, "sigma-sub-Gaussian"),
    "slightly larger queries": ("sizes: [1, 3/2]}", "sizes: [1.0001, 3/2]}", REJECTED, "<= c1"),
    "t of 1": ("t: 0.3", "t: 1", REJECTED, "proved for t below 1"),
    "t of 0": ("t: 0.3", "t: 0", MALFORMED, "a number > 0"),
    "no t": ("t: 0.3, ", "", MALFORMED, "or t and from alone, for box laws"),
    "no length": (", from: 250", "", MALFORMED, "or t and from alone, for box laws"),
    "a length of 1": ("from: 250", "from: 1", MALFORMED, "an integer >= 2"),
    "a length beyond all": ("from: 250", "from: 100001", MALFORMED, "at most 100000"),
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


# Of short prompts the largest error that there is bounds more than the weights do, which count where it is not used.
FROM_TWO = Family(
    SECOND, "the gradient in U repaired for boxes, from two tokens on",
    """
given:
  law: {kind: box, sizes: [1, 1/2]}
  queries: {kind: box, sizes: [1/4, 1/4]}
  V: [[1, -1]]
  sigma: 1
asserts: {gradient: U, repaired: {c1: 1.2983591, c2: 0.2}}
witness: {t: 1/2, from: 2}
""",
    {
        "a smaller c2": ("c2: 0.2", "c2: 0.1"),
        "a smaller scale": ("sigma: 1", "sigma: 1\n  scale: -2/3"),
    },
    {
        "c1 below what the bound gives": ("c1: 1.2983591", "c1: 1.2983590", REJECTED, "<= c1 for"),
        "a c2 for which it is not monotone": ("c2: 0.2", "c2: 0.25", REJECTED, "L t^2/(2 R_2) >="),
        "a larger scale": ("sigma: 1", "sigma: 1\n  scale: 9/8", REJECTED, "<= c1 for"),
    },
)  # fmt: skip

# The mean of the logistic bound at the first length, against the display at both ends.
MEANS = Family(
    FIRST, "repaired for Gaussian laws by the mean of the logistic bound",
    """
given:
  law: {kind: gaussian, mean: [0, 0], covariance: [[1/4, 1/8], [1/8, 1/2]]}
  queries: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}
  V: [[1, 1]]
  sigma: 1
asserts: {repaired: {c1: C_ABOVE, c2: 0.6}}
witness:
  steps:
  - {from: 2}
  - {from: 20, theta: 0.7}
""".replace("C_ABOVE", "1.8787"),
    {
        "a larger c1": ("c1: 1.8787", "c1: 1e6"),
        "a smaller c2": ("c2: 0.6", "c2: 0.5"),
        "a smaller scale": ("sigma: 1", "sigma: 1\n  scale: 1/sqrt(2)"),
        "no scores": ("sigma: 1", "sigma: 1\n  U: [[0, 0], [0, 0]]"),
        "one step more": ("  - {from: 20", "  - {from: 5}\n  - {from: 20"),
        "a last step far off": ("- {from: 20, theta", "- {from: 20, theta: 0.5}\n  - {from: 999999999999999999, theta"),
        "tokens of lower rank": ("[[1/4, 1/8], [1/8, 1/2]]", "[[1/4, 1/8], [1/8, 1/16]]"),
    },
    {
        "c1 below what the bound gives": ("c1: 1.8787", "c1: 1.8786", REJECTED, "<= c1 for 2 <= L < 20"),
        "a last step without theta": ("from: 20, theta: 0.7", "from: 20", REJECTED, "the last step has no theta"),
        "a first step that goes too far": ("from: 20,", "from: 200,", REJECTED, "<= c1 for 2 <= L < 200"),
        "larger queries": ("[0, 1/2]]}", "[0, 1]]}", REJECTED, "<= c1 for 2 <= L < 20"),
        "larger values": ("V: [[1, 1]]", "V: [[1, 1], [0, 1]]", REJECTED, "<= c1 for 2 <= L < 20"),
        "a larger scale": ("sigma: 1", "sigma: 1\n  scale: 1.1", REJECTED, "<= c1 for 2 <= L < 20"),
        "the gradient in U": (
            "proposition-3-1", "proposition-3-4", MALFORMED, "no 'gradient'"),
        "too large a length": ("from: 20,", "from: 1000000000000000000,", MALFORMED, "at most 18 digits"),
        "a class's numbers without theta": (
            "{from: 2}", "{from: 2, t: 1/2, eta: 1/2, gap: 1/2}", MALFORMED, "it is for a class"),
    },
)  # fmt: skip

IN_U = Family(
    SECOND,
    "the gradient in U repaired for Gaussian laws, where no mean is known",
    """
given:
  law: {kind: gaussian, mean: [0], covariance: [[1/4]]}
  queries: {kind: gaussian, mean: [0], covariance: [[1]]}
  sigma: 1
asserts: {gradient: U, repaired: {c1: 1e3, c2: 0.6}}
witness:
  steps:
  - {from: 2, theta: 0.2}
  - {from: 20, theta: 0.7}
""",
    {"a smaller c2": ("c2: 0.6", "c2: 0.5"), "a smaller scale": ("sigma: 1", "sigma: 1\n  scale: 1/2")},
    {"a step without theta": ("from: 2, theta: 0.2", "from: 2", REJECTED, "not known for the gradient in U")},
)

FAMILIES = [
    FROM_TWO,
    MEANS,
    IN_U,
    repaired(FIRST, "repaired for Gaussian laws", "2.0467101", "2.04671"),
    repaired(SECOND, "the gradient in V repaired for Gaussian laws", "1.4602676", "1.4602675", "V"),
    repaired(SECOND, "the gradient in U repaired for Gaussian laws", "45.832055", "45.832054", "U"),
    boxes(FIRST, "repaired for boxes", "0.777247", "0.777246", ""),
    boxes(SECOND, "the gradient in V repaired for boxes", "0.736740", "0.736739", "V"),
    boxes(SECOND, "the gradient in U repaired for boxes", "24.661424", "24.661423", "U"),
]
