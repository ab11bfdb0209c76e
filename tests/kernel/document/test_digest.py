"""The statement digest: the same for every way of writing a statement, another for every other statement."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.document.certificate import canonical, statement_digest
from certattn.kernel.document.tree import Plain

SHA = "0123456789abcdef" * 4


def reference(**changes: Plain) -> dict[str, Plain]:
    return {"file": "data/x.npz", "array": "1", "sha256": SHA, "dtype": "float32", "shape": ["4", "2"], **changes}


def statement() -> dict[str, Any]:
    return {
        "certattn": "1",
        "claim": "output-deviation",
        "given": {
            "keys": reference(),
            "values": [["0.1", "1"], ["2", "-3"]],
            "scale": "1/sqrt(32)",
            "limit": {"kind": "empirical"},
        },
        "asserts": {"deviation": {"norm": "l2", "at_most": "1.5"}},
        "witness": {"bits": "128"},
        "provenance": {"note": "first"},
    }


def digest_after(change: Callable[[dict[str, Any]], object]) -> str:
    changed = copy.deepcopy(statement())
    change(changed)
    return statement_digest(changed)


# -- pinned: what papers quote must not change

PINNED = "e8a1b07a90ceb95206aa3ceecc90a38a7a013360eee61371ebd106449cf8ddd1"


def test_the_digest_is_sha256_of_a_canonical_json() -> None:
    kept = {"array": "1", "sha256": SHA, "dtype": "float32", "format": ".npz"}
    kept_shape = {"shape": [{"number": "4"}, {"number": "2"}]}
    spelled = {
        "certattn": {"number": "1"},
        "claim": {"text": "output-deviation"},
        "given": {
            "map": {
                "keys": {"array": {**kept, **kept_shape}},
                "values": [[{"number": "1/10"}, {"number": "1"}], [{"number": "2"}, {"number": "-3"}]],
                "scale": {"number": "sqrt(1/32)"},
                "limit": {"map": {"kind": {"text": "empirical"}}},
            }
        },
        "asserts": {"map": {"deviation": {"map": {"norm": {"text": "l2"}, "at_most": {"number": "3/2"}}}}},
    }
    text = json.dumps(spelled, sort_keys=True, separators=(",", ":"))
    assert statement_digest(statement()) == hashlib.sha256(text.encode()).hexdigest() == PINNED


# -- the same statement

SAME: dict[str, Callable[[dict[str, Any]], object]] = {
    "fraction for a decimal": lambda c: c["given"]["values"][0].__setitem__(0, "1/10"),
    "exponent for a decimal": lambda c: c["given"]["values"][0].__setitem__(0, "1e-1"),
    "trailing zero": lambda c: c["given"]["values"][0].__setitem__(0, "0.10"),
    "unreduced fraction": lambda c: c["given"]["values"][0].__setitem__(0, "10/100"),
    "decimal for an integer": lambda c: c["given"]["values"][0].__setitem__(1, "1.0"),
    "hex float": lambda c: c["given"]["values"][0].__setitem__(1, "0x1p0"),
    "another root": lambda c: c["given"].__setitem__("scale", "sqrt(1/32)"),
    "moved file": lambda c: c["given"]["keys"].__setitem__("file", "../elsewhere/y.npz"),
    "all rows by name": lambda c: c["given"]["keys"].__setitem__("rows", "0:4"),
    "other witness": lambda c: c["witness"].__setitem__("bits", "64"),
    "no witness": lambda c: c.pop("witness"),
    "other provenance": lambda c: c["provenance"].__setitem__("note", "second"),
    "no provenance": lambda c: c.pop("provenance"),
    "other order of the sections": lambda c: c.update({"given": c.pop("given")}),
    "other order of the keys": lambda c: c["given"].update({"keys": c["given"].pop("keys")}),
    "other order in a reference": lambda c: c["given"]["keys"].update({"file": c["given"]["keys"].pop("file")}),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_statement(name: str) -> None:
    assert digest_after(SAME[name]) == PINNED


# -- another statement

OTHER: dict[str, Callable[[dict[str, Any]], object]] = {
    "version": lambda c: c.__setitem__("certattn", "2"),
    "claim": lambda c: c.__setitem__("claim", "output-deviations"),
    "number": lambda c: c["given"]["values"][0].__setitem__(0, "0.11"),
    "sign": lambda c: c["given"]["values"][1].__setitem__(1, "3"),
    "the double nearest to a decimal": lambda c: c["given"]["values"][0].__setitem__(0, (0.1).hex()),
    "order of rows": lambda c: c["given"]["values"].reverse(),
    "shape of a matrix": lambda c: c["given"].__setitem__("values", [["0.1", "1", "2", "-3"]]),
    "vector for a matrix": lambda c: c["given"].__setitem__("values", ["0.1", "1"]),
    "list in a list": lambda c: c["given"].__setitem__("values", [c["given"]["values"]]),
    "root": lambda c: c["given"].__setitem__("scale", "1/sqrt(33)"),
    "number for a root": lambda c: c["given"].__setitem__("scale", "1/32"),
    "word": lambda c: c["asserts"]["deviation"].__setitem__("norm", "linf"),
    "bound": lambda c: c["asserts"]["deviation"].__setitem__("at_most", "1.4"),
    "bound on the other side": lambda c: c["asserts"].__setitem__("deviation", {"norm": "l2", "at_least": "1.5"}),
    "more asserted": lambda c: c["asserts"]["deviation"].__setitem__("at_least", "1"),
    "nothing asserted": lambda c: c.__setitem__("asserts", {}),
    "given for asserted": lambda c: c.update({"given": c["asserts"], "asserts": c["given"]}),
    "other key": lambda c: c["given"].update({"queries": c["given"].pop("keys")}),
    "other bytes": lambda c: c["given"]["keys"].__setitem__("sha256", SHA[::-1]),
    "other type of numbers": lambda c: c["given"]["keys"].__setitem__("dtype", "int32"),
    "other shape": lambda c: c["given"]["keys"].__setitem__("shape", ["2", "4"]),
    "other dimensions": lambda c: c["given"]["keys"].__setitem__("shape", ["8"]),
    "some rows": lambda c: c["given"]["keys"].__setitem__("rows", "0:3"),
    "later rows": lambda c: c["given"]["keys"].__setitem__("rows", "1:4"),
    "other array": lambda c: c["given"]["keys"].__setitem__("array", "2"),
    "array whose name is the same number": lambda c: c["given"]["keys"].__setitem__("array", "1.0"),
    "no array name": lambda c: c["given"]["keys"].pop("array"),
    "other format of the same bytes": lambda c: c["given"]["keys"].__setitem__("file", "data/x.safetensors"),
    "no format": lambda c: c["given"]["keys"].__setitem__("file", ".npz"),
    "reference for a mapping": lambda c: c["given"].__setitem__("limit", {"kind": "empirical", "file": "x.npz"}),
    "text for a number": lambda c: c["asserts"]["deviation"].__setitem__("at_most", "1.5 "),
    "list for a scalar": lambda c: c["given"].__setitem__("scale", ["1/sqrt(32)"]),
    "empty list for nothing": lambda c: c["given"].__setitem__("more", []),
    "empty mapping for nothing": lambda c: c["given"].__setitem__("more", {}),
    "empty text for nothing": lambda c: c["given"].__setitem__("more", ""),
    "mapping that spells a number": lambda c: c["given"].__setitem__("scale", {"number": "sqrt(1/32)"}),
    "list of pairs for a mapping": lambda c: c["given"].__setitem__("limit", [["kind", "empirical"]]),
    "canonical form of a mapping": lambda c: c["given"].__setitem__("limit", {"map": {"kind": {"text": "empirical"}}}),
}


@pytest.mark.parametrize("name", OTHER)
def test_another_statement(name: str) -> None:
    assert digest_after(OTHER[name]) != PINNED


def test_all_other_statements_differ_from_each_other() -> None:
    digests = [digest_after(change) for change in OTHER.values()]
    assert len(set(digests)) == len(digests)


# -- random trees: equal canonical forms only where the trees state the same


def without_spelling(tree: Plain) -> Any:
    """A tree of these tests up to the spelling of its numbers, written in another way than `canonical`."""
    if isinstance(tree, dict):
        return ("mapping", frozenset((key, without_spelling(item)) for key, item in tree.items()))
    if isinstance(tree, list):
        return ("list", tuple(without_spelling(item) for item in tree))
    return ("number", VALUES[tree]) if tree in VALUES else ("text", tree)


VALUES = {"1": 1.0, "1.0": 1.0, "2/2": 1.0, "0x1p0": 1.0, "0.5": 0.5, "1/2": 0.5, "5e-1": 0.5, "-1": -1.0, "0": 0.0}
SCALARS = st.sampled_from([*VALUES, "number", "map", "text", "array", "", "1 ", "[]", "{}", '"'])
TREES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3), max_leaves=6
)


@given(TREES, TREES)
def test_canonical_forms_are_equal_just_where_trees_are(left: Plain, right: Plain) -> None:
    def form(tree: Plain) -> str:
        return json.dumps(canonical(tree), sort_keys=True)

    assert (form(left) == form(right)) == (without_spelling(left) == without_spelling(right))


@given(st.text(), st.text())
def test_texts_are_told_apart(left: str, right: str) -> None:
    same = statement_digest({"claim": left}) == statement_digest({"claim": right})
    assert same == (left == right) or canonical(left).keys() == canonical(right).keys() == {"number"}
