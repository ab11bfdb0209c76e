"""Accept and reject cases of `output-tail`, in titled families.

The bounds are those of `tools/truth/output_tail.py`, which shares no code with the kernel.
"""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, REJECTED, Case, Change, Family

NAME = "output-tail"


def one_direction(
    title: str,
    given: str,
    stated: tuple[str, str, str],
    rule: str,
    below: str,
    rejects: dict[str, Change],
    verdict: tuple[str, str] = ("rejected", "bound of the probability in direction 0"),
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
        "a direction with no probability": (", probability: 0.146538", "", MALFORMED, "no 'probability'"),
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

_ATOM_AND_BOX = (
    "kind: mixture, components: [{{weight: 1/2, law: {{kind: atoms, points: [[1, {}]]}}}}, "
    "{{weight: 1/2, law: {{kind: box, sizes: [1, 0]}}}}]"
)
CONSTANT = Family(
    NAME,
    "constant outputs",
    """
given: {law: {kind: box, sizes: [1, 0]}, tilt: [3, 0], length: 1}
asserts:
  directions:
  - {direction: [0, 1], exceeds: 1e-9, probability: 1e-9}
witness: {directions: [{rule: exact}]}
""",
    {
        "signs": ("kind: box", "kind: rademacher"),
        "a Gaussian": ("kind: box, sizes: [1, 0]", "kind: gaussian, mean: [1, 7], covariance: [[1, 0], [0, 0]]"),
        "atoms": ("kind: box, sizes: [1, 0]", "kind: atoms, points: [[1, 7], [2, 7]]"),
        "a mixture of them": ("kind: box, sizes: [1, 0]", _ATOM_AND_BOX.format(0)),
        "nothing in the direction of 0": ("direction: [0, 1]", "direction: [0, 0]"),
        "an irrational scale": ("tilt: [3, 0]", "query: [3, 0], scale: sqrt(2)"),
    },
    {
        "a size": ("sizes: [1, 0]", "sizes: [1, 1e-30]", REJECTED, "weights and outputs that vary"),
        "a direction that varies": (
            "direction: [0, 1]", "direction: [1e-30, 1]", REJECTED, "weights and outputs that vary"),
        "atoms of two values": ("kind: box, sizes: [1, 0]", "kind: atoms, points: [[1, 7], [2, 8]]", REJECTED, "vary"),
        "a mixture of two values": ("kind: box, sizes: [1, 0]", _ATOM_AND_BOX.format(1), REJECTED, "vary"),
        "Cantelli, which knows of no constants": ("rule: exact", "rule: cantelli", REJECTED, "not proved"),
        "a lambda for it": ("rule: exact", "rule: exact, lambda: 1", MALFORMED, "'lambda'"),
    },
)  # fmt: skip

L2 = Family(
    NAME,
    "the l2 norm in a rounded frame",
    """
given: {law: {kind: gaussian, mean: [1, 2], covariance: [[1, 0], [0, 1/4]]}, tilt: [1/2, 0], length: 100}
asserts:
  norm: {norm: l2, exceeds: 0.5, probability: 0.277835}
witness:
  norm:
    frame: [[0.6001, 0.8], [-0.8, 0.6001]]
    levels: [0.4, 0.3]
    bounds: [{rule: cantelli}, {rule: moment, order: 2}, {rule: moment, order: 4}, {rule: cantelli}]
""",
    {
        "a larger probability": ("0.277835", "0.4"),
        "a third vector in which nothing is": (
            """[[0.6001, 0.8], [-0.8, 0.6001]]
    levels: [0.4, 0.3]
    bounds: [""",
            """[[0, 0], [0.6001, 0.8], [-0.8, 0.6001]]
    levels: [0, 0.4, 0.3]
    bounds: [{rule: exact}, {rule: exact}, """,
        ),
    },
    {
        "probability just below": ("0.277835", "0.277834", REJECTED, "the sum of 4 one-sided bounds"),
        "a token fewer": ("length: 100", "length: 99", REJECTED, "the sum of 4 one-sided bounds"),
        "a frame that is too small": ("[[0.6001", "[[0.5999", REJECTED, "too small in some direction"),
        "one vector only": ("[[0.6001, 0.8], [-0.8, 0.6001]]", "[[9, 9]]", MALFORMED, "the rows of the frame"),
        "a frame of another width": ("[[0.6001, 0.8], [-0.8, 0.6001]]", "[[1], [1]]", MALFORMED, "for outputs"),
        "levels too large": ("[0.4, 0.3]", "[0.4, 0.3000001]", REJECTED, "sum to at most exceeds^2"),
        "a negative level": ("[0.4, 0.3]", "[0.4, -0.3]", REJECTED, "levels >= 0"),
        "a level of 0 by another rule than exact": ("[0.4, 0.3]", "[0.5, 0]", REJECTED, "the rule exact"),
        "a level too few": ("[0.4, 0.3]", "[0.4]", MALFORMED, "the rows of the frame"),
        "a smaller excess": ("exceeds: 0.5", "exceeds: 0.4999999", REJECTED, "sum to at most exceeds^2"),
        "a rule too few": (", {rule: cantelli}]", "]", MALFORMED, "two per direction"),
        "a rule too many": ("bounds: [", "bounds: [{rule: cantelli}, ", MALFORMED, "two per direction"),
        "no frame": ("    frame: [[0.6001, 0.8], [-0.8, 0.6001]]\n", "", MALFORMED, "the unknown key 'levels'"),
        "no levels": ("    levels: [0.4, 0.3]\n", "", MALFORMED, "no 'levels'"),
        "linf with a frame": ("norm: l2", "norm: linf", MALFORMED, "no frame for the norm linf"),
        "an unknown norm": ("norm: l2", "norm: l1", MALFORMED, "'l2' or 'linf'"),
        "no norm": ("norm: l2, ", "", MALFORMED, "no 'norm'"),
        "a direction beside it, without a rule": (
            "asserts:", "asserts:\n  directions: [{direction: [1, 0], exceeds: 1, probability: 1/2}]", MALFORMED,
            "exactly where asserts has"),
        "nothing asserted": (
            "  norm: {norm: l2, exceeds: 0.5, probability: 0.277835}", "  {}", MALFORMED, "nothing that is asserted"),
    },
)  # fmt: skip
LINF = Family(
    NAME,
    "the linf norm, and a direction beside it",
    """
given: {law: {kind: rademacher, sizes: [1, 1]}, K: [[1, 0], [0, 1]], Q: [[1], [0]], query: [1/2], scale: 2, length: 50}
asserts:
  directions:
  - {direction: [1, -1], exceeds: 0.8, probability: 0.048069}
  norm: {norm: linf, exceeds: 0.6, probability: 0.099966}
witness:
  directions: [{rule: cantelli}]
  norm:
    bounds: [{rule: cantelli}, {rule: cantelli}, {rule: moment, order: 4}, {rule: moment, order: 4}]
""",
    {"a larger excess": ("exceeds: 0.6", "exceeds: 0.65")},
    {
        "probability just below": ("0.099966", "0.099965", REJECTED, "the sum of 4 one-sided bounds"),
        "that of the direction just below": ("0.048069", "0.048068", REJECTED, "in direction 0"),
        "a rule too few": (", {rule: moment, order: 4}]", "]", MALFORMED, "two per direction"),
        "levels": ("    bounds:", "    levels: [1, 1]\n    bounds:", MALFORMED, "the unknown key"),
        "l2 without a frame": ("norm: linf", "norm: l2", MALFORMED, "a frame and levels"),
        "a steeper scale": ("scale: 2", "scale: 2.01", REJECTED, "not proved"),
        "Q too tall": ("Q: [[1], [0]]", "Q: [[1], [0], [0]]", MALFORMED, "so that K'Q is defined"),
    },
)

NULL_SPACE = Family(
    NAME,
    "a frame with a direction in which nothing varies",
    """
given: {law: {kind: gaussian, mean: [1, 2], covariance: [[1, 0], [0, 0]]}, tilt: [1/2, 5], length: 100}
asserts: {norm: {norm: l2, exceeds: 0.5, probability: 0.124573}}
witness:
  norm:
    frame: [[1, 0], [0, 1]]
    levels: [0.5, 0]
    bounds: [{rule: cantelli}, {rule: cantelli}, {rule: exact}, {rule: exact}]
""",
    {"a level for nothing": ("levels: [0.5, 0]", "levels: [0.5, 0.0]")},
    {
        "probability just below": ("0.124573", "0.124572", REJECTED, "the sum of 4 one-sided bounds"),
        "noise there": ("[0, 0]]}", "[0, 1e-30]]}", REJECTED, "weights and outputs that vary"),
    },
)

# v = 1/4, S = 8 and B = 1/8: the bound is 8.125 / (1 + 199 e^(-1/4)) = 0.05208956...
MEAN_SQUARE = Family(
    NAME,
    "a norm by its mean square",
    """
given: {law: {kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}, tilt: [1/2, -1/2],
  V: [[1, 0], [1, 2]], length: 200}
asserts:
  norm: {norm: l2, exceeds: 1, probability: 0.05209}
witness:
  norm: {method: mean-square}
""",
    {
        "the norm that is smaller": ("norm: l2", "norm: linf"),
        "twice the height": ("exceeds: 1, probability: 0.05209", "exceeds: 2, probability: 0.013023"),
        "another mean": ("mean: [1, 0]", "mean: [-7, 1/3]"),
        "a longer prompt": ("length: 200", "length: 1000000"),
        "the tilt of the other sign": ("tilt: [1/2, -1/2]", "tilt: [-1/2, 1/2]"),
    },
    {
        "probability just below": ("probability: 0.05209", "probability: 0.052089", REJECTED, "over exceeds^2"),
        "a token fewer": ("length: 200", "length: 199", REJECTED, "over exceeds^2"),
        "a lower height": ("exceeds: 1,", "exceeds: 0.999,", REJECTED, "over exceeds^2"),
        "half the height": ("exceeds: 1,", "exceeds: 1/2,", REJECTED, "over exceeds^2"),
        "a larger tilt": ("tilt: [1/2, -1/2]", "tilt: [0.51, -1/2]", REJECTED, "over exceeds^2"),
        "a larger value": ("V: [[1, 0], [1, 2]]", "V: [[1, 0], [1, 2.01]]", REJECTED, "over exceeds^2"),
        "a larger variance": ("covariance: [[1, 1/2]", "covariance: [[1.01, 1/2]", REJECTED, "over exceeds^2"),
        "another method": ("method: mean-square", "method: markov", MALFORMED, "mean-square"),
        "neither method nor rules": ("norm: {method: mean-square}", "norm: {}", MALFORMED, "the keys bounds"),
        "rules beside the method": (
            "{method: mean-square}", "{method: mean-square, bounds: [{rule: cantelli}]}", MALFORMED, "the unknown key"),
        "levels beside the method": (
            "{method: mean-square}", "{method: mean-square, levels: [1]}", MALFORMED, "the unknown key"),
        "a frame beside the method": (
            "{method: mean-square}", "{method: mean-square, frame: [[1, 0], [0, 1]]}", MALFORMED, "the unknown key"),
        "tokens that are not Gaussian": (
            "law: {kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}", "law: {kind: box, sizes: [1, 1]}",
            REJECTED, "is for Gaussian tokens"),
    },
)  # fmt: skip


FAMILIES = [
    MEAN_SQUARE,
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
    CONSTANT,
    L2,
    LINF,
    NULL_SPACE,
]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
