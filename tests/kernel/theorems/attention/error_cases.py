"""Accept and reject cases of `attention-error`, in titled families.

Bounds are the true numbers rounded outwards in the sixth digit, or the numbers themselves where they are short: one
unit less (or more) is false.
"""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, Case, Family, array

NAME = "attention-error"
family = partial(Family, NAME)

QUERIES = "[[1, 1], [-2, 0.5], [0, 1/2]]"
KEYS = "[[1, 0], [0, 1], [-1, 1/2], [2, -1]]"
VALUES = "[[1, 2], [0, -1], [3, 0.5], [-2, 1]]"
OUTPUT = "[[0.5, 0.5], [2.5, 0.25], [0.25, 3/4]]"
LOGARITHMS = "[[1.6, 2.3, 1.5]]"
PROMPT = f"""
given:
  queries: {QUERIES}
  keys: {KEYS}
  values: {VALUES}
  output: {OUTPUT}
  scale: 1/sqrt(2)
"""
LSE = f"  lse: {{value: {LOGARITHMS}, base: e}}\n"
ERROR = "  error: {at_most: 0.488441, at_least: 0.488440}\n"
RELATIVE = "  relative: {at_most: 0.786398, at_least: 0.786397}\n"
RMS = "  rms: {at_most: 0.331436, at_least: 0.331435}\n"
OF_LSE = "  lse: {at_most: 0.410306, at_least: 0.410305}\n"
BEYOND = "  beyond: {radius: 0.1, at_most: 5, at_least: 5}\n"

EVERYTHING = ERROR + RELATIVE + RMS + OF_LSE + BEYOND

WHOLE = family(
    "a head that is written out",
    PROMPT + LSE + "asserts:\n" + EVERYTHING,
    {
        "only the error": (f"{LSE}asserts:\n{EVERYTHING}", f"asserts:\n{ERROR}"),
        "only the relative error": (f"{LSE}asserts:\n{EVERYTHING}", f"asserts:\n{RELATIVE}"),
        "only the root mean square": (f"{LSE}asserts:\n{EVERYTHING}", f"asserts:\n{RMS}"),
        "only the log-sum-exp": (EVERYTHING, OF_LSE),
        "only a count": (f"{LSE}asserts:\n{EVERYTHING}", f"asserts:\n{BEYOND}"),
        "only an upper bound": ("at_most: 0.488441, at_least: 0.488440", "at_most: 0.488441"),
        "only a lower bound": ("at_most: 0.786398, at_least: 0.786397", "at_least: 0.786397"),
        "a count of all errors but 0": ("radius: 0.1, at_most: 5, at_least: 5", "radius: 0, at_most: 6, at_least: 6"),
        "a radius just above the largest error": (
            "radius: 0.1, at_most: 5, at_least: 5", "radius: 0.488441, at_most: 0"),
        "a radius just below it": ("radius: 0.1, at_most: 5, at_least: 5", "radius: 0.488440, at_most: 1, at_least: 1"),
        "a mask that hides nothing": (LSE, "  causal: 3\n" + LSE),
        "a window of all tokens": (LSE, "  causal: 3\n  window: 6\n" + LSE),
        "a length of all tokens": (LSE, "  lengths: [4]\n" + LSE),
        "one sequence": (LSE, "  sequences: {queries: [3], keys: [4]}\n" + LSE),
        "logarithms to base 2": (
            f"value: {LOGARITHMS}, base: e}}\nasserts:\n{ERROR}{RELATIVE}{RMS}{OF_LSE}",
            f"value: [[2.3, 3.3, 2.1]], base: 2}}\nasserts:\n{ERROR}{RELATIVE}{RMS}"
            "  lse: {at_most: 0.573748, at_least: 0.573747}\n"),
        "tokens in another order": (
            f"keys: {KEYS}\n  values: {VALUES}",
            "keys: [[2, -1], [1, 0], [0, 1], [-1, 1/2]]\n  values: [[-2, 1], [1, 2], [0, -1], [3, 0.5]]"),
        "queries in another order, with their outputs": (
            f"queries: {QUERIES}\n  keys: {KEYS}\n  values: {VALUES}\n  output: {OUTPUT}\n  scale: 1/sqrt(2)\n"
            f"  lse: {{value: {LOGARITHMS}",
            f"queries: [[0, 1/2], [1, 1], [-2, 0.5]]\n  keys: {KEYS}\n  values: {VALUES}\n"
            "  output: [[0.25, 3/4], [0.5, 0.5], [2.5, 0.25]]\n  scale: 1/sqrt(2)\n  lse: {value: [[1.5, 1.6, 2.3]]"),
        "many bits to begin with": ("asserts:", "witness: {bits: 300}\nasserts:"),
    },
    {
        "at_most of the error one unit lower": ("0.488441", "0.488440", REFUTED, "the largest error |o - T|"),
        "at_least of the error one unit higher": ("at_least: 0.488440", "at_least: 0.488441", REFUTED, "is false"),
        "at_most of the relative error one unit lower": ("0.786398", "0.786397", REFUTED, "|o - T|_2 / |T|_2"),
        "at_least of the relative error one unit higher": (
            "at_least: 0.786397", "at_least: 0.786398", REFUTED, "|o - T|_2 / |T|_2"),
        "at_most of the root mean square one unit lower": ("0.331436", "0.331435", REFUTED, "root mean square"),
        "at_least of the root mean square one unit higher": (
            "at_least: 0.331435", "at_least: 0.331436", REFUTED, "root mean square"),
        "at_most of the log-sum-exp one unit lower": ("0.410306", "0.410305", REFUTED, "log-sum-exp"),
        "at_least of the log-sum-exp one unit higher": (
            "at_least: 0.410305", "at_least: 0.410306", REFUTED, "log-sum-exp"),
        "one entry fewer": ("at_most: 5", "at_most: 4", REFUTED, "entries that are off by more than 0.1"),
        "one entry more": ("at_least: 5", "at_least: 6", REFUTED, "entries that are off by more than 0.1"),
        "bounds exchanged": (
            "at_most: 0.488441, at_least: 0.488440", "at_most: 0.488440, at_least: 0.488441", REFUTED, "is false"),
        "an error of 0": ("at_most: 0.488441, at_least: 0.488440", "at_most: 0", REFUTED, "the largest error"),
        "no entry beyond 0": ("radius: 0.1, at_most: 5, at_least: 5", "radius: 0, at_most: 0", REFUTED, "more than 0"),
        "rows of the output exchanged": (
            OUTPUT, "[[2.5, 0.25], [0.5, 0.5], [0.25, 3/4]]", REFUTED, "is false"),
        "columns of the output exchanged": (
            OUTPUT, "[[0.5, 0.5], [0.25, 2.5], [3/4, 0.25]]", REFUTED, "is false"),
        "an output of another sign": ("[2.5, 0.25]", "[-2.5, 0.25]", REFUTED, "is false"),
        "logarithms to base e, called those to base 2": ("base: e", "base: 2", REFUTED, "log-sum-exp"),
        "logarithms exchanged": (LOGARITHMS, "[[2.3, 1.6, 1.5]]", REFUTED, "log-sum-exp"),
        "another scale": ("1/sqrt(2)", "1/sqrt(3)", REFUTED, "is false"),
        "a scale of the other sign": ("1/sqrt(2)", "-0.7071", REFUTED, "is false"),
        "keys and values exchanged": (
            f"keys: {KEYS}\n  values: {VALUES}", f"keys: {VALUES}\n  values: {KEYS}", REFUTED, "is false"),
        "every token twice, which log Z sees": (
            f"keys: {KEYS}\n  values: {VALUES}",
            f"keys: {KEYS[:-1]}, {KEYS[1:]}\n  values: {VALUES[:-1]}, {VALUES[1:]}", REFUTED, "log-sum-exp"),
        "a causal mask": (LSE, "  causal: top-left\n" + LSE, REFUTED, "is false"),
        "a mask that hides one token of a query": (LSE, "  causal: 2\n" + LSE, REFUTED, "is false"),
        "a length of three tokens": (LSE, "  lengths: [3]\n" + LSE, REFUTED, "is false"),
        "no bound": ("{at_most: 0.488441, at_least: 0.488440}", "{}", MALFORMED, "no bound"),
        "a negative bound": ("at_least: 0.488440", "at_least: -1", MALFORMED, "a number >= 0"),
        "a bound that is not a number": ("0.488441", "nan", MALFORMED, "an exact number"),
        "a bound that is infinite": ("0.488441", "inf", MALFORMED, "an exact number"),
        "a bound that is a root": ("0.488441", "sqrt(1/4)", MALFORMED, "an exact number"),
        "a list of bounds": ("at_most: 0.488441", "at_most: [0.488441]", MALFORMED, "an exact number"),
        "a count of nothing": ("radius: 0.1, at_most: 5, at_least: 5", "radius: 0.1", MALFORMED, "nothing that is"),
        "a count without a radius": ("radius: 0.1, ", "", MALFORMED, "no 'radius'"),
        "a negative radius": ("radius: 0.1", "radius: -0.1", MALFORMED, "a number >= 0"),
        "a count that is no integer": ("at_most: 5", "at_most: 5.5", MALFORMED, "an integer >= 0"),
        "a negative count": ("at_most: 5", "at_most: -5", MALFORMED, "an integer >= 0"),
        "units in the last place of numbers that are written out": (
            ERROR, "  ulps: {at_most: 1}\n", MALFORMED, "an output in an array file"),
        "a log-sum-exp that nothing is said of": (OF_LSE, "", MALFORMED, "one that nothing is said of"),
        "a log-sum-exp in no file that nothing is said of": (
            f"value: {LOGARITHMS}, base: e}}\nasserts:\n{EVERYTHING}",
            f"value: {{file: no.npy, sha256: {64 * '0'}, dtype: float32, shape: [3]}}, base: e}}\nasserts:\n{ERROR}",
            MALFORMED, "one that nothing is said of"),
        "a log-sum-exp that was not returned": (LSE, "", MALFORMED, "given.lse beside it"),
        "a measure that this claim has not": (ERROR, "  deviation: {at_most: 1}\n", MALFORMED, "'deviation'"),
        "a key too few": (KEYS, "[[1, 0], [0, 1], [-1, 1/2]]", MALFORMED, "3 x 2 numbers (paired with the keys)"),
        "a value too few": (VALUES, "[[1, 2], [0, -1], [3, 0.5]]", MALFORMED, "4 x 2 numbers (paired with the keys)"),
        "a row of the output too few": (OUTPUT, "[[0.5, 0.5], [2.5, 0.25]]", MALFORMED, "3 x 2 numbers (a row for"),
        "an output of another dimension": (OUTPUT, "[[0.5], [2.5], [0.25]]", MALFORMED, "of the values' dimension"),
        "keys of another dimension": (KEYS, "[[1], [0], [-1], [2]]", MALFORMED, "4 x 2 numbers (of the queries'"),
        "a query of another dimension": (QUERIES, "[[1, 1], [-2], [0, 1/2]]", MALFORMED, "like the first row"),
        "queries by head": (QUERIES, "[[[1, 1], [-2, 0.5], [0, 1/2]]]", MALFORMED, "an exact number"),
        "no queries": (QUERIES, "[]", MALFORMED, "a list of at least one item"),
        "no tokens": (KEYS, "[]", MALFORMED, "a list of at least one item"),
        "a query without numbers": (QUERIES, "[[], [], []]", MALFORMED, "a list of at least one item"),
        "no output": (f"  output: {OUTPUT}\n", "", MALFORMED, "no 'output'"),
        "no scale": ("  scale: 1/sqrt(2)\n", "", MALFORMED, "no 'scale'"),
        "a scale of zero": ("1/sqrt(2)", "0", MALFORMED, "a factor other than 0"),
        "a logarithm too few": (LOGARITHMS, "[[1.6, 2.3]]", MALFORMED, "1 x 3 numbers (a number for each query)"),
        "logarithms in a column": (LOGARITHMS, "[[1.6], [2.3], [1.5]]", MALFORMED, "a number for each query"),
        "a vector of logarithms": (LOGARITHMS, "[1.6, 2.3, 1.5]", MALFORMED, "a list of at least one item"),
        "a base of 10": ("base: e", "base: 10", MALFORMED, "'e' or '2'"),
        "no base": (", base: e", "", MALFORMED, "no 'base'"),
        "a window without a mask": (LSE, "  window: 4\n" + LSE, MALFORMED, "a window of a causal mask"),
        "a window of no token": (LSE, "  causal: 3\n  window: 0\n" + LSE, MALFORMED, "an integer >= 1"),
        "a mask in other words": (LSE, "  causal: bottom-left\n" + LSE, MALFORMED, "an integer >= 0"),
        "a mask that is a flag": (LSE, "  causal: true\n" + LSE, MALFORMED, "an integer >= 0"),
        "a negative offset": (LSE, "  causal: -1\n" + LSE, MALFORMED, "an integer >= 0"),
        "a length too many": (LSE, "  lengths: [4, 4]\n" + LSE, MALFORMED, "1 length, one for each of the batch"),
        "a length of more tokens than there are": (LSE, "  lengths: [5]\n" + LSE, MALFORMED, "lengths of at most 4"),
        "a length of no token": (LSE, "  lengths: [0]\n" + LSE, MALFORMED, "an integer >= 1"),
        "no lengths": (LSE, "  lengths: []\n" + LSE, MALFORMED, "a list of at least one item"),
        "a length that is no list": (LSE, "  lengths: 4\n" + LSE, MALFORMED, "a list of at least one item"),
        "lengths beside sequences": (
            LSE, "  lengths: [4]\n  sequences: {queries: [3], keys: [4]}\n" + LSE, MALFORMED, "lengths, or sequences"),
        "sequences of fewer queries": (
            LSE, "  sequences: {queries: [2], keys: [4]}\n" + LSE, MALFORMED, "lengths that sum to 3, the queries"),
        "sequences of more tokens": (
            LSE, "  sequences: {queries: [3], keys: [5]}\n" + LSE, MALFORMED, "lengths that sum to 4, the keys"),
        "sequences without tokens": (
            LSE, "  sequences: {queries: [3]}\n" + LSE, MALFORMED, "no 'keys'"),
        "as many sequences of queries, and fewer of tokens": (
            LSE, "  sequences: {queries: [2, 1], keys: [4]}\n" + LSE, MALFORMED, "2 lengths, one for each sequence"),
        "an empty sequence": (
            LSE, "  sequences: {queries: [3, 0], keys: [3, 1]}\n" + LSE, MALFORMED, "an integer >= 1"),
        "a single bit": ("asserts:", "witness: {bits: 1}\nasserts:", MALFORMED, "an integer >= 2"),
        "an unknown key in the witness": ("asserts:", "witness: {rows: 2}\nasserts:", MALFORMED, "'rows'"),
        "an unknown key of the heads": (LSE, "  padding: 3\n" + LSE, MALFORMED, "the unknown key 'padding'"),
        "another claim": (NAME, "softmax-mean", MALFORMED, "'output'"),
    },
)  # fmt: skip

# -- who sees what

HIDDEN = "keys: [[1, 0], [0, 1], [-1, 1/2], [2, -1]]\n  values: [[1, 2], [0, -1], [3, 0.5], [-2, 1]]"
LAST = (HIDDEN, "keys: [[1, 0], [0, 1], [-1, 1/2], [9, 9]]\n  values: [[1, 2], [0, -1], [3, 0.5], [-9, 9]]")

TOP_LEFT = family(
    "a causal mask from the top left",
    PROMPT + "  causal: top-left\n" + LSE + "asserts:\n"
    "  error: {at_most: 2.35418, at_least: 2.35417}\n  rms: {at_most: 1.28558, at_least: 1.28557}\n"
    "  lse: {at_most: 1.78884, at_least: 1.78883}\n",
    {
        "an offset of 0": ("causal: top-left", "causal: 0"),
        "another token that nobody sees": LAST,
        "without a token that nobody sees": (
            HIDDEN, "keys: [[1, 0], [0, 1], [-1, 1/2]]\n  values: [[1, 2], [0, -1], [3, 0.5]]"),
        "a window of what is seen": ("causal: top-left", "causal: top-left\n  window: 3"),
        "a length of what is seen": ("causal: top-left", "causal: top-left\n  lengths: [3]"),
    },
    {
        "at_most one unit lower": ("2.35418", "2.35417", REFUTED, "the largest error"),
        "at_least one unit higher": ("at_least: 2.35417", "at_least: 2.35418", REFUTED, "is false"),
        "the log-sum-exp one unit lower": ("1.78884", "1.78883", REFUTED, "log-sum-exp"),
        "the root mean square one unit lower": ("1.28558", "1.28557", REFUTED, "root mean square"),
        "an offset of 1": ("causal: top-left", "causal: 1", REFUTED, "is false"),
        "aligned at the bottom right": ("top-left", "bottom-right", REFUTED, "is false"),
        "a window of two tokens": ("causal: top-left", "causal: top-left\n  window: 2", REFUTED, "is false"),
        "a length of two tokens": ("causal: top-left", "causal: top-left\n  lengths: [2]", REFUTED, "is false"),
        "no mask": ("  causal: top-left\n", "", REFUTED, "is false"),
        "keys in another order": (KEYS, "[[-1, 1/2], [0, 1], [1, 0], [2, -1]]", REFUTED, "is false"),
    },
)  # fmt: skip

WINDOW = family(
    "a window aligned at the bottom right",
    PROMPT + "  causal: bottom-right\n  window: 2\n" + LSE + "asserts:\n"
    "  error: {at_most: 0.897801, at_least: 0.897800}\n  relative: {at_most: 0.673362, at_least: 0.673361}\n"
    "  lse: {at_most: 0.860490, at_least: 0.860489}\n  beyond: {radius: 0.5, at_most: 1, at_least: 1}\n",
    {"the offset as a number": ("bottom-right", "1")},
    {
        "at_most one unit lower": ("0.897801", "0.897800", REFUTED, "the largest error"),
        "the relative error one unit lower": ("0.673362", "0.673361", REFUTED, "|T|_2"),
        "the log-sum-exp one unit lower": ("0.860490", "0.860489", REFUTED, "log-sum-exp"),
        "one entry fewer": ("at_most: 1,", "at_most: 0,", REFUTED, "more than 0.5"),
        "a window of one token": ("window: 2", "window: 1", REFUTED, "is false"),
        "a window of three tokens": ("window: 2", "window: 3", REFUTED, "is false"),
        "no window": ("  window: 2\n", "", REFUTED, "is false"),
        "aligned at the top left": ("bottom-right", "top-left", REFUTED, "is false"),
        "the window of a causal mask that lies beyond the tokens": (
            "causal: bottom-right", "causal: 4", MALFORMED, "under which every query sees a token"),
        "more queries than tokens in a batch": (
            "window: 2", "window: 2\n  lengths: [2]", MALFORMED, "query 0, which sees none"),
    },
)  # fmt: skip

SEQUENCES = family(
    "packed sequences, each causal from the bottom right",
    PROMPT + "  causal: bottom-right\n  sequences: {queries: [1, 2], keys: [1, 3]}\n" + LSE + "asserts:\n"
    "  error: {at_most: 3/2, at_least: 3/2}\n  rms: {at_most: 0.744200, at_least: 0.744199}\n"
    "  lse: {at_most: 0.892894, at_least: 0.892893}\n",
    {"the offset as a number": ("bottom-right", "1")},
    {
        "at_most just below": ("at_most: 3/2", "at_most: 1.49999999999999999999", REFUTED, "the largest error"),
        "at_least just above": ("at_least: 3/2", "at_least: 1.50000000000000000001", REFUTED, "is false"),
        "the root mean square one unit lower": ("0.744200", "0.744199", REFUTED, "root mean square"),
        "the log-sum-exp one unit lower": ("0.892894", "0.892893", REFUTED, "log-sum-exp"),
        "no mask within": ("  causal: bottom-right\n", "", REFUTED, "root mean square"),
        "cut elsewhere": ("keys: [1, 3]", "keys: [2, 2]", REFUTED, "is false"),
        "queries cut elsewhere": (
            "queries: [1, 2], keys: [1, 3]", "queries: [2, 1], keys: [2, 2]", REFUTED, "is false"),
        "one sequence": ("queries: [1, 2], keys: [1, 3]", "queries: [3], keys: [4]", REFUTED, "is false"),
        "a sequence of fewer tokens than queries": (
            "keys: [1, 3]", "keys: [3, 1]", MALFORMED, "query 1, which sees none"),
        "exchanged": ("queries: [1, 2], keys: [1, 3]", "queries: [2, 1], keys: [3, 1]", REFUTED, "is false"),
    },
)  # fmt: skip

PACKED = family(
    "packed sequences with a window and an offset",
    PROMPT + "  causal: 1\n  window: 2\n  sequences: {queries: [2, 1], keys: [2, 2]}\nasserts:\n"
    "  error: {at_most: 5/2, at_least: 2.5}\n  rms: {at_most: 1.19881, at_least: 1.19880}\n",
    {"less sharply": ("1.19881", "1.2")},
    {
        "at_most just below": ("at_most: 5/2", "at_most: 2.49999999999999999999", REFUTED, "the largest error"),
        "the root mean square one unit lower": ("1.19881", "1.19880", REFUTED, "root mean square"),
        "a window of one token": (
            "window: 2", "window: 1", MALFORMED, "query 1, which sees none"),
        "no offset": ("causal: 1", "causal: 0", REFUTED, "is false"),
        "nothing asserted": (
            "  error: {at_most: 5/2, at_least: 2.5}\n  rms: {at_most: 1.19881, at_least: 1.19880}\n", "  {}\n",
            MALFORMED, "nothing that is asserted"),
        "no sequences": ("  sequences: {queries: [2, 1], keys: [2, 2]}\n", "", REFUTED, "is false"),
    },
)  # fmt: skip

ONE_TOKEN = family(
    "a query that sees one token: its value, exactly",
    """
given:
  queries: [[3], [700]]
  keys: [[5], [-700]]
  values: [[1/3, -2], [7, 8]]
  output: [[1/3, -2], [1/3, -2]]
  scale: 7
  lengths: [1]
  lse: {value: [[105, 24500]], base: e}
asserts:
  error: {at_most: 0}
  relative: {at_most: 0}
  rms: {at_most: 0, at_least: 0}
  lse: {at_most: 0}
  beyond: {radius: 0, at_most: 0}
""",
    {"a causal mask beside the length": ("lengths: [1]", "lengths: [1]\n  causal: top-left")},
    {
        "off by little": ("[1/3, -2], [1/3, -2]]\n  scale", "[1/3, -2], [0.333333, -2]]\n  scale", REFUTED, "is false"),
        "another value": ("values: [[1/3, -2]", "values: [[1/3, -2.1]", REFUTED, "is false"),
        # What is off by e^-14805 is off, and is not 0 by 4096 bits.
        "both tokens": ("lengths: [1]", "lengths: [2]", INCONCLUSIVE, "still undecided"),
        "an error, however small": ("error: {at_most: 0}", "error: {at_least: 1e-300}", REFUTED, "is false"),
        "another logarithm": ("24500]]", "24501]]", REFUTED, "log-sum-exp"),
        "a logarithm to base 2": ("base: e", "base: 2", REFUTED, "log-sum-exp"),
        "an output entry beyond 0": (
            "beyond: {radius: 0, at_most: 0}", "beyond: {radius: 0, at_least: 1}", REFUTED, "is false"),
    },
)  # fmt: skip

# -- array files


def heads(name: str, dtype: str, shape: str, **others: str) -> str:
    return array("heads.npz", dtype, shape, array=f"heads-{name}", **others)


Q, K = heads("q", "float16", "[2, 4, 3, 2]"), heads("k", "float16", "[2, 2, 5, 2]")
V, O = heads("v", "float32", "[2, 2, 5, 2]"), heads("o", "float16", "[2, 4, 3, 2]")  # noqa: E741
L = heads("l", "float32", "[2, 4, 3]")
O64 = heads("o64", "float64", "[2, 4, 3, 2]")
MASK = f"\n  scale: 1/2\n  causal: bottom-right\n  window: 3\n  lse: {{value: {L}, base: e}}\nasserts:\n"
WORST = """  error: {at_most: 0.00767921, at_least: 0.00767920}
  relative: {at_most: 0.0227851, at_least: 0.0227850}
"""
IN_HALVES, IN_DOUBLES = (
    f"  ulps: {{at_most: {most}, at_least: {least}}}\n"
    for most, least in (("62.9081", "62.9080"), ("276673e9", "276672e9"))
)
ARRAYS = family(
    "two batches of grouped heads in array files",
    f"""
given:
  queries: {Q}
  keys: {K}
  values: {V}
  output: {O}{MASK}{WORST}{IN_HALVES}  rms: {{at_most: 0.00575971, at_least: 0.00575970}}
  lse: {{at_most: 0.000482103, at_least: 0.000482102}}
  beyond: {{radius: 0, at_most: 48, at_least: 48}}
""",
    {
        "the same numbers as doubles": (f"{O}{MASK}{WORST}{IN_HALVES}", f"{O64}{MASK}{WORST}{IN_DOUBLES}"),
        "the offset as a number": ("bottom-right", "2"),
        "lengths of all tokens": ("window: 3", "window: 3\n  lengths: [5, 5]"),
        "only the log-sum-exps": (
            f"{WORST}{IN_HALVES}  rms: {{at_most: 0.00575971, at_least: 0.00575970}}\n"
            "  lse: {at_most: 0.000482103, at_least: 0.000482102}\n"
            "  beyond: {radius: 0, at_most: 48, at_least: 48}\n", "  lse: {at_most: 0.000482103}\n"),
    },
    {
        "at_most of the error one unit lower": ("0.00767921", "0.00767920", REFUTED, "in batch 0, head 1"),
        "at_least of the error one unit higher": (
            "at_least: 0.00767920", "at_least: 0.00767921", REFUTED, "worst head"),
        "at_most of the relative error one unit lower": ("0.0227851", "0.0227850", REFUTED, "in batch 1, head 1"),
        "at_most of the units one lower": ("62.9081", "62.9080", REFUTED, "in batch 1, head 2"),
        "at_least of the units one higher": ("at_least: 62.9080", "at_least: 62.9081", REFUTED, "worst head"),
        "at_most of the root mean square one unit lower": ("0.00575971", "0.00575970", REFUTED, "in batch 0, head 1"),
        "at_most of the log-sum-exp one unit lower": ("0.000482103", "0.000482102", REFUTED, "in batch 1, head 1"),
        "one entry fewer": ("at_most: 48", "at_most: 47", REFUTED, "entries that are off by more than 0"),
        "one entry more": ("at_least: 48", "at_least: 49", REFUTED, "entries that are off by more than 0"),
        "one entry of one head is off": (
            heads("o", "float16", "[2, 4, 3, 2]"), heads("o-moved", "float16", "[2, 4, 3, 2]"), REFUTED,
            "worst entry: 8 at batch 1, head 2, query 0, coordinate 1"),
        "an output with a NaN": (
            O, heads("o-nan", "float16", "[2, 4, 3, 2]"), REFUTED, "a NaN at [1, 2, 0, 1] (counted from 0)"),
        "an output with an infinity": (
            O, heads("o-infinite", "float16", "[2, 4, 3, 2]"), REFUTED, "an infinity at [1, 2, 0, 1]"),
        "the output as doubles, in units of theirs": (
            O, O64, REFUTED, "units in the last place"),
        "units of integers": (O, heads("o8", "int8", "[2, 4, 3, 2]"), MALFORMED, "an output of int8"),
        "batches of the output exchanged, as rows of one": (
            O, heads("o", "float16", "[2, 4, 3, 2]", rows="0:1"), MALFORMED, "2 x 4 x 3 x 2 numbers"),
        "one batch of keys": (K, heads("k", "float16", "[2, 2, 5, 2]", rows="0:1"), MALFORMED, "a batch of 2"),
        "queries as output": (O, Q, REFUTED, "is false"),
        "queries and keys exchanged": (f"queries: {Q}\n  keys: {K}", f"queries: {K}\n  keys: {Q}", MALFORMED,
                                      "divides 2"),
        "a window of two tokens": ("window: 3", "window: 2", REFUTED, "is false"),
        "a length of fewer tokens": ("window: 3", "window: 3\n  lengths: [5, 4]", REFUTED, "is false"),
        "one length for two batches": ("window: 3", "window: 3\n  lengths: [5]", MALFORMED, "2 lengths"),
        "a matrix of keys": (K, heads("q", "float16", "[2, 4, 3, 2]").replace("[2, 4, 3, 2]", "[6, 8]"), MALFORMED,
                             "4 dimensions, like the queries"),
        "five axes": (Q, Q.replace("[2, 4, 3, 2]", "[1, 2, 4, 3, 2]"), MALFORMED, "two extents (rows, columns), or"),
        "logarithms of one batch": (L, heads("l", "float32", "[2, 4, 3]", rows="0:1"), MALFORMED, "2 x 4 x 3 numbers"),
        "a logarithm that is a NaN": (L, heads("l-nan", "float32", "[2, 4, 3]"), MALFORMED, "a NaN at [0, 0, 0]"),
        "logarithms with a number for each coordinate": (L, O, MALFORMED, "one extent, or two or three"),
        "another hash": (V, V.replace("sha256: ", "sha256: 0"), MALFORMED, "sha256"),
        "another shape in the file": (V, V.replace("[2, 2, 5, 2]", "[2, 2, 5, 1]"), MALFORMED, "2 x 4 x 3 x 1 numbers"),
        "another number type": (V, V.replace("float32", "float64"), MALFORMED, "dtype float32 in the file"),
        "queries with a NaN": (
            Q, heads("o-nan", "float16", "[2, 4, 3, 2]"), MALFORMED, "a NaN at [1, 2, 0, 1] (counted from 0)"),
    },
)  # fmt: skip

INTEGERS = family(
    "an output of integers",
    f"""
given:
  queries: {Q}
  keys: {K}
  values: {V}
  output: {heads("o8", "int8", "[2, 4, 3, 2]")}
  scale: 1/2
  causal: 2
  window: 3
asserts:
  error: {{at_most: 0.494942, at_least: 0.494941}}
  beyond: {{radius: 0.01, at_most: 47, at_least: 47}}
""",
    {"less sharply": ("0.494942", "1/2")},
    {
        "at_most one unit lower": ("0.494942", "0.494941", REFUTED, "in batch 1, head 3"),
        "one entry fewer": ("at_most: 47", "at_most: 46", REFUTED, "more than 0.01"),
        "one entry more": ("at_least: 47", "at_least: 48", REFUTED, "more than 0.01"),
    },
)


def one(name: str, units: str = "1") -> str:
    """An output for one token, and how far it is off."""
    output = heads(f"one-{name}", "float16", "[1, 4]")
    return f"{output}\n  scale: 1\nasserts:\n  ulps: {{at_most: {units}, at_least: {units}}}"


HALF = one("o", "1/2")
UNITS = family(
    "units in the last place of one token: at 1, below 1, of a subnormal number and of 0",
    f"""
given:
  queries: {heads("one-q", "float16", "[1, 1]")}
  keys: {heads("one-q", "float16", "[1, 1]")}
  values: {heads("one-v", "float64", "[1, 4]")}
  output: {HALF}
""",
    {
        "one unit at 1": (HALF, one("at-one")),
        "one unit below 1, which is half as large": (HALF, one("below-one")),
        "one unit at 0": (HALF, one("at-zero")),
    },
    {
        "less than half a unit": ("at_most: 1/2", "at_most: 0.4999999999999999999", REFUTED, "in the last place"),
        "more than half a unit": ("at_least: 1/2", "at_least: 0.50000000000000000001", REFUTED, "is false"),
        "an output beside 1": ("array: heads-one-o}", "array: heads-one-at-one}", REFUTED, "is false"),
        "an output above what is below 1": ("array: heads-one-o}", "array: heads-one-below-one}", REFUTED, "is false"),
        "an output below 0": ("array: heads-one-o}", "array: heads-one-at-zero}", REFUTED, "is false"),
        "units of doubles": (
            heads("one-o", "float16", "[1, 4]"), heads("one-v", "float64", "[1, 4]"), REFUTED, "is false"),
    },
)  # fmt: skip


def eights(name: str, dtype: str = "float8_e4m3fn", shape: str = "[4, 3, 2]") -> str:
    return array("eights.safetensors", dtype, shape, array=name)


EIGHTS = family(
    "four heads of eight bits",
    f"""
given:
  queries: {eights("q")}
  keys: {eights("k", shape="[2, 5, 2]")}
  values: {eights("v", shape="[2, 5, 2]")}
  output: {eights("o")}
  scale: 0.5
asserts:
  error: {{at_most: 0.0601850, at_least: 0.0601849}}
  ulps: {{at_most: 11.7781, at_least: 11.7780}}
  beyond: {{radius: 0.01, at_most: 22, at_least: 22}}
""",
    {
        "of the other type": (
            f"{eights('o')}\n  scale: 0.5\nasserts:\n  error: {{at_most: 0.0601850, at_least: 0.0601849}}\n"
            "  ulps: {at_most: 11.7781, at_least: 11.7780}",
            f"{eights('halves', 'float8_e5m2')}\n  scale: 0.5\nasserts:\n"
            "  error: {at_most: 0.223205, at_least: 0.223204}\n  ulps: {at_most: 7.16856, at_least: 7.16855}"),
    },
    {
        "at_most one unit lower": ("0.0601850", "0.0601849", REFUTED, "in batch 0, head 2"),
        "units one lower": ("11.7781", "11.7780", REFUTED, "in batch 0, head 0"),
        "units one higher": ("at_least: 11.7780", "at_least: 11.7781", REFUTED, "worst head"),
        "one entry fewer": ("at_most: 22", "at_most: 21", REFUTED, "more than 0.01"),
        "an output with a NaN": (eights("o"), eights("nan"), REFUTED, "a NaN at [0, 2, 1] (counted from 0)"),
        "an output with an infinity": (
            eights("o"), eights("halves-infinite", "float8_e5m2"), REFUTED, "an infinity at [3, 2, 1]"),
        "keys with a NaN": (
            f"queries: {eights('q')}", f"queries: {eights('nan')}", MALFORMED, "a NaN at [0, 2, 1]"),
        "the other type": (eights("o"), eights("o", "float8_e5m2"), MALFORMED, "dtype float8_e4m3fn in the file"),
        "three heads": (eights("q"), eights("q")[:-1] + ", rows: 0:3}", MALFORMED, "a number of heads that divides 3"),
        "two heads": (eights("q"), eights("q")[:-1] + ", rows: 0:2}", MALFORMED, "2 x 3 x 2 numbers (a row for each"),
        "a causal mask": ("scale: 0.5", "scale: 0.5\n  causal: 3", REFUTED, "is false"),
        "heads of values that are queries": (
            f"values: {eights('v', shape='[2, 5, 2]')}", f"values: {eights('k', shape='[2, 5, 2]')}", REFUTED,
            "is false"),
    },
)  # fmt: skip

# -- what is done to scores, masks that are stated, and who sees nothing


def rules(name: str, dtype: str, shape: str, **others: str) -> str:
    return array("rules.npz", dtype, shape, array=f"rules-{name}", **others)


CAP = family(
    "a soft cap",
    PROMPT + "  soft_cap: 1.5\n" + LSE + "asserts:\n  error: {at_most: 0.660980, at_least: 0.660979}\n"
    "  relative: {at_most: 0.761062, at_least: 0.761061}\n  lse: {at_most: 0.645619, at_least: 0.645618}\n",
    {
        "a mask that hides nothing": ("  soft_cap", "  causal: 3\n  soft_cap"),
        "a slope of 0": ("  soft_cap", "  alibi: [0]\n  soft_cap"),
    },
    {
        "at_most one unit lower": ("0.660980", "0.660979", REFUTED, "the largest error"),
        "at_least one unit higher": ("at_least: 0.660979", "at_least: 0.660980", REFUTED, "is false"),
        "the log-sum-exp one unit lower": ("0.645619", "0.645618", REFUTED, "log-sum-exp"),
        "another cap": ("soft_cap: 1.5", "soft_cap: 1.4", REFUTED, "is false"),
        "a cap that is hardly felt": ("soft_cap: 1.5", "soft_cap: 1e9", REFUTED, "is false"),
        "no cap": ("  soft_cap: 1.5\n", "", REFUTED, "is false"),
        "a cap of 0": ("soft_cap: 1.5", "soft_cap: 0", MALFORMED, "a number > 0"),
        "a negative cap": ("soft_cap: 1.5", "soft_cap: -1.5", MALFORMED, "a number > 0"),
        "a cap for each head": ("soft_cap: 1.5", "soft_cap: [1.5]", MALFORMED, "an exact number"),
        "the scale in the cap": ("scale: 1/sqrt(2)\n  soft_cap: 1.5", "scale: 1\n  soft_cap: 1.5", REFUTED, "is false"),
    },
)  # fmt: skip

ALIBI = family(
    "a slope, under a causal mask",
    PROMPT + "  alibi: [1/4]\n  causal: 1\n" + LSE + "asserts:\n  error: {at_most: 0.375453, at_least: 0.375452}\n"
    "  rms: {at_most: 0.222161, at_least: 0.222160}\n  lse: {at_most: 0.481085, at_least: 0.481084}\n",
    {
        "aligned at the bottom right": ("causal: 1", "causal: bottom-right"),
        "one sequence": ("causal: 1", "causal: 1\n  sequences: {queries: [3], keys: [4]}"),
    },
    {
        "at_most one unit lower": ("0.375453", "0.375452", REFUTED, "the largest error"),
        "the root mean square one unit lower": ("0.222161", "0.222160", REFUTED, "root mean square"),
        "the log-sum-exp one unit lower": ("0.481085", "0.481084", REFUTED, "log-sum-exp"),
        "the log-sum-exp one unit higher": ("at_least: 0.481084", "at_least: 0.481085", REFUTED, "is false"),
        "another slope": ("[1/4]", "[1/5]", REFUTED, "is false"),
        "a slope of the other sign": ("[1/4]", "[-1/4]", REFUTED, "is false"),
        "no slope": ("  alibi: [1/4]\n", "", REFUTED, "is false"),
        "distances from another diagonal, which log Z sees": ("causal: 1", "causal: 2", REFUTED, "is false"),
        "no mask": ("  causal: 1\n", "", REFUTED, "is false"),
        "a slope too many": ("[1/4]", "[1/4, 1/4]", MALFORMED, "1 numbers (a number for each query head)"),
        "a slope that is no list": ("[1/4]", "1/4", MALFORMED, "a vector"),
    },
)  # fmt: skip

BOTH_WAYS = family(
    "a slope to both sides, without a mask",
    PROMPT + "  alibi: [1/4]\n" + LSE + "asserts:\n  relative: {at_most: 0.705114, at_least: 0.705113}\n"
    "  lse: {at_most: 0.475856, at_least: 0.475855}\n",
    {"a length of all tokens": ("alibi: [1/4]", "alibi: [1/4]\n  lengths: [4]")},
    {
        "the relative error one unit lower": ("0.705114", "0.705113", REFUTED, "|T|_2"),
        "the log-sum-exp one unit lower": ("0.475856", "0.475855", REFUTED, "log-sum-exp"),
        "the token before has the distance of the token after": (KEYS, "[[0, 1], [1, 0], [-1, 1/2], [2, -1]]", REFUTED,
                                                                "is false"),
    },
)  # fmt: skip

SINK = family(
    "a sink",
    PROMPT + "  sinks: [0.5]\n" + LSE + "asserts:\n  error: {at_most: 0.699152, at_least: 0.699151}\n"
    "  relative: {at_most: 0.939996, at_least: 0.939995}\n  lse: {at_most: 0.532420, at_least: 0.532419}\n",
    {
        "a token with its score and the value 0, in its place": (
            f"queries: {QUERIES}\n  keys: {KEYS}\n  values: {VALUES}\n  output: {OUTPUT}\n  scale: 1/sqrt(2)\n"
            "  sinks: [0.5]",
            "queries: [[1, 1, 1], [-2, 0.5, 1], [0, 1/2, 1]]\n"
            "  keys: [[1, 0, 0], [0, 1, 0], [-1, 1/2, 0], [2, -1, 0], [0, 0, 0.707106781186547524400844362104849]]\n"
            f"  values: [[1, 2], [0, -1], [3, 0.5], [-2, 1], [0, 0]]\n  output: {OUTPUT}\n  scale: 1/sqrt(2)"),
    },
    {
        "at_most one unit lower": ("0.699152", "0.699151", REFUTED, "the largest error"),
        "the log-sum-exp one unit lower": ("0.532420", "0.532419", REFUTED, "log-sum-exp"),
        "another sink": ("[0.5]", "[0.6]", REFUTED, "is false"),
        "a sink without weight": ("[0.5]", "[-1e4]", REFUTED, "is false"),
        "no sink": ("  sinks: [0.5]\n", "", REFUTED, "is false"),
        "a sink for each query": ("[0.5]", "[0.5, 0.5, 0.5]", MALFORMED, "1 numbers (a number for each query head)"),
        "a sink that is a root": ("[0.5]", "[sqrt(1/4)]", MALFORMED, "an exact number"),
    },
)  # fmt: skip

ALL_RULES = family(
    "a soft cap, a slope and a sink, under a causal mask",
    PROMPT + "  soft_cap: 1.5\n  alibi: [1/4]\n  sinks: [0.5]\n  causal: 1\n" + LSE
    + "asserts:\n  error: {at_most: 0.895285, at_least: 0.895284}\n"
    "  rms: {at_most: 0.444750, at_least: 0.444749}\n  lse: {at_most: 0.475065, at_least: 0.475064}\n",
    {"less sharply": ("0.895285", "0.9")},
    {
        "at_most one unit lower": ("0.895285", "0.895284", REFUTED, "the largest error"),
        "the log-sum-exp one unit lower": ("0.475065", "0.475064", REFUTED, "log-sum-exp"),
        "the sink as a slope": ("alibi: [1/4]\n  sinks: [0.5]", "alibi: [0.5]\n  sinks: [1/4]", REFUTED, "is false"),
        "the cap left out": ("  soft_cap: 1.5\n", "", REFUTED, "is false"),
        "the slope left out": ("  alibi: [1/4]\n", "", REFUTED, "is false"),
        "the sink left out": ("  sinks: [0.5]\n", "", REFUTED, "is false"),
    },
)  # fmt: skip

ROWS = "[[1, 0, 1, 0], [0, 1, 1, 1], [1, 1, 0, 0]]"
STATED_MASK = family(
    "a mask that is written out",
    PROMPT + f"  mask: {ROWS}\n" + LSE + "asserts:\n  error: {at_most: 1.11423, at_least: 1.11422}\n"
    "  relative: {at_most: 1.12932, at_least: 1.12931}\n  lse: {at_most: 0.614532, at_least: 0.614531}\n",
    {
        "a causal mask that hides nothing": ("  mask", "  causal: 3\n  mask"),
        "another token that nobody sees": (
            f"{HIDDEN}\n  output: {OUTPUT}\n  scale: 1/sqrt(2)\n  mask: {ROWS}",
            "keys: [[1, 0], [0, 1], [-1, 1/2], [2, -1], [9, 9]]\n  values: [[1, 2], [0, -1], [3, 0.5], [-2, 1], [9, 9]]"
            f"\n  output: {OUTPUT}\n  scale: 1/sqrt(2)\n"
            "  mask: [[1, 0, 1, 0, 0], [0, 1, 1, 1, 0], [1, 1, 0, 0, 0]]"),
    },
    {
        "at_most one unit lower": ("1.11423", "1.11422", REFUTED, "the largest error"),
        "the relative error one unit lower": ("1.12932", "1.12931", REFUTED, "|T|_2"),
        "the log-sum-exp one unit lower": ("0.614532", "0.614531", REFUTED, "log-sum-exp"),
        "a token more": (ROWS, "[[1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 0]]", REFUTED, "is false"),
        "a token less": (ROWS, "[[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]", REFUTED, "is false"),
        "rows exchanged": (ROWS, "[[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]]", REFUTED, "is false"),
        "what is hidden in place of what is seen": (
            ROWS, "[[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]]", REFUTED, "is false"),
        "no mask": (f"  mask: {ROWS}\n", "", REFUTED, "is false"),
        "a causal mask beside it": ("  mask", "  causal: 1\n  mask", REFUTED, "is false"),
        "a query that sees nothing": (
            ROWS, "[[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0]]", MALFORMED, "query 1, which sees none"),
        "a query that sees nothing under both masks": (
            "  mask: [[1, 0", "  causal: top-left\n  mask: [[0, 1", MALFORMED, "query 0, which sees none"),
        "another number": (ROWS, "[[1, 0, 1, 0], [0, 2, 1, 1], [1, 1, 0, 0]]", MALFORMED, "a mask of 0 and 1"),
        "half a token": (ROWS, "[[1, 0, 1, 0], [0, 1, 1, 1], [1, 1/2, 0, 0]]", MALFORMED, "a mask of 0 and 1"),
        "words": (ROWS, "[[true, false, true, false]]", MALFORMED, "an exact number"),
        "a row too few": (ROWS, "[[1, 0, 1, 0], [0, 1, 1, 1]]", MALFORMED, "a mask of 3 x 4"),
        "a column too few": (ROWS, "[[1, 0, 1], [0, 1, 1], [1, 1, 0]]", MALFORMED, "a mask of 3 x 4"),
        "one row for all queries": (ROWS, "[[1, 0, 1, 0]]", MALFORMED, "a mask of 3 x 4"),
    },
)  # fmt: skip

NOTHING = "[[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0]]"
EXPECTED = f"  mask: {NOTHING}\n  empty: zero\n"
OF_EMPTY = """asserts:
  error: {at_most: 2.5, at_least: 2.5}
  rms: {at_most: 1.21601, at_least: 1.21600}
  lse: {at_most: 0.614532, at_least: 0.614531}
"""
EMPTY = family(
    "a query that sees nothing, of which 0 is expected",
    PROMPT + EXPECTED + LSE + OF_EMPTY,
    {
        "another logarithm of that query": ("2.3, 1.5", "-7000, 1.5"),
        "an output of 0, as is expected": (
            f"[2.5, 0.25], [0.25, 3/4]]\n  scale: 1/sqrt(2)\n{EXPECTED}{LSE}{OF_EMPTY}",
            f"[0, 0], [0.25, 3/4]]\n  scale: 1/sqrt(2)\n{EXPECTED}asserts:\n"
            "  error: {at_most: 1.11423, at_least: 1.11422}\n  relative: {at_most: 1.12932, at_least: 1.12931}\n"),
    },
    {
        "at_most just below": ("at_most: 2.5", "at_most: 2.49999999999999999", REFUTED, "the largest error"),
        "at_least just above": ("at_least: 2.5", "at_least: 2.50000000000000001", REFUTED, "is false"),
        "the log-sum-exp of the others one unit lower": ("0.614532", "0.614531", REFUTED, "log-sum-exp"),
        "nothing is expected of it": ("  empty: zero\n", "", MALFORMED, "query 1, which sees none"),
        "a NaN is expected": ("empty: zero", "empty: nan", MALFORMED, "'zero'"),
        "a number is expected": ("empty: zero", "empty: 0", MALFORMED, "'zero'"),
        "all is seen": (f"  mask: {NOTHING}\n", "", REFUTED, "is false"),
        "the relative error of what should be 0": (
            "rms: {at_most: 1.21601, at_least: 1.21600}", "relative: {at_most: 5}", INCONCLUSIVE, "still undecided"),
    },
)  # fmt: skip

ONLY_A_SINK = family(
    "a query that sees nothing but a sink",
    PROMPT + f"  mask: {NOTHING}\n  sinks: [0.5]\n" + LSE.replace("2.3", "2.25") + "asserts:\n"
    "  error: {at_most: 2.5, at_least: 2.5}\n"
    "  rms: {at_most: 1.09063, at_least: 1.09062}\n  lse: {at_most: 1.75, at_least: 1.75}\n",
    {"0 is expected, too": ("  sinks", "  empty: zero\n  sinks")},
    {
        "the log-sum-exp just below": ("at_most: 1.75", "at_most: 1.74999999999999999", REFUTED, "log-sum-exp"),
        "another sink": ("[0.5]", "[0.4]", REFUTED, "is false"),
        "the root mean square one unit lower": ("1.09063", "1.09062", REFUTED, "root mean square"),
    },
)  # fmt: skip

GIVEN_ARRAYS = f"""
given:
  queries: {Q}
  keys: {K}
  values: {V}
  output: {O}
  scale: 1/2
  lse: {{value: {L}, base: e}}
  causal: bottom-right
"""
BY_BATCH, BY_HEAD = rules("mask", "uint8", "[2, 1, 3, 5]"), rules("full", "uint8", "[2, 4, 3, 5]")
SLOPES, SINKS = rules("alibi", "float16", "[4]"), rules("sinks", "float32", "[4]")
OF_MASK = """asserts:
  error: {at_most: 2.66866, at_least: 2.66865}
  relative: {at_most: 2.15533, at_least: 2.15532}
  ulps: {at_most: 22933.7, at_least: 22933.6}
  rms: {at_most: 1.35958, at_least: 1.35957}
  lse: {at_most: 2.25208, at_least: 2.25207}
  beyond: {radius: 0.1, at_most: 36, at_least: 36}
"""
MASKS = family(
    "masks in array files",
    GIVEN_ARRAYS + f"  mask: {BY_HEAD}\n" + OF_MASK,
    {
        "a mask by batch, under which a query sees nothing": (
            f"mask: {BY_HEAD}\n{OF_MASK}", f"""empty: zero
  mask: {BY_BATCH}
asserts:
  error: {{at_most: 2.66866, at_least: 2.66865}}
  ulps: {{at_most: 25690112, at_least: 25690112}}
  rms: {{at_most: 1.35958, at_least: 1.35957}}
  lse: {{at_most: 2.25208, at_least: 2.25207}}
  beyond: {{radius: 0.1, at_most: 37, at_least: 37}}
"""),
        "one of wider integers": (BY_HEAD, rules("bytes", "int16", "[2, 4, 3, 5]")),
    },
    {
        "at_most of the error one unit lower": ("2.66866", "2.66865", REFUTED, "in batch 0, head 2"),
        "at_most of the units one lower": ("22933.7", "22933.6", REFUTED, "in batch 1, head 1"),
        "at_most of the log-sum-exp one unit lower": ("2.25208", "2.25207", REFUTED, "in batch 0, head 2"),
        "one entry fewer": ("at_most: 36", "at_most: 35", REFUTED, "more than 0.1"),
        "a mask of one batch for both": (BY_HEAD, rules("full", "uint8", "[2, 4, 3, 5]", rows="0:1"), REFUTED,
                                         "is false"),
        "a query that sees nothing": (BY_HEAD, BY_BATCH, MALFORMED, "query 2, which sees none"),
        "another number than 0 and 1": (BY_HEAD, rules("two", "uint8", "[2, 4, 3, 5]"), MALFORMED, "a mask of 0 and 1"),
        "a mask of two heads": (BY_HEAD, rules("heads-of-two", "uint8", "[2, 2, 3, 5]"), MALFORMED,
                                "a mask of 3 x 5, for all heads, or 2 x 4 of them"),
        "a mask of four tokens": (BY_HEAD, rules("four-tokens", "uint8", "[2, 4, 3, 4]"), MALFORMED, "a mask of 3 x 5"),
        "a mask of floats": (BY_HEAD, rules("full", "float16", "[2, 4, 3, 5]"), MALFORMED, "dtype uint8 in the file"),
        "a vector": (BY_HEAD, SLOPES, MALFORMED, "two extents"),
    },
)  # fmt: skip

OF_RULES = f"""  soft_cap: 0.75
  alibi: {SLOPES}
  sinks: {SINKS}
asserts:
"""
MASKED_RULES = f"""  causal: bottom-right
  mask: {BY_BATCH}
{OF_RULES}  error: {{at_most: 1.57103, at_least: 1.57102}}
  ulps: {{at_most: 25690112, at_least: 25690112}}
  rms: {{at_most: 1.00724, at_least: 1.00723}}
  lse: {{at_most: 3.01368, at_least: 3.01367}}
  beyond: {{radius: 0.1, at_most: 42, at_least: 42}}
"""
RULES = family(
    "soft caps, slopes, sinks and masks in array files",
    GIVEN_ARRAYS.replace("  causal: bottom-right\n", "") + MASKED_RULES,
    {
        "without masks": (MASKED_RULES, f"""{OF_RULES}  error: {{at_most: 1.43264, at_least: 1.43263}}
  relative: {{at_most: 72.8080, at_least: 72.8079}}
  ulps: {{at_most: 1178355.2, at_least: 1178355}}
  rms: {{at_most: 0.932314, at_least: 0.932313}}
  lse: {{at_most: 1.97309, at_least: 1.97308}}
  beyond: {{radius: 0.1, at_most: 46, at_least: 46}}
"""),
        "slopes and sinks that are written out": (
            f"alibi: {SLOPES}\n  sinks: {SINKS}", "alibi: [1, 1/2, 1/4, 1/8]\n  sinks: [1/2, -1, 3, 0]"),
    },
    {
        "at_most of the error one unit lower": ("1.57103", "1.57102", REFUTED, "in batch 0, head 2"),
        "at_most of the root mean square one unit lower": ("1.00724", "1.00723", REFUTED, "in batch 0, head 2"),
        "at_most of the log-sum-exp one unit lower": ("3.01368", "3.01367", REFUTED, "in batch 1, head 1"),
        "one entry fewer": ("at_most: 42", "at_most: 41", REFUTED, "more than 0.1"),
        "slopes as sinks": (f"alibi: {SLOPES}\n  sinks: {SINKS}", f"alibi: {SINKS}\n  sinks: {SLOPES}", REFUTED,
                            "is false"),
        "slopes of two heads": (SLOPES, rules("alibi-of-two", "float16", "[2]"), MALFORMED,
                                "4 numbers (a number for each query head)"),
        "slopes by batch": (SLOPES, L, MALFORMED, "one extent (a vector)"),
        "another cap": ("soft_cap: 0.75", "soft_cap: 0.76", REFUTED, "is false"),
        "no mask": (f"  mask: {BY_BATCH}\n", "", REFUTED, "is false"),
    },
)  # fmt: skip

FAMILIES: list[Family] = [
    WHOLE, TOP_LEFT, WINDOW, SEQUENCES, PACKED, ONE_TOKEN, ARRAYS, INTEGERS, UNITS, EIGHTS, CAP, ALIBI, BOTH_WAYS, SINK,
    ALL_RULES, STATED_MASK, EMPTY, ONLY_A_SINK, MASKS, RULES,
]  # fmt: skip
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
