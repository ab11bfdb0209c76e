"""Two certificates side by side: what has changed, and what is said of the statement."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certattn import load
from certattn.input_fields import fields_of
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import loads
from certattn.kernel.document.schema import Kind, Listing
from certattn.kernel.theorems import CHAPTER_OF
from certattn.report.comparison import LESS, MORE, Comparison, compare

GALLERY = Path(__file__).resolve().parent.parent.parent / "certificates"
TEXT = """\
certattn: 1
claim: output-deviation
given:
  keys: [[0, 1], [1, 0]]
  values: [[0.10], [3]]
  queries: [[1, 2], [3, 4]]
  scale: 1/sqrt(2)
  limit: {kind: empirical}
asserts:
  deviation: {norm: l2, at_most: 0.5, at_least: 0.1, per_query: {at_most: [0.2, 0.3]}}
witness: {hint: 1}
provenance: {who: me}
"""


def of(*changes: tuple[str, str]) -> Comparison:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return compare(loads(TEXT, "old.yaml"), loads(text, "new.yaml"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.10", "1/10"),
        ("0.5,", "0x1p-1,"),
        ("[[1, 2]", "[[1.0, '2']"),
        ("1/sqrt(2)", "sqrt(1/2)"),
        ("0.2, ", "2e-1, "),
    ],
)
def test_the_same_numbers_are_the_same_statement(old: str, new: str) -> None:
    assert of((old, new)) == Comparison("same", (), ())


def test_witness_and_provenance_change_no_statement() -> None:
    comparison = of(("hint: 1", "hint: 2"), ("who: me", "who: you, where: there"))
    assert (comparison.statement, comparison.changes) == ("same", ())
    assert [hint.path for hint in comparison.hints] == ["witness.hint", "provenance.who", "provenance.where"]


@pytest.mark.parametrize(
    ("changes", "statement"),
    [
        ([("at_most: 0.5", "at_most: 0.4")], "stronger"),
        ([("at_most: 0.5", "at_most: 0.6")], "weaker"),
        ([("at_least: 0.1", "at_least: 0.2")], "stronger"),
        ([("at_least: 0.1", "at_least: 0.05")], "weaker"),
        ([("[0.2, 0.3]", "[0.2, 0.2]")], "stronger"),
        ([("[0.2, 0.3]", "[0.2, 0.4]")], "weaker"),
        ([("[0.2, 0.3]", "[0.1, 0.4]")], "different"),
        ([("[0.2, 0.3]", "[0.1]")], "different"),
        ([("[0.2, 0.3]", "0.1")], "different"),
        ([("at_most: 0.5", "at_most: 0.4"), ("at_least: 0.1", "at_least: 0.2")], "stronger"),
        ([("at_most: 0.5", "at_most: 0.4"), ("at_least: 0.1", "at_least: 0.05")], "different"),
        ([("at_most: 0.5", "at_most: 0.4"), ("norm: l2", "norm: linf")], "different"),
        ([("at_most: 0.5", "at_most: 0.4"), ("[3, 4]]", "[3, 5]]")], "different"),
        ([("at_most: 0.5", "at_most: 0")], "different"),
        ([("at_most: 0.5", "at_most: nan")], "different"),
        ([("at_most: 0.5, ", "")], "different"),
        ([("at_most: 0.5", "at_most: 1e-999999999")], "different"),
        ([("claim: output-deviation", "claim: softmax-mean")], "different"),
        ([("scale: 1/sqrt(2)", "scale: 1/sqrt(3)")], "different"),
    ],
)  # fmt: skip
def test_what_is_said_of_the_statement(changes: list[tuple[str, str]], statement: str) -> None:
    assert of(*changes).statement == statement


def test_a_bound_that_is_given_says_nothing_of_strength() -> None:
    old = loads(TEXT.replace("empirical}", "law, at_most: 2}"), "old.yaml")
    new = loads(TEXT.replace("empirical}", "law, at_most: 1}"), "new.yaml")
    assert compare(old, new).statement == "different"


def test_entries_of_lists_are_counted() -> None:
    (change,) = of(("[[1, 2], [3, 4]]", "[[1, 2], [3, 5]]")).changes
    assert (change.path, change.note) == ("given.queries", "1 of 4 entries differ")
    (change,) = of(("[[1, 2], [3, 4]]", "[[1, 2]]")).changes
    assert change.note == "4 entries, then 2"


def test_long_lists_are_shown_by_their_length() -> None:
    (change,) = of(("[[0, 1], [1, 0]]", "[[0, 1, 2], [3, 4, 5], [6, 7, 8]]")).changes
    assert (change.old, change.new) == ("[[0, 1], [1, 0]]", "9 entries")


def with_array(folder: Path, name: str, data: Any, digest: str = "") -> Any:
    np.save(folder / name, data)
    digest = digest or hashlib.sha256((folder / name).read_bytes()).hexdigest()
    rows, columns = data.shape
    array = f"{{file: {name}, sha256: {digest}, dtype: float64, shape: [{rows}, {columns}]}}"
    return loads(TEXT.replace("[[0, 1], [1, 0]]", array), folder / "cert.yaml")


def test_arrays_are_compared_by_hash_and_entry(tmp_path: Path) -> None:
    data = np.arange(6.0).reshape(3, 2)
    one, copy = (with_array(tmp_path, name, data) for name in ("a.npy", "b.npy"))
    assert compare(one, copy).statement == "same"
    other = with_array(tmp_path, "c.npy", data + (data == 3))
    (change,) = compare(one, other).changes
    assert (change.path, change.note) == ("given.keys", "1 of 6 entries differ")
    assert compare(one, with_array(tmp_path, "d.npy", data[:2])).changes[0].note.endswith("content and shape")
    lost = with_array(tmp_path, "e.npy", data, "0" * 64)
    assert "entries not compared" in compare(one, lost).changes[0].note


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*/*/*.yaml"))[::9], ids=lambda path: path.stem)
def test_a_certificate_is_itself(path: Path) -> None:
    assert compare(load(path), load(path)) == Comparison("same", (), ())


numbers = st.sampled_from(["1", "1.0", "2", "0", "4/2", "-1", "x"])
trees = st.recursive(
    numbers,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "at_most", "at_least"]), inner, min_size=1)
    ),
    max_leaves=6,
)


def _flow(tree: Any) -> str:
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in tree.items()) + "}"
    return "[" + ", ".join(map(_flow, tree)) + "]" if isinstance(tree, list) else str(tree)


@given(trees, trees)
def test_the_digest_and_the_comparison_agree(one: Any, other: Any) -> None:
    old, new = (
        loads(f"certattn: 1\nclaim: c\ngiven: {{}}\nasserts: {{t: {_flow(t)}}}\n", "c.yaml") for t in (one, other)
    )
    comparison = compare(old, new)
    assert (comparison.statement == "same") is (old.digest == new.digest) is (not comparison.changes)
    back = {"stronger": "weaker", "weaker": "stronger"}
    assert compare(new, old).statement == back.get(comparison.statement, comparison.statement)


def _names(kinds: Iterable[Kind[Any]]) -> Iterator[str]:
    """All names of fields, at any depth."""
    for name, inner in fields_of(kinds).items():
        yield name
        yield from _names([kind.item if isinstance(kind, Listing) else kind for kind in inner])


@pytest.mark.parametrize(
    ("path", "change", "statement"),
    [
        ("prompts/proposition-3-1/class-ball.yaml", ("radius: 1", "radius: 2"), "stronger"),
        ("prompts/proposition-3-1/class-ball.yaml", ("radius: 1", "radius: 1/2"), "weaker"),
        ("prompts/proposition-3-1/class.yaml", ("U: 1/2", "U: 1"), "stronger"),
        ("prompts/proposition-3-1/class.yaml", ("query_sigma: 1", "query_sigma: 1/2"), "weaker"),
        ("prompts/proposition-3-1/class.yaml", ("    sigma: 1", "    sigma: 2"), "different"),
        ("prompts/output-tail/gaussian-ball.yaml", ("radius: 1", "radius: 1/3"), "weaker"),
        ("prompts/output-tail/gaussian-ball.yaml", ("radius: 1", "radius: 3/2"), "stronger"),
        ("spectrum/attention-spectrum/cool-10000.yaml", ("from: 10000", "from: 9000"), "stronger"),
        ("spectrum/attention-spectrum/cool-10000.yaml", ("from: 10000", "from: 11000"), "weaker"),
        ("spectrum/attention-spectrum/cool-10000.yaml", ("within: ", "within: 1"), "weaker"),
        ("spectrum/attention-spectrum/cool-10000.yaml", ("eta: 1", "eta: 2"), "different"),
        ("selection/max-margin/layer1-head9.yaml", ("within: ", "within: 1"), "weaker"),
        ("spectrum/universality-bound/queries-3.yaml", ("deviation: 0.94", "deviation: 0.9"), "stronger"),
        ("spectrum/universality-bound/queries-3.yaml", ("deviation: 0.94", "deviation: 1"), "weaker"),
        ("spectrum/finite-moments/smallest-8.yaml", ("within: 0.05", "within: 0.04"), "different"),
        ("spectrum/finite-moments/smallest-8.yaml", ("from: 140", "from: 130"), "different"),
    ],
)
def test_what_is_about_more_says_more(path: str, change: tuple[str, str], statement: str) -> None:
    old = (GALLERY / path).read_text("utf-8")
    assert change[0] in old
    assert compare(loads(old, "old.yaml"), loads(old.replace(*change, 1), "new.yaml")).statement == statement


RARE = GALLERY / "prompts" / "output-tail" / "gaussian-length.yaml"


@pytest.mark.parametrize(
    ("changes", "statement"),
    [
        ([("probability: 0.01", "probability: 0.1")], "weaker"),
        ([("probability: 0.01", "probability: 0.001")], "stronger"),
        ([("exceeds: 0.3", "exceeds: 0.4")], "weaker"),
        ([("exceeds: 0.3", "exceeds: 0.2")], "stronger"),
        ([("at_least: 4869", "at_least: 5000")], "weaker"),
        ([("at_least: 4869", "at_least: 4000")], "stronger"),
        ([("exceeds: 0.3", "exceeds: 0.4"), ("probability: 0.01", "probability: 0.1")], "weaker"),
        ([("exceeds: 0.3", "exceeds: 0.4"), ("probability: 0.01", "probability: 0.001")], "different"),
        ([("exceeds: 0.3", "exceeds: 0.2"), ("at_least: 4869", "at_least: 5000")], "different"),
        ([("    at_least: 4869", "    at_most: 4869")], "different"),
        ([("query: [1,", "query: [2,")], "different"),
    ],
)
def test_a_rarer_or_smaller_error_and_a_shorter_prompt_say_more(changes: list[tuple[str, str]], statement: str) -> None:
    text = old = RARE.read_text("utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    assert compare(loads(old, "old.yaml"), loads(text, "new.yaml")).statement == statement


def test_names_that_tell_which_side_is_stronger_are_bounds_in_every_claim_that_has_them() -> None:
    """A claim that gets a field of such a name has to mean the same by it: look, and write it down here."""
    names = (*LESS, *MORE)
    found: dict[str, set[str]] = {name: set() for name in names}
    for claim in CHAPTER_OF:
        for name in _names([CLAIMS[claim].asserts]):
            found.get(name, set()).add(claim)
    assert found.pop("at_most")
    assert found.pop("at_least")
    assert found == {
        "relative_at_most": {"output-deviation"},
        "at_least_everywhere": {"cache-error"},
        "exceeds": {"output-tail", "gradient-tail", "typical-prompt"},
        # Of the first two, a record with bounds.
        "deviation": {"cache-error", "output-deviation", "universality-bound"},
        # Of finite-moments it is no bound, and `diff` knows that.
        "within": {"attention-spectrum", "finite-moments", "max-margin"},
        "probability": {
            "attention-spectrum",
            "full-batch-descent",
            "gradient-tail",
            "normalizer-bound",
            "output-tail",
            "stochastic-descent",
            "typical-prompt",
        },
    }
