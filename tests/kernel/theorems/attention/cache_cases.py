"""Accept and reject cases of `cache-error`, in titled families.

Bounds are the true numbers rounded outwards in the sixth digit, or the numbers themselves where they are short: one
unit less (or more) is false.
"""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Case, Family, array

NAME = "cache-error"
family = partial(Family, NAME)

QUERIES = "[[1, 1], [-2, 0.5], [0, 1/2]]"
KEYS = "[[1, 0], [0, 1], [-1, 1/2], [2, -1]]"
VALUES = "[[1, 2], [0, -1], [3, 0.5], [-2, 1]]"
PROMPT = f"""
given:
  queries: {QUERIES}
  keys: {KEYS}
  values: {VALUES}
  scale: 1/sqrt(2)
"""
CODES = "[[5, 2], [0, 3], [9, -1]]"
STEPS = f"{{codes: {CODES}, scale: [[1/4, 0.5]], zero: [[4, 1]], offset: [[1/8], [0], [0.25]]}}"
CACHED = "[[1, 2], [3, 1/2], [-2, 1]]"
TIMES = "[[1, 3/2, 2]]"
CACHE = f"""  cache:
    kept: [[0, 2, 3]]
    keys: {STEPS}
    values: {CACHED}
    multiplicities: {TIMES}
"""
ERROR = "  error: {at_most: 0.602437, at_least: 0.602436, at_least_everywhere: 0.504461}\n"
DEVIATION = (
    "  deviation: {at_most: 0.636103, at_least: 0.636102, at_least_everywhere: 0.537466, per_query:"
    " {at_most: [[0.537467, 0.636103, 0.634046]], at_least: [[0.537466, 0.636102, 0.634045]]}}\n"
)
RELATIVE = "  relative: {at_most: 0.827477, at_least: 0.827476, at_least_everywhere: 0.281235}\n"
EVICTED = "  evicted: {at_most: 0.329683, at_least: 0.329682, at_least_everywhere: 0.215209}\n"
MASS = "  mass: {tokens: [0, 1], at_most: 0.597689, at_least: 0.597688, at_least_everywhere: 0.251949}\n"

WHOLE = family(
    "a cache that is written out",
    PROMPT + CACHE + "asserts:\n" + ERROR + DEVIATION + RELATIVE + EVICTED + MASS,
    {
        "only the largest entry": (DEVIATION + RELATIVE + EVICTED + MASS, ""),
        "only the deviation": (ERROR + DEVIATION + RELATIVE + EVICTED + MASS, DEVIATION),
        "only bounds for each query": (
            "at_most: 0.636103, at_least: 0.636102, at_least_everywhere: 0.537466, per_query", "per_query"),
        "only the evicted weight": (
            f"{CACHE}asserts:\n{ERROR}{DEVIATION}{RELATIVE}{EVICTED}{MASS}",
            f"  cache: {{kept: [[0, 2, 3]]}}\nasserts:\n{EVICTED}"),
        "only an upper bound": (
            "at_most: 0.827477, at_least: 0.827476, at_least_everywhere: 0.281235", "at_most: 0.827477"),
        "only a lower bound": (
            "at_most: 0.602437, at_least: 0.602436, at_least_everywhere: 0.504461", "at_least: 0.602436"),
        "only a lower bound at all queries": (
            "at_most: 0.602437, at_least: 0.602436, at_least_everywhere: 0.504461", "at_least_everywhere: 0.504461"),
        "tokens of the mass in another order": ("tokens: [0, 1]", "tokens: [1, 0]"),
        "scales, zero points and offsets for each number": (
            STEPS, f"{{codes: {CODES}, scale: [[1/4, 1/2], [1/4, 1/2], [1/4, 1/2]], zero: [[4, 1], [4, 1], [4, 1]],"
            " offset: [[1/8, 1/8], [0, 0], [1/4, 1/4]]}"),
        "the numbers that the codes stand for": (STEPS, "[[3/8, 5/8], [-1, 1], [3/2, -3/4]]"),
        "the zero point in the offset": (
            STEPS, f"{{codes: {CODES}, scale: [[1/4, 0.5]], offset: [[-7/8, -3/8], [-1, -1/2], [-3/4, -1/4]]}}"),
        "the zero point in the codes": (
            STEPS, "{codes: [[1, 1], [-4, 2], [5, -2]], scale: [[1/4, 0.5]], offset: [[1/8], [0], [0.25]]}"),
        # What is added to all keys moves all scores of a query by the same.
        "no zero point of the keys": ("zero: [[4, 1]], ", ""),
        "a zero point of the keys of the other sign": ("zero: [[4, 1]]", "zero: [[-4, -1]]"),
        "the values of the kept tokens, left out": (f"    values: {CACHED}\n", ""),
        "multiplicities times the same": (TIMES, "[[2, 3, 4]]"),
        "a mask that hides nothing": ("  cache:", "  causal: 3\n  cache:"),
        "one sequence": ("  cache:", "  sequences: {queries: [3], keys: [4]}\n  cache:"),
        "a length of all tokens": ("  cache:", "  lengths: [4]\n  cache:"),
        "other values of an evicted token, whose weight alone counts": (
            f"values: {VALUES}\n  scale: 1/sqrt(2)\n{CACHE}asserts:\n{ERROR}{DEVIATION}{RELATIVE}",
            "values: [[1, 2], [7, 8], [3, 0.5], [-2, 1]]\n  scale: 1/sqrt(2)\n"
            "  cache: {kept: [[0, 2, 3]]}\nasserts:\n"),
        "queries in another order": (
            f"{QUERIES}\n  keys: {KEYS}\n  values: {VALUES}\n  scale: 1/sqrt(2)\n{CACHE}asserts:\n{ERROR}{DEVIATION}",
            f"[[0, 1/2], [1, 1], [-2, 0.5]]\n  keys: {KEYS}\n  values: {VALUES}\n  scale: 1/sqrt(2)\n{CACHE}asserts:\n"
            f"{ERROR}" + DEVIATION.replace("0.537467, 0.636103, 0.634046", "0.634046, 0.537467, 0.636103").replace(
                "0.537466, 0.636102, 0.634045", "0.634045, 0.537466, 0.636102")),
        "many bits to begin with": ("asserts:", "witness: {bits: 300}\nasserts:"),
    },
    {
        "the evicted weight of a cache whose keys are not read": (
            f"values: {CACHED}\n    multiplicities: {TIMES}\nasserts:\n{ERROR}{DEVIATION}{RELATIVE}{EVICTED}{MASS}",
            f"values: {CACHED}\nasserts:\n{EVICTED}", MALFORMED, "a part of the cache that nothing is said of"),
        "at_most of the largest entry one unit lower": ("0.602437", "0.602436", REFUTED, "the largest entry"),
        "at_least of the largest entry one unit higher": (
            "at_least: 0.602436", "at_least: 0.602437", REFUTED, "at the worst query"),
        "the least largest entry one unit higher": ("0.504461", "0.504462", REFUTED, "where it is least"),
        "at_most of the deviation one unit lower": (
            "at_most: 0.636103, ", "at_most: 0.636102, ", REFUTED, "the deviation |T' - T|_2"),
        "at_least of the deviation one unit higher": (
            "at_least: 0.636102, ", "at_least: 0.636103, ", REFUTED, "the deviation |T' - T|_2"),
        "the least deviation one unit higher": (
            "at_least_everywhere: 0.537466", "at_least_everywhere: 0.537467", REFUTED, "where it is least"),
        "the bound of the last query one unit lower": ("0.634046", "0.634045", REFUTED, "at query 2"),
        "the bound of the first query one unit lower": ("[[0.537467", "[[0.537466", REFUTED, "at query 0"),
        "the lower bound of the last query one unit higher": ("0.634045", "0.634046", REFUTED, "at query 2"),
        "bounds of two queries exchanged": (
            "[[0.537467, 0.636103,", "[[0.636103, 0.537467,", REFUTED, "at query 1"),
        "at_most of the relative deviation one unit lower": ("0.827477", "0.827476", REFUTED, "|T' - T|_2 / |T|_2"),
        "at_least of the relative deviation one unit higher": (
            "at_least: 0.827476", "at_least: 0.827477", REFUTED, "|T' - T|_2 / |T|_2"),
        "the least relative deviation one unit higher": ("0.281235", "0.281236", REFUTED, "|T' - T|_2 / |T|_2"),
        "at_most of the evicted weight one unit lower": ("0.329683", "0.329682", REFUTED, "that are not kept"),
        "at_least of the evicted weight one unit higher": (
            "at_least: 0.329682", "at_least: 0.329683", REFUTED, "that are not kept"),
        "the least evicted weight one unit higher": ("0.215209", "0.215210", REFUTED, "that are not kept"),
        "at_most of the mass one unit lower": ("0.597689", "0.597688", REFUTED, "on tokens 0, 1"),
        "at_least of the mass one unit higher": ("at_least: 0.597688", "at_least: 0.597689", REFUTED, "tokens 0, 1"),
        "the least mass one unit higher": ("0.251949", "0.251950", REFUTED, "on tokens 0, 1"),
        "the mass of another token": ("tokens: [0, 1]", "tokens: [0, 2]", REFUTED, "on tokens 0, 2"),
        "the mass of one token": ("tokens: [0, 1]", "tokens: [0]", REFUTED, "on token 0"),
        "no deviation": ("at_most: 0.636103, at_least: 0.636102, at", "at_most: 0, at", REFUTED, "is false"),
        "a code that is one larger": ("[9, -1]]", "[9, 0]]", REFUTED, "is false"),
        "another scale of a channel": ("scale: [[1/4, 0.5]]", "scale: [[1/4, 0.25]]", REFUTED, "is false"),
        "one scale for all": ("scale: [[1/4, 0.5]]", "scale: [[1/4]]", REFUTED, "is false"),
        "scales of channels exchanged": ("scale: [[1/4, 0.5]]", "scale: [[1/2, 0.25]]", REFUTED, "is false"),
        "zero points of tokens": ("zero: [[4, 1]]", "zero: [[4], [1], [4]]", REFUTED, "is false"),
        "no offset": (", offset: [[1/8], [0], [0.25]]", "", REFUTED, "is false"),
        "offsets of tokens exchanged": ("offset: [[1/8], [0], [0.25]]", "offset: [[0], [1/8], [0.25]]", REFUTED, "is"),
        "values of the cache exchanged": (CACHED, "[[3, 1/2], [1, 2], [-2, 1]]", REFUTED, "is false"),
        "a value of the cache moved": (CACHED, "[[1, 2], [3, 1/2], [-2, 1.00001]]", REFUTED, "is false"),
        "every token once": (f"    multiplicities: {TIMES}\n", "", REFUTED, "is false"),
        "multiplicities exchanged": (TIMES, "[[3/2, 1, 2]]", REFUTED, "is false"),
        "another token kept": ("kept: [[0, 2, 3]]", "kept: [[1, 2, 3]]", REFUTED, "that are not kept"),
        "another scale of the scores": ("1/sqrt(2)", "1/sqrt(3)", REFUTED, "is false"),
        "a scale of the other sign": ("1/sqrt(2)", "-0.7071", REFUTED, "is false"),
        "keys exchanged": (KEYS, "[[0, 1], [1, 0], [-1, 1/2], [2, -1]]", REFUTED, "is false"),
        "a causal mask": ("  cache:", "  causal: top-left\n  cache:", REFUTED, "is false"),
        "a token less": ("  cache:", "  lengths: [3]\n  cache:", REFUTED, "is false"),
        "no cache": (CACHE, "", MALFORMED, "given.cache beside it"),
        "a cache of which nothing is said": (CACHE, "  cache: {}\n", MALFORMED, "kept or keys or values"),
        "a cache beside the mass alone": (
            ERROR + DEVIATION + RELATIVE + EVICTED, "", MALFORMED, "no cache where nothing is asserted of it"),
        "evicted without what is kept": ("    kept: [[0, 2, 3]]\n", "", MALFORMED, "given.cache.kept beside it"),
        "a token kept twice": ("kept: [[0, 2, 3]]", "kept: [[0, 2, 2]]", MALFORMED, "tokens in their order, each once"),
        "kept tokens out of order": ("kept: [[0, 2, 3]]", "kept: [[0, 3, 2]]", MALFORMED, "in their order, each once"),
        "a kept token that is not there": ("kept: [[0, 2, 3]]", "kept: [[0, 2, 4]]", MALFORMED, "from 0 to 3"),
        "a negative token": ("kept: [[0, 2, 3]]", "kept: [[-1, 2, 3]]", MALFORMED, "from 0 to 3"),
        "half a token": ("kept: [[0, 2, 3]]", "kept: [[0, 3/2, 3]]", MALFORMED, "from 0 to 3"),
        "kept tokens of a head too many": (
            "kept: [[0, 2, 3]]", "kept: [[0, 2, 3], [0, 2, 3]]", MALFORMED, "for all heads of keys or for each"),
        "a list of kept tokens": ("kept: [[0, 2, 3]]", "kept: [0, 2, 3]", MALFORMED, "a list of at least one item"),
        "fewer kept tokens than keys": ("kept: [[0, 2, 3]]", "kept: [[0, 2]]", MALFORMED, "2 x 2 numbers (tokens of"),
        "a value of the cache too few": (CACHED, "[[1, 2], [3, 1/2]]", MALFORMED, "3 x 2 numbers (tokens of the cache"),
        "values of another dimension": (CACHED, "[[1], [3], [-2]]", MALFORMED, "3 x 2 numbers (tokens of the cache"),
        "codes of another dimension": (
            f"{CODES}, scale: [[1/4, 0.5]], zero: [[4, 1]]", "[[5], [0], [9]], scale: [[1/4]], zero: [[4]]", MALFORMED,
            "3 x 2 numbers (tokens of the cache"),
        "scales that do not divide the codes": (
            "scale: [[1/4, 0.5]]", "scale: [[1/4, 0.5], [1/4, 1/2]]", MALFORMED, "each a divisor of theirs (3 x 2)"),
        "more zero points than codes": (
            "zero: [[4, 1]]", "zero: [[4, 1, 4, 1]]", MALFORMED, "each a divisor of theirs (3 x 2)"),
        "a scale that is no matrix": ("scale: [[1/4, 0.5]]", "scale: 0.5", MALFORMED, "a matrix"),
        "codes without a scale": ("scale: [[1/4, 0.5]], ", "", MALFORMED, "no 'scale'"),
        "a scale without codes": (f"codes: {CODES}, ", "", MALFORMED, "the unknown key 'scale'"),
        "an unknown key beside the codes": ("zero:", "bits: 8, zero:", MALFORMED, "the unknown key 'bits'"),
        "packed codes that are written out": ("zero:", "packed: low-first, zero:", MALFORMED, "an array file of"),
        "a multiplicity of 0": (TIMES, "[[1, 0, 2]]", MALFORMED, "multiplicities > 0"),
        "a negative multiplicity": (TIMES, "[[1, -3/2, 2]]", MALFORMED, "multiplicities > 0"),
        "a multiplicity too few": (TIMES, "[[1, 3/2]]", MALFORMED, "a number for each of the 3 tokens"),
        "tokens of the mass twice": ("tokens: [0, 1]", "tokens: [0, 0]", MALFORMED, "each token once"),
        "a token of the mass that is not there": ("tokens: [0, 1]", "tokens: [0, 4]", MALFORMED, "from 0 to 3"),
        "the mass of no tokens": ("tokens: [0, 1]", "tokens: []", MALFORMED, "a list of at least one item"),
        "the mass of unnamed tokens": ("tokens: [0, 1], ", "", MALFORMED, "no 'tokens'"),
        "a negative bound": ("at_most: 0.602437", "at_most: -1", MALFORMED, "a number >= 0"),
        "a bound that is not a number": ("0.602437", "nan", MALFORMED, "an exact number"),
        "no bound": ("{at_most: 0.827477, at_least: 0.827476, at_least_everywhere: 0.281235}", "{}", MALFORMED,
                     "nothing that is asserted"),
        "no bound for each query": (
            "per_query: {at_most: [[0.537467, 0.636103, 0.634046]], at_least: [[0.537466, 0.636102, 0.634045]]}",
            "per_query: {}", MALFORMED, "nothing that is asserted"),
        "a bound too few": ("0.636103, 0.634046]]", "0.636103]]", MALFORMED, "1 x 3 numbers (one for each query)"),
        "bounds in a column": (
            "[[0.537467, 0.636103, 0.634046]]", "[[0.537467], [0.636103], [0.634046]]", MALFORMED, "1 x 3 numbers"),
        "a measure that this claim has not": ("  error:", "  rms:", MALFORMED, "the unknown key 'rms'"),
        "an output": ("  cache:", f"  output: {QUERIES}\n  cache:", MALFORMED, "the unknown key 'output'"),
        "no scale of the scores": ("  scale: 1/sqrt(2)\n", "", MALFORMED, "no 'scale'"),
        "a window without a mask": ("  cache:", "  window: 4\n  cache:", MALFORMED, "a window of a causal mask"),
        "a key too few": (KEYS, "[[1, 0], [0, 1], [-1, 1/2]]", MALFORMED, "3 x 2 numbers (paired with the keys)"),
        "a single bit": ("asserts:", "witness: {bits: 1}\nasserts:", MALFORMED, "an integer >= 2"),
        "an unknown key in the witness": ("asserts:", "witness: {rows: 2}\nasserts:", MALFORMED, "'rows'"),
        "another claim": (NAME, "attention-error", MALFORMED, "'cache'"),
    },
)  # fmt: skip

# -- who sees what of a cache

CAUSAL = family(
    "eviction under a causal mask",
    PROMPT + "  causal: bottom-right\n  cache: {kept: [[0, 2, 3]]}\nasserts:\n"
    "  error: {at_most: 3/2, at_least: 3/2, at_least_everywhere: 0.629264}\n"
    "  relative: {at_most: 2.23607, at_least: 2.23606}\n"
    "  evicted: {at_most: 1/2, at_least: 1/2, at_least_everywhere: 0.216568}\n"
    "  mass: {tokens: [0, 1], at_most: 1, at_least: 1, at_least_everywhere: 0.253539}\n",
    {
        "the offset as a number": ("causal: bottom-right", "causal: 1"),
        "each token once": ("kept: [[0, 2, 3]]", "kept: [[0, 2, 3]], multiplicities: [[1, 1, 1]]"),
        "keys of the kept tokens": ("kept: [[0, 2, 3]]", "kept: [[0, 2, 3]], keys: [[1, 0], [-1, 1/2], [2, -1]]"),
        "values of the kept tokens": (
            "kept: [[0, 2, 3]]", "kept: [[0, 2, 3]], values: [[1, 2], [3, 0.5], [-2, 1]]"),
        "a window of all tokens": ("causal: bottom-right", "causal: bottom-right\n  window: 4"),
        "the mass of all tokens that a query sees": (
            "[0, 1], at_most: 1, at_least: 1, at_least_everywhere: 0.253539",
            "[2, 1, 0], at_most: 1, at_least: 1, per_query: {at_most: [[1, 1, 1]], at_least: [[1, 1, 0]]}"),
    },
    {
        "at_most just below": (
            "at_most: 3/2", "at_most: 1.49999999999999999999", REFUTED, "the largest entry of |T' - T|"),
        "at_least just above": ("at_least: 3/2", "at_least: 1.50000000000000000001", REFUTED, "is false"),
        "the relative deviation one unit lower": ("2.23607", "2.23606", REFUTED, "|T|_2"),
        "the evicted weight just below": (
            "at_most: 1/2", "at_most: 0.49999999999999999999", REFUTED, "that are not kept"),
        "the evicted weight just above": (
            "at_least: 1/2", "at_least: 0.50000000000000000001", REFUTED, "that are not kept"),
        "the mass of all that is seen, just below": ("at_most: 1,", "at_most: 0.9999999999999999999,", REFUTED, "0, 1"),
        "aligned at the top left": ("bottom-right", "top-left", REFUTED, "is false"),
        "no mask": ("  causal: bottom-right\n", "", REFUTED, "is false"),
        "a window of two tokens": ("causal: bottom-right", "causal: bottom-right\n  window: 2", REFUTED, "is false"),
        "a window that leaves a query nothing of the cache": (
            "causal: bottom-right", "causal: bottom-right\n  window: 1", MALFORMED, "query 0 of batch 0, head 0"),
        "tokens kept that the first query does not see": (
            "kept: [[0, 2, 3]]", "kept: [[2, 3]]", MALFORMED, "of which every query sees a token"),
        "everything kept": ("kept: [[0, 2, 3]]", "kept: [[0, 1, 2, 3]]", REFUTED, "is false"),
        "places of three tokens that are not said": (
            "kept: [[0, 2, 3]]", "keys: [[1, 0], [-1, 1/2], [2, -1]], values: [[1, 2], [3, 0.5], [-2, 1]]", MALFORMED,
            "kept, which says where the tokens of a cache stand"),
    },
)  # fmt: skip

WINDOW = family(
    "eviction under a window",
    PROMPT + "  causal: bottom-right\n  window: 2\n  cache: {kept: [[1, 2]]}\nasserts:\n"
    "  deviation: {at_most: 1.86144, at_least: 1.86143, at_least_everywhere: 0}\n"
    "  evicted: {at_most: 1/2, at_least: 1/2, per_query: {at_most: [[1/2, 0, 0.370440]], at_least: [[1/2, 0, 0.37]]}}\n"
    "  mass: {tokens: [0, 3], at_most: 1/2, per_query: {at_most: [[1/2, 0, 0.370440]]}}\n",
    {"the offset as a number": ("bottom-right", "1")},
    {
        "the deviation one unit lower": ("1.86144", "1.86143", REFUTED, "the deviation"),
        "the evicted weight at a query that sees kept tokens only": (
            "at_least: [[1/2, 0, 0.37]]", "at_least: [[1/2, 1e-300, 0.37]]", REFUTED, "at query 1"),
        "the evicted weight at the last query one unit lower": (
            "at_most: [[1/2, 0, 0.370440]], at_least", "at_most: [[1/2, 0, 0.370439]], at_least", REFUTED, "query 2"),
        # What is the same is off by 0, which balls do not show.
        "no deviation where all is kept": (
            "at_least_everywhere: 0}", "per_query: {at_most: [[2, 0, 2]]}}", INCONCLUSIVE, "still undecided"),
        "a deviation at every query": (
            "at_least_everywhere: 0}", "at_least_everywhere: 1e-300}", REFUTED, "where it is least"),
        "a window of three tokens": ("window: 2", "window: 3", REFUTED, "is false"),
        "another token kept": ("kept: [[1, 2]]", "kept: [[1, 3]]", REFUTED, "is false"),
    },
)  # fmt: skip

SEQUENCES = family(
    "eviction from packed sequences",
    PROMPT + "  causal: bottom-right\n  sequences: {queries: [1, 2], keys: [1, 3]}\n  cache: {kept: [[0, 1, 3]]}\n"
    "asserts:\n  deviation: {at_most: 2.59983, at_least: 2.59982, per_query: {at_most: [[0, 2.6, 1.35005]]}}\n"
    "  evicted: {at_most: 0.775118, at_least: 0.775117, per_query: {at_least: [[0, 0.775117, 0.359482]]}}\n",
    {"the offset as a number": ("bottom-right", "1")},
    {
        "at_most one unit lower": ("2.59983", "2.59982", REFUTED, "the deviation"),
        "a deviation of the first query": ("[[0, 2.6, 1.35005]]", "[[0, 2.6, 1.35004]]", REFUTED, "at query 2"),
        "the evicted weight one unit lower": ("0.775118", "0.775117", REFUTED, "that are not kept"),
        "a lower bound on the evicted weight one unit higher": ("0.359482", "0.359483", REFUTED, "at query 2"),
        "one sequence": ("queries: [1, 2], keys: [1, 3]", "queries: [3], keys: [4]", REFUTED, "is false"),
        "a sequence of which nothing is kept": (
            "kept: [[0, 1, 3]]", "kept: [[1, 2, 3]]", MALFORMED, "of which every query sees a token"),
        "no mask within": ("  causal: bottom-right\n", "", REFUTED, "is false"),
    },
)  # fmt: skip

LENGTHS = family(
    "eviction from the first tokens of a batch",
    PROMPT + "  lengths: [3]\n  cache: {kept: [[1, 2, 3]]}\nasserts:\n"
    "  deviation: {at_most: 1.11848, at_least: 1.11847, at_least_everywhere: 0.0837568}\n"
    "  evicted: {at_most: 0.426217, at_least: 0.426216, at_least_everywhere: 0.0369711}\n",
    {"without the token that nobody sees": ("kept: [[1, 2, 3]]", "kept: [[1, 2]]")},
    {
        "at_most one unit lower": ("1.11848", "1.11847", REFUTED, "the deviation"),
        "the least deviation one unit higher": ("0.0837568", "0.0837569", REFUTED, "where it is least"),
        "the least evicted weight one unit higher": ("0.0369711", "0.0369712", REFUTED, "where it is least"),
        "all tokens": ("lengths: [3]", "lengths: [4]", REFUTED, "is false"),
        "lengths of two batches": ("lengths: [3]", "lengths: [3, 3]", MALFORMED, "1 length, one for each of the batch"),
    },
)  # fmt: skip

MERGED = family(
    "tokens that are merged in pairs",
    PROMPT + "  cache:\n    keys: [[1/2, 1/2], [1/2, -1/4]]\n    values: [[0.5, 0.5], [0.5, 3/4]]\n"
    "    multiplicities: [[2, 2]]\nasserts:\n"
    "  error: {at_most: 1.74954, at_least: 1.74953}\n  deviation: {at_most: 1.78888, at_least: 1.78887}\n"
    "  relative: {at_most: 0.790900, at_least: 0.790899, at_least_everywhere: 0.343034}\n",
    {
        "each once, which is the same": ("[[2, 2]]", "[[1, 1]]"),
        "the largest entry of each query": (
            "error: {at_most: 1.74954, at_least: 1.74953}",
            "error: {per_query: {at_most: [[0.488441, 1.74954, 0.235176]], at_least: [[0.48844, 1.74953, 0.235175]]}}"),
        "the relative deviation of each query": (
            "relative: {at_most: 0.790900, at_least: 0.790899, at_least_everywhere: 0.343034}",
            "relative: {per_query: {at_most: [[0.757066, 0.7909, 0.343035]],"
            " at_least: [[0.757065, 0.790899, 0.343034]]}}"),
        "in another order": (
            "[[1/2, 1/2], [1/2, -1/4]]\n    values: [[0.5, 0.5], [0.5, 3/4]]",
            "[[1/2, -1/4], [1/2, 1/2]]\n    values: [[0.5, 3/4], [0.5, 0.5]]"),
        "one token twice, by itself": (
            "keys: [[1/2, 1/2], [1/2, -1/4]]\n    values: [[0.5, 0.5], [0.5, 3/4]]\n    multiplicities: [[2, 2]]",
            "keys: [[1/2, 1/2], [1/2, -1/4], [1/2, 1/2]]\n    values: [[0.5, 0.5], [0.5, 3/4], [0.5, 0.5]]\n"
            "    multiplicities: [[1, 2, 1]]"),
    },
    {
        "the largest entry one unit lower": ("1.74954", "1.74953", REFUTED, "the largest entry"),
        "the deviation one unit lower": ("1.78888", "1.78887", REFUTED, "the deviation"),
        "the relative deviation one unit lower": ("0.790900", "0.790899", REFUTED, "|T|_2"),
        "the least relative deviation one unit higher": ("0.343034", "0.343035", REFUTED, "|T|_2"),
        "one counts thrice": ("[[2, 2]]", "[[2, 3]]", REFUTED, "is false"),
        "values exchanged": ("[[0.5, 0.5], [0.5, 3/4]]", "[[0.5, 3/4], [0.5, 0.5]]", REFUTED, "is false"),
        "a mask, under which it has no places": (
            "  cache:", "  causal: 3\n  cache:", MALFORMED, "kept, which says where the tokens of a cache stand"),
        "lengths, of which it has no places": ("  cache:", "  lengths: [4]\n  cache:", MALFORMED, "and lengths"),
        "sequences, in which it has no places": (
            "  cache:", "  sequences: {queries: [3], keys: [4]}\n  cache:", MALFORMED, "and sequences"),
        "keys alone, of fewer tokens": ("    values: [[0.5, 0.5], [0.5, 3/4]]\n", "", MALFORMED, "4 x 2 numbers"),
        "more values than keys": ("[0.5, 3/4]]", "[0.5, 3/4], [1, 1]]", MALFORMED, "2 x 2 numbers (tokens of"),
        "what is evicted": ("  error:", "  evicted: {at_most: 1}\n  error:", MALFORMED, "given.cache.kept beside it"),
    },
)  # fmt: skip

ONE_TOKEN = family(
    "a query that sees one token: its value, exactly",
    """
given:
  queries: [[3], [700]]
  keys: [[5], [-700]]
  values: [[1/3, -2], [7, 8]]
  scale: 7
  lengths: [1]
  cache:
    kept: [[0]]
    keys: [[12]]
    values: [[1/3, -3/2]]
    multiplicities: [[1/7]]
asserts:
  error: {at_most: 1/2, at_least: 1/2, at_least_everywhere: 1/2}
  deviation: {at_most: 1/2, at_least: 1/2, per_query: {at_most: [[0.5, 1/2]], at_least: [[0.5, 1/2]]}}
  evicted: {at_most: 0}
  mass: {tokens: [1], at_most: 0}
""",
    {
        "the mass of all": ("{tokens: [1], at_most: 0}", "{tokens: [0, 1], at_least_everywhere: 1, at_most: 1}"),
        "no deviation at all": (
            "[[1/3, -3/2]]\n    multiplicities: [[1/7]]\nasserts:\n"
            "  error: {at_most: 1/2, at_least: 1/2, at_least_everywhere: 1/2}\n"
            "  deviation: {at_most: 1/2, at_least: 1/2, per_query: {at_most: [[0.5, 1/2]], at_least: [[0.5, 1/2]]}}",
            "[[1/3, -2]]\n    multiplicities: [[1/7]]\nasserts:\n  error: {at_most: 0}\n  relative: {at_most: 0}"),
    },
    {
        "just below": ("error: {at_most: 1/2", "error: {at_most: 0.49999999999999999999", REFUTED, "largest entry"),
        "just above": ("1/2, at_least_everywhere: 1/2", "1/2, at_least_everywhere: 0.50000000000000000001", REFUTED,
                       "where it is least"),
        "another value": ("[[1/3, -3/2]]", "[[1/3, -1]]", REFUTED, "is false"),
        "two tokens kept, and keys of one": ("kept: [[0]]", "kept: [[0, 1]]", MALFORMED, "2 x 1 numbers (tokens of"),
        "an evicted weight, however small": (
            "evicted: {at_most: 0}", "evicted: {at_least: 1e-300}", REFUTED, "that are not kept"),
        "a mass, however small": ("tokens: [1], at_most: 0", "tokens: [1], at_least: 1e-300", REFUTED, "on token 1"),
        "what is kept is not seen": ("kept: [[0]]", "kept: [[1]]", MALFORMED, "of which every query sees a token"),
    },
)  # fmt: skip

WEIGHT = (
    "tokens: [0, 3], at_most: 0.597689, at_least: 0.597688, at_least_everywhere: 0.0430112,"
    " per_query: {at_most: [[0.6, 0.0430113, 0.394056]], at_least: [[0.59, 0.0430112, 0.394055]]}"
)
SINKS = family(
    "the weight of tokens without a cache",
    PROMPT + f"asserts:\n  mass: {{{WEIGHT}}}\n",
    {
        "a lower bound that says nothing": ("at_least_everywhere: 0.0430112,", "at_least_everywhere: 0,"),
        "in another order": ("tokens: [0, 3]", "tokens: [3, 0]"),
    },
    {
        "at_most one unit lower": ("0.597689", "0.597688", REFUTED, "on tokens 0, 3"),
        "at_least one unit higher": ("at_least: 0.597688", "at_least: 0.597689", REFUTED, "on tokens 0, 3"),
        "the least one unit higher": (
            "at_least_everywhere: 0.0430112", "at_least_everywhere: 0.0430113", REFUTED, "where it is least"),
        "at the second query one unit lower": ("[[0.6, 0.0430113", "[[0.6, 0.0430112", REFUTED, "at query 1"),
        "at the last query one unit higher": ("0.394055]]", "0.394056]]", REFUTED, "at query 2"),
        "one token": ("tokens: [0, 3]", "tokens: [0]", REFUTED, "on token 0"),
        "another token": ("tokens: [0, 3]", "tokens: [0, 2]", REFUTED, "on tokens 0, 2"),
        "a token less is seen": ("asserts:", "  lengths: [3]\nasserts:", REFUTED, "is false"),
        "the evicted weight": ("  mass: {tokens: [0, 3], ", "  evicted: {", MALFORMED, "given.cache beside it"),
        "nothing asserted": (f"  mass: {{{WEIGHT}}}\n", "  {}\n", MALFORMED, "nothing that is asserted"),
    },
)  # fmt: skip

# -- array files


def heads(name: str, dtype: str, shape: str, **others: str) -> str:
    return array("heads.npz", dtype, shape, array=f"heads-{name}", **others)


def cached(name: str, dtype: str, shape: str, **others: str) -> str:
    return array("caches.npz", dtype, shape, array=f"cache-{name}", **others)


Q, K = heads("q", "float16", "[2, 4, 3, 2]"), heads("k", "float16", "[2, 2, 5, 2]")
V = heads("v", "float32", "[2, 2, 5, 2]")
KEPT = cached("kept", "int32", "[2, 2, 3]")
C8, Z8 = cached("k8", "int8", "[2, 2, 3, 2]"), cached("k8-scale", "float16", "[2, 2, 1, 2]")
C4, Z4 = cached("v4", "uint8", "[2, 2, 3, 1]"), cached("v4-scale", "float32", "[2, 2, 3, 1]")
S4 = cached("v4-signed", "int8", "[2, 2, 3, 1]")
O4, R4 = cached("v4-zero", "uint8", "[2, 1, 1, 1]"), cached("v4-offset", "float16", "[1, 2, 1, 1]")
N = cached("times", "int32", "[2, 2, 3]")
K8 = f"{{codes: {C8}, scale: {Z8}}}"
V4 = f"{{codes: {C4}, scale: {Z4}, zero: {O4}, offset: {R4}, packed: low-first}}"
GIVEN = f"""
given:
  queries: {Q}
  keys: {K}
  values: {V}
  scale: 1/2
  causal: bottom-right
  cache:
    kept: {KEPT}
"""
OFF = "  error: {at_most: 3.90113, at_least: 3.90112, at_least_everywhere: 0.376056}\n"
LENGTH = "  deviation: {at_most: 3.93642, at_least: 3.93641, at_least_everywhere: 0.478447}\n"
SHARES = """  evicted: {at_most: 0.911380, at_least: 0.911379, at_least_everywhere: 0.125902}
  mass: {tokens: [0, 2], at_most: 0.940053, at_least: 0.940052, at_least_everywhere: 0.0953447}
"""
ARRAYS = family(
    "two batches of grouped heads with caches in eight and in four bits",
    GIVEN + f"    keys: {K8}\n    values: {V4}\n    multiplicities: {N}\nasserts:\n" + OFF + LENGTH
    + "  relative: {at_most: 7.47551, at_least: 7.47550, at_least_everywhere: 0.504346}\n" + SHARES,
    {
        "the offset as a number": ("causal: bottom-right", "causal: 2"),
        "lengths of all tokens": ("causal: bottom-right", "causal: bottom-right\n  lengths: [5, 5]"),
        "kept tokens as floats": (KEPT, cached("kept-floats", "float16", "[2, 2, 3]")),
        "half as many of each": (N, cached("times-halves", "float32", "[2, 2, 3]")),
        "a bound for each query": (
            "at_least: 3.93641,", f"per_query: {{at_most: {cached('bounds', 'float32', '[2, 4, 3]')}}},"),
        "the other half first": (
            f"packed: low-first}}\n    multiplicities: {N}\nasserts:\n{OFF}{LENGTH}"
            "  relative: {at_most: 7.47551, at_least: 7.47550, at_least_everywhere: 0.504346}\n",
            f"packed: high-first}}\n    multiplicities: {N}\nasserts:\n"
            "  error: {at_most: 5.32710, at_least: 5.32709, at_least_everywhere: 0.321267}\n"
            "  relative: {at_most: 9.02916, at_least: 9.02915, at_least_everywhere: 0.620072}\n"),
        "kept tokens alone": (
            f"    keys: {K8}\n    values: {V4}\n    multiplicities: {N}\nasserts:\n{OFF}{LENGTH}"
            "  relative: {at_most: 7.47551, at_least: 7.47550, at_least_everywhere: 0.504346}\n",
            "asserts:\n  error: {at_most: 2.66755, at_least: 2.66754, at_least_everywhere: 0.0724398}\n"
            "  relative: {at_most: 2.48770, at_least: 2.48769, at_least_everywhere: 0.0870855}\n"),
    },
    {
        "at_most of the largest entry one unit lower": ("3.90113", "3.90112", REFUTED, "of batch 1, head 2"),
        "at_least of the largest entry one unit higher": (
            "at_least: 3.90112", "at_least: 3.90113", REFUTED, "at the worst query"),
        "the least largest entry one unit higher": ("0.376056", "0.376057", REFUTED, "head 0 where it is least"),
        "at_most of the deviation one unit lower": ("3.93642", "3.93641", REFUTED, "of batch 1, head 2"),
        "the least deviation one unit higher": ("0.478447", "0.478448", REFUTED, "of batch 0, head 0"),
        "at_most of the relative deviation one unit lower": ("7.47551", "7.47550", REFUTED, "of batch 1, head 3"),
        "at_most of the evicted weight one unit lower": ("0.911380", "0.911379", REFUTED, "of batch 1, head 2"),
        "the least evicted weight one unit higher": ("0.125902", "0.125903", REFUTED, "of batch 0, head 3"),
        "at_most of the mass one unit lower": ("0.940053", "0.940052", REFUTED, "of batch 0, head 2"),
        "the least mass one unit higher": ("0.0953447", "0.0953448", REFUTED, "of batch 1, head 2"),
        "the other half first, with the bounds of this one": ("low-first", "high-first", REFUTED, "is false"),
        "codes of four bits with a sign": (C4, S4, REFUTED, "is false"),
        "what is kept of the first head, for all": (KEPT, cached("kept-all", "uint8", "[3]"), REFUTED, "is false"),
        "no zero point": (f"zero: {O4}, ", "", REFUTED, "is false"),
        "no offset": (f"offset: {R4}, ", "", REFUTED, "is false"),
        "each token once": (f"    multiplicities: {N}\n", "", REFUTED, "is false"),
        "no mask": ("  causal: bottom-right\n", "", REFUTED, "is false"),
        "a bound for each query that one is beyond": (
            "at_least: 3.93641,", f"per_query: {{at_least: {cached('bounds', 'float32', '[2, 4, 3]')}}},", REFUTED,
            "at query 0 of batch 0, head 0"),
        "bounds of one batch": (
            "at_least: 3.93641,",
            f"per_query: {{at_most: {cached('bounds', 'float32', '[2, 4, 3]', rows='0:1')}}},", MALFORMED,
            "2 x 4 x 3 numbers (one for each query)"),
        "codes that are not packed": (", packed: low-first", "", MALFORMED, "2 x 2 x 3 x 2 numbers"),
        "a word that is no half": ("low-first", "little-endian", MALFORMED, "'low-first' or 'high-first'"),
        "packed floats": (f"codes: {C4}", f"codes: {Z4}", MALFORMED, "in an array file of uint8 or int8"),
        "scales of other dimensions": (
            Z8, heads("one-q", "float16", "[1, 1]"), MALFORMED, "as many extents as the codes have"),
        "scales for the tokens of another length": (
            Z8, heads("k", "float16", "[2, 2, 5, 2]"), MALFORMED, "each a divisor of theirs (2 x 2 x 3 x 2)"),
        "a scale that is a NaN": (
            Z8, cached("k8-nan", "float16", "[2, 2, 1, 2]"), MALFORMED, "a NaN at [1, 0, 0, 1] (counted from 0)"),
        "a kept token that is not there": (
            KEPT, cached("kept-behind", "int32", "[2, 2, 3]"), MALFORMED, "tokens, from 0 to 4"),
        "a kept token before the first": (
            KEPT, cached("kept-negative", "int32", "[2, 2, 3]"), MALFORMED, "tokens, from 0 to 4"),
        "a token kept twice": (KEPT, cached("kept-twice", "int32", "[2, 2, 3]"), MALFORMED, "each once"),
        "half a token kept": (KEPT, cached("kept-half", "float16", "[2, 2, 3]"), MALFORMED, "tokens, from 0 to 4"),
        "kept tokens of one batch": (
            KEPT, cached("kept", "int32", "[2, 2, 3]", rows="0:1"), MALFORMED, "for all heads of keys or for each"),
        "a token that counts no times": (N, cached("times-zero", "int32", "[2, 2, 3]"), MALFORMED, "multiplicities >"),
        "codes of another number of heads": (C8, Q, MALFORMED, "2 x 2 x 3 x 2 numbers (tokens of the cache"),
        "another hash": (C4, C4.replace("sha256: ", "sha256: 0"), MALFORMED, "sha256"),
        "another number type": (C8, C8.replace("int8", "uint8"), MALFORMED, "dtype int8 in the file"),
        "another shape in the file": (C8, C8.replace("[2, 2, 3, 2]", "[2, 2, 6, 1]"), MALFORMED, "2 x 2 x 6 x 1"),
        "a window that leaves a query nothing": (
            "causal: bottom-right", "causal: bottom-right\n  window: 1", MALFORMED, "which sees none"),
    },
)  # fmt: skip

SIGNED = family(
    "values of four bits with a sign, and the same tokens for all heads",
    GIVEN.replace(KEPT, cached("kept-all", "uint8", "[3]"))
    + f"    values: {{codes: {S4}, scale: {Z4}, packed: high-first}}\nasserts:\n"
    "  error: {at_most: 4.22710, at_least: 4.22709, at_least_everywhere: 0.221659}\n"
    "  evicted: {at_most: 0.904656, at_least: 0.904655, at_least_everywhere: 0.0509744}\n",
    {"written out": (cached("kept-all", "uint8", "[3]"), "[[0, 2, 4]]")},
    {
        "at_most one unit lower": ("4.22710", "4.22709", REFUTED, "of batch 1, head 3"),
        "the least one unit higher": ("0.221659", "0.221660", REFUTED, "of batch 1, head 3"),
        "the evicted weight one unit lower": ("0.904656", "0.904655", REFUTED, "of batch 1, head 2"),
        "without a sign": (
            S4, C4, REFUTED, "is false"),
        "the other half first": ("high-first", "low-first", REFUTED, "is false"),
        "a zero point beside": (f"scale: {Z4}", f"scale: {Z4}, zero: {O4}", REFUTED, "is false"),
    },
)  # fmt: skip

LONG = family(
    "scales of so many bits that no double is what they make of a code",
    GIVEN + f"    keys: {{codes: {C8}, scale: {cached('k8-long', 'float64', '[2, 2, 1, 2]')}}}\nasserts:\n"
    "  error: {at_most: 2.93639, at_least: 2.93638, at_least_everywhere: 0.189816}\n",
    {"only from above": ("at_most: 2.93639, at_least: 2.93638, at_least_everywhere: 0.189816", "at_most: 3")},
    {
        "at_most one unit lower": ("2.93639", "2.93638", REFUTED, "of batch 0, head 2"),
        "at_least one unit higher": ("at_least: 2.93638", "at_least: 2.93639", REFUTED, "worst query"),
        "the least one unit higher": ("0.189816", "0.189817", REFUTED, "of batch 1, head 3 where it is least"),
        "other scales": (
            cached("k8-long", "float64", "[2, 2, 1, 2]"), cached("k8-scale", "float16", "[2, 2, 1, 2]"), REFUTED,
            "is false"),
    },
)  # fmt: skip


def eights(name: str, shape: str) -> str:
    return array("eights.safetensors", "float8_e4m3fn", shape, array=name)


EIGHTS = family(
    "four heads whose keys are cached in floats of eight bits",
    f"""
given:
  queries: {eights("q", "[4, 3, 2]")}
  keys: {eights("k", "[2, 5, 2]")}
  values: {eights("v", "[2, 5, 2]")}
  scale: 0.5
  cache:
    keys: {{codes: {eights("k", "[2, 5, 2]")}, scale: {cached("f8-scale", "float32", "[2, 1, 1]")}}}
asserts:
  error: {{at_most: 0.166160, at_least: 0.166159, at_least_everywhere: 0.0138998}}
  relative: {{at_most: 0.255561, at_least: 0.255560}}
""",
    {"everything kept": ("cache:\n", "cache:\n    kept: [[0, 1, 2, 3, 4]]\n")},
    {
        "at_most one unit lower": ("0.166160", "0.166159", REFUTED, "of batch 0, head 3"),
        "at_least one unit higher": ("at_least: 0.166159", "at_least: 0.166160", REFUTED, "worst query"),
        "the least one unit higher": ("0.0138998", "0.0138999", REFUTED, "of batch 0, head 0"),
        "the relative deviation one unit lower": ("0.255561", "0.255560", REFUTED, "of batch 0, head 1"),
        "a token less": ("cache:\n", "cache:\n    kept: [[0, 1, 2, 3]]\n", MALFORMED, "2 x 4 x 2 numbers (tokens of"),
        "codes of values": (f"codes: {eights('k', '[2, 5, 2]')}", f"codes: {eights('v', '[2, 5, 2]')}", REFUTED, "is"),
        "a scale for each query": ("[2, 1, 1]", "[2, 1, 3]", MALFORMED, "each a divisor of theirs (2 x 5 x 2)"),
        "a causal mask": ("scale: 0.5\n", "scale: 0.5\n  causal: 2\n", REFUTED, "is false"),
    },
)  # fmt: skip

# -- over regions of queries
#
# Upper bounds of accepted cases are a little above the largest number over the region, which stands beside them as a
# dense sampling has it; rejected ones are below it.

AT = "ball, centre: [1, 1], radius: 1/4"
REGION = PROMPT.replace(f"queries: {QUERIES}", f"region: {{kind: {AT}}}") + CACHE
BALL_ERROR = "  error: {at_most: 0.6984, at_least: 0.6841}\n"
BALL_DEVIATION = "  deviation: {at_most: 0.708, at_least: 0.7051}\n"
BALL_EVICTED = "  evicted: {at_most: 0.3643, at_least: 0.3636, at_least_everywhere: 0.2296}\n"
BALL_MASS = "  mass: {tokens: [0, 1], at_most: 0.6556, at_least: 0.6476, at_least_everywhere: 0.5306}\n"
ALL = BALL_ERROR + BALL_DEVIATION + BALL_EVICTED + BALL_MASS
UPPER = "  error: {at_most: 0.6984}\n  deviation: {at_most: 0.708}\n  evicted: {at_most: 0.3643}\n"
HINTS = "witness: {cells: 0 1 . 0 1 . 0 . . 1 . 0 . . ., query: [0.8487, 1.1990]}\n"

# Largest 0.684409, 0.705155, 0.363764 and 0.648760; smallest weights 0.234760 and 0.535954.
BALL = family(
    "a ball of queries",
    REGION + "asserts:\n" + ALL + HINTS,
    {
        "only the largest entry": (BALL_DEVIATION + BALL_EVICTED + BALL_MASS, ""),
        "only the deviation": (ALL, BALL_DEVIATION),
        "only upper bounds of the deviation": (ALL + HINTS, "  deviation: {at_most: 0.7427}\n"),
        "only the evicted weight": (
            f"{CACHE}asserts:\n{ALL}", f"  cache: {{kept: [[0, 2, 3]]}}\nasserts:\n{BALL_EVICTED}"),
        "only the mass, without a cache": (f"{CACHE}asserts:\n{ALL}", f"asserts:\n{BALL_MASS}"),
        "only a lower bound everywhere": (
            f"{CACHE}asserts:\n{ALL}",
            "  cache: {kept: [[0, 2, 3]]}\nasserts:\n  evicted: {at_least_everywhere: 0.2296}\n"),
        "the ball itself as the one cell": (
            ALL + HINTS, "  error: {at_most: 0.7265}\n  deviation: {at_most: 0.7427}\n"
            "  evicted: {at_most: 0.3663, at_least_everywhere: 0.2313}\nwitness: {cells: .}\n"),
        "no witness, where the centre has enough": (
            ALL + HINTS, "  deviation: {at_most: 0.7427, at_least: 0.5374}\n  evicted: {at_least: 0.2988}\n"),
        "a region that says it sees all": ("radius: 1/4", "radius: 1/4, sees: 4"),
        "a smaller ball": (
            REGION + "asserts:\n" + ALL + HINTS,
            f"{REGION.replace('1/4}', '0.2499}', 1)}asserts:\n" + UPPER
            + HINTS.replace(", query: [0.8487, 1.1990]", "")),
        "a ball that is a point": (
            f"radius: 1/4}}\n  keys: {KEYS}\n  values: {VALUES}\n  scale: 1/sqrt(2)\n{CACHE}asserts:\n{ALL}{HINTS}",
            f"radius: 0}}\n  keys: {KEYS}\n  values: {VALUES}\n  scale: 1/sqrt(2)\n{CACHE}asserts:\n"
            "  deviation: {at_most: 0.537467, at_least: 0.537466}\n"
            "  evicted: {at_most: 0.298845, at_least: 0.298844, at_least_everywhere: 0.298844}\n"),
        "the numbers that the codes stand for": (STEPS, "[[3/8, 5/8], [-1, 1], [3/2, -3/4]]"),
        "no zero point of the keys": ("zero: [[4, 1]], ", ""),
        "multiplicities times the same": (TIMES, "[[2, 3, 4]]"),
        "all keys moved": (KEYS, "[[1001, -7], [1000, -6], [999, -6.5], [1002, -8]]"),
        "all values moved by the same": (
            f"{VALUES}\n  scale: 1/sqrt(2)\n{CACHE}",
            "[[101, 2], [100, -1], [103, 0.5], [98, 1]]\n  scale: 1/sqrt(2)\n"
            + CACHE.replace(CACHED, "[[101, 2], [103, 1/2], [98, 1]]")),
        "cells that are cut further": ("cells: 0 1 .", "cells: 0 1 0 . ."),
        "a box inside of the ball": (
            REGION + "asserts:\n" + ALL + HINTS,
            f"{REGION.replace(AT, 'box, lower: [0.85, 0.9], upper: [1.1, 1.199]')}asserts:\n" + UPPER
            + HINTS.replace(", query: [0.8487, 1.1990]", "")),
        "many bits to begin with": ("witness: {", "witness: {bits: 300, "),
    },
    {
        "at_most of the largest entry below it": (
            "at_most: 0.6984", "at_most: 0.6843", REJECTED, "a finer subdivision"),
        "at_most of the largest entry below that of the centre": (
            "at_most: 0.6984", "at_most: 0.4", REFUTED, "at the centre of cell"),
        "at_most of the deviation below it": ("at_most: 0.708", "at_most: 0.7051", REJECTED, "a finer subdivision"),
        "at_most of the deviation below that of the centre": (
            "at_most: 0.708", "at_most: 0.5", REFUTED, "the deviation |T' - T|_2 at the centre of cell"),
        "at_most of the evicted weight below it": ("at_most: 0.3643", "at_most: 0.3637", REJECTED, "that are not kept"),
        "at_most of the evicted weight below that of the centre": (
            "at_most: 0.3643", "at_most: 0.3", REFUTED, "at the centre of cell"),
        "at_most of the mass below it": ("at_most: 0.6556", "at_most: 0.6487", REJECTED, "on tokens 0, 1"),
        "at_most of the mass below that of the centre": ("at_most: 0.6556", "at_most: 0.59", REFUTED, "at the centre"),
        "the least evicted weight above it": (
            "at_least_everywhere: 0.2296", "at_least_everywhere: 0.2348", REJECTED, "a lower bound on the softmax"),
        "the least evicted weight above that of the centre": (
            "at_least_everywhere: 0.2296", "at_least_everywhere: 0.3", REFUTED, "at the centre of cell"),
        "the least mass above it": (
            "at_least_everywhere: 0.5306", "at_least_everywhere: 0.536", REJECTED, "lower bound"),
        "the least mass above that of the centre": (
            "at_least_everywhere: 0.5306", "at_least_everywhere: 0.6", REFUTED, "at the centre of cell"),
        "more than all weight everywhere": (
            "at_least_everywhere: 0.5306", "at_least_everywhere: 1.01", REFUTED, "is false"),
        "at_least of the largest entry above it": (
            "at_least: 0.6841", "at_least: 0.6845", REJECTED, "here at the query of the witness"),
        "at_least of the deviation above it": (
            "at_least: 0.7051", "at_least: 0.7052", REJECTED, "here at the query of the witness"),
        "at_least of the evicted weight above it": (
            "at_least: 0.3636", "at_least: 0.3638", REJECTED, "here at the query of the witness"),
        "at_least of the mass above it": (
            "at_least: 0.6476", "at_least: 0.6488", REJECTED, "here at the query of the witness"),
        "another query": ("query: [0.8487, 1.1990]", "query: [1, 1]", REJECTED, "here at the query of the witness"),
        "a query outside of the ball": (
            "query: [0.8487, 1.1990]", "query: [0.8486, 1.1990]", REJECTED, "is not in the region"),
        "fewer cells": ("0 1 . 0 1 . 0 . . 1 . 0 . . .", "0 . .", REJECTED, "a finer subdivision may suffice"),
        "a larger ball": ("radius: 1/4}", "radius: 1/3}", REFUTED, "at the centre of cell"),
        "a slightly larger ball": ("radius: 1/4}", "radius: 0.251}", REJECTED, "a finer subdivision may suffice"),
        "a ball elsewhere": ("centre: [1, 1]", "centre: [1, 2]", REFUTED, "is false"),
        "a box around the ball": (
            AT, "box, lower: [0.75, 0.75], upper: [1.25, 1.25]", REFUTED, "at the centre of cell"),
        "every token once": (f"    multiplicities: {TIMES}\n", "", REFUTED, "is false"),
        "multiplicities exchanged": (TIMES, "[[3/2, 1, 2]]", REFUTED, "is false"),
        "another scale of a channel": ("scale: [[1/4, 0.5]]", "scale: [[1/4, 0.25]]", REFUTED, "is false"),
        "values of the cache exchanged": (CACHED, "[[3, 1/2], [1, 2], [-2, 1]]", REJECTED, "at the query of the"),
        "another token kept": ("kept: [[0, 2, 3]]", "kept: [[1, 2, 3]]", REJECTED, "that are not kept"),
        "the mass of another token": ("tokens: [0, 1]", "tokens: [0, 2]", REFUTED, "on tokens 0, 2"),
        "another scale of the scores": ("1/sqrt(2)", "1", REFUTED, "is false"),
        "queries that see a token less": ("radius: 1/4", "radius: 1/4, sees: 3", REFUTED, "is false"),
        "queries beside the region": (
            "  region:", f"  queries: {QUERIES}\n  region:", MALFORMED, "queries or a region"),
        "neither queries nor a region": (f"  region: {{kind: {AT}}}\n", "", MALFORMED, "no 'queries' and no 'region'"),
        "several regions": (f"region: {{kind: {AT}}}", f"regions: [{{kind: {AT}}}]", MALFORMED, "'regions'"),
        "a relative deviation": ("  error:", "  relative: {at_most: 1}\n  error:", MALFORMED, "bounds are absolute"),
        "bounds for each query": (
            "at_most: 0.6984", "per_query: {at_most: [[0.7]]}, at_most: 0.6984", MALFORMED,
            "a region lists no queries"),
        "a deviation that is large everywhere": (
            "at_most: 0.708", "at_least_everywhere: 0.1, at_most: 0.708", MALFORMED,
            "only shares of the softmax weight"),
        "a causal mask": ("  cache:", "  causal: 0\n  cache:", MALFORMED, "sees in the region"),
        "lengths": ("  cache:", "  lengths: [4]\n  cache:", MALFORMED, "sees in the region"),
        "sequences": ("  cache:", "  sequences: {queries: [1], keys: [4]}\n  cache:", MALFORMED, "sees in the region"),
        "queries that see more than there is": ("radius: 1/4", "radius: 1/4, sees: 5", MALFORMED, "at most 4"),
        "queries that see no token": ("radius: 1/4", "radius: 1/4, sees: 0", MALFORMED, "an integer >= 1"),
        "a centre of another dimension": ("centre: [1, 1]", "centre: [1]", MALFORMED, "2 numbers"),
        "a negative radius": ("radius: 1/4", "radius: -1/4", MALFORMED, "a number >= 0"),
        "another kind of region": ("kind: ball", "kind: sphere", MALFORMED, "sphere"),
        "cells along an axis that is not there": ("cells: 0 1", "cells: 0 2", MALFORMED, "axes 0 to 1"),
        "cells that end too early": ("1 . 0 . . .,", "1 . 0 . .,", MALFORMED, "ends before the last cell"),
        "weights of a query of the ball": (
            "query: [0.8487, 1.1990]", "weights: [1/2, 1/2]", MALFORMED, "weights belong to a hull"),
        "a query of another dimension": ("query: [0.8487, 1.1990]", "query: [1]", MALFORMED, "2 numbers"),
        "several witnesses": ("witness: {", "witness: {regions: [{}], ", MALFORMED, "'regions'"),
        "no cache": (CACHE, "", MALFORMED, "given.cache beside it"),
        "a key too few": (KEYS, "[[1, 0], [0, 1], [-1, 1/2]]", MALFORMED, "3 x 2 numbers (paired with the keys)"),
    },
)  # fmt: skip

# Largest 1.081165, 1.435347, 0.468385 and 0.883190; smallest weights 0.382311 and 0.816443.
SEES = family(
    "a ball of queries that see three tokens, of which the cache holds two",
    REGION.replace(AT, f"{AT}, sees: 3")
    + "asserts:\n  error: {at_most: 1.091, at_least: 1.0811}\n  deviation: {at_most: 1.45, at_least: 1.4315}\n"
    "  evicted: {at_most: 0.4725, at_least: 0.4664, at_least_everywhere: 0.3799}\n"
    "  mass: {tokens: [0, 1], at_most: 0.8888, at_least_everywhere: 0.8161}\nwitness: {query: [0.833334, 1.186328]}\n",
    {
        "what is behind is not read": ("[2, -1]]", "[20, -1]]"),
        "the radius as a decimal": ("radius: 1/4", "radius: 0.25"),
    },
    {
        "queries that see all": (", sees: 3", "", REFUTED, "is false"),
        "queries that see two": ("sees: 3", "sees: 2", REFUTED, "is false"),
        "at_most of the largest entry below it": ("1.091", "1.081", REJECTED, "a finer subdivision may suffice"),
        "at_most of the deviation below it": ("1.45,", "1.4353,", REJECTED, "a finer subdivision may suffice"),
        "at_most of the evicted weight below it": ("0.4725", "0.4683", REJECTED, "a finer subdivision may suffice"),
        "the least evicted weight above it": (": 0.3799}", ": 0.3824}", REJECTED, "a finer subdivision may suffice"),
        "the least mass above it": ("0.8161", "0.8165", REJECTED, "a finer subdivision may suffice"),
        "a value that is seen": ("[3, 0.5], [-2, 1]]\n  scale", "[4, 0.5], [-2, 1]]\n  scale", REJECTED, "at the"),
        "a multiplicity that is seen": (TIMES, "[[1, 5/2, 2]]", REFUTED, "is false"),
        "a cache of which nothing is seen": (
            "sees: 3", "sees: 1", REFUTED, "is false"),
        "a cache that begins behind": (
            f"sees: 3}}\n  keys: {KEYS}\n  values: {VALUES}\n  scale: 1/sqrt(2)\n  cache:\n    kept: [[0, 2, 3]]",
            f"sees: 1}}\n  keys: {KEYS}\n  values: {VALUES}\n  scale: 1/sqrt(2)\n  cache:\n    kept: [[1, 2, 3]]",
            MALFORMED, "a cache of which every query sees a token"),
        "a cache without places": (
            f"    kept: [[0, 2, 3]]\n    keys: {STEPS}\n    values: {CACHED}\n    multiplicities: {TIMES}\nasserts:\n"
            "  error: {at_most: 1.091, at_least: 1.0811}\n  deviation: {at_most: 1.45, at_least: 1.4315}\n"
            "  evicted: {at_most: 0.4725, at_least: 0.4664, at_least_everywhere: 0.3799}\n",
            f"    keys: {STEPS}\n    values: {CACHED}\n    multiplicities: {TIMES}\nasserts:\n"
            "  error: {at_most: 1.091, at_least: 1.0811}\n", MALFORMED,
            "which tokens of the cache are among the first"),
    },
)  # fmt: skip

# Largest 0.439265, 0.475646, 0.234727 and 0.514842; smallest weights 0.101868 and 0.348415.
BOX = family(
    "a box of queries, and a cache without places",
    REGION.replace(AT, "box, lower: [0.5, -1/4], upper: [1, 1/4]").replace("    kept: [[0, 2, 3]]\n", "")
    + "asserts:\n  error: {at_most: 0.454, at_least: 0.4392}\n  deviation: {at_most: 0.4855, at_least: 0.4618}\n"
    "  mass: {tokens: [1, 0], at_most: 0.521, at_least: 0.3889, at_least_everywhere: 0.347}\n"
    "witness: {cells: 0 1 0 1 . . 1 . . . 1 0 . . ., query: [0.75, -0.25]}\n",
    {
        "a smaller box": ("upper: [1, 1/4]", "upper: [0.999, 0.249]"),
        "an interval that is a point": ("lower: [0.5, -1/4], upper: [1, 1/4]", "lower: [0.5, -1/4], upper: [1, -1/4]"),
        "the axes in another order": (
            "cells: 0 1 0 1 . . 1 . . . 1 0 . . .", "cells: 1 0 0 1 . . 1 . . 0 1 . . . 0 . ."),
    },
    {
        "at_most of the largest entry below it": ("0.454,", "0.4391,", REJECTED, "a finer subdivision may suffice"),
        "at_most of the deviation below it": ("0.4855", "0.4756", REJECTED, "a finer subdivision may suffice"),
        "at_most of the mass below it": ("0.521", "0.5148", REJECTED, "a finer subdivision may suffice"),
        "the least mass above it": ("0.347}", "0.3485}", REJECTED, "a finer subdivision may suffice"),
        "at_least above what is there": ("at_least: 0.4392", "at_least: 0.4394", REJECTED, "here at the query"),
        "a larger box": ("upper: [1, 1/4]", "upper: [2, 1/4]", REFUTED, "at the centre of cell"),
        "a box around it": (
            "lower: [0.5, -1/4], upper: [1, 1/4]", "lower: [0.4, -0.4], upper: [1.2, 0.4]", REFUTED, "at the centre"),
        "a query outside of the box": (
            "query: [0.75, -0.25]", "query: [0.75, -0.26]", REJECTED, "is not in the region"),
        "an empty interval": ("upper: [1, 1/4]", "upper: [1, -1/3]", MALFORMED, "not below the lower ones"),
        "a radius": ("upper: [1, 1/4]", "upper: [1, 1/4], radius: 1", MALFORMED, "'radius'"),
        "one cell": ("0 1 0 1 . . 1 . . . 1 0 . . .", ".", REJECTED, "a finer subdivision may suffice"),
    },
)  # fmt: skip

# One token, and a copy of everything: nothing deviates, and shares are all or nothing.
COPY = family(
    "a hull of queries, and a cache that is a copy",
    PROMPT.replace(f"queries: {QUERIES}", "region: {kind: hull, points: [[1, 1], [-2, 0.5], [0, 1/2]]}")
    + f"  cache: {{kept: [[0, 1, 2, 3]], keys: {KEYS}, values: {VALUES}}}\nasserts:\n"
    "  error: {at_most: 1e-12}\n  evicted: {at_most: 0}\n"
    "  mass: {tokens: [3, 2, 1, 0], at_least_everywhere: 1, at_least: 1, at_most: 1}\n",
    {
        "some of the hull": ("points: [[1, 1], [-2, 0.5], [0, 1/2]]", "points: [[1, 1], [-1/2, 3/4]]"),
        "weights of a query": ("at_most: 1}\n", "at_most: 1}\nwitness: {weights: [1/2, 1/3, 1/6]}\n"),
    },
    {
        "an evicted token": (
            "kept: [[0, 1, 2, 3]]", "kept: [[0, 1, 2]]", MALFORMED, "3 x 2 numbers (tokens of the cache"),
        "weights that are none": (
            "at_most: 1}\n", "at_most: 1}\nwitness: {weights: [1/2, 1/2, 1/2]}\n", REJECTED, "is not in the region"),
        "no deviation": ("error: {at_most: 1e-12}", "error: {at_most: 0}", INCONCLUSIVE, "undecided"),
        "a value of the cache moved": (
            f"values: {VALUES}}}", "values: [[1, 2], [0, -1], [3, 0.5], [-2, 1.01]]}", REFUTED, "is false"),
        "a query with coordinates": (
            "at_most: 1}\n", "at_most: 1}\nwitness: {query: [1, 1]}\n", MALFORMED, "weights, which give a query"),
        "some evicted weight": ("evicted: {at_most: 0}", "evicted: {at_least: 0.1}", REJECTED, "that are not kept"),
        "some evicted weight everywhere": (
            "evicted: {at_most: 0}", "evicted: {at_least_everywhere: 1e-9}", REFUTED, "that are not kept"),
        "the mass of three tokens": ("tokens: [3, 2, 1, 0]", "tokens: [3, 2, 1]", REFUTED, "on tokens 3, 2, 1"),
    },
)  # fmt: skip

LISTED: list[Family] = [
    WHOLE, CAUSAL, WINDOW, SEQUENCES, LENGTHS, MERGED, ONE_TOKEN, SINKS, ARRAYS, SIGNED, LONG, EIGHTS
]  # fmt: skip
REGIONS: list[Family] = [BALL, SEES, BOX, COPY]
FAMILIES: list[Family] = [*LISTED, *REGIONS]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
