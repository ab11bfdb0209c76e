"""Accept and reject cases of `output-deviation` that differ in a law, a type of numbers, or why nothing deviates."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, Change, Family, array

NAME = "output-deviation"
family = partial(Family, NAME)


# -- deviations that are exactly 0

_ZERO_CASES: dict[str, tuple[str, str, str]] = {
    "one token": (
        "keys: [[3, -1]]\n  values: [[7/3, 2]]", "keys: [[3, -1]]\n  values: [[7/3, 2]]",
        "keys: [[3, -1], [3.00000000000001, -1]]\n  values: [[7/3, 2], [7/3, 2.00000000000001]]"),
    "d = 1 and one token": ("keys: [[3]]\n  values: [[7/3]]", "", ""),
    "equal keys": (
        "keys: [[1, 2], [1, 2], [1, 2]]\n  values: [[1], [5], [1/3]]", "[1, 2], [1, 2]]",
        "[1, 2], [1.00000000000001, 2]]"),
    "equal values": ("keys: [[1, 2], [-4, 2], [1, 1/7]]\n  values: [[1/3], [1/3], [1/3]]", "[1/3]]", "[0.3333333333]]"),
    "keys that the queries cannot tell apart": (
        "keys: [[1, 5], [1, -2], [1, 1/3]]\n  values: [[1], [5], [1/3]]", "[1, 1/3]]", "[1.0001, 1/3]]"),
    "zero tokens": ("keys: [[0, 0], [0, 0]]\n  values: [[0], [0]]", "", ""),
}  # fmt: skip
_ZERO_REJECTS: dict[str, Change] = {
    "at_least a little": ("at_most: 0", "at_least: 1e-300", REFUTED, "the largest"),
    "a bound of a query that is negative": ("at_most: 0", "per_query: {at_most: [-1e-300]}", REFUTED, "at query 0"),
}


def _zero(name: str, prompt: str, old: str, new: str) -> Family:
    query = "[[1000000]]" if name.startswith("d = 1") else "[[1000000, 0]]"
    text = f"""
given:
  {prompt}
  queries: {query}
  limit: {{kind: empirical}}
asserts:
  deviation: {{norm: l2, at_most: 0}}
"""
    rejects = dict(_ZERO_REJECTS)
    if old:
        rejects["one token changed"] = (old, new, REFUTED, "at query 0")
    return family(
        f"no deviation at all: {name}",
        text,
        {
            "in the other norm": ("norm: l2", "norm: linf"),
            "nothing at least": ("at_most: 0", "at_most: 0, at_least: 0"),
        },
        rejects,
    )


# -- the limit of a law

_LAWS: dict[str, tuple[str, str, str]] = {
    # law, deviation rounded up, the same less one unit
    "Gaussian": ("{kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}", "1.10671", "1.10670"),
    "signs": ("{kind: rademacher, sizes: [1, 2]}", "1.48914", "1.48913"),
    "box": ("{kind: box, sizes: [1, 2]}", "1.47632", "1.47631"),
    "atoms": ("{kind: atoms, points: [[1, 2], [-1, 0], [0, 1]]}", "0.122365", "0.122364"),
    "mixture": (
        "{kind: mixture, components:"
        " [{weight: 1/4, law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}},"
        " {weight: 3/4, law: {kind: mixture, components: [{weight: 1, law: {kind: box, sizes: [1, 2]}}]}}]}",
        "0.975854", "0.975853"),
}  # fmt: skip


def _law(name: str) -> Family:
    law, bound, less = _LAWS[name]
    return family(
        f"the law of a token: {name}",
        f"""
given:
  tokens: [[1, 2], [-1, 0], [0, 1/2]]
  queries: [[1, 0], [-1, 2]]
  limit:
    kind: law
    law: {law}
asserts:
  deviation: {{norm: l2, at_most: {bound}}}
""",
        {"at least one unit less": (f"at_most: {bound}", f"at_least: {less}")},
        {
            "at_most one unit lower": (bound, less, REFUTED, "is false"),
            "at_least one unit more": (f"at_most: {bound}", f"at_least: {bound}", REFUTED, "the largest"),
            "another law": (law, "{kind: gaussian, mean: [9, 9], covariance: [[1, 0], [0, 1]]}", REFUTED, "is false"),
            "a law of another dimension": (
                law, "{kind: box, sizes: [1]}", MALFORMED, "a law in dimension 2, that of a token"),
            "a law of keys and values side by side": (
                law, "{kind: box, sizes: [1, 2, 1, 2]}", MALFORMED, "dimension 2"),
            "no law": (f"law: {law}", "scale: 1", MALFORMED, "the unknown key 'scale'"),
            "the empirical limit with a law": ("kind: law", "kind: empirical", MALFORMED, "the unknown key 'law'"),
        },
    )  # fmt: skip


# -- number types

# Equal keys: T is the mean of the values, whose distance from 0 is exact.
_NUMBER_TYPES = {
    # file, dtype, shape -> mean, which is a binary fraction
    "subnormal float32": (array("tiny.npy", "float32", "[3, 1]", rows="0:2"), "0", "0x1p-149"),
    "one subnormal float32": (array("tiny.npy", "float32", "[3, 1]", rows="0:1"), "0x1p-149", "0x1.ffffffp-150"),
    "float16 as it is stored": (array("half.npy", "float16", "[3, 1]", rows="0:1"), "0x1.998p-4", "0.09997"),
    "subnormal float16": (array("half.npy", "float16", "[3, 1]", rows="1:2"), "0x1p-24", "0x1.fffp-25"),
    "largest float16": (array("half.npy", "float16", "[3, 1]", rows="2:3"), "65504", "65503.9"),
    "bfloat16": (array("bfloats.safetensors", "bfloat16", "[3, 1]", array="x", rows="1:2"), "0x1p-1", "0.4999"),
    "subnormal bfloat16": (
        array("bfloats.safetensors", "bfloat16", "[3, 1]", array="x", rows="2:3"), "0x1p-133", "0x1.fp-134"),
    "largest int64": (array("huge.npy", "int64", "[3, 1]", rows="0:1"), "9223372036854775807", "9223372036854775806.9"),
    "smallest int64": (array("huge.npy", "int64", "[3, 1]", rows="1:2"), "9223372036854775808", "9223372036854775807"),
    "int64 that cancel": (array("huge.npy", "int64", "[3, 1]", rows="0:2"), "1/2", "0.4999"),
}  # fmt: skip


def _number_type(name: str) -> Family:
    values, mean, other = _NUMBER_TYPES[name]
    keys = "[[1], [1]]" if "0:2" in values else "[[1]]"
    return family(
        f"number types: {name}",
        f"""
given:
  keys: {keys}
  values: {values}
  queries: [[1]]
  limit: {{kind: affine, matrix: [[0]], offset: [0]}}
asserts:
  deviation: {{norm: linf, at_most: {mean}, at_least: {mean}}}
""",
        {},
        {
            "another upper bound": (f"at_most: {mean}", f"at_most: {other}", REFUTED, "is false")
            if mean != "0"
            else (f"at_least: {mean}", f"at_least: {other}", REFUTED, "the largest"),
        },
    )


FAMILIES = [
    *(_zero(name, *rest) for name, rest in _ZERO_CASES.items()),
    *(_law(name) for name in _LAWS),
    *(_number_type(name) for name in _NUMBER_TYPES),
]
