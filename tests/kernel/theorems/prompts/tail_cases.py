"""Accept and reject cases of `output-tail` in one direction, a family for each way to bound a probability.

The bounds are those of `tools/truth/output_tail.py`, which shares no code with the kernel.
"""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, REJECTED, Change, Family

NAME = "output-tail"


def one_direction(
    title: str,
    given: str,
    stated: tuple[str, str, str],
    rule: str,
    below: str,
    rejects: dict[str, Change],
    verdict: tuple[str, str] = ("rejected", "bound on the probability in direction 0"),
    longer: bool = True,
) -> Family:
    """A tail in one direction at a probability just above what the rule gives; `below` is just below it.

    `given` without the length, which is 40; `stated` are direction, exceeds and probability.
    """
    direction, exceeds, above = stated
    text = f"""
given: {{{given}, length: 40}}
asserts:
  directions:
  - {{direction: {direction}, exceeds: {exceeds}, probability: {above}}}
witness:
  directions:
  - {rule}
"""
    refused = REFUTED if verdict[0] == "refuted" else REJECTED
    count = direction.count(",") + 1
    accepts = {
        "a probability with room": (f"probability: {above}", "probability: 0.999"),
        "a little more exceeded": (f"exceeds: {exceeds}", f"exceeds: {exceeds}01"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    }
    common: dict[str, Change] = {
        "probability just below": (f"probability: {above}", f"probability: {below}", refused, verdict[1]),
        "a tenth of the probability": (f"probability: {above}", f"probability: {above}e-1", refused, verdict[1]),
        "probability 1": (f"probability: {above}", "probability: 1", MALFORMED, "above 0 and below 1"),
        "probability above 1": (f"probability: {above}", "probability: 1.5", MALFORMED, "above 0 and below 1"),
        "probability 0": (f"probability: {above}", "probability: 0", MALFORMED, "a number > 0"),
        "a negative probability": (f"probability: {above}", f"probability: -{above}", MALFORMED, "a number > 0"),
        "nothing exceeded": (f"exceeds: {exceeds}", "exceeds: 0", MALFORMED, "a number > 0"),
        "a negative excess": (f"exceeds: {exceeds}", f"exceeds: -{exceeds}", MALFORMED, "a number > 0"),
        "no token": ("length: 40", "length: 0", MALFORMED, "an integer >= 1"),
        "a token fewer": ("length: 40", "length: 39", refused, verdict[1]),
        "a part of a token": ("length: 40", "length: 40.5", MALFORMED, "an integer >= 1"),
        "a direction too long": (
            f"direction: {direction}", f"direction: [{', '.join('1' * (count + 1))}]", MALFORMED, "an output"),
        "an unknown rule": (rule, "{rule: hoeffding}", MALFORMED, "'cantelli' or"),
        "two rules": (f"  - {rule}\n", f"  - {rule}\n  - {rule}\n", MALFORMED, "one per stated direction"),
        "no rule": (f"\n  - {rule}\n", " []\n", MALFORMED, "a list of at least one item"),
    }  # fmt: skip
    if not longer:
        del common["a token fewer"]
    return Family(NAME, title, text, accepts, {**common, **rejects})


_GAUSSIAN = (
    "law: {kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]}, tilt: [1/2, 0], V: [[1, 0], [1, 1]]"
)
_SWAPS: dict[str, Change] = {
    "a variance larger": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2], [1/2, 1.01]]", REJECTED, "not proved"),
    "a covariance with a negative eigenvalue": ("[[1, 1/2], [1/2, 1]]", "[[1, 2], [2, 1]]", MALFORMED, "negative"),
    "a steeper tilt": ("tilt: [1/2, 0]", "tilt: [0.51, 0]", REJECTED, "not proved"),
    "a tilt too short": ("tilt: [1/2, 0]", "tilt: [1/2]", MALFORMED, "the tokens"),
    "larger values": ("[1, 1]], length", "[1, 1.01]], length", REJECTED, "not proved"),
    "wider tokens": (
        "kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]", "kind: rademacher, sizes: [3, 3]", REJECTED,
        "not proved"),
}  # fmt: skip
CANTELLI = one_direction(
    "Cantelli",
    _GAUSSIAN,
    ("[0, 1]", "0.7", "0.146538"),
    "{rule: cantelli}",
    "0.146537",
    {
        **_SWAPS,
        "an order that Cantelli has not": ("{rule: cantelli}", "{rule: cantelli, order: 2}", MALFORMED, "'order'"),
        "the rule exact": ("{rule: cantelli}", "{rule: exact}", REJECTED, "weights and outputs that vary"),
        "Chernoff, which is infinite": (
            "{rule: cantelli}", "{rule: chernoff, lambda: 0.1}", REJECTED, "not known to be finite"),
        "no witness": (
            "witness:\n  directions:\n  - {rule: cantelli}\n", "", MALFORMED, "a witness that names the rules"),
        "a witness of a norm": (
            "witness:\n  directions:\n  - {rule: cantelli}", "witness:\n  norm: {bounds: [{rule: cantelli}]}",
            MALFORMED, "exactly where asserts has"),
        "a direction with no excess": (", exceeds: 0.7", "", MALFORMED, "no 'exceeds'"),
        "a direction with no probability": (", probability: 0.146538", "", MALFORMED, "probability or at_least"),
        "no direction": ("direction: [0, 1], ", "", MALFORMED, "no 'direction'"),
        "no law": (
            "law: {kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]}, ", "", MALFORMED, "no 'law'"),
        "no length": (", length: 40", "", MALFORMED, "no 'length'"),
        "a tilt and a query": ("tilt: [1/2, 0]", "tilt: [1/2, 0], query: [1, 0]", MALFORMED, "'query'"),
    },
)  # fmt: skip
MOMENT = one_direction(
    "an even moment",
    _GAUSSIAN,
    ("[0, 1]", "0.7", "0.11207"),
    "{rule: moment, order: 4}",
    "0.11206",
    {
        **_SWAPS,
        "an odd order": ("order: 4", "order: 3", MALFORMED, "an even order from 2 to 100"),
        "order 0": ("order: 4", "order: 0", MALFORMED, "an integer >= 2"),
        "order 102": ("order: 4", "order: 102", MALFORMED, "an even order from 2 to 100"),
        "a negative order": ("order: 4", "order: -4", MALFORMED, "an integer >= 2"),
        "no order": (", order: 4", "", MALFORMED, "no 'order'"),
        "a worse order": ("order: 4", "order: 8", REJECTED, "not proved"),
    },
)
TRUNCATED = one_direction(
    "a capped summand",
    _GAUSSIAN,
    ("[0, 1]", "0.9", "0.0709805"),
    "{rule: truncated, lambda: 0.2, cap: 12}",
    "0.0709804",
    {
        "a steeper tilt": ("tilt: [1/2, 0]", "tilt: [0.51, 0]", REJECTED, "not proved"),
        "signs, which are not capped": (
            "kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]", "kind: rademacher, sizes: [1, 1]",
            REJECTED, "a law of Gaussians and atoms"),
        "lambda 0": ("lambda: 0.2", "lambda: 0", MALFORMED, "a number > 0"),
        "a negative lambda": ("lambda: 0.2", "lambda: -0.2", MALFORMED, "a number > 0"),
        "no cap": (", cap: 12", "", MALFORMED, "no 'cap'"),
        "cap 0": ("cap: 12", "cap: 0", MALFORMED, "a number > 0"),
        "a negative cap": ("cap: 12", "cap: -12", MALFORMED, "a number > 0"),
        "a low cap": ("cap: 12", "cap: 5", REJECTED, "not proved"),
        "a high cap": ("cap: 12", "cap: 40", REJECTED, "not proved"),
        "a large lambda": ("lambda: 0.2", "lambda: 0.5", REJECTED, "not proved"),
        "an order": ("cap: 12", "cap: 12, order: 2", MALFORMED, "'order'"),
    },
    longer=False,
)  # fmt: skip
_SINGULAR = (
    "law: {kind: gaussian, mean: [3, 1], covariance: [[1, 1/2], [1/2, 1/4]]}, U: [[1], [1/2]], query: [1], "
    "scale: 1/sqrt(2)"
)
LOWER = one_direction(
    "the lower tail of Gaussian tokens",
    _SINGULAR,
    ("[-1, 0]", "0.5", "0.146209"),
    "{rule: chernoff, lambda: 0.3}",
    "0.146208",
    {
        "the upper tail": ("direction: [-1, 0]", "direction: [1, 0]", REJECTED, "bounded above"),
        "noise of its own": ("[1/2, 1/4]]}", "[1/2, 0.2501]]}", REJECTED, "bounded above"),
        "a scale of the other sign": ("scale: 1/sqrt(2)", "scale: -0.7071", REJECTED, "bounded above"),
        "a query of the other sign": ("query: [1]", "query: [-1]", REJECTED, "bounded above"),
        "an order, of which there is no need": (
            "lambda: 0.3", "lambda: 0.3, order: 2", REJECTED, "no order for this law"),
        "lambda 0": ("lambda: 0.3", "lambda: 0", MALFORMED, "a number > 0"),
        "a scale of 0": ("scale: 1/sqrt(2)", "scale: 0", MALFORMED, "a factor other than 0"),
        "a query too long": ("query: [1]", "query: [1, 1]", MALFORMED, "what U or Q acts on"),
        "no query": ("query: [1], ", "", MALFORMED, "no 'query'"),
        "a smaller variance, and c not tied to it": ("[[1, 1/2]", "[[1.1, 1/2]", REJECTED, "bounded above"),
    },
)  # fmt: skip
UPPER = one_direction(
    "the upper tail of tied Gaussian tokens",
    _SINGULAR,
    ("[1, 0]", "1", "0.0431651"),
    "{rule: truncated, lambda: 0.2, cap: 12}",
    "0.043165",
    {"without a cap": ("truncated, lambda: 0.2, cap: 12", "chernoff, lambda: 0.2", REJECTED, "bounded above")},
    longer=False,
)
ATOMS = one_direction(
    "atoms",
    "law: {kind: atoms, points: [[0, 1], [1, 0], [-1, 2]], weights: [1/2, 1/4, 1/4]}, tilt: [1/2, 1/4]",
    ("[1, -1]", "0.7", "0.00528569"),
    "{rule: chernoff, lambda: 0.3}",
    "0.00528568",
    {
        "another atom": ("[-1, 2]", "[-1.1, 2]", REJECTED, "not proved"),
        "weights exchanged": ("[1/2, 1/4, 1/4]", "[1/4, 1/4, 1/2]", REJECTED, "not proved"),
        "an order": ("lambda: 0.3", "lambda: 0.3, order: 4", REJECTED, "no order for this law"),
        "the direction turned round": ("direction: [1, -1]", "direction: [-1, 1]", REJECTED, "not proved"),
    },
)
BOX = one_direction(
    "a box",
    "law: {kind: box, sizes: [1, 2]}, tilt: [1/2, 1/4]",
    ("[1, -1]", "0.5", "0.0613"),
    "{rule: chernoff, lambda: 0.3, order: 4}",
    "0.0612",
    {
        "signs": ("kind: box", "kind: rademacher", REJECTED, "not proved"),
        "a larger size": ("sizes: [1, 2]", "sizes: [1, 2.01]", REJECTED, "not proved"),
        "no order": (", order: 4", "", REJECTED, "an order, for this law"),
        "an odd order": ("order: 4", "order: 5", MALFORMED, "an even order"),
        "a lower order": ("order: 4", "order: 2", REJECTED, "not proved"),
        "a cap": ("chernoff, lambda: 0.3, order: 4", "truncated, lambda: 0.3, cap: 9", REJECTED, "Gaussians and atoms"),
    },
)  # fmt: skip
SIGNS = one_direction(
    "signs",
    "law: {kind: rademacher, sizes: [1, 2]}, tilt: [1/2, 1/4]",
    ("[1, -1]", "0.8", "0.0859"),
    "{rule: chernoff, lambda: 0.2, order: 2}",
    "0.0858",
    {"a larger size": ("sizes: [1, 2]", "sizes: [1, 2.01]", REJECTED, "not proved")},
)
BOX_AND_ATOMS = one_direction(
    "a box mixed with atoms",
    "law: {kind: mixture, components: [{weight: 1/4, law: {kind: atoms, points: [[2], [0]]}}, "
    "{weight: 3/4, law: {kind: box, sizes: [1]}}]}, tilt: [1/2]",
    ("[1]", "0.4", "0.0623"),
    "{rule: chernoff, lambda: 0.3, order: 4}",
    "0.0622",
    {
        "a Gaussian among them": (
            "{kind: box, sizes: [1]}", "{kind: gaussian, mean: [0], covariance: [[1/3]]}", REJECTED,
            "no order for this law"),
        "a Gaussian for the atoms": (
            "{kind: atoms, points: [[2], [0]]}", "{kind: gaussian, mean: [0], covariance: [[1/3]]}", REJECTED,
            "bounded support"),
        "a farther atom": ("[[2], [0]]", "[[2.1], [0]]", REJECTED, "not proved"),
    },
)  # fmt: skip
_TIED_MIXTURE = (
    "law: {kind: mixture, components: [{weight: 3/4, law: {kind: gaussian, mean: [0], covariance: [[1]]}}, "
    "{weight: 1/4, law: {kind: atoms, points: [[1], [2]]}}]}, tilt: [1/2]"
)
MIXTURE = one_direction(
    "a Gaussian mixed with atoms",
    _TIED_MIXTURE,
    ("[1]", "0.5", "0.011716"),
    "{rule: truncated, lambda: 0.5, cap: 9}",
    "0.011715",
    {
        "weights exchanged": (
            "{weight: 3/4, law: {kind: gaussian", "{weight: 1/4, law: {kind: gaussian", MALFORMED, "exactly 1"),
        "Chernoff without a cap": (
            "truncated, lambda: 0.5, cap: 9", "chernoff, lambda: 0.5", REJECTED, "bounded above"),
        "a larger variance": ("[[1]]", "[[1.01]]", REJECTED, "not proved"),
    },
    longer=False,
)  # fmt: skip
LOWER_MIXTURE = one_direction(
    "the lower tail of a Gaussian mixed with atoms",
    _TIED_MIXTURE,
    ("[-1]", "0.5", "0.0339"),
    "{rule: chernoff, lambda: 0.3}",
    "0.0338",
    {"the upper tail": ("direction: [-1]", "direction: [1]", REJECTED, "bounded above")},
)
FLAT_PART = one_direction(
    "a mixture with a Gaussian that has one score",
    "law: {kind: mixture, components: [{weight: 3/4, law: {kind: gaussian, mean: [0, 0], "
    "covariance: [[1, 0], [0, 1]]}}, {weight: 1/4, law: {kind: gaussian, mean: [1, 0], covariance: [[0, 0], [0, 1]]}}]}"
    ", tilt: [1/2, 0]",
    ("[1/2, 1]", "0.7", "0.0074548"),
    "{rule: truncated, lambda: 0.5, cap: 8}",
    "0.0074547",
    {"a larger variance": ("[[0, 0], [0, 1]]", "[[0, 0], [0, 1.01]]", REJECTED, "not proved")},
    longer=False,
)
GAUSSIAN_AND_BOX = one_direction(
    "a Gaussian mixed with a box",
    "law: {kind: mixture, components: [{weight: 1/4, law: {kind: gaussian, mean: [0, 1], "
    "covariance: [[1, 0], [0, 0]]}}, {weight: 3/4, law: {kind: box, sizes: [1, 1]}}]}, tilt: [1/2, -1/2]",
    ("[1, 1/2]", "0.6", "0.00878"),
    "{rule: moment, order: 4}",
    "0.00877",
    {
        "Chernoff": ("moment, order: 4", "chernoff, lambda: 0.3, order: 4", REJECTED, "bounded support"),
        "a cap": ("moment, order: 4", "truncated, lambda: 0.3, cap: 9", REJECTED, "Gaussians and atoms"),
    },
)
_EXACT = ("refuted", "the probability in direction 0 <= probability")
EQUAL_WEIGHTS = one_direction(
    "equal weights",
    "law: {kind: gaussian, mean: [1, 0], covariance: [[0, 0], [0, 4]]}, tilt: [5, 0]",
    ("[1, 1]", "0.5", "0.0569232"),
    "{rule: exact}",
    "0.056923",
    {
        "a tilt that sees the noise": ("tilt: [5, 0]", "tilt: [5, 1/1000]", REJECTED, "weights and outputs that vary"),
        "a larger variance": ("[0, 4]]}", "[0, 4.01]]}", REFUTED, "is false"),
        "signs of one score": (
            "kind: gaussian, mean: [1, 0], covariance: [[0, 0], [0, 4]]", "kind: rademacher, sizes: [0, 2]", REJECTED,
            "vary"),
    },
    _EXACT,
)  # fmt: skip


FAMILIES = [
    CANTELLI,
    MOMENT,
    TRUNCATED,
    LOWER,
    UPPER,
    ATOMS,
    BOX,
    SIGNS,
    BOX_AND_ATOMS,
    MIXTURE,
    LOWER_MIXTURE,
    FLAT_PART,
    GAUSSIAN_AND_BOX,
    EQUAL_WEIGHTS,
]
