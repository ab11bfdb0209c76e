"""Accept and reject cases of `infinite-prompt-operator`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Case, Change, Family, array

NAME = "infinite-prompt-operator"
family = partial(Family, NAME)

# U = K'Q = (1, 1)', Gamma U = (3, 4)', V Gamma U = 7, V m = -1.
MATRICES = family(
    "Gaussian tokens with K, Q and V",
    """
given:
  law: {kind: gaussian, mean: [1, -2], covariance: [[2, 1], [1, 3]]}
  K: [[1, 0], [1, 1], [0, 2]]
  Q: [[1], [0], [1/2]]
  V: [[1, 1]]
asserts:
  operator: {matrix: [[7]], offset: [-1]}
""",
    {
        "numbers written in other ways": ("matrix: [[7]]", "matrix: [[0x3.8p1]]"),
        "a decimal": ("[1/2]]", "[0.5]]"),
        "a scale, which the statement puts before the matrix": ("asserts:", "  scale: 1/sqrt(2)\nasserts:"),
        "a negative scale": ("asserts:", "  scale: -3\nasserts:"),
        "a law of queries that is not used": ("asserts:", "  queries: {mean: [5], covariance: [[2]]}\nasserts:"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
        "suspects, of which an affine operator has no need": ("asserts:", "witness: {queries: [[1]]}\nasserts:"),
    },
    {
        "matrix too large by 10^-20": ("[[7]]", "[[7.00000000000000000001]]", REFUTED, "matrix = V Gamma U"),
        "matrix too small by 10^-20": ("[[7]]", "[[6.99999999999999999999]]", REFUTED, "matrix = V Gamma U"),
        "matrix of the other sign": ("[[7]]", "[[-7]]", REFUTED, "entry 0, 0"),
        "matrix of zeros": ("[[7]]", "[[0]]", REFUTED, "0 = 7 is false"),
        "offset of the other sign": ("offset: [-1]", "offset: [1]", REFUTED, "offset = T(0)"),
        "offset off by 10^-20": ("offset: [-1]", "offset: [-1.00000000000000000001]", REFUTED, "offset = T(0)"),
        "mean changed": ("mean: [1, -2]", "mean: [1, -2.0001]", REFUTED, "offset = T(0)"),
        "mean turned round": ("mean: [1, -2]", "mean: [-2, 1.5]", REFUTED, "offset = T(0)"),
        "variance changed": ("[1, 3]]}", "[1, 3.001]]}", REFUTED, "matrix = V Gamma U"),
        "covariance that is not symmetric": ("[1, 3]]}", "[1.001, 3]]}", MALFORMED, "not symmetric"),
        "covariance with a negative eigenvalue": ("[[2, 1]", "[[0, 1]", MALFORMED, "negative eigenvalue"),
        "entry of K changed": ("[0, 2]]", "[0, 2.5]]", REFUTED, "matrix = V Gamma U"),
        "rows of K exchanged": ("K: [[1, 0], [1, 1], [0, 2]]", "K: [[1, 1], [1, 0], [0, 2]]", REFUTED, "matrix"),
        "entry of Q changed": ("Q: [[1]", "Q: [[2]", REFUTED, "matrix = V Gamma U"),
        "entry of V changed": ("V: [[1, 1]]", "V: [[1, 1/2]]", REFUTED, "is false (and 1 more)"),
        "Q left out": ("  Q: [[1], [0], [1/2]]\n", "", MALFORMED, "1 x 3 (outputs x queries)"),
        "V left out": ("  V: [[1, 1]]\n", "", MALFORMED, "2 x 1 (outputs x queries)"),
        "K left out": ("  K: [[1, 0], [1, 1], [0, 2]]\n", "", MALFORMED, "so that K'Q is defined"),
        "K and Q exchanged": ("K: [[1, 0], [1, 1], [0, 2]]\n  Q:", "Q: [[1, 0], [1, 1], [0, 2]]\n  K:", MALFORMED, "K"),
        "K too wide": ("[[1, 0], [1, 1], [0, 2]]", "[[1, 0, 0], [1, 1, 0], [0, 2, 0]]", MALFORMED, "given.K"),
        "K of one row less": ("[[1, 0], [1, 1], [0, 2]]", "[[1, 0], [1, 1]]", MALFORMED, "given.Q"),
        "Q of one row more": ("[1/2]]", "[1/2], [1]]", MALFORMED, "3 x 1 so that K'Q is defined"),
        "Q transposed": ("Q: [[1], [0], [1/2]]", "Q: [[1, 0, 1/2]]", MALFORMED, "so that K'Q is defined"),
        "V too wide": ("V: [[1, 1]]", "V: [[1, 1, 1]]", MALFORMED, "given.V"),
        "V transposed": ("V: [[1, 1]]", "V: [[1], [1]]", MALFORMED, "given.V"),
        "matrix too wide": ("[[7]]", "[[7, 0]]", MALFORMED, "asserts.operator.matrix"),
        "matrix too tall": ("[[7]]", "[[7], [7]]", MALFORMED, "asserts.operator.matrix"),
        "offset too long": ("offset: [-1]", "offset: [-1, 0]", MALFORMED, "the dimension of an output"),
        "mean too long": ("mean: [1, -2]", "mean: [1, -2, 0]", MALFORMED, "3 x 3 for that mean"),
        "covariance too large": (
            "[[2, 1], [1, 3]]", "[[2, 1, 0], [1, 3, 0], [0, 0, 0]]", MALFORMED, "2 x 2 for that mean"),
        "covariance that is not square": ("[[2, 1], [1, 3]]", "[[2, 1]]", MALFORMED, "2 x 2 for that mean"),
        "rows of different lengths": ("[1, 3]]}", "[1]]}", MALFORMED, "2 numbers, like the first row"),
        "U beside K and Q": ("  V:", "  U: [[1], [1]]\n  V:", MALFORMED, "the unknown key 'K'"),
        "a scale of zero": ("asserts:", "  scale: 0\nasserts:", MALFORMED, "a factor other than 0"),
        "a scale that is no number": ("asserts:", "  scale: one\nasserts:", MALFORMED, "an exact number"),
        "the root of a negative number": ("asserts:", "  scale: sqrt(-2)\nasserts:", MALFORMED, "not positive"),
        "an unknown key in the law": (
            "kind: gaussian,", "kind: gaussian, rank: 2,", MALFORMED, "the unknown key 'rank'"),
        "an unknown key under given": ("  V:", "  W: [[1]]\n  V:", MALFORMED, "the unknown key 'W'"),
        "an unknown key under operator": (
            "offset: [-1]}", "offset: [-1], norm: l2}", MALFORMED, "the unknown key 'norm'"),
        "an unknown key under asserts": ("asserts:", "asserts:\n  bias: 0", MALFORMED, "the unknown key 'bias'"),
        "an unknown key in the witness": (
            "asserts:", "witness: {bits: 64}\nasserts:", MALFORMED, "the unknown key 'bits'"),
        "an unknown section": ("asserts:", "verdict: verified\nasserts:", MALFORMED, "the unknown key 'verdict'"),
        "suspects of another dimension": (
            "asserts:", "witness: {queries: [[1, 1]]}\nasserts:", MALFORMED, "witness.queries"),
        "a key twice": ("  V:", "  V: [[1, 1]]\n  V:", MALFORMED, "a second time"),
        "no matrix": ("matrix: [[7]], ", "", MALFORMED, "no 'matrix'"),
        "no offset": (", offset: [-1]", "", MALFORMED, "no 'offset'"),
        "no law": (
            "law: {kind: gaussian, mean: [1, -2], covariance: [[2, 1], [1, 3]]}", "scale: 1", MALFORMED, "no 'law'"),
        "no mean": ("mean: [1, -2], ", "", MALFORMED, "no 'mean'"),
        "no kind": ("kind: gaussian, ", "", MALFORMED, "a mapping with kind"),
        "an unknown kind of law": ("gaussian", "normal", MALFORMED, "'gaussian' or"),
        "nothing asserted": (
            "  operator: {matrix: [[7]], offset: [-1]}", "  {}", MALFORMED, "nothing that is asserted"),
        "asserts that are a list": ("  operator:", "- operator:", MALFORMED, "asserts"),
        "an unknown claim": (NAME, "infinite-prompt-operators", MALFORMED, "one of the claims"),
        "another claim": (NAME, "output-deviation", MALFORMED, "given"),
        "a NaN": ("[[7]]", "[[nan]]", MALFORMED, "an exact number"),
        "an infinity": ("[[7]]", "[[inf]]", MALFORMED, "an exact number"),
        "a division by zero": ("[1/2]]", "[1/0]]", MALFORMED, "a division by zero"),
        "an empty matrix": ("V: [[1, 1]]", "V: []", MALFORMED, "a list of at least one item"),
        "an empty row": ("V: [[1, 1]]", "V: [[]]", MALFORMED, "a list of at least one item"),
        "a number in the place of a matrix": ("[[7]]", "7", MALFORMED, "a list of rows"),
        "a pushforward of no law": (
            "asserts:", "asserts:\n  pushforward: {mean: [0], covariance: [[1]]}", MALFORMED, "no law of queries"),
        "a law of queries of another dimension": (
            "asserts:", "  queries: {mean: [5, 5], covariance: [[2, 0], [0, 2]]}\nasserts:", MALFORMED, "of a query"),
        "a law of queries that is indefinite": (
            "asserts:", "  queries: {mean: [5], covariance: [[-2]]}\nasserts:", MALFORMED, "negative eigenvalue"),
        "a false value beside a true operator": (
            "asserts:", "asserts:\n  values: [{query: [1], value: [6.1], radius: 0.05}]", REFUTED, "at query 0"),
    },
)  # fmt: skip

BILINEAR = family(
    "Gaussian tokens with U and V",
    """
given:
  law: {kind: gaussian, mean: [1, -2], covariance: [[2, 1], [1, 3]]}
  U: [[1, 0], [1, 2]]
  V: [[1, 1], [1, 0]]
asserts:
  operator: {matrix: [[7, 8], [3, 2]], offset: [-1, 1]}
""",
    {
        "an order of keys": (
            "  U: [[1, 0], [1, 2]]\n  V: [[1, 1], [1, 0]]",
            "  V: [[1, 1], [1, 0]]\n  U: [[1, 0], [1, 2]]",
        )
    },
    {
        "U transposed": ("U: [[1, 0], [1, 2]]", "U: [[1, 1], [0, 2]]", REFUTED, "matrix = V Gamma U"),
        "V transposed": ("V: [[1, 1], [1, 0]]", "V: [[1, 1], [0, 1]]", REFUTED, "matrix = V Gamma U"),
        "U and V exchanged": ("  U: [[1, 0], [1, 2]]\n  V:", "  V: [[1, 0], [1, 2]]\n  U:", REFUTED, "matrix"),
        "matrix transposed": ("[[7, 8], [3, 2]]", "[[7, 3], [8, 2]]", REFUTED, "entry 0, 1"),
        "columns of the matrix exchanged": ("[[7, 8], [3, 2]]", "[[8, 7], [2, 3]]", REFUTED, "entry 0, 0"),
        "rows of the matrix exchanged": ("[[7, 8], [3, 2]]", "[[3, 2], [7, 8]]", REFUTED, "entry 0, 0"),
        "offset turned round": ("offset: [-1, 1]", "offset: [1, -1]", REFUTED, "offset = T(0)"),
        "last entry one unit off": ("[3, 2]]", "[3, 3]]", REFUTED, "entry 1, 1"),
        "U of another height": ("U: [[1, 0], [1, 2]]", "U: [[1, 0]]", MALFORMED, "2 x 2 for tokens of that dimension"),
        "K beside U": ("  V:", "  K: [[1, 0]]\n  V:", MALFORMED, "the unknown key 'K'"),
        "Q beside U": ("  V:", "  Q: [[1, 0]]\n  V:", MALFORMED, "the unknown key 'Q'"),
    },
)

PUSHFORWARD = family(
    "a pushforward",
    """
given:
  law: {kind: gaussian, mean: [1, 0], covariance: [[2, 1], [1, 1]]}
  scale: 1/2
  queries: {mean: [2, 4], covariance: [[1, 1/2], [1/2, 1]]}
asserts:
  pushforward: {mean: [5, 3], covariance: [[1.75, 1.125], [1.125, 0.75]]}
""",
    {
        "a point": (
            "covariance: [[1, 1/2], [1/2, 1]]}\nasserts:\n  pushforward: {mean: [5, 3], covariance: [[1.75, 1.125],"
            " [1.125, 0.75]]}",
            "covariance: [[0, 0], [0, 0]]}\nasserts:\n  pushforward: {mean: [5, 3], covariance: [[0, 0], [0, 0]]}"),
        "the other sign of the scale and of the mean of queries": (
            "scale: 1/2\n  queries: {mean: [2, 4]", "scale: -1/2\n  queries: {mean: [-2, -4]"),
    },
    {
        "mean off by 10^-20": ("[5, 3]", "[5, 2.99999999999999999999]", REFUTED, "mean = V m + s V Gamma U m_z"),
        "mean without the scale": ("[5, 3]", "[9, 6]", REFUTED, "mean = V m"),
        "mean without the offset": ("[5, 3]", "[4, 3]", REFUTED, "mean = V m"),
        "mean turned round": ("[5, 3]", "[3, 5]", REFUTED, "mean = V m"),
        "variance off by 10^-20": ("0.75]]", "0.75000000000000000001]]", REFUTED, "covariance = s^2"),
        "covariance with the scale not squared": (
            "[[1.75, 1.125], [1.125, 0.75]]", "[[3.5, 2.25], [2.25, 1.5]]", REFUTED, "covariance = s^2"),
        "covariance that is not symmetric": ("[1.125, 0.75]]", "[1, 0.75]]", REFUTED, "entry 1, 0"),
        "scale changed": ("scale: 1/2", "scale: 1/3", REFUTED, "is false"),
        "scale of the other sign": ("scale: 1/2", "scale: -1/2", REFUTED, "mean = V m"),
        "scale left out": ("  scale: 1/2\n", "", REFUTED, "is false (and 1 more)"),
        "mean of the queries changed": ("mean: [2, 4]", "mean: [2, 5]", REFUTED, "mean = V m"),
        "covariance of the queries changed": (
            "[1/2, 1]]}\nasserts", "[1/2, 2]]}\nasserts", REFUTED, "covariance = s^2"),
        "covariance of the queries not symmetric": (
            "[[1, 1/2], [1/2, 1]]", "[[1, 1/2], [1/3, 1]]", MALFORMED, "symmetric"),
        "law of the queries left out": (
            "  queries: {mean: [2, 4], covariance: [[1, 1/2], [1/2, 1]]}\n", "", MALFORMED, "no law of queries"),
        "mean too short": ("[5, 3]", "[5]", MALFORMED, "the dimension of an output"),
        "covariance too small": (
            "[[1.75, 1.125], [1.125, 0.75]]", "[[1.75]]", MALFORMED, "for outputs of that dimension"),
        "queries of another kind": (
            "queries: {mean", "queries: {kind: gaussian, mean", MALFORMED, "the unknown key 'kind'"),
        "tokens that are not Gaussian": (
            "{kind: gaussian, mean: [1, 0], covariance: [[2, 1], [1, 1]]}", "{kind: rademacher, sizes: [2, 1]}",
            REJECTED, "T is affine, so z's Gaussian law is mapped to a Gaussian"),
    },
)  # fmt: skip

IRRATIONAL = family(
    "an irrational scale",
    """
given:
  law: {kind: gaussian, mean: [1], covariance: [[2]]}
  scale: 1/sqrt(2)
  queries: {mean: [0], covariance: [[1]]}
asserts:
  operator: {matrix: [[2]], offset: [1]}
  pushforward: {mean: [1], covariance: [[2]]}
""",
    {
        "the same scale as one root": ("1/sqrt(2)", "sqrt(1/2)"),
        "the same scale as a decimal root": ("1/sqrt(2)", "sqrt(0.5)"),
    },
    {
        "a decimal that is close": ("1/sqrt(2)", "0.70710678118654752440", REFUTED, "covariance = s^2"),
        "another root": ("1/sqrt(2)", "1/sqrt(3)", REFUTED, "covariance = s^2"),
        "the inverse root": ("1/sqrt(2)", "sqrt(2)", REFUTED, "covariance = s^2"),
        "the root of a square": ("1/sqrt(2)", "1/sqrt(4)", REFUTED, "covariance = s^2"),
        "matrix with the scale in it": ("matrix: [[2]]", "matrix: [[1.41421356237309504880]]", REFUTED, "matrix = V"),
        "a mean that would be irrational": ("queries: {mean: [0]", "queries: {mean: [1]", REFUTED, "irrational part"),
        "a mean that would be irrational, barely": (
            "queries: {mean: [0]", "queries: {mean: [1e-40]", REFUTED, "irrational part"),
        "mean off by 10^-20": (
            "pushforward: {mean: [1]", "pushforward: {mean: [1.00000000000000000001]", REFUTED, "mean ="),
        "the root of zero": ("1/sqrt(2)", "1/sqrt(0)", MALFORMED, "the root of a number that is not positive"),
        "a root in a matrix": ("matrix: [[2]]", "matrix: [[sqrt(4)]]", MALFORMED, "an exact number"),
    },
)  # fmt: skip

SINGULAR = family(
    "a covariance of rank one",
    """
given:
  law: {kind: gaussian, mean: [0, 1], covariance: [[1, 2], [2, 4]]}
asserts:
  operator: {matrix: [[1, 2], [2, 4]], offset: [0, 1]}
""",
    {
        "no variance at all": (
            "[[1, 2], [2, 4]]}\nasserts:\n  operator: {matrix: [[1, 2], [2, 4]]",
            "[[0, 0], [0, 0]]}\nasserts:\n  operator: {matrix: [[0, 0], [0, 0]]",
        )
    },
    {
        "a covariance that is indefinite, barely": (
            "[2, 4]]}", "[2, 3.999999999999999999999999999999]]}", MALFORMED, "a matrix with a negative eigenvalue"),
        "a covariance that is indefinite": ("[[1, 2], [2, 4]]}", "[[1, 3], [3, 4]]}", MALFORMED, "negative eigenvalue"),
        "a covariance of the other sign": ("[[1, 2], [2, 4]]}", "[[-1, -2], [-2, -4]]}", MALFORMED, "negative"),
        "a zero variance that is correlated": ("[[1, 2], [2, 4]]}", "[[0, 2], [2, 4]]}", MALFORMED, "negative"),
        "a matrix of rank two": ("matrix: [[1, 2], [2, 4]]", "matrix: [[1, 2], [2, 5]]", REFUTED, "entry 1, 1"),
    },
)  # fmt: skip

# T(z) = 1/4 + 2 s z = 1/4 + z.
EXACT_VALUES = family(
    "values of an affine operator",
    """
given:
  law: {kind: gaussian, mean: [1/4], covariance: [[2]]}
  scale: 1/2
asserts:
  values:
  - {query: [3/4], value: [1], radius: 0}
  - {query: [-1/4], value: [1/8], radius: 1/8}
""",
    {
        "more room": ("radius: 1/8", "radius: 1000000"),
        "a value on the other edge": ("value: [1/8]", "value: [-1/8]"),
        "thirds, with a little room": ("value: [1/8], radius: 1/8", "value: [1/3], radius: 0.333333333333333333334"),
    },
    {
        "value off by 10^-40 and no radius": (
            "value: [1]", "value: [1.0000000000000000000000000000000000000001]", REFUTED, "at query 0"),
        "radius too small by 10^-20": ("radius: 1/8", "radius: 0.12499999999999999999", REFUTED, "at query 1"),
        "a bit less room than a third": (
            "value: [1/8], radius: 1/8", "value: [1/3], radius: 0.333333333333333333333", REFUTED, "at query 1"),
        "no slack where a ball is no point": (
            "value: [1/8], radius: 1/8", "value: [1/3], radius: 1/3", INCONCLUSIVE, "1 obligation still undecided"),
        "query a bit larger": ("query: [3/4]", "query: [0.7500000000001]", REFUTED, "at query 0"),
        "queries exchanged": ("query: [3/4], value: [1]", "query: [-1/4], value: [1]", REFUTED, "at query 0"),
        "scale changed": ("scale: 1/2", "scale: 1", REFUTED, "at query 0"),
        "scale left out": ("  scale: 1/2\n", "", REFUTED, "at query 0"),
        "mean changed": ("[1/4], covariance", "[1/3], covariance", REFUTED, "at query 0"),
        "a negative radius": ("radius: 1/8", "radius: -1/8", MALFORMED, "a number >= 0"),
        "no radius": (", radius: 1/8", "", MALFORMED, "no 'radius'"),
        "no values": (
            "  values:\n  - {query: [3/4], value: [1], radius: 0}\n  - {query: [-1/4], value: [1/8], radius: 1/8}",
            "  values: []", MALFORMED, "a list of at least one item"),
        "query of another dimension": ("query: [3/4]", "query: [3/4, 0]", MALFORMED, "the dimension of a query"),
        "value of another dimension": ("value: [1]", "value: [1, 0]", MALFORMED, "the dimension of an output"),
        "a query that is empty": ("query: [3/4]", "query: []", MALFORMED, "a list of at least one item"),
        "an unknown key of a value": ("radius: 0}", "radius: 0, norm: l2}", MALFORMED, "the unknown key 'norm'"),
    },
)  # fmt: skip

# c tanh(c a): tanh 1 = 0.76159415595576488812 at z = (1, 0).
SIGNS = family(
    "independent signs",
    """
given:
  law: {kind: rademacher, sizes: [1, 2]}
asserts:
  values:
  - {query: [1, 0], value: [0.761594155955764888, 0], radius: 2e-19}
  - {query: [0, -3], value: [0, -1.99997], radius: 1e-5}
""",
    {
        "a huge query": ("query: [0, -3], value: [0, -1.99997]", "query: [0, -1e30], value: [0, -2]"),
        "a tiny query": ("query: [0, -3], value: [0, -1.99997]", "query: [0, 1e-300], value: [0, 0]"),
        "sharp signs": ("sizes: [1, 2]", "sizes: [1, 1.99999]"),
    },
    {
        "value off by 3e-19": ("0.761594155955764888", "0.7615941559557648885", REFUTED, "at query 0"),
        "radius too small": ("radius: 2e-19", "radius: 1e-19", REFUTED, "at query 0"),
        "value of the linear map": ("value: [0.761594155955764888, 0]", "value: [1, 0]", REFUTED, "at query 0"),
        "value where the sign is 0": ("764888, 0]", "764888, 1e-18]", REFUTED, "at query 0"),
        "value of the other sign": ("-1.99997", "1.99997", REFUTED, "at query 1"),
        "coordinates exchanged": ("query: [1, 0]", "query: [0, 1]", REFUTED, "at query 0"),
        "size changed": ("sizes: [1, 2]", "sizes: [1.000001, 2]", REFUTED, "at query 0"),
        "sizes exchanged": ("sizes: [1, 2]", "sizes: [2, 1]", REFUTED, "is false"),
        "a box of the same sizes": ("kind: rademacher", "kind: box", REFUTED, "is false"),
        "scale changed": ("asserts:", "  scale: 1.00001\nasserts:", REFUTED, "at query 0"),
        "no slack but e^(-10^30)": (
            "query: [0, -3], value: [0, -1.99997], radius: 1e-5", "query: [0, -1e30], value: [0, -2], radius: 0",
            INCONCLUSIVE, "1 obligation still undecided at the limit of 4096 bits"),
        "a negative size": ("sizes: [1, 2]", "sizes: [1, -2]", MALFORMED, "sizes >= 0"),
        "no sizes": ("sizes: [1, 2]", "sizes: []", MALFORMED, "a list of at least one item"),
        "weights of signs": ("sizes: [1, 2]", "sizes: [1, 2], weights: [1/2, 1/2]", MALFORMED, "unknown key 'weights'"),
        "a dimension more": ("sizes: [1, 2]", "sizes: [1, 2, 0]", MALFORMED, "the dimension of a query"),
    },
)  # fmt: skip

LINEAR_SIGNS = family(
    "a linear claim that holds for signs that V does not read",
    """
given:
  law: {kind: rademacher, sizes: [1, 2]}
  V: [[0, 0]]
asserts:
  operator: {matrix: [[0, 0]], offset: [0]}
""",
    {
        "signs of size zero": ("sizes: [1, 2]", "sizes: [0, 0]"),
        "a sign read that no query touches": ("V: [[0, 0]]", "Q: [[1, 0], [0, 0]]\n  V: [[0, 1]]"),
    },
    {
        "a slope": ("matrix: [[0, 0]]", "matrix: [[0, 1e-30]]", REFUTED, "matrix = V Gamma U"),
        "an offset": ("offset: [0]", "offset: [1e-30]", REFUTED, "offset = T(0)"),
        "a sign that is read": ("V: [[0, 0]]", "V: [[0, 1]]", REFUTED, "not linear as stated, shown by a query"),
        "a sign that is read, barely": ("V: [[0, 0]]", "V: [[1e-30, 0]]", REFUTED, "not linear as stated"),
    },
)

# By variance: laws of that variance (and mean 0), for which the Gaussian's map is wrong, each shown at z = 1.
LINEAR_CLAIMS = {
    "1": {
        "signs": "{kind: rademacher, sizes: [1]}",
        "atoms": "{kind: atoms, points: [[-1], [1]]}",
        "a mixture of a Gaussian and a point": (
            "{kind: mixture, components: [{weight: 1/2, law: {kind: gaussian, mean: [0], covariance: [[2]]}},"
            " {weight: 1/2, law: {kind: atoms, points: [[0]]}}]}"
        ),
    },
    "0.000001": {"small signs": "{kind: rademacher, sizes: [1/1000]}"},
    "1/3": {"a box": "{kind: box, sizes: [1]}"},
    "2": {
        "a mixture of Gaussians of two means": (
            "{kind: mixture, components: [{weight: 1/2, law: {kind: gaussian, mean: [-1], covariance: [[1]]}},"
            " {weight: 1/2, law: {kind: gaussian, mean: [1], covariance: [[1]]}}]}"
        ),
    },
    "3/2": {
        "a mixture of Gaussians of two variances": (
            "{kind: mixture, components: [{weight: 1/2, law: {kind: gaussian, mean: [0], covariance: [[1]]}},"
            " {weight: 1/2, law: {kind: gaussian, mean: [0], covariance: [[2]]}}]}"
        ),
    },
}


def _linear(variance: str, laws: dict[str, str]) -> Family:
    """The Gaussian of a law's own moments gives the map; the law itself does not."""
    gaussian = f"{{kind: gaussian, mean: [0], covariance: [[{variance}]]}}"
    text = f"""
given:
  law: {gaussian}
asserts:
  operator: {{matrix: [[{variance}]], offset: [0]}}
"""
    rejects: dict[str, Change] = {title: (gaussian, law, REFUTED, "z = (1)") for title, law in laws.items()}
    return family(f"the linear map of a Gaussian of variance {variance}", text, {}, rejects)


# coth x - 1/x at 1 and 1/2: 0.313035285499331303636 and, half of it, 0.0819767068693264... of a box of width 1/2.
BOX = family(
    "a box",
    """
given:
  law: {kind: box, sizes: [1, 1/2]}
asserts:
  values:
  - {query: [1, 0], value: [0.3130352854993313, 0], radius: 4e-18}
  - {query: [1e-30, -1e30], value: [0, -0.5], radius: 1e-29}
""",
    {
        "a query just below the change of formula": ("query: [1, 0]", "query: [0.999999999999999999999, 0]"),
        "a query just above the change of formula": ("query: [1, 0]", "query: [1.000000000000000000001, 0]"),
        "a box that is flat": ("sizes: [1, 1/2]}\n", "sizes: [1, 0.5]}\n"),
    },
    {
        "value off by 1e-17": ("0.3130352854993313,", "0.31303528549933131,", REFUTED, "at query 0"),
        "radius too small": ("radius: 4e-18", "radius: 3e-18", REFUTED, "at query 0"),
        "first order only": ("0.3130352854993313,", "0.3333333333333333,", REFUTED, "at query 0"),
        "signs of the same sizes": ("kind: box", "kind: rademacher", REFUTED, "at query 0"),
        "size changed": ("sizes: [1, 1/2]", "sizes: [1.00000001, 1/2]", REFUTED, "at query 0"),
        "the corner itself": ("value: [0, -0.5], radius: 1e-29", "value: [0, -0.5], radius: 1e-31", REFUTED, "query 1"),
        "a negative size": ("sizes: [1, 1/2]", "sizes: [-1, 1/2]", MALFORMED, "sizes >= 0"),
        "points of a box": ("sizes: [1, 1/2]", "sizes: [1, 1/2], points: [[1]]", MALFORMED, "the unknown key 'points'"),
    },
)

# At z = (1, 2) with V = (1, -1): (e - 2 e^2 ... )/(...) as softmax of the atoms: e^0, e^1, e^2 of weights 2 : 1 : 1.
ATOMS = family(
    "atoms",
    """
given:
  law: {kind: atoms, points: [[0, 0], [1, 0], [0, 1]], weights: [1/2, 1/4, 1/4]}
  V: [[1, -1]]
asserts:
  values:
  - {query: [1, 2], value: [-0.385780449714317], radius: 1e-15}
  - {query: [0, 0], value: [0], radius: 1e-300}
""",
    {
        "weights written as decimals": ("[1/2, 1/4, 1/4]", "[0.5, 0.25, 0.25]"),
        "atoms of one weight exchanged": ("[1, 0], [0, 1]]", "[0, 1], [1, 0]]"),
    },
    {
        "value one unit off": ("-0.385780449714317]", "-0.385780449714316]", REFUTED, "at query 0"),
        "weights exchanged": ("[1/2, 1/4, 1/4]", "[1/4, 1/2, 1/4]", REFUTED, "at query 0"),
        "equal weights": (", weights: [1/2, 1/4, 1/4]", "", REFUTED, "at query 0"),
        "atoms exchanged": ("[[0, 0], [1, 0], [0, 1]]", "[[1, 0], [0, 0], [0, 1]]", REFUTED, "at query 0"),
        "an atom moved": ("[0, 1]], weights", "[0, 1.000001]], weights", REFUTED, "at query 0"),
        "V of the other sign": ("V: [[1, -1]]", "V: [[-1, 1]]", REFUTED, "at query 0"),
        "weights that sum to less than 1": (
            "[1/2, 1/4, 1/4]", "[1/2, 1/4, 0.2499999999]", MALFORMED, "sum to exactly 1"),
        "weights whose sum is long": ("[1/2, 1/4, 1/4]", "[1/2, 1/4, 1e-9000]", MALFORMED, "(its first 12 digits)"),
        "weights that sum to more than 1": ("[1/2, 1/4, 1/4]", "[1/2, 1/4, 1/3]", MALFORMED, "a sum of 13/12"),
        "a negative weight": ("[1/2, 1/4, 1/4]", "[1/2, 3/4, -1/4]", MALFORMED, "a number > 0"),
        "a zero weight": ("[1/2, 1/4, 1/4]", "[1/2, 1/2, 0]", MALFORMED, "a number > 0"),
        "a weight too few": ("[1/2, 1/4, 1/4]", "[1/2, 1/2]", MALFORMED, "3 weights, one per atom"),
        "a weight too many": ("[1/2, 1/4, 1/4]", "[1/2, 1/4, 1/8, 1/8]", MALFORMED, "3 weights, one per atom"),
        "no weight": ("[1/2, 1/4, 1/4]", "[]", MALFORMED, "a list of at least one item"),
        "no atoms": ("points: [[0, 0], [1, 0], [0, 1]]", "points: []", MALFORMED, "a list of at least one item"),
        "atoms of different dimensions": ("[1, 0], [0, 1]]", "[1, 0], [0]]", MALFORMED, "like the first row"),
    },
)  # fmt: skip

_G = "{kind: gaussian, mean: [-1], covariance: [[1]]}"
_H = "{kind: gaussian, mean: [2], covariance: [[1/4]]}"
MIXTURE = family(
    "a mixture of mixtures",
    f"""
given:
  law:
    kind: mixture
    components:
    - weight: 5/6
      law: {{kind: mixture, components: [{{weight: 3/5, law: {_G}}}, {{weight: 2/5, law: {_H}}}]}}
    - weight: 1/6
      law: {{kind: rademacher, sizes: [3]}}
asserts:
  values:
  - {{query: [0], value: [1/6], radius: 1e-300}}
  - {{query: [1], value: [2.365506502444417], radius: 1e-15}}
""",
    {"a component that is a mixture of one": (_H, f"{{kind: mixture, components: [{{weight: 1, law: {_H}}}]}}")},
    {
        "value two units off": ("2.365506502444417", "2.365506502444419", REFUTED, "at query 1"),
        "mean at zero off by 10^-20": ("[1/6], radius", "[0.16666666666666666667], radius", REFUTED, "at query 0"),
        "weights exchanged": ("[{weight: 3/5", "[{weight: 0.59", MALFORMED, "a sum of 0.99"),
        "a weight off by 10^-30": ("weight: 1/6", "weight: 0.166666666666666666666666666667", MALFORMED, "exactly 1"),
        "a zero weight": ("weight: 1/6", "weight: 0", MALFORMED, "a number > 0"),
        "variance changed": ("[[1/4]]", "[[0.26]]", REFUTED, "at query 1"),
        "size changed": ("sizes: [3]", "sizes: [3.001]", REFUTED, "at query 1"),
        "a box for the signs": ("kind: rademacher", "kind: box", REFUTED, "at query 1"),
        "components of different dimensions": ("sizes: [3]", "sizes: [3, 3]", MALFORMED, "dimension 1, like the first"),
        "a negative variance inside": ("[[1/4]]", "[[-1/4]]", MALFORMED, "negative eigenvalue"),
        "a component without a weight": ("- weight: 1/6\n      law:", "- law:", MALFORMED, "no 'weight'"),
        "a component of an unknown kind": ("kind: rademacher", "kind: signs", MALFORMED, "'gaussian' or"),
        "a linear claim": (
            "  values:", "  operator: {matrix: [[1]], offset: [1/6]}\n  values:", REFUTED, "not linear as stated"),
    },
)  # fmt: skip

HIDDEN = family(
    "Gaussians that differ only where no query looks",
    """
given:
  law:
    kind: mixture
    components:
    - {weight: 1/4, law: {kind: gaussian, mean: [1, 2], covariance: [[1, 0], [0, 3]]}}
    - {weight: 3/4, law: {kind: gaussian, mean: [1, -2], covariance: [[1, 1/2], [1/2, 8]]}}
  U: [[1], [0]]
asserts:
  operator: {matrix: [[1], [3/8]], offset: [1, -1]}
""",
    {"weights": ("matrix: [[1], [3/8]]", "matrix: [[1], [0.375]]")},
    {
        "slope off": ("[3/8]]", "[0.3750000000001]]", REFUTED, "entry 1, 0"),
        "offset off": ("offset: [1, -1]", "offset: [1, -0.99]", REFUTED, "offset = T(0)"),
        "the mean of the first component": ("offset: [1, -1]", "offset: [1, 2]", REFUTED, "offset = T(0)"),
        "queries that see a little": ("U: [[1], [0]]", "U: [[1], [0.001]]", REFUTED, "not linear as stated"),
        "means that differ": ("mean: [1, -2]", "mean: [1.001, -2]", REFUTED, "not linear as stated"),
        "variances that differ": ("[[1, 1/2]", "[[1.001, 1/2]", REFUTED, "not linear as stated"),
        "a point among them, so that no proof is at hand": (
            "{kind: gaussian, mean: [1, 2], covariance: [[1, 0], [0, 3]]}", "{kind: atoms, points: [[1, 2]]}", REFUTED,
            "not linear as stated"),
    },
)  # fmt: skip

ONE_POINT = family(
    "one atom",
    """
given:
  law: {kind: atoms, points: [[3, 4]]}
  queries: {mean: [1, 2], covariance: [[1, 0], [0, 1]]}
asserts:
  operator: {matrix: [[0, 0], [0, 0]], offset: [3, 4]}
  pushforward: {mean: [3, 4], covariance: [[0, 0], [0, 0]]}
  values: [{query: [5, 1/7], value: [3, 4], radius: 0}]
""",
    {},
    {
        "the same point as a mixture, for which no proof is at hand": (
            "law: {kind: atoms, points: [[3, 4]]}",
            "law: {kind: mixture, components: [{weight: 1/2, law: {kind: atoms, points: [[3, 4]]}},"
            " {weight: 1/2, law: {kind: rademacher, sizes: [0, 0]}}]}",
            REFUTED, "is false"),
        "another point": ("points: [[3, 4]]", "points: [[3, 5]]", REFUTED, "offset = T(0)"),
        "two points": ("points: [[3, 4]]", "points: [[3, 4], [3, 5]]", REFUTED, "is false"),
    },
)  # fmt: skip
_AXES = 17
_ZEROS = ", ".join(["0"] * _AXES)
_SIZES = ", ".join(["0"] * (_AXES - 1) + ["1"])
FAR_AXIS = family(
    "an axis beyond the standard test queries",
    f"""
given:
  law: {{kind: rademacher, sizes: [{_ZEROS}]}}
  V: [[{", ".join(["1"] * _AXES)}]]
asserts:
  operator: {{matrix: [[{_ZEROS}]], offset: [0]}}
witness:
  queries: [[{_SIZES}]]
""",
    {},
    {
        "a sign there, which the suspect shows": (f"sizes: [{_ZEROS}]", f"sizes: [{_SIZES}]", REFUTED, "not linear"),
    },
)
FAR_AXIS_UNSEEN = family(
    "an axis beyond the standard test queries, without a suspect",
    FAR_AXIS.text.replace(f"witness:\n  queries: [[{_SIZES}]]\n", ""),
    {},
    {
        "a sign there, which nobody shows": (
            f"sizes: [{_ZEROS}]", f"sizes: [{_SIZES}]", REJECTED, "no exact proof that this law makes T affine"),
    },
)  # fmt: skip

SAME_POINT = family(
    "a mixture of one and the same point",
    """
given:
  law: {kind: mixture, components: [{weight: 1, law: {kind: atoms, points: [[0]]}}]}
asserts:
  operator: {matrix: [[0]], offset: [0]}
""",
    {},
    {
        "in two parts, for which no proof is at hand": (
            "[{weight: 1, law: {kind: atoms, points: [[0]]}}]",
            "[{weight: 1/2, law: {kind: atoms, points: [[0]]}}, {weight: 1/2, law: {kind: atoms, points: [[0]]}}]",
            REJECTED, "no exact proof that this law makes T affine"),
        "in two parts, and a slope": (
            "[{weight: 1, law: {kind: atoms, points: [[0]]}}]}\nasserts:\n  operator: {matrix: [[0]]",
            "[{weight: 1/2, law: {kind: atoms, points: [[0]]}}, {weight: 1/2, law: {kind: atoms, points: [[0]]}}]}\n"
            "asserts:\n  operator: {matrix: [[1e-30]]",
            REFUTED, "not linear as stated"),
    },
)  # fmt: skip

FROM_FILES = family(
    "numbers in array files",
    f"""
given:
  law:
    kind: gaussian
    mean: {array("mean.npy", "float64", "[2]")}
    covariance: {array("covariance.npy", "int32", "[2, 2]")}
asserts:
  operator: {{matrix: [[2, 1], [1, 3]], offset: [1, -2]}}
""",
    {},
    {
        "matrix off": ("[1, 3]]", "[1, 3.1]]", REFUTED, "matrix = V Gamma U"),
        "offset off": ("offset: [1, -2]", "offset: [1, 2]", REFUTED, "offset = T(0)"),
        "another shape": ("shape: [2, 2]", "shape: [1, 4]", MALFORMED, "given.law.covariance"),
        "another number type": ("dtype: int32", "dtype: float32", MALFORMED, "dtype float32, as stated"),
        "a file that is not there": ("covariance.npy", "kovariance.npy", MALFORMED, "no such file"),
        "another file": ("file: mean.npy", "file: tiny.npy", MALFORMED, "sha256"),
        "rows that leave one": ("shape: [2, 2]", "shape: [2, 2], rows: 0:1", MALFORMED, "2 x 2 for that mean"),
    },
)

FAMILIES = [
    MATRICES,
    BILINEAR,
    PUSHFORWARD,
    IRRATIONAL,
    SINGULAR,
    EXACT_VALUES,
    SIGNS,
    LINEAR_SIGNS,
    *(_linear(variance, laws) for variance, laws in LINEAR_CLAIMS.items()),
    BOX,
    ATOMS,
    MIXTURE,
    HIDDEN,
    ONE_POINT,
    FAR_AXIS,
    FAR_AXIS_UNSEEN,
    SAME_POINT,
    FROM_FILES,
]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
